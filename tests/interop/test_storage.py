"""Directories that we format start real Kafka nodes, and directories that Kafka formats are read by us."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shutil import rmtree

import pytest

from metashell.cli.controllers.storage import main as storage
from metashell.common.values import uuid_text
from metashell.disk.directory import first_records_file
from metashell.disk.file_system import DirectoryLock, Disk
from metashell.disk.source import open_source
from metashell.disk.state_files import read_quorum_state
from metashell.metadata.checks import Facts, Health, judge
from metashell.metadata.image import MetadataImage, load_image
from tests.java import BEFORE, KAFKA, host_command, jars, java, kafka, kafka_command, lone_controllers
from tests.running import run_main
from tools.interop.host import Host
from tools.interop.nodes import Cluster, Node, cluster, combined_settings, controller_settings, free_ports, server_command, write_config

pytestmark = pytest.mark.slow

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
# What each release starts on; the newest is the default of ours.
RELEASES = {KAFKA: (), "3.9.2": ("-r", "3.9", "--layout", "4.3")}
DIRECTORY_IDS = ("JEXY6aqzQY-32P5TStzaFg", "MvDxzVmcRsaTz33bUuRU6A", "Uj5wn_FqTXirEASvVZRY1w")


@pytest.fixture(params=list(RELEASES))
def nodes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Cluster]]:
    """A Kafka release, and a place to start its nodes in."""
    version = request.param
    java()
    jars(version)

    def command(tool: str, *arguments: str) -> list[str]:
        return kafka_command(version, tool, *arguments)

    with cluster(command, tmp_path) as place:
        yield version, place


def format_directory(config: Path, *words: str, status: int = 0) -> str:
    """Our format of the directories in a configuration; its standard error."""
    outcome = run_main(storage, ["format", "-t", CLUSTER_ID, "-c", str(config), *words], cwd=config.parent)
    assert outcome.status == status, outcome
    return outcome.stderr


def leader_of(log_dir: Path) -> int:
    """The leader that a node's disk names, -1 while there is none."""
    try:
        return read_quorum_state(str(log_dir / "__cluster_metadata-0" / "quorum-state")).leader_id
    except (OSError, ValueError):
        return -1


def image_of(log_dir: Path) -> MetadataImage:
    with open_source(str(log_dir)) as source:
        return load_image(source)


def wait_for_leader(place: Cluster, log_dirs: Sequence[Path]) -> int:
    def agreed() -> bool:
        leaders = {leader_of(path) for path in log_dirs}
        return len(leaders) == 1 and leaders != {-1}

    place.wait_until("a leader that all nodes know", agreed)
    return leader_of(log_dirs[0])


def wait_for_image(place: Cluster, log_dir: Path, holds: Callable[[MetadataImage], bool]) -> None:
    place.wait_until(f"the metadata in {log_dir.name}", lambda: holds(image_of(log_dir)))


def test_a_standalone_node_starts_lets_its_user_in_and_holds_its_lock(nodes: tuple[str, Cluster], tmp_path: Path) -> None:
    version, place = nodes
    ports = free_ports(3)
    log_dir = tmp_path / "d1"
    quorum = {"controller.quorum.bootstrap.servers": f"localhost:{ports[2]}"}
    config = write_config(tmp_path / "node-1.properties", combined_settings(1, ports, log_dir, quorum))
    users = tmp_path / "users"
    users.write_text("SCRAM-SHA-256=[name=alice,password=alice-secret]\nSCRAM-SHA-512=[name=bob,password=bob-secret,iterations=8192]\n")
    format_directory(config, "-s", "--add-scram-file", str(users), *RELEASES[version])
    place.start(config)
    wait_for_leader(place, [log_dir])

    client = write_config(
        tmp_path / "client.properties",
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": 'org.apache.kafka.common.security.scram.ScramLoginModule required username="bob" password="bob-secret";',
        },
    )
    server = f"localhost:{ports[1]}"
    topic = ("--create", "--topic", "first", "--bootstrap-server", server, "--command-config", str(client))
    made = kafka(version, "topics", *topic)
    assert made.returncode == 0, made.stderr[-2000:]
    # A broker that answers clients has locked its directories.
    assert "in use by a running process" in format_directory(config, "-g", "-s", *RELEASES[version], status=1)
    wait_for_image(place, log_dir, lambda image: "first" in image.topics.by_name)
    image = image_of(log_dir)
    assert {name for users_ in image.scram.values() for name in users_} == {"alice", "bob"}
    assert image.voters is not None


def test_three_controllers_of_a_dynamic_quorum_elect_a_leader(nodes: tuple[str, Cluster], tmp_path: Path) -> None:
    version, place = nodes
    ports = free_ports(3)
    servers = ",".join(f"localhost:{port}" for port in ports)
    voters = ",".join(f"{n}@localhost:{port}:{DIRECTORY_IDS[n - 1]}" for n, port in enumerate(ports, 1))
    log_dirs = start_three(place, version, ports, {"controller.quorum.bootstrap.servers": servers}, "-I", voters)
    assert wait_for_leader(place, log_dirs) in (1, 2, 3)
    for path in log_dirs:
        wait_for_image(place, path, lambda image: image.voters is not None and image.provenance.end_offset > 0)
        voter_set = image_of(path).voters
        assert voter_set is not None
        assert sorted(uuid_text(voter.directory_id) for voter in voter_set.voters) == sorted(DIRECTORY_IDS)


def test_three_controllers_of_a_static_quorum_elect_a_leader(nodes: tuple[str, Cluster], tmp_path: Path) -> None:
    version, place = nodes
    ports = free_ports(3)
    voters = ",".join(f"{n}@localhost:{port}" for n, port in enumerate(ports, 1))
    log_dirs = start_three(place, version, ports, {"controller.quorum.voters": voters})
    assert wait_for_leader(place, log_dirs) in (1, 2, 3)
    wait_for_image(place, log_dirs[0], lambda image: image.features.metadata_version is not None)
    assert image_of(log_dirs[0]).voters is None


def start_three(place: Cluster, version: str, ports: Sequence[int], quorum: dict[str, object], *words: str) -> list[Path]:
    """Format three controllers and start them in one process; their log directories."""
    log_dirs = [place.folder / f"d{n}" for n in (1, 2, 3)]
    configs = []
    for n, (port, log_dir) in enumerate(zip(ports, log_dirs, strict=True), 1):
        config = write_config(place.folder / f"node-{n}.properties", controller_settings(n, port, log_dir, quorum))
        format_directory(config, *words, *RELEASES[version])
        configs.append(str(config))
    host = Host(host_command(version), place.folder)
    place.nodes.append(host.node)
    host.ask("start", configs=configs)
    return log_dirs


OURS = "ours"
FORMATS = (BEFORE, KAFKA, "ours as 4.4", "ours as 4.3")
LEVELS = {"eligible.leader.replicas.version": 1, "group.version": 1, "share.version": 1, "streams.version": 1, "transaction.version": 2}
USER = ("-S", "SCRAM-SHA-256=[name=alice,password=alice-secret]")


def format_as(how: str, config: Path, *words: str) -> None:
    """Format by a release of Kafka, or by ours with a layout."""
    if how.startswith(OURS):
        format_directory(config, *words, "--layout", how[-3:])
        return
    done = kafka(how, "storage", "format", "-t", CLUSTER_ID, "-c", str(config), *words)
    assert done.returncode == 0, done.stderr


def started(version: str, folder: Path, config: Path, log_dir: Path) -> MetadataImage:
    """The metadata that a lone controller begins with, once all of it is in the log."""
    if version != OURS:
        lone_controllers(version).start(config)
        lone_controllers(version).leave(config)
        return image_of(log_dir)
    with cluster(lambda tool, *words: server_command(*words), folder) as place:
        place.start(config)
        wait_for_image(place, log_dir, lambda image: image.provenance.offset >= 0 and image.features.metadata_version is not None)
    return image_of(log_dir)


@pytest.mark.parametrize("starter", [BEFORE, KAFKA, OURS])
@pytest.mark.parametrize("how", FORMATS)
@pytest.mark.parametrize("quorum", ["static", "dynamic"])
def test_every_server_starts_on_every_layout_and_only_an_older_one_without_the_records_of_a_newer(
    quorum: str, how: str, starter: str, tmp_path: Path
) -> None:
    log_dir, (port,) = tmp_path / "d1", free_ports(1)
    key, voters, words = {
        "static": ("voters", f"1@localhost:{port}", ()),
        "dynamic": ("bootstrap.servers", f"localhost:{port}", ("-s",)),
    }[quorum]
    config = write_config(tmp_path / "node-1.properties", controller_settings(1, port, log_dir, {f"controller.quorum.{key}": voters}))
    format_as(how, config, *words, *USER, "-r", "4.3")
    is_hidden = how in (KAFKA, "ours as 4.4")
    assert hidden(image_of(log_dir))[:1] == (["SCRAM user alice"] if is_hidden else [])
    image = started(starter, tmp_path, config, log_dir)
    is_lost = is_hidden and starter == BEFORE
    assert image.features.metadata_version == 30, "which is also the newest that 4.3.1 knows"
    assert {name: level for name, level in image.features.levels.items() if level} == ({} if is_lost else LEVELS)
    assert {name for users in image.scram.values() for name in users} == (set() if is_lost else {"alice"})
    assert hidden(image) == []


def hidden(image: MetadataImage) -> list[str]:
    """What formatting left and an older release does not look for."""
    verdict = judge(Facts(health=Health(image)), {"first_records"})
    return [found.name for finding in verdict.findings for found in finding]


def test_a_voter_that_is_formatted_anew_takes_the_log_and_not_its_own_records(tmp_path: Path) -> None:
    """Of a static quorum of Kafka's and ours, each in turn; nobody downloads a bootstrap snapshot."""
    java()
    jars(KAFKA)
    ports = dict(zip((1, 2), free_ports(2), strict=True))
    voters = ",".join(f"{id}@localhost:{port}" for id, port in ports.items())
    log_dirs = {id: tmp_path / f"d{id}" for id in ports}
    configs = {
        id: write_config(
            tmp_path / f"node-{id}.properties", controller_settings(id, port, log_dirs[id], {"controller.quorum.voters": voters})
        )
        for id, port in ports.items()
    }

    def is_settled() -> bool:
        images = [image_of(path) for path in log_dirs.values()]
        return all(
            image.features.metadata_version == 33
            and len(image.cluster.controllers) == 2
            and {name for users in image.scram.values() for name in users} == {"alice"}
            for image in images
        )

    with cluster(lambda tool, *words: [tool, *words], tmp_path) as place:

        def start(id: int) -> Node:
            place.command_of = (lambda tool, *words: kafka_command(KAFKA, tool, *words)) if id == 1 else lambda tool, *w: server_command(*w)
            return place.start(configs[id])

        for config in configs.values():
            format_as("ours as 4.4", config, *USER)
        nodes = {id: start(id) for id in ports}
        place.wait_until("what formatting left", is_settled)
        for id, log_dir in log_dirs.items():
            nodes[id].kill()
            place.nodes.remove(nodes[id])
            rmtree(log_dir)
            format_as("ours as 4.4", configs[id], "-S", "SCRAM-SHA-256=[name=mallory,password=p]", "-r", "4.2")
            nodes[id] = start(id)
            place.wait_until(f"the log on {id}", is_settled)


@pytest.mark.parametrize(("how", "starter"), [(KAFKA, OURS), ("ours as 4.4", KAFKA), ("ours as 4.3", KAFKA)])
def test_the_newest_level_is_the_default_of_both(how: str, starter: str, tmp_path: Path) -> None:
    log_dir, (port,) = tmp_path / "d1", free_ports(1)
    settings = controller_settings(1, port, log_dir, {"controller.quorum.bootstrap.servers": f"localhost:{port}"})
    config = write_config(tmp_path / "node-1.properties", settings)
    format_as(how, config, "-s", *USER)
    image = started(starter, tmp_path, config, log_dir)
    assert image.features.metadata_version == 33
    assert dict(image.features.levels) == {**LEVELS, "share.version": 2}
    assert {name for users in image.scram.values() for name in users} == {"alice"}


@pytest.mark.parametrize("version", list(RELEASES))
def test_directories_that_kafka_formats_are_read_by_us(version: str, tmp_path: Path) -> None:
    quorum = {"controller.quorum.bootstrap.servers": "localhost:9093"}
    log_dir = tmp_path / "d1"
    config = write_config(tmp_path / "node-1.properties", controller_settings(1, 9093, log_dir, quorum))
    done: subprocess.CompletedProcess[bytes] = kafka(
        version, "storage", "format", "-t", CLUSTER_ID, "-c", str(config), "-s", "-S", "SCRAM-SHA-256=[name=alice,password=p]"
    )
    assert done.returncode == 0, done.stderr
    outcome = run_main(storage, ["info", "-c", str(config)], cwd=tmp_path)
    assert outcome.status == 0, outcome
    assert CLUSTER_ID in outcome.stdout.decode()
    again = format_directory(config, "-s", status=1)
    assert "is already formatted" in again
    with open_source(first_records_file(str(log_dir))) as source:
        image = load_image(source)
    assert image.features.metadata_version == {KAFKA: 33, "3.9.2": 21}[version]
    assert not image.faults


def test_a_kafka_that_starts_while_we_format_is_kept_out_by_the_lock(tmp_path: Path) -> None:
    java()
    jars(KAFKA)
    port = free_ports(1)[0]
    log_dir = tmp_path / "d1"
    quorum = {"controller.quorum.voters": f"1@localhost:{port}"}
    config = write_config(tmp_path / "node-1.properties", controller_settings(1, port, log_dir, quorum))
    format_directory(config)

    def loud_command(tool: str, *words: str) -> list[str]:
        return [word for word in kafka_command(KAFKA, tool, *words) if word != "-Dlog4j2.level=OFF"]

    lock = DirectoryLock(str(log_dir), Disk())
    try:
        with cluster(loud_command, tmp_path) as place:
            node = place.start(config)
            assert node.process.wait(120) != 0
            assert "Failed to acquire lock on file .lock" in node.text()
    finally:
        lock.release()
