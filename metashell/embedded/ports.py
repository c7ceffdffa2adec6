"""Ports of the loopback interface that nobody else is given while a quorum lives, also while none of its controllers listens there."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from errno import EADDRINUSE
from typing import Final

from metashell.embedded.errors import QuorumError
from metashell.errors import UsageError

HOST: Final = "localhost"
TRIES: Final = 50
PORT_MAX: Final = 0xFFFF


class ReservedPorts:
    """Sockets that are bound and never listen. Who listens with SO_REUSEADDR gets the port all the same; the system gives it to nobody.

    `numbers` are the ports. A connection to one where nobody listens is refused.
    """

    def __init__(self, numbers: Sequence[int], sockets: Sequence[socket.socket]) -> None:
        self.numbers = tuple(numbers)
        self._sockets = list(sockets)

    def close(self) -> None:
        """Give them back."""
        for held in self._sockets:
            held.close()
        self._sockets.clear()


def reserve(count: int) -> ReservedPorts:
    """As many ports as are asked for, chosen by the system. Errors: UsageError where it has none left."""
    sockets: list[socket.socket] = []
    numbers: list[int] = []
    try:
        for _ in range(count):
            held = _any_port()
            sockets += held
            numbers.append(held[0].getsockname()[1])
    except BaseException:
        ReservedPorts(numbers, sockets).close()
        raise
    return ReservedPorts(numbers, sockets)


def reserve_these(numbers: Sequence[int]) -> ReservedPorts:
    """These ports. Errors: UsageError for one that is none; QuorumError, which names the first that is in use."""
    sockets: list[socket.socket] = []
    try:
        for number in numbers:
            refuse_no_port(number)
            _refuse_used(number)
            sockets += _bound(number)
    except OSError as error:
        ReservedPorts(numbers, sockets).close()
        # The error of a port below 1024 is another one.
        reason = "in use" if error.errno == EADDRINUSE else os.strerror(error.errno or 0)
        raise QuorumError(f"port {number}: {reason}") from None
    except BaseException:
        ReservedPorts(numbers, sockets).close()
        raise
    return ReservedPorts(numbers, sockets)


def refuse_no_port(number: int) -> None:
    """Errors: UsageError for a number that no port has."""
    if not 0 < number <= PORT_MAX:
        raise UsageError(f"port {number}: not a port (1 to {PORT_MAX})", str(number))


def _any_port() -> list[socket.socket]:
    for _ in range(TRIES):
        first, *others = _addresses()
        held = _bind(*first, 0)
        try:
            return [held, *(_bind(family, address, held.getsockname()[1]) for family, address in others)]
        except OSError:
            # Another protocol's port of that number is taken.
            held.close()
    raise UsageError(f"no port of {HOST} is free")


def _bound(number: int) -> list[socket.socket]:
    held: list[socket.socket] = []
    try:
        for family, address in _addresses():
            held.append(_bind(family, address, number))
    except OSError:
        ReservedPorts((), held).close()
        raise
    return held


def _refuse_used(number: int) -> None:
    """Errors: OSError where another socket listens there."""
    for family, address in _addresses():
        with socket.socket(family) as probe:
            with suppress(OSError):
                # A port whose last connections are still winding up is free.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, number))
            probe.listen(1)


def _bind(family: int, address: str, number: int) -> socket.socket:
    held = socket.socket(family)
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((address, number))
    except BaseException:
        held.close()
        raise
    return held


def _addresses() -> list[tuple[int, str]]:
    """The addresses of this machine that `localhost` stands for, IPv4 first, those that cannot be bound left out."""
    found = {(int(family), str(address[0])) for family, _, _, _, address in socket.getaddrinfo(HOST, None, type=socket.SOCK_STREAM)}
    usable = []
    for family, address in sorted(found):
        with suppress(OSError):
            _bind(family, address, 0).close()
            usable.append((family, address))
    if not usable:
        raise UsageError(f"{HOST}: names no address of this machine")
    return usable
