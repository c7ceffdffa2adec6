"""Property files of clients."""

from __future__ import annotations

import pytest

from metashell.common.errors import UsageError
from metashell.disk.properties import parse_properties
from metashell.net.addresses import Address
from metashell.net.client_config import ClientConfig, client_config


def read(text: str, environ: dict[str, str] | None = None, listener: str = "") -> ClientConfig:
    return client_config(parse_properties(text.encode()), environ=environ or {}, parse=parse_properties, listener=listener)


def test_an_empty_file_is_a_client_of_plaintext() -> None:
    assert read("") == ClientConfig()


def test_a_file_says_where_to_connect_how_and_for_how_long() -> None:
    config = read(
        "bootstrap.servers = [::1]:9092,b:2\nclient.id=me\ndefault.api.timeout.ms=1500\nretry.backoff.ms=5\n"
        "socket.connection.setup.timeout.ms=70\nretry.backoff.max.ms=80\nmax.poll.records=3\n"
    )
    assert config.bootstrap == (Address("::1", 9092), Address("b", 2))
    options = config.options()
    assert (options["client_id"], options["deadline_ms"], options["connect_timeout_ms"]) == ("me", 1500, 70)
    assert (options["backoff_ms"], options["backoff_max_ms"]) == (5, 80)
    assert read("bootstrap.controllers=c:3").bootstrap == (Address("c", 3),)


@pytest.mark.parametrize(
    ("text", "checks"),
    [
        ("", True),
        ("metadata.cluster.check.enable=TRUE", True),
        ("metadata.cluster.check.enable=false", False),
        ("metadata.recovery.strategy=NONE", False),
        ("metadata.recovery.strategy=rebootstrap", True),
    ],
)
def test_a_client_says_whom_it_means_unless_its_file_forbids_it(text: str, checks: bool) -> None:
    assert read(text).options()["checks_cluster"] is checks


def test_secrets_come_from_the_environment_where_the_file_says_so() -> None:
    text = (
        "config.providers=env\nconfig.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
        '    username="alice" password="${env:ALICE}";\n'
    )
    security = read(text, {"ALICE": "alice-secret"}).security
    assert (security.mechanism, security.username, security.password) == ("SCRAM-SHA-512", "alice", "alice-secret")


def test_a_servers_file_connects_as_its_listener() -> None:
    text = (
        "process.roles=controller\ncontroller.listener.names=CONTROLLER\nlistener.security.protocol.map=CONTROLLER:SASL_PLAINTEXT\n"
        "sasl.mechanism.controller.protocol=PLAIN\n"
        'listener.name.controller.plain.sasl.jaas.config=x.PlainLoginModule required username="n" password="p";\n'
    )
    security = read(text, listener="CONTROLLER").security
    assert (security.protocol, security.mechanism, security.username) == ("SASL_PLAINTEXT", "PLAIN", "n")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("default.api.timeout.ms=soon", "default.api.timeout.ms: soon is not a number of milliseconds"),
        ("retry.backoff.ms=-1", "retry.backoff.ms: -1 is not a number of milliseconds"),
        ("retry.backoff.ms=99999999999999999", "retry.backoff.ms: 99999999999999999 is not a number of milliseconds"),
        ("metadata.cluster.check.enable=maybe", "metadata.cluster.check.enable: maybe is not true or false"),
        ("bootstrap.servers=nowhere", "'nowhere' is not HOST:PORT"),
        ("security.protocol=TLS", "security.protocol: TLS is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
    ],
)
def test_a_value_that_cannot_be_is_one_line(text: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text)
    assert str(caught.value) == told
