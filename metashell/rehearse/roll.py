"""Brokers that restart one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from metashell.rehearse.brokers import Fleet
from metashell.rehearse.clock import Clock
from metashell.rehearse.outcome import BrokerState
from metashell.rehearse.replication import Replication


class Roll:
    """Restarts brokers, at most `max_offline` at a time; the next one goes when one is in sync again.

    `step` is the place of the step that it belongs to. `on_stop(id)` and `on_start(id)` are called with the process of a broker, for what
    shares its machine.
    """

    def __init__(
        self,
        brokers: Sequence[int],
        max_offline: int,
        down_ms: int,
        *,
        step: int,
        fleet: Fleet,
        replication: Replication,
        clock: Clock,
        on_stop: Callable[[int], None],
        on_start: Callable[[int], None],
    ) -> None:
        self.step = step
        self._left = list(brokers)
        self._max_offline = max_offline
        self._down_ms = down_ms
        self._fleet = fleet
        self._replication = replication
        self._clock = clock
        self._on_stop = on_stop
        self._on_start = on_start
        self.under_way: set[int] = set()

    @property
    def is_done(self) -> bool:
        return not self._left and not self.under_way

    @property
    def unfinished(self) -> Iterator[tuple[int, str]]:
        """The brokers that did not come back in sync, and those whose turn never came, with why."""
        for id in sorted(self.under_way):
            yield id, self._why_not_back(id)
        for id in sorted(self._left):
            yield id, "its turn never came"

    def _why_not_back(self, id: int) -> str:
        state = self._fleet.brokers[id].state
        if state is BrokerState.SERVING:
            return self._replication.why_behind(id)
        if state is BrokerState.DEAD:
            return "it is dead"
        return f"it is {state.value} to the end: no controller takes it back"

    def go_on(self) -> None:
        """Let as many restart as may."""
        while self._left and len(self.under_way) < self._max_offline:
            id = self._left.pop(0)
            self.under_way.add(id)
            if self._fleet.brokers[id].has_process:
                self._fleet.shut_down(id, partial(self._is_down, id))
            else:
                self._start(id, self._fleet.brokers[id].life)

    def _is_down(self, id: int) -> None:
        self._on_stop(id)
        life = self._fleet.brokers[id].life
        self._clock.after(self._down_ms, lambda: self._start(id, life))

    def _start(self, id: int, life: int) -> None:
        broker = self._fleet.brokers[id]
        if broker.life == life and not broker.has_process:
            self._on_start(id)
            self._fleet.start(id)

    def joined(self, id: int) -> None:
        """A broker serves again; its turn ends when it is in sync."""
        if id in self.under_way:
            self._replication.when_in_sync(id, lambda: self._is_back(id))

    def _is_back(self, id: int) -> None:
        if id in self.under_way:
            self.under_way.discard(id)
            self._fleet.tell(f"broker {id} is in sync again", id)
            self.go_on()
