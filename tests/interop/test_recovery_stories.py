"""Stories of docs/recovery.md on real nodes with data in them: quorums that are lost, restored by ours, and run by Kafka.

All nodes of a story share a process of Java. Killing it kills them all at once, as a power failure does.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from metashell.cli.controllers.quorum import main as quorum
from metashell.common.values import uuid_text
from metashell.disk.names import META_PROPERTIES, METADATA_DIRECTORY
from metashell.disk.properties import read_meta_properties
from metashell.disk.source import open_source
from metashell.metadata.image import MetadataImage, load_image
from tests.java import BEFORE, KAFKA, host_command, kafka
from tests.running import Outcome, run_main, wait_until
from tools.interop.host import CLASSES, Host
from tools.interop.nodes import (
    CLUSTER_ID,
    broker_settings,
    controller_settings,
    format_directories,
    free_ports,
    write_config,
)

pytestmark = pytest.mark.slow

CONTROLLERS: Final = (1, 2, 3)
BROKER: Final = 101
MESSAGES: Final = 50
_T: Final = "org.apache.kafka.tools"
_OFTEN: Final = {"metadata.log.max.record.bytes.between.snapshots": 500}
"""With it each node has a snapshot of its own after a few changes."""


class Lab:
    """Three controllers and a broker in a folder, which run in one process of Java."""

    def __init__(self, folder: Path, version: str) -> None:
        self.folder = folder
        self.version = version
        *controllers, broker = free_ports(len(CONTROLLERS) + 1)
        self.ports = dict(zip(CONTROLLERS, controllers, strict=True)) | {BROKER: broker}
        self.host: Host | None = None

    # ---- files

    def directory(self, id: int) -> Path:
        return self.folder / f"node-{id}"

    def address(self, id: int) -> str:
        return f"localhost:{self.ports[id]}"

    def config(self, id: int) -> Path:
        servers = ",".join(map(self.address, CONTROLLERS))
        where: dict[str, object] = {"controller.quorum.bootstrap.servers": servers}
        make = broker_settings if id == BROKER else controller_settings
        settings = make(id, self.ports[id], self.directory(id), where)
        return write_config(self.folder / f"node-{id}.properties", settings, _OFTEN)

    def format(self) -> None:
        """Format all nodes as a new cluster."""
        ids = {id: uuid_text(bytes([id]) * 16) for id in CONTROLLERS}
        voters = ",".join(f"{id}@localhost:{self.ports[id]}:{ids[id]}" for id in CONTROLLERS)
        for id in CONTROLLERS:
            format_directories(self.config(id), "--initial-controllers", voters, *self._release())
        format_directories(self.config(BROKER), "--no-initial-controllers", *self._release())

    def format_empty(self, id: int) -> None:
        """Format the new disk of a controller that joins."""
        format_directories(self.config(id), "--no-initial-controllers", *self._release())

    def _release(self) -> tuple[str, ...]:
        return ("-r", ".".join(self.version.split(".")[:2]))

    def lose(self, id: int) -> None:
        shutil.rmtree(self.directory(id))

    def image(self, id: int) -> MetadataImage:
        with open_source(str(self.directory(id))) as source:
            return load_image(source)

    # ---- nodes

    def start(self, *ids: int) -> None:
        """Start Kafka's nodes, and return once they serve."""
        if self.host is None:
            self.host = Host(host_command(self.version), self.folder)
        self.host.ask("start", configs=[str(self.config(id)) for id in ids])

    def kill(self) -> None:
        """End all nodes at once."""
        if self.host is not None:
            self.host.node.kill()
            self.host = None

    # ---- clients

    def tool(self, name: str, *words: str, stdin: str = "") -> str:
        """What a tool of the newest release prints."""
        done = kafka(KAFKA, CLASSES.get(name, name), "--bootstrap-server", f"localhost:{self.ports[BROKER]}", *words, stdin=stdin.encode())
        assert done.returncode == 0 and b"ERROR" not in done.stderr, done
        return done.stdout.decode()

    def create(self, topic: str) -> None:
        self.tool("kafka-topics", "--create", "--topic", topic, "--partitions", "1", "--replication-factor", "1")

    def produce(self, topic: str, tag: str, count: int = MESSAGES) -> None:
        """Have messages acknowledged."""
        lines = "".join(f"{tag}-{number}\n" for number in range(count))
        self.tool(f"{_T}.ConsoleProducer", "--topic", topic, "--command-property", "acks=all", stdin=lines)

    def consume(self, topic: str, count: int) -> list[str]:
        """The messages of a topic, of which there have to be `count`."""
        words = ("--partition", "0", "--offset", "earliest", "--max-messages", str(count), "--timeout-ms", "30000")
        return self.tool(f"{_T}.consumer.ConsoleConsumer", "--topic", topic, *words).split()

    def topic_ids(self) -> dict[str, str]:
        rows = [line.split() for line in self.tool("kafka-topics", "--describe").splitlines() if line.startswith("Topic:")]
        return {row[1]: row[3] for row in rows if not row[1].startswith("__")}


@pytest.fixture
def lab_of(tmp_path: Path) -> Iterator[Callable[[str], Lab]]:
    """Makes a lab of a version, with a topic `orders` that has messages."""
    labs = []

    def make(version: str) -> Lab:
        lab = Lab(tmp_path, version)
        labs.append(lab)
        lab.format()
        lab.start(*CONTROLLERS, BROKER)
        lab.create("orders")
        lab.produce("orders", "early")
        return lab

    yield make
    for lab in labs:
        lab.kill()


def restore(lab: Lab, sources: Sequence[Path], *words: str, out: str = "node-1") -> Outcome:
    """Restore controller 1 from sources."""
    where = ("--out", out, "--node-id", "1", "--listener", lab.address(1))
    return run_main(quorum, ["restore", *map(str, sources), *where, *words], cwd=lab.folder)


def test_a_brokers_copy_becomes_a_quorum_at_a_new_address_with_all_data(lab_of: Callable[[str], Lab]) -> None:
    lab = lab_of(KAFKA)
    ids = lab.topic_ids()
    lab.kill()
    for id in CONTROLLERS:
        lab.lose(id)
    lab.ports = dict(zip(CONTROLLERS, free_ports(len(CONTROLLERS)), strict=True)) | {BROKER: lab.ports[BROKER]}

    outcome = restore(lab, [lab.directory(BROKER)])
    assert outcome.status == 0, outcome
    lab.start(1)
    lab.start(BROKER)
    assert lab.topic_ids() == ids
    lab.produce("orders", "after")
    assert len(set(lab.consume("orders", 2 * MESSAGES))) == 2 * MESSAGES

    lab.format_empty(2)
    lab.start(2)

    def joins() -> bool:
        words = ["add-controller", "--server-config", str(lab.config(2)), "-C", lab.address(1)]
        return run_main(quorum, words, cwd=lab.folder).status == 0

    wait_until(joins)
    voters = lab.image(1).voters
    assert voters is not None and [voter.id for voter in voters.voters] == [1, 2]


def test_brokers_with_newer_metadata_set_aside_what_a_restored_quorum_does_not_know(lab_of: Callable[[str], Lab]) -> None:
    lab = lab_of(BEFORE)
    lab.kill()
    old = lab.folder / "backup"
    shutil.copytree(lab.directory(1), old)
    lab.start(*CONTROLLERS, BROKER)
    lab.create("late")
    lab.produce("late", "late")
    early = restore(lab, [old], out="new")
    assert early.status == 1 and f"broker {BROKER} runs" in early.stderr and "which is a majority" in early.stderr, early
    lab.kill()
    newest = max(lab.directory(BROKER).joinpath(METADATA_DIRECTORY).glob("*.checkpoint")).name
    with open_source(str(old)) as source:
        assert int(newest.partition("-")[0]) > load_image(source).provenance.end_offset, "what no leader of fewer offsets could cut off"
    known = lab.image(BROKER)
    for id in CONTROLLERS:
        lab.lose(id)

    told = restore(lab, [old], "--dry-run")
    assert told.status == 0, told
    # With the broker's copy as a source nothing would be lost: it is the better one.
    better = restore(lab, [old, lab.directory(BROKER)], "--dry-run")
    best = next(line for line in better.stdout.decode().splitlines() if line.startswith("best source "))
    assert str(lab.directory(BROKER)) in best, better

    assert restore(lab, [old]).status == 0
    lab.start(1)
    lab.start(BROKER)
    assert list(lab.topic_ids()) == ["orders"]
    assert lab.consume("orders", MESSAGES) == [f"early-{number}" for number in range(MESSAGES)]
    names = [path.name for path in lab.directory(BROKER).iterdir()]
    assert [name for name in names if name.startswith("late-0.") and name.endswith("-stray")], names
    lab.produce("orders", "after")
    restored = lab.image(BROKER)
    lab.kill()

    assert lab.directory(1).joinpath(META_PROPERTIES).exists()
    assert read_meta_properties(str(lab.directory(1) / META_PROPERTIES)).cluster_id == CLUSTER_ID
    # No number that was given out is given out again, though the source did not know it.
    partition, before = (one.topics.by_name["orders"].partitions[0] for one in (restored, known))
    assert partition.leader_epoch > before.leader_epoch
    assert restored.producer_ids.next_producer_id > known.producer_ids.next_producer_id
    assert restored.cluster.brokers[BROKER].epoch > known.cluster.brokers[BROKER].epoch
