"""What a controller is started with, and functions in the place of an operator's Java classes.
The settings that Kafka knows are data from Kafka itself, and a value is taken or refused as Kafka does."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.codes import TOPIC_RESOURCE
from metashell.codec.error_codes import INVALID_REQUEST, NONE, POLICY_VIOLATION, UNKNOWN_SERVER_ERROR
from metashell.codec.java import host_address
from metashell.common.errors import UsageError
from metashell.quorum.controller import Settings
from metashell.quorum.controller.decision import ApiError
from metashell.quorum.controller.settings import (
    STANDARD_AUTHORIZER,
    ConfigsToAlter,
    Policies,
    PolicyError,
    TopicToCreate,
    check_value,
    config_keys,
    parse_value,
)
from tests.quorum.controller.cluster import Cluster
from tools import gen_config_definitions

AUTHORIZER = {"authorizer.class.name": STANDARD_AUTHORIZER}


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (AUTHORIZER | {"super.users": "User:a;b"}, "super.users: expected a string in format principalType:principalName but got b"),
        ({"authorizer.class.name": "org.example.Mine"}, "authorizer.class.name: org.example.Mine is a Java class, which cannot run here"),
        ({"create.topic.policy.class.name": "org.example.P"}, "create.topic.policy.class.name: org.example.P is a Java class"),
        ({"alter.config.policy.class.name": "org.example.P"}, "alter.config.policy.class.name: org.example.P is a Java class"),
    ],
)
def test_what_cannot_run_here_is_refused(config: dict[str, str], why: str) -> None:
    with pytest.raises(UsageError) as raised:
        Settings(config, "c", 1)

    assert str(raised.value).startswith(why)


def test_super_users_are_taken_as_kafka_takes_them() -> None:
    settings = Settings(AUTHORIZER | {"super.users": " User:a ;;User:CN=b;User: d;", "allow.everyone.if.no.acl.found": " TRUE "}, "c", 1)

    assert settings.super_users == {"User:a", "User:CN=b", "User: d"}
    assert settings.allows_without_acl
    assert not Settings(AUTHORIZER | {"allow.everyone.if.no.acl.found": "yes"}, "c", 1).allows_without_acl
    assert Settings({"super.users": "nonsense"}, "c", 1).super_users == set()


class Asked:
    """Policies that keep what they are asked and refuse what has a bad word in it."""

    def __init__(self) -> None:
        self.topics: list[TopicToCreate] = []
        self.configs: list[ConfigsToAlter] = []

    def create_topic(self, topic: TopicToCreate) -> None:
        self.topics.append(topic)
        if topic.name == "bad":
            raise PolicyError("no bad topics")
        if topic.name == "worse":
            raise ZeroDivisionError("oops")

    def alter_configs(self, changes: ConfigsToAlter) -> None:
        self.configs.append(changes)
        if changes.configs.get("retention.ms") == "666":
            raise PolicyError("no such number")


def with_policies() -> tuple[Cluster, Asked]:
    asked = Asked()
    config = {"create.topic.policy.class.name": "org.example.A", "alter.config.policy.class.name": "org.example.B"}
    cluster = Cluster(config, policies=Policies(asked.create_topic, asked.alter_configs))
    cluster.register(1, 2)
    return cluster, asked


def test_a_policy_refuses_one_topic_and_no_other() -> None:
    cluster, asked = with_policies()
    made = messages.CreateTopicsRequest
    config = (made.CreatableTopicConfig(name="retention.ms", value="5"),)
    topics = tuple(made.CreatableTopic(name=name, num_partitions=2, replication_factor=1, configs=config) for name in ("bad", "worse", "t"))

    answer = cluster.ask(19, 7, made(topics=topics, timeout_ms=1000))

    assert [(one.name, one.error_code, one.error_message) for one in answer.topics] == [
        ("bad", POLICY_VIOLATION, "no bad topics"),
        ("worse", UNKNOWN_SERVER_ERROR, "The policy failed: ZeroDivisionError: oops"),
        ("t", NONE, None),
    ]
    assert asked.topics[2] == TopicToCreate("t", 2, 1, None, {"retention.ms": "5"})
    assert asked.configs[2] == ConfigsToAlter(TOPIC_RESOURCE, "t", {"retention.ms": "5"})
    cluster.create("by-hand", (1,))
    assert asked.topics[3] == TopicToCreate("by-hand", None, None, {0: (1,)}, {})


def alter(cluster: Cluster, value: str) -> Any:
    made = messages.IncrementalAlterConfigsRequest
    change = made.AlterableConfig(name="retention.ms", config_operation=0, value=value)
    resource = made.AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name="t", configs=(change,))
    return cluster.ask(44, 1, made(resources=(resource,))).responses[0]


def test_a_policy_sees_what_is_named_and_refuses_it() -> None:
    cluster, asked = with_policies()
    cluster.create("t", (1,))
    assert alter(cluster, "7").error_code == NONE
    refused = alter(cluster, "666")
    assert (refused.error_code, refused.error_message) == (POLICY_VIOLATION, "no such number")
    old = messages.AlterConfigsRequest
    config = (old.AlterableConfig(name="cleanup.policy", value="compact"),)
    resource = old.AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name="t", configs=config)

    assert cluster.ask(33, 2, old(resources=(resource,))).responses[0].error_code == NONE

    # What the old API deletes by leaving it out is not named.
    assert asked.configs[-1] == ConfigsToAlter(TOPIC_RESOURCE, "t", {"cleanup.policy": "compact"})
    assert "retention.ms" not in cluster.controller.image.configs[TOPIC_RESOURCE, "t"]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (bytes((10, 0, 0, 1)), "10.0.0.1"),
        (bytes(15) + b"\1", "0:0:0:0:0:0:0:1"),
        (bytes.fromhex("20010db8000000000000000000000abc"), "2001:db8:0:0:0:0:0:abc"),
        (bytes(10) + b"\xff\xff\1\2\3\4", "1.2.3.4"),
    ],
)
def test_an_address_is_shown_as_java_shows_it(raw: bytes, text: str) -> None:
    assert host_address(raw) == text


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        *[(text, True) for text in ("10.1", "1", "1.2.3", "256", "4294967295", "01.2.3.4", "[::1]", "::1", "::ffff:1.2.3.4", "localhost")],
        *[(text, False) for text in ("999.1.1.1", "4294967296", "1.2.3.4.5", " 1.2.3.4", "a_b", "1.2.3.", "[1.2.3.4]", "::g")],
    ],
)
def test_a_quota_is_for_what_java_takes_for_an_address(address: str, is_one: bool) -> None:
    made = messages.AlterClientQuotasRequest
    entity = (made.EntityData(entity_type="ip", entity_name=address),)
    entry = made.EntryData(entity=entity, ops=(made.OpData(key="connection_creation_rate", value=5.0, remove=False),))

    answer = Cluster().ask(49, 1, made(entries=(entry,)))

    assert answer.entries[0].error_code == (NONE if is_one else INVALID_REQUEST)


@pytest.mark.slow
def test_the_definitions_are_those_of_the_real_kafka() -> None:
    read = {kind: (gen_config_definitions.FOLDER / f"{kind}.tsv").read_text(encoding="utf-8") for kind in gen_config_definitions.KINDS}
    assert read == gen_config_definitions.definitions()


def test_hours_and_minutes_of_the_file_count_as_milliseconds() -> None:
    cluster = Cluster({"log.retention.minutes": "5", "log.roll.hours": "3"})
    cluster.register(1)
    cluster.create("t", (1,))
    made = messages.DescribeConfigsRequest
    resource = made.DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name="t", configuration_keys=None)

    (result,) = cluster.ask(32, 4, made(resources=(resource,))).results

    values = {one.name: one.value for one in result.configs}
    assert (values["retention.ms"], values["segment.ms"]) == ("300000", "10800000")


@pytest.mark.parametrize("kind", gen_config_definitions.KINDS)
def test_every_default_passes_its_own_check(kind: str) -> None:
    for key in config_keys(kind).values():
        value = parse_value(key, key.default)
        if value is not None:
            check_value(key, value)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("retention.ms", "x", "Not a number of type LONG"),
        ("retention.ms", "9223372036854775808", "Not a number of type LONG"),
        ("min.insync.replicas", "0", "Value must be at least 1"),
        ("compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1"),
        ("cleanup.policy", "shred", "String must be one of: compact, delete"),
        ("preallocate", "maybe", "Expected value to be either true or false"),
    ],
)
def test_a_bad_value_is_refused_in_kafkas_words(name: str, text: str, why: str) -> None:
    key = config_keys("topic")[name]

    with pytest.raises(ApiError) as raised:
        check_value(key, parse_value(key, text))

    assert raised.value.message == f"Invalid value {text} for configuration {name}: {why}"


def test_a_password_is_never_shown() -> None:
    key = next(key for key in config_keys("broker").values() if key.is_sensitive)._replace(check="ValidString validStrings=x")

    with pytest.raises(ApiError) as raised:
        check_value(key, parse_value(key, "secret"))

    assert "secret" not in str(raised.value.message)
