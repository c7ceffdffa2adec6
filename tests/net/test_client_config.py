"""Property files of clients.
Values that stand in the environment, in files, or in a directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.common.errors import UsageError
from metashell.disk.properties import parse_properties
from metashell.net.addresses import Address
from metashell.net.client_config import FILE_SIZE_MAX, ClientConfig, client_config, resolve_providers


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


PACKAGE = "org.apache.kafka.common.config.provider"
DECLARED = {
    "config.providers": "env, file,dir",
    "config.providers.env.class": f"{PACKAGE}.EnvVarConfigProvider",
    "config.providers.file.class": f"{PACKAGE}.FileConfigProvider",
    "config.providers.dir.class": f"{PACKAGE}.DirectoryConfigProvider",
}


def resolved(value: str, environ: dict[str, str] | None = None, **more: str) -> str:
    properties = {**DECLARED, **more, "ssl.key.password": value}
    return resolve_providers(properties, environ or {}, parse_properties)["ssl.key.password"]


def test_a_variable_of_the_environment_is_its_value() -> None:
    assert resolved("${env:KEY}", {"KEY": "secret"}) == "secret"
    assert resolved("<${env:KEY}|${env:KEY}>", {"KEY": "${env:KEY}"}) == "<${env:KEY}|${env:KEY}>"


def test_a_file_gives_the_value_of_a_key(tmp_path: Path) -> None:
    file = tmp_path / "secrets.properties"
    file.write_text("one=1\ntwo=a\\u0062c\n")
    assert resolved(f"${{file:{file}:two}}") == "abc"
    (tmp_path / "password").write_text("from a file\n")
    assert resolved(f"${{dir:{tmp_path}:password}}") == "from a file\n"


def test_what_no_declared_provider_names_stays_as_it_is() -> None:
    assert resolved("${vault:a:b} $env:X ${X}") == "${vault:a:b} $env:X ${X}"
    assert resolve_providers({"a": "${env:HOME}"}, {"HOME": "x"}, parse_properties) == {"a": "${env:HOME}"}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("${env:MISSING}", "no such environment variable"),
        ("${env:path:KEY}", "the environment has no paths"),
        ("${file:two}", "no path is given"),
        ("${file:{folder}/missing:two}", "No such file or directory"),
        ("${file:{folder}/secrets:three}", "the file has no such key"),
        ("${file:{folder}/broken:three}", "malformed"),
        ("${file:{folder}/huge:three}", "the file has more than"),
        ("${dir:{folder}:../secret}", "not a file's name"),
    ],
)
def test_a_value_that_is_not_there_is_an_error_that_names_key_and_variable(tmp_path: Path, value: str, told: str) -> None:
    (tmp_path / "secrets").write_text("two=secret-value\n")
    (tmp_path / "broken").write_text("two=\\u12\n")
    (tmp_path / "huge").write_bytes(b"#" * (FILE_SIZE_MAX + 1))
    value = value.replace("{folder}", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        resolved(value, {"KEY": "secret-value"})
    assert str(caught.value).startswith(f"ssl.key.password: {value}: ") and told in str(caught.value)
    assert "secret-value" not in str(caught.value)


def test_only_allowed_variables_and_paths_are_looked_at(tmp_path: Path) -> None:
    allowed, other = tmp_path / "allowed", tmp_path / "other"
    for folder in (allowed, other):
        folder.mkdir()
        (folder / "file").write_text("key=value\n")
    more = {"config.providers.file.param.allowed.paths": f"/nowhere, {allowed}"}
    assert resolved(f"${{file:{allowed}/file:key}}", **more) == "value"
    for path in (f"{other}/file", f"{allowed}/../other/file"):
        with pytest.raises(UsageError, match=r"allowed\.paths does not allow it"):
            resolved(f"${{file:{path}:key}}", **more)
    pattern = {"config.providers.env.param.allowlist.pattern": "KAFKA_.*"}
    assert resolved("${env:KAFKA_A}", {"KAFKA_A": "a"}, **pattern) == "a"
    with pytest.raises(UsageError, match=r"allowlist\.pattern does not allow it"):
        resolved("${env:HOME}", {"HOME": "a"}, **pattern)


def test_a_provider_must_be_one_of_kafkas_own() -> None:
    with pytest.raises(UsageError, match=r"config\.providers\.vault\.class: com\.example\.Vault is not one of"):
        resolve_providers({"config.providers": "vault", "config.providers.vault.class": "com.example.Vault"}, {}, parse_properties)
    with pytest.raises(UsageError, match=r"config\.providers\.vault\.class: not set"):
        resolve_providers({"config.providers": "vault"}, {}, parse_properties)
    with pytest.raises(UsageError, match="no regular expression"):
        resolved("", **{"config.providers.env.param.allowlist.pattern": "("})
