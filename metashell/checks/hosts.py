"""What an address tells by its form alone: whether other machines can use it."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

_NOBODY: Final = "invalid"
"""The ending of names that no server ever has; those of .example and .test are found in laboratories. Source: RFC 6761."""
_PORT_MAX: Final = 65_535


def is_loopback(host: str) -> bool:
    """Whether a host means the very machine that looks it up."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith((".localhost", ".localdomain")):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def flaw_of(host: str, port: int) -> str:
    """Why nobody can connect to an address, whoever it is; empty where its form does not say so."""
    name = host.strip("[]").rstrip(".").lower()
    if not name:
        return "has no host"
    if name in ("0.0.0.0", "::"):
        return "means every address, and none to connect to"
    if name.rpartition(".")[2] == _NOBODY:
        return f"no name ends in .{_NOBODY}"
    return "" if 0 < port <= _PORT_MAX else f"{port} is no port to connect to"


def address_text(host: str, port: int) -> str:
    """`kafka-1:9093`, `[::1]:9093`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
