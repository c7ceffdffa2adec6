"""A cluster that a transcript runs on: a layout says which nodes there are, `AdminPlace` starts them and runs commands."""

from __future__ import annotations

import contextlib
import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from metashell.codec.codes import DESCRIBE_QUORUM
from metashell.codec.messages import DescribeClusterRequest
from metashell.common.values import uuid_text
from metashell.disk.names import META_PROPERTIES
from metashell.disk.properties import read_meta_properties
from metashell.net.addresses import Address, ConnectError
from metashell.net.client import Client
from metashell.quorum.raft import messages as flat
from metashell.quorum.raft.wire import decode_response, encode_request
from tools.interop.admin.clients import CALLS
from tools.interop.admin.names import Names
from tools.interop.admin.transcript import Step, marked
from tools.interop.host import CLASSES, Host
from tools.interop.nodes import CLUSTER_ID, Cluster, Node, free_ports

_ACTIONS: Final = ("start", "stop", "moved", "joined", "observes", "registered")

StartController = Callable[[Path], Node]
"""Starts a controller with a properties file."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A cluster before it is started.

    Shape: `ports` are names of ports; `configure` writes and formats what nodes start from, as node-ID.properties; controller 1 is
    started first, then `brokers`. Questions about progress go to the port `asks_at`, with the settings of the file `asks_as`, if any.
    """

    ports: Sequence[str]
    brokers: Sequence[int]
    configure: Callable[[AdminPlace], None]
    asks_at: str = "controller"
    asks_as: str = ""


@dataclass(slots=True)
class AdminPlace:
    """A running cluster, and what its texts are called."""

    place: Cluster
    host: Host
    layout: Layout
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
        if tool in _ACTIONS:
            getattr(self, f"_{tool}")(*rest.split())
            self.settle()
            return []
        if tool in CALLS:
            with warnings.catch_warnings():
                # Old calls are asked too, and kafka-python reads its own files in an old way.
                warnings.simplefilter("ignore", DeprecationWarning)
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
        self.host.ask("settle", controllers=self.address(self.layout.asks_at), config=self.layout.asks_as)

    def _start(self, id: str) -> None:
        config = self.folder / f"node-{id}.properties"
        if int(id) in self.layout.brokers:
            self.host.ask("start", configs=[str(config)])
            return
        self.start_controller(config)
        self._registered(id)
        self._observes(id)

    def _stop(self, id: str) -> None:
        self.host.ask("stop", id=int(id))

    def _moved(self) -> None:
        self.host.ask("moved", brokers=self.address("broker"))

    def _joined(self, topic: str) -> None:
        """Wait until all replicas of a topic are in sync."""
        self.host.ask("joined", brokers=self.address("broker"), topic=topic)

    def _registered(self, id: str) -> None:
        self.place.wait_until(f"{id} is registered", lambda: int(id) in registered_controllers(self.ports["controller"]))

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
def admin_place(
    layout: Layout, folder: Path, host_command: Sequence[str], start_controller: Callable[[Cluster, Path], Node]
) -> Iterator[AdminPlace]:
    """A cluster that serves; everything that was started is stopped at the end."""
    place = Cluster(lambda *words: list(words), folder)
    try:
        host = Host(host_command, folder)
        place.nodes.append(host.node)
        ports = dict(zip(layout.ports, free_ports(len(layout.ports)), strict=True))
        made = AdminPlace(place, host, layout, lambda config: start_controller(place, config), ports)
        layout.configure(made)
        name_texts(made)
        made.start_controller(folder / "node-1.properties")
        host.ask("start", configs=[str(folder / f"node-{id}.properties") for id in layout.brokers])
        made.settle()
        yield made
    finally:
        for node in place.nodes:
            node.kill()


def name_texts(made: AdminPlace) -> None:
    """Name what every cluster has: ports, directories and the cluster."""
    folder = made.folder
    for name, port in made.ports.items():
        made.names.add(f"localhost:{port}", name)
        made.names.add(str(port), f"{name}-port")
    made.names.add(CLUSTER_ID, "cluster")
    made.names.add(str(folder), "folder")
    for path in sorted(folder.glob(f"*/{META_PROPERTIES}")):
        directory_id = read_meta_properties(str(path)).directory_id
        assert directory_id is not None, "formatted"
        kind, id = path.parent.name[0], path.parent.name[1:]
        made.names.add(uuid_text(directory_id), f"dir-{id}" if kind == "d" else f"dir-{id}-second")
