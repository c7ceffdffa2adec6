"""Replicas that a client chose by hand, and partitions that are new.

Source: org.apache.kafka.controller.ReplicationControlManager.validateManualPartitionAssignment, buildPartitionRegistration.
"""

from __future__ import annotations

from collections.abc import Sequence

from metashell.codec import messages
from metashell.codec.error_codes import INVALID_REPLICA_ASSIGNMENT
from metashell.codec.metadata_version import DIRECTORY_ASSIGNMENT_LEVEL
from metashell.controller.decision import ApiError
from metashell.controller.partitions.bulk import Changes
from metashell.controller.state import State
from metashell.image.loss import VersionedRecord


def check_manual_assignment(state: State, replicas: Sequence[int], replication_factor: int | None) -> None:
    """Whether brokers can be the replicas of a partition, also those that stay, and whether there are as many as other partitions have.

    Errors: ApiError INVALID_REPLICA_ASSIGNMENT; brokers are looked at in ascending order of their ids.
    """
    if not replicas:
        raise _invalid("The manual partition assignment includes an empty replica list.")
    previous: int | None = None
    for broker_id in sorted(replicas):
        broker = state.image.cluster.brokers.get(broker_id)
        if broker is None:
            raise _invalid(f"The manual partition assignment includes broker {broker_id}, but no such broker is registered.")
        if broker_id == previous:
            raise _invalid(f"The manual partition assignment includes the broker {broker_id} more than once.")
        if broker.is_cordoned:
            raise _invalid(f"The manual partition assignment includes broker {broker_id}, but all its log directories are cordoned.")
        previous = broker_id
    if replication_factor is not None and len(replicas) != replication_factor:
        raise _invalid(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not consistent with "
            f"previous partitions, which have {replication_factor} replica(s)."
        )


def active_of(changes: Changes, replicas: Sequence[int], partition_id: int) -> tuple[int, ...]:
    """The ISR of a new partition whose replicas were chosen by hand. Errors: ApiError if nobody could lead it."""
    isr = tuple(id for id in replicas if changes.is_active(id))
    if not isr:
        which = f"for partition {partition_id} are fenced or in controlled shutdown."
        raise _invalid(f"All brokers specified in the manual partition assignment {which}")
    return isr


def new_partition(changes: Changes, topic_id: bytes, partition_id: int, replicas: Sequence[int], isr: Sequence[int]) -> VersionedRecord:
    """The record of a new partition; its leader is the first in sync."""
    has_directories = changes.level >= DIRECTORY_ASSIGNMENT_LEVEL
    record = messages.PartitionRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        replicas=tuple(replicas),
        isr=tuple(isr),
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=tuple(changes.default_directory(id) for id in replicas) if has_directories else (),
    )
    return record, changes.version


def _invalid(message: str) -> ApiError:
    return ApiError(INVALID_REPLICA_ASSIGNMENT, message)
