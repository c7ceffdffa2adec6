"""The connections of an observer: one an address, as long as it is of use."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from metashell.codec.codes import FETCH, VOTE
from metashell.net.addresses import Address, AddressMap
from metashell.quorum.observer.controllers import Controllers

ADDRESS = Address("a", 1)


class FakeLink:
    """A connection to a controller that tells nothing of its cluster."""

    def __init__(self) -> None:
        self.versions: dict[int, int] = {}
        self.core = SimpleNamespace(peer_ranges={VOTE: (0, 2), FETCH: (4, 18)})
        self.closed = ""
        self.expired = False
        self.is_retired = False

    async def request(self, message: Any, *, version: int | None = None, timeout_s: float = 1.0) -> Any:
        raise AssertionError("nothing is asked here")

    def retire(self) -> None:
        self.is_retired = True

    def close(self, reason: str = "closed") -> None:
        self.closed = reason


async def test_a_connection_is_replaced_when_it_is_closed_and_before_its_session_is_over() -> None:
    dialled: list[FakeLink] = []

    async def dial(address: Address, name: str) -> FakeLink:
        dialled.append(FakeLink())
        return dialled[-1]

    controllers = Controllers(dial, AddressMap({}), 1.0)
    assert await controllers.link(ADDRESS) is await controllers.link(ADDRESS) is dialled[0]
    dialled[0].expired = True
    assert await controllers.link(ADDRESS) is dialled[1] and dialled[0].is_retired
    dialled[1].close("gone")
    assert await controllers.link(ADDRESS) is dialled[2] and not dialled[1].is_retired
    controllers.close()
    assert len(dialled) == 3 and dialled[2].closed
