"""metashell configs, through the controllers of a quorum without real brokers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.cli.admin.configs import Resource, is_resource, parse_resource
from metashell.common.errors import UsageError
from metashell.quorum.embedded import EmbeddedQuorum
from tests.administering import command, lines, objects

SECRET = "geheim-4711"
KEYS = {"type", "resource", "key", "value", "source", "sensitive", "read_only"}


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=1, fake_brokers=1) as quorum:
        quorum.create_topic("orders")
        yield quorum


@pytest.fixture
def quorum(running: EmbeddedQuorum) -> Iterator[EmbeddedQuorum]:
    """A quorum in which nothing is set but what every cluster begins with."""
    yield running
    for (kind, name), settings in dict(running.image.configs).items():
        resource = str(Resource(kind, name))
        if keys := [key for key in settings if key != "min.insync.replicas"]:
            lines(running, "configs", "unset", resource, *keys, "--yes")


@pytest.mark.parametrize(
    ("text", "resource"),
    [
        ("topic:orders", Resource(2, "orders")),
        ("TOPIC:a:b", Resource(2, "a:b")),
        ("broker:7", Resource(4, "7")),
        ("broker:007", Resource(4, "7")),
        ("broker:0000000000007", Resource(4, "7")),
        ("broker:1234567890", Resource(4, "1234567890")),
        ("broker:2147483647", Resource(4, "2147483647")),
        ("broker-logger:2147483647", Resource(8, "2147483647")),
        ("broker:", Resource(4, "")),
        ("broker:default", Resource(4, "")),
        ("BROKER_LOGGER:1", Resource(8, "1")),
        ("group:g=x", Resource(32, "g=x")),
        ("client-metrics:m", Resource(16, "m")),
    ],
)
def test_a_resource_is_a_type_and_a_name(text: str, resource: Resource) -> None:
    assert parse_resource(text) == resource
    assert is_resource(text)
    assert parse_resource(str(resource)) == resource


@pytest.mark.parametrize(
    "text",
    [
        "orders",
        "topic:",
        "disk:1",
        "broker:x",
        "broker:-1",
        "broker-logger:",
        "",
        "broker:2147483648",
        "broker:12345678901",
        "broker:\u0661",
    ],
)
def test_what_names_no_resource_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"not TYPE:NAME|missing|not the id"):
        parse_resource(text)


def test_a_setting_is_set_shown_and_unset(quorum: EmbeddedQuorum) -> None:
    assert lines(quorum, "configs", "set", "topic:orders", "retention.ms=700000000", "segment.ms=5000") == [
        "topic:orders: retention.ms: set to 700000000, 604800000 before (default)",
        "topic:orders: segment.ms: set to 5000, 604800000 before (default)",
    ]
    rows = {row["key"]: row for row in objects(quorum, "configs", "get", "topic:orders")}
    assert rows.keys() == {"min.insync.replicas", "retention.ms", "segment.ms"}
    assert rows["segment.ms"].keys() == KEYS
    assert (rows["segment.ms"]["value"], rows["segment.ms"]["source"]) == ("5000", "topic")
    assert lines(quorum, "configs", "get", "topic:orders", "-k", "segment.ms")[1].split() == ["topic:orders", "segment.ms", "5000", "topic"]
    assert lines(quorum, "configs", "unset", "topic:orders", "segment.ms") == [
        "topic:orders: segment.ms: unset, 5000 before (topic), now 604800000 (default)"
    ]
    every = {row["key"]: row for row in objects(quorum, "configs", "get", "topic:orders", "--all")}
    assert every["segment.ms"]["source"] == "default" and len(every) > 25


def test_a_key_can_be_explained(quorum: EmbeddedQuorum) -> None:
    (row,) = objects(quorum, "configs", "get", "topic:orders", "-k", "retention.ms", "--explain")
    assert "retain a log" in row["documentation"]


def test_lists_grow_and_shrink(quorum: EmbeddedQuorum) -> None:
    (warning, told) = sorted(lines(quorum, "configs", "set", "topic:orders", "cleanup.policy+=compact", "--yes"), key=len)[::-1]
    assert "all but the newest record of each key are deleted for good" in warning
    assert told == "topic:orders: cleanup.policy: compact added, delete before (default), now delete,compact (topic)"
    assert lines(quorum, "configs", "set", "topic:orders", "cleanup.policy-=delete")[0].endswith(", now compact (topic)")


def test_a_dry_run_is_checked_by_the_cluster_and_changes_nothing(quorum: EmbeddedQuorum) -> None:
    assert lines(quorum, "configs", "set", "topic:orders", "segment.ms=5000", "--dry-run") == [
        "topic:orders: segment.ms: would be set to 5000, 604800000 before (default)"
    ]
    (told,) = lines(quorum, "configs", "set", "topic:orders", "segment.ms=soon", "--dry-run", status=1)
    assert told.startswith("metashell configs set: topic:orders: INVALID_CONFIG: Invalid value soon for configuration segment.ms: ")
    assert (2, "orders") not in quorum.image.configs


def test_an_unknown_key_gets_a_suggestion(quorum: EmbeddedQuorum) -> None:
    refused, hint = lines(quorum, "configs", "set", "topic:orders", "retention.m=5", status=1)
    assert "INVALID_CONFIG: Unknown topic config name: retention.m" in refused
    assert hint == "metashell configs set: topic:orders: Kafka 4.4 knows no key retention.m (did you mean retention.ms?)"
    (told,) = lines(quorum, "configs", "get", "topic:orders", "-k", "retentoin.ms", status=1)
    assert told.endswith("topic:orders: has no key retentoin.ms (did you mean retention.ms?)")


@pytest.mark.parametrize(
    ("words", "risk"),
    [
        (["retention.ms=1000"], "1000 is less than 604800000: older records are deleted for good"),
        (["retention.ms= 1000"], "1000 is less than 604800000: older records are deleted for good"),
        (["retention.ms=+1000"], "+1000 is less than 604800000: older records are deleted for good"),
        (["unclean.leader.election.enable= TRUE "], "acknowledged records are lost"),
        (["cleanup.policy= delete , compact"], "compact: all but the newest record of each key are deleted for good"),
        (["max.message.bytes=1000"], "producers of larger batches are refused"),
        (["retention.bytes=1000"], "1000 is less than -1"),
        (["cleanup.policy=compact"], "all but the newest record of each key are deleted"),
        (["unclean.leader.election.enable=true"], "acknowledged records are lost"),
        (["min.insync.replicas=2"], "producers with acks=all are refused"),
    ],
)
def test_what_can_lose_records_is_asked_about(quorum: EmbeddedQuorum, words: list[str], risk: str) -> None:
    warning, refused = lines(quorum, "configs", "set", "topic:orders", *words, status=2)
    assert risk in warning and "--yes" in refused
    assert (2, "orders") not in quorum.image.configs


@pytest.mark.parametrize(
    "words", [["retention.ms=-1"], ["retention.ms=604800000"], ["cleanup.policy=delete"], ["unclean.leader.election.enable=false"]]
)
def test_what_loses_nothing_is_done_at_once(quorum: EmbeddedQuorum, words: list[str]) -> None:
    assert lines(quorum, "configs", "set", "topic:orders", *words)[0].startswith("topic:orders: ")


def test_several_resources_at_once_each_for_itself(quorum: EmbeddedQuorum) -> None:
    told = lines(quorum, "configs", "set", "topic:orders", "topic:nope", "segment.ms=5000", status=1)
    assert told[0].startswith("topic:orders: segment.ms: set to 5000")
    assert "topic:nope: UNKNOWN_TOPIC_OR_PARTITION" in told[-1]
    rows = objects(quorum, "configs", "set", "topic:orders", "topic:nope", "segment.ms=6000", status=1)
    assert [(row["resource"], row["result"]) for row in rows] == [("topic:orders", "set"), ("topic:nope", "failed")]


def test_of_a_broker_controllers_know_what_commands_have_set(quorum: EmbeddedQuorum) -> None:
    lines(quorum, "configs", "set", "broker:default", "log.cleaner.threads=2")
    lines(quorum, "configs", "set", "broker:101", "num.io.threads=9")
    told = lines(quorum, "configs", "get", "broker:101")
    assert [line.split() for line in told[1:4]] == [
        ["broker:101", "log.cleaner.threads", "2", "all", "brokers"],
        ["broker:101", "min.insync.replicas", "1", "all", "brokers"],
        ["broker:101", "num.io.threads", "9", "broker"],
    ]
    assert "neither its server.properties nor defaults" in told[4]


def test_settings_come_from_a_file_and_passwords_stay_hidden(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    key = "listener.name.plaintext.ssl.key.password"
    file = tmp_path / "some.properties"
    file.write_text(f"{key}={SECRET}\nnum.io.threads=3\n")
    for form in ("text", "json", "jsonl", "table", "csv"):
        for words in (["set", "broker:101", "--from-file", str(file)], ["set", "broker:101", f"{key}={SECRET}"], ["get", "broker:101"]):
            done = command(quorum, "configs", *words, "-o", form)
            assert done.status == 0
            assert SECRET not in done.stdout.decode() + done.stderr
            assert b"[redacted]" in done.stdout or form == "table"
    assert quorum.image.configs[4, "101"][key] == SECRET


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["set", "retention.ms=5"], "no resource is given"),
        (["set", "topic:orders"], "no setting is given"),
        (["set", "topic:orders", SECRET], "setting 1 is not KEY=VALUE"),
        (["set", "topic:orders", "=x"], "setting 1 is not KEY=VALUE"),
        (["set", "topic:orders", "a=1", "a=2"], "a is given twice"),
        (["unset", "topic:orders"], "no key is given"),
        (["unset", "topic:orders", f"a={SECRET}"], "a=...: unset takes the key alone"),
        (["get", "orders"], "'orders' is not TYPE:NAME"),
    ],
)
def test_a_wrong_command_line_is_one_line_without_values(quorum: EmbeddedQuorum, words: list[str], text: str) -> None:
    (told,) = lines(quorum, "configs", *words, status=2)
    assert text in told and SECRET not in told


def test_what_was_never_set_is_not_unset(quorum: EmbeddedQuorum) -> None:
    assert lines(quorum, "configs", "unset", "topic:orders", "segment.ms") == ["topic:orders: segment.ms: was not set"]
    told = lines(quorum, "configs", "unset", "topic:orders", "min.insync.replicas")
    assert told == ["topic:orders: min.insync.replicas: was not set, 1 comes from elsewhere (all brokers)"]
    told = lines(quorum, "configs", "unset", "topic:orders", "retention.m", status=1)
    assert told == [
        "topic:orders: retention.m: was not set",
        "metashell configs unset: topic:orders: Kafka 4.4 knows no key retention.m (did you mean retention.ms?)",
    ]


def test_what_comes_back_when_a_key_is_unset_can_cost_records_too(quorum: EmbeddedQuorum) -> None:
    lines(quorum, "configs", "set", "topic:orders", "retention.ms=-1")
    warning, refused = lines(quorum, "configs", "unset", "topic:orders", "retention.ms", status=2)
    assert "retention.ms: 604800000 is less than -1: older records are deleted for good" in warning and "--yes" in refused
    told = lines(quorum, "configs", "unset", "topic:orders", "retention.ms", "--dry-run")
    assert told[0] == (
        "topic:orders: retention.ms: would be unset, -1 before (topic), 604800000 then (Kafka's default, unless brokers have another)"
    )
    lines(quorum, "configs", "set", "topic:orders", "cleanup.policy=compact", "--yes")
    warning, refused = lines(quorum, "configs", "unset", "topic:orders", "cleanup.policy", status=2)
    assert "delete: records older than the retention are deleted for good" in warning and "--yes" in refused
    assert lines(quorum, "configs", "unset", "topic:orders", "cleanup.policy", "--dry-run")[0].endswith(", delete then")
    lines(quorum, "configs", "set", "topic:orders", "retention.ms=5", "--yes")
    assert lines(quorum, "configs", "unset", "topic:orders", "retention.ms") == [
        "topic:orders: retention.ms: unset, 5 before (topic), now 604800000 (default)"
    ]


def test_through_controllers_a_broker_gets_nothing_that_it_reads_only_at_its_start(quorum: EmbeddedQuorum) -> None:
    (told,) = lines(quorum, "configs", "set", "broker:101", "node.id=9", "--yes", status=1)
    assert told.endswith("broker:101: node.id: a broker reads it only from server.properties, when it starts")
    assert lines(quorum, "configs", "set", "broker:101", "num.io.threads=9")[1].startswith(
        "metashell configs set: controllers do not check what only the broker itself can"
    )
    assert lines(quorum, "configs", "unset", "broker:101", "num.io.threads")[0] == "broker:101: num.io.threads: unset, 9 before (broker)"


def test_a_broker_that_is_not_there_has_no_settings(quorum: EmbeddedQuorum) -> None:
    (told,) = lines(quorum, "configs", "get", "broker:55", status=1)[-1:]
    assert "broker:55: BROKER_ID_NOT_REGISTERED: no such broker is registered, and nothing is set for it" in told


def test_a_password_on_a_command_line_is_remarked(quorum: EmbeddedQuorum) -> None:
    told = lines(quorum, "configs", "set", "broker:101", f"ssl.key.password={SECRET}", "--dry-run")
    assert any("ssl.key.password is a password; other users of this machine can see it on a command line" in line for line in told)
    assert SECRET not in "".join(told)


def test_an_unknown_key_of_a_broker_is_hidden_and_the_remark_says_why(quorum: EmbeddedQuorum) -> None:
    told = lines(quorum, "configs", "set", "broker:101", f"acme.plugin.level={SECRET}", "--dry-run")
    reason = "acme.plugin.level is an unknown key of a broker: it may be a password of a plug-in; other users of this machine can see it"
    assert any(reason in line for line in told)
    assert SECRET not in "".join(told)
