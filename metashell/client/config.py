"""What a client's property file says: `--command-config FILE`, or `--config FILE` and `-c FILE` of KIP-631.

Source: org.apache.kafka.clients.CommonClientConfigs, admin.AdminClientConfig.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from metashell.errors import UsageError
from metashell.net.addresses import Address, parse_addresses
from metashell.net.providers import PropertiesParser, resolve_providers
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
    """How to be a client. `bootstrap` is empty where the file names no addresses."""

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
    """What the properties of a client say; keys that mean nothing here are left alone, as Kafka's tools do.

    `environ` and `parse` (`metashell.log.properties.parse_properties`) serve `${env:NAME}` and `${file:PATH:KEY}`. With a listener's
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
    """Whether a client says whom it means. Kafka's does not either where nothing makes it look for its cluster anew."""
    text = values.get(_CHECK, "true").strip().lower()
    if text not in ("true", "false"):
        raise UsageError(f"{_CHECK}: {text[:40]} is not true or false", _CHECK)
    return text == "true" and values.get("metadata.recovery.strategy", "rebootstrap").strip().lower() != "none"


def _number(values: Mapping[str, str], key: str, default: int) -> int:
    text = values.get(key, str(default)).strip()
    if not (text.isascii() and text.isdigit()) or int(text[:12]) > _INTEGER_MAX:
        raise UsageError(f"{key}: {text[:40]} is not a number of milliseconds", key)
    return int(text)
