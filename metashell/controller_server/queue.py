"""The line in which everything waits that reads or changes the controller: one event at a time, long ones in slices.

Order: what the log says (commits, loads, leaders), then periodic tasks that are due, then requests, round robin over the connections that
have any. An event is a function that gives None, or a generator that is run in slices; between two slices no other event runs.
Answers leave between events, and in slices too, because one commit may complete hundreds of them.
This module imports asyncio, so it is itself imported inside functions.
Source: org.apache.kafka.queue.KafkaEventQueue, org.apache.kafka.controller.QuorumController.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Hashable, Iterator
from enum import Enum
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from metashell.server.held import HeldTime

SLICE_S: Final = 0.01
STEPS_AT_ONCE: Final = 1000
"""Steps of a slice, at most: what the clock of a simulation does not end, this does."""
PAUSE_S: Final = 0.001
_END: Final = object()


class Pace(Enum):
    """What a generator yields that wants more than its turn to be over when the slice is."""

    REST = "let others go on until what this one needs is there"


Steps = Generator[Pace | None, None, None]
Event = Callable[[], Steps | None]
"""What is done when its turn comes; a generator gives up the loop wherever it yields, if its slice is over."""
Sending = Callable[[], Iterator[object] | None]
"""Sends an answer, a large one while it is iterated."""


class Kind(Enum):
    """What an event is; the value is what metrics call it."""

    CONTROL = "control"
    TASK = "task"
    REQUEST = "request"


class _Waiting(NamedTuple):
    kind: Kind
    event: Event
    since_s: float
    dropped: Callable[[], None] | None = None


class EventQueue:
    """See the module. `fail` hears what an event raised, and has to end everything.

    `started` counts events; `longest_wait_s` and `longest_event_s` are the longest times in line and in work.
    """

    def __init__(self, fail: Callable[[BaseException], None], held: HeldTime) -> None:
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
        self._lines: OrderedDict[Hashable, deque[_Waiting]] = OrderedDict()
        self._answers: deque[Sending] = deque()
        self._sending: Iterator[object] | None = None
        self._steps: Steps | None = None
        self._begun: _Waiting | None = None
        self._worked_s = 0.0
        self._waited_s = 0.0
        self._kind = Kind.CONTROL
        self._handle: asyncio.Handle | None = None
        self._is_closed = False
        self._is_running = False
        self._is_resting = False

    def __len__(self) -> int:
        """Events that have not begun."""
        return len(self._control) + len(self._tasks) + sum(map(len, self._lines.values()))

    # ---- what comes in

    def control(self, event: Event) -> None:
        """An event of the log or of leadership: in their own order, before all others."""
        self._put(self._control, _Waiting(Kind.CONTROL, event, self._loop.time()))

    def task(self, event: Event) -> None:
        """A periodic task that is due."""
        self._put(self._tasks, _Waiting(Kind.TASK, event, self._loop.time()))

    def request(self, connection: Hashable, event: Event, dropped: Callable[[], None]) -> None:
        """A request of a connection; where `close` comes before its end, `dropped` is called. A deadline is the event's own matter."""
        line = self._lines.get(connection)
        if line is None:
            line = self._lines[connection] = deque()
        self._put(line, _Waiting(Kind.REQUEST, event, self._loop.time(), dropped))

    def answer(self, send: Sending) -> None:
        """An answer that may leave. The large one of a generator leaves in slices."""
        if self._is_closed:
            deque(send() or (), 0)
        else:
            self._answers.append(send)
            self._wake()

    def forget(self, connection: Hashable) -> None:
        """A connection is closed: its requests that did not begin are dropped."""
        self._lines.pop(connection, None)

    def close(self) -> None:
        """Nothing is done from now on; what is half done stays so."""
        self._is_closed = True
        if self._handle is not None:
            self._handle.cancel()
        left = [waiting for line in self._lines.values() for waiting in line]
        if self._steps is not None and not self._is_running:
            self._steps.close()
            if self._begun is not None:
                left.insert(0, self._begun)
        self._steps = self._begun = None
        self._control.clear()
        self._tasks.clear()
        self._lines.clear()
        # What is stable may be said.
        sending, self._sending = self._sending, None
        while sending is not None or self._answers:
            deque(sending or (), 0)
            sending = self._answers.popleft()() if self._answers else None
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
        if self._is_resting and self._handle is not None and self._steps is None:
            # Background work rests; an event does not wait for that.
            self._handle.cancel()
            self._handle = None
        if self._handle is None:
            self._is_resting = pause_s > 0
            self._handle = self._loop.call_later(pause_s, self._run) if pause_s else self._loop.call_soon(self._run)

    def _run(self) -> None:
        self._handle = None
        self._is_running = True
        started = perf_counter()
        pause_s: float | None = 0.0
        try:
            pause_s = self._slice()
        except Exception as error:
            self._fail(error)
        finally:
            self._is_running = False
            self._held.note(perf_counter() - started)
        if not self._is_closed and pause_s is not None:
            self._wake(pause_s)

    def _slice(self) -> float | None:
        """Work until the slice is over or nothing is left to do; how long to rest, None where nothing is left."""
        clock = self._loop.time
        ends_at = clock() + SLICE_S
        for _ in range(STEPS_AT_ONCE):
            if self._sending is not None:
                if next(self._sending, _END) is _END:
                    self._sending = None
            elif self._answers:
                self._sending = self._answers.popleft()()
            elif self._steps is not None:
                if self._step(self._steps) is Pace.REST:
                    return PAUSE_S
            elif (waiting := self._next()) is not None:
                self._begin(waiting)
            else:
                return self._work_in_background(ends_at)
            if self._is_closed or clock() >= ends_at:
                break
        return 0.0

    def _work_in_background(self, ends_at: float) -> float | None:
        """Use the rest of a slice for what nobody waits for; how long to rest before there is more of it, None for no more."""
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
        if not self._lines:
            return None
        connection, line = next(iter(self._lines.items()))
        found = line.popleft()
        if line:
            self._lines.move_to_end(connection)
        else:
            del self._lines[connection]
        return found

    def _begin(self, waiting: _Waiting) -> None:
        self._begun = waiting
        self._kind = waiting.kind
        self._waited_s = self._loop.time() - waiting.since_s
        self.longest_wait_s = max(self.longest_wait_s, self._waited_s)
        self.started += 1
        self._worked_s = 0.0
        began = perf_counter()
        self._steps = waiting.event()
        self._worked_s = perf_counter() - began
        if self._steps is None:
            self._ended()

    def _step(self, steps: Steps) -> Pace | None:
        began = perf_counter()
        try:
            pace = next(steps)
        except StopIteration:
            self._steps = None
        except BaseException:
            self._steps = None
            raise
        else:
            self._worked_s += perf_counter() - began
            return pace
        self._worked_s += perf_counter() - began
        self._ended()
        return None

    def _ended(self) -> None:
        self.longest_event_s = max(self.longest_event_s, self._worked_s)
        if self.on_done is not None:
            self.on_done(self._kind, self._waited_s, self._worked_s)
