"""The two lists by which a node finds its quorum: controller.quorum.voters and controller.quorum.bootstrap.servers.

Source: org.apache.kafka.raft.QuorumConfig; org.apache.kafka.common.utils.Utils.getHost, getPort.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from metashell.codec.java_text import java_int
from metashell.storage.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

_VOTERS: Final = "controller.quorum.voters"
_SERVERS: Final = "controller.quorum.bootstrap.servers"
_HOST_PORT = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")


def voter_ports(entries: Iterable[str]) -> dict[int, int]:
    """The ids in `id@host:port` entries, each with its port.

    Errors: ConfigError in Kafka's words.
    """
    found = {}
    for entry in entries:
        parts = entry.split("@")
        while parts and not parts[-1]:
            parts.pop()
        if len(parts) != 2:
            raise ConfigError(f"Invalid configuration value for {_VOTERS}. Each entry should be in the form `{{id}}@{{host}}:{{port}}`.")
        node_id = java_int(parts[0])
        if node_id is None:
            raise ConfigError(f"Failed to parse voter ID as an integer from {parts[0]}")
        if _HOST_PORT.fullmatch(parts[1]) is None:
            raise ConfigError(
                f"Failed to parse host name from entry {entry} for the configuration {_VOTERS}. "
                "Each entry should be in the form `{id}@{host}:{port}`."
            )
        found[node_id] = _port_of(parts[1])
    return found


def check_bootstrap_servers(entries: Iterable[str]) -> None:
    """Check `host:port` entries by Kafka's rules. Errors: ConfigError."""
    for entry in entries:
        if _HOST_PORT.fullmatch(entry) is None:
            raise ConfigError(
                f"Failed to parse host name from {entry} for the configuration {_SERVERS}. "
                'Each entry should be in the form "{host}:{port}"'
            )
        _port_of(entry)


def _port_of(address: str) -> int:
    text = address.rpartition(":")[2]
    port = java_int(text)
    if port is None:
        raise ConfigError(f'For input string: "{text}"')
    if port > 0xFFFF:
        raise ConfigError(f"port out of range:{text}")
    return port
