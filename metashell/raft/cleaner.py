"""Old snapshots and the log before them go, by size first and then by age; the newest snapshot always stays.

Source: org.apache.kafka.raft.KafkaRaftLog.maybeClean, cleanSnapshots.
"""

from __future__ import annotations

from metashell.raft.connections import NEVER
from metashell.raft.protocols import ReplicatedLog
from metashell.raft.replica import Replica
from metashell.raft.roles import Leader
from metashell.raft.snapshot_check import read_snapshot_head
from metashell.values import OffsetAndEpoch


def clean(node: Replica) -> bool:
    """Drop what the settings allow to be dropped; returns whether anything was."""
    log, config, wall_ms = node.log, node.config, node.wall_ms()
    start = log.start_offset
    needed = needed_from(node)
    if config.retention_size >= 0:
        while may_drop_oldest(log, needed) and is_too_large(log, config.retention_size):
            log.delete_before(log.snapshots()[1])
    if config.retention_ms >= 0:
        while may_drop_oldest(log, needed) and is_too_old(log, log.snapshots()[0], config.retention_ms, wall_ms):
            log.delete_before(log.snapshots()[1])
    if log.start_offset == start:
        return False
    if node.epochs.truncate_from_start(log.start_offset):
        log.write_leader_epochs(node.epochs.entries)
    node.partition.truncate_old(log.start_offset)
    return True


def needed_from(node: Replica) -> int:
    """The first offset that a listener still has to read as log: one that knows that this replica leads must not be given a snapshot.

    It acts on what it has applied; Kafka's replica stops where such a one fell behind the log's start.
    """
    role = node.role
    if not isinstance(role, Leader):
        return NEVER
    told = [listener.next_offset for listener in node.listeners.values() if listener.epoch == role.epoch and listener.leader_id >= 0]
    return min(told, default=NEVER)


def may_drop_oldest(log: ReplicatedLog, needed: int) -> bool:
    """Whether there is a snapshot to begin with instead, and nobody reads what lies before it."""
    snapshots = log.snapshots()
    return len(snapshots) > 1 and snapshots[1].offset <= needed


def is_too_large(log: ReplicatedLog, retention_size: int) -> bool:
    """Whether a snapshot can go, and log and snapshots take more than `retention_size` bytes."""
    snapshots = log.snapshots()
    return len(snapshots) > 1 and log.size + sum(map(log.snapshot_size, snapshots)) > retention_size


def is_too_old(log: ReplicatedLog, id: OffsetAndEpoch, retention_ms: int, wall_ms: int) -> bool:
    """Whether what a snapshot stands for is older than the retention; one without a readable header is not."""
    timestamp = read_snapshot_head(log, id).last_contained_log_timestamp
    return timestamp is not None and wall_ms - timestamp > retention_ms
