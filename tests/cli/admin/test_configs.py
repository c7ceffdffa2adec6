"""Settings: which node is asked, what the answers come to, and which changes cost records."""

from __future__ import annotations

from typing import Any, cast

import pytest

from metashell.cli.admin.client import Admin
from metashell.cli.admin.configs import Change, Operation, Resource, Setting, alter_configs, describe_configs, value_after, warnings_of
from metashell.cli.admin.protocol import Kind
from metashell.codec import messages
from metashell.codec.error_codes import INVALID_CONFIG
from metashell.common.errors import MetashellError
from tests.cli.admin.recorder import Recorder

TOPIC, OTHER = Resource(2, "orders"), Resource(2, "pay")
ALL, ONE, TWO, LOGGER = Resource(4, ""), Resource(4, "1"), Resource(4, "2"), Resource(8, "1")
SET, DELETE, APPEND, SUBTRACT = Operation


def admin(recorder: Recorder) -> Admin:
    return cast("Admin", recorder)


def altered(*resources: Resource, code: int = 0) -> Any:
    made = messages.IncrementalAlterConfigsResponse
    one = made.AlterConfigsResourceResponse
    return made(responses=tuple(one(resource_type=kind, resource_name=name, error_code=code) for kind, name in resources))


def wanted(*resources: Resource, dry: bool = False) -> Any:
    made = messages.IncrementalAlterConfigsRequest
    change = (made.AlterableConfig(name="a", config_operation=2, value="x"), made.AlterableConfig(name="b", config_operation=1, value=None))
    return made(
        resources=tuple(made.AlterConfigsResource(resource_type=kind, resource_name=name, configs=change) for kind, name in resources),
        validate_only=dry,
    )


CHANGES = [Change("a", APPEND, "x"), Change("b", DELETE)]


def test_each_broker_is_asked_about_itself_and_any_node_about_the_rest() -> None:
    down = MetashellError("down")
    recorder = Recorder(altered(TOPIC, ALL), {1: altered(ONE, LOGGER, code=INVALID_CONFIG), 2: down})
    resources = (ONE, TOPIC, TWO, ALL, LOGGER)
    found = alter_configs(admin(recorder), dict.fromkeys(resources, CHANGES))
    assert (found[TOPIC], found[ALL], found[TWO]) == (None, None, down)
    assert [str(found[one]).split(": ")[:2] for one in (ONE, LOGGER)] == [
        ["broker:1", "INVALID_CONFIG"],
        ["broker-logger:1", "INVALID_CONFIG"],
    ]
    assert recorder.asked == [wanted(TOPIC, ALL), {1: wanted(ONE, LOGGER), 2: wanted(TWO)}] and recorder.whom == ["active", "all"]


def test_controllers_take_the_settings_of_all_brokers_but_not_of_their_loggers() -> None:
    recorder = Recorder(altered(ONE, TOPIC), {1: altered(LOGGER)}, kind=Kind.CONTROLLERS)
    found = alter_configs(admin(recorder), dict.fromkeys((ONE, LOGGER, TOPIC), CHANGES), validate_only=True)
    assert found == dict.fromkeys((ONE, TOPIC, LOGGER))
    assert recorder.asked == [wanted(ONE, TOPIC, dry=True), {1: wanted(LOGGER, dry=True)}]


@pytest.mark.parametrize("documentation", [False, True])
@pytest.mark.parametrize("keys", [None, ["b", "a"], []])
def test_settings_are_read_with_what_is_behind_them(keys: list[str] | None, documentation: bool) -> None:
    made = messages.DescribeConfigsResponse
    synonym = made.DescribeConfigsSynonym
    plain = made.DescribeConfigsResourceResult(
        name="z", value="1", config_source=5, documentation=None, synonyms=(synonym(name="z", value="1", source=5),)
    )
    hidden = made.DescribeConfigsResourceResult(
        name="b",
        value=None,
        config_source=1,
        is_sensitive=True,
        read_only=True,
        documentation="Words.",
        synonyms=(
            synonym(name="b", value="8", source=1),
            synonym(name="log.b", value="9", source=4),
            synonym(name="b", value="7", source=5),
        ),
    )
    result = made.DescribeConfigsResult
    answer = made(
        results=(
            result(resource_type=2, resource_name="orders", configs=(plain, hidden)),
            result(resource_type=2, resource_name="pay", error_code=INVALID_CONFIG, error_message="No."),
        )
    )
    down = MetashellError("down")
    recorder = Recorder(answer, {1: down})
    found = describe_configs(admin(recorder), [TOPIC, OTHER, ONE], keys, documentation=documentation)
    first = Setting(name="b", value=None, source=1, is_sensitive=True, is_read_only=True, documentation="Words.", behind="9")
    assert found[TOPIC] == (first, Setting(name="z", value="1", source=5))
    assert str(found[OTHER]) == "topic:pay: INVALID_CONFIG: No." and found[ONE] is down
    wanted = messages.DescribeConfigsRequest
    some = None if keys is None else tuple(keys)
    assert recorder.asked[0] == wanted(
        resources=tuple(
            wanted.DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=some) for name in ("orders", "pay")
        ),
        include_synonyms=True,
        include_documentation=documentation,
    )


@pytest.mark.parametrize(
    ("resource", "own"),
    [(TOPIC, 1), (ONE, 2), (ALL, 3), (LOGGER, 6), (Resource(16, "m"), 7), (Resource(32, "g"), 8), (Resource(99, "x"), None)],
)
def test_a_value_was_set_where_its_source_says(resource: Resource, own: int | None) -> None:
    for source in range(1, 9):
        setting = Setting(name="a", value="1", source=source)
        assert setting.is_set_on(resource) is (source == own)
        assert setting.is_set is (source != 5) and setting.is_dynamic is (source not in (4, 5))


def test_resources_have_words_and_some_have_a_node() -> None:
    found = [(str(one), one.node_id) for one in (TOPIC, ALL, ONE, LOGGER, Resource(99, "x"))]
    assert found == [("topic:orders", None), ("broker:default", None), ("broker:1", 1), ("broker-logger:1", 1), ("99:x", None)]


LESS, OLDER = "older records are deleted for good", "records older than the retention are deleted for good"
FEWER, REFUSED = (
    "records are acknowledged with fewer copies than before",
    "producers with acks=all are refused where fewer replicas are in sync",
)
LARGER, UNCLEAN = (
    "producers of larger batches are refused",
    "a replica that is not in sync may then lead, and acknowledged records are lost",
)
REMOTE = "what lies in the remote storage is deleted or cannot be read any more"
NEWEST = "all but the newest record of each key are deleted for good"


@pytest.mark.parametrize(
    ("key", "operation", "value", "was", "cost"),
    [
        *(
            (key, SET, value, was, f"{value.strip()} is less than {was or 'before'}: {LESS}")
            for key in ("retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes", "delete.retention.ms")
            for value, was in (("9", "10"), (" +9 ", "10"), ("0", "1"), ("0", "-1"), ("9", "-1"), ("9", "-2"), ("9", None), ("9", "odd"))
        ),
        *(
            (f"log.{key}", SET, "9", "10", f"9 is less than 10: {LESS}")
            for key in (
                "retention.ms",
                "retention.bytes",
                "retention.hours",
                "retention.minutes",
                "local.retention.ms",
                "local.retention.bytes",
            )
        ),
        *(
            ("retention.ms", SET, value, was, None)
            for value, was in (("10", "10"), ("11", "10"), ("-1", "10"), ("-1", "-1"), ("odd", "10"))
        ),
        ("log.delete.retention.ms", SET, "9", "10", None),
        ("retention.ms", APPEND, "9", "10", None),
        ("cleanup.policy", SET, "compact", "delete", f"compact: {NEWEST}"),
        ("log.cleanup.policy", SET, "delete", "compact", f"delete: {OLDER}"),
        ("cleanup.policy", APPEND, " compact ", "delete", f"compact: {NEWEST}"),
        ("cleanup.policy", SET, "delete,compact", None, f"compact: {NEWEST}; delete: {OLDER}"),
        ("cleanup.policy", SET, "delete", "compact, delete", None),
        ("cleanup.policy", SET, "none", "delete", None),
        ("cleanup.policy", SUBTRACT, "delete", "compact", None),
        ("unclean.leader.election.enable", SET, " TRUE", "false", UNCLEAN),
        ("unclean.leader.election.enable", SET, "true", None, UNCLEAN),
        ("unclean.leader.election.enable", SET, "true", "True ", None),
        ("unclean.leader.election.enable", SET, "false", "true", None),
        ("min.insync.replicas", SET, "1", "2", FEWER),
        ("min.insync.replicas", SET, "0", "1", FEWER),
        ("min.insync.replicas", SET, "3", "2", REFUSED),
        ("min.insync.replicas", SET, "2", None, REFUSED),
        *(("min.insync.replicas", SET, value, was, None) for value, was in (("2", "2"), ("1", None), ("1", "1"), ("odd", "2"), ("1", "0"))),
        ("min.insync.replicas", APPEND, "1", "2", None),
        *((key, SET, "9", "10", LARGER) for key in ("max.message.bytes", "message.max.bytes")),
        *(("max.message.bytes", SET, value, was, None) for value, was in (("10", "10"), ("11", "10"), ("9", None), ("odd", "10"))),
        ("max.message.bytes", APPEND, "9", "10", None),
        ("remote.storage.enable", SET, "false", "true", REMOTE),
        *(("remote.storage.enable", SET, value, was, None) for value, was in (("false", "false"), ("true", "true"), ("false", None))),
        ("segment.ms", SET, "1", "2", None),
    ],
)
def test_a_change_is_warned_of_where_it_costs_records(
    key: str, operation: Operation, value: str, was: str | None, cost: str | None
) -> None:
    # A value that is not known is that of a setting that could not be read.
    before = {} if was is None else {(TOPIC, key): Setting(name=key, value=was, source=5)}
    assert warnings_of([TOPIC], [Change(key, operation, value)], before) == ([] if cost is None else [f"topic:orders: {key}: {cost}"])


@pytest.mark.parametrize(
    ("source", "behind", "after", "is_warned"),
    [
        (1, "5", "5", True),
        (1, "20", "20", False),
        (1, None, "604800000", False),
        # Nothing is removed from the topic where the broker's or Kafka's own value is in force.
        (2, "5", "5", False),
        (5, None, "604800000", False),
    ],
)
def test_what_comes_back_when_a_setting_is_removed_counts(source: int, behind: str | None, after: str, is_warned: bool) -> None:
    change, setting = Change("retention.ms", DELETE), Setting(name="retention.ms", value="10", source=source, behind=behind)
    assert value_after(change, setting) == after
    warned = warnings_of([TOPIC, OTHER], [change], {(TOPIC, "retention.ms"): setting})
    assert warned == ([f"topic:orders: retention.ms: {after} is less than 10: {LESS}"] if is_warned else [])


def test_of_a_key_that_nobody_knows_nothing_comes_back() -> None:
    assert value_after(Change("acme", DELETE), None) is None
    assert value_after(Change("num.io.threads", DELETE), None) == "8"
    assert value_after(Change("acme", SET, "5"), Setting(name="acme", value="4", source=1, behind="3")) == "5"
