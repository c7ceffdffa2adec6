"""Topics that go, by name or by id.

Source: kafka.server.ControllerApis.deleteTopics, ReplicationControlManager.deleteTopics.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.error_codes import (
    INVALID_REQUEST,
    NONE,
    REQUEST_TIMED_OUT,
    TOPIC_AUTHORIZATION_FAILED,
    TOPIC_DELETION_DISABLED,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.controller.access.authorizer import Operation, Resource
from metashell.controller.decision import ApiError, BoundedRecords, Decision
from metashell.controller.request import Request
from metashell.controller.state import State
from metashell.controller.steps import PIECE, Steps
from metashell.image import TopicImage
from metashell.values import ZERO_UUID

UNKNOWN_ID_TEXT: Final = "This server does not host this topic ID."
UNKNOWN_TOPIC_TEXT: Final = "This server does not host this topic-partition."
NOT_ALLOWED_TEXT: Final = "Topic authorization failed."
_STRICT_FROM = 5
_DISABLED_FROM = 3
_IDS_FROM = 6


def delete(state: State, request: Request, now_ms: int) -> Decision | Steps[Decision]:
    """Remove topics; one record each, for brokers drop the replicas when they see it."""
    if not state.settings.delete_topics:
        code = INVALID_REQUEST if request.version < _DISABLED_FROM else TOPIC_DELETION_DISABLED
        return Decision(refuse(request, code, None))
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
            self._results += [_result(name, ZERO_UUID, ApiError(REQUEST_TIMED_OUT)) for name in names]
            self._results += [_result(None, id, ApiError(REQUEST_TIMED_OUT)) for id in ids]
            return self._answer(())
        found = yield from self._by_id(ids)
        found.update((yield from self._by_name(names, found)))
        records = BoundedRecords()
        for topic in found.values():
            yield
            try:
                self._charge(topic)
            except ApiError as error:
                self._results.append(_result(topic.name, topic.id, error))
                continue
            records.append((messages.RemoveTopicRecord(topic_id=topic.id), 0))
            self._results.append(_result(topic.name, topic.id, ApiError(NONE)))
        return self._answer(records)

    def _answer(self, records: Any) -> Decision:
        throttle_time_ms = self._state.quotas.throttle_time_ms(self._state.stable.client_quotas, self._request)
        return Decision(messages.DeleteTopicsResponse(responses=tuple(self._results), throttle_time_ms=throttle_time_ms), records)

    def _asked(self) -> Steps[tuple[list[str], list[bytes]]]:
        """The names and ids of a request that make sense; what does not is answered at once."""
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
        self._results.append(_result(name, topic_id, ApiError(INVALID_REQUEST, why)))

    def _by_id(self, ids: list[bytes]) -> Steps[dict[bytes, TopicImage]]:
        found: dict[bytes, TopicImage] = {}
        for topic_id in ids:
            yield
            topic = self._state.stable.topics.by_id.get(topic_id)
            if topic is None or topic_id not in self._state.image.topics.by_id:
                self._results.append(_result(None, topic_id, ApiError(UNKNOWN_TOPIC_ID, UNKNOWN_ID_TEXT)))
            elif self._may(Operation.DELETE, topic.name):
                found[topic_id] = topic
            else:
                # Who may not describe a topic does not learn its name.
                name = topic.name if self._may(Operation.DESCRIBE, topic.name) else None
                self._results.append(_result(name, topic_id, ApiError(TOPIC_AUTHORIZATION_FAILED, NOT_ALLOWED_TEXT)))
        return found

    def _by_name(self, names: list[str], by_id: dict[bytes, TopicImage]) -> Steps[dict[bytes, TopicImage]]:
        found: dict[bytes, TopicImage] = {}
        for name in names:
            yield
            if not self._may(Operation.DESCRIBE, name):
                self._results.append(_result(name, ZERO_UUID, ApiError(TOPIC_AUTHORIZATION_FAILED, NOT_ALLOWED_TEXT)))
                continue
            topic = self._state.stable.topics.by_name.get(name)
            if topic is None or topic.id not in self._state.image.topics.by_id:
                self._results.append(_result(name, ZERO_UUID, ApiError(UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_TEXT)))
            elif topic.id in by_id:
                del by_id[topic.id]
                why = "The provided topic name maps to an ID that was already supplied."
                self._results.append(_result(name, topic.id, ApiError(INVALID_REQUEST, why)))
            elif not self._may(Operation.DELETE, name):
                self._results.append(_result(name, ZERO_UUID, ApiError(TOPIC_AUTHORIZATION_FAILED, NOT_ALLOWED_TEXT)))
            else:
                found[topic.id] = topic
        return found

    def _may(self, operation: Operation, name: str) -> bool:
        if self._may_delete_all:
            return True
        return self._state.authorizer.allows(self._request, operation, Resource.TOPIC, name)

    def _charge(self, topic: TopicImage) -> None:
        count = self._state.image.topics.by_id[topic.id].partition_count
        is_strict = self._request.version >= _STRICT_FROM
        self._state.quotas.charge(self._state.stable.client_quotas, self._request, count, self._now_ms, is_strict=is_strict)


def _result(name: str | None, topic_id: bytes, error: ApiError) -> Any:
    return messages.DeleteTopicsResponse.DeletableTopicResult(
        name=name, topic_id=topic_id, error_code=error.code, error_message=error.message
    )


def refuse(request: Request, code: int, message: str | None) -> Any:
    """The answer that refuses every topic of a request."""
    error = ApiError(code, message)
    if request.version < _IDS_FROM:
        results = [_result(name, ZERO_UUID, error) for name in request.body.topic_names]
    else:
        results = [_result(topic.name, topic.topic_id, error) for topic in request.body.topics]
    return messages.DeleteTopicsResponse(responses=tuple(results))
