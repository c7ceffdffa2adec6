"""The queue of a controller: everything that reads or changes it, one event at a time, long ones in slices.

Order: what the log says (commits, loads, leaders), then periodic tasks that are due, then requests, in fair turns by who asks
(`FairQueue`). An event is a function that gives None, or a generator that is run in slices. Between two slices of an event no other runs,
unless it is divisible: it only reads, and gives way to what waits. Answers leave between events, and in slices too, because one commit may
complete hundreds of them; a large one takes its turn among the requests, as divisible work of whoever gets it.

Beside it: `CommitWaits`, who waits for an offset to be committed in the epoch in which it was appended; `LoopHold`, the longest time in
which one piece of work let nothing else have its turn; `TimeWindow`, times of the last minutes as the quantiles that Kafka's histograms
show; `ServerEvent`, a line for operators with a kind and fields for programs.

Source: org.apache.kafka.queue.KafkaEventQueue, org.apache.kafka.controller.QuorumController."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Hashable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from heapq import heappop, heappush
from math import log2
from time import perf_counter, thread_time
from typing import Any, Final, Generic, Self, TypeVar

from metashell.common.values import Epoch, Offset
from metashell.net.fair_queue import Asker, FairQueue
from metashell.quorum.raft.messages import NotLeaderError

SLICE_S: Final = 0.01
STEPS_AT_ONCE: Final = 1000
"""Steps of a slice, at most: what the clock of a simulation does not end, this does."""
PAUSE_S: Final = 0.001
PIECE_S: Final = 0.002
"""How long divisible work goes on before others that wait have their turn."""
NOBODY: Final = Asker("")
_END: Final = object()


class Pace(Enum):
    """A generator yields this to let other work go on, even when its slice is not over."""

    REST = "let others go on until what this one needs is there"


Steps = Generator[Pace | None, None, None]
Event = Callable[[], Steps | None]
"""What is done when its turn comes; a generator gives up the loop wherever it yields, if its slice is over."""
Sending = Callable[[], Iterator[object] | None]
"""Sends an answer, a large one while it is iterated."""


class Kind(Enum):
    """The kinds of events; the value is the name in metrics."""

    CONTROL = "control"
    TASK = "task"
    REQUEST = "request"


class _Waiting:
    """An event that waits for its turn, or for its next one: `steps` is what is left of one that was begun.

    `kind` is None for an answer that is sent. `dropped` is called when the end comes before the event's.
    """

    __slots__ = ("asker", "connection", "dropped", "event", "is_divisible", "kind", "since_s", "steps", "waited_s", "worked_s")

    def __init__(
        self,
        kind: Kind | None,
        event: Event,
        since_s: float,
        dropped: Callable[[], None] | None = None,
        line: tuple[Asker, Hashable] | None = None,
        *,
        is_divisible: bool = False,
    ) -> None:
        self.kind = kind
        self.event = event
        self.since_s = since_s
        self.dropped = dropped
        self.asker, self.connection = line or (NOBODY, None)
        self.is_divisible = is_divisible
        self.steps: Iterator[Any] | None = None
        self.waited_s = self.worked_s = 0.0

    def end(self) -> None:
        """Give up what was begun; an answer is sent to its end, because what is stable may be said."""
        if self.kind is None:
            deque(self.steps or (), 0)
        elif self.steps is not None:
            self.steps.close()  # type: ignore[attr-defined]


class EventQueue:
    """The queue of one controller. `fail` gets the exception of an event, and has to end the controller.

    `started` counts events; `longest_wait_s` and `longest_event_s` are the longest times in line and in work.
    """

    def __init__(self, fail: Callable[[BaseException], None], held: LoopHold) -> None:
        self.started = 0
        self.longest_wait_s = 0.0
        self.longest_event_s = 0.0
        self.on_done: Callable[[Kind, float, float], None] | None = None
        """Told of every event how long it waited in line, and how long it took, in seconds; for metrics."""
        self.background: Callable[[], Iterator[object] | None] = lambda: None
        """Gives work that may be left after any step, for when there is nothing else to do; asked again, it goes on where it was."""
        self._fail = fail
        self._held = held
        self._loop = asyncio.get_running_loop()
        self._control: deque[_Waiting] = deque()
        self._tasks: deque[_Waiting] = deque()
        self._requests: FairQueue[_Waiting] = FairQueue()
        self._answers: deque[tuple[Sending, Asker, Hashable]] = deque()
        self._begun: _Waiting | None = None
        """What is in work; none, or without its steps, between two events."""
        self._piece_s = 0.0
        self._handle: asyncio.Handle | None = None
        self._is_closed = False
        self._is_running = False
        self._is_resting = False

    def __len__(self) -> int:
        """Events that have not begun."""
        return len(self._control) + len(self._tasks) + len(self._requests)

    # ---- what comes in

    def control(self, event: Event) -> None:
        """An event of the log or of leadership: in their own order, before all others."""
        self._put(self._control, _Waiting(Kind.CONTROL, event, self._loop.time()))

    def task(self, event: Event) -> None:
        """A periodic task that is due."""
        self._put(self._tasks, _Waiting(Kind.TASK, event, self._loop.time()))

    def request(
        self, connection: Hashable, event: Event, dropped: Callable[[], None], asker: Asker = NOBODY, *, is_divisible: bool = False
    ) -> None:
        """A request of a connection; if `close` comes before its end, `dropped` is called. The event itself checks its deadline.

        One that `is_divisible` only reads: others may run between its steps.
        """
        waiting = _Waiting(Kind.REQUEST, event, self._loop.time(), dropped, (asker, connection), is_divisible=is_divisible)
        if self._is_closed:
            dropped()
        else:
            self._requests.put(asker, connection, waiting)
            self._wake()

    def answer(self, send: Sending, asker: Asker = NOBODY, connection: Hashable = None) -> None:
        """An answer that may leave. The large one of a generator leaves in slices."""
        if self._is_closed:
            deque(send() or (), 0)
        else:
            self._answers.append((send, asker, connection))
            self._wake()

    def forget(self, connection: Hashable) -> None:
        """A connection is closed: its requests that did not begin are dropped, and the answer that was being sent."""
        for waiting in self._requests.forget(connection):
            if waiting.kind is not None:
                waiting.end()

    def close(self) -> None:
        """Stop; events that are half done stay so."""
        self._is_closed = True
        if self._handle is not None:
            self._handle.cancel()
        left = self._requests.clear()
        if self._begun is not None and not self._is_running:
            left.insert(0, self._begun)
        self._begun = None
        self._control.clear()
        self._tasks.clear()
        for waiting in left:
            waiting.end()
        while self._answers:
            deque(self._answers.popleft()[0]() or (), 0)
        for waiting in left:
            if waiting.dropped is not None:
                waiting.dropped()

    def _put(self, line: deque[_Waiting], waiting: _Waiting) -> None:
        if not self._is_closed:
            line.append(waiting)
            self._wake()
        elif waiting.dropped is not None:
            waiting.dropped()

    # ---- what goes on

    def _wake(self, pause_s: float = 0.0) -> None:
        if self._is_running:
            return
        if self._is_resting and self._handle is not None and self._begun is None:
            # Background work rests; an event does not wait for that.
            self._handle.cancel()
            self._handle = None
        if self._handle is None:
            self._is_resting = pause_s > 0
            self._handle = self._loop.call_later(pause_s, self._run) if pause_s else self._loop.call_soon(self._run)

    def _run(self) -> None:
        self._handle = None
        self._is_running = True
        began = self._held.begin()
        pause_s: float | None = 0.0
        try:
            pause_s = self._slice()
        except Exception as error:
            self._fail(error)
        finally:
            self._is_running = False
            self._held.end(began)
        if not self._is_closed and pause_s is not None:
            self._wake(pause_s)

    def _slice(self) -> float | None:
        """Work until the slice is over or nothing is left; return the rest in seconds, None where nothing is left."""
        clock = self._loop.time
        ends_at = clock() + SLICE_S
        for _ in range(STEPS_AT_ONCE):
            if self._answers:
                self._send(*self._answers.popleft())
            elif self._begun is not None:
                if self._step(self._begun) is Pace.REST:
                    return PAUSE_S
            elif (waiting := self._next()) is not None:
                self._begin(waiting)
            else:
                return self._work_in_background(ends_at)
            if self._is_closed or clock() >= ends_at:
                break
        return 0.0

    def _work_in_background(self, ends_at: float) -> float | None:
        """Use the rest of a slice for background work; return the pause before the next, None for no more."""
        work = self.background()
        if work is None:
            return None
        for _ in range(STEPS_AT_ONCE):
            if next(work, _END) is _END:
                return None
            if self._loop.time() >= ends_at:
                break
        return PAUSE_S

    def _next(self) -> _Waiting | None:
        for line in (self._control, self._tasks):
            if line:
                return line.popleft()
        return self._requests.pop() if self._requests else None

    def _send(self, send: Sending, asker: Asker, connection: Hashable) -> None:
        """Send an answer; a large one waits for its turns, before what its connection asked later."""
        steps = send()
        if steps is not None:
            waiting = _Waiting(None, lambda: None, self._loop.time(), None, (asker, connection), is_divisible=True)
            waiting.steps = steps
            if self._is_closed:
                waiting.end()
            else:
                self._requests.put(asker, waiting if connection is None else connection, waiting, is_begun=True)

    def _begin(self, waiting: _Waiting) -> None:
        self._begun = waiting
        self._piece_s = 0.0
        if waiting.steps is not None:
            return  # It goes on.
        waiting.waited_s = self._loop.time() - waiting.since_s
        self.longest_wait_s = max(self.longest_wait_s, waiting.waited_s)
        self.started += 1
        began = perf_counter()
        try:
            waiting.steps = waiting.event()
        except BaseException:
            self._begun = None
            raise
        self._worked(waiting, perf_counter() - began)
        if waiting.steps is None:
            self._ended(waiting)

    def _step(self, waiting: _Waiting) -> Pace | None:
        assert waiting.steps is not None, "begun"
        began = perf_counter()
        try:
            pace: Any = next(waiting.steps, _END)
        except BaseException:
            self._begun = None
            raise
        self._worked(waiting, perf_counter() - began)
        if pace is _END:
            self._ended(waiting)
            return None
        if waiting.is_divisible and self._piece_s >= PIECE_S and (self._control or self._tasks or self._requests):
            self._give_way(waiting)
        rests: Pace | None = pace
        return rests

    def _give_way(self, waiting: _Waiting) -> None:
        """Let others have their turn; the work goes on when its own comes again."""
        self._begun = None
        if not self._is_closed:
            self._requests.put(waiting.asker, waiting if waiting.connection is None else waiting.connection, waiting, is_begun=True)
        self._pay(waiting)

    def _worked(self, waiting: _Waiting, seconds: float) -> None:
        waiting.worked_s += seconds
        self._piece_s += seconds

    def _pay(self, waiting: _Waiting) -> None:
        if waiting.kind is None or waiting.kind is Kind.REQUEST:
            self._requests.pay(self._piece_s)

    def _ended(self, waiting: _Waiting) -> None:
        self._pay(waiting)
        self._begun = None
        if waiting.kind is not None:
            self.longest_event_s = max(self.longest_event_s, waiting.worked_s)
            if self.on_done is not None:
                self.on_done(waiting.kind, waiting.waited_s, waiting.worked_s)


class CommitWaits:
    """Futures by offset, all of one epoch: those of an older epoch have failed when the first of a newer one comes."""

    __slots__ = ("_count", "_epoch", "_waits")

    def __init__(self) -> None:
        self._waits: list[tuple[Offset, int, Future[None]]] = []
        self._epoch = Epoch(-1)
        self._count = 0

    @property
    def is_waiting(self) -> bool:
        """Whether anybody waits."""
        return bool(self._waits)

    def add(self, offset: Offset, epoch: Epoch, committed: Future[None]) -> None:
        """`committed` is done when `offset` is committed, and fails when leadership of `epoch`, which lasts, ends before that is known."""
        if epoch != self._epoch:
            self._fail()
            self._epoch = epoch
        self._count += 1
        heappush(self._waits, (offset, self._count, committed))

    def settle(self, led_epoch: Epoch | None, high_watermark: int | None) -> None:
        """The replica leads `led_epoch`, None for none, and knows that all before `high_watermark` is committed."""
        waits = self._waits
        if led_epoch != self._epoch:
            self._fail()
            return
        while waits and high_watermark is not None and waits[0][0] < high_watermark:
            committed = heappop(waits)[2]
            if not committed.done():
                committed.set_result(None)

    def _fail(self) -> None:
        for offset, _, committed in sorted(self._waits):
            if not committed.done():
                fail_commit(committed, offset, self._epoch)
        self._waits.clear()


def fail_commit(committed: Future[None], offset: Offset, epoch: Epoch) -> None:
    """Fail a wait: leadership of the epoch is over, and the offset may or may not be committed."""
    committed.set_exception(NotLeaderError(f"leadership of epoch {epoch} ended before offset {offset} was committed"))
    # Looked at here, so that asyncio does not log it where the caller has lost interest.
    committed.exception()


T = TypeVar("T")

LONG_S: Final = 0.05
"""What should not be reached: heartbeats and votes of others wait as long."""


class LoopHold:
    """Measures how long pieces of work hold the loop. Units: seconds; `long_count` counts those of `LONG_S` and more.

    `longest_s` is on the clock, so it has what the disk and other processes took; `longest_cpu_s` is the loop's own thread's work.
    """

    __slots__ = ("long_count", "longest_cpu_s", "longest_s")

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.longest_cpu_s = 0.0
        self.long_count = 0

    @staticmethod
    def begin() -> tuple[float, float]:
        """A piece of work begins."""
        return perf_counter(), thread_time()

    def end(self, began: tuple[float, float]) -> None:
        """The piece that began then is over."""
        seconds, cpu_s = perf_counter() - began[0], thread_time() - began[1]
        if seconds > self.longest_s:
            self.longest_s = seconds
        if cpu_s > self.longest_cpu_s:
            self.longest_cpu_s = cpu_s
        if seconds >= LONG_S:
            self.long_count += 1

    async def watched(self, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run the coroutine that `begin` makes, measuring each piece of it between two times that it waits."""
        return await _Watched(self, begin())


class _Watched(Generic[T]):
    def __init__(self, held: LoopHold, coroutine: Coroutine[Any, Any, T]) -> None:
        self._held = held
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, T]:
        go_on = partial(self._coroutine.send, None)
        while True:
            began = self._held.begin()
            try:
                waited_for = go_on()
            except StopIteration as end:
                returned: T = end.value
                return returned
            finally:
                self._held.end(began)
            try:
                yield waited_for
            except BaseException as error:
                go_on = partial(self._coroutine.throw, error)
            else:
                go_on = partial(self._coroutine.send, None)


class ServerEvent(str):
    """An event, which is also its line as text. Shape: `kind` and the keys of `fields` are stable, the text is not."""

    kind: str
    fields: Mapping[str, object]

    def __new__(cls, text: str, kind: str, **fields: object) -> Self:
        made = super().__new__(cls, text)
        made.kind, made.fields = kind, fields
        return made


QUANTILES: Final = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
WINDOW_S: Final = 60.0
_PARTS: Final = 4
"""Buckets for each doubling: a quantile is at most 19 % too large."""
_LEAST_S: Final = 1e-6
_BUCKETS: Final = 128


class TimeWindow:
    """A summary of durations. `count` and `sum_s` are of all times; quantiles are of the last one to two minutes."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.count = 0
        self.sum_s = 0.0
        self._clock = clock
        self._ends_at = clock() + WINDOW_S
        self._now = [0] * _BUCKETS
        self._before = [0] * _BUCKETS

    def note(self, seconds: float) -> None:
        """Note one duration."""
        self.count += 1
        self.sum_s += seconds
        self._now[0 if seconds <= _LEAST_S else min(_BUCKETS - 1, 1 + int(log2(seconds / _LEAST_S) * _PARTS))] += 1

    def quantiles(self, wanted: Sequence[float] = QUANTILES) -> list[float]:
        """In seconds, 0 where nothing happened."""
        self._turn()
        counts = [now + before for now, before in zip(self._now, self._before, strict=True)]
        total = sum(counts)
        found = []
        for quantile in wanted:
            left = quantile * total
            bucket = 0
            while bucket < _BUCKETS - 1 and (left := left - counts[bucket]) > 0:
                bucket += 1
            found.append(_LEAST_S * 2 ** (bucket / _PARTS) if total else 0.0)
        return found

    def _turn(self) -> None:
        """Forget durations older than two windows; after a long pause, all of them."""
        now = self._clock()
        if now < self._ends_at:
            return
        self._before = self._now if now < self._ends_at + WINDOW_S else [0] * _BUCKETS
        self._now = [0] * _BUCKETS
        self._ends_at = now + WINDOW_S
