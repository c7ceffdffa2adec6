"""The core of a connection that we accepted: bytes in and out, events for its owner.

Before authentication only ApiVersions, SaslHandshake and SaslAuthenticate are taken, in that sense; anything else, and anything that
is malformed, closes the connection. Answers leave in the order of the requests: one that is not there yet holds back the later ones
of this connection. While too much waits, `wants_read` is false and frames stay undecoded; the owner stops reading.

A session ends: connections.max.reauth.ms or the expiry of a delegation token end what a login is good for. The peer logs in again on the
same connection, as the same principal with the same mechanism; the first request after the end closes a connection that did not.

Source: org.apache.kafka.common.security.authenticator.SaslServerAuthenticator, kafka.network.SocketServer; KIP-152, KIP-368.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from metashell.codec.codes import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from metashell.codec.error_codes import ILLEGAL_SASL_STATE, SASL_AUTHENTICATION_FAILED, UNSUPPORTED_SASL_MECHANISM
from metashell.codec.messages import ApiVersionsResponse, SaslAuthenticateResponse, SaslHandshakeResponse
from metashell.common.errors import DecodeError
from metashell.net.api_versions import answer_api_versions, answer_unknown_api_versions
from metashell.net.frames import (
    FrameReader,
    RequestHeader,
    decode_request_body,
    decode_request_header,
    encode_response,
    request_type,
    response_frame,
)
from metashell.net.frames import frame as frame_of
from metashell.net.listener_options import UNBOUNDED, VALUE_SIZE, Authenticated, Closed, Decoded, Event, Received, Undecoded
from metashell.net.sasl import RefusedError, SaslError

if TYPE_CHECKING:
    from metashell.net.listener_options import ServerTerms
    from metashell.net.sasl import SaslServer

ANONYMOUS: Final = "User:ANONYMOUS"
RELOGIN_INTERVAL_S: Final = 1.0
HANDSHAKE_SIZE: Final = 1024
HANDSHAKE_VALUES: Final = 100
"""What a request of the handshake may hold if it is larger than that."""


class _Slot:
    """A request that has come; its answer as bytes once there is one."""

    __slots__ = ("answer", "header", "size")

    def __init__(self, header: RequestHeader, size: int) -> None:
        self.header = header
        self.size = size
        self.answer: bytes | None = None


class ServerConnection:
    """See the module. Without SASL, the peer is `principal` from the start."""

    __slots__ = (
        "_aside",
        "_asked_size",
        "_bare_tokens",
        "_events",
        "_first_id",
        "_frames",
        "_has_asked",
        "_next_id",
        "_open",
        "_out",
        "_out_size",
        "_parked_size",
        "_relogin_at",
        "_renewed",
        "_sasl",
        "_sasl_rounds",
        "_session_end",
        "asked_key",
        "client_software",
        "closed",
        "fails_login",
        "frames_taken",
        "is_faulty",
        "is_token_authenticated",
        "principal",
        "terms",
    )

    def __init__(self, terms: ServerTerms, principal: str = ANONYMOUS) -> None:
        limits = terms.limits
        self.terms = terms
        self.principal = principal if terms.mechanisms is None else ""
        self.is_token_authenticated = False
        self.closed = False
        self.frames_taken = 0
        """Frames that were read to their end."""
        self.client_software = ""
        """What a client says that it is, as long as it has asked for nothing but versions and a login."""
        self.is_faulty = self.fails_login = False
        """Whether it was closed for what the peer did; and whether that was its login."""
        self.asked_key = -1
        """The API for which it was closed, because that is not served."""
        self._sasl: SaslServer | None = None
        self._sasl_rounds = 0
        self._bare_tokens = False
        """Whether tokens come without headers, as after version 0 of SaslHandshake."""
        self._renewed = ""
        """The mechanism of the last login."""
        self._session_end: float | None = None
        self._relogin_at = 0.0
        self._frames = FrameReader(limits.frame_limit if self.principal else limits.unauthenticated_limit, terms.judge)
        # Requests have consecutive numbers, and are open from the first to the next.
        self._open: dict[int, _Slot] = {}
        self._first_id = 0
        self._next_id = 0
        self._has_asked = False
        self._aside = False
        self._asked_size = 0
        self._parked_size = 0
        self._out: list[bytes] = []
        self._out_size = 0
        self._events: list[Event] = []

    @property
    def authenticated(self) -> bool:
        """Whether it is known who the peer is (on a listener without SASL, from the start)."""
        return bool(self.principal)

    @property
    def in_flight(self) -> int:
        """Requests whose answer has not left for `take_output`."""
        return len(self._open)

    @property
    def output_size(self) -> int:
        """Bytes of answers that wait: those that may leave, and those behind an answer that is not there yet."""
        return self._out_size + self._parked_size

    @property
    def is_more(self) -> bool:
        """Whether `next_event` has one, without more bytes."""
        return bool(self._events) or (self.wants_read and self._frames.is_ready)

    @property
    def unread_size(self) -> int:
        """Bytes that came and were not yet taken as a frame."""
        return self._frames.buffered_size

    @property
    def held_size(self) -> int:
        """Bytes that are held for this connection: of frames that are not complete, or not taken, or not answered, and of answers."""
        return self._frames.buffered_size + self._asked_size + self.output_size

    @property
    def wants_read(self) -> bool:
        """False while the owner must not read more from the socket: too much waits, or the connection is over."""
        limits = self.terms.limits
        output_max = limits.output_max if self.principal else min(limits.output_max, limits.unauthenticated_limit)
        in_bounds = len(self._open) < limits.requests_max and self._asked_size < limits.requests_size_max and not self._aside
        return not self.closed and in_bounds and self._out_size + self._parked_size < output_max

    @property
    def waits_for_end(self) -> bool:
        """Whether the owner may read on although `wants_read` is false, to notice the peer's end: nothing has come since."""
        return self.terms.limits.notices_end and not self.closed and not self.output_size and not self._frames.buffered_size

    def receive_data(self, data: bytes | memoryview) -> None:
        """Take bytes that the peer sent; then call `next_event` until it gives None."""
        if not self.closed:
            self.terms.counters.bytes_in += len(data)
            self._frames.feed(data)

    def next_event(self, handshakes_max: int = UNBOUNDED) -> Event | None:
        """Return the next event, None when more bytes, or answers, must come first. Call it after `respond` and `decoded` too.

        None comes also after `handshakes_max` requests of the handshake, which are answered here: `is_more` says that there are others.
        """
        while not self._events and self.wants_read and handshakes_max > 0:
            handshakes_max -= 1
            frame = self._frames.next_frame()
            if frame is None:
                if self._frames.fault:
                    self._fail(f"the peer sent {self._frames.fault}")
                break
            self.frames_taken += 1
            received = self._take(frame)
            if received is not None:
                return received
        return self._events.pop(0) if self._events else None

    def decoded(self, made: Decoded) -> None:
        """Take the message of a request that was set aside."""
        self._aside = False
        if self.closed:
            return
        request = made.request
        if made.fault:
            return self._fail(f"the peer sent a malformed request: {made.fault}")
        if made.refusal is not None:
            self.terms.counters.requests += 1
            self.terms.counters.refused_aside += 1
            return self.respond_encoded(request.request_id, made.refusal)
        slot = self._open[request.request_id]
        memory = made.values * VALUE_SIZE
        slot.size += memory
        self._asked_size += memory
        self._events.append(self._receive(request.request_id, request.header, made.message, len(request.frame)))

    def respond(self, request_id: int, message: Any) -> None:
        """Answer a request; what was answered already or belongs to a closed connection is ignored.

        Errors: EncodeError for a response that does not fit the request's version; the request stays open then.
        """
        slot = self._open.get(request_id)
        if slot is not None and not self.closed:
            header = slot.header
            self._answer(request_id, encode_response(header.api_key, header.api_version, header.correlation_id, message))

    def respond_encoded(self, request_id: int, body: bytes | bytearray) -> None:
        """As `respond`, with a response that is encoded in the request's version."""
        slot = self._open.get(request_id)
        if slot is not None and not self.closed:
            header = slot.header
            self._answer(request_id, response_frame(header.api_key, header.api_version, header.correlation_id, body))

    def drop(self, request_id: int) -> None:
        """A request that has no answer at all (Produce with acks=0): it holds back nothing."""
        if request_id in self._open and not self.closed:
            self._answer(request_id, b"")

    def take_output(self) -> bytes:
        """The bytes to send to the peer; they are given once."""
        out = self._out[0] if len(self._out) == 1 else b"".join(self._out)
        self._drop_output()
        self.terms.counters.bytes_out += len(out)
        return out

    def _drop_output(self) -> None:
        self._out.clear()
        self._out_size = 0

    def idle_expired(self) -> None:
        """Nothing came for as long as the owner allows."""
        if not self.closed:
            self.terms.counters.idle_closed += 1
            self.close("idle for too long")

    def crowded_out(self, reason: str) -> None:
        """All connections together hold too much, and this one is of whoever holds the most."""
        if not self.closed:
            self.terms.counters.crowded_out += 1
            self.close(reason)

    def handshake_expired(self) -> None:
        """The time for authentication is over; nothing happens to a peer that has proved who it is."""
        if not self.closed and not self.authenticated:
            self.terms.counters.handshake_timeouts += 1
            self.close("not authenticated in time")

    def connection_lost(self, reason: str = "") -> None:
        """The transport is gone."""
        self._drop_output()
        self.close(reason or "the peer closed the connection")

    def close(self, reason: str, *, authentication_failed: bool = False) -> None:
        """End the connection; the owner gets one `Closed`. What was encoded in order may still be sent."""
        if not self.closed:
            self.closed = True
            self._open.clear()
            self._asked_size = self._parked_size = 0
            self._frames = FrameReader(0)
            self._events.append(Closed(reason, authentication_failed))

    def _fail(self, reason: str) -> None:
        self.is_faulty = True
        self.terms.counters.protocol_errors += 1
        self.close(reason)

    def _take(self, frame: bytes) -> Received | Undecoded | None:
        """A frame as a request for the owner, None where it was answered, or refused, here."""
        if self._bare_tokens:
            self._take_token(frame)
            return None
        try:
            header, position = decode_request_header(frame)
            key, version = header.api_key, header.api_version
            low, high = self.terms.ranges.get(key, (0, -1))
            if not low <= version <= high:
                if key != API_VERSIONS:
                    self.asked_key = key
                    what = f"version {version} of api key {key}" if high >= 0 else f"api key {key}, which is not served here"
                    self._fail(f"the peer asked for {what}")
                else:
                    self._reply(header._replace(api_version=0), answer_unknown_api_versions(self.terms.ranges))
                return None
            if key in _BEFORE_AUTHENTICATION:
                self._take_handshake(header, _decode_small(frame, position, header))
                return None
            if not self._may_ask(key):
                return None
            if len(frame) > self.terms.limits.inline_size:
                return self._set_aside(header, frame, position)
            message = decode_request_body(frame, position, header)
        except DecodeError as error:
            self._fail(f"the peer sent a malformed request: {error}")
            return None
        return self._receive(self._add_slot(header, len(frame)), header, message, len(frame))

    def _may_ask(self, key: int) -> bool:
        """Whether requests are taken that are no part of a handshake; the connection is closed where not."""
        if not self.principal or self._sasl is not None:
            self._fail(f"the peer asked for api key {key} before it was authenticated")
            return False
        if self._session_end is not None and self.terms.clock() >= self._session_end:
            self.terms.counters.sessions_expired += 1
            self.close("the session is over, and the peer did not authenticate again")
            return False
        return True

    def _set_aside(self, header: RequestHeader, frame: bytes, position: int) -> Undecoded:
        self.terms.counters.decoded_aside += 1
        self._aside = True
        # Compiled here: what makes readers is not for several threads.
        reader = request_type(header.api_key).bounded_reader(header.api_version)
        limits = self.terms.limits
        values_max = limits.values_max_of.get(header.api_key, limits.values_max)
        return Undecoded(self._add_slot(header, len(frame)), header, frame, position, values_max, reader)

    def _receive(self, request_id: int, header: RequestHeader, message: Any, size: int) -> Received:
        self.terms.counters.requests += 1
        return Received(request_id, header, message, size)

    def _add_slot(self, header: RequestHeader, size: int = 0) -> int:
        if header.api_key not in _BEFORE_AUTHENTICATION:
            self._has_asked = True
            self.client_software = ""
        request_id = self._next_id
        self._next_id += 1
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
            self.terms.counters.responses += 1
        while (first := self._open.get(self._first_id)) is not None and first.answer is not None:
            self._parked_size -= len(first.answer)
            self._out_size += len(first.answer)
            self._out.append(first.answer)
            del self._open[self._first_id]
            self._first_id += 1

    # ---- the handshake

    def _take_handshake(self, header: RequestHeader, message: Any) -> None:
        if header.api_key == API_VERSIONS and self._sasl is not None:
            self._reply(header, ApiVersionsResponse(error_code=ILLEGAL_SASL_STATE))
            self._fail("the peer asked for versions between the rounds of its login")
        elif header.api_key == API_VERSIONS:
            # As with Kafka, a peer that is still to log in is not asked whom it means.
            identity = self.terms.identity if self.principal else None
            terms = self.terms
            if not self._has_asked:
                self.client_software = message.client_software_name
            features = terms.features()
            self._reply(header, answer_api_versions(message, header.api_version, terms.ranges, features, identity, terms.entries))
        elif header.api_key == SASL_HANDSHAKE:
            self._handshake(header, message)
        else:
            self._authenticate(header, message)

    def _refuse(self, header: RequestHeader, message: Any) -> None:
        """Answer a SASL request that comes at the wrong time: a peer that is authenticated may stay, any other is closed."""
        self._reply(header, message)
        if not self.principal or self._sasl is not None:
            self._fail("the peer's SASL requests are out of order")

    def _handshake(self, header: RequestHeader, message: Any) -> None:
        makers = self.terms.mechanisms or {}
        names = tuple(makers)
        if self._sasl is not None or (self.principal and not self._may_login_again()):
            return self._refuse(header, SaslHandshakeResponse(error_code=ILLEGAL_SASL_STATE))
        make = makers.get(message.mechanism)
        if make is None and self.principal:
            return self._refused("the peer asked for another SASL mechanism than before")
        if make is None:
            self._reply(header, SaslHandshakeResponse(error_code=UNSUPPORTED_SASL_MECHANISM, mechanisms=names))
            return self._refused("the peer asked for a SASL mechanism that is not enabled")
        self._sasl = make()
        self._sasl_rounds = 0
        self._bare_tokens = header.api_version == 0
        self._reply(header, SaslHandshakeResponse(mechanisms=names))

    def _may_login_again(self) -> bool:
        """Only where sessions end, and once a second, as Kafka says."""
        now = self.terms.clock()
        if self._session_end is None or now < self._relogin_at:
            return False
        self._relogin_at = now + RELOGIN_INTERVAL_S
        return True

    def _authenticate(self, header: RequestHeader, message: Any) -> None:
        sasl = self._sasl
        if sasl is None and not self.principal:
            return self._fail("the peer's SASL requests are out of order")
        if sasl is None:
            text = "SaslAuthenticate request received after successful authentication"
            return self._refuse(header, SaslAuthenticateResponse(error_code=ILLEGAL_SASL_STATE, error_message=text))
        if self._renewed and sasl.mechanism != self._renewed:
            return self._refused(f"the peer authenticates again by {sasl.mechanism} after {self._renewed}")
        try:
            token = self._answer_token(sasl, message.auth_bytes)
        except SaslError as error:
            text = _told(error, sasl.mechanism, "re-authentication" if self.principal else "authentication")
            self._reply(header, SaslAuthenticateResponse(error_code=SASL_AUTHENTICATION_FAILED, error_message=text))
            return self._refused_token(error)
        lifetime_ms = self._begin_session(sasl) if sasl.principal else 0
        self._reply(header, SaslAuthenticateResponse(auth_bytes=token, session_lifetime_ms=lifetime_ms))

    def _take_token(self, token: bytes) -> None:
        assert self._sasl is not None
        sasl = self._sasl
        try:
            answer = self._answer_token(sasl, token)
        except SaslError as error:
            return self._refused_token(error)
        if sasl.principal:
            self._bare_tokens = False
            self._begin_session(sasl)
        self._out.append(frame_of(answer))
        self._out_size += 4 + len(answer)

    def _answer_token(self, sasl: SaslServer, token: bytes) -> bytes:
        """Return the mechanism's answer. Errors: SaslError."""
        self._sasl_rounds += 1
        if self._sasl_rounds > self.terms.limits.sasl_rounds_max:
            raise SaslError(f"more than {self.terms.limits.sasl_rounds_max} rounds")
        answer = sasl.next(token)
        if sasl.principal and self.principal:
            _check_same(self.principal, sasl.principal)
        return answer

    def _refused_token(self, error: SaslError) -> None:
        self._refused(f"authentication failed: {str(error).removeprefix('Authentication failed: ')}")

    def _refused(self, reason: str) -> None:
        self.is_faulty = self.fails_login = True
        self.terms.counters.authentication_failures += 1
        self.close(reason, authentication_failed=True)

    def _begin_session(self, sasl: SaslServer) -> int:
        """The peer has proved who it is: how many ms that is good for, 0 for ever."""
        terms = self.terms
        lifetimes = [each for each in (terms.session_ms.get(sasl.mechanism), sasl.lifetime_ms) if each is not None]
        lifetime_ms = max(0, min(lifetimes)) if lifetimes else 0
        self._session_end = terms.clock() + lifetime_ms / 1000 if lifetimes else None
        if self.principal:
            terms.counters.reauthenticated += 1
        else:
            terms.counters.authenticated += 1
        self.principal, self.is_token_authenticated = sasl.principal, sasl.is_token_authenticated
        self._renewed = sasl.mechanism
        self._sasl = None
        self._frames.limit = terms.limits.frame_limit
        self._events.append(Authenticated(self.principal))
        return lifetime_ms


def _told(error: SaslError, mechanism: str, what: str) -> str:
    """Return the text that the peer gets. It never says which part of the credentials is wrong, or whether the user exists."""
    if isinstance(error, RefusedError):
        return str(error)
    return f"Authentication failed during {what} due to invalid credentials with SASL mechanism {mechanism}"


def _check_same(old: str, new: str) -> None:
    """Errors: RefusedError for another principal than before."""
    if old != new:
        old, new = (".".join(each.split(":", 1)) for each in (old, new))
        raise RefusedError(f"Cannot change principals during re-authentication from {old}: {new}")


def _decode_small(frame: bytes, position: int, header: RequestHeader) -> Any:
    """A request of the handshake; they have few fields, so who sends many wants us to be busy. Errors: DecodeError."""
    if len(frame) < HANDSHAKE_SIZE:
        return decode_request_body(frame, position, header)
    return request_type(header.api_key).bounded_reader(header.api_version)(frame, position, len(frame), [HANDSHAKE_VALUES])[0]


_BEFORE_AUTHENTICATION: Final = frozenset((API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE))
