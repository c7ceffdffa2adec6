"""The observer on quorums of real Kafka controllers: what they do shows, what happens to them is survived, and they do not notice."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

import pytest

from metashell.cli.inspect.dump_log import main as dump_log
from metashell.cli.inspect.kafka_shell import main as kafka_shell
from metashell.codec.messages import CreateAclsRequest, CreateTopicsRequest, IncrementalAlterConfigsRequest
from metashell.disk.names import parse_name
from metashell.metadata.history import Past
from metashell.metadata.history.sources import opener_of
from metashell.metadata.image import MetadataImage
from metashell.net.addresses import Address, ConnectError
from metashell.net.client import Client
from metashell.net.security import SecurityConfig, security_config
from metashell.quorum.observer.attach import attach
from metashell.quorum.observer.controllers import Target, describe_quorum_request
from tests.java import KAFKA, kafka_command, lone_controllers
from tests.quorum.observer.fake_quorum import wait_for
from tests.running import command_line, no_longer_than, run_main
from tools.interop.nodes import Cluster, Node, broker_settings, controller_settings, format_directories, free_ports, write_config

pytestmark = pytest.mark.slow

RELEASES = {KAFKA: (), "3.9.2": ("-r", "3.9")}
LIMIT_S = 120.0
BROKER_ID = 100


@dataclass
class Quorum:
    """Running controllers by id, perhaps a broker, and how to ask them."""

    version: str
    place: Cluster
    ports: dict[int, int]
    broker_port: int = 0
    nodes: dict[int, Node] = field(default_factory=dict)
    security: SecurityConfig = field(default_factory=SecurityConfig)

    @property
    def is_alone(self) -> bool:
        return len(self.ports) == 1 and not self.place.nodes

    @property
    def addresses(self) -> tuple[Address, ...]:
        return tuple(Address("localhost", self.ports[id]) for id in self.ports)

    @property
    def words(self) -> str:
        return ",".join(map(str, self.addresses))

    def config(self, id: int) -> Path:
        return self.place.folder / f"node-{id}.properties"

    def start(self, id: int) -> None:
        """Start a node: a controller that is alone in the process that such ones share."""
        if self.is_alone:
            lone_controllers(self.version).start(self.config(id))
            self.nodes[id] = lone_controllers(self.version).node
        else:
            self.nodes[id] = self.place.start(self.config(id))

    def end(self) -> None:
        for node in self.place.nodes:
            node.kill()
        for id in self.nodes if self.is_alone else ():
            lone_controllers(self.version).leave(self.config(id))

    def kill(self, id: int) -> None:
        node = self.nodes.pop(id)
        self.place.nodes.remove(node)
        node.kill()

    def ask(self, message: Any, *, of_broker: bool = False) -> Any:
        where = [Address("localhost", self.broker_port)] if of_broker else list(self.addresses)
        with Client(where, security=self.security, attempts_max=0, deadline_ms=60_000) as client:
            return client.request(message)

    def describe(self) -> Any:
        """The metadata partition as its leader describes it; it is waited for."""
        for id in self.nodes:
            if id in self.ports:
                with Client([Address("localhost", self.ports[id])], security=self.security) as client:
                    try:
                        answer = client.request(describe_quorum_request())
                    except ConnectError:
                        continue
                if answer.topics and not answer.topics[0].partitions[0].error_code:
                    return answer.topics[0].partitions[0]
        return None

    def wait_for_leader(self) -> Any:
        self.place.wait_until("a leader", lambda: self.describe() is not None and self.describe().high_watermark > 0)
        return self.describe()

    def create_topic(self, name: str) -> None:
        topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=2, replication_factor=1)

        def made() -> bool:
            answer = self.ask(CreateTopicsRequest(topics=(topic,), timeout_ms=5_000), of_broker=True)
            return answer.topics[0].error_code in (0, 36)  # 36: an earlier try has made it

        self.place.wait_until(f"topic {name}", made)

    def set_default(self, key: str, value: str) -> None:
        """Set a config of all brokers, which controllers do themselves."""
        made_by = IncrementalAlterConfigsRequest
        config = made_by.AlterableConfig(name=key, config_operation=0, value=value)
        resource = made_by.AlterConfigsResource(resource_type=4, resource_name="", configs=(config,))
        leader = self.wait_for_leader().leader_id
        with Client([Address("localhost", self.ports[leader])], security=self.security) as client:
            answer = client.request(made_by(resources=(resource,)))
        assert answer.responses[0].error_code == 0, answer.responses[0]


def prepare(
    version: str,
    folder: Path,
    ids: Sequence[int],
    settings: dict[str, object] | None = None,
    *,
    broker: bool = False,
    standalone: bool = False,
) -> Quorum:
    """Formatted controllers, and a broker perhaps, none of them started."""
    *ports, broker_port = free_ports(len(ids) + 1)
    named = dict(zip(ids, ports, strict=True))
    voters = ",".join(f"{id}@localhost:{port}" for id, port in named.items())
    quorum = {"controller.quorum.bootstrap.servers": f"localhost:{ports[0]}"} if standalone else {"controller.quorum.voters": voters}
    parts = {id: controller_settings(id, port, folder / f"d{id}", quorum) for id, port in named.items()}
    if broker:
        parts[BROKER_ID] = broker_settings(BROKER_ID, broker_port, folder / f"d{BROKER_ID}", quorum)
    for id, part in parts.items():
        config = write_config(folder / f"node-{id}.properties", part, settings or {})
        format_directories(config, *(["-s"] if standalone else []), *RELEASES[version])
    return Quorum(version, Cluster(partial(kafka_command, version), folder), named, broker_port)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Callable[..., Quorum]]:
    """Starts quorums that end with the test."""
    made: list[Quorum] = []

    def start(version: str, ids: Sequence[int] = (1,), settings: dict[str, object] | None = None, **options: Any) -> Quorum:
        quorum = prepare(version, tmp_path, ids, settings, **options)
        made.append(quorum)
        for id in [*ids, *([BROKER_ID] if options.get("broker") else [])]:
            quorum.start(id)
        return quorum

    try:
        yield start
    finally:
        for quorum in made:
            quorum.end()


def snapshot_offsets(folder: Path) -> list[int]:
    """The end offsets of the snapshots in use in a metadata directory."""
    names = [parse_name(path.name) for path in folder.glob("*.checkpoint")]
    return [name.snapshot_id.offset for name in names if name is not None and name.snapshot_id is not None and name.is_in_use]


class Shell:
    """`kafka-shell watch PATH` as a process of its own, ended by Ctrl-C. The path does not exist yet."""

    def __init__(self, controllers: str, path: str) -> None:
        command = command_line("metashell.cli.inspect.kafka_shell", "-v", "-C", controllers, "watch", "-o", "jsonl", path)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # What changes between these two lines is in the image that the watch begins with: it would never be printed.
        for expected in (": quorum, committed to offset ", "does not exist yet, waiting"):
            with no_longer_than(int(LIMIT_S)):
                assert expected in pipe_of(self.process.stderr).readline()

    def line(self) -> str:
        """The next line of its output, which is waited for."""
        with no_longer_than(int(LIMIT_S)):
            return pipe_of(self.process.stdout).readline()

    def change(self, path: str) -> dict[str, Any]:
        """The next change of a path."""
        while True:
            found: dict[str, Any] = json.loads(self.line())
            if found["path"] == path:
                return found

    def interrupt(self) -> str:
        """End it by Ctrl-C, and give what it complained of."""
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=LIMIT_S)
        assert self.process.returncode == 0, errors
        return errors


@pytest.fixture
def shells() -> Iterator[Callable[..., Shell]]:
    """Starts shells, none of which outlives the test."""
    made: list[Shell] = []

    def start(*words: str) -> Shell:
        made.append(Shell(*words))
        return made[-1]

    yield start
    for each in made:
        if each.process.returncode is None:
            each.process.kill()
            each.process.communicate()


def pipe_of(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


@pytest.mark.parametrize("version", list(RELEASES))
def test_a_quorum_is_followed_through_all_that_happens_to_it_and_does_not_notice(
    running: Callable[..., Quorum], shells: Callable[..., Shell], version: str, tmp_path: Path
):
    quorum = running(version, (1, 2, 3), {"offsets.topic.replication.factor": 1}, broker=True)
    quorum.wait_for_leader()
    quorum.place.wait_until("the broker", lambda: [each.replica_id for each in quorum.describe().observers] == [BROKER_ID])
    before = quorum.describe()
    topics = "/image/topics/byName"

    # Of all that were named one dies soon.
    with attach(Target(controllers=tuple(Address("localhost", port) for port in quorum.ports.values()))) as source:
        shell = shells(",".join(f"{id}@localhost:{port}" for id, port in quorum.ports.items()), f"{topics}/*")
        wait_for(source, lambda image: BROKER_ID in image.cluster.brokers and not image.cluster.brokers[BROKER_ID].fenced)
        quorum.create_topic("orders")
        wait_for(source, lambda image: "orders" in image.topics.by_name)
        created = shell.change(f"{topics}/orders/1")
        assert (created["kind"], created["before"], created["record"]) == ("created", None, "PARTITION_RECORD")
        assert created["after"]["replicas"] == [BROKER_ID]
        assert created["certain_to"] == created["end_offset"] > created["offset"]

        after = quorum.describe()
        assert after.high_watermark > before.high_watermark
        assert [each.replica_id for each in after.current_voters] == [each.replica_id for each in before.current_voters]
        assert [each.replica_id for each in after.observers] == [each.replica_id for each in before.observers] == [BROKER_ID]

        # By a broker's word, and one command in Kafka's oldest words for it.
        for words in (("-b", f"localhost:{quorum.broker_port}"), ("--controllers", quorum.words)):
            outcome = run_main(kafka_shell, [*words, "ls", topics], cwd=tmp_path)
            assert (outcome.status, outcome.stdout.decode().split()[0], outcome.stderr) == (0, "orders", "")

        quorum.kill(after.leader_id)
        quorum.create_topic("second")
        wait_for(source, lambda image: "second" in image.topics.by_name)
        assert shell.change(f"{topics}/second/0")["epoch"] > created["epoch"]
        view = source.view()
        assert (view.trouble, view.image.faults) == ("", ())
        assert view.leader_id not in (-1, after.leader_id)

        # Of three voters one is left.
        second = next(id for id in (1, 2, 3) if id in quorum.nodes)
        quorum.kill(second)
        steps = source.subscribe()
        while not source.view().trouble:
            steps.next(1.0)
        assert source.view().trouble.startswith("no leader for ")
        quorum.start(second)
        quorum.create_topic("third")
        wait_for(source, lambda image: "third" in image.topics.by_name)
        assert shell.change(f"{topics}/third/0")["kind"] == "created"
        assert source.view().trouble == ""
    told = shell.interrupt().splitlines()
    label = f"watch: {quorum.addresses[0]}: "
    # A machine that is busy may take longer for an election than what we call lost; more than that nobody says.
    words_told = [line.removeprefix(label).split(" for ")[0] for line in told]
    assert words_told == ["no leader", "is updated again"] * (len(told) // 2) != []


@pytest.mark.parametrize(("version", "standalone"), [(KAFKA, True), (KAFKA, False), ("3.9.2", True)])
def test_a_snapshot_is_what_a_late_observer_begins_with(running: Callable[..., Quorum], version: str, standalone: bool, tmp_path: Path):
    quorum = running(version, (1,), {"metadata.log.max.record.bytes.between.snapshots": 2_000}, standalone=standalone)
    quorum.wait_for_leader()
    snapshots = tmp_path / "d1" / "__cluster_metadata-0"

    def written() -> bool:
        return any(offset > 0 for offset in snapshot_offsets(snapshots))

    def default(image: MetadataImage) -> str | None:
        return image.configs.get((4, ""), {}).get("log.retention.ms")

    for number in range(40):
        quorum.set_default("log.retention.ms", str(1_000_000 + number))
    quorum.place.wait_until("a snapshot", written)
    with attach(Target(controllers=quorum.addresses)) as source:
        wait_for(source, lambda image: default(image) == "1000039")
        image = source.view().image
        assert image.faults == ()
        # Only a quorum of kraft.version 1 has a record that says who votes.
        assert (image.features.kraft_version, image.voters is not None) == (int(standalone), standalone)
        quorum.set_default("log.retention.ms", "7")
        wait_for(source, lambda image: default(image) == "7")
    outcome = run_main(dump_log, ["-C", quorum.words, "--type", "CONFIG_RECORD", "--batches=also"], cwd=tmp_path)
    lines = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert (outcome.status, outcome.stderr) == (0, "")
    assert lines[0]["file"].endswith(".checkpoint") and lines[-1]["file"].endswith("__cluster_metadata-0")


@pytest.mark.parametrize(("version", "standalone"), [(KAFKA, True), (KAFKA, False), ("3.9.2", True)])
def test_the_past_reaches_as_far_back_as_the_leader_holds_its_log(
    running: Callable[..., Quorum], version: str, standalone: bool, tmp_path: Path
):
    quorum = running(version, (1,), {"metadata.log.max.record.bytes.between.snapshots": 2_000}, standalone=standalone)
    quorum.wait_for_leader()
    folder = tmp_path / "d1" / "__cluster_metadata-0"
    for number in range(40):
        quorum.set_default("log.retention.ms", str(1_000_000 + number))
    quorum.place.wait_until("a snapshot", lambda: any(offset > 0 for offset in snapshot_offsets(folder)))
    local = Past(opener_of(str(folder)))
    snapshot = max(snapshot_offsets(folder))
    words = ["-C", quorum.words, "--at", str(snapshot - 5), "cat", "/image/configs/BROKER/log.retention.ms"]
    outcome = run_main(kafka_shell, words, cwd=tmp_path)
    expected = local.image(snapshot - 5).configs.get((4, ""), {}).get("log.retention.ms")
    assert (outcome.status, outcome.stderr, outcome.stdout.decode()) == (0, "", f"{expected}\n")
    outcome = run_main(kafka_shell, ["-C", quorum.words, "log", "/image/configs/BROKER/log.retention.ms"], cwd=tmp_path)
    assert outcome.stdout.count(b"1000000") == 2, outcome.stdout
    assert not outcome.stdout.startswith(b"before")


def test_a_log_that_is_cut_away_while_we_sleep_is_loaded_anew_without_a_word(
    running: Callable[..., Quorum], shells: Callable[..., Shell], tmp_path: Path
):
    settings = {
        "metadata.log.max.record.bytes.between.snapshots": 2_000,
        "metadata.max.retention.bytes": 1,
        "metadata.max.idle.interval.ms": 100,
    }
    quorum = running(KAFKA, (1,), settings)
    quorum.wait_for_leader()
    path = "/image/configs/BROKER/log.retention.ms"
    shell = shells(quorum.words, path)
    quorum.set_default("log.retention.ms", "1")
    seen = shell.change(path)
    shell.process.send_signal(signal.SIGSTOP)
    quorum.set_default("log.retention.ms", "2")
    folder = tmp_path / "d1" / "__cluster_metadata-0"

    def oldest() -> int:
        return min((offset for offset in snapshot_offsets(folder) if offset > 0), default=0)

    # Kafka looks once a minute whether it may drop the beginning of its log.
    quorum.place.wait_until("the log to be cut", lambda: oldest() > seen["end_offset"] + 200, limit_s=150)
    shell.process.send_signal(signal.SIGCONT)
    change = shell.change(path)
    assert (change["before"], change["after"], change["record"]) == ("1", "2", None)
    quorum.set_default("log.retention.ms", "3")
    change = shell.change(path)
    assert (change["before"], change["after"], change["record"]) == ("2", "3", "CONFIG_RECORD")
    assert shell.interrupt() == ""


PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def as_user(user: str, password: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN} username="{user}" password="{password}";',
    }


@pytest.mark.parametrize("version", list(RELEASES))
def test_who_may_not_fetch_is_told_the_right_that_is_missing_and_who_is_not_known_that(
    running: Callable[..., Quorum], version: str, tmp_path: Path
):
    users = 'user_admin="admin-secret" user_alice="alice-secret"'
    settings = {
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": f'{PLAIN} username="admin" password="admin-secret" {users};',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin",
    }
    quorum = running(version, (1,), settings)
    quorum.security = security_config(as_user("admin", "admin-secret"))
    leader = quorum.wait_for_leader().leader_id
    config = tmp_path / "client.properties"

    def attached(user: str, password: str) -> tuple[int, str]:
        write_config(config, as_user(user, password))
        outcome = run_main(kafka_shell, ["-C", quorum.words, "--command-config", str(config), "ls", "/image"], cwd=tmp_path)
        return outcome.status, outcome.stderr

    right = "not authorized: to fetch the metadata log needs the right CLUSTER_ACTION on the cluster"
    assert attached("admin", "admin-secret") == (0, "")
    assert attached("alice", "alice-secret") == (1, f"kafka-shell: {quorum.words}: {right}\n")
    status, told = attached("alice", "wrong")
    assert status == 1
    assert told.startswith(f"kafka-shell: {quorum.words}: ") and "uthentication failed" in told and told.count("\n") == 1

    made_by = CreateAclsRequest
    # CLUSTER_ACTION (9) on CLUSTER (4) kafka-cluster, literal (3), allowed (3).
    acl = made_by.AclCreation(
        resource_type=4,
        resource_name="kafka-cluster",
        resource_pattern_type=3,
        principal="User:alice",
        host="*",
        operation=9,
        permission_type=3,
    )
    with Client([Address("localhost", quorum.ports[leader])], security=quorum.security) as client:
        assert client.request(made_by(creations=(acl,))).results[0].error_code == 0
    quorum.place.wait_until("the right to count", lambda: attached("alice", "alice-secret") == (0, ""))
