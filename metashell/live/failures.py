"""Why nobody could be attached to, address by address."""

from __future__ import annotations

from collections.abc import Iterable

from metashell.errors import MetashellError
from metashell.net.addresses import Address


class AttachError(MetashellError):
    """No quorum was attached to; the message names every address that was tried and why it failed."""


class Refused(MetashellError):
    """An exchange with a node failed; `final`: trying the same again cannot help; `absent`: there was no connection.

    `credential`: the node does not take our password or certificate, or this user lacks the right.
    """

    def __init__(self, reason: str, *, final: bool = False, absent: bool = False, credential: bool = False) -> None:
        super().__init__(reason)
        self.final = final or credential
        self.absent = absent
        self.credential = credential


class Failures:
    """The newest failure of each address."""

    def __init__(self) -> None:
        self._newest: dict[Address, Refused] = {}

    def note(self, address: Address, failure: Refused) -> None:
        self._newest[address] = failure

    def forget(self, address: Address) -> None:
        """The address answered."""
        self._newest.pop(address, None)

    def are_final(self, addresses: Iterable[Address]) -> bool:
        """Whether none of the addresses is worth another try."""
        return all(address in self._newest and self._newest[address].final for address in addresses)

    def are_hopeless(self, addresses: Iterable[Address]) -> bool:
        """Whether none of the addresses took a connection (for another reason than time), or none is worth another try."""
        found = [self._newest.get(address) for address in addresses]
        return bool(found) and all(failure is not None and (failure.final or failure.absent) for failure in found)

    def text(self, addresses: Iterable[Address]) -> str:
        """`a:1: Connection refused; b:2: no answer`, of these addresses and all others that failed."""
        reasons = dict.fromkeys(addresses, "no answer") | {address: str(failure) for address, failure in self._newest.items()}
        return "; ".join(f"{address}: {reason}" for address, reason in reasons.items())
