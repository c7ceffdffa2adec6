"""A restored quorum, judged by real Kafka: controllers lead on it and join it, brokers keep their data, old voters cannot come between."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from metashell.cli.controllers.quorum import main as quorum
from metashell.disk.directory import MetadataDirectory
from tests.golden_cases import SUBSET_ROOT, VERSIONS
from tests.java import BEFORE, KAFKA, TRIED, host_command, kafka, lone_controllers
from tests.running import run_main
from tools.interop.brokers_traffic import Writer, check_written, read_topic
from tools.interop.host import Host
from tools.interop.nodes import Cluster, broker_settings, cluster, controller_settings, format_directories, free_ports, write_config

pytestmark = pytest.mark.slow

METADATA: Final = "__cluster_metadata-0"
BROKER: Final = 11
TOPIC, PARTITIONS = "orders", 3
DIRECTORY_IDS: Final = {1: "iSWq0OPXTqOZ8aVrKmWO1A", 2: "mL1w5SXrSHKHKX4dPKoQTw", 3: "MvDxzVmcRsaTz33bUuRU6A"}
SERVERS: Final = "controller.quorum.bootstrap.servers"
OFTEN: Final = {"metadata.log.max.record.bytes.between.snapshots": 500}


@dataclass(slots=True)
class Place:
    """A cluster of one release below a folder: its ports by node, and the process that runs its nodes."""

    nodes: Cluster
    version: str
    ports: dict[int, int]
    hosts: list[Host] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.nodes.folder

    @property
    def broker(self) -> str:
        return f"localhost:{self.ports[BROKER]}"

    def address(self, id: int) -> str:
        return f"localhost:{self.ports[id]}"

    def directory(self, id: int) -> Path:
        return self.folder / f"node-{id}"

    def configure(self, id: int, quorum: Mapping[str, object], *more: Mapping[str, object], directory: Path | None = None) -> Path:
        """Write the properties of a node."""
        make = broker_settings if id == BROKER else controller_settings
        settings = make(id, self.ports[id], directory or self.directory(id), quorum)
        return write_config(self.folder / f"{id}.properties", settings, *more)

    def host(self) -> Host:
        """A new process for nodes."""
        made = Host(host_command(self.version), self.folder)
        self.hosts.append(made)
        self.nodes.nodes.append(made.node)
        return made

    def kill(self) -> None:
        """End all nodes as a power failure does."""
        for host in self.hosts:
            host.node.kill()
            self.nodes.nodes.remove(host.node)
        self.hosts.clear()

    def release(self) -> tuple[str, ...]:
        return ("-r", ".".join(self.version.split(".")[:2]))


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    version: str = getattr(request, "param", KAFKA)
    ids = (*DIRECTORY_IDS, 7, 8, BROKER)
    with cluster(lambda *words: list(words), tmp_path) as nodes:
        yield Place(nodes, version, dict(zip(ids, free_ports(len(ids)), strict=True)))


def restored(place: Place, sources: list[Path], out: Path, id: int, *words: str) -> dict[str, Any]:
    """The answer of the command, which must write."""
    argv = ["restore", *map(str, sources), "--out", str(out), "--node-id", str(id), "--listener", place.address(id), "-r", place.version]
    outcome = run_main(quorum, [*argv, "-o", "json", *words], cwd=place.folder)
    assert outcome.status == 0, outcome
    answer = json.loads(outcome.stdout)
    assert isinstance(answer, dict)
    return answer


def described(place: Place, id: int) -> dict[str, Any]:
    outcome = run_main(quorum, ["describe", "-C", place.address(id), "-o", "json"], cwd=place.folder)
    answer = json.loads(outcome.stdout or b"{}")
    assert isinstance(answer, dict)
    return answer


def make_cluster(place: Place) -> Writer:
    """One controller and one broker with a topic and messages, killed in the end; gives what was acknowledged."""
    first = {SERVERS: place.address(1)}
    controller = place.configure(1, first, OFTEN)
    broker = place.configure(BROKER, first)
    format_directories(controller, "--standalone", *place.release())
    format_directories(broker, "--no-initial-controllers", *place.release())
    host = place.host()
    host.ask("start", configs=[str(controller), str(broker)])
    create_topic(host, place, TOPIC, "--partitions", str(PARTITIONS), "--config", "retention.ms=77777777")
    writer = Writer("writer", place.broker, TOPIC, PARTITIONS, per_second=300).start()
    place.nodes.wait_until("messages are acknowledged", lambda: writer.count > 100)
    writer.end()
    place.nodes.wait_until("there is a checkpoint", lambda: newest_checkpoint(place.directory(1)) is not None)
    place.kill()
    return writer


def create_topic(host: Host, place: Place, name: str, *words: str) -> None:
    done = host.run("kafka-topics", ["--bootstrap-server", place.broker, "--create", "--topic", name, *words])
    assert done.status == 0, done


def newest_checkpoint(directory: Path) -> Path | None:
    with MetadataDirectory(str(directory / METADATA)) as found:
        newest = next((entry for entry in found.list().checkpoints if entry.snapshot_id.offset), None)
    return None if newest is None else directory / METADATA / newest.name


def topic_line(host: Host, place: Place) -> str:
    return host.run("kafka-topics", ["--bootstrap-server", place.broker, "--describe", "--topic", TOPIC]).stdout.partition("\n")[0]


@pytest.mark.parametrize("place", [KAFKA, BEFORE] if os.environ.get("METASHELL_SOAK") else [KAFKA], indirect=True)
def test_real_controllers_lead_on_what_is_restored_and_a_broker_keeps_its_data(place: Place) -> None:
    writer = make_cluster(place)
    checkpoint = newest_checkpoint(place.directory(1))
    assert checkpoint is not None
    sources = {"controller": place.directory(1), "broker": place.directory(BROKER), "checkpoint": checkpoint}

    # A lone controller leads on each; on the checkpoint with static voters too.
    for name, source in sources.items():
        for words in ((), ("--static",)) if name == "checkpoint" else ((),):
            out = place.folder / f"{name}{''.join(words)}"
            restored(place, [source], out, 8, *words)
            key, value = ("controller.quorum.voters", f"8@{place.address(8)}") if words else (SERVERS, place.address(8))
            config = place.configure(8, {key: value}, directory=out)
            told = lone_controllers(place.version).try_to_start(config)
            assert told["did"] == "serves", (name, words, told)

    # Kafka's tools take what was written.
    out = place.folder / "new"
    made = restored(place, [place.directory(BROKER)], out, 7)
    config = place.configure(7, {SERVERS: place.address(7)}, directory=out)
    info = kafka(place.version, "storage", "info", "-c", str(config))
    assert (info.returncode, b"problem" in info.stdout) == (0, False), info
    path = out / made["directory"]["checkpoint"]
    dumped = kafka(place.version, "dump-log", "--cluster-metadata-decoder", "--files", str(path)).stdout.decode()
    assert dumped.count("isvalid: true") == dumped.count("isvalid") >= 3
    assert f'"name":"{TOPIC}"' in dumped
    assert "UnknownRecord" not in dumped

    # The broker registers, with its topic ids and messages; it had more of the metadata than the new log has offsets for.
    broker = place.configure(BROKER, {SERVERS: place.address(7)})
    host = place.host()
    host.ask("start", configs=[str(config), str(broker)])
    line = topic_line(host, place)
    assert "retention.ms=77777777" in line, line
    topic_id = re.search(r"TopicId: (\S+)", line)
    assert topic_id is not None
    assert topic_id[1] in (place.directory(BROKER) / f"{TOPIC}-0" / "partition.metadata").read_text()
    check_written(writer, read_topic(place.broker, TOPIC, PARTITIONS))
    later = Writer("later", place.broker, TOPIC, PARTITIONS, per_second=300).start()
    place.nodes.wait_until("more messages are acknowledged", lambda: later.count > 50)
    later.end()
    found = read_topic(place.broker, TOPIC, PARTITIONS)
    check_written(later, found)
    check_written(writer, found)
    status = host.run("kafka-metadata-quorum", ["--bootstrap-server", place.broker, "describe", "--status"]).stdout
    assert re.search(r"LeaderId:\s+7\n", status), status
    assert re.search(r"LeaderEpoch:\s+1000\d{3}\n", status), status

    # A second controller joins.
    second = place.configure(8, {SERVERS: place.address(7)})
    format_directories(second, "--no-initial-controllers", *place.release())
    host.ask("start", configs=[str(second)])
    words = ["--bootstrap-server", place.broker, "--command-config", str(second), "add-controller"]
    place.nodes.wait_until("controller 8 joins", lambda: host.run("kafka-metadata-quorum", words).status == 0)
    voters = {one["id"] for one in described(place, 7)["replicas"] if one["role"] in ("voter", "leader")}
    assert voters == {7, 8}
    assert "stray" not in " ".join(path.name for path in place.directory(BROKER).iterdir())


def test_a_node_that_is_broker_and_controller_keeps_its_partitions(place: Place) -> None:
    both = {
        "process.roles": "broker,controller",
        "listeners": f"PLAINTEXT://{place.broker},CONTROLLER://{place.address(1)}",
        "advertised.listeners": f"PLAINTEXT://{place.broker},CONTROLLER://{place.address(1)}",
    }
    servers = {SERVERS: place.address(1)}
    config = place.configure(BROKER, servers, both)
    format_directories(config, "--standalone")
    host = place.host()
    host.ask("start", configs=[str(config)])
    create_topic(host, place, TOPIC)
    writer = Writer("writer", place.broker, TOPIC, 1, per_second=300).start()
    place.nodes.wait_until("messages are acknowledged", lambda: writer.count > 50)
    writer.end()
    place.kill()
    old, out = place.directory(BROKER), place.folder / "new"
    argv = ["restore", str(old), "--out", str(out), "--node-id", str(BROKER), "--listener", place.address(1), "-o", "json"]
    made = run_main(quorum, argv, cwd=place.folder)
    assert made.status == 0, made
    assert any("metadata.log.dir" in step for step in json.loads(made.stdout)["steps"])
    (old / METADATA).rename(place.folder / "old-metadata")
    host = place.host()
    host.ask("start", configs=[str(place.configure(BROKER, servers, both, {"metadata.log.dir": out}))])
    check_written(writer, read_topic(place.broker, TOPIC, 1))
    assert described(place, 1)["leader"] == BROKER


@pytest.mark.parametrize(
    ("version", "words"),
    # 3.3 has no dynamic quorums.
    [(one, words) for one in VERSIONS if one in TRIED for words in ((), ("--static",)) if words or not one.startswith("3.3")],
)
def test_real_controllers_lead_on_what_is_restored_of_clusters_with_everything_in_them(
    tmp_path: Path, version: str, words: tuple[str, ...]
) -> None:
    golden = SUBSET_ROOT / version / "main" / "data" / "stopped"
    sources = [str(path.parent) for path in sorted(golden.glob(f"node-*/*/{METADATA}"))]
    assert sources
    (port,) = free_ports(1)
    argv = ["restore", *sources, "--out", "new", "--node-id", "1", "--listener", f"localhost:{port}", "-r", version, "--force", *words]
    outcome = run_main(quorum, argv, cwd=tmp_path)
    assert outcome.status == 0, outcome
    key, value = ("controller.quorum.voters", f"1@localhost:{port}") if words else (SERVERS, f"localhost:{port}")
    config = write_config(tmp_path / "server.properties", controller_settings(1, port, tmp_path / "new", {key: value}))
    # No server of 3.3 runs beside the tests: that of the release before the newest takes its level.
    told = lone_controllers(BEFORE if version.startswith("3.3") else version).try_to_start(config)
    assert told["did"] == "serves", told


def test_old_voters_that_come_back_follow_the_restored_one_at_an_old_address_and_brokers_never_follow_them(place: Place) -> None:
    old = {SERVERS: ",".join(map(place.address, DIRECTORY_IDS))}
    first = ",".join(f"{id}@{place.address(id)}:{key}" for id, key in DIRECTORY_IDS.items())
    configs = {id: place.configure(id, old) for id in DIRECTORY_IDS}
    broker = place.configure(BROKER, old)
    for config in configs.values():
        format_directories(config, "--initial-controllers", first)
    format_directories(broker, "--no-initial-controllers")
    host = place.host()
    host.ask("start", configs=[*map(str, configs.values()), str(broker)])
    create_topic(host, place, TOPIC)
    place.kill()
    sources = [place.directory(1), place.directory(BROKER)]

    # At an address that no old voter knows, two of them elect a leader. The broker has seen a later epoch, and never follows it.
    apart = place.folder / "apart"
    made = restored(place, sources, apart, 7)
    assert any("no voter of the old quorum was at" in text for text in made["warnings"])
    controller = place.configure(7, {SERVERS: place.address(7)}, directory=apart)
    broker = place.configure(BROKER, {SERVERS: f"{place.address(2)},{place.address(3)},{place.address(7)}"})
    host, returned = place.host(), place.host()
    host.ask("start", configs=[str(controller), str(broker)])
    returned.ask("start", configs=[str(configs[2]), str(configs[3])])
    place.nodes.wait_until("the old voters have a leader", lambda: described(place, 2).get("leader") in (2, 3))
    host.ask("stop", id=BROKER)
    host.ask("start", configs=[str(broker)])
    create_topic(host, place, "later")
    assert BROKER in {one["id"] for one in described(place, 7)["replicas"]}
    assert BROKER not in {one["id"] for one in described(place, 2)["replicas"]}
    assert described(place, 2)["epoch"] < 1000 < described(place, 7)["epoch"]
    place.kill()

    # At an old voter's address they meet it, and follow.
    same = place.folder / "same"
    made = restored(place, sources[:1], same, 1)
    assert not any("no voter of the old quorum was at" in text for text in made["warnings"])
    controller = place.configure(1, {SERVERS: place.address(1)}, directory=same)
    host = place.host()
    host.ask("start", configs=[str(controller)])
    epoch = described(place, 1)["epoch"]
    assert epoch > 1000000
    host.ask("start", configs=[str(configs[2]), str(configs[3])])

    def observes() -> bool:
        told = described(place, 2)
        observers = {one["id"] for one in told.get("replicas", ()) if one["role"] == "observer"}
        return told.get("leader") == 1 and {2, 3} <= observers

    place.nodes.wait_until("the old voters follow", observes)
    assert described(place, 2)["epoch"] == epoch
