"""One connection that a listener accepted: bytes between its socket and its core, requests to the function that answers them.

This module imports asyncio, so it is itself imported inside functions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, assert_never

from metashell.net.principal import principal_of
from metashell.net.server_connection import ANONYMOUS, Authenticated, Closed, Received, ServerConnection
from metashell.net.transport import reason_of

if TYPE_CHECKING:
    from metashell.net.frames import RequestHeader
    from metashell.net.limits import Counters
    from metashell.net.listener_options import ListenerOptions
    from metashell.net.tls_layer import TlsLayer

LINGER_S: Final = 2.0
"""How long a connection that is over may take to send its last answers, and to say good-bye in TLS."""


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


class Owner(Protocol):
    """What a connection needs of the listener that accepted it."""

    @property
    def options(self) -> ListenerOptions: ...
    @property
    def counters(self) -> Counters: ...
    @property
    def on_request(self) -> OnRequest: ...
    def make_core(self, principal: str) -> ServerConnection: ...
    def admit(self, connection: AcceptedConnection) -> bool: ...
    def account(self, change: int) -> None: ...
    def answered(self) -> None: ...
    def ended(self, connection: AcceptedConnection, reason: str) -> None: ...
    def forget(self, connection: AcceptedConnection) -> None: ...


class AcceptedConnection(asyncio.Protocol):
    """Moves bytes between one socket and its core."""

    def __init__(self, listener: Owner) -> None:
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
                    case _:
                        assert_never(event)
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
