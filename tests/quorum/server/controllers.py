"""Controllers of ours over loopback in one process, from server.properties on directories that were formatted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from metashell.cli.kafka.file_tools import storage_main as kafka_storage
from metashell.codec import messages
from metashell.codec.error_codes import NONE, NOT_CONTROLLER, TOPIC_ALREADY_EXISTS
from metashell.net.addresses import Address
from metashell.net.client_connection import ClientConnection
from metashell.net.transport import Connection, connect
from metashell.quorum.controller.decision import SUPPORTED_FEATURES
from metashell.quorum.server.config import load_config
from metashell.quorum.server.controller_server import ControllerServer
from tests.coroutines import eventually
from tests.running import run_main
from tools.interop.nodes import controller_settings, free_ports, write_config

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
DIRECTORY_IDS = {id: f"{'A' * 20}{id}g" for id in (1, 2, 3, 4, 5)}
PATIENT = {
    "controller.quorum.election.timeout.ms": 300,
    "controller.quorum.fetch.timeout.ms": 10_000,
    "controller.quorum.append.linger.ms": 0,
    "broker.session.timeout.ms": 3_600_000,
    "broker.heartbeat.interval.ms": 60_000,
}
"""On a busy machine nobody loses leadership, and no broker its session, because somebody was silent for a second."""
QUICK = {"controller.quorum.fetch.timeout.ms": 1000}
"""For quorums whose leader dies: the others notice soon."""


class Formatted:
    """Members by id, each with its configuration and its formatted directory."""

    def __init__(
        self, folder: Path, count: int = 3, settings: Mapping[str, object] | None = None, *, dynamic: bool = True, words: Sequence[str] = ()
    ) -> None:
        self.folder = folder
        self.ports = dict(zip(range(1, count + 1), free_ports(count), strict=True))
        addresses = {id: f"localhost:{port}" for id, port in self.ports.items()}
        if dynamic:
            self.quorum = {"controller.quorum.bootstrap.servers": ",".join(addresses.values())}
        else:
            self.quorum = {"controller.quorum.voters": ",".join(f"{id}@{address}" for id, address in addresses.items())}
        initial = ",".join(f"{id}@{address}:{DIRECTORY_IDS[id]}" for id, address in addresses.items())
        self._words = [*words, "--initial-controllers", initial] if dynamic else [*words]
        self.configs: dict[int, Path] = {}
        for id, port in self.ports.items():
            own = controller_settings(id, port, folder / f"node-{id}", self.quorum)
            self.configs[id] = write_config(folder / f"{id}.properties", own, PATIENT, settings or {})
            self.format(id)

    def format(self, id: int) -> None:
        done = run_main(kafka_storage, ["format", "-t", CLUSTER_ID, "-c", str(self.configs[id]), *self._words], cwd=self.folder)
        assert done.status == 0, done.stderr


class Controllers(Formatted):
    """Those that run are in `running`. An async context manager that kills what is left."""

    def __init__(self, *about: Any, **more: Any) -> None:
        super().__init__(*about, **more)
        self.running: dict[int, ControllerServer] = {}
        self.events: dict[int, list[str]] = {id: [] for id in self.ports}

    async def __aenter__(self) -> Controllers:
        await asyncio.gather(*map(self.start, self.ports))
        return self

    async def __aexit__(self, *error: object) -> None:
        if error[0] is not None:
            for id, events in self.events.items():
                print(id, events[-20:])
        for id in list(self.running):
            await self.kill(id)

    async def start(self, id: int) -> ControllerServer:
        server = ControllerServer(load_config(str(self.configs[id])), self.events[id].append)
        await server.start()
        self.running[id] = server
        return server

    async def kill(self, id: int) -> None:
        await self.running.pop(id).kill()

    async def stop(self, id: int) -> None:
        await self.running.pop(id).stop()

    async def active(self, *, but: int = 0) -> ControllerServer:
        """The active controller, once there is one that has written what it writes first."""

        def active() -> list[ControllerServer]:
            return [s for id, s in self.running.items() if id != but and s.is_active and s.image.features.metadata_version is not None]

        await eventually(lambda: bool(active()))
        return active()[0]


class Listening(Protocol):
    """Where a controller is, in this process or another one."""

    @property
    def ports(self) -> Mapping[str, int]: ...


class Place(NamedTuple):
    """A controller in another process."""

    ports: Mapping[str, int]


async def create_at(quorum: Controllers, name: str, *, but: int = 0) -> ControllerServer:
    """Create a topic at whoever is active, again where leadership ends meanwhile; gives that controller."""
    while True:
        active = await quorum.active(but=but)
        code = await create(active, name)
        if code in (NONE, TOPIC_ALREADY_EXISTS):
            return active
        assert code == NOT_CONTROLLER, code


async def client(server: Listening, listener: str = "CONTROLLER") -> Connection:
    """A connection to a controller."""
    return await connect(Address("localhost", server.ports[listener]), core=ClientConnection(client_id="a-client"))


async def ask(server: Listening, message: Any, version: int | None = None) -> Any:
    """Ask one thing on a connection of its own."""
    connection = await client(server)
    try:
        return await connection.request(message, version=version)
    finally:
        connection.close("done")


async def add_broker(server: Listening, id: int) -> int:
    """Register a broker and unfence it; its epoch."""
    made = messages.BrokerRegistrationRequest
    body = made(
        broker_id=id,
        cluster_id=CLUSTER_ID,
        incarnation_id=bytes((1, id)) * 8,
        listeners=(made.Listener(name="PLAINTEXT", host="h", port=9092),),
        features=tuple(
            made.Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in SUPPORTED_FEATURES.items()
        ),
        log_dirs=(bytes((2, id)) * 8,),
    )
    answer = await ask(server, body, 4)
    assert answer.error_code == 0, answer
    epoch: int = answer.broker_epoch
    assert not (await beat(server, id, epoch)).is_fenced
    return epoch


async def beat(server: Listening, id: int, epoch: int) -> Any:
    """A heartbeat of a broker that has read everything."""
    body = messages.BrokerHeartbeatRequest(broker_id=id, broker_epoch=epoch, current_metadata_offset=1 << 40)
    return await ask(server, body, 1)


def topic_request(name: str, replicas: tuple[int, ...] = (1,), *, timeout_ms: int = 30_000, configs: Mapping[str, str] = {}) -> Any:
    """CreateTopics of one partition."""
    made = messages.CreateTopicsRequest
    topic = made.CreatableTopic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=(made.CreatableReplicaAssignment(partition_index=0, broker_ids=replicas),),
        configs=tuple(made.CreatableTopicConfig(name=key, value=value) for key, value in configs.items()),
    )
    return made(topics=(topic,), timeout_ms=timeout_ms)


async def create(server: Listening, name: str, **how: Any) -> int:
    """Create a topic; the error code."""
    code: int = (await ask(server, topic_request(name, **how), 7)).topics[0].error_code
    return code


def topics_of(server: ControllerServer) -> set[str]:
    return set(server.image.topics.by_name)
