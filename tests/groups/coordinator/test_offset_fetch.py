"""Offsets expire, and their groups with them, as KIP-211 and the kinds of groups have it."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec.consumer_protocol import Subscription, subscription_bytes
from metashell.groups.state import Settings
from tests.groups.coordinator.offset_requests import TOPICS, begin, commit, commit_in_transaction, end, fetch
from tests.groups.driven import Driven

DAY_MS = 86_400_000
SETTINGS = Settings(initial_rebalance_delay_ms=0, offsets_retention_ms=7 * DAY_MS, offsets_retention_check_interval_ms=DAY_MS)
ON_T1 = subscription_bytes(Subscription(("t1",)))


@pytest.fixture
def driven() -> Driven:
    return Driven(SETTINGS, TOPICS)


def groups(driven: Driven) -> set[str]:
    return set(driven.shard.coordinator.state.groups)


def member(driven: Driven, metadata: bytes = ON_T1, protocol_type: str = "consumer", group: str = "g") -> tuple[str, int]:
    """A Stable group of one member that is silent for long; its id and generation."""
    about: dict[str, Any] = {"protocols": (("range", metadata),), "protocol_type": protocol_type, "session_ms": 1_800_000}
    answer = driven.answers[driven.enter(group, **about)]
    driven.sync(group, answer.member_id, answer.generation_id, {answer.member_id: b""})
    return answer.member_id, answer.generation_id


def live(driven: Driven, days: int, group: str, id: str, generation: int) -> None:
    """Let days pass, in which the member beats."""
    for _ in range(days * 50):
        driven.wait(DAY_MS // 50)
        driven.beat(group, id, generation)


def test_a_simple_group_expires_by_the_time_of_the_commit(driven: Driven) -> None:
    commit(driven, "g", {("t1", 0): 5})
    driven.wait(3 * DAY_MS)
    commit(driven, "g", {("t1", 1): 6})
    driven.wait(4 * DAY_MS)
    assert fetch(driven, "g") == {("t1", 1): 6}
    assert groups(driven) == {"g"}
    driven.wait(3 * DAY_MS)
    assert fetch(driven, "g") == {} and groups(driven) == set()


def test_a_classic_group_expires_by_the_time_when_it_became_empty(driven: Driven) -> None:
    id, generation = member(driven)
    commit(driven, "g", {("t1", 0): 5}, generation_id_or_member_epoch=generation, member_id=id)
    live(driven, 9, "g", id, generation)
    assert fetch(driven, "g") == {("t1", 0): 5}
    driven.leave("g", (id, None))
    driven.wait(6 * DAY_MS)
    assert fetch(driven, "g") == {("t1", 0): 5}
    driven.wait(DAY_MS)
    assert groups(driven) == set()


def test_offsets_of_topics_that_a_stable_group_no_longer_reads_expire_by_the_time_of_the_commit(driven: Driven) -> None:
    id, generation = member(driven)
    commit(driven, "g", {("t1", 0): 5, ("t2", 0): 6}, generation_id_or_member_epoch=generation, member_id=id)
    live(driven, 8, "g", id, generation)
    assert fetch(driven, "g") == {("t1", 0): 5}


def test_nothing_expires_while_a_subscription_cannot_be_read(driven: Driven) -> None:
    id, generation = member(driven, b"\x00")
    commit(driven, "g", {("t2", 0): 6}, generation_id_or_member_epoch=generation, member_id=id)
    live(driven, 8, "g", id, generation)
    assert fetch(driven, "g") == {("t2", 0): 6}


def test_nothing_expires_in_a_group_of_another_type_with_members(driven: Driven) -> None:
    id, generation = member(driven, b"", "connect")
    commit(driven, "g", {("t2", 0): 6}, generation_id_or_member_epoch=generation, member_id=id)
    live(driven, 8, "g", id, generation)
    assert fetch(driven, "g") == {("t2", 0): 6}


def test_a_retention_of_its_own_counts_before_all_else(driven: Driven) -> None:
    commit(driven, "g", {("t1", 0): 5}, version=2, retention_time_ms=2 * DAY_MS)
    commit(driven, "g", {("t1", 1): 6}, version=4, retention_time_ms=30 * DAY_MS)
    driven.wait(2 * DAY_MS)
    assert fetch(driven, "g") == {("t1", 1): 6}
    driven.wait(27 * DAY_MS)
    assert fetch(driven, "g") == {("t1", 1): 6}
    driven.wait(DAY_MS)
    assert groups(driven) == set()


@pytest.mark.parametrize("is_committed", [True, False])
def test_what_a_transaction_holds_keeps_offset_and_group(driven: Driven, is_committed: bool) -> None:
    producer = begin(driven, "p")
    commit(driven, "g", {("t1", 0): 5, ("t1", 1): 7})
    commit_in_transaction(driven, "p", producer, "g", {("t1", 0): 6})
    commit_in_transaction(driven, "p", producer, "h", {("t1", 0): 6})
    driven.wait(8 * DAY_MS)
    assert fetch(driven, "g") == {("t1", 0): 5}
    assert groups(driven) == {"g", "h"}
    end(driven, "p", producer, is_committed)
    driven.wait(DAY_MS)
    # What was committed in the transaction is as old as its record, not as its end.
    assert groups(driven) == set()


def test_a_group_with_members_stays_without_offsets_and_an_empty_one_goes(driven: Driven) -> None:
    id, generation = member(driven)
    live(driven, 2, "g", id, generation)
    assert groups(driven) == {"g"}
    driven.leave("g", (id, None))
    driven.wait(DAY_MS)
    assert groups(driven) == set()
