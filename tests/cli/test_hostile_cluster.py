"""Every command that asks a cluster, with a cluster that never ends its answers, or sends more than anybody can hold."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from metashell.codec.codes import API_VERSIONS, DESCRIBE_CLUSTER, METADATA
from metashell.codec.messages import ApiVersionsResponse, DescribeClusterResponse, DescribeTopicPartitionsResponse
from metashell.common.command import TimeLimit, TimeUp
from metashell.common.options import CommandSpec
from metashell.net.addresses import Address
from metashell.net.api_versions import ALL_RANGES
from metashell.net.client_connection import VALUES_MAX
from metashell.net.frames import decode_request_header, encode_response, response_type
from tests.running import MEASURED, command_line, no_longer_than
from tools.tool_list import TOOLS

HANG_S: Final = 120
"""Only ends what hangs: a peer draws out its answers for longer."""
MEMORY_MAX_KB: Final = 450 * 1024
DRIP_S: Final = 0.1
DESCRIBE_TOPIC_PARTITIONS: Final = 75

WORDS: Final[Mapping[str, str]] = {
    "kafka-shell": "ls /",
    "metashell-health": "",
    "metashell-status": "",
    "metashell-ls": "/",
    "metashell-cat": "/image/cluster/brokers/1",
    "metashell-find": "/ -name x",
    "metashell-log": "/image/topics",
    "metashell-diff": "",
    "metashell-why": "/image/topics/byName/t/0",
    "dump-log": "",
    "metashell-rehearse": "",
    "kafka-cluster cluster-id": "",
    "kafka-cluster unregister": "--id 1",
    "kafka-cluster unregister-controller": "--id 1",
    "kafka-cluster list-endpoints": "",
    "kafka-cluster api-versions": "",
    "kafka-metadata-quorum": "describe --status",
    "kafka-features": "describe",
    "metashell-quorum describe": "",
    "metashell-quorum add-controller": "--server-config {directory}/server.properties",
    "metashell-quorum remove-controller": "3 --yes",
    "metashell-quorum unregister-controller": "3 --yes",
    "metashell-topics list": "",
    "metashell-topics describe": "t",
    "metashell-topics create": "t",
    "metashell-topics alter": "t -p 24 --yes",
    "metashell-topics delete": "t --yes",
    "metashell-configs get": "topic:t",
    "metashell-configs set": "topic:t retention.ms=1",
    "metashell-configs unset": "topic:t retention.ms",
    "metashell-cluster": "",
    "metashell-brokers list": "",
    "metashell-brokers describe": "1",
    "metashell-brokers unregister": "1 --yes",
    "metashell-features describe": "",
    "metashell-features upgrade": "-r 4.4",
    "metashell-features downgrade": "metadata.version=4.2 --yes",
    "metashell-features disable": "share.version --yes",
    "metashell-features apis": "",
    "metashell-elect preferred": "--all",
    "metashell-elect unclean": "t:3 --yes",
    "metashell-reassign plan": "--off 3",
    "metashell-reassign apply": "{directory}/plan.json --yes",
    "metashell-reassign status": "",
    "metashell-reassign cancel": "t:0 --yes",
    "metashell-acls list": "",
    "metashell-acls add": "--allow alice --operation read --topic t",
    "metashell-acls remove": "--principal alice --topic t --yes",
    "metashell-quotas list": "",
    "metashell-quotas set": "--user alice producer_byte_rate=10M",
    "metashell-quotas unset": "--user alice producer_byte_rate",
    "metashell-scram list": "",
    "metashell-scram set": "alice --password-file {directory}/password",
    "metashell-scram delete": "alice --yes",
    "metashell-groups list": "",
    "metashell-groups describe": "g",
    "metashell-groups offsets": "g",
    "metashell-groups lag": "g",
    "metashell-groups reset-offsets": "g --topic t --to-earliest --execute",
    "metashell-groups delete": "g --yes",
    "metashell-groups delete-offsets": "g --topic t --yes",
}
"""The rest of the command line of every command that names a cluster."""
MODULES: Final = {
    "metashell": "metashell.cli.main",
    "kafka-shell": "metashell.cli.inspect.kafka_shell",
    "dump-log": "metashell.cli.inspect.dump_log",
}
ANSWERED: Final = (
    *("kafka-cluster api-versions", "kafka-cluster cluster-id", "kafka-cluster list-endpoints", "kafka-features"),
    *("metashell-features apis", "metashell-features describe", "metashell-features upgrade"),
)
"""Commands that need nothing but what the node does say."""
PLAN: Final = '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1]}]}'


def specs() -> Iterator[tuple[str, CommandSpec]]:
    """All commands that name a cluster, with their names."""
    left = list(TOOLS.items())
    while left:
        name, spec = left.pop()
        names = {name for option in spec.options for name in option.names}
        if names & {"--bootstrap-server", "--bootstrap-controller"}:
            yield name, spec
        left += [(f"{name} {one.name}", one) for one in spec.commands]


class HostileNode:
    """A node that says who it is, and answers everything else as `mode` says.

    `drip`: a byte now and then, without end. `pages`: one page of topics after another. `many`: more partitions than an answer may have.
    """

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.asked = 0
        self._pages = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self._is_over = threading.Event()
        self.address = Address("127.0.0.1", self._server.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with suppress(OSError, EOFError), connection:
            while True:
                (size,) = struct.unpack(">i", _read(connection, 4))
                header, _ = decode_request_header(_read(connection, size))
                key, version = header.api_key, header.api_version
                self.asked += 1
                if (answer := self._answer(key, version)) is not None:
                    connection.sendall(
                        encode_response(key, min(version, 4) if key == API_VERSIONS else version, header.correlation_id, answer)
                    )
                elif self.mode == "many" and key == METADATA:
                    connection.sendall(many_partitions(header.correlation_id))
                else:
                    connection.sendall(struct.pack(">ii", 1_000_000, header.correlation_id))
                    while not self._is_over.wait(DRIP_S):
                        connection.sendall(b"\0")

    def _answer(self, key: int, version: int) -> Any:
        if key == API_VERSIONS:
            made = ApiVersionsResponse.ApiVersion
            keys = tuple(made(api_key=key, min_version=low, max_version=high) for key, (low, high) in ALL_RANGES.items())
            return ApiVersionsResponse(api_keys=keys)
        if key == DESCRIBE_CLUSTER:
            node = DescribeClusterResponse.DescribeClusterBroker(broker_id=1, host=self.address.host, port=self.address.port)
            return DescribeClusterResponse(cluster_id="c", controller_id=1, brokers=(node,), endpoint_type=1)
        if key == DESCRIBE_TOPIC_PARTITIONS and self.mode == "pages":
            self._pages += 1
            cursor = DescribeTopicPartitionsResponse.Cursor(topic_name=f"t{self._pages:09}", partition_index=0)
            return DescribeTopicPartitionsResponse(topics=(), next_cursor=cursor)
        return response_type(key).cls() if self.mode == "many" and key != METADATA else None

    def close(self) -> None:
        self._is_over.set()
        self._server.close()


def _read(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        if not (more := connection.recv(size - len(data))):
            raise EOFError
        data += more
    return bytes(data)


def many_partitions(correlation_id: int) -> bytes:
    """A Metadata answer, version 13, with more partitions than are taken: a few bytes each, and hundreds once decoded."""
    count = VALUES_MAX // 4
    partition = struct.pack(">hiii", 0, 0, 1, 0) + b"\1\1\1\0"
    topic = b"\0\0\2t" + bytes(16) + b"\0" + _uvarint(count + 1) + partition * count + struct.pack(">i", 0) + b"\0"
    body = struct.pack(">i", 0) + b"\1" + b"\2c" + struct.pack(">i", 1) + b"\2" + topic + b"\0\0\0"
    frame = struct.pack(">i", correlation_id) + b"\0" + body
    return struct.pack(">i", len(frame)) + frame


def _uvarint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


@contextmanager
def hostile(mode: str) -> Iterator[HostileNode]:
    node = HostileNode(mode)
    try:
        yield node
    finally:
        node.close()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "plan.json").write_text(PLAN)
    (tmp_path / "password").write_text("secret")
    (tmp_path / "client.properties").write_text("default.api.timeout.ms=1000\nrequest.timeout.ms=1000\n")
    (tmp_path / "server.properties").write_text(
        f"process.roles=controller\nnode.id=3\nlog.dirs={tmp_path}/log\nlisteners=CONTROLLER://localhost:1\n"
        "controller.listener.names=CONTROLLER\ncontroller.quorum.bootstrap.servers=localhost:1\n"
    )
    return tmp_path


def words_of(name: str, spec: CommandSpec, files: Path, node: HostileNode, *, by_controllers: bool) -> list[str]:
    tool, *command = name.split()
    words = WORDS[name].format(directory=files).split()
    options = {option for each in spec.options for option in each.names}
    where = ["--bootstrap-controller" if by_controllers else "--bootstrap-server", str(node.address)]
    if "--timeout" in options:
        how = ["--timeout", "1"]
    else:
        how = ["--command-config" if "--command-config" in options else "--config", str(files / "client.properties")]
    start = ["metashell", tool.removeprefix("metashell-")] if tool.startswith("metashell-") else ["metashell", "kafka", tool]
    if tool in ("kafka-shell", "dump-log"):
        start = [tool]
    if tool in ("kafka-features", "kafka-metadata-quorum"):
        return [*start, *where, *how, *command, *words]
    return [*start, *command, *words, *where, *how]


def ended(words: list[str], around: str = "") -> tuple[int, str]:
    """Run a command in a process of its own; returns its status and what it wrote."""
    line = command_line(MODULES[words[0]], *words[1:])
    if around:
        line = [sys.executable, "-c", around, *line]
    done = subprocess.run(line, capture_output=True, text=True, timeout=HANG_S, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def test_every_command_that_names_a_cluster_is_tried_here() -> None:
    assert {name for name, _ in specs()} == WORDS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("by_controllers", [False, True])
def test_no_command_waits_for_a_peer_that_never_ends_its_answers(files: Path, by_controllers: bool) -> None:
    with hostile("drip") as node, ThreadPoolExecutor(6) as pool:
        lines = {name: words_of(name, spec, files, node, by_controllers=by_controllers) for name, spec in specs()}
        found = dict(zip(lines, pool.map(ended, lines.values()), strict=True))
    wrong = {
        name: (status, text)
        for name, (status, text) in found.items()
        if "Traceback" in text or not ((status == 1 and text) or (status == 0 and name in ANSWERED))
    }
    assert wrong == {}


def test_pages_without_end_end_with_the_time_of_the_command(files: Path) -> None:
    with hostile("pages") as node:
        status, errors = ended(["metashell", "topics", "describe", "t", "-b", str(node.address), "--timeout", "1"])
    assert (status, errors) == (1, f"metashell topics describe: {node.address}: no complete answer within 1 s\n")
    assert node.asked > 10


def test_an_answer_with_more_values_than_are_taken_is_refused_before_it_is_decoded(files: Path) -> None:
    with hostile("many") as node:
        status, errors = ended(["metashell", "topics", "list", "-b", str(node.address), "--timeout", str(HANG_S)], MEASURED)
        largest_kb = int(errors.splitlines()[-1])
    assert status == 1 and f"holds more values than are taken ({VALUES_MAX})" in errors, errors
    assert largest_kb < MEMORY_MAX_KB


def test_a_call_that_computes_is_interrupted_when_its_time_is_over() -> None:
    limit = TimeLimit(0.01)
    limit.GRACE_S = 0.0
    with no_longer_than(HANG_S), pytest.raises(TimeUp), limit.waiting():
        while True:
            pass
    assert limit.left_s == 0
    with pytest.raises(TimeUp), limit.waiting():
        raise AssertionError("no time is left for it")
    limit.renew()
    with limit.waiting():
        time.sleep(0)
    assert 0 < limit.left_s <= 0.01
