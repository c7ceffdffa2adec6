"""The event loop of one simulated process: asyncio as the server knows it, on the world's clock.

Units: the world counts microseconds; `time` gives seconds of the process's own clock, which may run at another rate.
"""

from __future__ import annotations

import asyncio
from asyncio import events
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from socket import AF_INET, SOCK_STREAM
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from metashell.net import fair_queue, listener, shares
from metashell.quorum.server import event_queue
from tests.simulation.bugs import Patch

if TYPE_CHECKING:
    from metashell.quorum.raft.messages import Endpoint
    from tests.simulation.production.network import Listening
    from tests.simulation.production.world import ProductionWorld

EXACT_RATE = 1_000
CPU_STEP_US = 20
DESCRIPTORS = 1_024
"""Files and sockets that a process may have open."""
ROUNDS_MAX = 20_000
"""Callbacks that one process makes at one moment before it is taken to spin."""


class ProcessLoop(asyncio.AbstractEventLoop):
    """Runs callbacks of one process. `busy_until` is when its thread is free again, in the world's microseconds.

    `index` is that of its host. `on_call` runs calls for executors, `on_failure` hears of exceptions that a callback let escape.
    A loop that is dead forgets its callbacks and takes no new ones.
    """

    def __init__(self, world: ProductionWorld, index: int, rate: int = EXACT_RATE, base_us: int = 0) -> None:
        self.world = world
        self.index = index
        self.is_dead = False
        self.busy_until = 0
        self.cpu_us = 0
        self.on_call: Callable[..., asyncio.Future[Any]]
        self.on_failure: Callable[[dict[str, Any]], None]
        self._rate = rate
        self._base_us = base_us
        self._ready: deque[asyncio.Handle] = deque()
        self._tasks: WeakSet[asyncio.Task[Any]] = WeakSet()
        self._is_scheduled = False
        self._is_running = False

    # The clock

    def local_us(self, world_us: int) -> int:
        """What the process's clock shows at a time of the world's."""
        return self._base_us + (world_us if self._rate == EXACT_RATE else world_us * self._rate // EXACT_RATE)

    def world_us(self, local_us: int) -> int:
        """The first time of the world's at which the process's clock shows that."""
        passed = local_us - self._base_us
        return passed if self._rate == EXACT_RATE else -(-passed * EXACT_RATE // self._rate)

    @property
    def now_us(self) -> int:
        """The world's time for this process: later than the world's own while its thread waits for a disk."""
        return max(self.world.now_us, self.busy_until)

    def time(self) -> float:
        return self.local_us(self.now_us) / 1_000_000

    # Callbacks

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Any = None) -> asyncio.Handle:  # type: ignore[override]
        handle = asyncio.Handle(callback, args, self, context)
        if not self.is_dead:
            self._ready.append(handle)
            if not self._is_scheduled and not self._is_running:
                self._is_scheduled = True
                self.world.push_us(self.now_us, run_ready, self, None)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None) -> asyncio.TimerHandle:  # type: ignore[override]
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, context: Any = None) -> asyncio.TimerHandle:  # type: ignore[override]
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        if not self.is_dead:
            local_us = -int(-when * 1_000_000 // 1)
            if local_us / 1_000_000 < when:
                # The product was rounded down: a timer that comes a hair too early is set again for ever.
                local_us += 1
            due_us = self.world_us(local_us)
            self.world.push_us(max(due_us, self.now_us), fire, self, timer)
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer stays where it is and does nothing."""

    def run(self) -> None:
        """Make all callbacks that are ready, unless the process's thread waits or rests meanwhile."""
        if self._is_running:
            return
        ready, world = self._ready, self.world
        self._is_running = True
        before = events._get_running_loop()
        events._set_running_loop(self)
        rounds = 0
        try:
            while ready and self.busy_until <= world.now_us and not self.is_dead:
                handle = ready.popleft()
                if not handle._cancelled:  # type: ignore[attr-defined]
                    handle._run()
                rounds += 1
                if rounds > ROUNDS_MAX:
                    world.spins(self)
        finally:
            events._set_running_loop(before)
            self._is_running = False
        if ready and not self._is_scheduled and not self.is_dead:
            self._is_scheduled = True
            world.push_us(max(self.busy_until, world.now_us), run_ready, self, None)

    def free(self) -> None:
        """Whatever kept the process's thread busy is over."""
        if self.busy_until > self.world.now_us:
            self.busy_until = self.world.now_us
            self._is_scheduled = True
            self.world.push_us(self.world.now_us, run_ready, self, None)

    def start(self, coroutine: Any) -> asyncio.Task[Any]:
        """A task in this process."""
        return self.create_task(coroutine)

    def die(self) -> None:
        """Nothing is called any more. Tasks end where they are; nothing that they do on the way has an effect."""
        self.is_dead = True

    def close_tasks(self) -> None:
        """Let no task wait to be collected some time; one that runs just now ends by itself."""
        for task in list(self._tasks):
            with suppress(Exception):
                task.get_coro().close()  # type: ignore[union-attr]
        self._ready.clear()

    # What asyncio asks for

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return self._is_running

    def is_closed(self) -> bool:
        return self.is_dead

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, context: Any = None) -> asyncio.Task[Any]:  # type: ignore[override]
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self._tasks.add(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self.is_dead:
            self.on_failure(context)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        return self.on_call(executor, func, *args)

    async def create_connection(
        self, factory: Callable[[], Any], host: str, port: int, *, ssl: Any = None, server_hostname: Any = None
    ) -> Any:  # type: ignore[override]
        assert ssl is None and server_hostname is None, "TLS is not simulated"
        return await self.world.network.connect(self, factory, (host, port))

    async def getaddrinfo(self, host: Any, port: Any, *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> list[Any]:
        return [(AF_INET, SOCK_STREAM, 0, "", (host, port))]

    def add_reader(self, fd: Any, callback: Callable[..., object], *args: Any) -> None:  # type: ignore[override]
        fd.watch(partial(callback, *args))

    def remove_reader(self, fd: Any) -> bool:
        fd.watch(None)
        return True

    async def connect_accepted_socket(self, factory: Callable[[], Any], sock: Any) -> Any:  # type: ignore[override]
        await asyncio.sleep(0)
        return sock, sock.begin(factory)


# What the server asks its system for, where asyncio has no call


def bound(family: int, kind: int, protocol: int, address: Endpoint, backlog: int) -> Listening:
    """Return a socket that listens in the running process."""
    loop = running()
    assert loop is not None
    return loop.world.network.listen(loop, address)


def running() -> ProcessLoop | None:
    """Return the loop whose callback runs; None in a thread of an executor."""
    return events._get_running_loop()  # type: ignore[return-value]


def clock() -> float:
    """Return seconds of the process's own clock. In a thread of an executor nothing takes time."""
    loop = running()
    return 0.0 if loop is None else loop.time()


def cpu_clock() -> float:
    """Return seconds that the process's thread has worked: a fixed time from each look to the next."""
    loop = running()
    if loop is None:
        return 0.0
    loop.cpu_us += CPU_STEP_US
    return loop.cpu_us / 1_000_000


def connections_of_process() -> int:
    """Return how many connections the running process has: that of the simulation is not one of them."""
    return len(shares.shares_of_loop())


def system() -> list[Patch]:
    """Sockets, clocks and descriptors of a simulated process, in place of those of the process that simulates."""
    return [
        (listener, "_bound", bound),
        (shares, "connections_of_process", connections_of_process),
        (shares, "descriptors_max", lambda: DESCRIPTORS),
        (shares, "time", SimpleNamespace(monotonic=clock, perf_counter=cpu_clock, thread_time=cpu_clock)),
        (fair_queue.Turns.__init__, "__defaults__", (clock,)),
        (event_queue, "perf_counter", cpu_clock),
        (event_queue, "thread_time", cpu_clock),
    ]


def run_ready(world: ProductionWorld, loop: ProcessLoop, second: None) -> None:
    """The moment has come at which a process goes on."""
    if loop.is_dead:
        return
    if loop.busy_until > world.now_us:
        world.push_us(loop.busy_until, run_ready, loop, None)
        return
    loop._is_scheduled = False
    loop.run()


def fire(world: ProductionWorld, loop: ProcessLoop, timer: asyncio.TimerHandle) -> None:
    """The time that a timer named has come."""
    if loop.is_dead or timer._cancelled:  # type: ignore[attr-defined]
        return
    world.events += 1
    loop._ready.append(timer)
    if loop.busy_until <= world.now_us:
        loop.run()
    elif not loop._is_scheduled:
        loop._is_scheduled = True
        world.push_us(loop.busy_until, run_ready, loop, None)
