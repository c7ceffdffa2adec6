"""Real brokers on a quorum of three controllers, which are ours or Kafka's: formats, starts, stops and kills them, and sees their state.

What is seen is the committed image, which an observer of the quorum follows; what happened when is in the log (`brokers_history`).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from metashell.common.values import uuid_text
from metashell.metadata.image import MetadataImage
from metashell.net.addresses import Address
from metashell.quorum.observer.attach import LiveSource, attach
from metashell.quorum.observer.controllers import AttachError, Target
from tests.java import KAFKA, PROGRAMS, kafka, kafka_command, logging_command, program_command
from tests.running import command_line
from tools.interop.mixed_quorum import ends_at, split_batches
from tools.interop.nodes import (
    Cluster,
    Node,
    NodeFailedError,
    broker_settings,
    cluster,
    controller_settings,
    format_directories,
    free_ports,
    write_config,
)

REPOSITORY: Final = Path(__file__).parents[2]
TOGETHER: Final = PROGRAMS / "BrokersTogether.java"
OURS: Final = "ours"
CONTROLLERS: Final = (1, 2, 3)
LIMIT_S: Final = 120.0
SESSION_MS: Final = 9_000
"""Kafka's default."""
LEVEL: Final = os.environ.get("KAFKA_LOG", "WARN")
"""What the log files of Kafka's nodes hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A cluster that is to be made. `controllers` and `brokers` have a version of Kafka, or `OURS`, by id.

    `together` names nodes of Kafka's of one version that share a process: they can be killed only together.
    """

    controllers: Mapping[int, str]
    brokers: Mapping[int, str]
    release: str
    features: Sequence[str] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    directories: Mapping[int, int] = field(default_factory=dict)
    """How many log directories a broker has where it is not one."""
    is_dynamic: bool = True
    """Whether voters are in the log (KIP-853), else in every node's settings."""
    together: Sequence[Sequence[int]] = ()

    @property
    def session_ms(self) -> int:
        return int(str(self.settings.get("broker.session.timeout.ms", SESSION_MS)))

    def company(self, id: int) -> Sequence[int]:
        """The nodes that share a process with one, itself among them."""
        return next((ids for ids in self.together if id in ids), (id,))


def controllers_of(text: str) -> dict[int, str]:
    """The controllers of `VERSION`, for all of them, or of `VERSION,VERSION,VERSION`."""
    versions = text.split(",")
    return dict(zip(CONTROLLERS, versions * (len(CONTROLLERS) if len(versions) == 1 else 1), strict=True))


@dataclass(slots=True)
class BrokerCluster:
    """Nodes by id, each with a file node-ID.properties in the folder and the directories dID-0, dID-1, .."""

    plan: Plan
    place: Cluster
    ports: dict[int, int]
    versions: dict[int, str]
    """What each node is when it is started next."""
    nodes: dict[int, Node] = field(default_factory=dict)
    source: LiveSource | None = None

    # ---- processes

    def config(self, id: int) -> Path:
        return self.place.folder / f"node-{id}.properties"

    def directory(self, id: int, number: int = 0) -> Path:
        return self.place.folder / f"d{id}-{number}"

    def format(self) -> None:
        """Write the settings of all nodes and format their directories."""
        ids = (*CONTROLLERS, *self.plan.brokers)
        keys = ",".join(f"{id}@localhost:{self.ports[id]}:{uuid_text(uuid4().bytes)}" for id in CONTROLLERS)
        for id in ids:
            config = write_config(self.config(id), self._settings(id), self.plan.settings)
            words = ["-r", self.plan.release, *(word for feature in self.plan.features for word in ("--feature", feature))]
            if self.plan.is_dynamic:
                words += ["--initial-controllers", keys] if id in CONTROLLERS else ["--no-initial-controllers"]
            format_directories(config, *words)

    def _settings(self, id: int) -> dict[str, object]:
        servers = ",".join(f"localhost:{self.ports[id]}" for id in CONTROLLERS)
        voters = ",".join(f"{id}@localhost:{self.ports[id]}" for id in CONTROLLERS)
        quorum = {"controller.quorum.bootstrap.servers": servers} if self.plan.is_dynamic else {"controller.quorum.voters": voters}
        directories = ",".join(str(self.directory(id, number)) for number in range(self.plan.directories.get(id, 1)))
        if id in CONTROLLERS:
            return controller_settings(id, self.ports[id], self.directory(id), quorum)
        return broker_settings(id, self.ports[id], directories, quorum)

    def start(self, *ids: int) -> None:
        """Start nodes, and those that share a process with them; they are not waited for."""
        for id in ids:
            company = self.plan.company(id)
            if id in self.nodes:
                continue
            log = self.place.folder / f"node-{id}.log"
            configs = [str(self.config(one)) for one in company]
            with open(log, "ab") as output:
                process = subprocess.Popen(
                    self._command(self.versions[id], configs), stdout=output, stderr=subprocess.STDOUT, cwd=REPOSITORY
                )
            node = Node(log.stem, process, log)
            self.place.nodes.append(node)
            self.nodes.update(dict.fromkeys(company, node))

    def _command(self, version: str, configs: Sequence[str]) -> list[str]:
        if version == OURS:
            return command_line("metashell.cli.main", "server", *configs)
        words = kafka_command(version, "server", *configs) if len(configs) == 1 else program_command(TOGETHER, *configs, version=version)
        return logging_command(words, self.place.folder, LEVEL)

    def signal(self, id: int, number: signal.Signals) -> Node:
        """Send a signal that ends a node, and count it as gone."""
        node = self.nodes[id]
        for one in self.plan.company(id):
            del self.nodes[one]
        self.place.nodes.remove(node)
        node.process.send_signal(number)
        return node

    def kill(self, id: int) -> float:
        """kill -9; gives the time of it, in seconds since 1970."""
        now = time.time()
        self.signal(id, signal.SIGKILL).wait(LIMIT_S)
        return now

    def stop(self, id: int, limit_s: float = LIMIT_S) -> int:
        """SIGTERM, and the status with which the node ended, 143 for a JVM."""
        return self.signal(id, signal.SIGTERM).wait(limit_s)

    def is_together(self, *ids: int) -> bool:
        """Whether one of the nodes shares a process with another node."""
        return any(len(self.plan.company(id)) > 1 for id in ids)

    # ---- state

    def addresses(self, *ids: int) -> str:
        return ",".join(f"localhost:{self.ports[id]}" for id in ids)

    @property
    def bootstrap(self) -> str:
        """Where clients begin: all brokers, running or not."""
        return self.addresses(*self.plan.brokers)

    @property
    def image(self) -> MetadataImage:
        """What is committed. Errors: AttachError."""
        return self._followed().view().image

    @property
    def leader_id(self) -> int:
        """The active controller as far as it is known, -1 if it is not."""
        return self._followed().view().leader_id

    @property
    def epoch(self) -> int:
        return self._followed().view().epoch

    def _followed(self) -> LiveSource:
        if self.source is None:
            self.source = attach(Target(controllers=tuple(Address("localhost", self.ports[id]) for id in CONTROLLERS)))
        return self.source

    def wait_until(self, what: str, holds: Callable[[MetadataImage], bool], limit_s: float = LIMIT_S) -> float:
        """Return once `holds` does, with how long it took. Errors: NodeFailedError when a node ends before, or when it takes too long."""
        began = time.monotonic()

        def look() -> bool:
            try:
                return holds(self.image)
            except AttachError:
                return False

        self.place.wait_until(what, look, limit_s)
        return time.monotonic() - began

    def wait_for_leader(self, *, other_than: int = -1, after_epoch: int = -1) -> int:
        """The active controller once there is one that runs."""
        self.wait_until(
            "an active controller",
            lambda image: self.leader_id in self.nodes and self.leader_id != other_than and self.epoch > after_epoch,
        )
        return self.leader_id

    def quorum_state(self, id: int) -> dict[str, Any]:
        """The quorum-state file of a controller, empty while it is not there."""
        try:
            found: dict[str, Any] = json.loads((self.directory(id) / "__cluster_metadata-0" / "quorum-state").read_text())
        except (OSError, ValueError):
            return {}
        return found

    def quorum_start(self, id: int) -> int:
        """The offset at which a node's metadata log begins."""
        return min((int(path.stem) for path in self.segments(id)), default=0)

    def quorum_end(self, id: int) -> int:
        """The offset at which it ends on disk."""
        return max(ends_at(split_batches(path.read_bytes())) for path in self.segments(id))

    def segments(self, id: int, topic: str = "__cluster_metadata", partition: int = 0) -> list[Path]:
        """The log files of a partition in the first directory of a node."""
        return sorted((self.directory(id) / f"{topic}-{partition}").glob("*.log"))

    def wait_until_joined(self, id: int) -> float:
        """Until a controller follows the active one, or is it."""
        return self.wait_until(
            f"controller {id} follows",
            lambda _: (self.quorum_state(id).get("leaderId"), self.quorum_state(id).get("leaderEpoch")) == (self.leader_id, self.epoch),
        )

    def wait_until_unfenced(self, *ids: int) -> float:
        return self.wait_until(f"brokers {ids} are unfenced", lambda image: set(ids) <= unfenced(image))

    def wait_until_whole(self) -> float:
        """Until every replica on a broker that runs is in sync, and every partition has a leader."""

        def is_whole(image: MetadataImage) -> bool:
            for _, _, partition in image.topics.iter_partitions():
                if partition.leader < 0 or {id for id in partition.replicas if id in self.nodes} - set(partition.isr):
                    return False
            return True

        return self.wait_until("all replicas are in sync", is_whole)

    def tool(self, name: str, *words: str, version: str = KAFKA) -> str:
        """What one of Kafka's tools prints, which must succeed."""
        done = kafka(version, name, *words)
        if done.returncode:
            raise NodeFailedError(f"{name} {words}: {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
        return done.stdout.decode()

    def log_lines(self, *words: str) -> list[str]:
        """Lines of the logs of all nodes that hold one of `words`, after the name of the log."""
        found = []
        for path in sorted(self.place.folder.glob("node-*.log")):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            found += [f"{path.stem}: {line}" for line in lines if any(word in line for word in words)]
        return found


def unfenced(image: MetadataImage) -> set[int]:
    """The brokers that are registered and not fenced."""
    return {id for id, broker in image.cluster.brokers.items() if not broker.fenced}


@contextmanager
def broker_cluster(plan: Plan, folder: Path) -> Iterator[BrokerCluster]:
    """A formatted cluster of which nothing runs yet; whatever was started has ended when the block does."""
    ids = (*CONTROLLERS, *plan.brokers)
    with cluster(lambda *words: list(words), folder) as place:
        made = BrokerCluster(plan, place, dict(zip(ids, free_ports(len(ids)), strict=True)), {**plan.controllers, **plan.brokers})
        made.format()
        try:
            yield made
        finally:
            if made.source is not None:
                made.source.close()
