"""OffsetFetch: what is committed, for some partitions or for all.

Source: kafka.server.KafkaApis, org.apache.kafka.coordinator.group.OffsetMetadataManager; groups.md 13.2.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import GROUP_ID_NOT_FOUND, INVALID_GROUP_ID, NONE, UNKNOWN_TOPIC_ID, UNSTABLE_OFFSET_COMMIT
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError
from metashell.groups.error_answers import error_body, fetch_error_group
from metashell.groups.group import CommitClaim
from metashell.groups.offsets.order import by_topic
from metashell.groups.offsets.pending import pending_keys
from metashell.groups.request import Answer, Request
from metashell.groups.state import Committed, PartitionKey, State
from metashell.values import ZERO_UUID

_MANY_GROUPS_FROM: Final = 8
_TOPIC_IDS_FROM: Final = 10

_Group = messages.OffsetFetchResponse.OffsetFetchResponseGroup
_Topic = messages.OffsetFetchResponse.OffsetFetchResponseTopics
_Partition = messages.OffsetFetchResponse.OffsetFetchResponsePartitions


class _View(NamedTuple):
    """The offsets of one group. `pending` are partitions that are not stable, for who asks for stable ones."""

    offsets: dict[PartitionKey, Committed]
    pending: Collection[PartitionKey]


def fetch(context: Context, request: Request, now_ms: int) -> Decision:
    """Decide an OffsetFetch: it writes nothing."""
    body = request.body
    if request.version >= _MANY_GROUPS_FROM:
        groups = tuple(_fetch_group(context.state, group, body.require_stable, request.version) for group in body.groups)
        return Decision(answers=[Answer(request.ticket, messages.OffsetFetchResponse(groups=groups))])
    asked = messages.OffsetFetchRequest.OffsetFetchRequestGroup(
        group_id=body.group_id,
        member_id=None,
        member_epoch=-1,
        topics=None if body.topics is None else body.topics,
    )
    found = _fetch_group(context.state, asked, body.require_stable, request.version)
    if found.error_code != NONE:
        return Decision(answers=[Answer(request.ticket, error_body(request, found.error_code))])
    return Decision(answers=[Answer(request.ticket, _old_form(found))])


def _fetch_group(state: State, asked: Any, require_stable: bool, version: int) -> _Group:
    try:
        view = _view(state, asked, require_stable)
    except GroupError as error:
        return fetch_error_group(asked, error.code)
    with_ids = version >= _TOPIC_IDS_FROM
    topics = _all(state, view, with_ids) if asked.topics is None else _some(state, view, asked.topics, with_ids)
    return _Group(group_id=asked.group_id, topics=tuple(topics))


def _view(state: State, asked: Any, require_stable: bool) -> _View:
    """What the asker may see. Errors: GroupError; a group that is missing, or has no offsets by its kind, shows none."""
    if asked.group_id is None:
        raise GroupError(INVALID_GROUP_ID)
    nothing = _View({}, ())
    group = state.groups.get(asked.group_id)
    if group is None:
        return nothing
    try:
        # Null and "" are not the same: to name no member is an administrator's right.
        has_claim = asked.member_id is not None or asked.member_epoch >= 0
        group.check_fetch(CommitClaim(asked.member_id or "", None, asked.member_epoch) if has_claim else CommitClaim())
    except GroupError as error:
        if error.code == GROUP_ID_NOT_FOUND:
            return nothing
        raise
    pending = pending_keys(state, asked.group_id) if require_stable else ()
    return _View(state.offsets.get(asked.group_id, {}), pending)


def _all(state: State, view: _View, with_ids: bool) -> list[_Topic]:
    """Every offset, by topic, in the order of Kafka's tables. Asked by id, topics that the broker does not know are left out."""
    topics = []
    for name, partitions in by_topic(view.offsets).items():
        known = state.topics.named(name) if with_ids else None
        if with_ids and known is None:
            continue
        shown = tuple(_partition(view, name, partition, ZERO_UUID) for partition in partitions)
        topics.append(_Topic(name=name, topic_id=ZERO_UUID if known is None else known.id, partitions=shown))
    return topics


def _some(state: State, view: _View, asked: Any, with_ids: bool) -> list[_Topic]:
    """The offsets that were asked for; topics whose id is unknown come last, with an error."""
    topics, unknown = [], []
    for topic in asked:
        if not with_ids:
            shown = tuple(_partition(view, topic.name, index, ZERO_UUID) for index in topic.partition_indexes)
            topics.append(_Topic(name=topic.name, partitions=shown))
        elif (known := state.topics.with_id(topic.topic_id)) is not None:
            shown = tuple(_partition(view, known.name, index, known.id) for index in topic.partition_indexes)
            topics.append(_Topic(name=known.name, topic_id=known.id, partitions=shown))
        else:
            shown = tuple(_nothing(index, UNKNOWN_TOPIC_ID) for index in topic.partition_indexes)
            unknown.append(_Topic(name=topic.name, topic_id=topic.topic_id, partitions=shown))
    return topics + unknown


def _partition(view: _View, topic: str, index: int, topic_id: bytes) -> _Partition:
    key = (topic, index)
    if key in view.pending:
        return _nothing(index, UNSTABLE_OFFSET_COMMIT)
    committed = view.offsets.get(key)
    if committed is None or _is_another(committed.topic_id, topic_id):
        return _nothing(index, NONE)
    return _Partition(
        partition_index=index,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )


def _is_another(committed: bytes, asked: bytes) -> bool:
    """Whether the topic was made anew since the commit: both ids are known, and differ."""
    return committed != asked and ZERO_UUID not in (committed, asked)


def _nothing(index: int, code: int) -> _Partition:
    return _Partition(partition_index=index, committed_offset=-1, metadata="", error_code=code)


def _old_form(group: _Group) -> messages.OffsetFetchResponse:
    """The answer for one group, as it was before version 8."""
    kind = messages.OffsetFetchResponse
    return kind(
        topics=tuple(
            kind.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=tuple(
                    kind.OffsetFetchResponsePartition(
                        partition_index=row.partition_index,
                        committed_offset=row.committed_offset,
                        committed_leader_epoch=row.committed_leader_epoch,
                        metadata=row.metadata,
                        error_code=row.error_code,
                    )
                    for row in topic.partitions
                ),
            )
            for topic in group.topics
        )
    )
