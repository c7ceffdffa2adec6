"""Version probing is Kafka Streams': its bytes in every version, every golden decision of leaders and followers, and every golden upgrade.

The bytes are 3 006 golden cases, damaged ones among them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from metashell.codec.consumer_protocol import Assignment, Subscription
from metashell.codec.streams_assignment import StreamsAssignment, TaskId
from metashell.groups.members.strategy import Joined, StreamsStrategy, read_versions
from metashell.groups.members.version_probing import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    initial_version,
)
from metashell.groups.topics import KnownTopics, Topic
from tests.groups.members.probing_rows import (
    assignment_json,
    assignment_of,
    outcome,
    rows,
    sorted_tasks,
    subscription_json,
    subscription_of,
    task_text,
    wanted,
)
from tests.seeds import shows

TOPIC = "in"
PROCESS = UUID(int=(1 << 64) + 1).bytes


def one_topic(partitions: int) -> KnownTopics:
    return KnownTopics([Topic(bytes(16), TOPIC, ((),) * partitions)])


@shows("KIP-268/S10", "KIP-268/S12")
def test_a_follower_takes_every_assignment_as_kafka_streams_does() -> None:
    given = [row for row in rows("follower") if "note" not in row]
    assert len(given) == 1771
    for row in given:
        follower = StreamsStrategy(PROCESS)
        follower.used = row["used"]
        assignment = Assignment(((TOPIC, 0),), bytes.fromhex(row["hex"]))
        failed = outcome(lambda follower=follower, assignment=assignment: follower.on_assignment(assignment, 1))  # type: ignore[misc]
        assert (failed if isinstance(failed, dict) else None) == (wanted(row, "") if "error" in row else None), row
        ours: dict[str, Any] = {
            "usedAfter": follower.used,
            "rejoinNow": follower.next_rebalance_ms == 0,
            "nextScheduledRebalanceMs": follower.next_rebalance_ms,
            "assignmentErrorCode": follower.error_code,
            "active": [task_text(task) for task in sorted_tasks(follower.tasks)],
            "nextSubscription": follower.user_data({TOPIC}).hex(),
        }
        assert ours == {key: row[key] for key in ours}, row


def test_a_follower_refuses_another_number_of_tasks_than_partitions() -> None:
    given = [row for row in rows("follower") if "note" in row]
    assert len(given) == 2
    for row in given:
        count = int(row["note"].split()[0])
        raw = encode_assignment(StreamsAssignment(11, 11, [TaskId(0, number) for number in range(count)]))
        failed = outcome(lambda raw=raw: StreamsStrategy(PROCESS).on_assignment(Assignment(((TOPIC, 0),), raw), 1))  # type: ignore[misc]
        assert failed["error"] == "TaskAssignmentException"
        assert failed["message"] in row["message"]


@shows("KIP-268/S7", "KIP-268/S8", "KIP-268/S11", "KIP-268/S9")
def test_a_leader_answers_in_the_versions_that_kafka_streams_answers_in() -> None:
    given = rows("leader")
    assert len(given) == 240
    for row in given:
        members = {one["id"]: Joined(Subscription((TOPIC,), bytes.fromhex(one["userData"]))) for one in row["members"]}
        result = StreamsStrategy(PROCESS).assign(one_topic(row["partitions"]), members)
        for member_id, theirs in row["result"].items():
            ours = result[member_id]
            info = decode_assignment(ours.user_data or b"")
            told = {
                "version": info.version,
                "commonlySupportedVersion": info.commonly_supported_version,
                "errCode": info.error_code,
                "nextRebalanceMs": info.next_rebalance_ms,
            }
            assert told == {key: theirs["info"][key] for key in told}, row
            assert len(info.active_tasks) == len(ours.partitions)
        everything = [partition for one in result.values() for partition in one.partitions]
        counts = sorted(len(one.partitions) for one in result.values())
        assert sorted(everything) == sorted(set(everything))
        assert len(everything) == sum(len(one["partitions"]) for one in row["result"].values())
        assert counts == sorted(len(one["partitions"]) for one in row["result"].values()) or counts[-1] - counts[0] <= 1


@shows("KIP-268/S13", "KIP-268/S12", "KIP-268/S15")
def test_every_golden_upgrade_takes_the_same_rebalances() -> None:
    """Members are bounced one by one from 11 to simulated 12, in every order, with and without a new leader."""
    given = rows("trace")
    assert len(given) == 44
    for row in given:
        assert upgraded(row) == [versions_of(one) for one in row["rebalances"]], row["id"]
        for bounce in bounces(row["rebalances"]):
            assert 1 <= len(bounce) <= 2


def bounces(rebalances: list[Any]) -> list[list[Any]]:
    found: list[list[Any]] = []
    for one in rebalances:
        if one["why"] != "asked for":
            found.append([])
        found[-1].append(one)
    return found


def versions_of(rebalance: Any) -> Any:
    given = {
        name: {key: one[key] for key in ("version", "commonlySupported", "usedBefore", "usedAfter", "rejoinNow")}
        for name, one in rebalance["assignments"].items()
    }
    return {"why": rebalance["why"], "subscriptions": rebalance["subscriptions"], "assignments": given, "again": rebalance["again"]}


def upgraded(row: Any) -> list[Any]:
    size = len(row["rebalances"][0]["subscriptions"])
    members = [StreamsStrategy(bytes([number]) * 16) for number in range(size)]
    found = []
    leader = row["leader"]

    def rebalance(why: str) -> bool:
        subscriptions, joined, given = {}, {}, {}
        for number, member in enumerate(members):
            raw = member.user_data({TOPIC})
            version, supported = read_versions(raw)
            subscriptions[f"m{number}"] = {"code": member.version, "version": version, "latestSupported": supported}
            joined[f"m{number}"] = Joined(Subscription((TOPIC,), raw))
        result = members[leader].assign(one_topic(6), joined)
        for number, member in enumerate(members):
            version, supported = read_versions(result[f"m{number}"].user_data or b"")
            before = member.used
            again = member.on_assignment(result[f"m{number}"], 1) is not None
            given[f"m{number}"] = {
                "version": version,
                "commonlySupported": supported,
                "usedBefore": before,
                "usedAfter": member.used,
                "rejoinNow": again,
            }
        wants = any(one["rejoinNow"] for one in given.values())
        found.append({"why": why, "subscriptions": subscriptions, "assignments": given, "again": wants})
        return wants

    rebalance("start")
    for bounced in map(int, row["order"].strip("[]").split(",")):
        members[bounced] = StreamsStrategy(bytes([bounced]) * 16, is_future=True)
        if row["newLeaderAfterBounce"] and bounced == leader and size > 1:
            leader = (leader + 1) % size
        again = rebalance(f"m{bounced} bounced")
        for _ in range(6):
            again = again and rebalance("asked for")
    return found


@shows("KIP-268/S1")
@pytest.mark.parametrize("row", rows("upgrade-from"), ids=lambda row: str(row["value"]))
def test_upgrade_from_does_to_4_3_what_it_does_to_kafka_streams(row: Any) -> None:
    made = outcome(lambda: StreamsStrategy(PROCESS, "4.3", upgrade_from=row["value"]).user_data({TOPIC}).hex())
    assert made == wanted(row, "hex")
    if "error" not in row:
        begins = initial_version("4.3", row["value"])
        assert (begins.version, f"[{'COOPERATIVE' if begins.is_cooperative else 'EAGER'}]") == (row["version"], row["protocols"])


@shows("KIP-268/S4", "KIP-268/S5")
def test_every_subscription_is_written_as_kafka_streams_writes_it() -> None:
    given = rows("subscription")
    assert len(given) == 208
    for row in given:
        assert outcome(lambda row=row: encode_subscription(subscription_of(row["input"])).hex()) == wanted(row, "hex"), row["input"]  # type: ignore[misc]


@shows("KIP-268/S4", "KIP-268/S5")
def test_every_subscription_is_read_as_kafka_streams_reads_it() -> None:
    for row in rows("subscription"):
        if "hex" in row:
            assert subscription_json(decode_subscription(bytes.fromhex(row["hex"]))) == row["decoded"]


@shows("KIP-268/S4", "KIP-268/S5")
def test_every_assignment_is_written_as_kafka_streams_writes_it() -> None:
    given = rows("assignment")
    assert len(given) == 208
    for row in given:
        assert outcome(lambda row=row: encode_assignment(assignment_of(row["input"])).hex()) == wanted(row, "hex"), row["input"]  # type: ignore[misc]


@shows("KIP-268/S4", "KIP-268/S5")
def test_every_assignment_is_read_as_kafka_streams_reads_it() -> None:
    for row in rows("assignment"):
        if "hex" in row:
            assert assignment_json(decode_assignment(bytes.fromhex(row["hex"]))) == row["decoded"]


@shows("KIP-268/S3")
def test_other_versions_cuts_and_bytes_too_many_are_read_or_refused_in_kafkas_words() -> None:
    given = rows("decode")
    assert len(given) == 2382
    for row in given:
        raw = bytes.fromhex(row["hex"])
        if row["what"] == "subscription":
            got = outcome(lambda raw=raw: subscription_json(decode_subscription(raw)))  # type: ignore[misc]
        else:
            got = outcome(lambda raw=raw: assignment_json(decode_assignment(raw)))  # type: ignore[misc]
        assert got == wanted(row, "decoded"), (row["what"], row["note"], row["hex"])
