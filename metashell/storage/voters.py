"""The voters that a dynamic quorum begins with: `id@host:port:directoryId`, separated by commas.

Source: org.apache.kafka.raft.DynamicVoters, DynamicVoter; KIP-853.
"""

from __future__ import annotations

from typing import NamedTuple

from metashell.codec.java_text import JAVA_BLANKS, java_int
from metashell.storage.errors import ConfigError
from metashell.values import uuid_from_text, uuid_text


class Voter(NamedTuple):
    """A member of the first quorum; `host` is as it is stored, addresses in the form that Java gives them."""

    node_id: int
    host: str
    port: int
    directory_id: bytes

    @property
    def text(self) -> str:
        """The form in which it is typed, hosts with colons in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.node_id}@{host}:{self.port}:{uuid_text(self.directory_id)}"


def parse_voters(text: str) -> tuple[Voter, ...]:
    """The voters of a list, sorted by id.

    Errors: ConfigError in Kafka's words.
    """
    voters: dict[int, Voter] = {}
    for part in text.split(","):
        entry = part.strip(JAVA_BLANKS)
        if not entry:
            continue
        voter = _parse_voter(entry)
        if voter.node_id in voters:
            raise ConfigError(f"Node id {voter.node_id} was specified more than once.")
        voters[voter.node_id] = voter
    if not voters:
        raise ConfigError("No voters given.")
    return tuple(voters[node_id] for node_id in sorted(voters))


def _parse_voter(entry: str) -> Voter:
    id_text, at, rest = entry.partition("@")
    if not at:
        raise ConfigError("No @ found in dynamic voter string.")
    if not id_text:
        raise ConfigError("Invalid @ at beginning of dynamic voter string.")
    node_id = _number(id_text, "Failed to parse node id in dynamic voter string.")
    if node_id < 0:
        raise ConfigError(f"Invalid negative node id {node_id} in dynamic voter string.")
    if not rest:
        raise ConfigError("No hostname found after node id.")
    host, rest = _split_host(rest)
    if not rest.startswith(":"):
        raise ConfigError("Port section must start with a colon.")
    port_text, colon, directory = rest[1:].partition(":")
    if not colon:
        raise ConfigError("No colon following port could be found.")
    port = _number(port_text, "Failed to parse port in dynamic voter string.")
    if not 0 <= port <= 0xFFFF:
        raise ConfigError(f"Invalid port {port} in dynamic voter string.")
    try:
        directory_id = uuid_from_text(directory)
    except ValueError:
        raise ConfigError("Failed to parse directory ID in dynamic voter string.") from None
    return Voter(node_id, stored_host(host), port, directory_id)


def _split_host(rest: str) -> tuple[str, str]:
    """The host, without brackets, and what follows it."""
    if rest.startswith("["):
        host, bracket, after = rest[1:].partition("]")
        if not bracket:
            raise ConfigError("Hostname began with left bracket, but no right bracket was found.")
        return host, after
    host, colon, after = rest.partition(":")
    if not colon:
        raise ConfigError("No colon following hostname could be found.")
    return host, colon + after


def _number(text: str, complaint: str) -> int:
    number = java_int(text)
    if number is None:
        raise ConfigError(complaint)
    return number


def stored_host(host: str) -> str:
    """A host as Kafka stores it: names as they are, addresses as Java prints them (`::1` as `0:0:0:0:0:0:0:1`, `127.1` as `127.0.0.1`)."""
    if not host:
        return "localhost"
    if ":" not in host:
        return _ipv4_text(host) or host
    from ipaddress import AddressValueError, IPv4Address, IPv6Address

    try:
        address = IPv6Address(host)
    except AddressValueError:
        return host
    mapped = address.ipv4_mapped
    if mapped is not None:
        return str(IPv4Address(mapped))
    return ":".join(f"{int(group, 16):x}" for group in address.exploded.split(":"))


def _ipv4_text(host: str) -> str | None:
    """The dotted form of an IPv4 address of one to four decimal numbers, the last of which fills what is left; None for a name."""
    parts = host.split(".")
    if len(parts) > 4 or not all(part.isascii() and part.isdigit() and len(part) <= 10 for part in parts):
        return None
    *head, last = map(int, parts)
    left = 4 - len(head)
    if any(number > 255 for number in head) or last >= 1 << 8 * left:
        return None
    return ".".join(map(str, [*head, *last.to_bytes(left, "big")]))
