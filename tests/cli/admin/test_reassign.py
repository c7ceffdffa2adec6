"""Moves: what is asked of a controller, and what its answers come to."""

from __future__ import annotations

from typing import Any, cast

import pytest

from metashell.cli.admin.client import Admin
from metashell.cli.admin.configs import Change, Operation, Resource
from metashell.cli.admin.protocol import AdminError
from metashell.cli.admin.reassign import FOLLOWERS, LEADERS, RATES, Moving, alter_reassignments, clear_all, list_reassignments
from metashell.codec import messages
from metashell.codec.codes import BROKER_RESOURCE, TOPIC_RESOURCE
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, INVALID_REPLICA_ASSIGNMENT
from tests.cli.admin.recorder import Recorder


def admin(recorder: Recorder) -> Admin:
    return cast("Admin", recorder)


def test_moves_are_started_and_cancelled_topic_by_topic() -> None:
    made, told = messages.AlterPartitionReassignmentsRequest, messages.AlterPartitionReassignmentsResponse
    part = told.ReassignablePartitionResponse
    there = told(
        responses=(
            told.ReassignableTopicResponse(
                name="a", partitions=(part(partition_index=0), part(partition_index=2, error_code=INVALID_REPLICA_ASSIGNMENT))
            ),
            told.ReassignableTopicResponse(name="b", partitions=(part(partition_index=1),)),
        )
    )
    recorder = Recorder(there, told(error_code=CLUSTER_AUTHORIZATION_FAILED))
    found = alter_reassignments(admin(recorder), {("a", 0): (1, 2), ("b", 1): (), ("a", 2): None})
    assert {place: str(error) if error else None for place, error in found.items()} == {
        ("a", 0): None,
        ("a", 2): "a:2: INVALID_REPLICA_ASSIGNMENT: Replica assignment is invalid.",
        ("b", 1): None,
    }
    wanted = made.ReassignablePartition
    topics = (
        made.ReassignableTopic(name="a", partitions=(wanted(partition_index=0, replicas=(1, 2)), wanted(partition_index=2, replicas=None))),
        made.ReassignableTopic(name="b", partitions=(wanted(partition_index=1, replicas=()),)),
    )
    assert recorder.asked == [made(timeout_ms=4301, topics=topics)] and recorder.whom == ["active"]
    with pytest.raises(AdminError, match="CLUSTER_AUTHORIZATION_FAILED"):
        alter_reassignments(admin(recorder), {("a", 0): None})


def test_moves_under_way_are_listed_of_all_or_of_some() -> None:
    made, told = messages.ListPartitionReassignmentsRequest, messages.ListPartitionReassignmentsResponse
    part = told.OngoingPartitionReassignment
    moving = part(partition_index=3, replicas=(1, 2, 3), adding_replicas=(3,), removing_replicas=(1,))
    answer = told(topics=(told.OngoingTopicReassignment(name="a", partitions=(moving,)),))
    recorder = Recorder(answer, answer, told(), told(error_code=CLUSTER_AUTHORIZATION_FAILED))
    one = Moving(topic="a", partition=3, replicas=(1, 2, 3), adding=(3,), removing=(1,))
    assert list_reassignments(admin(recorder)) == {("a", 3): one}
    assert list_reassignments(admin(recorder), [("a", 3), ("b", 0), ("a", 4)]) == {("a", 3): one}
    assert list_reassignments(admin(recorder), []) == {}
    topic = made.ListPartitionReassignmentsTopics
    some = (topic(name="a", partition_indexes=(3, 4)), topic(name="b", partition_indexes=(0,)))
    assert recorder.asked == [made(timeout_ms=4301, topics=topics) for topics in (None, some, ())]
    with pytest.raises(AdminError, match="CLUSTER_AUTHORIZATION_FAILED"):
        list_reassignments(admin(recorder))


def test_every_throttle_is_removed_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    monkeypatch.setattr("metashell.cli.admin.reassign.alter_configs", lambda _, changes: sent.append(changes) or dict.fromkeys(changes))
    broker, topic, plain = Resource(BROKER_RESOURCE, "1"), Resource(TOPIC_RESOURCE, "a"), Resource(TOPIC_RESOURCE, "b")
    present = {
        broker: dict.fromkeys(RATES, "1") | {"num.io.threads": "8"},
        topic: {FOLLOWERS: "*", LEADERS: "0:1", "retention.ms": "5"},
        plain: {"retention.ms": "5"},
    }
    assert clear_all(admin(Recorder()), present) == {broker: None, topic: None}
    assert sent == [
        {
            broker: [Change(name, Operation.DELETE) for name in RATES],
            topic: [Change(name, Operation.DELETE) for name in (LEADERS, FOLLOWERS)],
        }
    ]
    assert clear_all(admin(Recorder()), {plain: present[plain]}) == {} and len(sent) == 1
