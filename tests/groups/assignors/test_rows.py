"""JSON that is not an assignor's input is refused with the place of the fault."""

from __future__ import annotations

import json
from typing import Any

import pytest

from metashell.common.errors import UsageError
from metashell.groups.assignors.rows import answer_row

T, U = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"


def server_input(**changes: Any) -> dict[str, Any]:
    members = [{"id": "a", "topicIds": [T], "previous": {T: [0]}}, {"id": "b", "topicIds": [T]}]
    return {"topics": {T: {"partitions": 2}}, "members": members, **changes}


def test_a_bare_input_becomes_a_row() -> None:
    given = server_input()
    expected = {"assignment": {"a": {T: [0]}, "b": {T: [1]}}}
    assert answer_row("server-uniform", given) == {"assignor": "server-uniform", "input": given, "output": expected}
    assert answer_row(None, {**given, "assignor": "server-uniform"})["output"] == expected
    assert answer_row(None, {"id": "x", "assignor": "server-uniform", "input": given})["id"] == "x"


def test_what_kafka_throws_is_an_output() -> None:
    output = answer_row("server-range", server_input(topics={}))["output"]
    assert output["error"].endswith("PartitionAssignorException")
    assert output["message"] == "Member is subscribed to a non-existent topic"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"topics": 3}, "topics: 3 is not an object"),
        ({"topics": {T: {"partitions": -1}}}, f"topics.{T}.partitions: -1 is not an integer from 0 to 1000000"),
        ({"topics": {T: {}}}, f"topics.{T}.partitions is missing"),
        ({"topics": {"no-uuid": {"partitions": 1}}}, "topics.no-uuid: uuid text 'no-uuid'"),
        ({"topics": {T: {"partitions": 1}, T + "==": {"partitions": 1}}}, "topics: topic"),
        ({"members": {}}, "members: {} is not an array"),
        ({"members": [{"topicIds": []}]}, "members[0].id is missing"),
        ({"members": [{"id": "a", "topicIds": [7]}]}, "members[0].topicIds[0]: 7 is not a text"),
        ({"members": [{"id": "a", "topicIds": [T, T]}]}, f"members[0].topicIds: topic {T} is there twice"),
        ({"members": [{"id": "a", "topicIds": []}, {"id": "a", "topicIds": []}]}, "members: member a is there twice"),
        ({"members": [{"id": "a", "topicIds": [], "previous": {T: [1, 1]}}]}, f"members[0].previous.{T}: partition 1 is there twice"),
        ({"members": [{"id": "a", "topicIds": [], "previous": {T: [True]}}]}, f"members[0].previous.{T}[0]: true is not an integer"),
        ({"members": [{"id": "a", "topicIds": [], "instanceId": 1}]}, "members[0].instanceId: 1 is not a text"),
        ({"subscriptionType": "EQUAL"}, 'subscriptionType: "EQUAL" is not HOMOGENEOUS or HETEROGENEOUS'),
        ({"subscriptionType": "HETEROGENEOUS"}, "subscriptionType is HETEROGENEOUS, but the members' topicIds are HOMOGENEOUS"),
        ({"assignable": {T: "x"}}, f'assignable.{T}: "x" is not an array'),
    ],
)
def test_a_wrong_input_is_named_by_its_place(changes: dict[str, Any], words: str) -> None:
    for row in (server_input(**changes), {"id": "r", "input": server_input(**changes)}):
        with pytest.raises(UsageError) as caught:
            answer_row("server-simple", row, "f.json: line 2")
        assert words in str(caught.value) and str(caught.value).startswith("f.json: line 2: ")


def test_a_row_names_its_assignor() -> None:
    with pytest.raises(UsageError, match=r"^no assignor is named: give --assignor$"):
        answer_row(None, server_input())
    with pytest.raises(UsageError, match='assignor: "best" is not one of'):
        answer_row(None, {**server_input(), "assignor": "best"})
    with pytest.raises(UsageError, match="input is missing"):
        answer_row("server-simple", {"id": "r"})


def test_any_json_is_answered_or_refused() -> None:
    for value in (None, 1, "x", [], {}, [{}], {"a": None}):
        for key in ("topics", "members", "assignable", "subscriptionType"):
            row = server_input()
            row[key] = value
            try:
                json.dumps(answer_row("server-simple", row))
            except UsageError:
                continue
