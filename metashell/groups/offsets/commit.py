"""OffsetCommit and TxnOffsetCommit: which partitions a broker knows, who may commit, and the records.

Source: kafka.server.KafkaApis, org.apache.kafka.coordinator.group.OffsetMetadataManager; groups.md 13.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import (
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    INVALID_GROUP_ID,
    NONE,
    OFFSET_METADATA_TOO_LARGE,
    STALE_MEMBER_EPOCH,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError, Producer
from metashell.groups.group import CommitClaim, Group
from metashell.groups.offsets.records import commit_record
from metashell.groups.record import Record
from metashell.groups.request import Answer, Request
from metashell.groups.state import Committed
from metashell.groups.topics import Topics
from metashell.values import ZERO_UUID

_NEVER_MS: Final = (1 << 63) - 1
_TOPIC_IDS_FROM: Final = 10
_MISSING_GROUP_NAMED_FROM: Final = 9
_TXN_TOPIC_IDS_FROM: Final = 6
"""From the same version on a producer is told of stale epochs and missing groups."""


class _Row(NamedTuple):
    """A partition that a commit names. `fault` is why the broker refuses it, before any group is looked at."""

    topic: str
    topic_id: bytes
    partition: Any
    fault: int


def commit(context: Context, request: Request, now_ms: int) -> Decision:
    """Decide an OffsetCommit. One member's fault refuses all partitions; a partition's own only that one."""
    body = request.body
    kind = messages.OffsetCommitResponse
    topics = [_rows(context.state.topics, topic, request.version >= _TOPIC_IDS_FROM) for topic in body.topics]
    claim = CommitClaim(body.member_id, body.group_instance_id, body.generation_id_or_member_epoch, False, request.version)
    expire_ms = -1 if body.retention_time_ms < 0 else min(now_ms + body.retention_time_ms, _NEVER_MS)
    records, codes = _decide(context, body.group_id, claim, topics, now_ms, expire_ms)
    answer = kind(
        topics=tuple(
            kind.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=tuple(kind.OffsetCommitResponsePartition(partition_index=index, error_code=code) for index, code in rows),
            )
            for topic, rows in zip(body.topics, _answered(topics, codes), strict=True)
        )
    )
    return Decision(records, [Answer(request.ticket, answer)])


def commit_in_transaction(context: Context, request: Request, now_ms: int, enter: Callable[[], None]) -> Decision:
    """Decide a TxnOffsetCommit. `enter` takes the group into the transaction, and raises GroupError where that is not in order."""
    body = request.body
    kind = messages.TxnOffsetCommitResponse
    topics = [_rows(context.state.topics, topic, request.version >= _TXN_TOPIC_IDS_FROM) for topic in body.topics]
    claim = CommitClaim(body.member_id, body.group_instance_id, body.generation_id_or_member_epoch, True, request.version)
    records, codes = _decide(context, body.group_id, claim, topics, now_ms, -1, enter)
    answer = kind(
        topics=tuple(
            kind.TxnOffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=tuple(kind.TxnOffsetCommitResponsePartition(partition_index=index, error_code=code) for index, code in rows),
            )
            for topic, rows in zip(body.topics, _answered(topics, codes), strict=True)
        )
    )
    return Decision(records, [Answer(request.ticket, answer)], producer=Producer(body.producer_id, body.producer_epoch))


def _rows(topics: Topics, asked: Any, is_by_id: bool) -> list[_Row]:
    """The partitions of a topic, each with what a broker finds wrong with it by its metadata."""
    if is_by_id:
        known, unknown = topics.with_id(asked.topic_id), UNKNOWN_TOPIC_ID
    else:
        known, unknown = topics.named(asked.name), UNKNOWN_TOPIC_OR_PARTITION
    if known is None:
        return [_Row(asked.name, ZERO_UUID, partition, unknown) for partition in asked.partitions]
    count = known.partition_count
    return [
        _Row(known.name, known.id, partition, NONE if 0 <= partition.partition_index < count else UNKNOWN_TOPIC_OR_PARTITION)
        for partition in asked.partitions
    ]


def _decide(
    context: Context,
    group_id: str,
    claim: CommitClaim,
    topics: list[list[_Row]],
    now_ms: int,
    expire_ms: int,
    enter: Callable[[], None] = lambda: None,
) -> tuple[list[Record], dict[int, int]]:
    """The records, and the codes of partitions that the group was asked about, by the identity of their row."""
    rows = [row for topic in topics for row in topic if row.fault == NONE]
    if not rows:
        return [], {}
    try:
        enter()
        group = _admit(context, group_id, claim)
        if group is not None and group.looks_at_partitions(claim):
            for row in rows:
                if not _is_too_large(context, row):
                    group.check_commit(claim, row.topic, row.topic_id, row.partition.partition_index)
    except GroupError as error:
        # An older producer does not know epochs of members: it has a generation, as consumers of the classic protocol.
        is_older = claim.is_transactional and claim.version < _TXN_TOPIC_IDS_FROM
        code = ILLEGAL_GENERATION if is_older and error.code == STALE_MEMBER_EPOCH else error.code
        return [], {id(row): code for row in rows}
    if group is not None and not claim.is_transactional:
        group.committed(claim.member_id, context.timers, now_ms)
    records: list[Record] = []
    codes: dict[int, int] = {}
    for row in rows:
        asked = row.partition
        metadata = asked.committed_metadata or ""
        if metadata and _is_too_large(context, row):
            codes[id(row)] = OFFSET_METADATA_TOO_LARGE
            continue
        codes[id(row)] = NONE
        committed = Committed(asked.committed_offset, asked.committed_leader_epoch, metadata, now_ms, expire_ms, row.topic_id, -1)
        records.append(commit_record(group_id, row.topic, asked.partition_index, committed))
    if group is None and not records:
        # Kafka has the group from now on, though nothing in the log says so; with records it comes by their replay.
        context.state.groups[group_id] = context.state.make_simple(group_id)
    return records, codes


def _admit(context: Context, group_id: str | None, claim: CommitClaim) -> Group | None:
    """The group that takes the commit, None for one that the commit brings into being. Errors: GroupError."""
    if group_id is None:
        raise GroupError(INVALID_GROUP_ID)
    group = context.state.groups.get(group_id)
    if group is None:
        # Who has no generation is an administrator, or a consumer that assigns partitions to itself.
        if claim.epoch < 0:
            return None
        named_from = _TXN_TOPIC_IDS_FROM if claim.is_transactional else _MISSING_GROUP_NAMED_FROM
        raise GroupError(GROUP_ID_NOT_FOUND if claim.version >= named_from else ILLEGAL_GENERATION)
    group.check_commit(claim)
    return group


def _is_too_large(context: Context, row: _Row) -> bool:
    """Whether the metadata is longer than the broker allows, in UTF-16 units as Java counts."""
    metadata: str | None = row.partition.committed_metadata
    if not metadata:
        return False
    limit = context.settings.offset_metadata_max_bytes
    return len(metadata.encode("utf-16-le", "surrogatepass")) // 2 > limit


def _answered(topics: list[list[_Row]], codes: dict[int, int]) -> Iterable[list[tuple[int, int]]]:
    """Partition and code for each topic. Partitions that the broker itself refused come first, as in Kafka."""
    for rows in topics:
        refused = [(row.partition.partition_index, row.fault) for row in rows if row.fault != NONE]
        yield refused + [(row.partition.partition_index, codes[id(row)]) for row in rows if row.fault == NONE]
