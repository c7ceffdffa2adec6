"""The core of a connection that we accepted: bytes in and out, events for its owner.

Before authentication only ApiVersions, SaslHandshake and SaslAuthenticate are taken, in that sense; anything else, and anything that
is malformed, closes the connection. Answers leave in the order of the requests: one that is not there yet holds back the later ones
of this connection. While too much waits, `wants_read` is false and frames stay undecoded; the owner stops reading.

Source: org.apache.kafka.common.security.authenticator.SaslServerAuthenticator, kafka.network.SocketServer; KIP-152.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from metashell.codec.api_keys import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from metashell.codec.error_codes import ILLEGAL_SASL_STATE, SASL_AUTHENTICATION_FAILED, UNSUPPORTED_SASL_MECHANISM
from metashell.codec.messages import SaslAuthenticateResponse, SaslHandshakeResponse
from metashell.errors import DecodeError
from metashell.net.api_versions import KRAFT_FEATURES, ApiRanges, NodeFeatures, answer_api_versions, answer_unknown_api_versions
from metashell.net.frames import FrameReader, RequestHeader, decode_request_body, decode_request_header, encode_response
from metashell.net.limits import ConnectionLimits, Counters
from metashell.net.sasl import SaslError

if TYPE_CHECKING:
    from metashell.net.sasl import SaslServer

SASL_RANGES: Final[ApiRanges] = {SASL_HANDSHAKE: (1, 1), SASL_AUTHENTICATE: (0, 2)}
"""Handshake version 0 would be followed by tokens without headers, which no client of today sends."""
ANONYMOUS: Final = "User:ANONYMOUS"


@dataclass(frozen=True, slots=True)
class Received:
    """A request to answer with `respond(request_id, ...)`. `size` is that of its frame, in bytes."""

    request_id: int
    header: RequestHeader
    message: Any
    size: int


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The peer has proved that it is `principal` (`User:alice`)."""

    principal: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The connection is over, why in one line; what `take_output` still gives is sent before it is closed. The last event."""

    reason: str


class _Slot:
    """A request that has come; its answer as bytes once there is one."""

    __slots__ = ("answer", "header", "size")

    def __init__(self, header: RequestHeader, size: int) -> None:
        self.header = header
        self.size = size
        self.answer: bytes | None = None


class ServerConnection:
    """See the module.

    `ranges` is what this listener serves; the APIs of the handshake are added (without SASL they are answered with
    ILLEGAL_SASL_STATE, as Kafka does). `mechanisms` makes the server's side of a SASL
    mechanism by name; None is a listener without SASL, whose peers are `principal` from the start.
    """

    def __init__(
        self,
        ranges: ApiRanges,
        *,
        mechanisms: Mapping[str, Callable[[], SaslServer]] | None = None,
        features: Callable[[], NodeFeatures] = lambda: KRAFT_FEATURES,
        limits: ConnectionLimits | None = None,
        counters: Counters | None = None,
        principal: str = ANONYMOUS,
    ) -> None:
        self.limits = limits or ConnectionLimits()
        self.counters = counters if counters is not None else Counters()
        self.principal = principal if mechanisms is None else ""
        self.closed = False
        self.frames_taken = 0
        """Frames that were read to their end."""
        self._ranges = {API_VERSIONS: (0, 4), **ranges, **SASL_RANGES}
        self._features = features
        self._mechanisms = mechanisms or {}
        self._sasl: SaslServer | None = None
        self._sasl_rounds = 0
        self._frames = FrameReader(self.limits.frame_limit if mechanisms is None else self.limits.unauthenticated_limit)
        self._slots: deque[int] = deque()
        self._open: dict[int, _Slot] = {}
        self._next_id = 0
        self._asked_size = 0
        self._parked_size = 0
        self._out = bytearray()
        self._events: deque[Authenticated | Closed] = deque()

    @property
    def authenticated(self) -> bool:
        """Whether it is known who the peer is (on a listener without SASL, from the start)."""
        return bool(self.principal)

    @property
    def in_flight(self) -> int:
        """Requests whose answer has not left for `take_output`."""
        return len(self._slots)

    @property
    def output_size(self) -> int:
        """Bytes of answers that wait: those that may leave, and those behind an answer that is not there yet."""
        return len(self._out) + self._parked_size

    @property
    def held_size(self) -> int:
        """Bytes that are held for this connection: of frames that are not complete, or not taken, or not answered, and of answers."""
        return self._frames.buffered_size + self._asked_size + self.output_size

    @property
    def wants_read(self) -> bool:
        """False while the owner must not read more from the socket: too much waits, or the connection is over."""
        limits = self.limits
        output_max = limits.output_max if self.principal else min(limits.output_max, limits.unauthenticated_limit)
        in_bounds = len(self._slots) < limits.requests_max and self._asked_size < limits.requests_size_max
        return not self.closed and in_bounds and self.output_size < output_max

    def receive_data(self, data: bytes) -> None:
        """Take bytes that the peer sent; then call `next_event` until it gives None."""
        if not self.closed:
            self.counters.bytes_in += len(data)
            self._frames.feed(data)

    def next_event(self) -> Received | Authenticated | Closed | None:
        """What happened next, None when more bytes, or answers, must come first. Also to be called after `respond`."""
        while not self._events and self.wants_read:
            frame = self._frames.next_frame()
            if frame is None:
                if self._frames.fault:
                    self._fail(f"the peer sent {self._frames.fault}")
                break
            self.frames_taken += 1
            received = self._take(frame)
            if received is not None:
                return received
        return self._events.popleft() if self._events else None

    def respond(self, request_id: int, message: Any) -> None:
        """Answer a request; what was answered already or belongs to a closed connection is ignored.

        Errors: EncodeError for a response that does not fit the request's version; the request stays open then.
        """
        slot = self._open.get(request_id)
        if slot is not None and not self.closed:
            header = slot.header
            self._answer(request_id, encode_response(header.api_key, header.api_version, header.correlation_id, message))

    def drop(self, request_id: int) -> None:
        """A request that has no answer at all (Produce with acks=0): it holds back nothing."""
        if request_id in self._open and not self.closed:
            self._answer(request_id, b"")

    def take_output(self) -> bytes:
        """The bytes to send to the peer; they are given once."""
        out = bytes(self._out)
        self._out.clear()
        self.counters.bytes_out += len(out)
        return out

    def idle_expired(self) -> None:
        """Nothing came for as long as the owner allows."""
        if not self.closed:
            self.counters.idle_closed += 1
            self.close("idle for too long")

    def crowded_out(self) -> None:
        """All connections together hold too much, and this one the most of it."""
        if not self.closed:
            self.counters.crowded_out += 1
            self.close("connections hold too much memory, this one the most")

    def handshake_expired(self) -> None:
        """The time for authentication is over; nothing happens to a peer that has proved who it is."""
        if not self.closed and not self.authenticated:
            self.counters.handshake_timeouts += 1
            self.close("not authenticated in time")

    def connection_lost(self, reason: str = "") -> None:
        """The transport is gone."""
        self._out.clear()
        self.close(reason or "the peer closed the connection")

    def close(self, reason: str) -> None:
        """End the connection; the owner gets one `Closed`. What was encoded in order may still be sent."""
        if not self.closed:
            self.closed = True
            self._open.clear()
            self._slots.clear()
            self._asked_size = self._parked_size = 0
            self._frames = FrameReader(0)
            self._events.append(Closed(reason))

    def _fail(self, reason: str) -> None:
        self.counters.protocol_errors += 1
        self.close(reason)

    def _take(self, frame: bytes) -> Received | None:
        """A frame as a request for the owner, None where it was answered, or refused, here."""
        try:
            header, position = decode_request_header(frame)
            key, version = header.api_key, header.api_version
            low, high = self._ranges.get(key, (0, -1))
            if not low <= version <= high:
                if key != API_VERSIONS:
                    what = f"version {version} of api key {key}" if high >= 0 else f"api key {key}, which is not served here"
                    self._fail(f"the peer asked for {what}")
                    return None
                self._reply(header._replace(api_version=0), answer_unknown_api_versions(self._ranges))
                return None
            if not self.principal and key not in _BEFORE_AUTHENTICATION:
                self._fail(f"the peer asked for api key {key} before it was authenticated")
                return None
            message = decode_request_body(frame, position, header)
        except DecodeError as error:
            self._fail(f"the peer sent a malformed request: {error}")
            return None
        if key == API_VERSIONS:
            self._reply(header, answer_api_versions(message, version, self._ranges, self._features()))
        elif key == SASL_HANDSHAKE:
            self._handshake(header, message)
        elif key == SASL_AUTHENTICATE:
            self._authenticate(header, message)
        else:
            self.counters.requests += 1
            return Received(self._add_slot(header, len(frame)), header, message, len(frame))
        return None

    def _add_slot(self, header: RequestHeader, size: int = 0) -> int:
        request_id = self._next_id
        self._next_id += 1
        self._slots.append(request_id)
        self._open[request_id] = _Slot(header, size)
        self._asked_size += size
        return request_id

    def _reply(self, header: RequestHeader, message: Any) -> None:
        """Answer a request of the handshake, behind the answers that are still to come."""
        self._answer(self._add_slot(header), encode_response(header.api_key, header.api_version, header.correlation_id, message))

    def _answer(self, request_id: int, data: bytes) -> None:
        slot = self._open[request_id]
        if slot.answer is None:
            slot.answer = data
            self._asked_size -= slot.size
            self._parked_size += len(data)
            self.counters.responses += 1
        while self._slots and (answer := self._open[self._slots[0]].answer) is not None:
            self._parked_size -= len(answer)
            self._out += answer
            del self._open[self._slots.popleft()]

    def _refuse(self, header: RequestHeader, message: Any) -> None:
        """Answer a SASL request that comes at the wrong time: a peer that is authenticated may stay, any other is closed."""
        self._reply(header, message)
        if not self.principal:
            self._fail("the peer's SASL requests are out of order")

    def _handshake(self, header: RequestHeader, message: Any) -> None:
        names = tuple(self._mechanisms)
        if self.principal or self._sasl is not None:
            return self._refuse(header, SaslHandshakeResponse(error_code=ILLEGAL_SASL_STATE, mechanisms=names))
        make = self._mechanisms.get(message.mechanism)
        if make is None:
            self._reply(header, SaslHandshakeResponse(error_code=UNSUPPORTED_SASL_MECHANISM, mechanisms=names))
            self.counters.authentication_failures += 1
            return self.close("the peer asked for a SASL mechanism that is not enabled")
        self._sasl = make()
        self._reply(header, SaslHandshakeResponse(mechanisms=names))

    def _authenticate(self, header: RequestHeader, message: Any) -> None:
        if self.principal or self._sasl is None:
            text = (
                "SaslAuthenticate request received after successful authentication" if self.principal else "SaslHandshake must come first"
            )
            return self._refuse(header, SaslAuthenticateResponse(error_code=ILLEGAL_SASL_STATE, error_message=text))
        self._sasl_rounds += 1
        try:
            if self._sasl_rounds > self.limits.sasl_rounds_max:
                raise SaslError(f"more than {self.limits.sasl_rounds_max} rounds")
            token = self._sasl.next(message.auth_bytes)
        except SaslError as error:
            text = f"Authentication failed: {error}"
            self._reply(header, SaslAuthenticateResponse(error_code=SASL_AUTHENTICATION_FAILED, error_message=text))
            self.counters.authentication_failures += 1
            return self.close(f"authentication failed: {error}")
        self._reply(header, SaslAuthenticateResponse(auth_bytes=token))
        if self._sasl.principal:
            self.principal = self._sasl.principal
            self._sasl = None
            self._frames.limit = self.limits.frame_limit
            self.counters.authenticated += 1
            self._events.append(Authenticated(self.principal))


_BEFORE_AUTHENTICATION: Final = (API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE)
