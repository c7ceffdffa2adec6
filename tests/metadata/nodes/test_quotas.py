"""Quota entities in both voices and in the second view."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.metadata.nodes.settings import kafka_entity_name, own_entity_name, parse_kafka_entity, parse_own_entity
from tests.metadata.nodes.stand_in import at, kafka_root, own_root

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
