"""Addresses of nodes as people write them: `host:port`, `[::1]:9092`, lists of them, and maps from one to another.

`ConnectError` is the error of a call that none of its addresses answered. `reusable_connection` picks an open connection that may be used
again.

Source: org.apache.kafka.common.utils.Utils.getHost, getPort; ClientUtils.parseAndValidateAddresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Final, NamedTuple, Protocol, TypeVar

from metashell.codec.java import host_address
from metashell.common.errors import MetashellError, UsageError

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
    """Maps addresses that cannot be reached from here (tunnels, containers) to addresses that can."""

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


class ConnectError(MetashellError):
    """No answer: the message names each address that was tried and why it failed.

    `attempts` holds the same as pairs; `authentication`: credentials or certificates were refused.
    """

    def __init__(self, attempts: list[tuple[Address, str]], *, authentication: bool = False) -> None:
        super().__init__("; ".join(f"{address}: {reason}" for address, reason in attempts) or "no address was tried")
        self.attempts = attempts
        self.authentication = authentication


class Reusable(Protocol):
    """An open connection: `closed` says why it is over, `expired` whether the peer will soon end its session."""

    @property
    def closed(self) -> str: ...
    @property
    def expired(self) -> bool: ...
    def retire(self) -> None: ...


C = TypeVar("C", bound=Reusable)


def reusable_connection(connections: dict[Address, C], address: Address) -> C | None:
    """The connection to an address, None where a new one is needed; the old one is forgotten then, and ends with its last answer."""
    found = connections.get(address)
    if found is None:
        return None
    if found.expired:
        found.retire()
    elif not found.closed:
        return found
    del connections[address]
    return None
