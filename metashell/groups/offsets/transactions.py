"""InitProducerId, AddOffsetsToTxn, EndTxn and TxnOffsetCommit: a small coordinator of transactions that hold offsets only.

Epochs are those of transactions of version 2 (KIP-890): from EndTxn version 5 on, the end of a transaction raises the producer's epoch.
Source: groups.md 13.3; golden scenarios txn-commit, txn-abort and txn-members.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.error_codes import (
    CONCURRENT_TRANSACTIONS,
    INVALID_PRODUCER_EPOCH,
    INVALID_PRODUCER_ID_MAPPING,
    INVALID_REQUEST,
    INVALID_TXN_STATE,
    PRODUCER_FENCED,
    TRANSACTION_ABORTABLE,
)
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError, Producer
from metashell.groups.error_answers import refused
from metashell.groups.offsets.commit import commit_in_transaction
from metashell.groups.request import Answer, Request
from metashell.groups.transactions import Transaction

EPOCH_MAX: Final = 2**15 - 1
_FENCED_NAMED_FROM: Final = 2
"""Older clients know only that an epoch is invalid."""
_ABORTABLE_NAMED_FROM: Final = 4
_ADDS_ITSELF_FROM: Final = 5
_RAISES_EPOCH_FROM: Final = 5


def init_producer_id(context: Context, request: Request, now_ms: int) -> Decision:
    """Give a producer its id, and a new epoch to one that was here before. What it left open is aborted first, and it has to ask again."""
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
        return Decision(answers=[refused(request, error)])
    if known is not None and known.is_open:
        decision = _end(context, request, known, False, raises_epoch=True)
        decision.answers.append(refused(request, GroupError(CONCURRENT_TRANSACTIONS)))
        return decision
    if known is None or known.epoch >= EPOCH_MAX - 1:
        known = context.transactions.by_id[body.transactional_id] = Transaction(context.chance.producer_id(), 0)
    else:
        known.epoch += 1
        known.is_committed = None
    known.used_ms = now_ms
    return _answer(request, messages.InitProducerIdResponse(producer_id=known.producer_id, producer_epoch=known.epoch))


def add_offsets(context: Context, request: Request, now_ms: int) -> Decision:
    """Take a group into a producer's transaction, and open that if need be."""
    try:
        transaction = _transaction(context, request, _fenced(request.version))
    except GroupError as error:
        return Decision(answers=[refused(request, error)])
    transaction.is_open = True
    transaction.used_ms = now_ms
    transaction.groups.add(request.body.group_id)
    return _answer(request, messages.AddOffsetsToTxnResponse())


def end_txn(context: Context, request: Request, now_ms: int) -> Decision:
    """End a producer's transaction: the decision's marker settles what it committed."""
    body = request.body
    raises_epoch = request.version >= _RAISES_EPOCH_FROM
    try:
        transaction = _transaction(context, request, _fenced(request.version), is_retry_of_end=raises_epoch)
        if transaction.is_open:
            decision = _end(context, request, transaction, body.committed, raises_epoch)
        elif transaction.is_committed is body.committed:
            decision = Decision()
        else:
            raise GroupError(INVALID_TXN_STATE)
    except GroupError as error:
        return Decision(answers=[refused(request, error)])
    response = messages.EndTxnResponse(producer_id=transaction.producer_id, producer_epoch=transaction.epoch)
    decision.answers.append(Answer(request.ticket, response))
    return decision


def txn_offset_commit(context: Context, request: Request, now_ms: int) -> Decision:
    """Commit offsets within a transaction. From version 5 on this takes the group into it."""

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
    """The transaction that a producer names. Errors: GroupError where it is not this producer's, or no longer."""
    body = request.body
    if not body.transactional_id:
        raise GroupError(INVALID_REQUEST)
    known = context.transactions.by_id.get(body.transactional_id)
    if known is None:
        raise GroupError(INVALID_PRODUCER_ID_MAPPING)
    # Who was not told that his transaction has ended asks with the epoch that it had.
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


def _end(context: Context, request: Request, transaction: Transaction, is_committed: bool, raises_epoch: bool) -> Decision:
    """End what is open. Its marker bears the raised epoch, so that what the producer sends late is refused."""
    before = replace(transaction, groups=set(transaction.groups))
    if raises_epoch:
        transaction.epoch += 1
    marked_by = Producer(transaction.producer_id, transaction.epoch)
    if transaction.epoch >= EPOCH_MAX:
        # The last epoch is the marker's: the producer goes on under another id.
        transaction.producer_id, transaction.epoch = context.chance.producer_id(), 0
    transaction.groups.clear()
    transaction.is_open = False
    transaction.is_committed = is_committed

    def go_on(code: int, at_ms: int) -> Decision:
        # The marker is not in the log, so the transaction is as open as before.
        context.transactions.by_id[request.body.transactional_id] = before
        return Decision(answers=[refused(request, GroupError(code))])

    return Decision(producer=marked_by, marker=is_committed, on_failure=go_on)


def _answer(request: Request, body: Any) -> Decision:
    return Decision(answers=[Answer(request.ticket, body)])
