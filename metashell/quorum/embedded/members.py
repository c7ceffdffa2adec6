"""The members of a quorum on the running loop: controllers that are started, killed and restarted one by one, and a group server.

The group server is registered as a broker; it has the quorum's image, and the active controller to hand requests to.
This module imports asyncio, so it is itself imported inside functions."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from metashell.codec import messages
from metashell.codec.codes import BROKER_LOGGER_RESOURCE, BROKER_RESOURCE, SECURITY_PROTOCOLS, code_of
from metashell.codec.error_codes import DUPLICATE_BROKER_REGISTRATION, NONE, NOT_CONTROLLER, error_message
from metashell.common.errors import MetashellError, PathError
from metashell.common.values import group_log_topic_id
from metashell.disk.config import config_of
from metashell.disk.file_system import Disk, UnsyncedDisk
from metashell.groups.log.group_log import TOPIC, GroupLog
from metashell.groups.server import AUTHORIZER, LISTENER, Allows, Asker, GroupServerConfig, access_line, is_wanted, read_config, with_fields
from metashell.groups.server.machine import ClientIdentity
from metashell.groups.server.server import GroupServer
from metashell.metadata.image import EMPTY_IMAGE, MetadataImage
from metashell.net.addresses import Address
from metashell.net.api_versions import NodeFeatures
from metashell.net.client import AsyncClient
from metashell.net.sasl import Credentials
from metashell.net.security import listener_security, security_config
from metashell.quorum.controller.authorizer import Operation, Resource
from metashell.quorum.controller.cluster import published_features
from metashell.quorum.controller.config_descriptions import Node, describe_resource
from metashell.quorum.controller.decision import SUPPORTED_FEATURES, Request
from metashell.quorum.controller.settings import SETTINGS, Settings
from metashell.quorum.embedded.fake_brokers import ActiveController, FakeBroker, forward_request, request_active_controller
from metashell.quorum.embedded.layout import PREFIX, QuorumError, reserve
from metashell.quorum.server.apis import ImageCredentials
from metashell.quorum.server.config import controller_config
from metashell.quorum.server.controller_server import ControllerServer, leader_endpoint, wall_ms

if TYPE_CHECKING:
    from metashell.quorum.embedded.layout import Layout, Place


class Members:
    """The controllers by id; `running` has those that run. `on_change` is called after each possible change.

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
        """The active controller; of two that believe to be it, the one of the higher epoch."""
        found = [(server.epoch, id) for id, server in tuple(self.running.items()) if server.is_active and id not in self.failures]
        return max(found, default=(0, None))[1]

    @property
    def authority(self) -> ControllerServer | None:
        """The controller that knows best who may do what: the active one, else any that runs."""
        running, leader_id = self.running, self.leader_id
        return next(iter(running.values()), None) if leader_id is None else running.get(leader_id)

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
        """Start all of them. The one with the longest log stands at once: all others run, so no election timeout is needed.

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
        server = ControllerServer(controller_config(place.properties, place.path), lambda line: self._on_event(place.id, line))
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


QUICK_GROUPS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.assignor.offload.enable": "false",
}
"""Where groups on one machine differ from Kafka's defaults: they settle at once."""
NOTICE: Final = "groups and offsets are kept with the quorum's files, partitions have no data: for tests only"
KEPT: Final = "groups and offsets are kept in {directory}, partitions have no data"
LOST: Final = "groups and offsets are lost with this process, partitions have no data: for tests only"


@dataclass(frozen=True, slots=True)
class OpenedLog:
    """The log of a group server. `place` is where it stays, for a person; None if it is thrown away when it is closed."""

    log: GroupLog
    place: str | None
    folder: str | None = None

    @property
    def says(self) -> str:
        """What becomes of groups and offsets when the process ends."""
        return LOST if self.place is None else KEPT.format(directory=self.place)

    def throw_away(self) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    @classmethod
    async def open(cls, config: GroupServerConfig, directory: str, cluster_id: str, *, is_kept: bool = True) -> OpenedLog:
        """Open the log in a controller's log directory, or in a folder of its own if it is not to be durable. A thread reads it.

        With `is_kept` False the directory itself is thrown away, so nothing is synced. Errors: MetashellError.
        """
        folder = None if config.is_durable else tempfile.mkdtemp(prefix=PREFIX)
        is_kept = is_kept and config.is_durable
        opening = partial(
            GroupLog.open,
            folder or directory,
            group_log_topic_id(cluster_id),
            config.settings.partitions,
            Disk() if is_kept else UnsyncedDisk(),
            segment_size=config.offsets_segment_bytes,
            delete_retention_ms=config.delete_retention_ms,
        )
        try:
            log = await asyncio.get_running_loop().run_in_executor(None, opening)
        except BlockingIOError:
            raise MetashellError(f"{directory}: another process has the log of groups") from None
        except OSError as error:
            raise PathError.of(error.filename or directory, error) from None
        return cls(log, directory if is_kept else None, folder)


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
        allows: Allows | None = None,
        credentials: Credentials | None = None,
        opened: OpenedLog | None = None,
    ) -> None:
        self._on_change = on_change
        self._opened = opened
        self._on_event = on_event
        self._told = NONE
        self._task: asyncio.Task[None] | None = None
        self._release: Callable[[], None] = lambda: None

        node_settings = settings_of(config, cluster_id)

        async def ask(request: Any, version: int | None, origin: ClientIdentity | None) -> Any:
            if isinstance(request, messages.DescribeConfigsRequest):
                own, others = describe_own_configs(Node(node_settings, image()), request)
                if others is None:
                    return own
                answer = await request_active_controller(client, active, others, version)
                return messages.DescribeConfigsResponse(results=(*own.results, *answer.results))
            if origin is None:
                return await request_active_controller(client, active, request, version)
            return await forward_request(client, active, request, version, origin)

        def features() -> NodeFeatures:
            return NodeFeatures(SUPPORTED_FEATURES, published_features(image()), 0)

        def tell(line: str) -> None:
            on_event(config.node_id, line)

        log = None if opened is None else opened.log
        self.server = GroupServer(config, cluster_id, image, ask, features, tell, allows=allows, credentials=credentials, log=log)
        protocol = listener_security(config.properties, config.listener).protocol
        self._broker = FakeBroker(
            config.node_id,
            cluster_id,
            active,
            client,
            self._moved,
            address=config.address,
            listener=(config.listener, code_of(SECURITY_PROTOCOLS, protocol)),
            origin=origin,
        )

    @classmethod
    async def of_quorum(
        cls,
        properties: Mapping[str, str],
        cluster_id: str,
        image: Callable[[], MetadataImage],
        active: ActiveController,
        client: AsyncClient,
        on_change: Callable[[], None],
        on_event: Callable[[int, str], None],
        running: Callable[[], ControllerServer | None],
        directory: str,
        *,
        is_kept: bool,
    ) -> Groups:
        """As the properties of a controller say, on a port that the system picks unless they name one. `running` has the authorizer.

        The log lies in `directory`, the log directory of one of the controllers, which is thrown away unless it is kept.
        Errors: MetashellError.
        """
        values = config_of(properties).values
        access = access_of(properties, running)
        reserved = None if LISTENER in properties else reserve(1)
        try:
            config = read_config(values) if reserved is None else read_config(values, reserved.numbers[0])
            opened = await OpenedLog.open(config, directory, cluster_id, is_kept=is_kept)
            made = cls(config, cluster_id, image, active, client, on_change, on_event, opened=opened, **access)
        except BaseException:
            if reserved is not None:
                reserved.close()
            raise
        if reserved is not None:
            made._release = reserved.close
        return made

    @property
    def address(self) -> Address:
        """The address for clients."""
        return self.server.address

    @property
    def is_serving(self) -> bool:
        """Whether it is registered, and answers clients."""
        return self.server.is_serving

    async def open(self) -> None:
        """Listen and register. Errors: MetashellError."""
        address = await self.server.open()
        id = self._broker.id
        self._on_event(id, f"groups: broker {id} on {address}; {LOST if self._opened is None else self._opened.says}")
        for partition, repair in () if self._opened is None else self._opened.log.repairs:
            self._on_event(id, f"groups: {TOPIC}-{partition}/{repair}; cut there, as after a crash")
        self._on_event(id, f"groups: {access_line(self.server.config)}")
        self._task = asyncio.get_running_loop().create_task(self._broker.run())

    def look(self) -> None:
        """Take the image again: it may have changed."""
        self.server.look()

    async def close(self) -> None:
        """End it; the broker's session ends by itself."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self.server.close()
        if self._opened is not None:
            self._opened.throw_away()
        self._release()

    def _moved(self) -> None:
        """The controllers answered the broker."""
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


def settings_of(config: GroupServerConfig, cluster_id: str) -> Settings:
    """Return the settings of the broker as which a group server is known: those of its process, with its own id and address."""
    address = f"{config.listener}://{config.address}"
    own = {"process.roles": "broker", "node.id": str(config.node_id), "listeners": address, "advertised.listeners": address}
    kept = {name: value for name, value in config.properties.items() if name != "broker.id" and name not in SETTINGS}
    return Settings({**kept, **own}, cluster_id, config.node_id)


def describe_own_configs(
    node: Node, request: messages.DescribeConfigsRequest
) -> tuple[messages.DescribeConfigsResponse, messages.DescribeConfigsRequest | None]:
    """Describe the brokers of a request, of which there is one, and return the rest of the request, None if nothing is left.

    The rest is for the active controller, whose metadata is the newest. It would take a broker's id for its own.
    """
    own = [one for one in request.resources if one.resource_type in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE)]
    others = tuple(one for one in request.resources if one not in own)
    answer = messages.DescribeConfigsResponse(results=tuple(describe_resource(node, request, one) for one in own))
    return answer, with_fields(request, resources=others) if others else None


def access_of(properties: Mapping[str, str], running: Callable[[], ControllerServer | None]) -> dict[str, Any]:
    """Return who may do what on a group server: the authorizer and the credentials of a controller of this process.

    While none runs, and before its log was read to the end, only super users have rights, and nobody logs in by SCRAM.
    """

    def image() -> MetadataImage:
        server = running()
        return server.image if server is not None and server.machine.is_caught_up else EMPTY_IMAGE

    credentials = ImageCredentials(image, properties.get("delegation.token.secret.key") or None, wall_ms)
    if not properties.get(AUTHORIZER):
        return {"credentials": credentials}

    def allows(asker: Asker, operation: int, resource: int, name: str) -> bool:
        server = running()
        if server is None:
            return False
        machine = server.machine
        if not machine.is_caught_up and asker.principal not in machine.controller.state.settings.super_users:
            return False
        request = Request(0, 0, None, principal=asker.principal, host=asker.host)
        return machine.controller.current_authorizer().allows(request, Operation(operation), Resource(resource), name)

    return {"allows": allows, "credentials": credentials}


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
    opened = await OpenedLog.open(wanted, config.directory, cluster_id)
    groups = Groups(
        wanted,
        cluster_id,
        lambda: server.image,
        active,
        client,
        on_event=lambda id, line: on_event(line),
        origin=f" {config.node.node_id}",
        opened=opened,
        **access_of(config.properties, lambda: server),
    )
    end = server.watch(groups.look)
    try:
        await groups.open()
        yield groups
    finally:
        end()
        await groups.close()
        await client.close()
