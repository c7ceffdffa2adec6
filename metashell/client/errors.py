"""What a call of a client ends in when no answer came."""

from __future__ import annotations

from metashell.errors import MetashellError
from metashell.net.addresses import Address


class ConnectError(MetashellError):
    """No answer: the message names each address that was tried and why it failed.

    `attempts` holds the same as pairs; `authentication`: credentials or certificates were refused.
    """

    def __init__(self, attempts: list[tuple[Address, str]], *, authentication: bool = False) -> None:
        super().__init__("; ".join(f"{address}: {reason}" for address, reason in attempts) or "no address was tried")
        self.attempts = attempts
        self.authentication = authentication
