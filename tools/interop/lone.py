"""Lone controllers of Kafka in one Java process, many at a time: one starts in a twentieth of a second of a processor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tools.interop.host import Host
from tools.interop.nodes import Node

STARTS_MAX: Final = 120
"""A controller that has ended keeps some memory, so the process is replaced after so many, when none runs."""


class ControllerEndedError(Exception):
    """The Java process ended, or a controller in it did not start."""


class LoneControllers:
    """The process, started when it is needed. A controller is named by its properties file."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._command = command
        self._folder = folder
        self._host: Host | None = None
        self._starts = 0
        self._running: set[Path] = set()

    def lead(self, config: Path) -> dict[str, Any]:
        """Start a controller, and see what it `did`, `why`, and what it `said`: it serves, ends or hangs."""
        if self._starts >= STARTS_MAX and not self._running:
            self.close()
        self._starts += 1
        self._running.add(config)
        return self.ask("lead", config)

    def start(self, config: Path) -> None:
        """Start a controller that must serve. Errors: ControllerEndedError."""
        if (answer := self.lead(config))["did"] != "serves":
            raise ControllerEndedError(answer["why"])

    def try_to_start(self, config: Path) -> dict[str, Any]:
        """Start a controller and stop it; see `lead`."""
        answer = self.lead(config)
        if answer["did"] == "hangs":
            # Its thread takes a core for itself.
            self.close()
        else:
            self.leave(config, waits=True)
        return answer

    def leave(self, config: Path, *, waits: bool = False) -> None:
        """Shut a controller down."""
        self._running.discard(config)
        self.ask("leave", config, waits=waits)

    @property
    def node(self) -> Node:
        """The process."""
        assert self._host is not None, "started"
        return self._host.node

    def ask(self, what: str, config: Path, **words: object) -> dict[str, Any]:
        """What the process says of a controller."""
        if self._host is None:
            self._host = Host(self._command, self._folder)
        return self._host.ask(what, config=str(config), **words)

    def close(self) -> None:
        """End the process, and all that runs in it."""
        if self._host is not None:
            self._host.node.kill()
        self._host, self._starts = None, 0
        self._running.clear()
