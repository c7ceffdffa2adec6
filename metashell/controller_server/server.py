"""One controller: its directory, its replica, its machine, and what it says to the outside.

This module imports asyncio, so it is itself imported inside functions.
Source: kafka.server.ControllerServer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from metashell.controller_server.config import ControllerConfig
from metashell.image import MetadataImage
from metashell.raft.messages import Endpoint


class ControllerServer:
    """See the module. `on_event` gets one line for each event that an operator wants to see."""

    def __init__(self, config: ControllerConfig, on_event: Callable[[str], None] = lambda line: None) -> None:
        self.config = config

    async def open(self) -> Mapping[str, int]:
        """Open the directory and the listeners; the port of each listener, by name. Errors: MetashellError, OSError."""
        raise NotImplementedError

    async def start(self, static_voters: Mapping[int, Endpoint] | None = None) -> None:
        """Take part (after `open`, which it does if nobody has); `static_voters` in place of controller.quorum.voters.

        Errors: MetashellError, OSError.
        """
        raise NotImplementedError

    async def stop(self) -> None:
        """Leave gracefully: answers that wait are given, leadership is handed over, everything is closed."""
        raise NotImplementedError

    async def kill(self) -> None:
        """End without a word to anybody, as a crash would."""
        raise NotImplementedError

    @property
    def failure(self) -> asyncio.Future[BaseException | None]:
        """Done when this controller ended: with the error that ended it, or None where it was stopped."""
        raise NotImplementedError

    @property
    def leader_id(self) -> int:
        """Who leads, as far as this controller knows; -1 for nobody."""
        raise NotImplementedError

    @property
    def is_active(self) -> bool:
        """Whether this is the active controller, and takes writes."""
        raise NotImplementedError

    @property
    def image(self) -> MetadataImage:
        """What is committed, outside of any transaction."""
        raise NotImplementedError


async def run(config: ControllerConfig, on_event: Callable[[str], None]) -> int:
    """Run until SIGTERM or SIGINT, or until it fails; the exit status. Errors: MetashellError, OSError."""
    raise NotImplementedError
