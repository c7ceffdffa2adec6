"""A voter of ours among real Kafka controllers: it replicates, elects them, and is added and removed by Kafka's tools."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metashell.cli.kafka_storage import main as kafka_storage
from metashell.client.client import Client
from metashell.client.errors import ConnectError
from metashell.codec.api_keys import DESCRIBE_QUORUM
from metashell.image import load_image
from metashell.log.directory_source import open_directory
from metashell.net.addresses import Address
from metashell.raft import messages as flat
from metashell.raft.wire import decode_response, encode_request
from metashell.values import uuid_text
from tests.java import jars, java, kafka
from tests.java import kafka_command as command
from tests.running import REPOSITORY, run_main
from tools.interop.nodes import Cluster, Node, cluster, controller_settings, free_ports, write_config

pytestmark = pytest.mark.slow

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
QUORUM_TOOL = "org.apache.kafka.tools.MetadataQuorumCommand"


class Mixed:
    """Controllers 1, 2 and 3, some of them Kafka's."""

    def __init__(self, version: str, folder: Path, place: Cluster) -> None:
        self.version = version
        self.folder = folder
        self.place = place
        self.ports = dict(zip((1, 2, 3), free_ports(3), strict=True))
        self.nodes: dict[int, Node] = {}

    def format(self, quorum: dict[str, object], words_of: Callable[[int], list[str]]) -> None:
        release = ["-r", "3.9"] if self.version.startswith("3.") else []
        for id, port in self.ports.items():
            config = write_config(self.config(id), controller_settings(id, port, self.folder / f"d{id}", quorum))
            outcome = run_main(kafka_storage, ["format", "-t", CLUSTER_ID, "-c", str(config), *words_of(id), *release], cwd=self.folder)
            assert outcome.status == 0, outcome

    def config(self, id: int) -> Path:
        return self.folder / f"node-{id}.properties"

    def start_kafka(self, id: int) -> None:
        self.nodes[id] = self.place.start(self.config(id))

    def start_ours(self, id: int) -> None:
        log = self.folder / f"ours-{id}.log"
        argv = [sys.executable, "-m", "tools.interop.voter", "-v", str(self.config(id))]
        with open(log, "ab") as output:
            process = subprocess.Popen(argv, stderr=output, cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": str(REPOSITORY)})
        self.nodes[id] = Node(f"ours-{id}", process, log)
        self.place.nodes.append(self.nodes[id])

    def end(self, id: int, number: signal.Signals) -> int:
        node = self.nodes.pop(id)
        self.place.nodes.remove(node)
        node.process.send_signal(number)
        return node.process.wait(60)

    def describe(self) -> flat.DescribeQuorumResponse | None:
        """The quorum as its leader sees it, None while nobody leads."""
        for id in self.nodes:
            try:
                with Client([Address("localhost", self.ports[id])], deadline_ms=5000) as client:
                    answer = client.request(encode_request(flat.DescribeQuorumRequest(), 2))
            except ConnectError:
                continue
            described = decode_response(DESCRIBE_QUORUM, 2, answer)
            assert isinstance(described, flat.DescribeQuorumResponse)
            if not described.error and not described.top_error:
                return described
        return None

    def wait_for(self, what: str, holds: Callable[[flat.DescribeQuorumResponse], bool]) -> flat.DescribeQuorumResponse:
        found: list[flat.DescribeQuorumResponse] = []

        def look() -> bool:
            described = self.describe()
            found[:] = [described] if described is not None else []
            return described is not None and described.high_watermark > 0 and holds(described)

        self.place.wait_until(what, look)
        return found[0]

    def ask_tool(self, id: int, *words: str) -> str:
        """What Kafka's kafka-metadata-quorum prints, asked through one node."""
        done = kafka("4.3.1", QUORUM_TOOL, "--bootstrap-controller", f"localhost:{self.ports[id]}", *words)
        text = done.stdout.decode() + done.stderr.decode()
        assert done.returncode == 0, text
        return text

    def log_of(self, id: int) -> bytes:
        return (self.folder / f"d{id}" / "__cluster_metadata-0" / f"{0:020d}.log").read_bytes()


@pytest.fixture(params=["4.3.1", "3.9.2"])
def mixed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mixed]:
    java()
    jars(request.param)
    jars("4.3.1")
    with cluster(lambda tool, *words: command(request.param, tool, *words), tmp_path) as place:
        yield Mixed(request.param, tmp_path, place)


def has_caught_up(described: flat.DescribeQuorumResponse, id: int) -> bool:
    """Whether a voter has all that is committed, within the last two seconds."""
    return any(
        state.id == id and state.log_end_offset >= described.high_watermark and time.time() * 1000 - state.last_fetch_timestamp < 2000
        for state in described.voters
    )


def test_ours_replicates_a_quorum_of_kafka_and_its_vote_elects_the_next_leader(mixed: Mixed) -> None:
    voters = ",".join(f"{id}@localhost:{port}" for id, port in mixed.ports.items())
    mixed.format({"controller.quorum.voters": voters}, lambda id: [])
    for id in (1, 2):
        mixed.start_kafka(id)
    mixed.start_ours(3)
    first = mixed.wait_for("ours catches up", lambda described: has_caught_up(described, 3))
    assert first.leader_id in (1, 2)
    status = mixed.ask_tool(3, "describe", "--status")
    assert f"LeaderId:               {first.leader_id}" in status
    mixed.end(first.leader_id, signal.SIGKILL)
    second = mixed.wait_for("ours elects the other", lambda described: described.epoch > first.epoch and has_caught_up(described, 3))
    assert second.leader_id == 3 - first.leader_id
    assert mixed.end(3, signal.SIGTERM) == 0
    mixed.start_kafka(first.leader_id)
    mixed.start_ours(3)
    mixed.wait_for("all are back", lambda described: all(has_caught_up(described, id) for id in (1, 2, 3)))
    mixed.place.wait_until("the log is worth comparing", lambda: len(mixed.log_of(3)) > 1000)
    assert mixed.end(3, signal.SIGTERM) == 0
    ours = mixed.log_of(3)
    assert len(ours) > 1000
    for id in (1, 2):
        assert mixed.log_of(id).startswith(ours)
    state = json.loads((mixed.folder / "d3" / "__cluster_metadata-0" / "quorum-state").read_text())
    assert state["leaderEpoch"] >= second.epoch
    image = load_image(open_directory(str(mixed.folder / "d3" / "__cluster_metadata-0")))
    assert image.features.metadata_version is not None and not image.faults


def test_kafkas_tools_add_ours_to_a_dynamic_quorum_and_remove_it(mixed: Mixed) -> None:
    mixed.format(
        {"controller.quorum.bootstrap.servers": f"localhost:{mixed.ports[1]}"},
        lambda id: ["--standalone"] if id == 1 else ["--no-initial-controllers"],
    )
    mixed.start_kafka(1)
    mixed.start_ours(2)
    seen = mixed.wait_for("ours observes", lambda described: any(state.id == 2 for state in described.observers))
    key = next(state for state in seen.observers if state.id == 2)
    mixed.ask_tool(2, "--command-config", str(mixed.config(2)), "add-controller")
    added = mixed.wait_for("ours is a voter", lambda described: has_caught_up(described, 2))
    assert {state.id: state.directory_id for state in added.voters}[2] == key.directory_id
    mixed.end(1, signal.SIGKILL)
    mixed.start_kafka(1)
    again = mixed.wait_for("Kafka leads again, with the vote of ours", lambda described: described.epoch > added.epoch)
    assert again.leader_id == 1
    words = ["--controller-id", "2", "--controller-directory-id", uuid_text(key.directory_id)]
    mixed.ask_tool(2, "remove-controller", *words)
    removed = mixed.wait_for("ours observes again", lambda described: {state.id for state in described.voters} == {1})
    assert removed.epoch == again.epoch
    assert mixed.end(2, signal.SIGTERM) == 0
