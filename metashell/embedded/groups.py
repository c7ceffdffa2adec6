"""A group server on a quorum: registered as a broker, with the quorum's image, and with the active controller to hand requests to.

This module imports asyncio, so it is itself imported inside functions.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

from metashell.client.async_client import AsyncClient
from metashell.codec.error_codes import DUPLICATE_BROKER_REGISTRATION, NONE, NOT_CONTROLLER
from metashell.codec.error_messages import error_message
from metashell.controller.cluster.cluster_answers import published_features
from metashell.controller.records import SUPPORTED_FEATURES
from metashell.controller_server.server import ControllerServer, leader_endpoint
from metashell.embedded.fake_brokers import ActiveController, FakeBroker
from metashell.embedded.ports import reserve
from metashell.embedded.requests import ask_active
from metashell.group_server.config import LISTENER, GroupServerConfig, is_wanted, read_config
from metashell.group_server.server import GroupServer
from metashell.image import MetadataImage
from metashell.net.addresses import Address
from metashell.net.api_versions import NodeFeatures
from metashell.net.security import security_config
from metashell.storage.config import config_of

QUICK: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.assignor.offload.enable": "false",
}
"""Where groups on one machine differ from Kafka's defaults: they settle at once."""
WARNING: Final = "groups and offsets are in memory and are lost with this process, partitions have no data: for tests only"


class Groups:
    """The server, and the broker as which it is known. `on_event` gets the broker's id and a line for each event."""

    def __init__(
        self,
        config: GroupServerConfig,
        cluster_id: str,
        image: Callable[[], MetadataImage],
        active: ActiveController,
        client: AsyncClient,
        on_change: Callable[[], None] = lambda: None,
        on_event: Callable[[int, str], None] = lambda id, line: None,
        origin: str = "",
    ) -> None:
        self._on_change = on_change
        self._on_event = on_event
        self._told = NONE
        self._task: asyncio.Task[None] | None = None
        self._release: Callable[[], None] = lambda: None

        async def ask(request: Any, version: int | None) -> Any:
            return await ask_active(client, active, request, version)

        def features() -> NodeFeatures:
            return NodeFeatures(SUPPORTED_FEATURES, published_features(image()), 0)

        self.server = GroupServer(config, cluster_id, image, ask, features, lambda line: on_event(config.node_id, line))
        self._broker = FakeBroker(config.node_id, cluster_id, active, client, self._moved, address=config.address, origin=origin)

    @classmethod
    def of_quorum(
        cls,
        properties: Mapping[str, str],
        cluster_id: str,
        image: Callable[[], MetadataImage],
        active: ActiveController,
        client: AsyncClient,
        on_change: Callable[[], None],
        on_event: Callable[[int, str], None],
    ) -> Groups:
        """As the properties of a controller say, on a port that the system picks unless they name one. Errors: MetashellError."""
        values = config_of(properties).values
        if LISTENER in properties:
            return cls(read_config(values), cluster_id, image, active, client, on_change, on_event)
        reserved = reserve(1)
        try:
            made = cls(read_config(values, reserved.numbers[0]), cluster_id, image, active, client, on_change, on_event)
        except BaseException:
            reserved.close()
            raise
        made._release = reserved.close
        return made

    @property
    def address(self) -> Address:
        """Where clients find it."""
        return self.server.address

    @property
    def is_serving(self) -> bool:
        """Whether it is registered, and answers clients."""
        return self.server.is_serving

    async def open(self) -> None:
        """Listen and register. Errors: MetashellError."""
        address = await self.server.open()
        self._on_event(self._broker.id, f"groups: broker {self._broker.id} on {address}; {WARNING}")
        self._task = asyncio.get_running_loop().create_task(self._broker.run())

    def look(self) -> None:
        """The image may be another one."""
        self.server.look()

    async def close(self) -> None:
        """End it; the broker's session ends by itself."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.server.close()
        self._release()

    def _moved(self) -> None:
        """The broker was answered."""
        broker = self._broker
        if broker.is_unfenced:
            self.server.is_serving = True
        elif broker.refusal == DUPLICATE_BROKER_REGISTRATION:
            self.server.is_serving = False
        # Who is not the active controller, or not yet, says so; the broker asks the next one.
        if broker.refusal not in (self._told, NOT_CONTROLLER):
            self._told = broker.refusal
            if broker.refusal != NONE:
                self._on_event(broker.id, f"groups: broker {broker.id} is not registered: {error_message(broker.refusal)}")
        self._on_change()


@asynccontextmanager
async def groups_beside(server: ControllerServer, on_event: Callable[[str], None]) -> AsyncIterator[Groups | None]:
    """Serve groups beside a controller that runs, as long as this is entered, where its configuration wants that.

    Of several controllers that do, the first to register serves them. Errors: MetashellError, UsageError.
    """
    config = server.config
    if not is_wanted(config.properties):
        yield None
        return

    def active() -> Address | None:
        found = leader_endpoint(server.node)
        return None if found is None else Address(*found)

    security = security_config(config.properties, config.node.controller_listener)
    client = AsyncClient((), client_id=f"groups-{config.node.node_id}", attempts_max=1, security=security)
    wanted = replace(read_config(config.node.values), allow_plaintext=config.allow_plaintext)
    cluster_id = server.machine.controller.state.settings.cluster_id
    groups = Groups(
        wanted, cluster_id, lambda: server.image, active, client, on_event=lambda id, line: on_event(line), origin=f" {config.node.node_id}"
    )
    end = server.watch(groups.look)
    try:
        await groups.open()
        yield groups
    finally:
        end()
        await groups.close()
        await client.close()
