"""The property file of a client: `--command-config FILE`, or `--config FILE` and `-c FILE` of KIP-631.

Values may stand elsewhere: `${env:NAME}` and `${file:PATH:KEY}` in a file that declares the providers, as in
`config.providers=env,file`, `config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider`, with
parameters such as `config.providers.env.param.allowlist.pattern`. A variable of a provider that is not declared stays as it is, as
in Kafka. A declared provider that gives nothing is an error, where Kafka would go on with the variable's own text.

Source: KIP-297, KIP-421, KIP-887, KIP-993; org.apache.kafka.clients.CommonClientConfigs, admin.AdminClientConfig;
org.apache.kafka.common.config.ConfigTransformer, EnvVarConfigProvider, FileConfigProvider, DirectoryConfigProvider."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from metashell.common.errors import UsageError
from metashell.net.addresses import Address, parse_addresses
from metashell.net.security import PLAINTEXT, SecurityConfig, security_config

_INTEGERS: Final = {
    "default.api.timeout.ms": ("deadline_ms", 60_000),
    "socket.connection.setup.timeout.ms": ("connect_timeout_ms", 10_000),
    "retry.backoff.ms": ("backoff_ms", 100),
    "retry.backoff.max.ms": ("backoff_max_ms", 1_000),
}
_CHECK: Final = "metadata.cluster.check.enable"
_INTEGER_MAX: Final = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """A client's settings. `bootstrap` is empty where the file names no addresses."""

    security: SecurityConfig = PLAINTEXT
    client_id: str = "metashell"
    bootstrap: tuple[Address, ...] = ()
    deadline_ms: int = 60_000
    connect_timeout_ms: int = 10_000
    backoff_ms: int = 100
    backoff_max_ms: int = 1_000
    checks_cluster: bool = True
    """metadata.cluster.check.enable."""

    def options(self) -> dict[str, Any]:
        """The keyword arguments for `Client` and `AsyncClient`, without the addresses."""
        names = ("security", "client_id", "deadline_ms", "connect_timeout_ms", "backoff_ms", "backoff_max_ms", "checks_cluster")
        return {name: getattr(self, name) for name in names}


def client_config(
    properties: Mapping[str, str], *, environ: Mapping[str, str], parse: PropertiesParser, listener: str = ""
) -> ClientConfig:
    """Read a client's properties; unknown keys are ignored, as Kafka's tools do.

    `environ` and `parse` (`metashell.disk.properties.parse_properties`) serve `${env:NAME}` and `${file:PATH:KEY}`. With a listener's
    name, the properties are a server's (a node that connects as its quorum does). Errors: UsageError with the key at fault.
    """
    values = resolve_providers(properties, environ, parse)
    numbers = {name: _number(values, key, default) for key, (name, default) in _INTEGERS.items()}
    bootstrap = values.get("bootstrap.servers", "").strip() or values.get("bootstrap.controllers", "").strip()
    return ClientConfig(
        security=security_config(values, listener),
        client_id=values.get("client.id", "").strip() or "metashell",
        bootstrap=tuple(parse_addresses(bootstrap)) if bootstrap else (),
        checks_cluster=_checks_cluster(values),
        **numbers,
    )


def _checks_cluster(values: Mapping[str, str]) -> bool:
    """Whether a client sends the cluster and node that it expects, as Kafka's does when it may bootstrap again."""
    text = values.get(_CHECK, "true").strip().lower()
    if text not in ("true", "false"):
        raise UsageError(f"{_CHECK}: {text[:40]} is not true or false", _CHECK)
    return text == "true" and values.get("metadata.recovery.strategy", "rebootstrap").strip().lower() != "none"


def _number(values: Mapping[str, str], key: str, default: int) -> int:
    text = values.get(key, str(default)).strip()
    if not (text.isascii() and text.isdigit()) or int(text[:12]) > _INTEGER_MAX:
        raise UsageError(f"{key}: {text[:40]} is not a number of milliseconds", key)
    return int(text)


PropertiesParser = Callable[[bytes], Mapping[str, str]]
"""Reads a properties file's bytes; `metashell.disk.properties.parse_properties`, which is handed in."""
FILE_SIZE_MAX: Final = 1 << 20

_VARIABLE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
_PACKAGE: Final = "org.apache.kafka.common.config.provider."

Provider = Callable[[str, str], str]
"""(path, key) to the value. Errors: LookupError or OSError with a reason."""


def resolve_providers(properties: Mapping[str, str], environ: Mapping[str, str], parse: PropertiesParser) -> dict[str, str]:
    """The properties with the variables of declared providers replaced.

    Errors: UsageError with the key at fault and the variable, never with a value.
    """
    names = [name.strip() for name in properties.get("config.providers", "").split(",") if name.strip()]
    providers = {name: _provider(name, properties, environ, parse) for name in names}
    if not providers:
        return dict(properties)

    def replaced(key: str, value: str) -> str:
        def look_up(match: re.Match[str]) -> str:
            name, path, wanted = match.groups()
            if name not in providers:
                return match[0]
            try:
                return providers[name](path or "", wanted)
            except OSError as error:
                raise UsageError(f"{key}: {match[0]}: {error.strerror or error}", key) from None
            except (LookupError, ValueError) as error:
                raise UsageError(f"{key}: {match[0]}: {error.args[0]}", key) from None

        return _VARIABLE.sub(look_up, value)

    return {key: value if key.startswith("config.providers") else replaced(key, value) for key, value in properties.items()}


def _provider(name: str, properties: Mapping[str, str], environ: Mapping[str, str], parse: PropertiesParser) -> Provider:
    prefix = f"config.providers.{name}."
    kind = properties.get(f"{prefix}class", "")
    parameters = {key[len(prefix) + 6 :]: value for key, value in properties.items() if key.startswith(f"{prefix}param.")}
    match kind.removeprefix(_PACKAGE):
        case "EnvVarConfigProvider":
            return _environment(environ, parameters.get("allowlist.pattern"))
        case "FileConfigProvider":
            return _files(parse, parameters.get("allowed.paths"))
        case "DirectoryConfigProvider":
            return _directories(parameters.get("allowed.paths"))
    what = f"{kind} is not one of Kafka's own providers (env, file, directory)" if kind else "not set"
    raise UsageError(f"{prefix}class: {what}", f"{prefix}class")


def _environment(environ: Mapping[str, str], pattern: str | None) -> Provider:
    try:
        allowed = re.compile(pattern or ".*", re.DOTALL)
    except re.error:
        raise UsageError("allowlist.pattern of the environment's provider is no regular expression", "config.providers") from None

    def look_up(path: str, key: str) -> str:
        if path:
            raise LookupError("the environment has no paths")
        if not allowed.fullmatch(key):
            raise LookupError("allowlist.pattern does not allow it")
        if key not in environ:
            raise LookupError("there is no such environment variable")
        return environ[key]

    return look_up


def _files(parse: PropertiesParser, allowed: str | None) -> Provider:
    def look_up(path: str, key: str) -> str:
        _check_allowed(path, allowed)
        found = parse(_read(Path(path)))
        if key not in found:
            raise LookupError("the file has no such key")
        return found[key]

    return look_up


def _directories(allowed: str | None) -> Provider:
    def look_up(path: str, key: str) -> str:
        _check_allowed(path, allowed)
        if key in ("", ".", "..") or "/" in key:
            raise LookupError("not a file's name")
        return _read(Path(path, key)).decode("utf-8", "surrogateescape")

    return look_up


def _check_allowed(path: str, allowed: str | None) -> None:
    if not path:
        raise LookupError("no path is given")
    if allowed is not None:
        real = Path(path).resolve()
        if not any(real.is_relative_to(Path(each.strip()).resolve()) for each in allowed.split(",") if each.strip()):
            raise LookupError("allowed.paths does not allow it")


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(FILE_SIZE_MAX + 1)
    if len(data) > FILE_SIZE_MAX:
        raise LookupError(f"the file has more than {FILE_SIZE_MAX} bytes")
    return data
