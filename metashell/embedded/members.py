"""The controllers of a quorum, on the running loop: started, killed and restarted one by one.

This module imports asyncio, so it is itself imported inside functions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from metashell.controller_server.config import config_of
from metashell.controller_server.server import ControllerServer
from metashell.embedded.errors import QuorumError
from metashell.image import EMPTY_IMAGE

if TYPE_CHECKING:
    from metashell.embedded.layout import Layout, Place
    from metashell.image import MetadataImage


class Members:
    """The controllers by id; what is not running is not in `running`. `on_change` is called after whatever may have changed something.

    `failures` are the errors of controllers that ended by themselves, by id, until they are started again.
    """

    def __init__(self, layout: Layout, on_change: Callable[[], None], on_event: Callable[[int, str], None]) -> None:
        self.running: dict[int, ControllerServer] = {}
        self.failures: dict[int, BaseException] = {}
        self._places = {place.id: place for place in layout.places}
        self._on_change = on_change
        self._on_event = on_event
        self._last: tuple[int, MetadataImage] = (-1, EMPTY_IMAGE)
        self._ends: dict[int, Callable[[], None]] = {}

    @property
    def ids(self) -> tuple[int, ...]:
        """All of them, running or not."""
        return tuple(self._places)

    @property
    def leader_id(self) -> int | None:
        """The controller that takes writes; of two that think so, the one of the higher epoch."""
        found = [(server.epoch, id) for id, server in tuple(self.running.items()) if server.is_active and id not in self.failures]
        return max(found, default=(0, None))[1]

    @property
    def image(self) -> MetadataImage:
        """The newest committed state that a controller has, or had when it ended."""
        return self._newest[1]

    @property
    def _newest(self) -> tuple[int, MetadataImage]:
        """The offset and the image up to it; images of one offset are equal."""
        controllers = [server.machine.controller for server in tuple(self.running.values())]
        found = [(controller.stable_offset, controller.image) for controller in controllers]
        return max([self._last, *found], key=lambda pair: pair[0])

    async def start_all(self) -> None:
        """Start all of them. The one whose log reaches furthest stands at once: the others are there, so none waits for a timeout.

        Errors: MetashellError, OSError; then none of them runs.
        """
        try:
            # Most of an opening is waiting for the disk.
            opened = await asyncio.gather(*map(self._open, self._places.values()), return_exceptions=True)
            for error in opened:
                if error is not None:
                    raise error
            for id in self._places:
                await self._begin(id)
        except BaseException:
            await self.kill_all()
            raise
        max(self.running.values(), key=lambda server: server.log_end).stand()

    async def start(self, id: int) -> None:
        """Start one that does not run. Errors: MetashellError, OSError."""
        try:
            await self._open(self._places[id])
            await self._begin(id)
        except BaseException:
            await self.kill(id)
            raise

    async def _open(self, place: Place) -> None:
        server = ControllerServer(config_of(place.properties, place.path), lambda line: self._on_event(place.id, line))
        await server.open()
        self.failures.pop(place.id, None)
        self.running[place.id] = server

    async def _begin(self, id: int) -> None:
        server = self.running[id]
        await server.start()
        self._ends[id] = server.watch(self._on_change)
        server.failure.add_done_callback(lambda done: self._noted(id, server, done))

    def _noted(self, id: int, server: ControllerServer, done: asyncio.Future[BaseException | None]) -> None:
        error = None if done.cancelled() else done.result()
        if error is not None and self.running.get(id) is server:
            self.failures[id] = error
        self._on_change()

    async def stop(self, id: int) -> None:
        """Let one leave gracefully; nothing where it does not run."""
        await self._end(id, is_graceful=True)

    async def kill(self, id: int) -> None:
        """End one as a crash would; nothing where it does not run."""
        await self._end(id, is_graceful=False)

    async def _end(self, id: int, *, is_graceful: bool) -> None:
        server = self._forget(id)
        if server is None:
            return
        await (server.stop() if is_graceful else server.kill())
        # It may have been about to end by itself.
        if server.failure.done() and (error := server.failure.result()) is not None:
            self.failures.setdefault(id, error)
        self._on_change()

    def _forget(self, id: int) -> ControllerServer | None:
        if id not in self._places:
            raise QuorumError(f"controller {id}: there is none (there are {', '.join(map(str, self._places))})")
        if (end := self._ends.pop(id, None)) is not None:
            end()
        self._last = self._newest
        return self.running.pop(id, None)

    async def kill_all(self) -> None:
        """End all of them as a crash would, which costs nothing that was acknowledged. Errors: the first, when all have ended."""
        ended = await asyncio.gather(*(self.kill(id) for id in tuple(self.running)), return_exceptions=True)
        for error in ended:
            if error is not None:
                raise error
