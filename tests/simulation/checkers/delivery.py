"""What the application hears (C1, S2, S4): looked at for every notice to a listener. A snapshot begins with the level and the voters in
force at the last offset it stands for (S1, M4): looked at when one is complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.codec.batch_writer import KRAFT_VERSION_RECORD, KRAFT_VOTERS, read_control_record
from metashell.codec.batches import RecordBatch, read_batch_header
from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft.ready import Committed, LeaderChanged, SnapshotToLoad
from tests.simulation.history import History, Key, voters_of
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.host import Host
    from tests.simulation.world import World


def on_committed(world: World, host: Host, notice: Committed) -> None:
    """A range is handed out: it continues what was consumed, and is the committed path."""
    if notice.base_offset != max(host.applied, 0) or notice.end_offset <= notice.base_offset:
        raise Violation("C1", f"{host.name} delivers {notice.base_offset} to {notice.end_offset} after {host.applied}")
    entry = host.log.entry_ending_at(notice.end_offset)
    if entry is None or world.history.committed.get(notice.end_offset) is not entry:
        raise Violation("L4 StateMachineSafety", f"{host.name} delivers {entry} at {notice.end_offset} as committed")
    host.applied = notice.end_offset
    host.digest = entry.digest


def on_snapshot(world: World, host: Host, notice: SnapshotToLoad) -> None:
    """A snapshot is loaded: never into an active leader, and its state is that of the committed path."""
    id = notice.id
    if host.announced_epoch == host.replica.role.epoch:
        raise Violation("S2 LeaderNeverLoadsSnapshot", f"{host.name} loads {id} in epoch {host.announced_epoch}, which it leads")
    if id not in host.log.snapshot_data:
        raise Violation("S1 SnapshotAtLogStart", f"{host.name} shall load {id}, and has {host.log.snapshot_ids}")
    if id.offset:
        digest = state_of(host.log.snapshot_data[id])
        entry = world.history.committed.get(id.offset)
        if entry is None or entry.epoch != id.epoch or entry.digest != digest:
            raise Violation(
                "S4", f"{host.name} loads {id} with state {digest}, the committed path has {entry} and {entry and entry.digest}"
            )
        host.digest = digest
    host.applied = id.offset


def on_leader_changed(world: World, host: Host, notice: LeaderChanged) -> None:
    """Epochs only rise, each is told at most as unknown and then as known; a leader has consumed all before it."""
    epoch, leader = host.notified
    if notice.epoch < epoch or (notice.epoch == epoch and (leader >= 0 or notice.leader_id < 0)):
        raise Violation("C1", f"{host.name} hears of leader {notice.leader_id} in epoch {notice.epoch} after {leader} in {epoch}")
    host.notified = (notice.epoch, notice.leader_id)
    if notice.leader_id == host.id:
        if host.applied <= host.epoch_start or host.replica.role.name != "leader":
            raise Violation("C1", f"{host.name} hears that it leads, at {host.applied} with its epoch begun at {host.epoch_start}")
        host.announced_epoch = notice.epoch


def state_of(data: bytes) -> int:
    """The state that a snapshot of the simulation's application holds."""
    position, found = 0, -1
    while position < len(data):
        header = read_batch_header(data, position)
        batch = RecordBatch(header, position, data[position : position + header.size_bytes])
        if batch.crc_fault() is not None:
            raise Violation("S4", f"a batch of a snapshot at {position} has a wrong checksum")
        if not header.is_control and found < 0:
            found = int(next(batch.records()).value or b"-1")
        position += header.size_bytes
    return found


def check_head(history: History, id: OffsetAndEpoch, data: bytes) -> None:
    """A snapshot other than the bootstrap one is complete."""
    entry = history.committed.get(id.offset)
    if entry is None or entry.epoch != id.epoch:
        raise Violation("S1 SnapshotAtLogStart", f"a snapshot {id} is complete; committed is {entry}")
    level, voters = read_head(data)
    expected = entry.voters if entry.level else None
    if (level, voters) != (entry.level, expected):
        raise Violation("M4", f"snapshot {id} names level {level} and voters {voters}; in force are {entry.level} and {expected}")


def read_head(data: bytes) -> tuple[int, frozenset[Key] | None]:
    """Level and voters by the first batch of a snapshot."""
    level, voters = 0, None
    header = read_batch_header(data)
    for record in RecordBatch(header, 0, data[: header.size_bytes]).records():
        control = read_control_record(record.key, record.value)
        if control.type == KRAFT_VERSION_RECORD:
            level = control.body.k_raft_version
        elif control.type == KRAFT_VOTERS:
            voters = voters_of(control.body)
    return level, voters
