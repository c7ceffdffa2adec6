"""The cluster that the transcripts run on: controllers 1 and 2, brokers 11 and 12, all with StandardAuthorizer and delegation tokens.

Controller 1 is the only voter; 2 is started by a command. Brokers listen without and with SASL, and have two log directories. Everyone
who comes without SASL is a super user; alice and bob are nobody.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from metashell.cli.kafka_storage import main as kafka_storage
from metashell.client.client import Client
from metashell.client.errors import ConnectError
from metashell.codec.api_keys import DESCRIBE_QUORUM
from metashell.codec.messages import DescribeClusterRequest
from metashell.log.meta_properties import META_PROPERTIES, read_meta_properties
from metashell.net.addresses import Address
from metashell.raft import messages as flat
from metashell.raft.wire import decode_response, encode_request
from metashell.values import uuid_text
from tests.running import run_main
from tools.interop.admin.clients import CALLS
from tools.interop.admin.host import CLASSES, AdminHost
from tools.interop.admin.names import Names
from tools.interop.admin.transcript import Step, marked
from tools.interop.nodes import Cluster, Node, controller_settings, free_ports, write_config

CLUSTER_ID: Final = "4L6g3nShT-eMCtK--X86sw"
RELEASE: Final = "4.1-IV0"
"""The metadata.version to begin with, so that there is one to upgrade to."""
CONTROLLERS: Final = (1, 2)
BROKERS: Final = (11, 12)
USERS: Final = {"admin": "admin-secret", "alice": "alice-secret"}
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required"
_SHARED: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:admin",
    "delegation.token.secret.key": "a-secret",
    "delegation.token.max.lifetime.ms": 3_600_000,
}

StartController = Callable[[Path], Node]
"""Starts a controller with a properties file."""


@dataclass(slots=True)
class AdminPlace:
    """A running cluster, and what its texts are called."""

    place: Cluster
    host: AdminHost
    start_controller: StartController
    ports: dict[str, int]
    names: Names = field(default_factory=Names)

    @property
    def folder(self) -> Path:
        return self.place.folder

    def address(self, name: str) -> str:
        return f"localhost:{self.ports[name]}"

    def run(self, step: Step) -> list[str]:
        """Run a command; gives its output as the lines of a step."""
        tool, _, rest = self.names.filled(step.command).partition(" ")
        if tool == "file":
            name, _, text = rest.partition(" ")
            (self.folder / name).write_text(text.replace("\\n", "\n") + "\n")
            return []
        if tool in ("start", "stop", "moved", "joined", "observes"):
            getattr(self, f"_{tool}")(*rest.split())
            self.settle()
            return []
        if tool in CALLS:
            printed = CALLS[tool](self.address("broker"), rest)
            self.settle()
            return marked(self._lines("\n".join(printed)), (), 0, is_ordered=step.is_ordered)
        if tool not in CLASSES:
            raise ValueError(f"no such command: {tool}")
        words, _, stdin = rest.partition(" <<< ")
        done = self.host.run(tool, shlex.split(words), stdin)
        self.settle()
        return marked(self._lines(done.stdout), self._lines(done.stderr), done.status, is_ordered=step.is_ordered)

    def _lines(self, text: str) -> list[str]:
        return self.names.plain(text).splitlines()

    def settle(self) -> None:
        """Wait until the brokers know what is committed."""
        self.host.ask("settle", controllers=self.address("controller"))

    def _start(self, id: str) -> None:
        config = self.folder / f"node-{id}.properties"
        if int(id) in BROKERS:
            self.host.ask("start", configs=[str(config)])
            return
        self.start_controller(config)
        self.place.wait_until(f"{id} is registered", lambda: int(id) in registered_controllers(self.ports["controller"]))
        self._observes(id)

    def _stop(self, id: str) -> None:
        self.host.ask("stop", id=int(id))

    def _moved(self) -> None:
        self.host.ask("moved", brokers=self.address("broker"))

    def _joined(self, topic: str) -> None:
        """Wait until all replicas of a topic are in sync."""
        self.host.ask("joined", brokers=self.address("broker"), topic=topic)

    def _observes(self, id: str) -> None:
        self.place.wait_until(f"{id} observes", lambda: self._has_fetched(int(id)))

    def _has_fetched(self, id: int) -> bool:
        described = describe_quorum(self.ports["controller"])
        return described is not None and any(
            state.id == id and state.log_end_offset >= described.high_watermark > 0 for state in (*described.voters, *described.observers)
        )


def describe_quorum(port: int) -> flat.DescribeQuorumResponse | None:
    """The quorum as the controller at this port sees it, None if it does not lead."""
    try:
        with Client([Address("localhost", port)], deadline_ms=5_000, attempts_max=1) as client:
            described = decode_response(DESCRIBE_QUORUM, 2, client.request(encode_request(flat.DescribeQuorumRequest(), 2)))
    except ConnectError:
        return None
    assert isinstance(described, flat.DescribeQuorumResponse)
    return None if described.error or described.top_error else described


def registered_controllers(port: int) -> set[int]:
    """The controllers that the one at this port knows by their registration."""
    with Client([Address("localhost", port)], deadline_ms=5_000) as client:
        answer = client.request(DescribeClusterRequest(endpoint_type=2))
    return {node.broker_id for node in answer.brokers}


@contextlib.contextmanager
def admin_place(folder: Path, host_command: Sequence[str], start_controller: Callable[[Cluster, Path], Node]) -> Iterator[AdminPlace]:
    """A cluster that serves; everything that was started is stopped at the end."""
    names = ("controller", "standby", "broker", "sasl", "other", "other-sasl")
    place = Cluster(lambda *words: list(words), folder)
    try:
        host = AdminHost(host_command, folder)
        place.nodes.append(host.node)
        made = AdminPlace(
            place, host, lambda config: start_controller(place, config), dict(zip(names, free_ports(len(names)), strict=True))
        )
        configure(made)
        made.start_controller(folder / "node-1.properties")
        place.wait_until("1 leads", lambda: made._has_fetched(1))
        host.ask("start", configs=[str(folder / f"node-{id}.properties") for id in BROKERS])
        made.settle()
        yield made
    finally:
        for node in place.nodes:
            node.kill()


def configure(made: AdminPlace) -> None:
    """Write and format what the nodes start from, and name what their texts hold."""
    folder, ports = made.folder, made.ports
    quorum = {"controller.quorum.bootstrap.servers": made.address("controller")}
    for id, name in zip(CONTROLLERS, ("controller", "standby"), strict=True):
        settings = controller_settings(id, ports[name], folder / f"d{id}", {**quorum, **_SHARED, "broker.session.timeout.ms": 5_000})
        format_node(write_config(folder / f"node-{id}.properties", settings), "--standalone" if id == 1 else "--no-initial-controllers")
    for id, (plain, secure) in zip(BROKERS, (("broker", "sasl"), ("other", "other-sasl")), strict=True):
        settings = broker_settings(id, ports[plain], ports[secure], f"{folder}/d{id},{folder}/e{id}", quorum)
        format_node(write_config(folder / f"node-{id}.properties", settings))
    for name, port in ports.items():
        made.names.add(f"localhost:{port}", name)
        made.names.add(str(port), f"{name}-port")
    made.names.add(f"{made.address('broker')},{made.address('other')}", "brokers")
    made.names.add(CLUSTER_ID, "cluster")
    made.names.add(str(folder), "folder")
    for id in (*CONTROLLERS, *BROKERS):
        for kind in "d" if id in CONTROLLERS else "de":
            directory_id = read_meta_properties(str(folder / f"{kind}{id}" / META_PROPERTIES)).directory_id
            assert directory_id is not None
            made.names.add(uuid_text(directory_id), f"dir-{id}" if kind == "d" else f"dir-{id}-second")
    for user, password in USERS.items():
        write_config(folder / f"{user}.properties", sasl_settings("PLAIN", f'{_PLAIN} username="{user}" password="{password}";'))


def sasl_settings(mechanism: str, jaas: str) -> dict[str, object]:
    """What a client needs to log in."""
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}


def broker_settings(id: int, plain: int, secure: int, log_dirs: str, quorum: dict[str, object]) -> dict[str, object]:
    """A small broker with one listener for everyone and one for those who log in."""
    users = " ".join(f'user_{user}="{password}"' for user, password in USERS.items())
    listeners = f"PLAINTEXT://localhost:{plain},SASL://localhost:{secure}"
    return {
        **quorum,
        **_SHARED,
        "process.roles": "broker",
        "node.id": id,
        "broker.rack": f"rack-{id}",
        "controller.listener.names": "CONTROLLER",
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.sasl.plain.sasl.jaas.config": f"{_PLAIN} {users};",
        "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{_SCRAM};",
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{_SCRAM};",
        "log.dirs": log_dirs,
        "offsets.topic.replication.factor": 1,
        "group.initial.rebalance.delay.ms": 0,
        "log.cleaner.dedupe.buffer.size": 4_000_000,
        "broker.heartbeat.interval.ms": 500,
        "num.network.threads": 1,
        "num.io.threads": 2,
    }


def format_node(config: Path, *words: str) -> None:
    """Format a node's directories."""
    outcome = run_main(kafka_storage, ["format", "-t", CLUSTER_ID, "-c", str(config), "-r", RELEASE, *words], cwd=config.parent)
    assert outcome.status == 0, outcome
