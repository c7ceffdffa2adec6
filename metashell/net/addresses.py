"""Addresses of nodes as people write them: `host:port`, `[::1]:9092`, lists of them, and maps from one to another.

Source: org.apache.kafka.common.utils.Utils.getHost, getPort; ClientUtils.parseAndValidateAddresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Final, NamedTuple

from metashell.codec.java_text import host_address
from metashell.errors import UsageError

PORT_MAX: Final = 0xFFFF
_ADDRESS = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?(?:\[([0-9a-zA-Z\-%._:]+)\]|([0-9a-zA-Z\-%._]+)):([0-9]{1,5})")


class Address(NamedTuple):
    """A host (name or IP address, without brackets) and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """`host:port`; an IPv6 address stands in brackets, and a protocol before it (`SSL://`) is left out.

    Errors: UsageError.
    """
    match = _ADDRESS.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is not HOST:PORT", text)
    port = int(match[3])
    if not 0 < port <= PORT_MAX:
        raise UsageError(f"{text!r}: the port is not between 1 and {PORT_MAX}", text)
    return Address(match[1] or match[2], port)


def parse_addresses(text: str) -> list[Address]:
    """Addresses with commas between them, each once, in their order. Errors: UsageError, also for none at all."""
    found = list(dict.fromkeys(parse_address(part) for part in text.split(",") if part.strip()))
    if not found:
        raise UsageError("no address (HOST:PORT) is given", text)
    return found


def host_text(address: str) -> str:
    """An IP address as Java's InetAddress.getHostAddress writes it, and so as ACLs name hosts: eight groups, none left out.

    What is no address stays as it is.
    """
    try:
        found = ip_address(address)
    except ValueError:
        return address
    text = host_address(found.packed)
    return f"{text}%{found.scope_id}" if found.version == 6 and found.scope_id else text


class AddressMap:
    """Where to connect instead: for nodes whose own addresses cannot be reached from here (tunnels, containers)."""

    def __init__(self, pairs: Mapping[Address, Address] | Iterable[tuple[Address, Address]] = ()) -> None:
        self._pairs: dict[Address, Address] = dict(pairs)

    @classmethod
    def parse(cls, text: str) -> AddressMap:
        """`a:1=b:2,c:3=d:4`. Errors: UsageError."""
        pairs = []
        for part in filter(str.strip, text.split(",")):
            own, equals, other = part.partition("=")
            if not equals:
                raise UsageError(f"{part!r} is not HOST:PORT=HOST:PORT", part)
            pairs.append((parse_address(own), parse_address(other)))
        return cls(pairs)

    def resolve(self, address: Address) -> Address:
        """The address to connect to for `address`."""
        return self._pairs.get(address, address)
