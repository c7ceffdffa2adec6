"""The posture of a controller: who may log in how, and what is weak."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from metashell.quorum.server.config import controller_config
from metashell.quorum.server.posture import Posture, posture_of

BASE = {
    "process.roles": "controller",
    "node.id": "1",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "CONTROLLER://10.0.0.1:9093",
    "log.dirs": "logs",
}
AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users": "User:admin"}
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SASL = {
    "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.controller.plain.sasl.jaas.config": f'{LOGIN} username="admin" password="pw" user_admin="pw" user_eve="other";',
    "listener.name.controller.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
}


def posture(*more: Mapping[str, str], descriptors: int = 20_000) -> Posture:
    properties = dict(BASE)
    for each in more:
        properties.update(each)
    return posture_of(controller_config(properties), descriptors)


@pytest.mark.parametrize(
    ("settings", "weak"),
    [
        ({}, ["anonymous", "no-authorizer"]),
        (AUTHORIZER, ["anonymous-with-authorizer"]),
        ({**AUTHORIZER, "super.users": "User:admin;User:ANONYMOUS"}, ["anonymous-with-authorizer", "anonymous-super-user"]),
        ({**AUTHORIZER, **SASL}, ["clear-passwords"]),
        ({**AUTHORIZER, **SASL, "allow.everyone.if.no.acl.found": "true"}, ["clear-passwords", "allows-without-acl"]),
        ({**AUTHORIZER, **SASL, "connection.failed.authentication.delay.ms": "0"}, ["clear-passwords", "quick-guesses"]),
        ({**AUTHORIZER, **SASL, "max.connections": "50000"}, ["clear-passwords", "connections-beyond-descriptors"]),
        (SASL, ["clear-passwords", "no-authorizer"]),
    ],
)
def test_weak_settings_are_found(settings: Mapping[str, str], weak: list[str]) -> None:
    found = posture(settings)
    assert [each.id for each in found.weaknesses] == weak
    assert [line for line in found.lines if line.startswith("weak: ")] == [each.line for each in found.weaknesses]


def test_few_descriptors_are_weak_and_how_many_are_for_whom_is_said() -> None:
    found = posture(AUTHORIZER, SASL, descriptors=1024)
    assert "few-descriptors" in [each.id for each in found.weaknesses]
    assert "descriptors: 1024 at hand, 768 for connections, 192 of these for clients that have not logged in" in found.lines


def test_it_says_who_may_log_in_how_and_as_whom_and_no_secret() -> None:
    found = posture(AUTHORIZER, SASL)
    assert found.lines[:4] == [
        "listener CONTROLLER on 10.0.0.1:9093: SASL_PLAINTEXT: PLAIN by the users admin, eve of the configuration; SCRAM-SHA-256 by users "
        "and delegation tokens of the quorum: a client is User:NAME of its login",
        "rights: StandardAuthorizer: User:admin may do everything, others only what an ACL allows",
        "other controllers: it logs in by PLAIN as admin (SASL_PLAINTEXT)",
        "forwards: nothing: brokers forward requests in envelopes as their clients, which needs ClusterAction",
    ]
    text = json.dumps(found.as_json())
    assert '"pw"' not in text and '"other"' not in text and json.loads(text)["listeners"][0]["protocol"] == "SASL_PLAINTEXT"
    assert posture().lines[0] == "listener CONTROLLER on 10.0.0.1:9093: PLAINTEXT: nobody logs in: a client is User:ANONYMOUS"
