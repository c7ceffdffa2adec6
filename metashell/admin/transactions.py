"""Transactions that hold back what readers of committed records may see, and that nobody is going to end.

Source: KIP-664; org.apache.kafka.tools.TransactionsCommand.FindHangingTransactionsCommand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from metashell.codec import messages
from metashell.codec.error_codes import NONE
from metashell.errors import MetashellError

if TYPE_CHECKING:
    from metashell.admin.admin import Admin

OPEN_MAX_MS: Final = 15 * 60 * 1000
"""transaction.max.timeout.ms of Kafka: after so long a coordinator ends a transaction by itself."""
PARTITIONS_MAX: Final = 20_000
"""More are not asked about: each question makes its broker read what producers of a partition it keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """A transaction that has been open in a partition for too long.

    Shape: `transactional_id` and `state` are what a coordinator says of the producer, empty where none knows it: then it hangs for ever.
    Units: Unix ms; `started_ms` is the time of its last record where no coordinator knows when it began.
    """

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    started_ms: int
    transactional_id: str = ""
    state: str = ""


def long_transactions(
    admin: Admin, partitions: Mapping[int, Mapping[str, Sequence[int]]], before_ms: int
) -> dict[int, tuple[OpenTransaction, ...] | MetashellError]:
    """For each broker the transactions that are open in the partitions that it leads, and whose last record is older than `before_ms`.

    `partitions` are the numbers by topic by broker. An error stands in place of what could not be had.
    """
    make = messages.DescribeProducersRequest
    requests = {
        broker: make(topics=tuple(make.TopicRequest(name=name, partition_indexes=tuple(ids)) for name, ids in topics.items()))
        for broker, topics in partitions.items()
    }
    found: dict[int, tuple[OpenTransaction, ...] | MetashellError] = {}
    for broker, answer in admin.ask_all(requests).items():
        found[broker] = answer if isinstance(answer, MetashellError) else tuple(_open_in(answer, before_ms))
    producers = {one.producer_id for told in found.values() if not isinstance(told, MetashellError) for one in told}
    known = _known_to_coordinators(admin, sorted(partitions), sorted(producers)) if producers else {}
    return {
        broker: told if isinstance(told, MetashellError) else tuple(_with_coordinator(one, known.get(one.producer_id)) for one in told)
        for broker, told in found.items()
    }


def _open_in(answer: Any, before_ms: int) -> list[OpenTransaction]:
    return [
        OpenTransaction(
            topic=topic.name,
            partition=partition.partition_index,
            producer_id=one.producer_id,
            producer_epoch=one.producer_epoch,
            started_ms=one.last_timestamp,
        )
        for topic in answer.topics
        for partition in topic.partitions
        if partition.error_code == NONE
        for one in partition.active_producers
        if one.current_txn_start_offset >= 0 and one.last_timestamp < before_ms
    ]


def _known_to_coordinators(admin: Admin, brokers: Sequence[int], producers: Sequence[int]) -> dict[int, Any]:
    """What coordinators say of these producers, by producer id."""
    listed = admin.ask_all(dict.fromkeys(brokers, messages.ListTransactionsRequest(producer_id_filters=tuple(producers))))
    asked = {
        broker: tuple(state.transactional_id for state in answer.transaction_states)
        for broker, answer in listed.items()
        if not isinstance(answer, MetashellError) and answer.error_code == NONE and answer.transaction_states
    }
    described = admin.ask_all({broker: messages.DescribeTransactionsRequest(transactional_ids=ids) for broker, ids in asked.items()})
    return {
        state.producer_id: state
        for answer in described.values()
        if not isinstance(answer, MetashellError)
        for state in answer.transaction_states
        if state.error_code == NONE
    }


def _with_coordinator(one: OpenTransaction, state: Any | None) -> OpenTransaction:
    """The transaction with what its coordinator knows; one that has this partition not in it does not end it."""
    if state is None or all(topic.topic != one.topic or one.partition not in topic.partitions for topic in state.topics):
        return one
    return OpenTransaction(
        topic=one.topic,
        partition=one.partition,
        producer_id=one.producer_id,
        producer_epoch=one.producer_epoch,
        started_ms=state.transaction_start_time_ms if state.transaction_start_time_ms >= 0 else one.started_ms,
        transactional_id=state.transactional_id,
        state=state.transaction_state,
    )
