"""OffsetFetch and OffsetDelete, and the deletion of offsets with their topic, with their group, or after their retention time.

Offsets are listed in the order in which Kafka iterates over them: a table of topics, each with a table of partitions.
Source: kafka.server.KafkaApis, org.apache.kafka.coordinator.group.OffsetMetadataManager, GroupCoordinatorShard.cleanupGroupMetadata;
KIP-211."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import (
    GROUP_ID_NOT_FOUND,
    GROUP_SUBSCRIBED_TO_TOPIC,
    INVALID_GROUP_ID,
    NONE,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSTABLE_OFFSET_COMMIT,
)
from metashell.codec.java import string_hash, timeline_order
from metashell.common.values import ZERO_UUID
from metashell.groups.decision import Answer, Decision, GroupError, Record, Request, error_body, fetch_error_group
from metashell.groups.state import CommitClaim, Committed, Context, Group, PartitionKey, State, commit_tombstone, is_pending, pending_keys
from metashell.groups.topics import Topics

_MANY_GROUPS_FROM: Final = 8
_TOPIC_IDS_FROM: Final = 10

_Group = messages.OffsetFetchResponse.OffsetFetchResponseGroup
_Topic = messages.OffsetFetchResponse.OffsetFetchResponseTopics
_Partition = messages.OffsetFetchResponse.OffsetFetchResponsePartitions


class _View(NamedTuple):
    """A fetch of one group's offsets. `pending` are partitions with an open transaction, if stable offsets are required (KIP-447)."""

    offsets: dict[PartitionKey, Committed]
    pending: Collection[PartitionKey]


def fetch_offsets(context: Context, request: Request, now_ms: int) -> Decision:
    """Answer an OffsetFetch. It writes nothing."""
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
    topics = _fetch_all(state, view, with_ids) if asked.topics is None else _fetch_some(state, view, asked.topics, with_ids)
    return _Group(group_id=asked.group_id, topics=tuple(topics))


def _view(state: State, asked: Any, require_stable: bool) -> _View:
    """Check the fetch and return the group's offsets; none for a missing group or a share group. Errors: GroupError."""
    if asked.group_id is None:
        raise GroupError(INVALID_GROUP_ID)
    nothing = _View({}, ())
    group = state.groups.get(asked.group_id)
    if group is None:
        return nothing
    try:
        # Null and "" differ: null is an administrator's fetch without a member.
        has_claim = asked.member_id is not None or asked.member_epoch >= 0
        group.check_fetch(CommitClaim(asked.member_id or "", None, asked.member_epoch) if has_claim else CommitClaim())
    except GroupError as error:
        if error.code == GROUP_ID_NOT_FOUND:
            return nothing
        raise
    pending = pending_keys(state, asked.group_id) if require_stable else ()
    return _View(state.offsets.get(asked.group_id, {}), pending)


def _fetch_all(state: State, view: _View, with_ids: bool) -> list[_Topic]:
    """Return all offsets by topic, in the order of Kafka's tables. With topic ids, unknown topics are left out."""
    topics = []
    for name, partitions in keys_by_topic(view.offsets).items():
        known = state.topics.named(name) if with_ids else None
        if with_ids and known is None:
            continue
        shown = tuple(_partition(view, name, partition, ZERO_UUID) for partition in partitions)
        topics.append(_Topic(name=name, topic_id=ZERO_UUID if known is None else known.id, partitions=shown))
    return topics


def _fetch_some(state: State, view: _View, asked: Any, with_ids: bool) -> list[_Topic]:
    """Return the requested offsets. Topics with an unknown id come last, with an error."""
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
    """Return whether the topic was deleted and created again since the commit: both ids are known and differ."""
    return committed != asked and ZERO_UUID not in (committed, asked)


def _nothing(index: int, code: int) -> _Partition:
    return _Partition(partition_index=index, committed_offset=-1, metadata="", error_code=code)


def _old_form(group: _Group) -> messages.OffsetFetchResponse:
    """Return the answer for one group in the form of versions before 8."""
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


def delete_offsets(context: Context, request: Request, now_ms: int) -> Decision:
    """Decide an OffsetDelete. A partition that does not exist or is subscribed is refused independently."""
    state, body = context.state, request.body
    asked = [
        (topic.name, [(row.partition_index, _is_known(state, topic.name, row.partition_index)) for row in topic.partitions])
        for topic in body.topics
    ]
    records: list[Record] = []
    try:
        group = _group_of(state, body.group_id)
    except GroupError as error:
        return Decision(answers=[Answer(request.ticket, error_body(request, error.code))])
    topics = []
    for name, rows in asked:
        codes = [(index, UNKNOWN_TOPIC_OR_PARTITION) for index, is_known in rows if not is_known]
        known = [index for index, is_known in rows if is_known]
        if known:
            code = GROUP_SUBSCRIBED_TO_TOPIC if group.is_subscribed(name) else NONE
            codes += [(index, code) for index in known]
            if code == NONE:
                records += _tombstones_of(state, body.group_id, [(name, index) for index in known])
        topics.append(_topic(name, codes))
    return Decision(records, [Answer(request.ticket, messages.OffsetDeleteResponse(topics=tuple(topics)))])


def offset_tombstones_of_group(state: State, group_id: str) -> list[Record]:
    """Return the records that delete all offsets of a group, including those of open transactions."""
    offsets = state.offsets.get(group_id, {})
    waiting = pending_keys(state, group_id) - offsets.keys()
    return [commit_tombstone(group_id, *key) for key in [*keys_in_order(offsets), *sorted(waiting)]]


def delete_topic_offsets(
    context: Context, old: Topics, new: Topics, changed: Collection[str], deleted: Collection[str], now_ms: int
) -> list[Record]:
    """Return the records that delete all groups' offsets of deleted topics."""
    state = context.state
    group_ids = dict.fromkeys([*state.offsets, *state.pending])
    return [
        commit_tombstone(group_id, *key)
        for group_id in group_ids
        for key in sorted(state.offsets.get(group_id, {}).keys() | pending_keys(state, group_id))
        if key[0] in deleted
    ]


def _group_of(state: State, group_id: str) -> Group:
    """Return the group of an OffsetDelete. Errors: GroupError."""
    if not group_id:
        raise GroupError(INVALID_GROUP_ID)
    group = state.groups.get(group_id)
    if group is None:
        raise GroupError(GROUP_ID_NOT_FOUND)
    group.check_delete_offsets()
    return group


def _tombstones_of(state: State, group_id: str, keys: Iterable[PartitionKey]) -> list[Record]:
    offsets = state.offsets.get(group_id, {})
    return [commit_tombstone(group_id, *key) for key in keys if key in offsets or is_pending(state, group_id, key)]


def _is_known(state: State, name: str, partition: int) -> bool:
    topic = state.topics.named(name)
    return topic is not None and 0 <= partition < topic.partition_count


def _topic(name: str, codes: Iterable[tuple[int, int]]) -> Any:
    kind = messages.OffsetDeleteResponse
    rows = tuple(kind.OffsetDeleteResponsePartition(partition_index=index, error_code=code) for index, code in codes)
    return kind.OffsetDeleteResponseTopic(name=name, partitions=rows)


TIMER: Final = ("expire-group-metadata",)


def begin_expiry(context: Context, now_ms: int) -> None:
    """Start the periodic deletion of expired offsets."""

    def expire(at_ms: int) -> Decision:
        begin_expiry(context, at_ms)
        return Decision(expire_offsets(context.state, at_ms, context.settings.offsets_retention_ms))

    # A timer with interval 0 would be due for ever.
    context.timers.schedule(TIMER, now_ms + max(context.settings.offsets_retention_check_interval_ms, 1), expire)


def expire_offsets(state: State, now_ms: int, retention_ms: int) -> list[Record]:
    """Return the tombstones of all expired offsets, and of empty groups without offsets left.

    An offset with a pending one for its partition stays, although it is old: the transaction may be about to replace it.
    """
    records: list[Record] = []
    for group_id, group in state.groups.items():
        known = state.offsets.get(group_id, {})
        gone = keys_in_order(key for key, offset in known.items() if _has_expired(state, group, key, offset, now_ms, retention_ms))
        records += [commit_tombstone(group_id, *key) for key in gone]
        if group.is_expiring and len(gone) == len(known) and group_id not in state.pending and group.is_empty:
            records += group.tombstones()
    return records


def expires_ms(group: Group, topic: str, committed: Committed, retention_ms: int) -> int | None:
    """Return when an offset expires if its group stays as it is, None for never."""
    base_ms = group.expiry_base_ms(committed.commit_ms)
    if base_ms is None or group.is_subscribed(topic):
        return None
    return committed.expire_ms if committed.expire_ms >= 0 else base_ms + retention_ms


def _has_expired(state: State, group: Group, key: tuple[str, int], committed: Committed, now_ms: int, retention_ms: int) -> bool:
    due_ms = expires_ms(group, key[0], committed, retention_ms)
    return due_ms is not None and due_ms <= now_ms and not is_pending(state, group.group_id, key)


def keys_by_topic(keys: Iterable[PartitionKey]) -> dict[str, list[int]]:
    """Group partitions by topic, both in Kafka's order; `keys` are the oldest first."""
    found: dict[str, list[int]] = {}
    for topic, partition in keys:
        found.setdefault(topic, []).append(partition)
    topics = timeline_order(list(found), {topic: string_hash(topic) for topic in found})
    return {topic: timeline_order(found[topic], {partition: partition for partition in found[topic]}) for topic in topics}


def keys_in_order(keys: Iterable[PartitionKey]) -> list[PartitionKey]:
    """Sort the keys into Kafka's order."""
    return [(topic, partition) for topic, partitions in keys_by_topic(keys).items() for partition in partitions]
