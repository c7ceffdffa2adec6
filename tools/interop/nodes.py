"""Kafka servers as child processes: one call starts a node on a directory, another waits until its quorum has a leader.

The caller gives the command that runs a tool of a Kafka version (tests/java.py makes it), so that nothing here knows where jars are.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from typing import Final

from metashell.cli.controllers.storage import main as storage
from tests.running import run_main

CommandOf = Callable[..., list[str]]
"""`(tool, *arguments) -> command line`."""

POLL_S = 0.2
START_LIMIT_S = 120.0
BUSY = 8
"""How many others may want a processor before a wait is too long."""
PORTS = (10_000, 32_000)
CLUSTER_ID: Final = "4L6g3nShT-eMCtK--X86sw"
SMALL: Final = {
    "log.cleaner.dedupe.buffer.size": 4 << 20,
    "num.network.threads": 1,
    "num.io.threads": 2,
    "num.recovery.threads.per.data.dir": 1,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.num.partitions": 1,
    "share.coordinator.state.topic.num.partitions": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "group.initial.rebalance.delay.ms": 0,
}
"""What keeps a broker small, and a test short."""


class NodeFailedError(Exception):
    """A node that ended, or a state that nodes did not reach in time; the message holds the end of their logs."""


@dataclass(slots=True)
class Node:
    """A running server: its process and the file that its output goes to."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def text(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def kill(self) -> None:
        """End the process at once: a controller that is asked to stop waits five seconds for the others."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.wait(START_LIMIT_S)

    def wait(self, limit_s: float) -> int:
        """The status with which it ended; what was read and written through pipes is closed."""
        status = self.process.wait(limit_s)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        return status


@dataclass(slots=True)
class Cluster:
    """Nodes that end together, whatever happens."""

    command_of: CommandOf
    folder: Path
    nodes: list[Node] = field(default_factory=list)

    def start(self, config: Path) -> Node:
        """Start a server with a properties file."""
        log = self.folder / f"{config.stem}.log"
        with open(log, "ab") as output:
            process = subprocess.Popen(self.command_of("server", str(config)), stdout=output, stderr=subprocess.STDOUT, cwd=self.folder)
        node = Node(config.stem, process, log)
        self.nodes.append(node)
        return node

    def wait_until(self, what: str, holds: Callable[[], bool], limit_s: float = START_LIMIT_S) -> None:
        """Return once `holds` does. Errors: NodeFailedError when a node ends before, or when it takes too long.

        A node that gets no turn on a busy machine has not had its time: while that is known, the limit is one of the processor, too.
        """
        began, used = time.monotonic(), self._cpu_s()
        while not holds():
            ended = next((node for node in self.nodes if node.process.poll() is not None), None)
            if ended is not None:
                raise NodeFailedError(f"{ended.name} ended with {ended.process.returncode}:\n{ended.text()[-3000:]}")
            waited = time.monotonic() - began
            if waited > limit_s and (waited > BUSY * limit_s or self._cpu_s() - used > limit_s / BUSY):
                logs = "\n".join(node.text()[-1500:] for node in self.nodes)
                raise NodeFailedError(f"not within {limit_s:.0f} s: {what}\n{logs}")
            time.sleep(POLL_S)

    def _cpu_s(self) -> float:
        """The processor time of the running nodes; the time that passes where it is not known."""
        found = 0.0
        for node in self.nodes:
            try:
                fields = Path(f"/proc/{node.process.pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                return time.monotonic()
            found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return found or time.monotonic()


@contextlib.contextmanager
def cluster(command_of: CommandOf, folder: Path) -> Iterator[Cluster]:
    """A place to start nodes in; all of them are stopped when the block ends."""
    made = Cluster(command_of, folder)
    try:
        yield made
    finally:
        for node in made.nodes:
            node.kill()


def server_command(*words: str) -> list[str]:
    """What starts a controller of ours, in this checkout."""
    return [sys.executable, "-c", "import sys; from metashell.cli.controllers.server import main; sys.exit(main())", *words]


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens on now.

    They are below those that the system gives to whoever connects somewhere: a node that is down for a moment gets its own again.
    """
    chance, found = SystemRandom(), set[int]()
    while len(found) < count:
        port = chance.randrange(*PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.add(port)
    return sorted(found)


def write_config(path: Path, settings: Mapping[str, object], *more: Mapping[str, object]) -> Path:
    """Write a properties file of the settings, later ones over earlier."""
    merged = {key: value for part in (settings, *more) for key, value in part.items()}
    path.write_text("".join(f"{key}={value}\n" for key, value in merged.items()), encoding="utf-8")
    return path


def format_directories(config: Path, *words: str, cluster_id: str = CLUSTER_ID) -> None:
    """Format the directories that a properties file names, in the layout of the release that the words ask for.

    In the layout of 4.4 a node of 3.9 leaves the level out of its log, and no node since 4.0 can lead that.
    """
    outcome = run_main(storage, ["format", "-t", cluster_id, "-c", str(config), *words], cwd=config.parent)
    assert outcome.status == 0, outcome


def controller_settings(node_id: int, port: int, log_dir: Path, quorum: Mapping[str, object]) -> dict[str, object]:
    """The settings of a small controller."""
    return {
        "process.roles": "controller",
        "node.id": node_id,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"CONTROLLER://localhost:{port}",
        "log.dirs": log_dir,
        **quorum,
    }


def broker_settings(node_id: int, port: int, log_dirs: Path | str, quorum: Mapping[str, object]) -> dict[str, object]:
    """The settings of a small broker with a listener for everyone."""
    return {
        "process.roles": "broker",
        "node.id": node_id,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://localhost:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": log_dirs,
        **quorum,
        **SMALL,
    }


def combined_settings(node_id: int, ports: Sequence[int], log_dir: Path, quorum: Mapping[str, object]) -> dict[str, object]:
    """The settings of a small node that is broker and controller, with a second listener for clients over SASL."""
    plain, secure, controller = ports
    return {
        **controller_settings(node_id, controller, log_dir, quorum),
        "process.roles": "broker,controller",
        "listeners": f"PLAINTEXT://localhost:{plain},SASL://localhost:{secure},CONTROLLER://localhost:{controller}",
        "advertised.listeners": f"PLAINTEXT://localhost:{plain},SASL://localhost:{secure}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.sasl.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
        "offsets.topic.replication.factor": 1,
        "num.network.threads": 1,
        "num.io.threads": 1,
    }
