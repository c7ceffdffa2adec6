"""Values that stand in the environment, in files, or in a directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.common.errors import UsageError
from metashell.disk.properties import parse_properties
from metashell.net.client_config import FILE_SIZE_MAX, resolve_providers

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
