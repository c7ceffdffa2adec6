"""DeleteTopics, by name or by id, and CreatePartitions for topics that exist.

Source: kafka.server.ControllerApis.deleteTopics, createPartitions; ReplicationControlManager.deleteTopics, createPartitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.error_codes import (
    INVALID_PARTITIONS,
    INVALID_REPLICA_ASSIGNMENT,
    INVALID_REQUEST,
    NONE,
    POLICY_VIOLATION,
    REQUEST_TIMED_OUT,
    TOPIC_AUTHORIZATION_FAILED,
    TOPIC_DELETION_DISABLED,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.common.values import ZERO_UUID
from metashell.metadata.image import TopicImage
from metashell.metadata.image.provenance import VersionedRecord
from metashell.quorum.controller.authorizer import Operation, Resource
from metashell.quorum.controller.decision import PIECE, ApiError, BoundedRecords, Decision, Request, Steps, refusal
from metashell.quorum.controller.elections import PartitionChanges, active_replicas, check_manual_assignment, new_partition
from metashell.quorum.controller.java import timeline_order
from metashell.quorum.controller.state import State
from metashell.quorum.controller.topic_creation import PARTITIONS_MAX, place_partitions

UNKNOWN_ID_TEXT: Final = "This server does not host this topic ID."
UNKNOWN_TOPIC_TEXT: Final = "This server does not host this topic-partition."
NOT_ALLOWED_TEXT: Final = "Topic authorization failed."
_DELETION_STRICT_FROM = 5
_DISABLED_FROM = 3
_IDS_FROM = 6


def delete_topics(state: State, request: Request, now_ms: int) -> Decision | Steps[Decision]:
    """Remove topics; one record each, for brokers drop the replicas when they see it."""
    if not state.settings.delete_topics:
        code = INVALID_REQUEST if request.version < _DISABLED_FROM else TOPIC_DELETION_DISABLED
        return Decision(refusal(request, code))
    return TopicDeletion(state, request, now_ms).decide()


class TopicDeletion:
    """One DeleteTopics request."""

    def __init__(self, state: State, request: Request, now_ms: int) -> None:
        self._state = state
        self._request = request
        self._now_ms = now_ms
        self._results: list[Any] = []
        self._may_delete_all = state.authorizer.allows_cluster(request, Operation.DELETE)

    def decide(self) -> Steps[Decision]:
        names, ids = yield from self._asked()
        if (names or ids) and self._request.is_late(self._request.body.timeout_ms, self._now_ms):
            self._results += [_deletion_result(name, ZERO_UUID, ApiError(REQUEST_TIMED_OUT)) for name in names]
            self._results += [_deletion_result(None, id, ApiError(REQUEST_TIMED_OUT)) for id in ids]
            return self._answer(())
        found = yield from self._by_id(ids)
        found.update((yield from self._by_name(names, found)))
        records = BoundedRecords()
        for topic in found.values():
            yield
            try:
                self._charge(topic)
            except ApiError as error:
                self._results.append(_deletion_result(topic.name, topic.id, error))
                continue
            records.append((messages.RemoveTopicRecord(topic_id=topic.id), 0))
            self._results.append(_deletion_result(topic.name, topic.id, ApiError(NONE)))
        return self._answer(records)

    def _answer(self, records: Any) -> Decision:
        throttle_time_ms = self._state.quotas.throttle_time_ms(self._state.stable.client_quotas, self._request)
        return Decision(messages.DeleteTopicsResponse(responses=tuple(self._results), throttle_time_ms=throttle_time_ms), records)

    def _asked(self) -> Steps[tuple[list[str], list[bytes]]]:
        """Return the valid names and ids of a request; the others are answered at once."""
        body = self._request.body
        if self._request.version < _IDS_FROM:
            entries: list[tuple[str | None, bytes]] = [(name, ZERO_UUID) for name in body.topic_names]
        else:
            entries = [(topic.name, topic.topic_id) for topic in body.topics]
        names: Counter[str] = Counter()
        ids: Counter[bytes] = Counter()
        for number, (name, topic_id) in enumerate(entries, 1):
            if not number % PIECE:
                yield
            if name is None and topic_id == ZERO_UUID:
                self._refuse(None, ZERO_UUID, "Neither topic name nor id were specified.")
            elif name is None:
                ids[topic_id] += 1
            elif topic_id == ZERO_UUID:
                names[name] += 1
            else:
                self._refuse(name, topic_id, "You may not specify both topic name and topic id.")
        for name in [name for name, count in names.items() if count > 1]:
            yield
            self._refuse(name, ZERO_UUID, "Duplicate topic name.")
            del names[name]
        for topic_id in [topic_id for topic_id, count in ids.items() if count > 1]:
            yield
            self._refuse(None, topic_id, "Duplicate topic id.")
            del ids[topic_id]
        return list(names), list(ids)

    def _refuse(self, name: str | None, topic_id: bytes, why: str) -> None:
        self._results.append(_deletion_result(name, topic_id, ApiError(INVALID_REQUEST, why)))

    def _by_id(self, ids: list[bytes]) -> Steps[dict[bytes, TopicImage]]:
        found: dict[bytes, TopicImage] = {}
        for topic_id in ids:
            yield
            topic = self._state.stable.topics.by_id.get(topic_id)
            if topic is None or topic_id not in self._state.image.topics.by_id:
                self._results.append(_deletion_result(None, topic_id, ApiError(UNKNOWN_TOPIC_ID, UNKNOWN_ID_TEXT)))
            elif self._may(Operation.DELETE, topic.name):
                found[topic_id] = topic
            else:
                # Who may not describe a topic does not learn its name.
                name = topic.name if self._may(Operation.DESCRIBE, topic.name) else None
                self._results.append(_deletion_result(name, topic_id, ApiError(TOPIC_AUTHORIZATION_FAILED, NOT_ALLOWED_TEXT)))
        return found

    def _by_name(self, names: list[str], by_id: dict[bytes, TopicImage]) -> Steps[dict[bytes, TopicImage]]:
        found: dict[bytes, TopicImage] = {}
        for name in names:
            yield
            if not self._may(Operation.DESCRIBE, name):
                self._results.append(_deletion_result(name, ZERO_UUID, ApiError(TOPIC_AUTHORIZATION_FAILED, NOT_ALLOWED_TEXT)))
                continue
            topic = self._state.stable.topics.by_name.get(name)
            if topic is None or topic.id not in self._state.image.topics.by_id:
                self._results.append(_deletion_result(name, ZERO_UUID, ApiError(UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_TEXT)))
            elif topic.id in by_id:
                del by_id[topic.id]
                why = "The provided topic name maps to an ID that was already supplied."
                self._results.append(_deletion_result(name, topic.id, ApiError(INVALID_REQUEST, why)))
            elif not self._may(Operation.DELETE, name):
                self._results.append(_deletion_result(name, ZERO_UUID, ApiError(TOPIC_AUTHORIZATION_FAILED, NOT_ALLOWED_TEXT)))
            else:
                found[topic.id] = topic
        return found

    def _may(self, operation: Operation, name: str) -> bool:
        if self._may_delete_all:
            return True
        return self._state.authorizer.allows(self._request, operation, Resource.TOPIC, name)

    def _charge(self, topic: TopicImage) -> None:
        count = self._state.image.topics.by_id[topic.id].partition_count
        is_strict = self._request.version >= _DELETION_STRICT_FROM
        self._state.quotas.charge(self._state.stable.client_quotas, self._request, count, self._now_ms, is_strict=is_strict)


def _deletion_result(name: str | None, topic_id: bytes, error: ApiError) -> Any:
    return messages.DeleteTopicsResponse.DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=error.code, error_message=error.message
    )


# CreatePartitions


_STRICT_FROM = 3


def create_partitions(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Add partitions to topics, each topic by itself."""
    body = request.body
    counts = Counter(topic.name for topic in body.topics)
    results: list[messages.CreatePartitionsResponse.CreatePartitionsTopicResult] = []
    wanted: list[messages.CreatePartitionsRequest.CreatePartitionsTopic] = []
    for name, count in counts.items():
        if count > 1:
            results.append(_growth_result(name, ApiError(INVALID_REQUEST, "Duplicate topic name.")))
    for topic in body.topics:
        yield
        if counts[topic.name] > 1:
            continue
        if not state.authorizer.allows(request, Operation.ALTER, Resource.TOPIC, topic.name):
            results.append(_growth_result(topic.name, ApiError(TOPIC_AUTHORIZATION_FAILED)))
        elif request.is_late(body.timeout_ms, now_ms):
            results.append(_growth_result(topic.name, ApiError(REQUEST_TIMED_OUT)))
        else:
            wanted.append(topic)
    _check_additional_count(state, wanted)
    changes = PartitionChanges(state)
    records = BoundedRecords()
    for topic in wanted:
        yield
        try:
            grown = yield from _grow(state, changes, request, topic, now_ms)
            records.extend(grown)
            results.append(_growth_result(topic.name, ApiError(NONE)))
        except ApiError as error:
            if error.code == POLICY_VIOLATION:
                raise
            results.append(_growth_result(topic.name, error))
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
    state: State, changes: PartitionChanges, request: Request, wanted: messages.CreatePartitionsRequest.CreatePartitionsTopic, now_ms: int
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
        isr = active_replicas(changes, one.broker_ids, partition_id)
        records.append(new_partition(changes, topic.id, partition_id, one.broker_ids, isr))
        yield
    return records


def _replication_factor(topic: TopicImage) -> Steps[int]:
    """Return the replica count of the partition that Kafka looks at; partitions of one topic may differ."""
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


def _growth_result(name: str, error: ApiError) -> messages.CreatePartitionsResponse.CreatePartitionsTopicResult:
    return messages.CreatePartitionsResponse.CreatePartitionsTopicResult(name=name, error_code=error.code, error_message=error.message)
