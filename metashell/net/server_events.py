"""What the core of an accepted connection tells its owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metashell.errors import DecodeError

if TYPE_CHECKING:
    from metashell.codec.compiler import BoundedReader
    from metashell.net.frames import RequestHeader


@dataclass(frozen=True, slots=True)
class Received:
    """A request to answer with `respond(request_id, ...)`. `size` is that of its frame, in bytes."""

    request_id: int
    header: RequestHeader
    message: Any
    size: int


@dataclass(frozen=True, slots=True)
class Undecoded:
    """A request that is too large to be decoded between two others: give `decoded` what `decode` returns, which may run in a thread."""

    request_id: int
    header: RequestHeader
    frame: bytes
    position: int
    values_max: int
    reader: BoundedReader

    def decode(self) -> Decoded:
        """The message; never raises."""
        left = [self.values_max]
        try:
            message, _ = self.reader(self.frame, self.position, len(self.frame), left)
        except DecodeError as error:
            return Decoded(self, None, 0, str(error))
        return Decoded(self, message, self.values_max - left[0], "")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A large request's message, with the number of its values; or why there is none."""

    request: Undecoded
    message: Any
    values: int
    fault: str


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The peer has proved that it is `principal` (`User:alice`), for the first time or again."""

    principal: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The connection is over, why in one line; what `take_output` still gives is sent before it is closed. The last event.

    `authentication_failed`: the owner may wait before it sends and closes, so that passwords are not tried quickly.
    """

    reason: str
    authentication_failed: bool = False


Event = Received | Undecoded | Authenticated | Closed
