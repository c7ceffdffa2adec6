"""metashell server: a controller on a directory that was formatted for it, and every way in which it ends."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from metashell.cli.controllers.server import place_of
from metashell.cli.main import tool_of
from metashell.codec import messages
from metashell.net.addresses import Address, parse_address
from metashell.net.client import Client
from metashell.quorum.server.config import load_config
from tests.cli.conftest import ROOT, command_line, environment
from tests.running import run_main

pytestmark = pytest.mark.slow
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAg"
LIMIT_S = 120


@dataclass
class Place:
    """A configuration, and the directory that it names."""

    config: Path
    directory: Path
    port: int
    begun: list[subprocess.Popen[str]]

    def format(self, *words: str) -> None:
        done = run("storage", "format", "-c", str(self.config), "-t", CLUSTER_ID, *(words or ("-s",)))
        assert done.returncode == 0, done.stderr

    def begin(self, *words: str) -> subprocess.Popen[str]:
        argv = command_line("metashell", "server", str(self.config), *words)
        self.begun.append(subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()))
        return self.begun[-1]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return run("server", str(self.config), *words)


def run(noun: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself, in this process."""
    done = run_main(tool_of(noun), words, cwd=ROOT)
    return subprocess.CompletedProcess(words, done.status, done.stdout.decode(), done.stderr)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Callable[[str], Place]]:
    """Configurations of a sole controller, each with a port of its own."""
    held: list[socket.socket] = []
    begun: list[subprocess.Popen[str]] = []

    def make(name: str) -> Place:
        opened = socket.socket()
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(("127.0.0.1", 0))
        held.append(opened)
        port = opened.getsockname()[1]
        config, directory = tmp_path / f"{name}.properties", tmp_path / name
        config.write_text(
            "process.roles=controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
            f"listeners=CONTROLLER://localhost:{port}\nlog.dirs={directory}\ncontroller.quorum.bootstrap.servers=localhost:{port}\n"
        )
        return Place(config, directory, port, begun)

    yield make
    for opened in held:
        opened.close()
    for process in begun:
        # What an assertion left behind must not make another test fail.
        process.kill()
        process.communicate()


def test_a_port_of_metrics_that_cannot_be_is_named_before_anything_is_opened(place: Callable[[str], Place]) -> None:
    here = place("here")
    here.format()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for number, status, message in (
            (99999, 2, "not a port (0 to 65535)"),
            (port, 1, "Address already in use"),
        ):
            done = here.run(f"--metrics-port={number}")
            assert (done.returncode, done.stdout) == (status, "")
            assert done.stderr == f"metashell server: option --metrics-port: port {number}: {message}\n"


def wait_for(stream: IO[str] | None, pattern: str) -> list[str]:
    """The lines up to one in which the pattern is found."""
    assert stream is not None
    lines = []
    for line in stream:
        lines.append(line)
        if re.search(pattern, line):
            return lines
    raise AssertionError(lines)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, errors = process.communicate(timeout=LIMIT_S)
    assert output == ""
    return process.returncode, errors


def failed(done: subprocess.CompletedProcess[str], status: int = 1) -> str:
    """The one line of an error."""
    assert (done.returncode, done.stdout) == (status, ""), done
    (line,) = done.stderr.splitlines()
    return line.removeprefix("metashell server: ")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_controller_runs_until_a_signal_comes(place: Callable[[str], Place], number: int, status: int) -> None:
    mine = place("mine")
    mine.format()
    server = mine.begin("--log-format", "json")
    lines = [json.loads(line) for line in wait_for(server.stderr, "active controller")]
    # A sole voter may lead before it says where it listens.
    assert f"controller 1 on {mine.directory}: CONTROLLER on port {mine.port}" in [line["message"] for line in lines]
    assert all(re.fullmatch(r"[0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z", line["time"]) for line in lines)
    # Two processes on one directory, whatever their ports; and one port for two directories.
    assert failed(mine.run("--override", "listeners=CONTROLLER://localhost:0")) == (
        f"Failed to acquire lock on file .lock in {mine.directory}. A Kafka instance in another process or thread is using this directory."
    )
    other = place("other")
    other.format()
    assert failed(other.run("--override", f"listeners=CONTROLLER://localhost:{mine.port}")) == (
        f"Socket server failed to bind to localhost:{mine.port}: Address already in use."
    )
    server.send_signal(number)
    found, errors = ended(server)
    assert found == status and json.loads(errors.splitlines()[-1])["message"] == "stopped"


def test_a_signal_before_it_listens_ends_it_too(place: Callable[[str], Place]) -> None:
    mine = place("mine")
    mine.format()
    server = mine.begin()
    while not os.path.exists(mine.directory / "__cluster_metadata-0" / "quorum-state") and server.poll() is None:
        pass
    server.send_signal(signal.SIGTERM)
    status, errors = ended(server)
    assert status == 0 and errors.endswith(" stopped\n")


def test_a_second_signal_does_not_wait_for_the_others(place: Callable[[str], Place]) -> None:
    # A voter of two whose other is not there: nobody takes over, so it would wait for its whole time.
    mine = place("mine")
    voters = f"controller.quorum.voters=1@localhost:{mine.port},2@localhost:1"
    text = mine.config.read_text()
    mine.config.write_text("".join(line for line in text.splitlines(keepends=True) if "bootstrap" not in line) + voters + "\n")
    mine.format("--ignore-formatted")
    server = mine.begin("--override", "controller.quorum.election.timeout.ms=50")
    wait_for(server.stderr, "prospective")
    server.send_signal(signal.SIGTERM)
    wait_for(server.stderr, "stopping")
    server.send_signal(signal.SIGTERM)
    assert ended(server)[0] == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("node.id=2", "Stored node id 1 doesn't match previous node id 2 in {directory}/meta.properties."),
        ("process.roles=broker,controller", "{config}: process.roles=broker,controller: must be controller alone; metashell has no broker"),
        ("process.roles=broker", "{config}: process.roles=broker: must be controller alone; metashell has no broker"),
        (
            "process.roles=controler",
            "{config}: Invalid value controler for configuration process.roles: String must be one of: broker, controller",
        ),
        ("process.roles=", "{config}: Configuration 'process.roles' must not be empty. Valid values include: [broker, controller]"),
        (
            "log.dirs={directory},{directory}2,{directory}1",
            "No `meta.properties` found in {directory}1 (have you run `kafka-storage.sh` to format the directory?)",
        ),
        (
            "metadata.log.dir={directory}2",
            "Found unexpected metadata location in data directory `{directory}/__cluster_metadata-0` (the configured metadata directory is "
            "{directory}2).",
        ),
        ("log.dirs={directory}2", "No readable meta.properties files found. ({directory}2: not formatted)"),
        ("listeners=CONTROLLER://:{port}", "{config}: 0.0.0.0: a PLAINTEXT listener that others can reach must be allowed explicitly"),
        ("controller.quorum.fetch.timeout.ms=soon", "{config}: Invalid value soon for configuration controller.quorum.fetch.timeout.ms"),
        ("controller.listener.names=OTHER", "{config}: "),
        ("group.coordinator=other", "{config}: group.coordinator=other: must be embedded"),
    ],
)
def test_what_it_cannot_run_with_is_one_line(place: Callable[[str], Place], override: str, message: str) -> None:
    mine = place("mine")
    mine.format()
    places = {"directory": str(mine.directory), "config": str(mine.config), "port": str(mine.port)}
    assert failed(mine.run("--override", override.format(**places))).startswith(message.format(**places))


def test_a_wrong_command_line_is_status_2(place: Callable[[str], Place], tmp_path: Path) -> None:
    mine = place("mine")
    assert failed(run("server"), 2) == "missing CONFIG"
    assert failed(mine.run("--log-format", "xml"), 2) == "option --log-format: 'xml' is not one of text, json"
    assert failed(mine.run("--override", "sasl.jaas.config"), 2) == "option --override: number 1 is not NAME=VALUE"
    assert failed(run("server", str(tmp_path))) == f"{tmp_path}: Is a directory"
    empty = tmp_path / "empty.properties"
    empty.touch()
    missing = 'Missing required configuration "process.roles" which has no default value.'
    assert failed(run("server", str(empty))) == f"{empty}: {missing}"
    spoilt = tmp_path / "spoilt.properties"
    spoilt.write_text("process.roles=\\u12\n")
    assert failed(run("server", str(spoilt))) == f"{spoilt}: malformed \\uxxxx encoding"


def test_a_full_disk_is_named_by_its_directory(place: Callable[[str], Place]) -> None:
    at = place("full")
    config = load_config(str(at.config))
    assert place_of(OSError(errno.ENOSPC, "No space left on device"), config) == str(at.directory)
    assert place_of(OSError(errno.EMFILE, "Too many open files"), config) == str(at.config)


def test_a_disk_that_was_spoilt_is_one_line(place: Callable[[str], Place]) -> None:
    mine = place("mine")
    mine.format()
    (mine.directory / "meta.properties").write_text("version=7\n")
    assert "meta.properties" in failed(mine.run())


def test_a_password_in_a_setting_is_never_repeated(place: Callable[[str], Place]) -> None:
    mine = place("mine")
    mine.format()
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    jaas = f'{module} username="admin" password="hunter2" user_admin="hunter2"'
    secured = (
        *("--override", "listener.security.protocol.map=CONTROLLER:SASL_PLAINTEXT", "--override", "sasl.enabled.mechanisms=PLAIN"),
        *("--override", "sasl.mechanism.controller.protocol=PLAIN"),
    )
    server = mine.begin(*secured, "--override", f"listener.name.controller.plain.sasl.jaas.config={jaas};")
    lines = wait_for(server.stderr, "active controller")
    server.send_signal(signal.SIGTERM)
    status, errors = ended(server)
    assert status == 0 and "hunter2" not in "".join(lines) + errors
    # Without its last character it is no login module any more.
    for wrong in (jaas, f"hunter2 {jaas}", "hunter2"):
        assert "hunter2" not in failed(mine.run(*secured, "--override", f"listener.name.controller.plain.sasl.jaas.config={wrong}"))
    assert "hunter2" not in failed(mine.run("--override", "hunter2"), 2)


GROUPS = ("--override", "group.coordinator=embedded")


def test_groups_are_served_beside_a_controller_which_says_where_they_are_kept(place: Callable[[str], Place]) -> None:
    mine = place("mine")
    mine.format()
    for setting, why in (
        ("group.coordinator.listener=here", "group.coordinator.listener: 'here' is not HOST:PORT"),
        ("group.coordinator.listener=0.0.0.0:1", "group.coordinator.listener=0.0.0.0:1: must name a host that clients can connect to"),
        ("group.coordinator.broker.id=x", "group.coordinator.broker.id=x: must be a number from 0 to 2147483647"),
    ):
        assert failed(mine.run(*GROUPS, "--override", setting)) == f"{mine.config}: {why}"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listener = f"group.coordinator.listener=localhost:{taken.getsockname()[1]}"
        status, errors = ended(mine.begin(*GROUPS, "--override", listener))
    assert status == 1 and errors.splitlines()[-1].endswith("Address already in use"), errors
    server = mine.begin(*GROUPS, "--override", listener)
    lines = wait_for(server.stderr, "groups: ")
    address = listener.partition("=")[2]
    assert f"groups: broker 100 on {address}; groups and offsets are kept in {mine.directory}, partitions have no data" in lines[-1]
    assert "anybody who can connect (User:ANONYMOUS) may join and delete all groups" in wait_for(server.stderr, "may join")[-1]
    with Client([parse_address(address)], deadline_ms=LIMIT_S * 1000, attempts_max=0) as client:
        answer = client.request(messages.MetadataRequest(topics=None))
    assert [str(Address(broker.host, broker.port)) for broker in answer.brokers] == [address]
    server.send_signal(signal.SIGTERM)
    assert ended(server)[0] == 0


def test_check_starts_nothing_and_says_what_is_weak(place: Callable[[str], Place]) -> None:
    mine = place("mine")
    done = mine.run("--check")
    assert done.returncode == 1 and done.stderr == "" and not mine.directory.exists()
    assert done.stdout.splitlines()[-1].startswith("weak: authorizer.class.name: is not set")
    found = json.loads(mine.run("--check", "-o", "json").stdout)
    assert [each["id"] for each in found["weaknesses"]] == ["anonymous", "no-authorizer"]
    assert found["listeners"][0]["principal"] == "User:ANONYMOUS"


def test_the_audit_log_may_be_a_file_and_the_posture_is_said_at_the_start(place: Callable[[str], Place], tmp_path: Path) -> None:
    mine = place("mine")
    mine.format()
    log = tmp_path / "audit.log"
    server = mine.begin("--log-format", "json", "--audit-log", str(log))
    lines = wait_for(server.stderr, "weak: authorizer")
    assert any("rights: no authorizer" in line for line in lines)
    with Client([Address("localhost", mine.port)], client_id="test") as client:
        made = messages.CreateTopicsRequest
        while True:
            topic = made.CreatableTopic(name="a", num_partitions=1, replication_factor=1)
            answer = client.request(made(topics=(topic,), timeout_ms=10_000))
            if answer.topics[0].error_code != 41:
                break
        change = messages.IncrementalAlterConfigsRequest
        setting = change.AlterableConfig(name="x", config_operation=0, value="y")
        client.request(change(resources=(change.AlterConfigsResource(resource_type=4, resource_name="", configs=(setting,)),)))
    server.send_signal(signal.SIGTERM)
    _, errors = ended(server)
    (entry,) = [json.loads(line) for line in log.read_text().splitlines() if "IncrementalAlterConfigs" in line]
    assert (entry["event"], entry["result"], entry["principal"], entry["address"]) == ("audit", "applied", "User:ANONYMOUS", "127.0.0.1")
    assert "audit" not in errors
    assert failed(mine.run("--audit-log", str(tmp_path))) == f"{tmp_path}: Is a directory"
