"""OffsetCommit, TxnOffsetCommit, and a small transaction coordinator for transactions that hold offsets only.

It checks which partitions the broker knows and who may commit, and makes the records. Producer epochs follow KIP-890: since EndTxn version
5 the end of a transaction raises the producer's epoch.
Source: kafka.server.KafkaApis, org.apache.kafka.coordinator.group.OffsetMetadataManager; KIP-98 and KIP-890; golden scenarios txn-commit,
txn-abort and txn-members in tests/golden/groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import (
    CONCURRENT_TRANSACTIONS,
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    INVALID_GROUP_ID,
    INVALID_PRODUCER_EPOCH,
    INVALID_PRODUCER_ID_MAPPING,
    INVALID_REQUEST,
    INVALID_TXN_STATE,
    NONE,
    OFFSET_METADATA_TOO_LARGE,
    PRODUCER_FENCED,
    STALE_MEMBER_EPOCH,
    TRANSACTION_ABORTABLE,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.common.values import ZERO_UUID
from metashell.groups.decision import Answer, Decision, GroupError, Producer, Record, Request, refuse_request
from metashell.groups.state import CommitClaim, Committed, Context, Group, Transaction, commit_record
from metashell.groups.topics import Topics

_NEVER_MS: Final = (1 << 63) - 1
_TOPIC_IDS_FROM: Final = 10
_MISSING_GROUP_NAMED_FROM: Final = 9
_TXN_TOPIC_IDS_FROM: Final = 6
"""From this version on, a producer gets the errors for stale epochs and missing groups."""


class _Row(NamedTuple):
    """A partition in a commit. `fault` is the broker's own error for it, found before the group is checked."""

    topic: str
    topic_id: bytes
    partition: Any
    fault: int


def commit_offsets(context: Context, request: Request, now_ms: int) -> Decision:
    """Decide an OffsetCommit. An error of the member refuses all partitions, an error of a partition only that one."""
    body = request.body
    kind = messages.OffsetCommitResponse
    topics = [_rows(context.state.topics, topic, request.version >= _TOPIC_IDS_FROM) for topic in body.topics]
    claim = CommitClaim(body.member_id, body.group_instance_id, body.generation_id_or_member_epoch, False, request.version)
    expire_ms = -1 if body.retention_time_ms < 0 else min(now_ms + body.retention_time_ms, _NEVER_MS)
    records, codes = _decide_commit(context, body.group_id, claim, topics, now_ms, expire_ms)
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
    """Decide a TxnOffsetCommit. `enter` adds the group to the transaction. Errors: those of `enter`, GroupError."""
    body = request.body
    kind = messages.TxnOffsetCommitResponse
    topics = [_rows(context.state.topics, topic, request.version >= _TXN_TOPIC_IDS_FROM) for topic in body.topics]
    claim = CommitClaim(body.member_id, body.group_instance_id, body.generation_id_or_member_epoch, True, request.version)
    records, codes = _decide_commit(context, body.group_id, claim, topics, now_ms, -1, enter)
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
    """Return the partitions of a topic, each with the error that a broker finds from its metadata."""
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


def _decide_commit(
    context: Context,
    group_id: str,
    claim: CommitClaim,
    topics: list[list[_Row]],
    now_ms: int,
    expire_ms: int,
    enter: Callable[[], None] = lambda: None,
) -> tuple[list[Record], dict[int, int]]:
    """Return the records, and the group's error codes for partitions.

    The codes are by the identity of a row, since a request may name a partition twice, and each has its own answer.
    """
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
        # An older producer knows no member epochs, only generations, so it gets the error of the classic protocol.
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
        # As in Kafka the group exists from now on without any record. If there are records, their replay makes it.
        context.state.groups[group_id] = context.state.make_simple(group_id)
    return records, codes


def _admit(context: Context, group_id: str | None, claim: CommitClaim) -> Group | None:
    """Return the group of the commit, None if the commit creates it. Errors: GroupError."""
    if group_id is None:
        raise GroupError(INVALID_GROUP_ID)
    group = context.state.groups.get(group_id)
    if group is None:
        # A commit without generation is an administrator's, or that of a consumer that assigns partitions to itself.
        if claim.epoch < 0:
            return None
        named_from = _TXN_TOPIC_IDS_FROM if claim.is_transactional else _MISSING_GROUP_NAMED_FROM
        raise GroupError(GROUP_ID_NOT_FOUND if claim.version >= named_from else ILLEGAL_GENERATION)
    group.check_commit(claim)
    return group


def _is_too_large(context: Context, row: _Row) -> bool:
    """Return whether the metadata is longer than the broker allows, in UTF-16 units as in Java."""
    metadata: str | None = row.partition.committed_metadata
    if not metadata:
        return False
    limit = context.settings.offset_metadata_max_bytes
    return len(metadata.encode("utf-16-le", "surrogatepass")) // 2 > limit


def _answered(topics: list[list[_Row]], codes: dict[int, int]) -> Iterable[list[tuple[int, int]]]:
    """Yield partitions with their codes by topic. As in Kafka, those that the broker itself refused come first."""
    for rows in topics:
        refused = [(row.partition.partition_index, row.fault) for row in rows if row.fault != NONE]
        yield refused + [(row.partition.partition_index, codes[id(row)]) for row in rows if row.fault == NONE]


EPOCH_MAX: Final = 2**15 - 1
_FENCED_NAMED_FROM: Final = 2
"""The first version with PRODUCER_FENCED; older clients get INVALID_PRODUCER_EPOCH."""
_ABORTABLE_NAMED_FROM: Final = 4
_ADDS_ITSELF_FROM: Final = 5
_RAISES_EPOCH_FROM: Final = 5


def init_producer_id(context: Context, request: Request, now_ms: int) -> Decision:
    """Assign a producer id; a known producer gets a new epoch. An open transaction is aborted first, and the client has to retry."""
    body = request.body
    context.transactions.forget(now_ms)
    if body.transactional_id is None:
        return _answer(request, messages.InitProducerIdResponse(producer_id=context.chance.producer_id(), producer_epoch=0))
    known = context.transactions.by_id.get(body.transactional_id)
    try:
        if body.transactional_id == "":
            raise GroupError(INVALID_REQUEST)
        if known is not None and body.producer_id >= 0:
            _check_producer(known, body, PRODUCER_FENCED)
    except GroupError as error:
        return Decision(answers=[refuse_request(request, error)])
    if known is not None and known.is_open:
        decision = _end_transaction(context, request, known, False, raises_epoch=True)
        decision.answers.append(refuse_request(request, GroupError(CONCURRENT_TRANSACTIONS)))
        return decision
    if known is None or known.epoch >= EPOCH_MAX - 1:
        known = context.transactions.by_id[body.transactional_id] = Transaction(context.chance.producer_id(), 0)
    else:
        known.epoch += 1
        known.is_committed = None
    known.used_ms = now_ms
    return _answer(request, messages.InitProducerIdResponse(producer_id=known.producer_id, producer_epoch=known.epoch))


def add_offsets(context: Context, request: Request, now_ms: int) -> Decision:
    """Add a group to a producer's transaction, and begin one if none is open."""
    try:
        transaction = _transaction(context, request, _fenced(request.version))
    except GroupError as error:
        return Decision(answers=[refuse_request(request, error)])
    transaction.is_open = True
    transaction.used_ms = now_ms
    transaction.groups.add(request.body.group_id)
    return _answer(request, messages.AddOffsetsToTxnResponse())


def end_txn(context: Context, request: Request, now_ms: int) -> Decision:
    """End a producer's transaction: the decision's marker commits or drops its pending offsets."""
    body = request.body
    raises_epoch = request.version >= _RAISES_EPOCH_FROM
    try:
        transaction = _transaction(context, request, _fenced(request.version), is_retry_of_end=raises_epoch)
        if transaction.is_open:
            decision = _end_transaction(context, request, transaction, body.committed, raises_epoch)
        elif transaction.is_committed is body.committed:
            decision = Decision()
        else:
            raise GroupError(INVALID_TXN_STATE)
    except GroupError as error:
        return Decision(answers=[refuse_request(request, error)])
    response = messages.EndTxnResponse(producer_id=transaction.producer_id, producer_epoch=transaction.epoch)
    decision.answers.append(Answer(request.ticket, response))
    return decision


def txn_offset_commit(context: Context, request: Request, now_ms: int) -> Decision:
    """Commit offsets in a transaction. From version 5 on, this adds the group to it (KIP-890)."""

    def enter() -> None:
        transaction = _transaction(context, request, INVALID_PRODUCER_EPOCH)
        if request.version >= _ADDS_ITSELF_FROM:
            transaction.is_open = True
            transaction.used_ms = now_ms
            transaction.groups.add(request.body.group_id)
        elif request.body.group_id not in transaction.groups:
            raise GroupError(TRANSACTION_ABORTABLE if request.version >= _ABORTABLE_NAMED_FROM else INVALID_TXN_STATE)

    return commit_in_transaction(context, request, now_ms, enter)


def _transaction(context: Context, request: Request, fenced: int, is_retry_of_end: bool = False) -> Transaction:
    """Return the transaction of a producer. Errors: GroupError if it is another producer's or the producer was fenced."""
    body = request.body
    if not body.transactional_id:
        raise GroupError(INVALID_REQUEST)
    known = context.transactions.by_id.get(body.transactional_id)
    if known is None:
        raise GroupError(INVALID_PRODUCER_ID_MAPPING)
    # A producer that did not get the answer to its EndTxn retries with the epoch before it.
    has_ended = is_retry_of_end and not known.is_open and known.is_committed is not None
    if has_ended and (body.producer_id, body.producer_epoch) == (known.producer_id, known.epoch - 1):
        return known
    _check_producer(known, body, fenced)
    return known


def _check_producer(known: Transaction, body: Any, fenced: int) -> None:
    if known.producer_id != body.producer_id:
        raise GroupError(INVALID_PRODUCER_ID_MAPPING)
    if known.epoch != body.producer_epoch:
        raise GroupError(fenced)


def _fenced(version: int) -> int:
    return PRODUCER_FENCED if version >= _FENCED_NAMED_FROM else INVALID_PRODUCER_EPOCH


def _end_transaction(context: Context, request: Request, transaction: Transaction, is_committed: bool, raises_epoch: bool) -> Decision:
    """End the open transaction. Its marker has the raised epoch, so that late requests of the producer are refused (KIP-890).

    Example: a producer with epoch 5 sends a TxnOffsetCommit, times out and ends the transaction; the marker has epoch 6. If the delayed
    commit arrives now, its epoch 5 is refused. With an unchanged epoch it would open a transaction that nobody ends.
    """
    before = replace(transaction, groups=set(transaction.groups))
    if raises_epoch:
        transaction.epoch += 1
    marked_by = Producer(transaction.producer_id, transaction.epoch)
    if transaction.epoch >= EPOCH_MAX:
        # The marker uses up the last epoch, so the producer continues with a new id.
        transaction.producer_id, transaction.epoch = context.chance.producer_id(), 0
    transaction.groups.clear()
    transaction.is_open = False
    transaction.is_committed = is_committed

    def go_on(code: int, at_ms: int) -> Decision:
        # The marker is not in the log, so the transaction is still open.
        context.transactions.by_id[request.body.transactional_id] = before
        return Decision(answers=[refuse_request(request, GroupError(code))])

    return Decision(producer=marked_by, marker=is_committed, on_failure=go_on)


def _answer(request: Request, body: Any) -> Decision:
    return Decision(answers=[Answer(request.ticket, body)])
