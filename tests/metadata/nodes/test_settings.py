"""Configs, quota entities, ACLs, SCRAM credentials and delegation tokens in both voices, and what is redacted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.codec.registry import message_type
from metashell.metadata.image.settings import Acl, AclsDelta, AclsImage, DelegationToken, ScramCredential
from metashell.metadata.nodes.settings import kafka_entity_name, own_entity_name, parse_kafka_entity, parse_own_entity
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
    assert configs.child("UNKNOWN-99:odd").child("k").value(redact=False) == "7"
    assert configs.child("GROUP:grp").child("k%2Fy").value(redact=False) == "6"
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


QUOTAS = {
    (("client-id", None),): {"producer_byte_rate": 1.0},
    (("client-id", None), ("user", None)): {"producer_byte_rate": 2.0},
    (("client-id", "app/with(paren)s"), ("user", None)): {"producer_byte_rate": 3.0},
    (("client-id", "cli\\back"),): {"consumer_byte_rate": 4.0},
    (("user", None),): {"producer_byte_rate": 5.0},
    (("user", "<default>"),): {"producer_byte_rate": 6.0},
    (("client-id", None), ("user", "alice")): {"producer_byte_rate": 7.0},
    (("user", "alice"),): {"producer_byte_rate": 1048576.0, "consumer_byte_rate": 2.5e6},
    (("client-id", "app-1"), ("user", "alice")): {"request_percentage": 12.5},
    (("ip", "10.0.0.1"),): {"connection_creation_rate": 8.0},
}
PARTS = st.dictionaries(
    st.sampled_from(["client-id", "ip", "user", "clientId", "group", "a_b(c)"]),
    st.none() | st.text(alphabet="ab_()\\/%<>default \x1b", max_size=8) | st.just("<default>"),
    max_size=3,
)


def test_kafka_lists_an_empty_name_for_each_default_entity_and_mixed_ones_under_anothers_name():
    names = at(kafka_root(quotas=QUOTAS), "image/clientQuotas").child_names()
    assert names == [
        "",
        "",
        "",
        "clientId(app-1)_user(alice)",
        "clientId(app/with\\(paren\\)s)",
        "clientId(cli\\\\back)",
        "ip(10.0.0.1)",
        "user(<default>)",
        "user(alice)",
        "user(alice)",
    ]


def test_in_kafkas_voice_default_entities_have_no_node_and_a_mixed_name_gives_the_plain_entity():
    quotas = at(kafka_root(quotas=QUOTAS), "image/clientQuotas")
    assert quotas.child("") is None
    assert quotas.child("clientId(app/with\\(paren\\)s)") is None
    assert quotas.child("user(alice)").child("producer_byte_rate").kafka_text() == "1048576.0"
    assert quotas.child("clientId(cli\\\\back)").child("consumer_byte_rate").kafka_text() == "4.0"
    assert [child.name for child in quotas.iter_children()].count("user(alice)") == 2


def test_in_our_voice_each_entity_has_its_own_name_and_resolves():
    quotas = at(own_root(quotas=QUOTAS), "image/clientQuotas")
    assert quotas.child_names() == [
        "clientId(<default>)",
        "clientId(<default>)_user(<default>)",
        "clientId(<default>)_user(alice)",
        "clientId(app%2Fwith%28paren%29s)_user(<default>)",
        "clientId(app-1)_user(alice)",
        "clientId(cli%5Cback)",
        "ip(10.0.0.1)",
        "user(%3Cdefault%3E)",
        "user(<default>)",
        "user(alice)",
    ]
    limits = [leaf.value() for child in quotas.iter_children() for leaf in child.iter_children()]
    assert sorted(limits) == sorted(limit for entity in QUOTAS.values() for limit in entity.values())


def test_names_as_kafka_writes_them_are_understood_in_our_voice_and_shown_in_ours():
    node = at(own_root(quotas=QUOTAS), "image/clientQuotas").child("clientId(cli\\\\back)")
    assert node.name == "clientId(cli%5Cback)"


@given(PARTS)
def test_every_entity_reads_back_from_its_own_name(parts):
    assert dict(parse_own_entity(own_entity_name(parts.items()))) == parts


@given(PARTS)
def test_own_names_hold_no_slash_backslash_or_control_character(parts):
    assert not set("/\\\x1b") & set(own_entity_name(parts.items()))


@given(PARTS.filter(lambda parts: parts and set(parts) <= {"client-id", "ip", "user"} and None not in parts.values()))
def test_entities_without_defaults_read_back_from_kafkas_name(parts):
    assert dict(parse_kafka_entity(kafka_entity_name(parts.items()))) == parts


@pytest.mark.parametrize("name", ["", "user", "user(", "user(a", "user(a)_", "user(a)x", "group(a)", "_user(a)", "user(a\\)"])
def test_kafka_finds_no_entity_in_a_malformed_name(name):
    assert parse_kafka_entity(name) is None


def test_kafka_keeps_the_later_of_two_parts_of_one_type():
    assert parse_kafka_entity("user(a)_user(b)") == [("user", "b")]


def test_the_second_view_nests_entities_by_type_and_name():
    root = own_root(quotas=QUOTAS)
    assert at(root, "client-quotas").child_names() == ["client-id", "ip", "user"]
    assert at(root, "client-quotas/client-id").child_names() == ["<default>", "app%2Fwith(paren)s", "app-1", "cli\\back"]
    assert at(root, "client-quotas/client-id/<default>").child_names() == ["producer_byte_rate", "user"]
    assert at(root, "client-quotas/client-id/<default>/user").child_names() == ["<default>", "alice"]
    assert at(root, "client-quotas/client-id/<default>/user/alice/producer_byte_rate").value() == 7.0
    assert at(root, "client-quotas/user/%3Cdefault%3E/producer_byte_rate").value() == 6.0
    assert at(root, "client-quotas/user/<default>/producer_byte_rate").value() == 5.0


def test_a_quota_called_as_a_type_does_not_hide_behind_it():
    quotas = {(("client-id", "a"),): {"user": 1.0}, (("client-id", "a"), ("user", "u")): {"x": 2.0}}
    place = at(own_root(quotas=quotas), "client-quotas/client-id/a")
    assert place.child_names() == ["%75%73%65%72", "user"]
    assert place.child("%75%73%65%72").value() == 1.0


def test_numbers_that_json_has_no_word_for_are_texts():
    quotas = {(("user", "a"),): {"x": float("nan"), "y": float("inf"), "z": float("-inf")}}
    entity = at(own_root(quotas=quotas), "image/clientQuotas/user(a)")
    assert [leaf.value() for leaf in entity.iter_children()] == ["NaN", "Infinity", "-Infinity"]


def test_a_quota_says_its_entity_beside_its_value():
    leaf = at(own_root(quotas=QUOTAS), "image/clientQuotas/clientId(<default>)_user(alice)/producer_byte_rate")
    assert leaf.type == "quota"
    assert leaf.envelope_info == {
        "entity": [{"entityType": "client-id", "entityName": None}, {"entityType": "user", "entityName": "alice"}]
    }


ID = bytes(range(16))
ID_TEXT = "AAECAwQFBgcICQoLDA0ODw"
ACL = Acl(2, "ord", 4, "User:bob", "10.0.0.5", 8, 3)


def test_an_entry_is_written_as_4_3_1_writes_it():
    assert at(kafka_root(acls={ID: ACL}), f"image/acls/byId/{ID_TEXT}").kafka_text() == (
        "StandardAcl[resourceType=TOPIC, resourceName=ord, patternType=PREFIXED, principal=User:bob, host=10.0.0.5"
        ", operation=DESCRIBE, permissionType=ALLOW]"
    )


def test_codes_without_a_word_are_unknown():
    text = at(kafka_root(acls={ID: ACL._replace(resource_type=99, operation=-1)}), f"image/acls/byId/{ID_TEXT}").kafka_text()
    assert "resourceType=UNKNOWN" in text and "operation=UNKNOWN" in text


def test_an_entrys_value_is_the_json_of_its_record_with_words_beside_it():
    message = message_type("metadata", "AccessControlEntryRecord")
    record = message.cls(id=ID, **ACL._asdict())
    delta = AclsDelta(AclsImage())
    delta.replay_access_control_entry(record)
    root = own_root(acls=delta.apply().by_id)
    leaf = at(root, f"image/acls/byId/{ID_TEXT}")
    assert leaf.value() == message.to_json_value(record, 0)
    assert leaf.type == "acl"
    assert leaf.envelope_info == {
        "resource_type": "TOPIC",
        "pattern_type": "PREFIXED",
        "operation": "DESCRIBE",
        "permission_type": "ALLOW",
    }
    assert at(root, f"acl/id/{ID_TEXT}").value() == leaf.value()


def test_entries_are_sorted_by_the_text_of_their_id_and_only_ids_resolve():
    ids = [bytes([first]) * 16 for first in (0, 104, 248, 252, 208)]
    directory = at(kafka_root(acls=dict.fromkeys(ids, ACL)), "image/acls/byId")
    names = directory.child_names()
    assert list(names) == sorted(names) and len(names) == 5
    for name in ("", "x", names[0][:-1], "_____________________w="):
        assert directory.child(name) is None


SCRAM = {2: {"alice": ScramCredential(b"\x01\x02", b"\xab" * 3, b"\xff", 8192), "a/b": ScramCredential(b"", b"", b"", 1)}}
TOKEN = DelegationToken("User:tom", "User:req", ("User:ann", "User:bea"), 1, 3, 2, "Js6nET9vRSC_eUM7mPCo-Q")


def test_both_mechanisms_are_there_with_and_without_users():
    scram = at(kafka_root(scram=SCRAM), "image/scram")
    assert scram.child_names() == ["SCRAM-SHA-256", "SCRAM-SHA-512"]
    assert scram.child("SCRAM-SHA-256").child_names() == []
    assert scram.child("SCRAM-SHA-512").child_names() == ["a/b", "alice"]
    assert scram.child("UNKNOWN") is None


def test_a_mechanism_that_java_does_not_know_shows_in_our_voice_only():
    scram = {7: SCRAM[2]}
    assert "UNKNOWN-7" in at(own_root(scram=scram), "image/scram").child_names()
    assert at(own_root(scram=scram), "image/scram/UNKNOWN-7/alice").value()["mechanism"] == 7
    assert len(at(kafka_root(scram=scram), "image/scram").child_names()) == 2


def test_kafka_prints_credentials_in_hex_and_its_own_redaction_hides_every_field():
    leaf = at(kafka_root(scram=SCRAM), "image/scram/SCRAM-SHA-512/alice")
    assert leaf.kafka_text() == "ScramCredentialData(salt=0102, storedKey=ababab, serverKey=ff, iterations=8192)"
    assert leaf.kafka_text(redact=True) == (
        "ScramCredentialData(salt=[redacted], storedKey=[redacted], serverKey=[redacted], iterations=[redacted])"
    )


def test_our_voice_redacts_salt_and_keys_unless_asked_and_gives_the_records_json():
    leaf = at(own_root(scram=SCRAM), "image/scram/SCRAM-SHA-512/alice")
    message = message_type("metadata", "UserScramCredentialRecord")
    clear = message.to_json_value(message.cls(name="alice", mechanism=2, **SCRAM[2]["alice"]._asdict()), 0)
    assert leaf.value(redact=False) == clear
    assert leaf.value() == clear | dict.fromkeys(("salt", "storedKey", "serverKey"), "[redacted]")
    assert leaf.envelope_info == {"mechanism": "SCRAM-SHA-512", "sensitive": True}
    assert leaf.type == "scram"
    assert at(own_root(scram=SCRAM), "image/scram/SCRAM-SHA-512/a%2Fb").value()["name"] == "a/b"


def test_a_token_is_written_with_kafkas_unbalanced_parentheses():
    leaf = at(kafka_root(tokens={TOKEN.token_id: TOKEN}), f"image/delegationToken/{TOKEN.token_id}")
    assert leaf.kafka_text() == (
        "DelegationTokenDatatokenId=Js6nET9vRSC_eUM7mPCo-Q(owner=User:tom(tokenRequester=User:req"
        "(renewers=User:ann User:bea, issueTimestamp=1, maxTimestamp=3), expiryTimestamp=2"
    )


def test_a_tokens_value_is_the_json_of_its_record():
    leaf = at(own_root(tokens={TOKEN.token_id: TOKEN}), f"image/delegationToken/{TOKEN.token_id}")
    message = message_type("metadata", "DelegationTokenRecord")
    assert leaf.value() == message.to_json_value(message.cls(**TOKEN._asdict()), 0)
    assert leaf.type == "token"
