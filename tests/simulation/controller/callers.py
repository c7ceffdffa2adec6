"""Who asks a controller: a connection to whom it believes to lead, one request at a time, over the network of the world."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from metashell.net.addresses import Address
from metashell.net.client_connection import ClientConnection
from metashell.net.transport import Connection, ConnectionFailedError, connect
from tests.simulation.production.sasl import sasl_client

if TYPE_CHECKING:
    from tests.simulation.controller.world import ControllerWorld
    from tests.simulation.production.world import ProductionHost

PATIENCE_S = 2.5
WRONG_GUESS = 0.1
"""How often a caller asks somebody else than the leader."""


class Told(NamedTuple):
    """How an answer came to be: what the controller was that decided, and whether it wrote anything for it.

    `epoch` is -1 where a standby answered, or where nothing was decided.
    """

    epoch: int
    wrote: bool


NOBODY = Told(-1, True)


class Unanswered(Exception):
    """Whether the request was carried out is not known."""


class Caller:
    """One client; `told` is about the last answer."""

    def __init__(self, world: ControllerWorld, name: str) -> None:
        self.world = world
        self.name = name
        self.told = NOBODY
        self._connection: Connection | None = None
        self._host: ProductionHost | None = None

    async def call(self, message: Any, host: ProductionHost | None = None) -> Any:
        """The answer of `host`, or of whom this client believes to lead. Errors: Unanswered."""
        self.told = NOBODY
        world = self.world
        target = host or self._target()
        if target is None:
            await asyncio.sleep(0.1)
            raise Unanswered
        try:
            connection = await self._connected(target)
            world.tellings.pop(self.name, None)
            answer = await connection.request(message, timeout_s=PATIENCE_S)
        except ConnectionFailedError as error:
            world.note(f"{self.name}: {target.name} gives no answer to {type(message).__name__}: {error}")
            self.close()
            await asyncio.sleep(0.02 + 0.1 * world.chance())
            raise Unanswered from error
        self.told = world.tellings.pop(self.name, NOBODY)
        world.note(f"{self.name}: {target.name} answers {answer}")
        world.counts["answers"] += 1
        return answer

    def wrong(self) -> None:
        """The controller that was asked does not lead: ask anew whom to ask."""
        self._host = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._host = None

    def _target(self) -> ProductionHost | None:
        world = self.world
        if self._host is not None and self._connection is not None and not self._connection.closed:
            return self._host
        running = [host for host in world.hosts if host.up]
        leader = world.work.leader()
        if running and (leader is None or world.chance() < WRONG_GUESS):
            return running[int(world.chance() * len(running))]
        return leader  # type: ignore[return-value]

    async def _connected(self, host: ProductionHost) -> Connection:
        if self._host is host and self._connection is not None and not self._connection.closed:
            return self._connection
        self.close()
        sasl = sasl_client() if self.world.options.has_sasl else None
        core = ClientConnection(client_id=self.name, sasl=sasl)
        self._connection = await connect(Address(*host.endpoint), core=core, timeout_s=PATIENCE_S)
        self._host = host
        return self._connection
