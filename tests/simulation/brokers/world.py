"""The clock, the order of events, and the network between controllers, brokers and clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from random import Random
from typing import TYPE_CHECKING, Any

from tests.simulation.brokers.options import Options
from tests.simulation.trace import Trace
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from tests.simulation.brokers.cluster import Cluster

Link = tuple[str, str]
"""A direction between two nodes, by their names."""


class Node:
    """Something with a process that can die and stand still. What belongs to a former life of it does not happen any more."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.is_up = True
        self.life = 0
        self.paused_until = 0

    def after(self, delay_ms: int, act: Callable[..., None], *args: Any) -> None:
        """Do something later in this life."""
        self.world.at(delay_ms, self._in_life, self.life, act, args)

    def _in_life(self, life: int, act: Callable[..., None], args: tuple[Any, ...]) -> None:
        if life != self.life or not self.is_up:
            return
        world = self.world
        if world.now < self.paused_until:
            world.at(self.paused_until - world.now, self._in_life, life, act, args)
            return
        act(*args)

    def end_life(self) -> None:
        self.is_up = False
        self.life += 1
        self.paused_until = 0


class World:
    """Everything there is, on one clock; `note` tells it to whoever traces the run."""

    def __init__(self, options: Options, trace: Trace | None = None) -> None:
        self.options = options
        self.random = Random(options.seed)
        self.now = 0
        self.events = 0
        self.counts: Counter[str] = Counter()
        self.violation: Violation | None = None
        self._trace = trace
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = 0
        self._cuts: Counter[Link] = Counter()
        self.cluster: Cluster

    def push(self, due: int, function: Callable[..., None], first: Any, second: Any) -> None:
        """As in the worlds of quorums: at a time, with the world."""
        self.at(due - self.now, function, self, first, second)

    def close(self) -> None:
        """There is nothing but memory."""

    def at(self, delay_ms: int, act: Callable[..., None], *args: Any) -> None:
        self._order += 1
        heappush(self._heap, (self.now + delay_ms, self._order, act, args))

    def run(self, until_ms: int) -> None:
        """Let everything happen that is due until then. Errors: Violation."""
        heap = self._heap
        while heap and heap[0][0] <= until_ms:
            self.now, _, act, args = heappop(heap)
            self.events += 1
            act(*args)
            if self.violation is not None:
                raise self.violation
        self.now = until_ms

    def fail(self, rule: str, text: str) -> None:
        """A rule does not hold; the run ends after this event."""
        if self.violation is None:
            self.violation = Violation(rule, f"{text} (at {self.now} ms)")
            self.note(str(self.violation))

    def note(self, text: str) -> None:
        if self._trace is not None:
            self._trace.note(self, text)  # type: ignore[arg-type]

    @property
    def is_traced(self) -> bool:
        return self._trace is not None

    def chance(self, part: float) -> bool:
        return part > 0 and self.random.random() < part

    def about(self, mean_ms: float) -> int:
        """A random time around a mean, never 0."""
        return 1 + int(self.random.expovariate(1 / mean_ms))

    def between(self, low: float, high: float) -> int:
        return int(low + (high - low) * self.random.random())

    # The network

    def cut(self, links: Iterable[Link], for_ms: int) -> None:
        """Nothing goes over these links for a while."""
        gone = list(links)
        self._cuts.update(gone)
        self.at(for_ms, self._mend, self._cuts, gone)

    @staticmethod
    def _mend(cuts: Counter[Link], links: list[Link]) -> None:
        cuts.subtract(links)

    def mend_all(self) -> None:
        """Every link is there; what was cut before is not mended a second time."""
        self._cuts = Counter()

    def is_cut(self, sender: Node, receiver: Node) -> bool:
        return self._cuts[sender.name, receiver.name] > 0

    def send(self, sender: Node, receiver: Node, act: Callable[..., None], *args: Any) -> None:
        """Let `receiver` do something once the message is there; it may never come."""
        if self.is_cut(sender, receiver):
            return
        options = self.options
        delay = 1 + self.random.randrange(options.latency_ms)
        if options.slow_part and self.random.random() < options.slow_part:
            delay += self.between(0, options.request_timeout_ms * 2)
        self.at(delay, self._arrive, sender, receiver, receiver.life, act, args)

    def _arrive(self, sender: Node, receiver: Node, life: int, act: Callable[..., None], args: tuple[Any, ...]) -> None:
        if not self.is_cut(sender, receiver):
            receiver._in_life(life, act, args)


class Call:
    """One request and its answer: `then` is called once, with None if there was none in time."""

    __slots__ = ("_caller", "_is_done", "_receiver", "_then", "_world")

    def __init__(self, caller: Node, receiver: Node, then: Callable[[Any], None], timeout_ms: int) -> None:
        self._world = caller.world
        self._caller = caller
        self._receiver = receiver
        self._then = then
        self._is_done = False
        caller.after(timeout_ms, self._finish, None)

    def send(self, handler: Callable[..., None], *args: Any) -> None:
        """Hand the request to the receiver's handler, behind it what answers it."""
        self._world.send(self._caller, self._receiver, handler, *args, self.answer)

    def answer(self, answer: Any) -> None:
        """Send the answer on its way."""
        self._world.send(self._receiver, self._caller, self._finish, answer)

    def _finish(self, answer: Any) -> None:
        if not self._is_done:
            self._is_done = True
            self._then(answer)
