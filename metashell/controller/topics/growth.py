"""More partitions for topics that exist.

Source: kafka.server.ControllerApis.createPartitions, ReplicationControlManager.createPartitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from metashell.codec import messages
from metashell.codec.error_codes import (
    INVALID_PARTITIONS,
    INVALID_REPLICA_ASSIGNMENT,
    INVALID_REQUEST,
    NONE,
    POLICY_VIOLATION,
    REQUEST_TIMED_OUT,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.controller.access.authorizer import Operation, Resource
from metashell.controller.decision import ApiError, BoundedRecords, Decision
from metashell.controller.java import timeline_order
from metashell.controller.partitions.assignment import active_of, check_manual_assignment, new_partition
from metashell.controller.partitions.bulk import Changes
from metashell.controller.request import Request
from metashell.controller.state import State
from metashell.controller.steps import PIECE, Steps
from metashell.controller.topics.creation import PARTITIONS_MAX, place_partitions
from metashell.image import TopicImage
from metashell.image.loss import VersionedRecord

_STRICT_FROM = 3


def create_partitions(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Add partitions to topics, each topic by itself."""
    body = request.body
    counts = Counter(topic.name for topic in body.topics)
    results: list[messages.CreatePartitionsResponse.CreatePartitionsTopicResult] = []
    wanted: list[messages.CreatePartitionsRequest.CreatePartitionsTopic] = []
    for name, count in counts.items():
        if count > 1:
            results.append(_result(name, ApiError(INVALID_REQUEST, "Duplicate topic name.")))
    for topic in body.topics:
        yield
        if counts[topic.name] > 1:
            continue
        if not state.authorizer.allows(request, Operation.ALTER, Resource.TOPIC, topic.name):
            results.append(_result(topic.name, ApiError(TOPIC_AUTHORIZATION_FAILED)))
        elif request.is_late(body.timeout_ms, now_ms):
            results.append(_result(topic.name, ApiError(REQUEST_TIMED_OUT)))
        else:
            wanted.append(topic)
    _check_additional_count(state, wanted)
    changes = Changes(state)
    records = BoundedRecords()
    for topic in wanted:
        yield
        try:
            grown = yield from _grow(state, changes, request, topic, now_ms)
            records.extend(grown)
            results.append(_result(topic.name, ApiError(NONE)))
        except ApiError as error:
            if error.code == POLICY_VIOLATION:
                raise
            results.append(_result(topic.name, error))
    throttle_time_ms = state.quotas.throttle_time_ms(state.stable.client_quotas, request)
    answer = messages.CreatePartitionsResponse(results=tuple(results), throttle_time_ms=throttle_time_ms)
    return Decision(answer, () if body.validate_only else records)


def _check_additional_count(state: State, wanted: Sequence[messages.CreatePartitionsRequest.CreatePartitionsTopic]) -> None:
    """Errors: ApiError POLICY_VIOLATION for the whole request; topics that do not exist add nothing."""
    by_name = state.image.topics.by_name
    total = sum(max(one.count - topic.partition_count, 0) for one in wanted if (topic := by_name.get(one.name)) is not None)
    if total > PARTITIONS_MAX:
        raise ApiError(POLICY_VIOLATION, "Excessively large number of additional partitions per request.")


def _grow(
    state: State, changes: Changes, request: Request, wanted: messages.CreatePartitionsRequest.CreatePartitionsTopic, now_ms: int
) -> Steps[list[VersionedRecord]]:
    topic = state.image.topics.by_name.get(wanted.name)
    if topic is None:
        raise ApiError(UNKNOWN_TOPIC_OR_PARTITION)
    present = topic.partition_count
    if wanted.count == present:
        raise ApiError(INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
    if wanted.count < present:
        why = f"The topic {wanted.name} currently has {present} partition(s); {wanted.count} would not be an increase."
        raise ApiError(INVALID_PARTITIONS, why)
    additional = wanted.count - present
    if wanted.assignments is not None and len(wanted.assignments) != additional:
        raise ApiError(
            INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {additional} additional partition(s), but only {len(wanted.assignments)} assignment(s) were specified.",
        )
    is_strict = request.version >= _STRICT_FROM
    state.quotas.charge(state.stable.client_quotas, request, additional, now_ms, is_strict=is_strict)
    factor = yield from _replication_factor(topic)
    partition_ids = range(present, wanted.count)
    if wanted.assignments is None:
        return (yield from place_partitions(state, changes, topic.id, partition_ids, factor))
    records = []
    for partition_id, one in zip(partition_ids, wanted.assignments, strict=True):
        check_manual_assignment(state, one.broker_ids, factor)
        isr = active_of(changes, one.broker_ids, partition_id)
        records.append(new_partition(changes, topic.id, partition_id, one.broker_ids, isr))
        yield
    return records


def _replication_factor(topic: TopicImage) -> Steps[int]:
    """How many replicas a partition of the topic has: the one that Kafka looks at, for they may differ."""
    partitions = topic.partitions
    first, first_if_changed = (timeline_order(range(len(partitions)), was_changed=changed)[0] for changed in (False, True))
    if first != first_if_changed:
        for number, partition in enumerate(partitions.values(), 1):
            if partition.partition_epoch:
                first = first_if_changed
                break
            if not number % PIECE:
                yield
    return len(partitions[first].replicas)


def _result(name: str, error: ApiError) -> messages.CreatePartitionsResponse.CreatePartitionsTopicResult:
    return messages.CreatePartitionsResponse.CreatePartitionsTopicResult(name=name, error_code=error.code, error_message=error.message)


def refuse(request: Request, code: int, message: str | None) -> messages.CreatePartitionsResponse:
    """The answer that refuses every topic of a request, one that comes twice as often as it comes."""
    error = ApiError(code, message)
    return messages.CreatePartitionsResponse(results=tuple(_result(topic.name, error) for topic in request.body.topics))
