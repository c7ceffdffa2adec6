"""Starts of a real controller on log directories, one after the other in one Java process: it serves, ends, or hangs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.java import KAFKA, host_command
from tools.interop.host import Host
from tools.interop.nodes import controller_settings, write_config

STARTS_MAX = 80
"""One that has ended keeps its memory, so the process is replaced after so many."""


class Starts:
    """The Java process, of a release; a context manager."""

    def __init__(self, folder: Path, version: str = KAFKA) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._command = host_command(version, "-Dlog4j2.level=ERROR")
        self._host: Host | None = None
        self._starts = 0

    def __enter__(self) -> Starts:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._host is not None:
            self._host.node.kill()

    def start(self, log_dir: Path) -> dict[str, Any]:
        """Start node 1 on a log directory, and stop it; what it `did`, `why`, and what it `said`."""
        settings = controller_settings(1, 0, log_dir, {"controller.quorum.voters": "1@localhost:9093"})
        config = str(write_config(self._folder / f"{log_dir.parent.name}-{log_dir.name}.properties", settings))
        if self._host is None:
            self._host = Host(self._command, self._folder)
        self._starts += 1
        answer = self._host.ask("lead", config=config)
        self._host.ask("leave", config=config, waits=answer["did"] != "hangs")
        # The thread of one that hangs takes a core for itself.
        if answer["did"] == "hangs" or self._starts % STARTS_MAX == 0:
            self._host.node.kill()
            self._host = None
        return answer
