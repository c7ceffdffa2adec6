"""The two lists by which a node finds its quorum: controller.quorum.voters and controller.quorum.bootstrap.servers.

Source: org.apache.kafka.raft.QuorumConfig; org.apache.kafka.common.utils.Utils.getHost, getPort.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from metashell.storage.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

_VOTERS: Final = "controller.quorum.voters"
_SERVERS: Final = "controller.quorum.bootstrap.servers"
_HOST_PORT = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")


def check_voters(entries: Iterable[str]) -> None:
    """Hold `id@host:port` entries against Kafka's rules. Errors: ConfigError."""
    voter_ids(entries)


def voter_ids(entries: Iterable[str]) -> set[int]:
    """The ids in `id@host:port` entries.

    Errors: ConfigError in Kafka's words.
    """
    found = set()
    for entry in entries:
        parts = entry.split("@")
        while parts and not parts[-1]:
            parts.pop()
        if len(parts) != 2:
            raise ConfigError(f"Invalid configuration value for {_VOTERS}. Each entry should be in the form `{{id}}@{{host}}:{{port}}`.")
        found.add(_voter_id(parts[0]))
        if _HOST_PORT.fullmatch(parts[1]) is None:
            raise ConfigError(
                f"Failed to parse host name from entry {entry} for the configuration {_VOTERS}. "
                "Each entry should be in the form `{id}@{host}:{port}`."
            )
        _check_port(parts[1])
    return found


def _voter_id(text: str) -> int:
    if not _INTEGER.fullmatch(text) or abs(int(text)) >= 1 << 31:
        raise ConfigError(f"Failed to parse voter ID as an integer from {text}")
    return int(text)


def check_bootstrap_servers(entries: Iterable[str]) -> None:
    """Hold `host:port` entries against Kafka's rules. Errors: ConfigError."""
    for entry in entries:
        if _HOST_PORT.fullmatch(entry) is None:
            raise ConfigError(
                f"Failed to parse host name from {entry} for the configuration {_SERVERS}. "
                'Each entry should be in the form "{host}:{port}"'
            )
        _check_port(entry)


def _check_port(address: str) -> None:
    port = address.rpartition(":")[2]
    if int(port) >= 1 << 31:
        raise ConfigError(f'For input string: "{port}"')
    if int(port) > 0xFFFF:
        raise ConfigError(f"port out of range:{port}")
