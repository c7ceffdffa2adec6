"""The line of events: its order, slices, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from metashell.net.fair_queue import Asker
from metashell.quorum.server import event_queue as module
from metashell.quorum.server.event_queue import EventQueue, Kind, LoopHold, Pace, Steps
from tests.coroutines import eventually


class Line:
    """A queue, and what was done in it."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.errors: list[BaseException] = []
        self.queue = EventQueue(self.errors.append, LoopHold())

    def note(self, name: str) -> Callable[[], None]:
        return lambda: self.done.append(name)

    def steps(self, name: str, *paces: Pace | None) -> Callable[[], Steps]:
        def work() -> Steps:
            for number, pace in enumerate(paces):
                self.done.append(f"{name}{number}")
                yield pace
            self.done.append(name)

        return work

    async def idle(self) -> None:
        await eventually(lambda: not len(self.queue))
        await asyncio.sleep(0)


async def test_what_the_log_says_comes_first_then_tasks_then_requests() -> None:
    line = Line()
    line.queue.request("a", line.note("request"), line.note("dropped"))
    line.queue.task(line.note("task"))
    line.queue.control(line.note("commit"))
    line.queue.control(line.note("leader"))
    await line.idle()
    assert line.done == ["commit", "leader", "task", "request"]


async def test_connections_take_turns_and_each_keeps_its_order() -> None:
    line = Line()
    for number in range(3):
        line.queue.request("greedy", line.note(f"g{number}"), line.note("dropped"))
    line.queue.request("modest", line.note("m0"), line.note("dropped"))
    await line.idle()
    assert line.done == ["g0", "m0", "g1", "g2"]


async def test_between_the_slices_of_one_event_the_loop_goes_on_and_no_other_event_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS_AT_ONCE", 1)
    line = Line()
    loop = asyncio.get_running_loop()
    line.queue.request("a", line.steps("long", None, Pace.REST, None), line.note("dropped"))
    line.queue.control(line.note("commit"))
    line.queue.request("b", line.note("short"), line.note("dropped"))
    loop.call_soon(line.note("loop"))
    await line.idle()
    events = [word for word in line.done if word != "loop"]
    assert events == ["commit", "long0", "long1", "long2", "long", "short"]
    assert line.done.index("loop") < line.done.index("long2")


async def test_an_event_that_raises_is_told_and_the_next_one_goes_on() -> None:
    line = Line()

    def broken() -> None:
        raise ZeroDivisionError

    line.queue.control(broken)
    line.queue.control(line.note("next"))
    await line.idle()
    assert [type(error) for error in line.errors] == [ZeroDivisionError]
    assert line.done == ["next"]


async def test_a_closed_connections_requests_are_dropped_without_a_word() -> None:
    line = Line()
    line.queue.request("gone", line.note("gone"), line.note("dropped"))
    line.queue.request("there", line.note("there"), line.note("dropped"))
    line.queue.forget("gone")
    line.queue.forget("never seen")
    await line.idle()
    assert line.done == ["there"]


async def test_a_closed_queue_sends_what_is_stable_and_drops_the_rest() -> None:
    line = Line()

    def large() -> Iterator[None]:
        line.done.append("half")
        yield
        line.done.append("whole")

    line.queue.answer(large)
    line.queue.request("a", line.note("decided"), line.note("dropped"))
    line.queue.task(line.note("task"))
    line.queue.close()
    assert line.done == ["half", "whole", "dropped"]
    line.queue.request("a", line.note("decided"), line.note("dropped later"))
    line.queue.answer(line.note("said"))  # type: ignore[arg-type]
    line.queue.control(line.note("commit"))
    await asyncio.sleep(0)
    assert line.done[3:] == ["dropped later", "said"]


async def test_a_closed_queue_drops_also_the_request_that_is_half_decided() -> None:
    line = Line()
    line.queue.request("a", line.steps("long", *[Pace.REST] * 100_000), line.note("dropped"))
    line.queue.request("a", line.note("decided"), line.note("dropped too"))
    await eventually(lambda: "long0" in line.done)
    line.queue.close()
    assert "long" not in line.done and line.done[-2:] == ["dropped", "dropped too"]


async def test_background_work_is_left_for_any_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE_S", -1.0)
    line = Line()
    left = iter(range(1_000_000))

    def background() -> Iterator[None] | None:
        for number in left:
            line.done.append(f"background {number}")
            yield

    line.queue.background = background
    line.queue.control(line.note("first"))
    await eventually(lambda: "background 1" in line.done)
    line.queue.control(line.note("second"))
    await eventually(lambda: "second" in line.done)
    assert next(left, None) is not None
    line.queue.close()


async def test_who_measures_hears_of_every_event() -> None:
    line = Line()
    heard: list[tuple[Kind, bool]] = []
    line.queue.on_done = lambda kind, waited_s, took_s: heard.append((kind, waited_s >= 0 <= took_s))
    line.queue.request("a", line.steps("long", None), line.note("dropped"))
    line.queue.control(line.note("commit"))
    await eventually(lambda: len(heard) == 2)
    assert heard == [(Kind.CONTROL, True), (Kind.REQUEST, True)]
    assert line.queue.started == 2


async def test_a_modest_sender_waits_for_one_event_of_a_greedy_one_whatever_that_has_queued_on_how_many_connections() -> None:
    line = Line()
    greedy, modest = Asker("User:eve"), Asker("User:admin")
    for connection in range(20):
        for _ in range(3):
            line.queue.request(connection, line.steps("g", *[None] * 3), line.note("dropped"), greedy)
    await eventually(lambda: line.done.count("g") >= 5)
    before = line.done.count("g")
    line.queue.request("modest", line.note("modest"), line.note("dropped"), modest)
    await eventually(lambda: "modest" in line.done)
    assert line.done[: line.done.index("modest")].count("g") <= before + 1
    await line.idle()
    assert line.done.count("g") == 60


async def test_peers_go_before_all_others_and_leave_something_to_them() -> None:
    line = Line()
    for number in range(40):
        line.queue.request(f"c{number}", line.note("client"), line.note("dropped"), Asker(f"User:{number}"))
    for number in range(40):
        line.queue.request("peer", line.note(f"peer{number}"), line.note("dropped"), Asker("User:broker", is_peer=True))
    await line.idle()
    assert line.done.index("peer0") <= 1
    assert "client" in line.done[:-1] and line.done.index("peer39") < 70


async def test_divisible_work_gives_way_to_all_that_waits_and_goes_on_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE_S", 0.0)
    line = Line()
    line.queue.request("reader", line.steps("read", *[None] * 4), line.note("dropped"), Asker("User:eve"), is_divisible=True)
    for number in range(2):
        line.queue.request("writer", line.note(f"write{number}"), line.note("dropped"), Asker("User:admin"))
    line.queue.control(line.note("commit"))
    await line.idle()
    assert line.done.index("write1") < line.done.index("read")
    assert [word for word in line.done if word.startswith("read")] == ["read0", "read1", "read2", "read3", "read"]


async def test_divisible_work_of_a_closed_connection_and_of_a_closed_queue_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE_S", 0.0)
    line = Line()
    for name in ("gone", "left"):
        line.queue.request(name, line.steps(name, *[None] * 100_000), line.note(f"{name} dropped"), Asker(name), is_divisible=True)
    await eventually(lambda: "gone9" in line.done and "left9" in line.done)
    line.queue.forget("gone")
    await asyncio.sleep(0)
    seen = sum(word.startswith("gone") for word in line.done)
    await eventually(lambda: "left999" in line.done)
    assert sum(word.startswith("gone") for word in line.done) == seen
    line.queue.close()
    assert line.done[-1] == "left dropped" and "gone dropped" not in line.done


async def test_a_small_answer_does_not_wait_for_the_end_of_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE_S", 0.0)
    line = Line()

    def large() -> Iterator[None]:
        for _ in range(3000):
            yield
        line.done.append("large")

    line.queue.answer(large, Asker("User:eve"), "eve")
    line.queue.request("eve", line.note("later request"), line.note("dropped"), Asker("User:eve"))
    line.queue.request("admin", lambda: line.queue.answer(line.note("small")), line.note("dropped"), Asker("User:admin"))  # type: ignore[arg-type]
    await eventually(lambda: "later request" in line.done)
    assert line.done == ["small", "large", "later request"]
