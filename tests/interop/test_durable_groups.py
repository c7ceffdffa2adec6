"""Groups of a server that is killed with kill -9: real clients go on, and Kafka's own tools and controllers read what it left."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from metashell.cli.groups.command import main as groups
from metashell.codec import messages
from metashell.net.addresses import parse_addresses
from metashell.net.client import Client
from tests.interop.test_java_members import Members, owned_by
from tests.java import BEFORE, KAFKA, kafka, lone_controllers
from tests.running import run_main
from tools.interop.nodes import controller_settings, format_directories, free_ports, server_command, write_config

pytestmark = pytest.mark.slow
LIMIT_S = 120.0
TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
PARTITIONS = 4


@dataclass
class Server:
    """Our controller with its groups, as a process of its own."""

    config: Path
    directory: Path
    bootstrap: str
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(server_command(str(self.config)), stdout=log, stderr=log)
        until("it serves groups", lambda: bool(self.ask(messages.MetadataRequest(topics=None)).brokers))

    def end(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(LIMIT_S)
            self.process = None

    def ask(self, request: Any) -> Any:
        with Client(parse_addresses(self.bootstrap), deadline_ms=int(LIMIT_S * 1000), attempts_max=0) as client:
            return client.request(request)

    def members(self, *group_ids: str) -> list[tuple[str, str, int, int]]:
        """Group, member id, member epoch and number of partitions of each member of groups of KIP-848."""
        answer = self.ask(messages.ConsumerGroupDescribeRequest(group_ids=group_ids))
        return sorted(
            (group.group_id, member.member_id, member.member_epoch, sum(len(one.partitions) for one in member.assignment.topic_partitions))
            for group in answer.groups
            for member in group.members
        )


def until(what: str, holds: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < ends_at, what
        time.sleep(0.05)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    port, groups_port = free_ports(2)
    directory = tmp_path / "controller"
    settings = controller_settings(1, port, directory, {"controller.quorum.voters": f"1@localhost:{port}"})
    wanted = {"group.coordinator": "embedded", "group.coordinator.listener": f"localhost:{groups_port}"}
    config = write_config(tmp_path / "controller.properties", settings, wanted, {"group.initial.rebalance.delay.ms": 0})
    format_directories(config)
    made = Server(config, directory, f"localhost:{groups_port}", tmp_path / "server.log")
    try:
        made.start()
        yield made
    finally:
        made.end(signal.SIGKILL)


def test_clients_and_tools_of_kafka_go_on_after_a_kill(server: Server) -> None:
    topic = messages.CreateTopicsRequest.CreatableTopic(name="t", num_partitions=PARTITIONS, replication_factor=1)
    assert server.ask(messages.CreateTopicsRequest(topics=(topic,), timeout_ms=30_000)).topics[0].error_code == 0
    consumers = {name: consumer_of(server, name, protocol) for name, protocol in (("classic", "classic"), ("modern", "consumer"))}
    members = Members(server.bootstrap)
    try:
        for name in ("k1", "k2"):
            members.order(f"start {name} t group.id=java group.protocol=consumer")
        until("Java's share the partitions", lambda: sorted(owned_by(members.events({"k1", "k2"})).values()) == [2, 2])
        until("librdkafka's have all", lambda: all(len(polled(one).assignment()) == PARTITIONS for one in consumers.values()))
        members.order("commit k1 t 0 33")
        until("it is committed", lambda: ("k1", "committed", "33") in members.events({"k1"}))
        for consumer in consumers.values():
            consumer.commit(offsets=[TopicPartition("t", 1, 7)], asynchronous=False)
        until("all have settled", lambda: len({epoch for _, _, epoch, _ in server.members("java")}) == 1)
        before, said = server.members("java", "modern"), len(members.events({"k1", "k2"}))

        server.end(signal.SIGKILL)
        server.start()

        assert server.members("java", "modern") == before, "ids, epochs and partitions are those of before"
        for consumer in consumers.values():
            (found,) = consumer.committed([TopicPartition("t", 1)], timeout=LIMIT_S)
            assert found.offset == 7
        members.order("commit k2 t 2 44")
        until("it is committed", lambda: ("k2", "committed", "44") in members.events({"k2"}))
        until("librdkafka's have all", lambda: all(len(polled(one).assignment()) == PARTITIONS for one in consumers.values()))
        consumers["classic"].commit(offsets=[TopicPartition("t", 1, 8)], asynchronous=False)
        assert server.members("java", "modern") == before
        assert [event for event in members.events({"k1", "k2"})[said:] if event[1] != "committed"] == [], "nobody lost anything"
        told = kafka(KAFKA, TOOL, "--bootstrap-server", server.bootstrap, "--describe", "--all-groups")
        lines = [line.split() for line in told.stdout.decode().splitlines()]
        rows = {(row[0], int(row[2])): row[3] for row in lines if len(row) > 4 and row[1] == "t"}
        wanted = {("java", 0): "33", ("java", 2): "44", ("classic", 1): "8", ("modern", 1): "7"}
        assert {key: value for key, value in rows.items() if value != "-"} == wanted
    finally:
        members.close()
        for consumer in consumers.values():
            consumer.close()
    server.end(signal.SIGKILL)
    check_files(server)


def consumer_of(server: Server, name: str, protocol: str) -> Consumer:
    settings = {"group.protocol": protocol, "enable.auto.commit": False, "log_level": 0}
    if protocol == "classic":
        settings |= {"session.timeout.ms": 45_000, "heartbeat.interval.ms": 200}
    made = Consumer({"bootstrap.servers": server.bootstrap, "group.id": name, **settings})
    made.subscribe(["t"])
    return made


def polled(consumer: Consumer) -> Consumer:
    consumer.poll(0.02)
    return consumer


def check_files(server: Server) -> None:
    """Kafka's dump-log reads each file without an error; real controllers run on the directory and change nothing of it."""
    files = sorted(server.directory.glob("__consumer_offsets-*/*.log"))
    assert files
    told = kafka(KAFKA, "dump-log", "--offsets-decoder", "--deep-iteration", "--files", ",".join(map(str, files)))
    text = told.stdout.decode()
    assert told.returncode == 0
    assert not re.search("error|mismatch|isvalid: false", text, re.IGNORECASE), text
    assert text.count("starting offset: 0") == len(files)
    assert '"group":"classic","topic":"t","partition":1' in text
    left = contents(server.directory)
    for version in (BEFORE, KAFKA):
        lone_controllers(version).lead(server.config)
        lone_controllers(version).leave(server.config, waits=True)
        assert contents(server.directory) == left
    done = run_main(groups, ["offsets", "java", str(server.directory), "-o", "json"], cwd=server.directory)
    assert (done.status, {row["partition"]: row["offset"] for row in json.loads(done.stdout)}) == (0, {0: 33, 2: 44})


def contents(directory: Path) -> dict[str, bytes]:
    """The files of the group log."""
    return {str(path): path.read_bytes() for path in directory.glob("__consumer_offsets-*/*")}
