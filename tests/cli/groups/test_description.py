"""metashell groups list, describe and offsets of a cluster that runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metashell.cli.groups.command import main
from metashell.codec import messages
from metashell.codec.consumer_protocol import Assignment, Subscription, assignment_bytes, subscription_bytes
from metashell.net.addresses import parse_addresses
from metashell.net.client import Client
from metashell.quorum.embedded import EmbeddedQuorum
from tests.running import Outcome, run_main

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(1, groups=True) as running:
        running.create_topic("orders", 2)
        with Client(parse_addresses(running.bootstrap_servers), client_id="till") as client:
            classic_group(client)
            consumer_group(client)
            yield running


def classic_group(client: Client) -> None:
    made = messages.JoinGroupRequest
    blob = subscription_bytes(Subscription(("orders",)))
    protocols = (made.JoinGroupRequestProtocol(name="range", metadata=blob), made.JoinGroupRequestProtocol(name="odd", metadata=b"\1"))
    asked = made(group_id="billing", session_timeout_ms=30_000, rebalance_timeout_ms=30_000, protocol_type="consumer", protocols=protocols)
    joined = client.request(asked, version=3)
    sync = messages.SyncGroupRequest
    given = assignment_bytes(Assignment((("orders", 0), ("orders", 1))))
    assignments = (sync.SyncGroupRequestAssignment(member_id=joined.member_id, assignment=given),)
    client.request(
        sync(group_id="billing", generation_id=joined.generation_id, member_id=joined.member_id, assignments=assignments), version=3
    )
    commit = messages.OffsetCommitRequest
    partitions = (commit.OffsetCommitRequestPartition(partition_index=1, committed_offset=12, committed_metadata=""),)
    topics = (commit.OffsetCommitRequestTopic(name="orders", partitions=partitions),)
    client.request(
        commit(group_id="billing", member_id=joined.member_id, generation_id_or_member_epoch=joined.generation_id, topics=topics), version=9
    )
    topics = (commit.OffsetCommitRequestTopic(name="orders", partitions=(partitions[0], ahead(30))),)
    client.request(commit(group_id="audit", topics=topics), version=9)


def ahead(offset: int) -> Any:
    return messages.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")


def consumer_group(client: Client) -> None:
    answer = client.request(
        messages.ConsumerGroupHeartbeatRequest(
            group_id="modern", member_id="till-1", rebalance_timeout_ms=30_000, subscribed_topic_names=("orders",), topic_partitions=()
        )
    )
    assert answer.error_code == 0, answer


def run(*words: str) -> Outcome:
    done = run_main(main, list(words), cwd=HERE)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def objects(*words: str) -> list[dict[str, Any]]:
    done = run(*words, "-o", "jsonl")
    assert done.status == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_groups_are_listed_by_brokers_also_where_controllers_are_named(quorum: EmbeddedQuorum) -> None:
    for where in (("-b", quorum.bootstrap_servers), ("-C", quorum.bootstrap_controllers)):
        found = [(one["group"], one["group_type"], one["state"], one["coordinator"]) for one in objects("list", *where)]
        assert found == [("audit", "classic", "Empty", 100), ("billing", "classic", "Stable", 100), ("modern", "consumer", "Stable", 100)]
    assert [one["group"] for one in objects("list", "-b", quorum.bootstrap_servers, "--group-type", "consumer")] == ["modern"]
    assert [one["group"] for one in objects("list", "-b", quorum.bootstrap_servers, "--state", "empty")] == ["audit"]


def test_members_of_each_kind_are_described(quorum: EmbeddedQuorum) -> None:
    (group,) = objects("describe", "billing", "-b", quorum.bootstrap_servers)
    (member,) = group["members"]
    assert (group["state"], group["assignor"], member["client"], member["topics"]) == ("Stable", "range", "till", ["orders"])
    assert member["assigned"] == {"orders": [0, 1]}
    assert member["details"]["subscription"]["topics"] == ["orders"]
    (group,) = objects("describe", "modern", "-C", quorum.bootstrap_controllers)
    (member,) = group["members"]
    assert (group["epoch"], group["assignment_epoch"], member["epoch"], member["member_type"]) == (2, 2, 2, "consumer")
    assert member["assigned"] == member["target"] == {"orders": [0, 1]}
    text = run("describe", "modern", "-b", quorum.bootstrap_servers).stdout.decode()
    assert text.startswith("modern: consumer group, Stable, 1 member\n") and "has            orders:0-1" in text


def test_offsets_have_their_lag_and_who_reads_on(quorum: EmbeddedQuorum) -> None:
    rows = objects("offsets", "billing", "--lag", "-b", quorum.bootstrap_servers)
    assert [(row["partition"], row["offset"], row["log_end_offset"], row["lag"], row["client"]) for row in rows] == [
        (0, None, 30, None, "till"),
        (1, 12, 12, 0, "till"),
    ]
    assert [row["lag"] for row in objects("offsets", "audit", "-b", quorum.bootstrap_servers)] == [None, None]
    text = run("offsets", "billing", "--lag", "-b", quorum.bootstrap_servers).stdout.decode().splitlines()
    assert [line.split() for line in text] == [
        ["TOPIC", "PARTITION", "OFFSET", "LOG_END_OFFSET", "LAG", "READABLE_LAG", "LEADER_EPOCH", "CLIENT", "MEMBER", "METADATA"],
        ["orders", "0", "-", "30", "-", "-", "-", "till", str(rows[0]["member"])],
        ["orders", "1", "12", "12", "0", "0", "-", "till", str(rows[1]["member"])],
    ]


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("describe", "none", "-b", "{brokers}"), 1, "none: GROUP_ID_NOT_FOUND: Group none not found."),
        (("offsets", "none", "-b", "{brokers}"), 1, "none: GROUP_ID_NOT_FOUND: Group none not found."),
        (("list",), 2, "name log directories (PATH), or a cluster: brokers (-b HOST:PORT) or controllers (-C HOST:PORT)"),
        (("list", "-b", "localhost:1", "."), 2, ".: logs are read, or a cluster is asked (-b, -C), not both"),
        (("list", "-b", "{controllers}"), 1, "{controllers} is a controller's listener: use --bootstrap-controller"),
    ],
)
def test_what_cannot_be_answered_is_one_line(quorum: EmbeddedQuorum, words: tuple[str, ...], status: int, text: str) -> None:
    places = {"brokers": quorum.bootstrap_servers, "controllers": quorum.bootstrap_controllers}
    done = run(*(word.format(**places) for word in words))
    assert (done.status, done.stdout) == (status, b"")
    assert done.stderr.splitlines() == [f"metashell groups {words[0]}: {text.format(**places)}"]


def test_a_cluster_without_a_broker_that_is_up_says_so() -> None:
    with EmbeddedQuorum(1) as plain:
        done = run("list", "-C", plain.bootstrap_controllers)
    assert done.status == 1
    assert "no broker is up that listens with PLAINTEXT: groups are known to brokers alone" in done.stderr
