"""Says that no leader is known, once that lasts, and whom this controller asks.

This module imports asyncio, so it is itself imported inside functions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from metashell.server.events import Event

if TYPE_CHECKING:
    from metashell.raft.messages import Endpoint
    from metashell.raft.node import RaftNode
    from metashell.server.driver import Driver

AFTER_S: Final = 5.0
"""Longer than an election takes after a leader died."""
AGAIN_S: Final = 60.0


class Leaderless:
    """Tells `on_event` each time when nobody has led for AFTER_S, and again every AGAIN_S while that lasts, until it is closed."""

    def __init__(self, driver: Driver, on_event: Callable[[str], None]) -> None:
        self._node = driver.node
        self._on_event = on_event
        self._timer: asyncio.TimerHandle | None = None
        self._since_s = 0.0
        self._end = driver.watch(self._look)
        self._look()

    def close(self) -> None:
        """Tell nothing more."""
        self._end()
        self._cancel()

    def _look(self) -> None:
        if self._node.leader_id >= 0:
            self._cancel()
        elif self._timer is None:
            loop = asyncio.get_running_loop()
            self._since_s = loop.time()
            self._timer = loop.call_later(AFTER_S, self._tell)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self) -> None:
        loop = asyncio.get_running_loop()
        asked = [f"{host}:{port}" for host, port in asked_of(self._node)]
        whom = f"asked {', '.join(asked)}" if asked else "the configuration names nobody else to ask"
        if not self._node.voters.voters:
            whom += "; this controller knows no voters (formatted without --standalone or --initial-controllers)"
        text = f"no leader for {loop.time() - self._since_s:.0f} s: {whom}"
        self._on_event(Event(text, "leaderless", epoch=self._node.epoch, asked=asked))
        self._timer = loop.call_later(AGAIN_S, self._tell)


def asked_of(node: RaftNode) -> list[Endpoint]:
    """Whom a replica asks that knows no leader: the other voters, and the servers of its configuration; each once."""
    config = node.config
    voters = [voter.endpoints.get(config.default_listener) for id, voter in sorted(node.voters.voters.items()) if id != node.local_id]
    known = [endpoint for endpoint in voters if endpoint is not None]
    return [endpoint for endpoint in dict.fromkeys((*known, *config.bootstrap_servers)) if endpoint not in node.own_endpoints.values()]
