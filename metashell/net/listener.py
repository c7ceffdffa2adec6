"""Accepted connections over asyncio: `serve` opens a listener, and its requests go to one function.

Bounds: connections, each connection's requests and answers (`ConnectionLimits`), the time of a handshake and of idleness. This
module imports asyncio, so it is itself imported inside functions."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from metashell.common.errors import UsageError
from metashell.net.accepted_connection import AcceptedConnection, OnRequest
from metashell.net.listener_options import Counters, Decoded, ListenerOptions, Undecoded, is_loopback, server_terms, weakness
from metashell.net.server_connection import ServerConnection

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


READ_SIZE: Final = 256 * 1024
FREE_DESCRIPTORS: Final = 256
"""Descriptors that connections leave to the files of the process."""

OnClosed = Callable[[int, str], None]
"""Called with the number of a connection that takes no more requests, and why."""


class Listener:
    """An open listener; made by `serve`."""

    def __init__(self, on_request: OnRequest, options: ListenerOptions, on_closed: OnClosed | None) -> None:
        self.on_request = on_request
        self.options = options
        self.counters = Counters()
        self.port = 0
        self.held_size = 0
        """Bytes that are held for all connections."""
        self.read_buffer = memoryview(bytearray(READ_SIZE))
        """What each connection reads into; only for the length of one call."""
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
        self._connections_max = min(options.connections_max, room_for_connections(descriptors_max()))
        self._of_hosts: Counter[str] = Counter()
        self._decoder: ThreadPoolExecutor | None = None
        self._on_closed = on_closed
        self._connections: dict[AcceptedConnection, None] = {}
        # A dict, for its order: connections are closed in the order in which they came.
        self._numbers = 0
        self._server: asyncio.Server | None = None
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
        if len(self._connections) >= self._connections_max or self._of_hosts[host] >= of_host_max:
            self.counters.dropped += 1
            return False
        self._of_hosts[host] += 1
        self._numbers += 1
        connection.number = self._numbers
        self._connections[connection] = None
        self._empty.clear()
        self.counters.accepted += 1
        self.counters.open += 1
        return True

    def account(self, change: int) -> None:
        """The bytes that a connection holds have changed by so many."""
        self.held_size += change
        if change > 0 and self.held_size > self.options.held_max:
            largest = max(self._connections, key=lambda each: each.core.held_size, default=None)
            if largest is not None:
                largest.crowd_out()

    def decode(self, request: Undecoded, then: Callable[[Decoded], None]) -> None:
        """Decode a large request in a thread, one for all connections; `then` gets it on the loop."""
        if self._decoder is None:
            from concurrent.futures import ThreadPoolExecutor

            self._decoder = ThreadPoolExecutor(1, "decoder")
        waiting = asyncio.get_running_loop().run_in_executor(self._decoder, request.decode)
        waiting.add_done_callback(functools.partial(_hand_back, request, then))

    def ended(self, connection: AcceptedConnection, reason: str) -> None:
        """A connection takes no more requests, and waits for no more answers."""
        self._answered.set()
        if connection in self._connections and self._on_closed is not None:
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
        self._server = await loop.create_server(lambda: AcceptedConnection(self), options.host, options.port, backlog=options.backlog)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self, grace_s: float = 0.0) -> None:
        """Accept no more; wait up to `grace_s` for open requests to be answered; then close what is left."""
        assert self._server is not None
        self._is_stopped = True
        await stop_accepting(self._server)
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
        if self._decoder is not None:
            self._decoder.shutdown(wait=False, cancel_futures=True)
        await self._server.wait_closed()

    def answered(self) -> None:
        """A connection has sent answers."""
        self._answered.set()


def _hand_back(request: Undecoded, then: Callable[[Decoded], None], done: asyncio.Future[Decoded]) -> None:
    if not done.cancelled():
        error = done.exception()
        then(done.result() if error is None else Decoded(request, None, 0, f"it could not be decoded ({type(error).__name__})"))


def room_for_connections(descriptors: int) -> int:
    """Return how many of the process's descriptors connections may use; where there are few, half of them."""
    return max(descriptors - FREE_DESCRIPTORS, descriptors // 2)


def descriptors_max() -> int:
    """Return how many files and sockets the process may have open."""
    try:
        import resource
    except ImportError:
        return 1 << 31
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 31 if soft == resource.RLIM_INFINITY else soft


async def serve(on_request: OnRequest, options: ListenerOptions, *, on_closed: OnClosed | None = None) -> Listener:
    """Open a listener. `on_request` is called on the loop for each request, `on_closed` when a connection is over.

    Errors: UsageError for a listener with a `weakness` on an address that others reach, without `allow_plaintext`; OSError.
    """
    what = weakness(options)
    if what is not None and not options.allow_plaintext and not is_loopback(options.host):
        raise UsageError(f"{options.host}: {what} that others can reach must be allowed explicitly", "allow_plaintext")
    listener = Listener(on_request, options, on_closed)
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
