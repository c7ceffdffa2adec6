"""Threads that run what the server gives to executors: one step on the disk at a time, when the world says so.

Only one thread of the simulation ever runs; the others wait for their turn. A call of a process that dies ends where it is: `Killed` goes
through it, and nothing that it does on the way has an effect any more.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.simulation.production.loop import ProcessLoop
    from tests.simulation.production.world import ProductionWorld


class Killed(BaseException):
    """The process of the thread that runs is no more. Not an Exception, lest somebody handles it."""


LOOK_US = 100
"""How often whoever waits for a lock looks again."""


class Call:
    """One call for an executor: what is called, and who waits for it."""

    def __init__(self, loop: ProcessLoop, executor: Any, function: Callable[[], Any]) -> None:
        self.loop = loop
        self.executor = executor
        self.function = function
        self.waiter: asyncio.Future[Any] = loop.create_future()
        self.worker: Worker | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.is_over = False


class Worker:
    """A thread that makes one call after the other."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._turn = threading.Lock()
        self._turn.acquire()
        self.call: Call | None = None
        self.is_told_to_end = False
        threading.Thread(target=self._work, daemon=True).start()

    def go_on(self) -> None:
        """Let it run until its next step; called by the thread whose turn it is."""
        crew = self._crew
        assert crew.running is None, "one at a time"
        crew.running = self
        self._turn.release()
        crew.turn.acquire()
        crew.running = None

    def wait(self) -> None:
        """Give the turn back; returns when it is this thread's again."""
        self._crew.turn.release()
        self._turn.acquire()

    def _work(self) -> None:
        self._turn.acquire()
        while not self.is_told_to_end:
            call = self.call
            assert call is not None
            try:
                call.result = call.function()
            except BaseException as error:
                call.error = error
            call.is_over = True
            self.call = None
            self.wait()
        self._crew.turn.release()


class Crew:
    """All workers of a world. `running` is the one whose turn it is, None while the world's own thread runs."""

    def __init__(self, world: ProductionWorld) -> None:
        self.turn = threading.Lock()
        self.turn.acquire()
        self.running: Worker | None = None
        self._world = world
        self._idle: list[Worker] = []
        self._count = 0

    def begin(self, call: Call) -> None:
        """Give a call to a worker; it runs up to its first step."""
        if not self._idle:
            self._idle.append(Worker(self))
        worker = call.worker = self._idle.pop()
        worker.call = call
        self.go_on(call)

    def go_on(self, call: Call) -> None:
        """Let a call take its next step."""
        worker = call.worker
        assert worker is not None
        worker.go_on()
        if call.is_over:
            self._idle.append(worker)
            self._world.call_is_over(call)

    def sleep(self, due_us: int) -> None:
        """Called by a worker: wait until a time of the world's. Errors: Killed where the process ends before."""
        worker = self.running
        assert worker is not None and worker.call is not None
        loop = worker.call.loop
        self._world.push_us(due_us, wake, worker.call, None)
        worker.wait()
        if loop.is_dead:
            raise Killed

    def close(self) -> None:
        """End all threads; no call may be under way."""
        for worker in self._idle:
            worker.is_told_to_end = True
            worker._turn.release()
            self.turn.acquire()
        self._idle.clear()


def wake(world: ProductionWorld, call: Call, second: None) -> None:
    """A step on a disk is done."""
    if not call.is_over:
        world.events += 1
        world.crew.go_on(call)


class TurnLock:
    """A lock of a process: a worker that finds it held sleeps, for the one that holds it needs its turn. The loop never finds it held."""

    def __init__(self, world: ProductionWorld) -> None:
        self._world = world
        self._is_held = False

    def __enter__(self) -> None:
        while self._is_held:
            self._world.crew.sleep(self._world.now_us + LOOK_US)
        self._is_held = True

    def __exit__(self, *raised: object) -> None:
        self._is_held = False


class Lanes:
    """The executors of one process: each makes as many calls at once as it has threads, the others wait in line."""

    def __init__(self, world: ProductionWorld, loop: ProcessLoop) -> None:
        self._world = world
        self._loop = loop
        self._under_way: dict[int, list[Call]] = {}
        self._waiting: dict[int, deque[Call]] = {}
        self._executors: list[Any] = []

    def call(self, executor: Any, function: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """As `run_in_executor`. Errors: RuntimeError for an executor that is shut down."""
        if executor is not None and executor._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        self._executors.append(executor)  # so that no other one gets its identity
        call = Call(self._loop, executor, lambda: function(*args))
        key = id(executor)
        under_way = self._under_way.setdefault(key, [])
        if executor is not None and len(under_way) >= executor._max_workers:
            self._waiting.setdefault(key, deque()).append(call)
        else:
            under_way.append(call)
            # The thread begins beside what runs now.
            self._world.push_us(self._loop.now_us, start, call, None)
        return call.waiter

    def over(self, call: Call) -> None:
        """A call has ended: the next in its line begins."""
        key = id(call.executor)
        self._under_way[key].remove(call)
        waiting = self._waiting.get(key)
        if waiting:
            following = waiting.popleft()
            self._under_way[key].append(following)
            self._world.push_us(self._world.now_us, start, following, None)

    def die(self) -> None:
        """The process ends: what is under way ends where it is."""
        for calls in list(self._under_way.values()):
            for call in list(calls):
                if call.worker is not None and not call.is_over:
                    self._world.crew.go_on(call)
        self._under_way.clear()
        self._waiting.clear()


def start(world: ProductionWorld, call: Call, second: None) -> None:
    """A thread takes up a call."""
    if not call.loop.is_dead:
        world.crew.begin(call)
