"""Accepted connections over asyncio: `serve` opens a listener, and its requests go to one function.

Bounds: connections, each connection's requests and answers (`ConnectionLimits`), the time of a handshake and of idleness. This
module imports asyncio, so it is itself imported inside functions."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from metashell.codec.codes import API_VERSIONS
from metashell.common.errors import UsageError
from metashell.net.accepted_connection import AcceptedConnection, OnLarge, OnRequest
from metashell.net.client_connection import SOFTWARE_NAME
from metashell.net.listener_options import Counters, Fault, ListenerOptions, is_loopback, server_terms, weakness
from metashell.net.server_connection import ServerConnection
from metashell.net.shares import shares_of_loop

READ_SIZE: Final = 256 * 1024
STRANGER_READ_SIZE: Final = 80 * 1024
"""Bytes that are read at once from a peer that is not known: more than it may send as one request."""
ACCEPTED_AT_ONCE: Final = 16
BACKLOG_MIN: Final = 512
"""Connections that the system keeps at least until they are accepted: what is beyond is dropped, and tried again after a second."""
FULL_PAUSE_S: Final = 0.1
"""How long nothing is accepted after the table of descriptors was full."""
TOLD_EVERY_S: Final = 60.0
"""How often a listener says that connections had to make room."""
_FULL: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

OnClosed = Callable[[int, str], None]
"""Called with the number of a connection that takes no more requests, and why."""
OnFault = Callable[[Fault], None]
"""Called with what a peer did wrong, for which its connection was closed."""
OnEvent = Callable[[str], None]
"""Called with a line for operators."""


class Listener:
    """An open listener; made by `serve`."""

    def __init__(
        self,
        on_request: OnRequest,
        options: ListenerOptions,
        on_closed: OnClosed | None,
        on_event: OnEvent,
        on_large: OnLarge,
        on_fault: OnFault,
    ) -> None:
        self.on_request = on_request
        self.on_large = on_large
        self.options = options
        self.counters = Counters()
        self.port = 0
        self.shares = shares_of_loop()
        self.read_buffer = memoryview(bytearray(READ_SIZE))
        """What each connection reads into; only for the length of one call."""
        self.small_read_buffer = self.read_buffer[:STRANGER_READ_SIZE]
        self._terms = server_terms(
            options.ranges,
            mechanisms=options.mechanisms,
            features=options.features,
            identity=options.identity,
            limits=options.limits,
            counters=self.counters,
            session_ms=options.session_ms,
            clock=asyncio.get_running_loop().time,
        )
        self._of_hosts: Counter[str] = Counter()
        self._on_closed = on_closed
        self._on_event = on_event
        self._on_fault = on_fault
        self._told_at: dict[str, float] = {}
        self._untold: Counter[str] = Counter()
        self._connections: dict[AcceptedConnection, None] = {}
        # A dict, for its order: connections are closed in the order in which they came.
        self._numbers = 0
        self._sockets: list[socket.socket] = []
        self._making: set[asyncio.Task[None]] = set()
        self._is_stopped = False
        self._answered = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    def make_core(self) -> ServerConnection:
        """The core of a new connection."""
        return ServerConnection(self._terms)

    def admit(self, connection: AcceptedConnection) -> bool:
        """Whether there is room for a connection. One that was accepted right before the listener stopped comes too late."""
        if self._is_stopped:
            return False
        host = connection.host
        options = self.options
        of_host_max = options.connections_max_of.get(host, options.connections_max_per_host)
        if len(self._connections) >= options.connections_max or self._of_hosts[host] >= of_host_max:
            self.counters.dropped += 1
            return False
        if evicted := self.shares.admit(connection):
            self._tell("connections make room for new ones: the longest idle are closed", evicted)
        self._of_hosts[host] += 1
        self._numbers += 1
        connection.number = self._numbers
        self._connections[connection] = None
        self._empty.clear()
        self.counters.accepted += 1
        self.counters.open += 1
        return True

    @property
    def held_size(self) -> int:
        """Bytes that are held for all connections."""
        return sum(connection.counted_size for connection in self._connections)

    def ended(self, connection: AcceptedConnection, reason: str) -> None:
        """A connection takes no more requests, and waits for no more answers."""
        self._answered.set()
        if connection not in self._connections:
            return
        core = connection.core
        if core.is_faulty or core.client_software not in ("", SOFTWARE_NAME):
            key = core.asked_key if core.is_faulty else API_VERSIONS
            self._on_fault(Fault(core.principal, connection.host, reason, key, core.fails_login))
        if self._on_closed is not None:
            self._on_closed(connection.number, reason)

    def forget(self, connection: AcceptedConnection) -> None:
        """A connection's socket is closed."""
        if connection in self._connections:
            del self._connections[connection]
            self._of_hosts[connection.host] -= 1
            if not self._of_hosts[connection.host]:
                del self._of_hosts[connection.host]
            self.counters.open -= 1
            self.counters.closed += 1
            if not self._connections:
                self._empty.set()

    async def open(self) -> None:
        """Bind. Errors: OSError."""
        options = self.options
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            for family, kind, protocol, _, address in dict.fromkeys(found):
                self._sockets.append(_bound(family, kind, protocol, address, options.backlog))
        except BaseException:
            for held in self._sockets:
                held.close()
            raise
        self.port = self._sockets[0].getsockname()[1]
        self.shares.opened(options.held_max)
        for held in self._sockets:
            loop.add_reader(held, self._accept, held)

    def _accept(self, held: socket.socket) -> None:
        """Accept what has come, some of it before the loop does something else."""
        loop = asyncio.get_running_loop()
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, _ = held.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                self._pause(held, error)
                return
            accepted.setblocking(False)
            task = loop.create_task(self._make(accepted))
            self._making.add(task)
            task.add_done_callback(self._making.discard)

    async def _make(self, accepted: socket.socket) -> None:
        with contextlib.suppress(OSError):  # It may be over already.
            await asyncio.get_running_loop().connect_accepted_socket(lambda: AcceptedConnection(self), accepted)

    def _pause(self, held: socket.socket, error: OSError) -> None:
        """The process has no descriptor for one more connection: close one, and accept again in a while."""
        loop = asyncio.get_running_loop()
        self.counters.table_full += 1
        self._tell(f"a connection cannot be accepted: {os.strerror(error.errno or 0)}")
        self.shares.evict_stranger()
        loop.remove_reader(held)
        loop.call_later(FULL_PAUSE_S, self._resume, held)

    def _resume(self, held: socket.socket) -> None:
        if not self._is_stopped:
            asyncio.get_running_loop().add_reader(held, self._accept, held)

    def _tell(self, what: str, count: int = 1) -> None:
        """Say something once a minute, with how often it was the case."""
        now = asyncio.get_running_loop().time()
        self._untold[what] += count
        if now >= self._told_at.get(what, -TOLD_EVERY_S) + TOLD_EVERY_S:
            self._told_at[what] = now
            self._on_event(f"listener {self.options.name}: {what} ({self._untold.pop(what)} since the last such line)")

    async def stop(self, grace_s: float = 0.0) -> None:
        """Accept no more; wait up to `grace_s` for open requests to be answered; then close what is left."""
        self._is_stopped = True
        loop = asyncio.get_running_loop()
        for held in self._sockets:
            loop.remove_reader(held)
            held.close()
        if self._making:
            await asyncio.wait(self._making)
        for connection in list(self._connections):
            if not connection.core.in_flight:
                connection.close("the listener stops")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                while any(connection.core.in_flight for connection in self._connections):
                    self._answered.clear()
                    await self._answered.wait()
        for connection in list(self._connections):
            connection.close("the listener stops")
        if self._connections:
            await self._empty.wait()  # lingering ends by itself
        if self._sockets:
            self._sockets.clear()
            self.shares.closed()

    def answered(self) -> None:
        """A connection has sent answers."""
        self._answered.set()


def _bound(family: int, kind: int, protocol: int, address: Any, backlog: int) -> socket.socket:
    """Return a socket that listens. Errors: OSError."""
    made = socket.socket(family, kind, protocol)
    try:
        made.setblocking(False)
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.listen(max(backlog, BACKLOG_MIN))
    except BaseException:
        made.close()
        raise
    return made


async def serve(
    on_request: OnRequest,
    options: ListenerOptions,
    *,
    on_closed: OnClosed | None = None,
    on_event: OnEvent = lambda line: None,
    on_large: OnLarge = lambda request: None,
    on_fault: OnFault = lambda fault: None,
) -> Listener:
    """Open a listener. `on_request` is called on the loop for each request, `on_closed` when a connection is over.

    `on_event` gets a line for operators, `on_large` large requests before they are decoded, `on_fault` what a peer did wrong.

    Errors: UsageError for a listener with a `weakness` on an address that others reach, without `allow_plaintext`; OSError.
    """
    what = weakness(options)
    if what is not None and not options.allow_plaintext and not is_loopback(options.host):
        raise UsageError(f"{options.host}: {what} that others can reach must be allowed explicitly", "allow_plaintext")
    listener = Listener(on_request, options, on_closed, on_event, on_large, on_fault)
    await listener.open()
    return listener


async def stop_accepting(server: asyncio.Server) -> None:
    """Accept nothing more on a server, and close it. What it has accepted becomes connections first, which are then the caller's to close.

    asyncio accepts in one turn of the loop and makes the connection in the next. A server that is closed in between loses the socket
    (cpython issue 109564): nobody closes it, and the peer waits for an answer.
    """
    loop = asyncio.get_running_loop()
    for held in server.sockets:
        with contextlib.suppress(NotImplementedError):
            loop.remove_reader(held)
    await asyncio.sleep(0)
    server.close()
