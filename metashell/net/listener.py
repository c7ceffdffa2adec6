"""Connections that we accept, over asyncio: `serve` opens a listener, its requests go to one function.

Bounds: connections, each connection's requests and answers (`ConnectionLimits`), the time of a handshake and of idleness. This
module imports asyncio, so it is itself imported inside functions.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from metashell.errors import UsageError
from metashell.net.api_versions import KRAFT_FEATURES, ApiRanges, NodeFeatures
from metashell.net.limits import ConnectionLimits, Counters
from metashell.net.sasl import PLAIN
from metashell.net.server_connection import ANONYMOUS, Authenticated, Closed, Received, ServerConnection
from metashell.net.transport import reason_of

if TYPE_CHECKING:
    import ssl

    from metashell.net.frames import RequestHeader
    from metashell.net.sasl import Credentials, SaslServer
    from metashell.net.security import ListenerSecurity
    from metashell.net.tls_layer import TlsLayer

LOOPBACK: Final = "127.0.0.1"
LINGER_S: Final = 2.0
"""How long a connection that is over may take to send its last answers, and to say good-bye in TLS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerOptions:
    """How to listen.

    `ranges` are the APIs that are served. `tls` and `mechanisms` (SASL mechanism to its server side) are the security; a listener
    with a `weakness` on an address that is not loopback needs `allow_plaintext`. `port` 0 lets the system choose.
    `held_max` bounds the bytes of unfinished requests and unsent answers of all connections: above it the one that holds most goes.
    A connection is idle when no whole request came for `idle_timeout_s`, whatever else it sent.
    """

    ranges: ApiRanges
    name: str = "PLAINTEXT"
    host: str = LOOPBACK
    port: int = 0
    tls: ssl.SSLContext | None = None
    mechanisms: Mapping[str, Callable[[], SaslServer]] | None = None
    features: Callable[[], NodeFeatures] = lambda: KRAFT_FEATURES
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    connections_max: int = 2000
    held_max: int = 256 * 1024 * 1024
    handshake_timeout_s: float = 10.0
    idle_timeout_s: float = 600.0
    backlog: int = 128
    allow_plaintext: bool = False


class ServerRequest:
    """A request on a connection. `respond` may be called at any later time, once, on the loop's thread."""

    __slots__ = ("_connection", "_received")

    def __init__(self, connection: AcceptedConnection, received: Received) -> None:
        self._connection = connection
        self._received = received

    @property
    def header(self) -> RequestHeader:
        """Api key, version, correlation id and client id."""
        return self._received.header

    @property
    def message(self) -> Any:
        """The request's object."""
        return self._received.message

    @property
    def size(self) -> int:
        """Bytes of its frame."""
        return self._received.size

    @property
    def listener(self) -> str:
        """The name of the listener that it came to."""
        return self._connection.listener.options.name

    @property
    def principal(self) -> str:
        """Who asks: `User:alice`, `User:ANONYMOUS`, or `User:` and the name in a client's certificate."""
        return self._connection.core.principal

    @property
    def peer(self) -> str:
        """The host of the peer."""
        return self._connection.peer

    @property
    def connection_id(self) -> int:
        """A number that no other connection of the listener has."""
        return self._connection.number

    @property
    def cancelled(self) -> bool:
        """Whether the connection is over, so that nobody waits for the answer."""
        return self._connection.core.closed

    def respond(self, message: Any) -> None:
        """Answer with a response object; without effect when the connection is over. Errors: EncodeError."""
        self._connection.respond(self._received.request_id, message)

    def drop(self) -> None:
        """Give no answer: only for requests that have none."""
        self._connection.drop(self._received.request_id)

    def close_connection(self, reason: str) -> None:
        """End the connection that it came on."""
        self._connection.close(reason)


OnRequest = Callable[[ServerRequest], None]
OnClosed = Callable[[int, str], None]
"""Called with the number of a connection that takes no more requests, and why."""


class AcceptedConnection(asyncio.Protocol):
    """Moves bytes between one socket and its core."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.number = 0
        self.peer = ""
        self.core = listener.make_core(ANONYMOUS)
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._active_at = self._loop.time()
        self._frames_seen = 0
        self._held = 0
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tls: TlsLayer | None = None
        self._writable = True
        self._paused = False
        self._ended = False
        self._pumping = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio. A connection counts from here, before any handshake of TLS."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self.listener.admit(self):
            self._ended = True
            transport.abort()
            return
        options = self.listener.options
        self._timers["handshake"] = self._loop.call_later(options.handshake_timeout_s, self._handshake_is_due)
        self._watch_idleness()
        self.peer = str((transport.get_extra_info("peername") or ("",))[0])
        if options.tls is not None:
            from metashell.net.tls_layer import TlsLayer

            self._tls = TlsLayer(options.tls)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        if self._tls is None:
            self.core.receive_data(data)
        else:
            self._receive_secured(data, self._tls)
        self._pump()

    def _receive_secured(self, data: bytes, tls: TlsLayer) -> None:
        was_done = tls.done
        plain = tls.receive(data)
        self._send_raw(tls.take_output())
        if tls.done and not was_done and self.listener.options.mechanisms is None and (certificate := tls.certificate):
            self.core.principal = principal_of(certificate)
        self.core.receive_data(plain)
        if tls.fault is not None:
            self.listener.counters.tls_failures += 1
            self.core.close(reason_of(tls.fault))
        elif tls.ended:
            self.core.connection_lost()

    def _send_raw(self, data: bytes) -> None:
        if data and self._transport is not None:
            self._transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        if not self._ended:
            self.core.connection_lost(reason_of(exc) if exc is not None else "")
            self._pump()
        self._gone()

    def _gone(self) -> None:
        self._cancel_timers()
        self.listener.forget(self)

    def _cancel_timers(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def pause_writing(self) -> None:
        """See asyncio: the peer does not read, so what it is owed stays in the core, which then stops the reading."""
        self._writable = False

    def resume_writing(self) -> None:
        """See asyncio."""
        self._writable = True
        self._pump()

    def respond(self, request_id: int, message: Any) -> None:
        """See ServerRequest."""
        self.core.respond(request_id, message)
        self._pump()

    def drop(self, request_id: int) -> None:
        """See ServerRequest."""
        self.core.drop(request_id)
        self._pump()

    def close(self, reason: str) -> None:
        """End the connection; what was answered in order is still sent."""
        self.core.close(reason)
        self._pump()

    def crowd_out(self) -> None:
        """See Listener.account."""
        self.core.crowded_out()
        self._pump()

    def _pump(self) -> None:
        if self._pumping or self._ended:
            return  # an answer that is given while its request is handed over is sent by the loop below
        self._pumping = True
        try:
            while not self._ended:
                event = self.core.next_event()
                self._write()
                match event:
                    case Received():
                        self._hand_over(ServerRequest(self, event))
                    case Authenticated():
                        pass
                    case Closed(reason):
                        self._over(reason)
                    case None:
                        break
        finally:
            self._pumping = False
        self._balance()

    def _hand_over(self, request: ServerRequest) -> None:
        try:
            self.listener.on_request(request)
        except Exception as error:
            # A mistake of ours with one request must not surface in the answer to another.
            self._loop.call_exception_handler({"message": f"a request of api key {request.header.api_key} failed", "exception": error})
            self.core.close("internal error")

    def _write(self) -> None:
        if (self._writable or self.core.closed) and (data := self.core.take_output()):
            if self._tls is not None:
                self._tls.send(data)
                data = self._tls.take_output()
            self._send_raw(data)
            self.listener.answered()

    def _balance(self) -> None:
        """Read only while the core wants more, and keep the books."""
        if self.core.frames_taken != self._frames_seen:
            self._frames_seen = self.core.frames_taken
            self._active_at = self._loop.time()
        held = 0 if self._ended else self.core.held_size
        change, self._held = held - self._held, held
        self.listener.account(change)
        if self._transport is None or self._ended or self._transport.is_closing():
            return
        if self.core.wants_read and self._paused:
            self._paused = False
            self._transport.resume_reading()
        elif not self.core.wants_read and not self._paused:
            self._paused = True
            self.listener.counters.reading_paused += 1
            self._transport.pause_reading()

    def _handshake_is_due(self) -> None:
        if self._tls is not None and not self._tls.done:
            self.listener.counters.handshake_timeouts += 1
            self.core.close("no TLS handshake in time")
        self.core.handshake_expired()
        self._pump()

    def _watch_idleness(self) -> None:
        limit = self.listener.options.idle_timeout_s
        left = self._active_at + limit - self._loop.time()
        if left <= 0:
            self.core.idle_expired()
            self._pump()
        else:
            self._timers["idle"] = self._loop.call_later(left, self._watch_idleness)

    def _over(self, reason: str) -> None:
        if self._ended:
            return
        self._ended = True
        self._cancel_timers()
        if self._transport is not None:
            if self._tls is not None:
                self._tls.close()
                self._send_raw(self._tls.take_output())
            self._transport.close()
            self._timers["linger"] = self._loop.call_later(LINGER_S, self._transport.abort)
        self.core.close(reason)
        self.listener.account(-self._held)
        self._held = 0
        self.listener.ended(self, reason)


class Listener:
    """An open listener; made by `serve`."""

    def __init__(self, on_request: OnRequest, options: ListenerOptions, on_closed: OnClosed | None) -> None:
        self.on_request = on_request
        self.options = options
        self.counters = Counters()
        self.port = 0
        self.held_size = 0
        """Bytes that are held for all connections."""
        self._on_closed = on_closed
        self._connections: dict[AcceptedConnection, None] = {}
        # A dict, for its order: connections are closed in the order in which they came.
        self._numbers = 0
        self._server: asyncio.Server | None = None
        self._answered = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    def make_core(self, principal: str) -> ServerConnection:
        """The core of a new connection."""
        options = self.options
        return ServerConnection(
            options.ranges,
            mechanisms=options.mechanisms,
            features=options.features,
            limits=options.limits,
            counters=self.counters,
            principal=principal,
        )

    def admit(self, connection: AcceptedConnection) -> bool:
        """Whether there is room for a connection."""
        if len(self._connections) >= self.options.connections_max:
            self.counters.dropped += 1
            return False
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

    def ended(self, connection: AcceptedConnection, reason: str) -> None:
        """A connection takes no more requests, and waits for no more answers."""
        self._answered.set()
        if connection in self._connections and self._on_closed is not None:
            self._on_closed(connection.number, reason)

    def forget(self, connection: AcceptedConnection) -> None:
        """A connection's socket is closed."""
        if connection in self._connections:
            del self._connections[connection]
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
        self._server.close()
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
        await self._server.wait_closed()

    def answered(self) -> None:
        """A connection has sent answers."""
        self._answered.set()


async def serve(on_request: OnRequest, options: ListenerOptions, *, on_closed: OnClosed | None = None) -> Listener:
    """Open a listener. `on_request` is called on the loop for each request, `on_closed` when a connection is over.

    Errors: UsageError for a listener with a `weakness` on an address that others reach, without `allow_plaintext`; OSError.
    """
    what = weakness(options)
    if what is not None and not options.allow_plaintext and not is_loopback(options.host):
        raise UsageError(f"{options.host}: {what} that others can reach must be allowed explicitly", options.host)
    listener = Listener(on_request, options, on_closed)
    await listener.open()
    return listener


def secured_options(security: ListenerSecurity, credentials: Credentials | None = None) -> dict[str, Any]:
    """`tls` and `mechanisms` of ListenerOptions as a listener's properties say; `credentials` know the users of SCRAM.

    Errors: UsageError for a store that cannot be used.
    """
    from metashell.net.sasl import StaticCredentials, server_mechanisms
    from metashell.net.tls import server_context

    users = StaticCredentials(security.plain_users, credentials or StaticCredentials({}))
    return {
        "tls": None if security.tls is None else server_context(security.tls),
        "mechanisms": server_mechanisms(security.mechanisms, users) if security.mechanisms else None,
    }


def weakness(options: ListenerOptions) -> str | None:
    """Why anybody may ask, or read passwords on the way: in words what kind of listener it is, None for one that knows who asks.

    A certificate that is only requested need not be shown: who has none is ANONYMOUS, as with PLAINTEXT.
    """
    if options.tls is None:
        if options.mechanisms is None:
            return "a PLAINTEXT listener"
        return "PLAIN on a SASL_PLAINTEXT listener" if PLAIN in options.mechanisms else None
    if options.mechanisms is None and options.tls.verify_mode.name != "CERT_REQUIRED":
        return "an SSL listener that requires no certificate of its clients (ssl.client.auth)"
    return None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def principal_of(certificate: Mapping[str, Any]) -> str:
    """Kafka's principal for a client's certificate: its distinguished name as RFC 2253 writes it, the last part first."""
    parts = certificate.get("subject", ())
    return "User:" + ",".join("+".join(f"{_SHORT.get(name, name)}={_escaped(value)}" for name, value in part) for part in reversed(parts))


_SHORT: Final = {
    "commonName": "CN",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "countryName": "C",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}


def _escaped(value: str) -> str:
    text = "".join(f"\\{char}" if char in ',+"\\<>;' else char for char in value)
    if text.startswith(("#", " ")):
        text = "\\" + text
    return text[:-1] + "\\ " if text.endswith(" ") and len(text) > 1 else text
