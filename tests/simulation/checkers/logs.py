"""What logs may lose and must hold (L3, L5, L8, M4, C2): looked at when a log, its epochs or its voters changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.history import Key
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.host import Host
    from tests.simulation.sim_log import SimLog
    from tests.simulation.world import World


def on_log(world: World, host: Host) -> None:
    """Batches came or went."""
    log = host.log
    tail = log.tail
    role = host.replica.role
    if tail.epoch > role.epoch:
        raise Violation("L1 LogMatching", f"{host.name} in epoch {role.epoch} holds {tail}")
    if tail.voters is not host.voters_seen:
        check_voters(host)
    if host.prepared:
        check_prepared(host)
    if log.start_offset and not any(id.offset == log.start_offset for id in log.snapshot_ids):
        raise Violation("S1 SnapshotAtLogStart", f"{host.name} starts at {log.start_offset} and has snapshots {log.snapshot_ids}")


def check_voters(host: Host) -> None:
    """The voters in force are those of the log and its snapshot (M4)."""
    tail = host.log.tail
    expected, level = tail.voters, tail.level
    if not tail.end and level and not host.log.snapshot_ids:
        # Formatted without voters: it learns of them from the log.
        expected, level = frozenset(), 0
    voters = frozenset((key.id, key.directory_id) for key in host.replica.voters.keys)
    if voters != expected:
        raise Violation("M4", f"{host.name} has voters {names(voters)}, its log up to {tail.end} has {names(expected)}")
    if host.replica.partition.kraft_version != level:
        raise Violation("M4", f"{host.name} has level {host.replica.partition.kraft_version}, its log up to {tail.end} has {level}")
    host.voters_seen = tail.voters
    host.voters_since = host.replica.now_ms


def names(voters: frozenset[Key]) -> list[str]:
    return sorted(f"{id}.{directory[15]}" for id, directory in voters)


def check_prepared(host: Host) -> None:
    """What one call appended lies in one batch, as it was given (C2)."""
    log = host.log
    while host.prepared and host.prepared[0][1] < log.end_offset:
        first, last, value = host.prepared.pop(0)
        entry = next((entry for entry in reversed(log.entries) if entry.base <= first), None)
        if entry is None or last >= entry.end or value not in entry.data:
            raise Violation("C2", f"the values appended at {first} to {last} lie in {entry}")


def on_epochs(host: Host) -> None:
    """The checkpoint of epochs names where each epoch of the log begins (L8)."""
    log = host.log
    expected: list[tuple[int, int]] = []
    epoch = -1
    for entry in log.entries:
        if entry.epoch != epoch:
            epoch = entry.epoch
            expected.append((epoch, entry.base))
    if expected and log.start_offset > expected[0][1]:
        expected[0] = (expected[0][0], log.start_offset)
    if log.epochs[: len(expected)] != expected or len(log.epochs) > len(expected) + 1:
        raise Violation("L8 EpochCacheConsistent", f"{host.name} has epochs {log.epochs}, its log has {expected}")
    if len(log.epochs) > len(expected) and log.epochs[-1][1] != log.end_offset:
        raise Violation("L8 EpochCacheConsistent", f"{host.name} has epochs {log.epochs}, its log ends at {log.end_offset}")


def on_truncate(world: World, host: Host, log: SimLog, offset: int) -> None:
    """A log is about to lose its end, or, for a negative offset, all of it to a snapshot (L5)."""
    role = host.replica.role
    # A download may be durable only after its leader was lost: what it stands for is committed all the same.
    if role.name != "follower" and (offset >= 0 or role.name == "leader"):
        raise Violation("L5 CommittedNeverTruncated", f"{host.name} truncates to {offset} as {role.name}")
    if offset < 0:
        if -offset < (host.high_watermark or 0):
            raise Violation("L5 CommittedNeverTruncated", f"{host.name} loads a snapshot at {-offset} below {host.high_watermark}")
        return
    if host.high_watermark is not None and offset < host.high_watermark:
        raise Violation("L5 CommittedNeverTruncated", f"{host.name} truncates to {offset}, below {host.high_watermark}")
    committed = world.history.committed
    for entry in reversed(log.entries):
        if entry.end <= offset:
            break
        if committed.get(entry.end) is entry:
            raise Violation("L5 CommittedNeverTruncated", f"{host.name} truncates committed {entry} to {offset}")
    world.counts["truncations"] += 1
