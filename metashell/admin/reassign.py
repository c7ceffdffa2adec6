"""Moves of replicas between brokers: begun, looked at, cancelled.

The protocol has no compare-and-set: who begins a move replaces one that is under way, so look right before.
Source: KIP-455.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from metashell.admin.errors import AdminError, check_answer
from metashell.codec import messages
from metashell.codec.error_codes import NONE

if TYPE_CHECKING:
    from metashell.admin.admin import Admin

CHUNK: Final = 1000
"""Partitions of one request: one that would write more than 10 000 records is refused as a whole."""
Place = tuple[str, int]
"""A topic and the number of a partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """A move under way; `replicas` has those that are added and removed too."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


def alter_reassignments(admin: Admin, targets: Mapping[Place, tuple[int, ...] | None]) -> dict[Place, AdminError | None]:
    """Begin to move partitions to these replicas, or cancel their moves where None; None where that was taken, else why not.

    Errors: AdminError for what is refused as a whole; UncertainError where the answer was lost.
    """
    make = messages.AlterPartitionReassignmentsRequest
    by_topic: dict[str, list[messages.AlterPartitionReassignmentsRequest.ReassignablePartition]] = {}
    for (topic, partition), replicas in targets.items():
        by_topic.setdefault(topic, []).append(make.ReassignablePartition(partition_index=partition, replicas=replicas))
    topics = tuple(make.ReassignableTopic(name=name, partitions=tuple(partitions)) for name, partitions in by_topic.items())
    answer = admin.ask_active(make(timeout_ms=admin.timeout_ms, topics=topics))
    check_answer(answer.error_code, answer.error_message)
    found: dict[Place, AdminError | None] = {}
    for topic in answer.responses:
        for one in topic.partitions:
            thing = f"{topic.name}:{one.partition_index}"
            error = None if one.error_code == NONE else AdminError(one.error_code, one.error_message, thing)
            found[topic.name, one.partition_index] = error
    return found


def list_reassignments(admin: Admin, places: Iterable[Place] | None = None) -> dict[Place, Moving]:
    """The moves under way, of these partitions or of all. Errors: AdminError."""
    make = messages.ListPartitionReassignmentsRequest
    topics = None
    if places is not None:
        by_topic: dict[str, list[int]] = {}
        for topic, partition in places:
            by_topic.setdefault(topic, []).append(partition)
        topics = tuple(make.ListPartitionReassignmentsTopics(name=name, partition_indexes=tuple(ids)) for name, ids in by_topic.items())
    answer = admin.ask_active(make(timeout_ms=admin.timeout_ms, topics=topics))
    check_answer(answer.error_code, answer.error_message)
    return {
        (topic.name, one.partition_index): Moving(
            topic=topic.name,
            partition=one.partition_index,
            replicas=tuple(one.replicas),
            adding=tuple(one.adding_replicas),
            removing=tuple(one.removing_replicas),
        )
        for topic in answer.topics
        for one in topic.partitions
    }
