"""Lag and rebalances of a real broker, beside kafka-consumer-groups and kafka-transactions: one open transaction, one member that waits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.groups.command import main
from metashell.codec.consumer_protocol import Subscription, subscription_bytes
from tests.interop.one_broker import OneBroker, one_broker
from tests.interop.real_groups import Connection
from tests.interop.test_java_members import Members
from tests.java import KAFKA, kafka
from tests.running import Outcome, run_main, wait_until

pytestmark = pytest.mark.slow

confluent = pytest.importorskip("confluent_kafka")
admin = pytest.importorskip("confluent_kafka.admin")

GROUPS_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TRANSACTIONS_TOOL = "org.apache.kafka.tools.TransactionsCommand"
PLAIN = 30
OFFSETS = {"reader": 2, "late": 0, "ahead": 33}
MARKED = "marked"
"""A group that has committed the last record of a committed transaction, and not the marker behind it."""
SOON = "heartbeat.interval.ms=100 partition.assignment.strategy=org.apache.kafka.clients.consumer.RangeAssignor"
SETTINGS = {"transaction.state.log.num.partitions": 1, "transaction.state.log.replication.factor": 1, "transaction.state.log.min.isr": 1}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneBroker]:
    with one_broker(tmp_path_factory.mktemp("lag"), fake_brokers=0, settings=SETTINGS) as running:
        at = {"bootstrap.servers": running.bootstrap}
        client = admin.AdminClient(at)
        for future in client.create_topics([admin.NewTopic("held", 1, 1), admin.NewTopic("ended", 1, 1)]).values():
            future.result()
        producer = confluent.Producer({**at, "transactional.id": "hung-1", "transaction.timeout.ms": 600_000})
        producer.init_transactions()
        producer.begin_transaction()
        producer.produce("ended", b"in a transaction", partition=0)
        producer.commit_transaction()
        for is_committed in (True, False):
            producer.begin_transaction()
            producer.produce("held", b"in a transaction", partition=0)
            producer.flush()
            if is_committed:
                producer.commit_transaction()
        plain = confluent.Producer(at)
        for number in range(PLAIN):
            plain.produce("held", str(number), partition=0)
        plain.flush()
        for group, offset in OFFSETS.items():
            consumer = confluent.Consumer({**at, "group.id": group})
            consumer.commit(offsets=[confluent.TopicPartition("held", 0, offset)], asynchronous=False)
            consumer.close()
        consumer = confluent.Consumer({**at, "group.id": MARKED})
        consumer.commit(offsets=[confluent.TopicPartition("ended", 0, 1)], asynchronous=False)
        consumer.close()
        yield running


def run(*words: str | Path) -> Outcome:
    done = run_main(main, list(map(str, words)), cwd=Path(__file__).parent)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def objects(*words: str | Path) -> list[dict[str, Any]]:
    done = run(*words, "-o", "jsonl")
    assert done.status == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("group", OFFSETS)
def test_offsets_ends_and_lags_are_those_of_kafkas_tool(broker: OneBroker, group: str) -> None:
    done = kafka(KAFKA, GROUPS_TOOL, "--bootstrap-server", broker.bootstrap, "--describe", "--group", group, "--timeout", "120000")
    line = next(line for line in done.stdout.decode().splitlines() if line.startswith(group))
    _, topic, partition, offset, end, lag = line.split()[:6]
    (row,) = objects("offsets", group, "--lag", "-b", broker.bootstrap)
    (judged,) = objects("lag", group, "--over", "0s", "-b", broker.bootstrap)
    for ours in (row, judged):
        assert [str(ours[key]) for key in ("topic", "partition", "offset", "log_end_offset", "lag")] == [topic, partition, offset, end, lag]
    (on_disk,) = objects("lag", group, broker.directory)
    # The log of a partition without a lag is not walked.
    keys = ("lag", "readable_lag", "last_stable_offset") if judged["lag"] else ("lag", "readable_lag")
    assert [on_disk[key] for key in keys] == [judged[key] for key in keys]


def test_who_holds_the_partition_is_named_live_and_from_the_disk_as_kafkas_tool_does(broker: OneBroker) -> None:
    done = kafka(
        KAFKA, TRANSACTIONS_TOOL, "--bootstrap-server", broker.bootstrap, "describe-producers", "--topic", "held", "--partition", "0"
    )
    rows = [line.split() for line in done.stdout.decode().splitlines()]
    heads = next(row for row in rows if "ProducerId" in row)
    theirs = next(row for row in rows if row[:1] and row[0].isdigit() and row[heads.index("CurrentTransactionStartOffset")].isdigit())
    live = objects("lag", "reader", "--over", "0s", "-b", broker.bootstrap)[0]["held_by"]
    disk = objects("lag", "reader", broker.directory)[0]["held_by"]
    for held in (live, disk):
        assert (held["transactional"], held["start_offset"]) == ("hung-1", 2)
        assert str(held["producer_id"]) == theirs[heads.index("ProducerId")]
        assert str(held["start_offset"]) == theirs[heads.index("CurrentTransactionStartOffset")]
    assert (live["state"].upper(), disk["state"]) == ("ONGOING", "ONGOING")


def test_a_lag_of_a_marker_is_no_fault(broker: OneBroker) -> None:
    for words in (("--over", "0s", "-b", broker.bootstrap), (str(broker.directory),)):
        (row,) = objects("lag", MARKED, *words)
        assert (row["lag"], row["readable_lag"], row["last_stable_offset"], row["verdict"]) == (1, 0, 2, "only-markers")
        (row,) = objects("offsets", MARKED, "--lag", *words[-2:] if len(words) > 1 else words)
        assert (row["lag"], row["readable_lag"], row["held_by"]) == (1, 0, None)


def test_the_worst_group_comes_first_with_its_rule(broker: OneBroker) -> None:
    rows = objects("lag", "--all", "-b", broker.bootstrap)
    assert [(row["group"], row["verdict"]) for row in rows if row["group"] in OFFSETS] == [
        ("reader", "held"),
        ("late", "no-members"),
        ("ahead", "caught-up"),
    ]
    assert "holds held-0 open from offset 2" in next(row["why"] for row in rows if row["group"] == "late")


def test_a_live_rebalance_waits_for_a_member_id_that_is_not_used(broker: OneBroker) -> None:
    port = int(broker.bootstrap.rpartition(":")[2])
    fields = {
        "groupId": "waiting",
        "sessionTimeoutMs": 30_000,
        "rebalanceTimeoutMs": 60_000,
        "memberId": "",
        "groupInstanceId": None,
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": subscription_bytes(Subscription(("held",))).hex()}],
    }
    member, ghost = Connection(port, "member"), Connection(port, "ghost")
    try:
        own = member.ask("JoinGroup", 5, fields)["memberId"]
        assert member.ask("JoinGroup", 5, {**fields, "memberId": own})["errorCode"] == 0
        given = ghost.ask("JoinGroup", 5, fields)
        assert re.fullmatch(r"ghost-.*", given["memberId"])
        # It joins again, and the group waits for the other, which was given its id.
        member.send(1, "JoinGroup", 5, {**fields, "memberId": own})
        (found,) = objects("describe", "waiting", "-b", broker.bootstrap)
        assert found["state"] in ("PreparingRebalance", "CompletingRebalance")
        since, waits = found["notes"]
        assert (since["note"], waits["note"]) == ("since", "waits-for")
        # Nobody has assigned anything yet, so the log has the generation before.
        assert re.fullmatch(r"the rebalance began after \S+, when generation 0 was written \(offset \d+ of .*-0\)", since["text"])
        done = run("lag", "waiting", "--over", "0s", "-b", broker.bootstrap)
        assert done.status == 0 and "waiting has committed nothing" in done.stderr
    finally:
        member.close()
        ghost.close()


# ---- Java's consumers


@pytest.fixture(scope="module")
def members(broker: OneBroker) -> Iterator[Members]:
    made = Members(broker.bootstrap)
    try:
        yield made
    finally:
        made.close()


def test_java_processes_that_share_an_instance_id_are_a_series(broker: OneBroker, members: Members) -> None:
    started = [f"pod{number}" for number in range(4)]
    for number, name in enumerate(started, start=1):
        members.order(f"start {name} held group.id=twins group.instance.id=payments-0 {SOON}")
        # Each is assigned the partition; whom it put out says so at its next heartbeat.
        members.wait({name}, 1)
        members.wait(set(started[: number - 1]), 2 * (number - 1))
    assert [event[1:] for event in members.events(set(started)) if event[1] == "failed"] == [("failed", "FencedInstanceIdException")] * 3
    series = objects("why", "twins", broker.directory)[0]
    assert (series["series"], series["count"], series["details"]["instance"]) == ("replaced", 3, "payments-0")
    assert series["text"].startswith("payments-0 was replaced 3 times in ")
    members.order("close pod3")


def test_a_java_reader_of_committed_records_is_held(broker: OneBroker, members: Members) -> None:
    members.order(
        "start reader held group.id=java-reader isolation.level=read_committed enable.auto.commit=true auto.commit.interval.ms=50"
    )
    members.wait({"reader"}, 1)

    def lag(*words: str | Path) -> dict[str, Any]:
        (row,) = objects("lag", "java-reader", *words)
        return row

    live = ("--over", "0s", "-b", broker.bootstrap)
    wait_until(lambda: [one["offset"] for one in objects("offsets", "java-reader", "-b", broker.bootstrap)] == [2])
    for row in (lag(*live), lag(broker.directory)):
        assert (row["offset"], row["lag"], row["readable_lag"], row["verdict"]) == (2, 1 + PLAIN, 0, "held")
        assert row["held_by"]["transactional"] == "hung-1" and "holds held-0 open from offset 2" in row["why"]
    members.order("close reader")


def test_a_group_that_waits_for_a_java_member_says_since_when_and_for_whom(broker: OneBroker, members: Members) -> None:
    members.order(f"start quick held group.id=waits {SOON}")
    members.wait({"quick"}, 1)
    members.order("stall quick 15000")
    members.wait({"quick"}, 2)
    members.order(f"start other held group.id=waits {SOON}")

    def notes() -> dict[str, str]:
        (found,) = objects("describe", "waits", "-b", broker.bootstrap)
        return {one["note"]: one["text"] for one in found["notes"]} if found["state"] == "PreparingRebalance" else {}

    wait_until(lambda: "waits-for" in notes())
    said = notes()
    assert re.match(r"the rebalance began after \S+, when generation 1 was written", said["since"])
    assert said["waits-for"].startswith("the rebalance waits for those of 2 members that have not joined again")
