"""Which of the connections that are open may be used again."""

from __future__ import annotations

from typing import Protocol, TypeVar

from metashell.net.addresses import Address


class Reusable(Protocol):
    """An open connection: `closed` says why it is over, `expired` whether the peer will soon end its session."""

    @property
    def closed(self) -> str: ...
    @property
    def expired(self) -> bool: ...
    def retire(self) -> None: ...


C = TypeVar("C", bound=Reusable)


def reusable(connections: dict[Address, C], address: Address) -> C | None:
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
