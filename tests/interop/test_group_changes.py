"""`metashell groups reset-offsets`, `delete` and `delete-offsets` beside Kafka's tools on a real node: the same plans, the same offsets."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from metashell.cli.main import tool_of
from metashell.codec import messages
from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.values import uuid_from_text
from metashell.net.addresses import Address
from metashell.net.client import Client
from tests.interop.real_groups import Connection, RealGroups
from tests.java import KAFKA, kafka
from tests.running import Outcome, run_main, wait_until

pytestmark = pytest.mark.slow

PACKAGE = "org.apache.kafka.tools.consumer.group"
CONSUMER, SHARE = f"{PACKAGE}.ConsumerGroupCommand", f"{PACKAGE}.ShareGroupCommand"
BEGUN_MS = 1_790_000_000_000
LONG = "a-topic-whose-name-is-longer-than-24-characters"
"""Kafka's tools write such a name with quotes."""
Plan = dict[tuple[str, int], int]


def theirs(groups: RealGroups, tool: str, *words: str) -> str:
    done = kafka(KAFKA, tool, "--bootstrap-server", f"localhost:{groups.port}", *words)
    assert done.returncode == 0, done
    return done.stdout.decode()


def ours(groups: RealGroups, *words: str, status: int = 0) -> Outcome:
    done = run_main(tool_of("groups"), [*words, "-b", f"localhost:{groups.port}"], cwd=Path(__file__).parent)
    assert done.status == status, done
    return done


def plan_of(text: str) -> Plan:
    return {
        (topic, int(partition)): int(offset) for topic, partition, offset in csv.reader(line for line in text.splitlines() if "," in line)
    }


def committed(groups: RealGroups, group: str) -> Plan:
    done = ours(groups, "offsets", group, "-o", "jsonl")
    return {(row["topic"], row["partition"]): row["offset"] for row in map(json.loads, done.stdout.splitlines())}


@pytest.fixture(scope="module")
def written(groups: RealGroups) -> tuple[str, str]:
    """Two topics with records a minute apart, another number in each partition."""
    names = ("changes", LONG)
    request = messages.ProduceRequest
    for name in names:
        topic_id = uuid_from_text(groups.topic(name, 3))
        with Client([Address("localhost", groups.port)]) as client:
            for number in range(6):
                parts = tuple(
                    request.PartitionProduceData(
                        index=at,
                        records=write_batch(
                            0,
                            [Record(0, BEGUN_MS + 60_000 * number, None, b"x")],
                            leader_epoch=-1,
                            base_timestamp=BEGUN_MS + 60_000 * number,
                        ),
                    )
                    for at in range(3)
                    if number < 2 * at + 2
                )
                data = request.TopicProduceData(name=name, topic_id=topic_id, partition_data=parts)
                answer = client.request(request(acks=-1, timeout_ms=60_000, topic_data=(data,)))
                assert {one.error_code for topic in answer.responses for one in topic.partition_responses} == {0}, answer
    return names


SCOPES: list[list[str]] = [["--topic", "changes:0,2", "--topic", LONG], ["--all-topics"]]
SCENARIOS: list[list[str]] = [
    ["--to-earliest"],
    ["--to-latest"],
    ["--to-current"],
    ["--to-offset", "3"],
    ["--to-offset", "99"],
    ["--shift-by", "2"],
    ["--shift-by", "-2"],
    ["--to-datetime", "2026-09-21T14:15:30.000"],
    ["--to-datetime", "2040-01-01T00:00:00.000"],
    ["--by-duration", "PT0S"],
    ["--by-duration", "P3650D"],
]


def own(scenario: list[str]) -> list[str]:
    return ["=".join(scenario)]


def test_plans_are_those_of_kafka_and_the_csv_goes_both_ways(groups: RealGroups, written: tuple[str, str], tmp_path: Path) -> None:
    first = [word for name in written for word in ("--topic", name)]
    assert plan_of(theirs(groups, CONSUMER, "--reset-offsets", "--group", "twin", *first, "--to-offset", "1", "--export")) == plan_of(
        ours(groups, "reset-offsets", "twin", *first, "--to-offset", "1", "--export").stdout.decode()
    )
    ours(groups, "reset-offsets", "twin", *first, "--to-offset", "1", "--execute")
    for scope in SCOPES:
        for scenario in SCENARIOS:
            wanted = theirs(groups, CONSUMER, "--reset-offsets", "--group", "twin", *scope, *scenario, "--export")
            found = ours(groups, "reset-offsets", "twin", *scope, *own(scenario), "--export").stdout.decode()
            assert plan_of(found) == plan_of(wanted), (scope, scenario)
            assert sorted(found.splitlines()) == sorted(line for line in wanted.splitlines() if "," in line), (scope, scenario)
    assert set(committed(groups, "twin").values()) == {1}, "no dry run changes anything"

    # Ours is executed, exported by Kafka, moved on by ours, and put back by each tool from the other's file.
    ours(groups, "reset-offsets", "twin", "--all-topics", "--to-datetime=2026-09-21T14:15:30.000", "--execute")
    exported = theirs(groups, CONSUMER, "--reset-offsets", "--group", "twin", "--all-topics", "--to-current", "--export")
    assert committed(groups, "twin") == plan_of(exported)
    (tmp_path / "theirs.csv").write_text("".join(f"{line}\n" for line in exported.splitlines() if "," in line))
    mine = ours(groups, "reset-offsets", "twin", "--all-topics", "--to-current", "--export").stdout
    (tmp_path / "ours.csv").write_bytes(mine)
    ours(groups, "reset-offsets", "twin", "--all-topics", "--to-latest", "--execute")
    assert committed(groups, "twin") != plan_of(exported)
    ours(groups, "reset-offsets", "twin", "--from-file", str(tmp_path / "theirs.csv"), "--execute")
    assert committed(groups, "twin") == plan_of(exported)
    ours(groups, "reset-offsets", "twin", "--all-topics", "--to-latest", "--execute")
    theirs(groups, CONSUMER, "--reset-offsets", "--group", "twin", "--from-file", str(tmp_path / "ours.csv"), "--execute")
    assert committed(groups, "twin") == plan_of(exported)

    # Several groups stand in the lines.
    ours(groups, "reset-offsets", "other", "--topic", "changes", "--to-earliest", "--execute")
    both = ("--group", "twin", "--group", "other", "--all-topics", "--to-current", "--export")
    wanted = theirs(groups, CONSUMER, "--reset-offsets", *both)
    found = ours(groups, "reset-offsets", *both).stdout.decode()
    assert sorted(found.splitlines()) == sorted(line for line in wanted.splitlines() if "," in line)
    (tmp_path / "both.csv").write_text(wanted)
    rows = ours(groups, "reset-offsets", "twin", "other", "--from-file", str(tmp_path / "both.csv"), "-o", "jsonl").stdout
    assert all(row["current"] == row["offset"] for row in map(json.loads, rows.splitlines()))


def test_share_groups_are_reset_as_kafka_resets_them(groups: RealGroups, written: tuple[str, str]) -> None:
    consumer = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
    kafka(
        KAFKA, consumer, "--bootstrap-server", f"localhost:{groups.port}", "--topic", "changes", "--group", "shared", "--timeout-ms", "5000"
    )
    for scenario in (["--to-earliest"], ["--to-latest"], ["--to-offset", "1"], ["--to-datetime", "2026-09-21T14:15:30.000"]):
        wanted = theirs(groups, SHARE, "--reset-offsets", "--group", "shared", "--all-topics", *scenario, "--dry-run", "--export")
        assert plan_of(ours(groups, "reset-offsets", "shared", "--all-topics", *own(scenario), "--export").stdout.decode()) == plan_of(
            wanted
        )
    ours(groups, "reset-offsets", "shared", "--all-topics", "--to-offset=1", "--execute")
    wanted = theirs(groups, SHARE, "--reset-offsets", "--group", "shared", "--all-topics", "--to-current", "--dry-run", "--export")
    assert set(plan_of(wanted).values()) == {1}
    assert plan_of(ours(groups, "reset-offsets", "shared", "--all-topics", "--to-current", "--export").stdout.decode()) == plan_of(wanted)
    done = ours(groups, "reset-offsets", "shared", "--all-topics", "--shift-by=1", status=2)
    assert "is a share group, which Kafka does not reset by --shift-by" in done.stderr
    ours(groups, "delete-offsets", "shared", "--topic", "changes", "--yes")
    ours(groups, "delete", "shared", "--yes")
    assert "shared" not in theirs(groups, SHARE, "--list").split()


STREAMS = "org.apache.kafka.tools.streams.StreamsGroupCommand"


def streams_group(groups: RealGroups, group: str, *more: str) -> set[str]:
    """A streams group that reads `streams-in`, whose member has left again; its internal topics, which the broker made."""
    names = {f"{group}-store-changelog", f"{group}-x-repartition"}

    def topic(name: str, partitions: int) -> dict[str, object]:
        return {"name": name, "partitions": partitions, "replicationFactor": 1, "topicConfigs": []}

    first = {"subtopologyId": "0", "sourceTopics": ["streams-in"], "repartitionSinkTopics": [f"{group}-x-repartition"]}
    second = {"subtopologyId": "1", "sourceTopics": [], "repartitionSinkTopics": []}
    changelogs = [topic(f"{group}-store-changelog", 0), *(topic(name, 0) for name in more)]
    for part, of_state, of_source in ((first, changelogs, []), (second, [], [topic(f"{group}-x-repartition", 2)])):
        part |= {"sourceTopicRegex": [], "copartitionGroups": [], "stateChangelogTopics": of_state, "repartitionSourceTopics": of_source}
    none = dict.fromkeys(("instanceId", "rackId", "userEndpoint", "taskOffsets", "taskEndOffsets"))
    fields = {"groupId": group, "memberId": "m" * 22, "endpointInformationEpoch": 0, "rebalanceTimeoutMs": 20_000, "processId": "p", **none}
    fields |= {"activeTasks": [], "standbyTasks": [], "warmupTasks": [], "clientTags": [], "shutdownApplication": False}
    connection = Connection(groups.port, "streams")
    joined = {**fields, "memberEpoch": 0, "topology": {"epoch": 1, "subtopologies": [first, second]}}
    assert connection.ask("StreamsGroupHeartbeat", 0, joined)["errorCode"] == 0
    wait_until(lambda: names <= topics_of(groups))
    assert connection.ask("StreamsGroupHeartbeat", 0, {**fields, "memberEpoch": -1, "topology": None})["errorCode"] == 0
    connection.close()
    return names


def topics_of(groups: RealGroups) -> set[str]:
    done = run_main(tool_of("topics"), ["list", "-b", f"localhost:{groups.port}", "-o", "jsonl"], cwd=Path(__file__).parent)
    return {json.loads(line)["topic"] for line in done.stdout.splitlines()}


def test_internal_topics_of_streams_groups_go_only_when_they_are_named(groups: RealGroups) -> None:
    groups.topic("streams-in", 2)
    scope = ("--topic", "streams-in", "--to-earliest")
    made = {name: streams_group(groups, name) for name in ("by-theirs", "by-ours", "by-name", "by-delete")}
    stays = ours(groups, "reset-offsets", "by-ours", *scope, "--execute")
    assert b"internal" not in stays.stdout and made["by-ours"] <= topics_of(groups)
    dry = ours(groups, "reset-offsets", "by-ours", *scope, "--delete-all-internal-topics", "-o", "jsonl")
    rows = [json.loads(line) for line in dry.stdout.splitlines()]
    assert {row["topic"] for row in rows if row["type"] == "internal_topic"} == made["by-ours"] <= topics_of(groups)
    assert {row["result"] for row in rows} == {"would be set", "would be deleted"}
    ours(groups, "reset-offsets", "by-ours", *scope, "--delete-all-internal-topics", "--execute")
    theirs(groups, STREAMS, "--reset-offsets", "--group", "by-theirs", "--all-input-topics", "--to-earliest", "--execute", *ALL)
    wait_until(lambda: not (made["by-ours"] | made["by-theirs"]) & topics_of(groups))
    ours(groups, "reset-offsets", "by-name", *scope, "--delete-internal-topic", "by-name-x-repartition", "--execute")
    wait_until(lambda: made["by-name"] & topics_of(groups) == {"by-name-store-changelog"})
    # Kafka's tool deletes any topic that it is given here, an input topic too.
    for name in ("streams-in", "by-delete-x-repartition"):
        done = ours(groups, "reset-offsets", "by-name", *scope, "--delete-internal-topic", name, "--execute", status=2)
        assert f"{name}: is no internal topic of by-name (its topology has: by-name-store-changelog, by-name-x-repartition)" in done.stderr
    streams_group(groups, "by-foe", "orders-of-others")
    done = ours(groups, "reset-offsets", "by-foe", *scope, *ALL, "--execute", status=2)
    assert "orders-of-others: a member of by-foe called it an internal topic" in done.stderr
    ours(groups, "reset-offsets", "no-streams", *scope, "--execute")
    assert "only streams groups have internal topics" in ours(groups, "reset-offsets", "no-streams", *scope, *ALL, status=2).stderr
    shown = ours(groups, "delete", "by-delete", *ALL, "--dry-run")
    assert b"by-delete-x-repartition: would be deleted" in shown.stdout and made["by-delete"] <= topics_of(groups)
    ours(groups, "delete", "by-delete", *ALL, "--yes")
    wait_until(lambda: not made["by-delete"] & topics_of(groups))
    assert "streams-in" in topics_of(groups)
    # kafka-consumer-groups lists no streams groups, and others ask this broker what groups there are.
    for name in ("by-theirs", "by-ours", "by-name", "by-foe"):
        ours(groups, "delete", name, "--yes")


ALL = ("--delete-all-internal-topics",)


def test_what_cannot_be_reset_is_named(groups: RealGroups, written: tuple[str, str]) -> None:
    done = ours(groups, "reset-offsets", "nobody", "--topic", "changes", "--shift-by=1", status=1)
    assert "changes-0: cannot be shifted: nobody has committed nothing there" in done.stderr
    done = ours(groups, "reset-offsets", "nobody", "--topic", "changes:0,7", "--to-earliest", "-o", "json", status=1)
    assert "changes-7: UNKNOWN_TOPIC_OR_PARTITION" in done.stderr
    assert [(row["partition"], row["result"]) for row in json.loads(done.stdout)] == [(7, "failed"), (0, "would be set")]


def test_offsets_and_groups_are_deleted_as_kafka_deletes_them(groups: RealGroups, written: tuple[str, str]) -> None:
    for group in ("gone-1", "gone-2"):
        ours(groups, "reset-offsets", group, "--topic", "changes", "--to-latest", "--execute")
    assert b"would be deleted" in ours(groups, "delete-offsets", "gone-1", "--topic", "changes:0", "--dry-run").stdout
    assert len(committed(groups, "gone-1")) == 3
    ours(groups, "delete-offsets", "gone-1", "--topic", "changes:0", status=2)
    ours(groups, "delete-offsets", "gone-1", "--topic", "changes:0", "--yes")
    theirs(groups, CONSUMER, "--delete-offsets", "--group", "gone-2", "--topic", "changes:0")
    assert committed(groups, "gone-1") == committed(groups, "gone-2") != {}
    ours(groups, "delete", "gone-1", "--yes")
    theirs(groups, CONSUMER, "--delete", "--group", "gone-2")
    assert ours(groups, "delete", "gone-1", "--yes", status=1).stderr.startswith("metashell groups delete: gone-1: GROUP_ID_NOT_FOUND")
    listed = theirs(groups, CONSUMER, "--list").split()
    assert "gone-1" not in listed and "gone-2" not in listed
