"""One connection that a listener accepted: bytes between its socket and its core, requests to the function that answers them.

This module imports asyncio, so it is itself imported inside functions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol, assert_never

from metashell.net.addresses import host_text
from metashell.net.fair_queue import Asker
from metashell.net.listener_options import Authenticated, Closed, Decoded, Received, Refuse, Undecoded
from metashell.net.server_connection import ANONYMOUS, ServerConnection
from metashell.net.transport import reason_of

if TYPE_CHECKING:
    from metashell.net.frames import RequestHeader
    from metashell.net.listener_options import Counters, ListenerOptions
    from metashell.net.shares import Shares
    from metashell.net.tls import TlsLayer

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
        """The principal of the client: `User:alice`, `User:ANONYMOUS`, or `User:` and the name in a client's certificate."""
        return self._connection.core.principal

    @property
    def asker(self) -> Asker:
        """Whose share of the process it uses."""
        return self._connection.asker

    def trust(self) -> None:
        """Take its sender for a peer: what that asks goes before what others ask, from now on."""
        self._connection.trust()

    @property
    def is_token_authenticated(self) -> bool:
        """Whether the peer showed a delegation token, whose owner is the principal."""
        return self._connection.core.is_token_authenticated

    @property
    def security_protocol(self) -> int:
        """Kafka's number of the listener's protocol: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""
        return self._connection.listener.options.security_protocol

    @property
    def client_id(self) -> str:
        """The client id that the client sent; a null is empty."""
        return self._received.header.client_id or ""

    @property
    def host(self) -> str:
        """The address of the peer as Java writes it, and so as ACLs name it."""
        return self._connection.host

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

    def respond_encoded(self, body: bytes | bytearray) -> None:
        """As `respond`, with a response that is encoded in the request's version."""
        self._connection.respond_encoded(self._received.request_id, body)

    def drop(self) -> None:
        """Give no answer: only for requests that have none."""
        self._connection.drop(self._received.request_id)

    def close_connection(self, reason: str) -> None:
        """End the connection that it came on."""
        self._connection.close(reason)


OnRequest = Callable[[ServerRequest], None]
OnLarge = Callable[[ServerRequest], Refuse | None]
"""Called with a large request, before its message is known: what refuses it, None where its message has to be looked at."""


class Owner(Protocol):
    """The calls that a connection makes on the listener that accepted it."""

    @property
    def options(self) -> ListenerOptions: ...
    @property
    def counters(self) -> Counters: ...
    @property
    def on_request(self) -> OnRequest: ...
    @property
    def on_large(self) -> OnLarge: ...
    @property
    def read_buffer(self) -> memoryview: ...
    @property
    def small_read_buffer(self) -> memoryview: ...
    @property
    def shares(self) -> Shares: ...
    def make_core(self) -> ServerConnection: ...
    def admit(self, connection: AcceptedConnection) -> bool: ...
    def answered(self) -> None: ...
    def ended(self, connection: AcceptedConnection, reason: str) -> None: ...
    def forget(self, connection: AcceptedConnection) -> None: ...


class AcceptedConnection(asyncio.BufferedProtocol):
    """Moves bytes between one socket and its core.

    What has come is looked at when its turn comes (`Shares`), a few requests at a time, so that a connection with a thousand of them keeps
    no other waiting. Answers that are given within one turn of the loop are sent together.
    """

    __slots__ = (
        "_active_at",
        "_ended",
        "_frames_seen",
        "_handshake_at",
        "_is_flush_due",
        "_is_silent",
        "_loop",
        "_paused",
        "_pumping",
        "_secured",
        "_timer",
        "_tls",
        "_transport",
        "_writable",
        "asker",
        "core",
        "counted_size",
        "held_since_s",
        "host",
        "is_known",
        "is_turn_due",
        "listener",
        "number",
    )

    def __init__(self, listener: Owner) -> None:
        self.listener = listener
        self.number = 0
        self.host = ""
        self.asker = Asker("")
        self.is_known = False
        self.is_turn_due = False
        self.counted_size = 0
        self.held_since_s = 0.0
        self.core = listener.make_core()
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._active_at = self._loop.time()
        self._handshake_at = self._active_at + listener.options.handshake_timeout_s
        self._timer: asyncio.TimerHandle | None = None
        self._frames_seen = 0
        self._secured = bytearray()
        """Bytes of a TLS handshake that wait for their turn."""
        self._tls: TlsLayer | None = None
        self._writable = True
        self._paused = False
        self._ended = False
        self._pumping = False
        self._is_flush_due = False
        self._is_silent = False

    # ---- the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio. A connection counts from here, before any handshake of TLS."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.host = host_text(str((transport.get_extra_info("peername") or ("",))[0]))
        self.asker = Asker(self.host)
        if not self.listener.admit(self):
            self._ended = True
            transport.abort()
            return
        options = self.listener.options
        if options.tls is not None:
            from metashell.net.tls import TlsLayer

            self._tls = TlsLayer(options.tls)
        self._watch()

    def get_buffer(self, sizehint: int) -> memoryview:
        """See asyncio. All connections read into one buffer, one after the other."""
        return self.listener.read_buffer if self.is_known else self.listener.small_read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        """See asyncio."""
        data = self.listener.read_buffer[:nbytes]
        if self._tls is None:
            self.core.receive_data(data)
        elif self._tls.done:
            self._receive_secured(data, self._tls)
        else:
            # A handshake takes milliseconds, so it waits for its turn.
            self._secured += data
        self.listener.shares.turn_soon(self)
        self._balance(self.core.is_more)

    def _receive_secured(self, data: memoryview, tls: TlsLayer) -> None:
        was_done = tls.done
        plain = tls.receive(data)
        self._send_raw(tls.take_output())
        if tls.done and not was_done and self.listener.options.mechanisms is None and (certificate := tls.certificate):
            try:
                self.core.principal = self.listener.options.principal_of(certificate)
            except ValueError as error:
                self.listener.counters.authentication_failures += 1
                self.core.close(f"the client's certificate: {error}")
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
            reason = reason_of(exc) if exc is not None else ""
            self.core.connection_lost(reason)
            self._pump()
            if not self._ended:
                self._over(reason)  # it waited with the news that authentication failed
        self._cancel_timer()
        self.listener.forget(self)

    def pause_writing(self) -> None:
        """See asyncio: the peer does not read, so what it is owed stays in the core, which then stops the reading."""
        self._writable = False

    def resume_writing(self) -> None:
        """See asyncio."""
        self._writable = True
        self._pump()

    # ---- what is done with it

    def respond(self, request_id: int, message: Any) -> None:
        """See ServerRequest."""
        self.core.respond(request_id, message)
        self._flush_soon()

    def respond_encoded(self, request_id: int, body: bytes | bytearray) -> None:
        """See ServerRequest."""
        self.core.respond_encoded(request_id, body)
        self._flush_soon()

    def drop(self, request_id: int) -> None:
        """See ServerRequest."""
        self.core.drop(request_id)
        self._flush_soon()

    def close(self, reason: str) -> None:
        """End the connection; what was answered in order is still sent."""
        self.core.close(reason)
        self._pump()

    def crowd_out(self, reason: str) -> None:
        """See Shares."""
        self.core.crowded_out(reason)
        self._pump()

    def evict(self, reason: str) -> None:
        """See Shares. The socket is closed at once, whatever is still to be sent."""
        self.listener.counters.evicted += 1
        self.core.close(reason)
        self._over(reason)
        if self._transport is not None:
            self._transport.abort()

    def trust(self) -> None:
        """See ServerRequest."""
        if not self.asker.is_peer:
            self._become(is_peer=True)

    def _become(self, *, is_peer: bool) -> None:
        """It is known from now on, by its principal, or by its address where everybody is the same one."""
        name = self.core.principal
        self.listener.shares.become(self, Asker(self.host if name == ANONYMOUS else name, is_peer))

    # ---- turns

    def take_turn(self) -> None:
        """See Shares: look at some of what has come."""
        if self._secured and self._tls is not None and not self._ended:
            data, self._secured = self._secured, bytearray()
            self._receive_secured(memoryview(data), self._tls)
        self._pump()

    def _flush_soon(self) -> None:
        if not (self._is_flush_due or self._pumping or self._ended):
            self._is_flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        """Send the answers that were given."""
        self._is_flush_due = False
        if not (self._pumping or self._ended):
            self._settle()

    def _settle(self) -> None:
        self._write()
        is_more = self.core.is_more
        if is_more:
            self.listener.shares.turn_soon(self)
        self._balance(is_more)

    def _pump(self) -> None:
        if self._pumping or self._ended:
            return  # an answer that is given while its request is handed over is sent at the end of the turn below
        self._pumping = True
        try:
            self._take_events()
        finally:
            self._pumping = False
        if not self._ended:
            self._settle()

    def _take_events(self) -> None:
        """Hand over what has come, as much as one turn may."""
        limits = self.listener.options.limits
        size = 0
        for _ in range(limits.turn_max if self.is_known else 1):
            match event := self.core.next_event(limits.turn_max):
                case Received():
                    size += event.size
                    if not self.is_known:
                        self._become(is_peer=False)
                    self._hand_over(ServerRequest(self, event))
                case None:
                    return
                case Authenticated():
                    self._become(is_peer=False)
                case Undecoded():
                    if not self.is_known:
                        self._become(is_peer=False)
                    refuse = self.listener.on_large(ServerRequest(self, Received(event.request_id, event.header, None, len(event.frame))))
                    self.listener.shares.decode(self, replace(event, refuse=refuse), self._decoded)
                case Closed():
                    return self._end(event)
                case _:
                    assert_never(event)
            if size >= limits.turn_size:
                return

    def _decoded(self, made: Decoded) -> None:
        self.core.decoded(made)
        self._pump()

    def _hand_over(self, request: ServerRequest) -> None:
        try:
            self.listener.on_request(request)
        except Exception as error:
            # A mistake of ours with one request must not surface in the answer to another.
            self._loop.call_exception_handler({"message": f"a request of api key {request.header.api_key} failed", "exception": error})
            self.core.close("internal error")

    def _write(self) -> None:
        if self._is_silent or not (self._writable or self.core.closed):
            return
        if data := self.core.take_output():
            if self._tls is not None:
                self._tls.send(data)
                data = self._tls.take_output()
            self._send_raw(data)
            self.listener.answered()

    def _balance(self, is_more: bool) -> None:
        """Read only while the core wants more, and account for the bytes that it holds."""
        core = self.core
        if core.frames_taken != self._frames_seen:
            self._frames_seen = core.frames_taken
            self._active_at = self._loop.time()
            self.listener.shares.touch(self)
        if core.held_size != self.counted_size:
            self.listener.shares.hold(self)
        if self._transport is None or self._ended or self._transport.is_closing():
            return
        turn_size = self.listener.options.limits.turn_size
        has_enough = ((is_more or self.is_turn_due) and core.unread_size > turn_size) or len(self._secured) > turn_size
        wants_read = (core.wants_read and not has_enough) or core.waits_for_end
        if wants_read == self._paused:
            self._paused = not wants_read
            if wants_read:
                self._transport.resume_reading()
            else:
                self.listener.counters.reading_paused += 1
                self._transport.pause_reading()

    # ---- time

    def _watch(self) -> None:
        """End what has timed out, and come again at the next deadline."""
        now = self._loop.time()
        in_handshake = self._tls is not None and not self._tls.done
        is_unknown = in_handshake or not self.core.authenticated
        if is_unknown and now >= self._handshake_at:
            self._handshake_is_due(in_handshake)
        idle_s = self.listener.options.idle_timeout_s
        if idle_s is not None and now >= self._active_at + idle_s:
            self.core.idle_expired()
            self._pump()
        if self._ended or self.core.closed:
            return
        due = [] if idle_s is None else [self._active_at + idle_s]
        if is_unknown:
            due.append(self._handshake_at)
        self._timer = self._loop.call_at(min(due), self._watch) if due else None

    def _handshake_is_due(self, in_tls: bool) -> None:
        if in_tls:
            self.listener.counters.handshake_timeouts += 1
            self.core.close("no TLS handshake in time")
        self.core.handshake_expired()
        self._pump()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ---- the end

    def _end(self, event: Closed) -> None:
        """End the connection. A failed authentication is answered with a delay, so that passwords cannot be tried quickly."""
        delay_s = self.listener.options.failed_authentication_delay_s
        if event.authentication_failed and delay_s > 0 and self._transport is not None and not self._transport.is_closing():
            self._cancel_timer()
            self._is_silent = True
            self._timer = self._loop.call_later(delay_s, self._over, event.reason)
        else:
            self._over(event.reason)

    def _over(self, reason: str) -> None:
        if self._ended:
            return
        self._is_silent = False
        self._write()
        self._ended = True
        self._cancel_timer()
        if self._transport is not None:
            if self._tls is not None:
                self._tls.close()
                self._send_raw(self._tls.take_output())
            self._transport.close()
            self._timer = self._loop.call_later(LINGER_S, self._transport.abort)
        self.listener.shares.leave(self)
        self.listener.ended(self, reason)
