"""Configs in both voices, and what is redacted."""

from __future__ import annotations

from tests.metadata.nodes.stand_in import at, kafka_root, own_root

CONFIGS = {
    (4, ""): {"message.max.bytes": "1"},
    (4, "4"): {"log.cleaner.threads": "2", "listener.name.sasl.ssl.keystore.password": "hunter2", "my.own.key": "x"},
    (4, "<default>"): {"a": "3"},
    (2, "orders"): {"retention.ms": "4", "empty": "", "lines": "a\nb"},
    (8, "4"): {"root": "INFO"},
    (16, "sub/1"): {"match": "5"},
    (32, "grp"): {"k/y": "6"},
    (99, "odd"): {"k": "7"},
    (98, "odd"): {"k": "8"},
}


def test_kafka_names_a_resource_by_its_type_and_name():
    names = at(kafka_root(configs=CONFIGS), "image/configs").child_names()
    assert names == [
        "BROKER",
        "BROKER:4",
        "BROKER:<default>",
        "BROKER_LOGGER:4",
        "CLIENT_METRICS:sub/1",
        "GROUP:grp",
        "TOPIC:orders",
        "UNKNOWN:odd",
        "UNKNOWN:odd",
    ]


def test_kafka_prints_values_as_they_are():
    configs = at(kafka_root(configs=CONFIGS), "image/configs")
    topic = configs.child("TOPIC:orders")
    assert [leaf.kafka_text() for leaf in topic.iter_children()] == ["", "a\nb", "4"]
    assert configs.child("BROKER:4").child("listener.name.sasl.ssl.keystore.password").kafka_text() == "hunter2"
    assert configs.child("BROKER:").child("message.max.bytes").kafka_text() == "1"
    assert configs.child("UNKNOWN:odd").child("k").kafka_text() in ("7", "8")
    for name in ("", "TOPIC", "TOPICorders", "NOPE:x", "broker:4", "TOPIC:nope"):
        assert configs.child(name) is None


def test_in_our_voice_every_name_resolves_and_no_two_are_equal():
    configs = at(own_root(configs=CONFIGS), "image/configs")
    names = configs.child_names()
    assert len(set(names)) == len(CONFIGS)
    assert [child.name for child in configs.iter_children()] == list(names)
    assert {"BROKER:%3Cdefault%3E", "CLIENT_METRICS:sub%2F1", "UNKNOWN-98:odd", "UNKNOWN-99:odd"} < set(names)
    assert configs.child("UNKNOWN-99:odd").child("k").value() == "7"
    assert configs.child("GROUP:grp").child("k%2Fy").value() == "6"
    assert configs.child("BROKER:<default>").child("message.max.bytes").value() == "1"
    for name in ("", "UNKNOWN-x:odd", "UNKNOWN-:odd", "UNKNOWN-97:odd", "TOPIC"):
        assert configs.child(name) is None


def test_passwords_and_unknown_broker_keys_are_redacted_unless_asked_for():
    broker = at(own_root(configs=CONFIGS), "image/configs/BROKER:4")
    assert {leaf.name: leaf.value() for leaf in broker.iter_children()} == {
        "listener.name.sasl.ssl.keystore.password": "[redacted]",
        "log.cleaner.threads": "2",
        "my.own.key": "[redacted]",
    }
    secret = broker.child("my.own.key")
    assert secret.value(redact=False) == "x"
    assert secret.kafka_text(redact=True) == "[redacted]"
    assert secret.envelope_info == {"resource_type": "BROKER", "resource_name": "4", "sensitive": True}
    assert broker.child("log.cleaner.threads").envelope_info["sensitive"] is False


def test_the_second_view_has_a_directory_for_each_type():
    root = own_root(configs=CONFIGS)
    assert at(root, "configs").child_names() == [
        "broker",
        "broker-logger",
        "client-metrics",
        "group",
        "topic",
        "unknown-98",
        "unknown-99",
    ]
    assert at(root, "configs/broker").child_names() == ["%3Cdefault%3E", "4", "<default>"]
    assert at(root, "configs/broker/<default>/message.max.bytes").value() == "1"
    assert at(root, "configs/broker/%3Cdefault%3E/a").value(redact=False) == "3"
    assert at(root, "configs/client-metrics/sub%2F1/match").value() == "5"
    assert at(root, "configs/broker/5") is None
    assert at(own_root(), "configs").child_names() == ["broker", "topic"]
