"""Files of plans and sizes, good and bad."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.errors import UsageError
from metashell.rehearse.placement import Assignment, read_plan, read_sizes, write_plan
from metashell.rehearse.placement.cluster import PartitionState
from metashell.rehearse.placement.plan_file import JsonTextError, Stage, compare_plan, count_stages, known_sizes

KAFKA = '{"version":1,"partitions":[{"topic":"a-b","partition":0,"replicas":[1,2],"log_dirs":["any","any"]},\n' + (
    '{"topic":"a-b","partition":1,"replicas":[2]}]}'
)


def test_what_kafka_writes_is_read() -> None:
    plan = read_plan(KAFKA, "f")
    assert plan.assignments == (Assignment("a-b", 0, (1, 2)), Assignment("a-b", 1, (2,)))
    assert plan.directories == 0


def test_directories_that_kafka_writes_into_files_for_the_way_back_are_counted() -> None:
    assert read_plan(KAFKA.replace('"any"]', '"/d"]'), "f").directories == 1


brokers = st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True).map(tuple)
assignments = st.lists(
    st.builds(
        Assignment, st.text(min_size=1), st.integers(0, 2**31 - 1), brokers, st.none() | brokers, st.just("") | st.text("ab_-", min_size=1)
    ),
    min_size=1,
    unique_by=lambda one: one[:2],
)


@given(assignments)
def test_what_is_written_is_read_back(found: list[Assignment]) -> None:
    assert list(read_plan(write_plan(found), "f").assignments) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "f: the text is not an object"),
        ("{}", "f: version is missing"),
        ('{"version":2,"partitions":[]}', "f: version is 2, not 1"),
        ('{"version":true}', "f: version is true, not a number"),
        ('{"version":1,"version":1}', 'f: an object has the key "version" twice'),
        ('{"version":1}', "f: partitions is missing"),
        ('{"version":1,"partitions":[]}', "f: partitions is empty"),
        ('{"version":1,"partitions":[3]}', "f: partitions[0] is not an object"),
        ('{"version":1,"partitions":[{"topic":"","partition":0}]}', "f: partitions[0].topic is empty"),
        ('{"version":1,"partitions":[{"topic":"t","partition":-1}]}', "f: partitions[0].partition is -1"),
        ('{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[]}]}', "f: partitions[0] (t:0).replicas is empty"),
        (
            '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,"2"]}]}',
            "f: partitions[0] (t:0).replicas[1] is '2', not the id of a broker",
        ),
        (
            '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[4,4]}]}',
            "f: partitions[0] (t:0).replicas: broker 4 appears twice",
        ),
        (KAFKA.replace('"partition":1', '"partition":0'), "f: partitions[1]: a-b:0 appears twice"),
        (KAFKA.replace('["any","any"]', '["any"]'), "f: partitions[0] (a-b:0): 1 log_dirs for 2 replicas"),
        (KAFKA.replace('"any"]', "7]"), "f: partitions[0] (a-b:0).log_dirs[1] is 7, not a text"),
        ("[" * 100_000, "f: nested too deeply"),
    ],
)
def test_a_bad_plan_is_named_by_its_place(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_plan(text, "f")
    assert str(caught.value) == message


def test_what_does_not_parse_is_shown_with_line_and_caret() -> None:
    with pytest.raises(JsonTextError) as caught:
        read_plan('{"version": 1,\n\t"partitions": [\n  {"topic": "orders" "partition": 0}]}', "plan.json")
    assert str(caught.value) == "plan.json:3:22: expecting ',' delimiter"
    line, caret = caught.value.excerpt
    assert line == '  {"topic": "orders" "partition": 0}]}' and caret.index("^") == line.index('"partition"')


SIZES = """Querying brokers for log directories information
Received log directory information from brokers 1,2
""" + json.dumps(
    {
        "version": 1,
        "brokers": [
            {"broker": 1, "logDirs": [{"error": None, "logDir": "/a", "partitions": [{"partition": "a-b-0", "size": 10, "offsetLag": 0}]}]},
            {
                "broker": 2,
                "logDirs": [
                    {
                        "error": None,
                        "logDir": "/a",
                        "partitions": [
                            {"partition": "a-b-0", "size": 12, "offsetLag": 0, "isFuture": False},
                            {"partition": "c-1", "size": 99, "offsetLag": 0, "isFuture": True},
                        ],
                    }
                ],
            },
        ],
    }
)


def test_sizes_are_those_of_the_largest_replica() -> None:
    assert read_sizes(SIZES, "f") == {("a-b", 0): 12}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SIZES.replace('"a-b-0"', '"ab"'), "f: brokers[0].logDirs[0].partitions[0].partition is 'ab', not TOPIC-NUMBER"),
        (SIZES.replace("10", "-1"), "f: brokers[0].logDirs[0].partitions[0].size is -1"),
        (SIZES.replace('"size": 10', '"size": "10"'), 'f: brokers[0].logDirs[0].partitions[0].size is "10", not a number'),
        (SIZES.replace('"broker": 1,', ""), "f: brokers[0].logDirs is missing"),
        ("{]", "f:1:2: expecting property name enclosed in double quotes"),
    ],
)
def test_bad_sizes_are_named_by_their_place(text: str, message: str) -> None:
    if "missing" in message:
        text = text.replace(
            '"logDirs": [{"error": null, "logDir": "/a", "partitions": [{"partition": "a-b-0", "size": 10, "offsetLag": 0}]}]', '"x": 1'
        )
    with pytest.raises(UsageError) as caught:
        read_sizes(text, "f")
    assert str(caught.value) == message


@pytest.mark.parametrize("number", ["\N{ARABIC-INDIC DIGIT TWO}", "", "12345678901", "+1"])
def test_a_partition_needs_its_number(number: str) -> None:
    with pytest.raises(UsageError, match="not TOPIC-NUMBER"):
        read_sizes(SIZES.replace("a-b-0", f"a-b-{number}"), "f")
    assert read_sizes(SIZES.replace("a-b-0", "a-b-1234567890"), "f") == {("a-b", 1234567890): 12}


def test_sizes_of_topics_that_are_not_there_are_left_out() -> None:
    sizes = {("a", 0): 1, ("b", 0): 2, ("c", 1): 3, ("c", 2): 3}
    assert known_sizes(sizes, {"a", "b", "c"}, "f") == (sizes, "")
    assert known_sizes(sizes, {"a", "c"}, "f") == (
        {("a", 0): 1, ("c", 1): 3, ("c", 2): 3},
        "f: sizes of unknown topics are ignored: b",
    )
    assert known_sizes(sizes, {"a"}, "f")[1] == "f: sizes of unknown topics are ignored: b and 1 other topic"
    with pytest.raises(UsageError, match="f: sizes of unknown topics: a and 2 other topics: of another cluster"):
        known_sizes(sizes, {"x"}, "f")
    assert known_sizes({}, {"x"}, "f") == ({}, "")


PROGRESS = [
    (PartitionState("t", 0, (1, 2)), Stage.DONE, (), ""),
    (PartitionState("t", 0, (2, 1)), Stage.CHANGED, (), "it is on 2,1, the plan took it to be on 1,3"),
    (PartitionState("t", 0, (3, 1)), Stage.WAITING, (2,), ""),
    (PartitionState("t", 0, (1, 3), topic_id="X"), Stage.WAITING, (2,), ""),
    (PartitionState("t", 0, (1, 4)), Stage.CHANGED, (2,), "it is on 1,4, the plan took it to be on 1,3"),
    (PartitionState("t", 0, (1, 2, 3), (2,), (3,), isr=(1, 3)), Stage.MOVING, (2,), ""),
    (PartitionState("t", 0, (1, 2, 3), (2,), (3,), isr=(1, 2)), Stage.MOVING, (), ""),
    (PartitionState("t", 0, (1, 2, 3), (), (3,)), Stage.MOVING, (), ""),
    (PartitionState("t", 0, (1, 2, 3), (2,), (1,)), Stage.CHANGED, (), "it is being moved to 2,3"),
    (PartitionState("t", 0, (1, 2), topic_id="Y"), Stage.CHANGED, (), "the topic was deleted, and made anew"),
    (PartitionState("t", 1, (1, 2)), Stage.CHANGED, (), "the topic has no such partition"),
    (PartitionState("u", 0, (1, 2)), Stage.CHANGED, (), "there is no such topic"),
]


@pytest.mark.parametrize(("now", "stage", "adding", "why"), PROGRESS)
def test_a_partition_stands_where_it_stands(now: PartitionState, stage: Stage, adding: tuple[int, ...], why: str) -> None:
    wanted = Assignment("t", 0, (1, 2), (1, 3), "X")
    [found] = compare_plan([wanted], [now])
    assert (found.wanted, found.stage, found.adding, found.why) == (wanted, stage, adding, why)
    assert found.now == (now if (now.topic, now.partition) == ("t", 0) else None)
    # Where the plan does not say where it took the partition to be, nothing but a move to elsewhere has changed it.
    [unsaid] = compare_plan([wanted._replace(before=None)], [now])
    assert unsaid.stage == (Stage.WAITING if why.startswith("it is on") else stage)


def test_stages_are_counted() -> None:
    found = [compare_plan([Assignment("t", 0, (1, 2), (1, 3), "X")], [now])[0] for now, _, _, _ in PROGRESS]
    assert count_stages(found) == {Stage.DONE: 1, Stage.MOVING: 3, Stage.WAITING: 2, Stage.CHANGED: 6}
