"""Kafka's properties as what secures a connection.
The value of sasl.jaas.config."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.common.errors import UsageError
from metashell.net.sasl import PlainClient, ScramClient
from metashell.net.security import PLAINTEXT, ListenerSecurity, listener_security, parse_jaas, security_config

SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="alice-secret";'
BOB = 'username="bob" password="bob-secret" user_bob="bob-secret" user_al="x"'
PLAIN = f"org.apache.kafka.common.security.plain.PlainLoginModule required {BOB};"
SERVER = {
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:SASL_SSL,CLIENTS:SASL_PLAINTEXT,OPEN:PLAINTEXT,TLS:SSL",
    "sasl.mechanism.controller.protocol": "SCRAM-SHA-512",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "sasl.jaas.config": SCRAM,
    "listener.name.clients.sasl.enabled.mechanisms": "PLAIN, SCRAM-SHA-256",
    "listener.name.clients.plain.sasl.jaas.config": PLAIN,
    "ssl.keystore.location": "general.pem",
    "listener.name.controller.ssl.keystore.location": "controller.pem",
    "listener.name.controller.ssl.client.auth": "required",
}


def test_nothing_configured_is_plaintext() -> None:
    assert security_config({}) == PLAINTEXT
    assert PLAINTEXT.sasl_client() is None


def test_a_client_logs_in_as_its_file_says() -> None:
    config = security_config({"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": SCRAM})
    assert (config.protocol, config.mechanism, config.username, config.password) == ("SASL_SSL", "SCRAM-SHA-256", "alice", "alice-secret")
    assert config.tls is not None and config.tls.endpoint_identification
    assert isinstance(config.sasl_client(), ScramClient)
    assert config.sasl_client() is not config.sasl_client()
    plain = security_config({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN})
    assert plain.tls is None and isinstance(plain.sasl_client(), PlainClient)


def test_a_password_is_in_no_repr() -> None:
    values = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN}
    secrets = {"ssl.key.password": "s-1", "ssl.keystore.password": "s-2", "ssl.truststore.password": "s-3", "ssl.keystore.key": "s-4"}
    shown = repr(security_config({**values, **secrets}))
    assert "bob-secret" not in shown and "s-" not in shown.replace("SASL_SSL", "")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"security.protocol": "TLS"}, "security.protocol: TLS is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"security.protocol": ""}, "security.protocol: empty is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"sasl.mechanism": None}, "sasl.mechanism: GSSAPI (Kerberos) is not supported; supported are PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        (
            {"sasl.mechanism": "OAUTHBEARER"},
            "sasl.mechanism: OAUTHBEARER is not supported; supported are PLAIN, SCRAM-SHA-256, SCRAM-SHA-512",
        ),
        ({"sasl.mechanism": "MD5"}, "sasl.mechanism: MD5 is not known; supported are PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ({"sasl.jaas.config": None}, "sasl.jaas.config: not set, and a JAAS file of Java is not read"),
        (
            {"sasl.jaas.config": "org.x.Krb5LoginModule required;"},
            "sasl.jaas.config: Krb5LoginModule is not supported, only ScramLoginModule and PlainLoginModule",
        ),
        ({"sasl.jaas.config": 'x.PlainLoginModule required username="a";'}, "sasl.jaas.config: PlainLoginModule has no password"),
        ({"sasl.jaas.config": 'x.PlainLoginModule required password="a";'}, "sasl.jaas.config: PlainLoginModule has no username"),
        (
            {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "LDAPS"},
            "ssl.endpoint.identification.algorithm: LDAPS is neither https nor empty",
        ),
        ({"security.protocol": "SSL", "ssl.client.auth": "maybe"}, "ssl.client.auth: maybe is none of none, requested, required"),
    ],
)
def test_what_is_not_supported_is_one_clear_line(changes: dict[str, Any], told: str) -> None:
    values = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN} | changes
    with pytest.raises(UsageError) as caught:
        security_config({key: value for key, value in values.items() if value is not None})
    assert str(caught.value) == told


@pytest.mark.parametrize("algorithm", ["", " "])
def test_names_are_not_checked_only_when_that_is_said(algorithm: str) -> None:
    config = security_config({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": algorithm})
    assert config.tls is not None and not config.tls.endpoint_identification
    upper = security_config({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "HTTPS"})
    assert upper.tls is not None and upper.tls.endpoint_identification


def test_a_key_with_the_listeners_prefix_wins() -> None:
    controller = listener_security(SERVER, "CONTROLLER")
    assert (controller.protocol, controller.mechanisms) == ("SASL_SSL", ("SCRAM-SHA-512",))
    assert controller.tls is not None
    assert (controller.tls.keystore.location, controller.tls.client_auth) == ("controller.pem", "required")
    tls = listener_security(SERVER, "TLS").tls
    assert tls is not None and (tls.keystore.location, tls.client_auth) == ("general.pem", "none")
    clients = listener_security(SERVER, "CLIENTS")
    assert clients == ListenerSecurity(
        protocol="SASL_PLAINTEXT", mechanisms=("PLAIN", "SCRAM-SHA-256"), plain_users={"bob": "bob-secret", "al": "x"}
    )
    assert listener_security(SERVER, "OPEN") == ListenerSecurity()


def test_a_server_connects_to_others_as_its_listeners_say() -> None:
    controller = security_config(SERVER, "CONTROLLER")
    assert (controller.protocol, controller.mechanism, controller.username) == ("SASL_SSL", "SCRAM-SHA-512", "alice")
    clients = security_config(SERVER, "CLIENTS")
    assert (clients.protocol, clients.mechanism, clients.username) == ("SASL_PLAINTEXT", "PLAIN", "bob")
    assert security_config(SERVER, "OPEN") == PLAINTEXT
    assert security_config({}, "SSL").protocol == "SSL"
    assert security_config({}, "CONTROLLER").protocol == "PLAINTEXT"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"ssl.keystore.location": ""}, "ssl.keystore.location: listener TLS has no key and certificate"),
        ({"listener.security.protocol.map": "TLS:XYZ"}, "listener.security.protocol.map: XYZ is none of"),
        ({"listener.security.protocol.map": "OTHER:SSL"}, "listener.security.protocol.map: TLS is none of"),
        ({"listener.security.protocol.map": "TLS:SASL_SSL", "sasl.enabled.mechanisms": "GSSAPI"}, "sasl.enabled.mechanisms: GSSAPI"),
    ],
)
def test_a_listener_that_cannot_be_secured_is_refused(changes: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        listener_security(SERVER | changes, "TLS")
    assert str(caught.value).startswith(told)


SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (f'{SCRAM_MODULE} required username="alice" password="a b";', {"username": "alice", "password": "a b"}),
        (f"{SCRAM_MODULE} REQUIRED username='al\"ice' password=word;", {"username": 'al"ice', "password": "word"}),
        (f'{SCRAM_MODULE} sufficient\n  password="a\\"b\\\\c\\n\\101;="\n;', {"password": 'a"b\\c\nA;='}),
        (f"{SCRAM_MODULE} optional;", {}),
        (f'{SCRAM_MODULE} required "user_bob"="b" user_al-ice="a" ; // done', {"user_bob": "b", "user_al-ice": "a"}),
        (f'/* mine */ {SCRAM_MODULE} required a="/* no */";', {"a": "/* no */"}),
        (f'{SCRAM_MODULE} required a="1" a="2";', {"a": "2"}),
        (f'{SCRAM_MODULE} required a="";', {"a": ""}),
    ],
)
def test_a_module_has_a_flag_and_options(text: str, options: dict[str, str]) -> None:
    module = parse_jaas(text)
    assert (module.name, module.short_name, module.options) == (SCRAM_MODULE, "ScramLoginModule", options)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no login module"),
        (f"{SCRAM_MODULE}", "no login module"),
        (f"{SCRAM_MODULE} maybe a='secret';", "none of required"),
        (f"{SCRAM_MODULE} required a='secret'", "no semicolon at the end"),
        (f"{SCRAM_MODULE} required a='secret'; {SCRAM_MODULE} required;", "more than one login module"),
        (f"{SCRAM_MODULE} required a=12345;", "character"),
        (f"{SCRAM_MODULE} required a='secret;", "a quotation mark is not closed"),
        (f"{SCRAM_MODULE} required a 'secret';", "option 1 is not NAME=VALUE"),
        (f"{SCRAM_MODULE} required a='secret' b=;", "option 2 has no value"),
        (f"{SCRAM_MODULE} required a=", "no value"),
        (f"{SCRAM_MODULE} required =a;", "option 1 is not NAME=VALUE"),
        (f"{SCRAM_MODULE} required a=secret!;", "a character that needs quotes"),
    ],
)
def test_a_fault_is_told_without_the_value(text: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_jaas(text, "some.key")
    message = str(caught.value)
    assert message.startswith("some.key: ") and told in message
    assert "secret" not in message and "12345" not in message


@given(st.text())
def test_any_value_comes_back_from_its_quotes(value: str) -> None:
    escaped = "".join({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}.get(char, char) for char in value)
    assert parse_jaas(f'{SCRAM_MODULE} required v="{escaped}";').options == {"v": value}


@given(st.text(alphabet="ab=;\"'\\/* \n-.$", max_size=60))
def test_no_text_makes_it_raise_anything_else(text: str) -> None:
    for candidate in (text, f"{SCRAM_MODULE} required {text}"):
        try:
            parse_jaas(candidate)
        except UsageError as error:
            assert "\n" not in str(error)
