"""What the application hears (C1, S2, S4): looked at for every notice to a listener."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.codec.batches import RecordBatch, read_batch_header
from metashell.quorum.raft.ready import Committed, LeaderChanged, SnapshotToLoad
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
