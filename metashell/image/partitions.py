"""One partition's state, and the one function that folds changes into it.

Both ways of holding a partition, as an object and as bytes that nobody has looked at, come to their state here, so that
they cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from metashell.codec.metadata_version import DIRECTORY_ASSIGNMENT_LEVEL, ELR_LEVEL
from metashell.codec.registry import message_type
from metashell.image.faults import ReplayError
from metashell.image.loss import LossHandler
from metashell.values import MIGRATING_DIRECTORY

NO_LEADER_CHANGE = -2
NO_RECOVERY_CHANGE = -1
_RECOVERY_STATES = (0, 1)


class PartitionRegistration(NamedTuple):
    """What the controller knows of a partition.

    Shape: replica ids in order of preference; `directories` has one 16-byte id for each replica; `leader` is -1 for
    none; `leader_recovery_state` is 0 (recovered) or 1 (recovering). A tuple and not a dataclass, because these are
    made by the million.
    Source: org.apache.kafka.metadata.PartitionRegistration.
    """

    replicas: tuple[int, ...]
    directories: tuple[bytes, ...]
    isr: tuple[int, ...]
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    leader: int = -1
    leader_recovery_state: int = 0
    leader_epoch: int = 0
    partition_epoch: int = 0


class ClearElr:
    """The change that a ClearElrRecord makes to each partition; there is one of it, `CLEAR_ELR`."""

    def __repr__(self) -> str:
        return "CLEAR_ELR"


CLEAR_ELR = ClearElr()


def partition_from_record(record: Any) -> PartitionRegistration:
    """The state that a PartitionRecord gives, taken literally.

    Errors: ReplayError if directories do not fit the replicas, or the recovery state means nothing.
    """
    replicas = record.replicas
    directories = record.directories
    if directories and len(directories) != len(replicas):
        raise ReplayError(f"{len(directories)} directories for {len(replicas)} replicas")
    if record.leader_recovery_state not in _RECOVERY_STATES:
        raise ReplayError(f"leaderRecoveryState is {record.leader_recovery_state}, not 0 or 1")
    return PartitionRegistration(
        replicas,
        directories or (MIGRATING_DIRECTORY,) * len(replicas),
        record.isr,
        record.removing_replicas,
        record.adding_replicas,
        record.eligible_leader_replicas or (),
        record.last_known_elr or (),
        record.leader,
        record.leader_recovery_state,
        record.leader_epoch,
        record.partition_epoch,
    )


def check_change(record: Any) -> bool:
    """Whether a PartitionChangeRecord fits any partition, so that it need not be folded to be accepted.

    Shape: one that sets replicas or directories fits or not depending on the other; the caller folds it at once.
    Errors: ReplayError if it can fit none.
    """
    replicas, directories = record.replicas, record.directories
    if record.leader_recovery_state not in (NO_RECOVERY_CHANGE, *_RECOVERY_STATES):
        raise ReplayError(f"leaderRecoveryState is {record.leader_recovery_state}, not -1, 0 or 1")
    if replicas is not None and directories and len(directories) != len(replicas):
        raise ReplayError(f"{len(directories)} directories for {len(replicas)} replicas")
    return replicas is None and directories is None


def fold_changes(base: PartitionRegistration, changes: Iterable[Any]) -> PartitionRegistration:
    """The state after PartitionChangeRecords (and CLEAR_ELR) have been merged, in order.

    The leader epoch goes up with every change that names a leader, also the same one; the partition epoch with every
    change. Directories stay as they are by position; where all are MIGRATING they stretch to the new replicas.
    Errors: ReplayError if directories do not fit the replicas.
    Source: org.apache.kafka.metadata.PartitionRegistration.merge, TopicDelta.replay.
    """
    replicas, directories, isr, removing, adding, elr, last_known_elr, leader, recovery, leader_epoch, epoch = base
    for change in changes:
        if change is CLEAR_ELR:
            if elr or last_known_elr:
                elr = last_known_elr = ()
                epoch += 1
            continue
        if change.replicas is not None or change.directories is not None:
            replicas, directories = _placement(replicas, directories, change)
        if change.isr is not None:
            isr = change.isr
        if change.removing_replicas is not None:
            removing = change.removing_replicas
        if change.adding_replicas is not None:
            adding = change.adding_replicas
        if change.eligible_leader_replicas is not None:
            elr = change.eligible_leader_replicas
        if change.last_known_elr is not None:
            last_known_elr = change.last_known_elr
        if change.leader != NO_LEADER_CHANGE:
            leader = change.leader
            leader_epoch += 1
        if change.leader_recovery_state != NO_RECOVERY_CHANGE:
            recovery = change.leader_recovery_state
        epoch += 1
    return PartitionRegistration(replicas, directories, isr, removing, adding, elr, last_known_elr, leader, recovery, leader_epoch, epoch)


def _placement(replicas: tuple[int, ...], directories: tuple[bytes, ...], change: Any) -> tuple[tuple[int, ...], tuple[bytes, ...]]:
    """Replicas and directories after a change that sets one of them, or both."""
    replicas = replicas if change.replicas is None else change.replicas
    directories = directories if change.directories is None else change.directories
    if all(directory == MIGRATING_DIRECTORY for directory in directories):
        return replicas, (MIGRATING_DIRECTORY,) * len(replicas)
    if len(directories) != len(replicas):
        raise ReplayError(f"{len(directories)} directories for {len(replicas)} replicas")
    return replicas, directories


def partition_record(partition: PartitionRegistration, topic_id: bytes, partition_id: int, level: int, loss: LossHandler) -> Any:
    """The PartitionRecord that says what `partition` is, as far as `level` can.

    Source: org.apache.kafka.metadata.PartitionRegistration.toRecord.
    """
    has_directories = level >= DIRECTORY_ASSIGNMENT_LEVEL
    if not has_directories and any(directory != MIGRATING_DIRECTORY for directory in partition.directories):
        loss("the directory assignment state of one or more replicas")
    has_elr = level >= ELR_LEVEL
    if not has_elr and (partition.elr or partition.last_known_elr):
        loss("the eligible leader replicas of one or more partitions")
    return message_type("metadata", "PartitionRecord").cls(
        partition_id=partition_id,
        topic_id=topic_id,
        replicas=partition.replicas,
        isr=partition.isr,
        removing_replicas=partition.removing_replicas,
        adding_replicas=partition.adding_replicas,
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=partition.directories if has_directories else (),
        eligible_leader_replicas=(partition.elr or None) if has_elr else None,
        last_known_elr=(partition.last_known_elr or None) if has_elr else None,
    )
