"""Fetches that wait at the leader: taken out once, by time, offset or token, at a cost that does not grow with those that stay."""

from __future__ import annotations

from random import Random

from metashell.quorum.raft.messages import FetchRequest, FetchResponse
from metashell.quorum.raft.replica import ParkedFetch, ParkedFetches


def parked(token: object, deadline_ms: int, offset: int = 0) -> ParkedFetch:
    request = FetchRequest("c", 1, bytes(16), 1, offset, 1, 0, 0)
    return ParkedFetch(token, request, "CONTROLLER", deadline_ms, FetchResponse())


def tokens(fetches: object) -> list[object]:
    return [fetch.token for fetch in fetches]  # type: ignore[attr-defined]


def test_the_earliest_are_taken_first_and_once() -> None:
    found = ParkedFetches()
    for token, deadline_ms in (("a", 30), ("b", 10), ("c", 20)):
        found.add(parked(token, deadline_ms))
    assert found.due_ms() == 10 and tokens(found) == ["a", "b", "c"]
    assert found.take_due(9) == []
    assert tokens(found.take_due(20)) == ["b", "c"] and found.due_ms() == 30 and len(found) == 1
    assert tokens(found.take_all()) == ["a"] and found.due_ms() is None and not found


def test_who_asks_for_what_is_there_now_is_taken_and_others_stay() -> None:
    found = ParkedFetches()
    for token, offset in (("a", 5), ("b", 6), ("c", 4)):
        found.add(parked(token, 10, offset))
    assert tokens(found.take_before(6)) == ["a", "c"] and tokens(found) == ["b"]
    assert tokens(found.take_before(7)) == ["b"] and not found


def test_all_of_a_token_are_forgotten() -> None:
    found = ParkedFetches()
    for token, deadline_ms in (("a", 10), ("b", 20), ("a", 30)):
        found.add(parked(token, deadline_ms))
    found.forget("a")
    found.forget("nobody")
    assert tokens(found) == ["b"] and found.due_ms() == 20
    assert tokens(found.take_due(99)) == ["b"] and found.due_ms() is None


def test_what_is_gone_leaves_nothing_behind_whatever_took_it() -> None:
    chance, found, expected, numbers = Random(5), ParkedFetches(), dict[int, ParkedFetch](), list(range(5_000))
    for token in numbers:  # each is one object wherever it is named
        fetch = expected[token] = parked(token, chance.randrange(1_000_000) + token, chance.randrange(100))
        found.add(fetch)
        if chance.random() < 0.5:
            gone = chance.choice(list(expected))
            del expected[gone]
            found.forget(gone)
        if chance.random() < 0.3:
            for taken in found.take_before(chance.randrange(20)):
                assert expected.pop(taken.token) is taken  # type: ignore[arg-type]
        assert len(found) == len(expected)
        assert found.due_ms() == min((fetch.deadline_ms for fetch in expected.values()), default=None)
    assert tokens(found) == list(expected)
    assert len(found._times) <= 2 * len(found) + 65 and len(found._by_token) == len(found)
