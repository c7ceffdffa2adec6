"""What may be called committed (H1 to H4, L6): looked at when a replica's high watermark changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.common.values import ZERO_UUID
from tests.simulation.checkers.election import check_complete
from tests.simulation.history import Entry
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.host import Host
    from tests.simulation.world import World


def on_high_watermark(world: World, host: Host, high_watermark: int | None) -> None:
    """What a replica calls its high watermark is another one, None where it does not know any."""
    role = host.replica.role
    host.seen_watermark = high_watermark
    if high_watermark is None:
        if not host.may_forget:
            raise Violation("H1 MonotonicHW", f"{host.name} forgets its high watermark as {role.name}")
        return
    host.may_forget = False
    before = host.high_watermark
    if before is not None and high_watermark < before:
        raise Violation("H1 MonotonicHW", f"{host.name} goes from {before} to {high_watermark}")
    host.high_watermark = high_watermark
    if high_watermark > host.committed:
        raise Violation("H4", f"{host.name} has high watermark {high_watermark}, and {host.committed} was committed")


def on_committed_offset(world: World, host: Host, offset: int) -> None:
    """A replica takes more for committed than before."""
    if offset < host.committed:
        raise Violation("H1 MonotonicHW", f"{host.name} goes from {host.committed} to {offset}")
    host.committed = offset
    log = host.log
    entry = log.entry_ending_at(offset)
    if entry is None:
        if offset < log.start_offset or offset > log.end_offset:
            raise Violation("H3", f"{host.name} has high watermark {offset}, its log is {log.start_offset} to {log.end_offset}")
        raise Violation("C2", f"{host.name} has high watermark {offset} inside of a batch")
    role = host.role
    if role.name != "leader" and host.began is not None and host.began.name == "leader":
        # It rose, and the same step ended the leadership.
        role = host.began
    if role.name == "leader" and offset > host.snapshot_end():
        on_commit(world, host, role.epoch, entry)
        if host.pending_acks:
            world.record.note(host, offset)
        return
    tip = world.history.tip
    if offset > tip.end:
        raise Violation("H4", f"{host.name} has high watermark {offset}, {tip.end} is the highest that was computed")
    committed = world.history.committed.get(offset)
    if committed is not entry:
        raise Violation("L2 NoLogDivergence", f"{host.name} calls {entry} committed, which is {committed}")


def on_commit(world: World, host: Host, epoch: int, entry: Entry) -> None:
    """A leader says that everything up to `entry` is committed."""
    if entry.end <= host.epoch_start or entry.epoch != epoch:
        raise Violation("H3 OwnEpochCommit", f"{host.name} commits {entry} in epoch {epoch}, which began at {host.epoch_start}")
    voters = host.log.tail.voters
    durable = 0
    for id, directory in voters:
        log = world.disks.get((id, directory)) if directory != ZERO_UUID else world.by_id[id].log
        if log is not None and log.holds_durably(entry):
            durable += 1
    if durable <= len(voters) // 2:
        names = sorted(id for id, _ in voters)
        raise Violation("H2 MajorityReachedHW", f"{host.name} commits {entry}, durable on {durable} of the voters {names}")
    history = world.history
    if entry.end > history.tip.end:
        world.counts["commits"] += history.commit(entry)
        top = world.elections.top
        if top is not None and top[1] is not host and top[0] > epoch:
            check_complete(world, top[1], top[0])
    elif history.committed.get(entry.end) is not entry:
        raise Violation("L2 NoLogDivergence", f"{host.name} commits {entry}, not {history.committed.get(entry.end)}")
