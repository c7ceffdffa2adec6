"""The hosts of access control entries: any host, one address as text, or a range of addresses (CIDR) from metadata.version 4.4-IV1 on.

Source: org.apache.kafka.server.authorizer.internals.CidrUtils, which reads ranges with SubnetUtils and SubnetUtils6 of commons-net.
"""

from __future__ import annotations

import functools
import re
from typing import Final, NamedTuple

ANY_HOST: Final = "*"
_V4: Final = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})", re.ASCII)
_LEADING_ZEROS: Final = re.compile(r"(?<![0-9A-Fa-f])0+(?=[0-9A-Fa-f])")
_MAPPED: Final = 0xFFFF
"""The bits above the last 32 of an IPv6 address that Java takes for an IPv4 address."""


class HostRange(NamedTuple):
    """The first and the last address of a range, as numbers of 32 bits or, for IPv6, of 128."""

    first: int
    last: int
    is_v6: bool

    def holds(self, address: str) -> bool:
        """Whether an address is in the range. One of the other family is not, a zone is ignored, and what is no address is in no range.

        0.0.0.0 is in no range: SubnetUtils leaves it out.
        """
        try:
            number = _v6_number(address) if self.is_v6 else _v4_number(address)
        except ValueError:
            return False
        return self.first <= number <= self.last and (self.is_v6 or number != 0)


def is_range(host: str) -> bool:
    """Whether a host is meant as a range. Releases before 4.4 compare such a text like every other, so it matches nobody there."""
    return "/" in host


@functools.lru_cache(maxsize=4096)
def parse_host_range(host: str) -> HostRange:
    """The range that a host names. Its address may be any one of the range. Errors: ValueError with Kafka's words."""
    if ":" in host:
        text, _, prefix = host.partition("/")
        length = _prefix_length(prefix)
        if length is None:
            raise ValueError(f"Could not parse [{host}] - invalid prefix length")
        if not 0 <= length <= 128:
            raise ValueError(f"Could not parse [{host}] - prefix length must be between 0 and 128")
        return _range(_v6_number(text), 128 - length, is_v6=True)
    text, _, prefix = host.rpartition("/")
    if _V4.fullmatch(text) is None or not re.fullmatch(r"\d{1,2}", prefix, re.ASCII):
        raise ValueError(f"Could not parse [{host}]")
    return _range(_v4_number(text), 32 - _checked(int(prefix), 32), is_v6=False)


def host_matches(host: str, address: str) -> bool:
    """Whether the host of an entry is about a client at an address, given as java_text.host_address writes it."""
    if host in (ANY_HOST, address):
        return True
    if not is_range(host):
        return False
    try:
        return parse_host_range(host).holds(address)
    except ValueError:
        return False


def _range(number: int, bits: int, *, is_v6: bool) -> HostRange:
    first = number >> bits << bits
    return HostRange(first, first | (1 << bits) - 1, is_v6)


def _prefix_length(text: str) -> int | None:
    """A number as Java's Integer.parseInt reads it, None for what is none."""
    number = int(text) if re.fullmatch(r"[+-]?\d+", text) else None
    return number if number is not None and -(1 << 31) <= number < 1 << 31 else None


def _checked(value: int, highest: int) -> int:
    if value > highest:
        raise ValueError(f"Value [{value}] not in range [0,{highest}]")
    return value


def _v4_number(text: str) -> int:
    """Errors: ValueError."""
    found = _V4.fullmatch(text)
    if found is None:
        raise ValueError(f"Could not parse [{text}]")
    number = 0
    for part in found.groups():
        number = number << 8 | _checked(int(part), 255)
    return number


def _v6_number(text: str) -> int:
    """An IPv6 address, which may stand in brackets and name a zone; Java takes zeros before each part. Errors: ValueError."""
    # Imported here: the module takes longer to import than the rest of a start that only checks settings.
    from ipaddress import AddressValueError, IPv6Address

    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    address, percent, zone = bare.partition("%")
    try:
        number = int(IPv6Address(_LEADING_ZEROS.sub("", address)))
    except AddressValueError:
        raise ValueError(f"Could not parse [{text}]") from None
    if number >> 32 == _MAPPED:
        raise ValueError(f"Could not parse [{text}] - not an IPv6 address")
    if percent and not zone:
        raise ValueError(f"Could not parse [{text}]")
    return number
