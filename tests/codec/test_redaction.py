"""What is secret, and what is not."""

from __future__ import annotations

import pytest

from metashell.codec.redaction import is_sensitive_config, redact

TOPIC, BROKER = 2, 4


@pytest.mark.parametrize(
    "key",
    ["ssl.keystore.password", "listener.name.internal.ssl.key.password", "listener.name.x.scram-sha-256.sasl.jaas.config", "made.up"],
)
def test_passwords_and_unknown_keys_of_brokers_are_secret(key: str) -> None:
    assert is_sensitive_config(BROKER, key)


@pytest.mark.parametrize("key", ["num.io.threads", "listener.name.internal.ssl.keystore.type", "leader.replication.throttled.rate"])
def test_known_keys_of_brokers_are_shown(key: str) -> None:
    assert not is_sensitive_config(BROKER, key)


def test_unknown_keys_of_topics_are_shown_and_passwords_are_not() -> None:
    assert not is_sensitive_config(TOPIC, "made.up")
    assert is_sensitive_config(TOPIC, "sasl.jaas.config")


def test_a_removed_secret_stays_null() -> None:
    value = {"resourceType": BROKER, "resourceName": "1", "name": "ssl.key.password", "value": None}
    assert redact("ConfigRecord", value) == value
    assert redact("ConfigRecord", {**value, "value": "x"})["value"] == "[redacted]"


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
