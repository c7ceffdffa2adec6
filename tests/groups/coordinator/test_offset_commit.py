"""Offsets in and out of transactions, at random, beside a model of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metashell.codec.codes import CONSUMER_GROUP_HEARTBEAT, END_TXN
from metashell.codec.error_codes import (
    CONCURRENT_TRANSACTIONS,
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    INVALID_PRODUCER_EPOCH,
    INVALID_PRODUCER_ID_MAPPING,
    INVALID_TXN_STATE,
    NONE,
    NOT_COORDINATOR,
    NOT_LEADER_OR_FOLLOWER,
    PRODUCER_FENCED,
    STALE_MEMBER_EPOCH,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.codec.messages import ConsumerGroupHeartbeatRequest, EndTxnRequest, InitProducerIdRequest
from metashell.groups.server.topic_requests import batch_bytes
from tests.groups.coordinator.offset_requests import TOPICS, begin, commit, commit_in_transaction, delete_group, delete_offset, end, fetch
from tests.groups.driven import Driven
from tests.groups.folding import fold, logged

GROUPS, PRODUCERS = ("g", "h"), ("p", "q")
KEYS = [("t1", 0), ("t1", 2), ("t2", 1)]
ORDERS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.sampled_from(GROUPS), st.sampled_from(KEYS)),
        st.tuples(st.just("pend"), st.sampled_from(PRODUCERS), st.sampled_from(GROUPS), st.sampled_from(KEYS)),
        st.tuples(st.just("end"), st.sampled_from(PRODUCERS), st.booleans()),
        st.tuples(st.just("drop"), st.sampled_from(GROUPS), st.sampled_from(KEYS)),
        st.tuples(st.just("delete"), st.sampled_from(GROUPS)),
        st.tuples(st.just("restart")),
    ),
    max_size=25,
)


class Model:
    """What is committed, and what waits: `(number, offset)`, where the number says which came later."""

    def __init__(self) -> None:
        self.count = 0
        self.committed: dict[tuple[str, Any], tuple[int, int]] = {}
        self.waiting: dict[str, dict[tuple[str, Any], tuple[int, int]]] = {name: {} for name in PRODUCERS}

    def next(self) -> tuple[int, int]:
        self.count += 1
        return self.count, self.count * 10

    def end(self, name: str, is_committed: bool) -> None:
        for key, entry in self.waiting[name].items():
            if is_committed and self.committed.get(key, (0, 0)) < entry:
                self.committed[key] = entry
        self.waiting[name] = {}

    def drop(self, group: str, key: Any = None) -> None:
        for known in (self.committed, *self.waiting.values()):
            for found in [found for found in known if found[0] == group and key in (None, found[1])]:
                del known[found]

    def seen(self, group: str, stable: bool) -> dict[Any, int]:
        held = {key for waiting in self.waiting.values() for key in waiting} if stable else set()
        return {key[1]: -88 if key in held else offset for key, (_, offset) in self.committed.items() if key[0] == group}


@settings(max_examples=150, deadline=None)
@given(ORDERS)
def test_what_is_fetched_is_what_was_committed_last_and_is_not_held_back(orders: list[Any]) -> None:
    driven, model = Driven(topics=TOPICS), Model()
    producers = {name: begin(driven, name) for name in PRODUCERS}
    for order in orders:
        match order:
            case ("commit", group, key):
                entry = model.next()
                assert commit(driven, group, {key: entry[1]}) == [0]
                model.committed[group, key] = entry
            case ("pend", name, group, key):
                entry = model.next()
                assert commit_in_transaction(driven, name, producers[name], group, {key: entry[1]}) == [0]
                model.waiting[name][group, key] = entry
            case ("end", name, is_committed):
                answer = end(driven, name, producers[name], is_committed)
                if answer.error_code == 0:
                    producers[name] = (answer.producer_id, answer.producer_epoch)
                    model.end(name, is_committed)
                else:
                    assert answer.error_code == INVALID_TXN_STATE and not model.waiting[name]
            case ("drop", group, key):
                delete_offset(driven, group, key)
                model.drop(group, key)
            case ("delete", group):
                delete_group(driven, group)
                model.drop(group)
            case _:
                transactions = driven.shard.coordinator.context.transactions
                driven.restart()
                driven.shard.coordinator.context.transactions = transactions
        state = driven.shard.coordinator.state
        for group in GROUPS:
            assert fetch(driven, group) == model.seen(group, False)
            assert fetch(driven, group, stable=True) == model.seen(group, True)
        assert set(state.pending) == {group for waiting in model.waiting.values() for group, _ in waiting}
        assert logged(fold(driven.shard.written)) == logged(state)


def test_a_producer_that_comes_again_fences_its_old_self() -> None:
    driven = Driven(topics=TOPICS)
    old = begin(driven, "p")
    new = begin(driven, "p")
    assert new == (old[0], old[1] + 1)
    assert commit_in_transaction(driven, "p", old, "g", {("t1", 0): 5}) == [INVALID_PRODUCER_EPOCH]
    assert end(driven, "p", old, True).error_code == PRODUCER_FENCED
    assert commit_in_transaction(driven, "nobody", new, "g", {("t1", 0): 5}) == [INVALID_PRODUCER_ID_MAPPING]
    assert commit_in_transaction(driven, "p", (99, 0), "g", {("t1", 0): 5}) == [INVALID_PRODUCER_ID_MAPPING]


def test_a_transaction_that_was_left_open_is_aborted_when_its_producer_comes_again() -> None:
    driven = Driven(topics=TOPICS)
    producer = begin(driven, "p")
    commit_in_transaction(driven, "p", producer, "g", {("t1", 0): 5})
    body = InitProducerIdRequest(transactional_id="p", transaction_timeout_ms=60_000)
    assert driven.answers[driven.ask(22, 5, body)].error_code == CONCURRENT_TRANSACTIONS
    assert driven.shard.written[-1].marker is False
    assert begin(driven, "p")[1] > producer[1]
    assert fetch(driven, "g", stable=True) == {}


def test_the_end_of_a_transaction_can_be_asked_for_twice() -> None:
    driven = Driven(topics=TOPICS)
    producer = begin(driven, "p")
    commit_in_transaction(driven, "p", producer, "g", {("t1", 0): 5})
    first, second = end(driven, "p", producer, True), end(driven, "p", producer, True)
    assert (first.error_code, second.error_code, second.producer_epoch) == (0, 0, first.producer_epoch)
    assert end(driven, "p", producer, False).error_code == INVALID_TXN_STATE
    assert [batch.marker for batch in driven.shard.written if batch.marker is not None] == [True]


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_marker_that_cannot_be_written_leaves_the_transaction_open(is_committed: bool) -> None:
    driven = Driven(topics=TOPICS)
    producer = begin(driven, "p")
    commit_in_transaction(driven, "p", producer, "g", {("t1", 0): 5})
    driven.shard.error = NOT_LEADER_OR_FOLLOWER
    assert end(driven, "p", producer, is_committed).error_code == NOT_COORDINATOR
    driven.shard.error = 0
    assert end(driven, "p", producer, is_committed).error_code == 0
    assert fetch(driven, "g", stable=True) == ({("t1", 0): 5} if is_committed else {})


def test_a_producer_whose_epochs_are_used_up_goes_on_under_another_id() -> None:
    driven = Driven(topics=TOPICS)
    producer = begin(driven, "p")
    transactions = driven.shard.coordinator.context.transactions.by_id
    transactions["p"].epoch = 2**15 - 2
    producer = (producer[0], 2**15 - 2)
    assert commit_in_transaction(driven, "p", producer, "g", {("t1", 0): 5}) == [0]
    body = EndTxnRequest(transactional_id="p", producer_id=producer[0], producer_epoch=producer[1], committed=True)
    answer = driven.answers[driven.ask(END_TXN, 5, body)]
    assert (answer.error_code, answer.producer_epoch) == (0, 0) and answer.producer_id != producer[0]
    marker = driven.shard.written[-1]
    assert marker.producer == (producer[0], 2**15 - 1) and marker.marker
    batch_bytes(marker)


def test_an_id_that_nobody_used_for_a_week_is_forgotten() -> None:
    driven = Driven(topics=TOPICS)
    begin(driven, "p")
    first = begin(driven, "q")
    for _ in range(8):
        driven.wait(86_400_000)
        last = begin(driven, "q")
    assert set(driven.shard.coordinator.context.transactions.by_id) == {"q"}
    assert last == (first[0], first[1] + 8), "who comes again every day is known all the time"


def test_a_producer_is_told_more_from_version_six_on() -> None:
    """The answers of 4.4.0, to a group that is not there and to a member of a consumer group that has another epoch."""
    driven = Driven(topics=TOPICS)
    producer = begin(driven, "p")
    member = ConsumerGroupHeartbeatRequest(
        group_id="c", member_id="m", rebalance_timeout_ms=1000, subscribed_topic_names=("t1",), topic_partitions=()
    )
    epoch = driven.answers[driven.ask(CONSUMER_GROUP_HEARTBEAT, 1, member)].member_epoch

    def code(version: int, group: str, epoch: int) -> list[int]:
        about = {"generation_id_or_member_epoch": epoch, "member_id": "m"}
        return commit_in_transaction(driven, "p", producer, group, {("t1", 0): 1}, version, **about)

    for version, missing, stale in ((5, ILLEGAL_GENERATION, ILLEGAL_GENERATION), (6, GROUP_ID_NOT_FOUND, STALE_MEMBER_EPOCH)):
        assert code(version, "nope", 3) == [missing]
        assert code(version, "c", epoch - 1) == code(version, "c", epoch + 1) == [stale]
        assert code(version, "c", epoch) == [NONE]


def test_topics_that_are_not_there_are_refused_before_the_producer_is_looked_at() -> None:
    driven = Driven(topics=TOPICS)
    stranger = (77, 0)
    for version, unknown in ((5, UNKNOWN_TOPIC_OR_PARTITION), (6, UNKNOWN_TOPIC_ID)):
        codes = commit_in_transaction(driven, "p", stranger, "g", {("t1", 0): 1, ("nope", 0): 1, ("t1", 9): 1}, version)
        assert sorted(codes) == sorted([INVALID_PRODUCER_ID_MAPPING, unknown, UNKNOWN_TOPIC_OR_PARTITION])
        assert commit_in_transaction(driven, "p", stranger, "g", {("nope", 0): 1}, version) == [unknown]
