"""health beside kafka-topics and a broker of a real Kafka, on one cluster: where both count a kind, and by what rule they differ."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import pytest

from metashell.cli.inspect import kafka_shell
from metashell.cli.main import tool_of
from metashell.codec import messages
from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.net.addresses import parse_address
from metashell.net.client import Client
from metashell.quorum.embedded import EmbeddedQuorum
from tests.extra_broker import PATIENT, ExtraBroker
from tests.interop.one_broker import BROKER_ID, OneBroker, format_broker
from tests.java import host_command
from tests.running import run_main
from tools.interop.host import Host
from tools.interop.nodes import cluster

pytestmark = pytest.mark.slow

RELEASE: Final = "3.9-IV0"
"""Without eligible leader replicas, so that single brokers may have a min.insync.replicas of their own."""
AWAY: Final = 203
NOT_ENOUGH_REPLICAS: Final = 19
PLACED: Final = {
    "sound": [BROKER_ID],
    "sound-three": [201, 202, BROKER_ID],
    "behind": [201, 202, BROKER_ID],
    "under": [201, 202, BROKER_ID],
    "at": [201, 202],
    "wants-too-many": [201],
    "leaderless": [AWAY],
    "leaderless-two": [AWAY, 202],
    "moving": [201],
    "moving-real": [BROKER_ID],
    "led-by-real": [BROKER_ID, AWAY],
    "led-by-other": [201, AWAY],
}
MIN_ISR: Final = {"under": 2, "wants-too-many": 2, "at": 1, "led-by-other": 1, "sound-three": 1}


class Place:
    """A quorum with a real broker in a Java process, which runs Kafka's tools too, and brokers that do what the test says."""

    def __init__(self, quorum: EmbeddedQuorum, real: OneBroker, host: Host) -> None:
        self.quorum = quorum
        self.real = real
        self.host = host
        self.others = {id: ExtraBroker(quorum, id) for id in (201, 202, AWAY)}

    def tool(self, tool: str, *words: str) -> str:
        self.host.ask("settle", controllers=self.quorum.bootstrap_controllers, config="")
        done = self.host.run(tool, ["--bootstrap-server", self.real.bootstrap, *words])
        assert done.status == 0, done
        return done.stdout

    def told(self, flag: str) -> set[str]:
        """The partitions that kafka-topics describes with a flag."""
        return {
            f"{topic}/{number}"
            for topic, number in re.findall(r"Topic: (\S+)\s+Partition: (\d+)", self.tool("kafka-topics", "--describe", flag))
        }

    def written(self, topic: str) -> int:
        """The error code of a record that all in sync have to get."""
        request = messages.ProduceRequest
        id = self.quorum.image.topics.by_name[topic].id
        batch = write_batch(0, [Record(0, 0, None, b"text")], leader_epoch=-1, base_timestamp=0)
        data = request.TopicProduceData(name=topic, topic_id=id, partition_data=(request.PartitionProduceData(index=0, records=batch),))
        with Client([parse_address(self.real.bootstrap)]) as client:
            answer = client.request(request(acks=-1, timeout_ms=10_000, topic_data=(data,)))
        (code,) = [partition.error_code for topic in answer.responses for partition in topic.partition_responses]
        return int(code)

    def ours(self, *words: str) -> dict[str, set[str]]:
        line = ["-C", self.quorum.bootstrap_controllers, "health", "-n", "99", *words, "-o", "jsonl"]
        done = run_main(kafka_shell.main, line, cwd=self.real.directory.parent)
        assert done.stderr == "", done
        return {row["kind"]: set(row["names"]) for row in map(json.loads, done.stdout.splitlines()) if row["type"] == "health"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("health")
    with (
        EmbeddedQuorum(controllers=1, metadata_version=RELEASE, properties=PATIENT) as quorum,
        cluster(lambda *words: list(words), folder) as nodes,
    ):
        config, real = format_broker(quorum, folder, metadata_version=RELEASE)
        host = Host(host_command(), folder)
        nodes.nodes.append(host.node)
        host.ask("start", configs=[str(config)])
        quorum.wait_for(lambda image: BROKER_ID in image.cluster.brokers and not image.cluster.brokers[BROKER_ID].fenced, 60)
        place = Place(quorum, real, host)
        make_topics(place)
        yield place


def make_topics(place: Place) -> None:
    request = messages.CreateTopicsRequest
    topic, assignment, config = request.CreatableTopic, request.CreatableReplicaAssignment, request.CreatableTopicConfig
    place.others[AWAY].fence()
    first = [name for name in PLACED if not name.startswith("leaderless")]
    for names in (first, [name for name in PLACED if name not in first]):
        if names != first:
            place.others[AWAY].fence(False)
        made = tuple(
            topic(
                name=name,
                num_partitions=-1,
                replication_factor=-1,
                assignments=(assignment(partition_index=0, broker_ids=tuple(PLACED[name])),),
                configs=(config(name="min.insync.replicas", value=str(MIN_ISR[name])),) if name in MIN_ISR else (),
            )
            for name in names
        )
        answer = place.quorum.request(request(topics=made, timeout_ms=10_000, validate_only=False))
        assert all(one.error_code == 0 for one in answer.topics), answer
    for name in ("behind", "under", "at"):
        place.others[201].shrink(name)
    place.others[AWAY].shrink("leaderless-two")
    place.others[AWAY].fence()
    move = messages.AlterPartitionReassignmentsRequest
    moved = tuple(
        move.ReassignableTopic(name=name, partitions=(move.ReassignablePartition(partition_index=0, replicas=(*PLACED[name], AWAY)),))
        for name in ("moving", "moving-real")
    )
    answer = place.quorum.request(move(topics=moved, timeout_ms=10_000))
    assert answer.error_code == 0, answer


def only(names: set[str]) -> set[str]:
    return {name for name in names if name.rpartition("/")[0] in PLACED}


def test_partitions_without_their_replicas_are_the_same(place: Place) -> None:
    ours = place.ours()
    assert only(place.told("--under-replicated-partitions")) == only(ours["under_replicated"])


def test_partitions_without_a_leader_are_the_same(place: Place) -> None:
    ours = place.ours()
    assert only(place.told("--unavailable-partitions")) == only(ours["leaderless"]) == {"leaderless/0", "leaderless-two/0"}
    assert "offline" not in ours


@pytest.mark.parametrize("through", ["-b", "-C"])
def test_topics_describe_finds_the_same_by_both_ways(place: Place, through: str) -> None:
    address = place.real.bootstrap if through == "-b" else place.quorum.bootstrap_controllers
    done = run_main(tool_of("topics"), ["describe", "--unhealthy", through, address, "-o", "jsonl"], cwd=place.real.directory.parent)
    found: dict[str, set[str]] = defaultdict(set)
    for row in map(json.loads, done.stdout.splitlines()):
        for problem in row["problems"] if row["type"] == "partition" else ():
            found[problem].add(f"{row['topic']}/{row['partition']}")
    assert only(found["under_replicated"]) == only(place.told("--under-replicated-partitions")), done
    assert only(found["leaderless"]) == only(place.told("--unavailable-partitions"))
    assert only(found["under_min_isr"]) == {"under/0"}


def test_under_min_isr_is_kafkas_but_for_two_rules(place: Place) -> None:
    """kafka-topics does not cap it at the number of replicas, as a leader does, and calls all that nobody leads under it."""
    theirs, ours = only(place.told("--under-min-isr-partitions")), place.ours()
    capped, leaderless = {"wants-too-many/0"}, only(ours["leaderless"])
    assert theirs == only(ours["under_min_isr"]) | capped | leaderless
    assert only(ours["under_min_isr"]) == {"under/0"}


def test_at_min_isr_is_kafkas_but_for_partitions_that_lack_nothing(place: Place) -> None:
    """kafka-topics counts those too that have all their replicas, where these are no more than min.insync.replicas."""
    theirs, ours = only(place.told("--at-min-isr-partitions")), place.ours()
    lack_nothing = {"sound/0", "moving/0", "moving-real/0", "leaderless/0"}
    assert theirs == only(ours["at_min_isr"]) | lack_nothing
    assert "sound-three/0" not in theirs


def test_a_leader_goes_by_its_own_min_isr_and_so_do_we(place: Place) -> None:
    """kafka-topics takes what the broker that it asks has for all topics; what the leader takes shows when something is written."""
    words = ("--entity-type", "brokers", "--entity-name", str(BROKER_ID), "--alter", "--add-config", "min.insync.replicas=2")
    assert place.ours()["under_min_isr"] == {"under/0"}
    assert [place.written(topic) for topic in ("led-by-real", "moving-real", "sound")] == [0, 0, 0]
    place.tool("kafka-configs", *words)
    try:
        assert place.ours()["under_min_isr"] == {"under/0", "led-by-real/0", "moving-real/0"}
        assert place.written("led-by-real") == NOT_ENOUGH_REPLICAS
        # What a reassignment adds counts here, other than for being under-replicated.
        assert place.written("moving-real") == NOT_ENOUGH_REPLICAS
        # No partition needs more replicas in sync than it has.
        assert place.written("sound") == 0
        theirs = only(place.told("--under-min-isr-partitions"))
        assert {"led-by-real/0", "sound/0", "behind/0", "moving/0"} <= theirs
        assert "led-by-other/0" not in theirs
    finally:
        place.tool("kafka-configs", *words[:-2], "--delete-config", "min.insync.replicas")
    assert place.ours()["under_min_isr"] == {"under/0"}


def test_a_value_for_all_brokers_counts_for_topics_without_one(place: Place) -> None:
    words = ("--entity-type", "brokers", "--entity-default", "--alter", "--add-config", "min.insync.replicas=2")
    place.tool("kafka-configs", *words)
    try:
        ours = place.ours()["under_min_isr"]
        assert ours == {"under/0", "led-by-real/0", "behind/0", "leaderless-two/0", "moving/0", "moving-real/0"}
        assert place.written("led-by-real") == NOT_ENOUGH_REPLICAS
        theirs = only(place.told("--under-min-isr-partitions"))
        assert theirs == ours | {"wants-too-many/0", "leaderless/0", "sound/0"}
    finally:
        place.tool("kafka-configs", *words[:-2], "--delete-config", "min.insync.replicas")


def test_the_rest_is_what_was_made(place: Place) -> None:
    ours = place.ours("--stuck-after", "1h")
    assert ours["stuck_reassignment"] == ours["reassigning"] == {"moving/0", "moving-real/0"}
    assert ours["fenced"] == {str(AWAY)}
    kinds = {"leaderless", "under_min_isr", "under_replicated", "stuck_reassignment", "fenced", "at_min_isr", "reassigning"}
    assert set(ours) == kinds | {"one_replica"}
