"""Fair turns: who asks rarely is next, however much others have queued."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.net import fair_queue as module
from metashell.net.fair_queue import Asker, FairQueue, Turns

EVE, ADMIN, BROKER = Asker("User:eve"), Asker("User:admin"), Asker("User:broker", is_peer=True)


def taken(queue: FairQueue[str], cost: float = 1.0) -> list[str]:
    """All that waits, in its order, each piece at one cost."""
    found = []
    while queue:
        found.append(queue.pop())
        queue.pay(cost)
    return found


def test_who_asks_rarely_is_next_whatever_another_has_queued_on_how_many_connections() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(200):
        queue.put(EVE, number % 40, "eve")
    for _ in range(50):
        queue.pop()
        queue.pay(1.0)
        queue.put(ADMIN, "admin", "admin")
        assert [queue.pop(), queue.pop()].count("admin") == 1
        queue.pay(1.0)
    assert len(queue) == 200 - 100


def test_who_puts_more_while_its_work_goes_on_pays_for_that_work_first() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(20):
        queue.put(EVE, number, "eve")
    order = []
    for number in range(40):
        order.append(queue.pop())
        queue.put(EVE, number % 20, "eve")
        if number in (10, 20, 30):
            queue.put(ADMIN, "admin", "admin")
        queue.pay(1.0 if order[-1] == "eve" else 0.1)
    assert [at for at, who in enumerate(order) if who == "admin"] == [11, 21, 31]


def test_turns_go_by_what_they_cost() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(100):
        queue.put(EVE, number, "dear")
        queue.put(ADMIN, number + 100, "cheap")
    counted: Counter[str] = Counter()
    while counted["dear"] < 10:
        piece = queue.pop()
        counted[piece] += 1
        queue.pay(9.0 if piece == "dear" else 1.0)
    assert 80 <= counted["cheap"] <= 95


def test_a_new_connection_of_a_crowded_account_is_not_behind_what_the_others_sent() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(1000):
        queue.put(EVE, number % 200, "flood")
    for _ in range(400):
        queue.pop()
        queue.pay(1.0)
    queue.put(EVE, "new", "new")
    assert "new" in taken(queue)[:2]


def test_peers_come_first_and_leave_a_part_to_the_others() -> None:
    queue: FairQueue[str] = FairQueue()
    for _ in range(320):
        queue.put(ADMIN, "client", "client")
        queue.put(BROKER, "peer", "peer")
    counted = Counter(taken(queue)[:340])
    assert 300 <= counted["peer"] < 340 and counted["client"] >= 15


def test_work_that_is_begun_goes_before_what_its_connection_sent_later_and_after_other_accounts() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.put(EVE, "e", "first")
    queue.put(EVE, "e", "second")
    queue.put(ADMIN, "a", "admin")
    assert queue.pop() == "first"
    queue.put(EVE, "e", "rest of first", is_begun=True)
    queue.pay(1.0)
    assert taken(queue) == ["admin", "rest of first", "second"]


def test_what_is_forgotten_is_given_back_and_the_others_go_on() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(3):
        queue.put(EVE, "e", f"e{number}")
    queue.put(EVE, "other", "o")
    assert queue.pop() == "e0"
    assert queue.forget("e") == ["e1", "e2"] and queue.forget("never seen") == []
    queue.pay(1.0)
    assert taken(queue) == ["o"]
    queue.put(ADMIN, "a", "left")
    assert queue.clear() == ["left"] and not queue


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 11), st.floats(0, 5)), max_size=200), st.randoms(use_true_random=False))
def test_nothing_is_lost_or_given_twice_and_each_connection_keeps_its_order(words: list[tuple[int, int, float]], random: object) -> None:
    queue: FairQueue[tuple[int, int]] = FairQueue()
    askers = [EVE, ADMIN, BROKER, Asker("10.0.0.1")]
    expected: dict[int, list[int]] = {}
    given_out: dict[int, list[int]] = {}
    for number, (what, connection, cost) in enumerate(words):
        if what < 2:
            queue.put(askers[connection % 4], connection, (connection, number))
            expected.setdefault(connection, []).append(number)
        elif what == 2 and queue:
            of, found = queue.pop()
            given_out.setdefault(of, []).append(found)
            queue.pay(cost)
        else:
            left = queue.forget(connection)
            expected[connection] = expected.get(connection, [])[: -len(left) or None]
    while queue:
        of, found = queue.pop()
        given_out.setdefault(of, []).append(found)
    assert {key: found for key, found in expected.items() if found} == given_out


def test_what_is_owed_grows_less_while_nothing_is_asked() -> None:
    now_s = 0.0
    turns: Turns[str] = Turns(lambda: now_s)

    def ask_on(times: int) -> list[str]:
        order = []
        for _ in range(times):
            order.append(turns.next())
            turns.pay(order[-1], 1.0)
            turns.wait(order[-1], has_more=True)
        return order

    for name in "abcd":
        turns.wait(name)
    turns.wait("dear")
    assert "dear" in [turns.next() for _ in range(5)]
    for name in "abcd":
        turns.wait(name)
    turns.pay("dear", 10.0)
    now_s = 3.0
    turns.wait("dear")
    assert "dear" not in ask_on(24)
    turns.leave("dear")
    now_s = 10.0
    turns.wait("dear")
    assert "dear" in ask_on(5)


def test_the_memory_of_costs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAID_MAX", 10)
    turns: Turns[int] = Turns()
    for number in range(1000):
        turns.wait(number)
        assert turns.next() == number
        turns.pay(number, 1.0)
        assert len(turns._paid) <= 11
    for number in range(1000):
        turns.wait(number)
        turns.leave(number)
    assert not turns and len(turns._heap) <= 65
