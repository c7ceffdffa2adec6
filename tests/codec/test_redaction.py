"""What is secret, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import HEADER_SIZE, Record
from metashell.codec.redaction import (
    REDACTED,
    holds_secrets,
    is_sensitive_config,
    redact,
    resource_config_keys,
    secrets_of,
    shown_bytes,
    shown_head,
)
from metashell.codec.registry import MessageType, message_names, message_type
from metashell.quorum.controller.settings import config_keys
from tests.secret_logs import harmless_values, legacy_message, old_values, secret_values, undecodable, unframed
from tests.seeds import shows
from tools import gen_config_definitions

GOLDEN = Path(__file__).parents[1] / "golden"
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


def test_what_kafka_configs_hides_or_withholds_is_secret_and_nothing_that_it_shows() -> None:
    """4.4.0 withholds unknown keys of topics, groups and client metrics, and hides those of brokers; we read them from the log."""
    kinds = {"topics": TOPIC, "groups": GROUP, "client-metrics": CLIENT_METRICS, "brokers": BROKER}
    rows = [line.split("\t") for line in (GOLDEN / "secrets" / "kafka-configs.tsv").read_text().splitlines()]
    differing = {(kind, key) for kind, _, key, told in rows if is_sensitive_config(kinds[kind], key) != (told != "false")}
    # An older release knew that one, and showed it.
    assert differing == {("topics", "message.format.version")} and len(rows) == 36


@pytest.mark.parametrize(
    "key",
    ["ssl.keystore.password", "listener.name.internal.ssl.key.password", "listener.name.x.scram-sha-256.sasl.jaas.config", "made.up"],
)
def test_passwords_and_unknown_keys_of_brokers_are_secret(key: str) -> None:
    assert is_sensitive_config(BROKER, key)


@pytest.mark.parametrize("key", ["num.io.threads", "listener.name.internal.ssl.keystore.type", "leader.replication.throttled.rate"])
def test_known_keys_of_brokers_are_shown(key: str) -> None:
    assert not is_sensitive_config(BROKER, key)


@pytest.mark.parametrize("kind", [TOPIC, GROUP, CLIENT_METRICS, BROKER_LOGGER, 0, 99])
@pytest.mark.parametrize("key", ["custom.token", "my.plugin.secret", "sasl.jaas.config", "made.up", ""])
def test_unknown_keys_of_every_kind_of_resource_are_secret(kind: int, key: str) -> None:
    assert is_sensitive_config(kind, key)


@pytest.mark.parametrize("kind", [TOPIC, GROUP, CLIENT_METRICS])
def test_the_keys_of_kafka_are_shown(kind: int) -> None:
    name = {TOPIC: "topic", GROUP: "group", CLIENT_METRICS: "client_metrics"}[kind]
    assert config_keys(name) and config_keys(name).keys() <= resource_config_keys(kind)
    assert not any(is_sensitive_config(kind, key) for key in config_keys(name))
    # A key of another kind is unknown here, as it is to Kafka.
    assert is_sensitive_config(kind, "num.io.threads")


def test_keys_that_only_older_releases_have_are_shown() -> None:
    assert not is_sensitive_config(TOPIC, "message.format.version")


def test_the_file_of_keys_is_what_the_tables_make_of_it() -> None:
    assert gen_config_definitions.NAMES.read_text(encoding="utf-8") == gen_config_definitions.names()


def test_topic_settings_of_streams_groups_are_hidden_by_the_same_rule() -> None:
    kind = message_type("offsets", "StreamsGroupTopologyValue")
    assert holds_secrets(kind)
    settings = [{"key": "retention.ms", "value": "1"}, {"key": "custom.token", "value": "x"}]
    value = {"epoch": 1, "subtopologies": [{"stateChangelogTopics": [{"name": "t", "topicConfigs": settings}]}]}
    (shown,) = redact("StreamsGroupTopologyValue", value)["subtopologies"][0]["stateChangelogTopics"]
    assert [one["value"] for one in shown["topicConfigs"]] == ["1", REDACTED]


def test_a_removed_secret_stays_null() -> None:
    value = {"resourceType": BROKER, "resourceName": "1", "name": "ssl.key.password", "value": None}
    assert redact("ConfigRecord", value) == value
    assert redact("ConfigRecord", {**value, "value": "x"})["value"] == "[redacted]"


@shows("KIP-631/scram-record")
def test_scram_credentials_of_both_forms_are_redacted() -> None:
    value = {"name": "alice", "mechanism": 1, "salt": "c2FsdA==", "storedKey": "a", "serverKey": "b", "iterations": 4096}
    assert redact("UserScramCredentialRecord", value) == {
        "name": "alice",
        "mechanism": 1,
        "salt": "[redacted]",
        "storedKey": "[redacted]",
        "serverKey": "[redacted]",
        "iterations": 4096,
    }
    old = {"userName": "bob", "credentialInfos": [{"mechanism": 1, "salt": "s", "saltedPassword": "p", "iterations": 1}]}
    assert redact("UserScramCredentialRecord", old)["credentialInfos"] == [
        {"mechanism": 1, "salt": "[redacted]", "saltedPassword": "[redacted]", "iterations": 1}
    ]


def test_other_records_are_left_as_they_are() -> None:
    value = {"name": "orders", "topicId": "x"}
    assert redact("TopicRecord", value) is value


def every_message() -> list[MessageType]:
    from os import listdir
    from os.path import isdir, join

    from metashell.codec.registry import SCHEMA_FOLDER

    families = [name for name in sorted(listdir(SCHEMA_FOLDER)) if isdir(join(SCHEMA_FOLDER, name))]
    return [message_type(family, name) for family in families for name in message_names(family)]


BEARING = {
    "kip631": {"ConfigRecord", "UserScramCredentialRecord"},
    "metadata": {"ConfigRecord", "UserScramCredentialRecord"},
    "request": {
        "AlterConfigsRequest",
        "AlterUserScramCredentialsRequest",
        "CreateTopicsRequest",
        "EnvelopeRequest",
        "ExpireDelegationTokenRequest",
        "IncrementalAlterConfigsRequest",
        "ProduceRequest",
        "RenewDelegationTokenRequest",
        "SaslAuthenticateRequest",
        "StreamsGroupHeartbeatRequest",
    },
    "offsets": {"StreamsGroupTopologyValue"},
    "response": {
        "CreateDelegationTokenResponse",
        "CreateTopicsResponse",
        "DescribeConfigsResponse",
        "DescribeDelegationTokenResponse",
        "EnvelopeResponse",
        "FetchResponse",
        "FetchSnapshotResponse",
        "SaslAuthenticateResponse",
        "ShareFetchResponse",
        "StreamsGroupDescribeResponse",
    },
}
"""What the schemas of Kafka must lead to. A schema that is added and holds a secret is found without being named here."""


def test_the_messages_that_hold_secrets_follow_from_their_schemas() -> None:
    found: dict[str, set[str]] = {}
    for message in every_message():
        if holds_secrets(message):
            found.setdefault(message.family, set()).add(message.name)
    assert found == BEARING


def test_a_name_is_secret_in_a_whole_message_or_nowhere_in_it() -> None:
    for message in every_message():
        fields = [field for struct in (message.schema, *message.schema.structs.values()) for field in struct.fields]
        for field in fields:
            if field.json_name in secrets_of(message).fields:
                assert field.type in ("bytes", "string", "records"), (message, field)


def test_secrets_of_requests_are_redacted_at_any_depth() -> None:
    message = message_type("request", "AlterUserScramCredentialsRequest")
    upsertion = message.make_struct("ScramCredentialUpsertion")
    upsertion.salt, upsertion.salted_password = b"salty", b"hush"
    shown = redact(message.name, message.to_json_value(message.cls(upsertions=(upsertion,)), 0))
    assert (shown["upsertions"][0]["salt"], shown["upsertions"][0]["saltedPassword"]) == (REDACTED, REDACTED)

    message = message_type("request", "IncrementalAlterConfigsRequest")
    resource = message.make_struct("AlterConfigsResource")
    resource.resource_type = BROKER
    for name in ("made.up", "num.io.threads"):
        config = message.make_struct("AlterableConfig")
        config.name, config.value = name, "8"
        resource.configs = (*resource.configs, config)
    shown = redact(message.name, message.to_json_value(message.cls(resources=(resource,)), 1))
    assert [config["value"] for config in shown["resources"][0]["configs"]] == [REDACTED, "8"]


def test_what_a_broker_calls_sensitive_is_redacted() -> None:
    value = {"results": [{"resourceType": TOPIC, "configs": [{"name": "made.up", "value": "x", "isSensitive": True}]}]}
    assert redact("DescribeConfigsResponse", value)["results"][0]["configs"][0]["value"] == REDACTED


@pytest.mark.parametrize("value", [*secret_values(), *old_values()])
def test_bytes_that_could_be_a_record_with_secrets_are_not_shown(value: bytes) -> None:
    assert shown_bytes(value) is None
    assert all(shown_bytes(odd) is None for odd in [*undecodable(value), *unframed(value)])
    assert shown_bytes(value, is_user_data=True) is None
    assert shown_bytes(value, show_secrets=True) == value
    if value[:1] == b"\1":
        assert all(shown_bytes(odd, is_user_data=True) is None for odd in undecodable(value))


@pytest.mark.parametrize("value", [*harmless_values(), b"\1\2\0\x7f", b"short", b""])
def test_bytes_that_hold_no_secret_are_shown(value: bytes) -> None:
    assert shown_bytes(value) == value
    assert shown_bytes(value + b"!" if len(value) > 20 and value[1] == 2 else value) is not None


@pytest.mark.parametrize(
    "value", [b'{"id": 4711, "text": "hello"}', b"\0\0\0\0\5avro of a registry", "grüße aus köln".encode(), bytes(range(200, 240))]
)
def test_users_data_is_shown(value: bytes) -> None:
    assert shown_bytes(value, is_user_data=True) == value


def test_of_a_damaged_batch_only_a_header_that_is_one_is_shown() -> None:
    data = write_batch(7, [Record(7 + at, 1, None, value) for at, value in enumerate(secret_values())], leader_epoch=1)
    assert shown_head(data) == data[:HEADER_SIZE]
    assert shown_head(data[: HEADER_SIZE - 1]) is None
    assert all(shown_head(data[at:]) is None for at in range(1, len(data)))
    assert shown_head(legacy_message(1, 1, secret_values()[0])) is None
