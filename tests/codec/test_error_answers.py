"""The answer that refuses a whole request: it can be written for every API in every version, and repeats what was asked as Kafka's does."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.dispatch import REQUESTS
from metashell.codec.error_answers import error_answer
from metashell.codec.registry import message_type


@pytest.mark.parametrize("name", sorted(name.removesuffix("Request") for name in REQUESTS.values()))
def test_an_error_can_be_written_in_every_version(name: str) -> None:
    asked, answer = message_type("request", name + "Request"), message_type("response", name + "Response")
    for version in range(asked.versions[0], asked.versions[1] + 1):
        body = error_answer(name, asked.cls(), version, 16, "why")
        assert answer.read(answer.write(body, version), version) is not None


def answered(name: str, body: Any, version: int) -> Any:
    kind = message_type("response", name + "Response")
    value = kind.to_json_value(kind.read(kind.write(error_answer(name, body, version, 14, "why"), version), version), version)
    return {key: part for key, part in value.items() if key != "throttleTimeMs"}


def test_every_partition_of_a_commit_has_the_error() -> None:
    made = messages.OffsetCommitRequest
    partitions = tuple(made.OffsetCommitRequestPartition(partition_index=index, committed_offset=5) for index in (0, 3))
    body = made(group_id="g", topics=(made.OffsetCommitRequestTopic(name="t", partitions=partitions),))
    wanted = [{"partitionIndex": 0, "errorCode": 14}, {"partitionIndex": 3, "errorCode": 14}]
    assert answered("OffsetCommit", body, 9) == {"topics": [{"name": "t", "partitions": wanted}]}


def test_a_fetch_of_offsets_has_the_error_where_its_version_has_one() -> None:
    made = messages.OffsetFetchRequest
    groups = (made.OffsetFetchRequestGroup(group_id="a"), made.OffsetFetchRequestGroup(group_id="b"))
    topics = (made.OffsetFetchRequestTopic(name="t", partition_indexes=(1,)),)
    new = answered("OffsetFetch", made(groups=groups), 8)
    assert [(group["groupId"], group["errorCode"], group["topics"]) for group in new["groups"]] == [("a", 14, []), ("b", 14, [])]
    assert answered("OffsetFetch", made(group_id="g", topics=topics), 7) == {"errorCode": 14, "topics": []}
    old = {"partitionIndex": 1, "committedOffset": -1, "metadata": "", "errorCode": 14}
    assert answered("OffsetFetch", made(group_id="g", topics=topics), 1) == {"topics": [{"name": "t", "partitions": [old]}]}


def test_bare_names_and_numbers_are_answered_each() -> None:
    named = answered("DeleteGroups", messages.DeleteGroupsRequest(groups_names=("a", "b", "a")), 2)
    assert named == {"results": [{"groupId": "a", "errorCode": 14}, {"groupId": "b", "errorCode": 14}]}, "each once"
    twice = answered("DeleteTopics", messages.DeleteTopicsRequest(topic_names=("a", "a")), 5)
    assert twice == {"responses": [{"name": "a", "errorCode": 14, "errorMessage": "why"}] * 2}
    elects = messages.ElectLeadersRequest
    election = elects(topic_partitions=(elects.TopicPartitions(topic="t", partitions=(2,)),))
    partition = {"partitionId": 2, "errorCode": 14, "errorMessage": "why"}
    assert answered("ElectLeaders", election, 1) == {
        "errorCode": 14,
        "replicaElectionResults": [{"topic": "t", "partitionResult": [partition]}],
    }
