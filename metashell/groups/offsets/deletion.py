"""Offsets that are deleted: by OffsetDelete, with their group, and with their topic.

Source: kafka.server.KafkaApis, org.apache.kafka.coordinator.group.OffsetMetadataManager; groups.md 13.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from metashell.codec import messages
from metashell.codec.error_codes import (
    GROUP_ID_NOT_FOUND,
    GROUP_SUBSCRIBED_TO_TOPIC,
    INVALID_GROUP_ID,
    NONE,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError
from metashell.groups.error_answers import error_body
from metashell.groups.group import Group
from metashell.groups.offsets.order import in_order
from metashell.groups.offsets.pending import is_pending, pending_keys
from metashell.groups.offsets.records import commit_tombstone
from metashell.groups.record import Record
from metashell.groups.request import Answer, Request
from metashell.groups.state import PartitionKey, State
from metashell.groups.topics import Topics


def delete_offsets(context: Context, request: Request, now_ms: int) -> Decision:
    """Decide an OffsetDelete. A partition that the broker does not know, or that is subscribed, is refused by itself."""
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


def group_tombstones(state: State, group_id: str) -> list[Record]:
    """The records that delete all offsets of a group, those of open transactions too."""
    offsets = state.offsets.get(group_id, {})
    waiting = pending_keys(state, group_id) - offsets.keys()
    return [commit_tombstone(group_id, *key) for key in [*in_order(offsets), *sorted(waiting)]]


def topics_deleted(
    context: Context, old: Topics, new: Topics, changed: Collection[str], deleted: Collection[str], now_ms: int
) -> list[Record]:
    """The records that delete all offsets of topics that are gone, in every group."""
    state = context.state
    group_ids = dict.fromkeys([*state.offsets, *state.pending])
    return [
        commit_tombstone(group_id, *key)
        for group_id in group_ids
        for key in sorted(state.offsets.get(group_id, {}).keys() | pending_keys(state, group_id))
        if key[0] in deleted
    ]


def _group_of(state: State, group_id: str) -> Group:
    """The group whose offsets are to go. Errors: GroupError."""
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
