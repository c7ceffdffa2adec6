"""Streams between simulated processes: what TCP gives them, over a network that delays, stalls, cuts and resets.

A `Socket` is one end of a connection, and the transport that asyncio's protocols know. What is written goes out in pieces, in order,
each after a delay of its own. A cut holds it up, as retransmissions do, until the cut heals or the sender gives up. When a process is
killed, its system closes its connections; from a machine without power nothing comes at all, until it is back and knows none of them.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from metashell.quorum.raft.messages import Endpoint

if TYPE_CHECKING:
    from tests.simulation.production.loop import ProcessLoop
    from tests.simulation.production.world import ProductionWorld

RETRY_US = 200_000
RETRY_MAX_US = 3_000_000
GIVE_UP_US = 15_000_000
"""So long a system sends the same bytes again before it calls the connection dead."""
HIGH_WATER = 128 * 1024
LOW_WATER = 32 * 1024
READ_SIZE = 256 * 1024
END = None
"""In place of bytes: nothing follows."""


class Socket(asyncio.Transport):
    """One end of a connection."""

    def __init__(self, network: Network, loop: ProcessLoop, host: int, own: Endpoint, peer: Endpoint) -> None:
        super().__init__()
        self.network = network
        self.loop = loop
        self.host = host
        self.addresses = own, peer
        self.other: Socket
        self.protocol: Any = None
        self.is_gone = False
        """Whether this end's system has forgotten the connection."""
        self.incoming: deque[tuple[int, int, bytes | None]] = deque()
        """What is under way to this end: when it arrives, when it left, and what."""
        self._first_try_us = -1
        self._is_pumping = False
        self._received: list[bytes | None] = []
        self._is_reading = True
        self._is_read_due = False
        self._is_closing = False
        self._broken: Exception | None = None
        """Why the connection ended before the process learnt of it."""
        self._unread = 0
        """Bytes that were sent to the other end and not read there yet."""
        self._is_full = False

    # What protocols call

    def setblocking(self, flag: bool) -> None:
        """No call of it waits."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"sockname": self.addresses[0], "peername": self.addresses[1]}.get(name, default)

    def is_closing(self) -> bool:
        return self._is_closing

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True
        self._read_soon()

    def write(self, data: Any) -> None:
        if self._is_closing or self.is_gone or not data:
            return
        world = self.network.world
        if self.host >= 0:
            world.hosts[self.host].burn_step()
        self._send(bytes(data))
        self._unread += len(data)
        if self._unread > HIGH_WATER and not self._is_full:
            self._is_full = True
            self.protocol.pause_writing()

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._send(END)
            self.loop.call_soon(self._lost, None)

    def abort(self) -> None:
        if not self.is_gone:
            self._is_closing = True
            self.reset_other()
            self.loop.call_soon(self._lost, None)

    def _lost(self, error: Exception | None) -> None:
        """The end of the transport, for the process."""
        if not self.is_gone:
            self.is_gone = True
            self._is_closing = True
            self.protocol.connection_lost(error)

    def begin(self, factory: Callable[[], Any]) -> Any:
        """The process learns of the connection."""
        protocol = self.protocol = factory()
        protocol.connection_made(self)
        if self._broken is not None:
            self.loop.call_soon(self._lost, self._broken)
        self._read_soon()
        return protocol

    # What comes in

    def _send(self, data: bytes | None) -> None:
        """Put bytes on their way, in one piece or several."""
        network = self.network
        other = self.other
        depart_us = self.loop.now_us
        last_us = other.incoming[-1][0] if other.incoming else 0
        for piece in network.pieces(data):
            last_us = max(last_us, depart_us + network.delay_us(self.host, other.host))
            other.incoming.append((last_us, depart_us, piece))
        other.pump_at(other.incoming[0][0])

    def pump_at(self, due_us: int) -> None:
        if not self._is_pumping and self.incoming:
            self._is_pumping = True
            self.network.world.push_us(due_us, arrive, self, None)

    def pump(self) -> None:
        """Something arrives, or would if the way were open."""
        world = self.network.world
        self._is_pumping = False
        if not self.incoming or (self.is_gone and self.other.is_gone):
            self.incoming.clear()
            return
        now_us = world.now_us
        if not self.network.reaches(self.other.host, self.host):
            if self._first_try_us < 0:
                self._first_try_us = now_us
            tried_us = now_us - self._first_try_us
            if tried_us > GIVE_UP_US:
                self.incoming.clear()
                self.other.break_off(TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT)))
            else:
                self.pump_at(now_us + min(RETRY_US + tried_us, RETRY_MAX_US))
            return
        self._first_try_us = -1
        while self.incoming and self.incoming[0][0] <= now_us:
            piece = self.incoming.popleft()[2]
            if self.is_gone:
                # Nobody here knows of such a connection.
                self.incoming.clear()
                self.reset_other()
                return
            self._received.append(piece)
            world.arrived(self, piece)
        self.pump_at(self.incoming[0][0] if self.incoming else 0)
        self._read_soon()

    def _read_soon(self) -> None:
        if self._is_reading and self._received and not self._is_read_due and not self.is_gone and self.protocol is not None:
            self._is_read_due = True
            self.loop.call_soon(self._read)

    def _read(self) -> None:
        self._is_read_due = False
        if self._is_closing or self.is_gone or not self._is_reading:
            return
        has_end = self._received[-1] is END
        data = b"".join([piece for piece in self._received if piece is not END])
        self._received = [data[READ_SIZE:]] if len(data) > READ_SIZE else []
        if has_end:
            self._received.append(END)
        data = data[:READ_SIZE]
        if data:
            self.other.was_read(len(data))
            _give(self.protocol, data)
            self._read_soon()
        elif not self.protocol.eof_received():
            self.close()

    def was_read(self, size: int) -> None:
        """The other end has room again."""
        self._unread -= size
        if self._is_full and self._unread < LOW_WATER:
            self._is_full = False
            if not self.is_gone:
                self.loop.call_soon(self._resume_writing)

    def _resume_writing(self) -> None:
        if not self.is_gone:
            self.protocol.resume_writing()

    # How it ends

    def reset_other(self) -> None:
        """Tell the other end that the connection is no more; what was under way to it is lost."""
        other = self.other
        other.incoming.clear()
        network = self.network
        if not other.is_gone:
            network.world.push_us(self.loop.now_us + network.delay_us(self.host, other.host), reset, other, None)

    def break_off(self, error: Exception) -> None:
        """This end's system gives the connection up."""
        if self.protocol is None:
            self._broken = error
        elif not self.is_gone:
            self.loop.call_soon(self._lost, error)

    def forget(self, *, tell: bool) -> None:
        """The process of this end is no more; its system says so, unless it has no power."""
        if not self.is_gone:
            self.is_gone = True
            # What was to leave when a disk let the process go on never did.
            incoming = self.other.incoming
            while incoming and incoming[-1][1] > self.network.world.now_us:
                incoming.pop()
            if tell and not self._is_closing:
                if self._received:
                    self.reset_other()
                else:
                    self._send(END)


def _give(protocol: Any, data: bytes) -> None:
    """Bytes for a protocol, as asyncio gives them to one that has a buffer, and to one that has none."""
    if not isinstance(protocol, asyncio.BufferedProtocol):
        protocol.data_received(data)
        return
    while data:
        buffer = memoryview(protocol.get_buffer(-1))
        size = min(len(buffer), len(data))
        buffer[:size] = data[:size]
        protocol.buffer_updated(size)
        data = data[size:]


def arrive(world: ProductionWorld, socket: Socket, second: None) -> None:
    socket.pump()


def reset(world: ProductionWorld, socket: Socket, second: None) -> None:
    """The other end says that there is no such connection, if it reaches this one."""
    if not socket.is_gone and socket.network.reaches(socket.other.host, socket.host):
        socket.break_off(ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)))


class Listening:
    """A socket that listens: connections wait in it until the process accepts them."""

    def __init__(self, network: Network, loop: ProcessLoop, address: Endpoint) -> None:
        self.network = network
        self.loop = loop
        self.address = address
        self._waiting: deque[Socket] = deque()
        self._reader: Callable[[], object] | None = None
        self._is_call_due = False

    def getsockname(self) -> Endpoint:
        return self.address

    def accept(self) -> tuple[Socket, Endpoint]:
        if not self._waiting:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        socket = self._waiting.popleft()
        return socket, socket.addresses[1]

    def close(self) -> None:
        """Whoever was not accepted is told that there is no connection."""
        if self.network.listening.get(self.address) is self:
            del self.network.listening[self.address]
        for socket in self._waiting:
            socket.is_gone = True
            socket.reset_other()
        self._waiting.clear()

    def arrived(self, socket: Socket) -> None:
        self._waiting.append(socket)
        self._call_soon()

    def watch(self, reader: Callable[[], object] | None) -> None:
        """Call `reader` whenever a connection waits; None for nobody."""
        self._reader = reader
        self._call_soon()

    def _call_soon(self) -> None:
        if self._waiting and self._reader is not None and not self._is_call_due:
            self._is_call_due = True
            self.loop.call_soon(self._call)

    def _call(self) -> None:
        self._is_call_due = False
        if self._waiting and self._reader is not None:
            try:
                self._reader()
            finally:
                self._call_soon()


class Network:
    """All connections of a world. `stalls` says until when nothing gets from one host to another, in microseconds."""

    def __init__(self, world: ProductionWorld) -> None:
        self.world = world
        self.listening: dict[Endpoint, Listening] = {}
        self.sockets: list[Socket] = []
        self.stalls: dict[tuple[int, int], int] = {}
        self._ports = 30_000

    def reaches(self, source: int, target: int) -> bool:
        """Whether what one host sends gets to another one now."""
        return (source, target) not in self.world.cuts and self._has_power(source) and self._has_power(target)

    def _has_power(self, host: int) -> bool:
        return host < 0 or self.world.hosts[host].has_power

    def delay_us(self, source: int, target: int) -> int:
        """How long the next piece is under way."""
        world = self.world
        delay_us = 50 + int(world.chance() * world.delay_ms * 1_000)
        if world.tail_chance and world.chance() < world.tail_chance:
            delay_us += int(world.chance() * world.options.tail_ms * 1_000)
        return delay_us + max(0, self.stalls.get((source, target), 0) - world.now_us)

    def pieces(self, data: bytes | None) -> list[bytes | None]:
        """What was written at once may arrive apart."""
        world = self.world
        if data is END or world.chance() >= world.options.split_chance:
            return [data]
        cut = 1 + int(world.chance() * min(len(data), 200))
        return [data[:cut], data[cut:]] if cut < len(data) else [data]

    def listen(self, loop: ProcessLoop, address: Endpoint) -> Listening:
        if address in self.listening:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        found = self.listening[address] = Listening(self, loop, address)
        return found

    async def connect(self, loop: ProcessLoop, factory: Callable[[], Any], address: Endpoint) -> tuple[Socket, Any]:
        """As `create_connection`."""
        connected: asyncio.Future[Socket] = loop.create_future()
        host = self.world.by_endpoint.get(address)
        if host is None:
            raise OSError(errno.EHOSTUNREACH, os.strerror(errno.EHOSTUNREACH))
        attempt = loop, address, host.index, connected
        self.world.push_us(loop.now_us + self.delay_us(loop.index, host.index), call_on, attempt, RETRY_US * 5)
        socket = await connected
        self.sockets = [other for other in self.sockets if not other.is_gone]
        self.sockets.append(socket)
        return socket, socket.begin(factory)

    def forget(self, host: int, *, tell: bool) -> None:
        """The process on a host is no more."""
        for socket in self.sockets:
            if socket.host == host:
                socket.forget(tell=tell)
        self.listening = {address: server for address, server in self.listening.items() if server.loop.index != host}
        self.sockets = [socket for socket in self.sockets if not socket.is_gone]


def call_on(world: ProductionWorld, attempt: tuple[ProcessLoop, Endpoint, int, asyncio.Future[Socket]], pause_us: int) -> None:
    """A call for a connection reaches the other host, or is lost and made again."""
    loop, address, target, connected = attempt
    network = world.network
    if loop.is_dead or connected.done():
        return
    if not network.reaches(loop.index, target) or not network.reaches(target, loop.index):
        world.push_us(world.now_us + pause_us, call_on, attempt, pause_us * 2)
        return
    world.events += 1
    back_us = world.now_us + network.delay_us(target, loop.index)
    server = network.listening.get(address)
    if server is None or server.loop.is_dead:
        world.push_us(back_us, answer, (loop, connected), None)
        return
    network._ports += 1
    own: Endpoint = world.name_of(loop.index), network._ports
    near, far = Socket(network, loop, loop.index, own, address), Socket(network, server.loop, target, address, own)
    near.other, far.other = far, near
    network.sockets.append(far)
    server.arrived(far)
    world.push_us(back_us, answer, (loop, connected), near)


def answer(world: ProductionWorld, waiting: tuple[ProcessLoop, asyncio.Future[Socket]], socket: Socket | None) -> None:
    """Who called hears whether it is connected."""
    loop, connected = waiting
    if loop.is_dead or connected.done():
        if socket is not None:
            socket.is_gone = True
            socket.reset_other()
        return
    if socket is None:
        loop.call_soon(refuse, connected)
    else:
        loop.call_soon(accept, connected, socket)


def refuse(connected: asyncio.Future[Socket]) -> None:
    if not connected.done():
        connected.set_exception(ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED)))


def accept(connected: asyncio.Future[Socket], socket: Socket) -> None:
    if connected.done():
        socket.is_gone = True
        socket.reset_other()
    else:
        connected.set_result(socket)
