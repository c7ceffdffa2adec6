"""Partitions that move to other brokers.

Source: org.apache.kafka.controller.ReplicationControlManager.alterPartitionReassignments, PartitionReassignmentReplicas.
"""

from __future__ import annotations

from typing import Any

from metashell.checks.partitions import is_reassigning
from metashell.codec import messages
from metashell.codec.error_codes import (
    INVALID_REPLICA_ASSIGNMENT,
    INVALID_REPLICATION_FACTOR,
    INVALID_REQUEST,
    NO_REASSIGNMENT_IN_PROGRESS,
    NONE,
    REQUEST_TIMED_OUT,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.controller.decision import ApiError, BoundedRecords, Decision
from metashell.controller.partitions.assignment import check_manual_assignment
from metashell.controller.partitions.bulk import Changes
from metashell.controller.partitions.change import Election
from metashell.controller.request import Request
from metashell.controller.state import State, partition_of
from metashell.controller.steps import PIECE, Steps
from metashell.image import PartitionRegistration, ReplayError, TopicImage
from metashell.image.loss import VersionedRecord
from metashell.image.partitions import fold_changes


def alter_reassignments(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Begin, replace or cancel reassignments, each partition by itself, all in one batch."""
    body = request.body
    response = messages.AlterPartitionReassignmentsResponse
    if not body.topics:
        return Decision(response(error_code=NONE, error_message="", responses=()))
    if request.is_late(body.timeout_ms, now_ms):
        raise ApiError(REQUEST_TIMED_OUT)
    changes = Changes(state)
    records = BoundedRecords()
    topics = []
    moved: dict[tuple[bytes, int], PartitionRegistration] = {}
    for asked in body.topics:
        answers = []
        for one in asked.partitions:
            yield
            error = ApiError(NONE)
            try:
                made = _alter(state, changes, asked.name, one, body.allow_replication_factor_change)
                _check_repetition(state, moved, made)
                records.extend(made)
            except ApiError as refusal:
                error = refusal
            answers.append(
                response.ReassignablePartitionResponse(
                    partition_index=one.partition_index, error_code=error.code, error_message=error.message
                )
            )
        topics.append(response.ReassignableTopicResponse(name=asked.name, partitions=tuple(answers)))
    answer = response(
        error_code=NONE,
        error_message=None,
        responses=tuple(topics),
        allow_replication_factor_change=body.allow_replication_factor_change,
    )
    return Decision(answer, records)


def _check_repetition(state: State, moved: dict[tuple[bytes, int], PartitionRegistration], made: list[VersionedRecord]) -> None:
    """Whether a change still fits where the same request has changed the partition before.

    Both are computed on the partition as it was, so that the second may name other replicas and leave the directories to the first.
    Kafka writes such a record and halts over it.
    Errors: ApiError INVALID_REQUEST.
    """
    for record, _ in made:
        key = record.topic_id, record.partition_id
        before = moved.get(key) or state.partition(*key)
        assert before is not None, "a change is made of a partition that there is"
        try:
            moved[key] = fold_changes(before, (record,))
        except ReplayError:
            raise ApiError(INVALID_REQUEST, "The partition comes twice, and the second change does not fit the first.") from None


def refuse(request: Request, code: int, message: str | None) -> messages.AlterPartitionReassignmentsResponse:
    response = messages.AlterPartitionReassignmentsResponse
    made = response.ReassignablePartitionResponse
    return response(
        error_code=code,
        error_message=message,
        responses=tuple(
            response.ReassignableTopicResponse(
                name=topic.name,
                partitions=tuple(
                    made(partition_index=one.partition_index, error_code=code, error_message=message) for one in topic.partitions
                ),
            )
            for topic in request.body.topics
        ),
    )


def _alter(
    state: State,
    changes: Changes,
    name: str,
    one: messages.AlterPartitionReassignmentsRequest.ReassignablePartition,
    may_change_factor: bool,
) -> list[VersionedRecord]:
    topic = state.image.topics.by_name.get(name)
    if topic is None:
        raise ApiError(UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    partition = partition_of(topic, one.partition_index)
    if partition is None:
        raise ApiError(UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{one.partition_index}.")
    if one.replicas is None:
        return _cancel(changes, topic, one.partition_index, partition)
    return _begin(state, changes, topic, one, partition, may_change_factor)


def _cancel(changes: Changes, topic: TopicImage, partition_id: int, partition: PartitionRegistration) -> list[VersionedRecord]:
    """Back to the replicas from before, which are those that are not being added."""
    if not is_reassigning(partition):
        raise ApiError(NO_REASSIGNMENT_IN_PROGRESS)
    replicas = tuple(id for id in partition.replicas if id not in partition.adding_replicas)
    isr = tuple(id for id in partition.isr if id not in partition.adding_replicas)
    allows_unclean = changes.rules.allows_unclean(topic.name)
    if not isr:
        if not allows_unclean:
            where = f"{topic.name}:{partition_id} because it would require an unclean leader election."
            raise ApiError(INVALID_REPLICA_ASSIGNMENT, f"Unable to revert partition assignment for {where}")
        isr = replicas[:1]
    change = changes.change(topic, partition_id, partition)
    change.isr, change.replicas, change.removing, change.adding = isr, replicas, (), ()
    if allows_unclean:
        change.election = Election.UNCLEAN
    return changes.record(change)


def _begin(
    state: State,
    changes: Changes,
    topic: TopicImage,
    one: messages.AlterPartitionReassignmentsRequest.ReassignablePartition,
    partition: PartitionRegistration,
    may_change_factor: bool,
) -> list[VersionedRecord]:
    assert one.replicas is not None, "without a target a reassignment is cancelled"
    target = tuple(one.replicas)
    check_manual_assignment(state, target, None)
    if not may_change_factor:
        present = len(partition.replicas)
        if is_reassigning(partition):
            present = len({*partition.replicas, *partition.adding_replicas} - {*partition.removing_replicas})
        if len(target) != present:
            raise ApiError(INVALID_REPLICATION_FACTOR, f"The replication factor is changed from {present} to {len(target)}")
    if not partition.isr and any(id in partition.elr and id not in partition.replicas for id in target):
        # Kafka fails here: it asks which directory holds a replica that the partition no longer has.
        raise ApiError(
            INVALID_REPLICA_ASSIGNMENT, "An eligible leader replica that is no longer a replica cannot be added while nothing leads."
        )
    removing = tuple(sorted(id for id in partition.replicas if id not in target))
    adding = tuple(sorted(id for id in target if id not in partition.replicas))
    change = changes.change(topic, one.partition_index, partition)
    change.replicas = target + removing
    # Kafka takes over only what is not empty: a replacement that removes nothing leaves what was being removed as it was.
    if removing:
        change.removing = removing
    if adding:
        change.adding = adding
    return changes.record(change)


def list_reassignments(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """The partitions that are moving, of all topics or of those that are asked for; what is not moving is left out."""
    response = messages.ListPartitionReassignmentsResponse
    topics = []
    for topic, partition_ids in (yield from _asked(state, request.body.topics)):
        moving = []
        for partition_id in partition_ids:
            yield
            partition = partition_of(topic, partition_id)
            if partition is not None and is_reassigning(partition):
                moving.append(
                    response.OngoingPartitionReassignment(
                        partition_index=partition_id,
                        replicas=partition.replicas,
                        adding_replicas=partition.adding_replicas,
                        removing_replicas=partition.removing_replicas,
                    )
                )
        if moving:
            topics.append(response.OngoingTopicReassignment(name=topic.name, partitions=tuple(moving)))
    return Decision(response(error_message=None, topics=tuple(topics)))


def refuse_list(request: Request, code: int, message: str | None) -> messages.ListPartitionReassignmentsResponse:
    """The answer that refuses a listing: what was asked for, with no replicas."""
    response = messages.ListPartitionReassignmentsResponse
    return response(
        error_code=code,
        error_message=message,
        topics=tuple(
            response.OngoingTopicReassignment(
                name=topic.name,
                partitions=tuple(response.OngoingPartitionReassignment(partition_index=index) for index in topic.partition_indexes),
            )
            for topic in request.body.topics or ()
        ),
    )


def _asked(state: State, topics: Any) -> Steps[list[tuple[TopicImage, list[int]]]]:
    stable = state.stable.topics
    if topics is not None:
        named = ((stable.by_name.get(one.name), list(one.partition_indexes)) for one in topics)
        return [(topic, partition_ids) for topic, partition_ids in named if topic is not None]
    by_topic: dict[bytes, list[int]] = {}
    for number, (topic_id, partition_id) in enumerate(state.hints.reassigning, 1):
        by_topic.setdefault(topic_id, []).append(partition_id)
        if not number % PIECE:
            yield
    known = ((stable.by_id.get(topic_id), sorted(partition_ids)) for topic_id, partition_ids in by_topic.items())
    return [(topic, partition_ids) for topic, partition_ids in known if topic is not None]
