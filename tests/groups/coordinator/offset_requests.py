"""Requests about offsets, made short, for a `Driven` shard."""

from __future__ import annotations

from typing import Any

from metashell.codec import messages
from metashell.codec.codes import DELETE_GROUPS, END_TXN, INIT_PRODUCER_ID, OFFSET_COMMIT, OFFSET_DELETE, OFFSET_FETCH, TXN_OFFSET_COMMIT
from metashell.groups.topics import KnownTopics, Topic
from tests.groups.driven import Driven

TOPICS = KnownTopics([Topic(bytes([number]) * 16, f"t{number}", ((),) * 3) for number in (1, 2)], 1)
Key = tuple[str, int]


def commit(driven: Driven, group: str, offsets: dict[Key, int], version: int = 9, **about: Any) -> list[int]:
    """The error of each partition, in the order that was asked for."""
    kind = messages.OffsetCommitRequest
    topics = tuple(
        kind.OffsetCommitRequestTopic(
            name=topic, partitions=(kind.OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset),)
        )
        for (topic, partition), offset in offsets.items()
    )
    answer = driven.answers[driven.ask(OFFSET_COMMIT, version, kind(group_id=group, topics=topics, **about))]
    return [row.error_code for topic in answer.topics for row in topic.partitions]


def commit_in_transaction(
    driven: Driven, name: str, producer: tuple[int, int], group: str, offsets: dict[Key, int], version: int = 5, **about: Any
) -> list[int]:
    kind = messages.TxnOffsetCommitRequest
    topics = tuple(
        kind.TxnOffsetCommitRequestTopic(
            **({"name": topic} if version < 6 else {"topic_id": known.id if (known := TOPICS.named(topic)) else b"?" * 16}),
            partitions=(kind.TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=offset),),
        )
        for (topic, partition), offset in offsets.items()
    )
    body = kind(transactional_id=name, producer_id=producer[0], producer_epoch=producer[1], group_id=group, topics=topics, **about)
    answer = driven.answers[driven.ask(TXN_OFFSET_COMMIT, version, body)]
    return [row.error_code for topic in answer.topics for row in topic.partitions]


def begin(driven: Driven, name: str) -> tuple[int, int]:
    """A producer's id and epoch."""
    body = messages.InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
    answer = driven.answers[driven.ask(INIT_PRODUCER_ID, 5, body)]
    assert answer.error_code == 0
    return answer.producer_id, answer.producer_epoch


def end(driven: Driven, name: str, producer: tuple[int, int], is_committed: bool) -> Any:
    body = messages.EndTxnRequest(transactional_id=name, producer_id=producer[0], producer_epoch=producer[1], committed=is_committed)
    return driven.answers[driven.ask(END_TXN, 5, body)]


def fetch(driven: Driven, group: str, *, stable: bool = False) -> dict[Key, int]:
    """All offsets of a group; -88 for those that are not stable."""
    asked = messages.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=None)
    answer = driven.answers[driven.ask(OFFSET_FETCH, 9, messages.OffsetFetchRequest(groups=(asked,), require_stable=stable))]
    return {
        (topic.name, row.partition_index): -row.error_code if row.error_code else row.committed_offset
        for topic in answer.groups[0].topics
        for row in topic.partitions
    }


def delete_offset(driven: Driven, group: str, key: Key) -> Any:
    kind = messages.OffsetDeleteRequest
    topic = kind.OffsetDeleteRequestTopic(name=key[0], partitions=(kind.OffsetDeleteRequestPartition(partition_index=key[1]),))
    return driven.answers[driven.ask(OFFSET_DELETE, 0, kind(group_id=group, topics=(topic,)))]


def delete_group(driven: Driven, group: str) -> int:
    answer = driven.answers[driven.ask(DELETE_GROUPS, 2, messages.DeleteGroupsRequest(groups_names=(group,)))]
    code: int = answer.results[0].error_code
    return code
