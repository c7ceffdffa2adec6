"""Files of plans and sizes, good and bad."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.errors import UsageError
from metashell.rehearse.placement import Assignment, read_plan, read_sizes, write_plan
from metashell.rehearse.placement.plan_file import JsonTextError

KAFKA = '{"version":1,"partitions":[{"topic":"a-b","partition":0,"replicas":[1,2],"log_dirs":["any","any"]},\n' + (
    '{"topic":"a-b","partition":1,"replicas":[2]}]}'
)


def test_what_kafka_writes_is_read() -> None:
    assert read_plan(KAFKA, "f").assignments == (Assignment("a-b", 0, (1, 2)), Assignment("a-b", 1, (2,)))


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
