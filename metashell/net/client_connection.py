"""The core of a connection that we opened: bytes in and out, events for its owner.

The handshake is ApiVersions (newest version first, again with the peer's own when it does not know that), then SASL if there is any
(handshake version 1, SaslAuthenticate frames, and ApiVersions once more where the caller knows whom it means: before, a broker does not
compare that), then the connection is ready. Answers come in the order of the requests, so the
oldest open request is the one that an answer belongs to; any other correlation id ends the connection.

Source: KIP-35, KIP-43, KIP-152, KIP-1242; org.apache.kafka.clients.NetworkClient, SaslClientAuthenticator.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from metashell import __version__
from metashell.codec.codes import API_VERSIONS, DESCRIBE_LOG_DIRS, METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE
from metashell.codec.compiler import TooManyValuesError
from metashell.codec.error_codes import REBOOTSTRAP_REQUIRED, UNSUPPORTED_VERSION, error_text
from metashell.codec.messages import ApiVersionsRequest, SaslAuthenticateRequest, SaslHandshakeRequest
from metashell.common.errors import DecodeError
from metashell.common.terminal import terminal_line
from metashell.net.api_versions import (
    ALL_RANGES,
    IDENTITY_FROM,
    ApiRanges,
    CommonVersions,
    NodeFeatures,
    NodeIdentity,
    features_of,
    ranges_of,
    supported_ranges,
)
from metashell.net.frames import (
    FRAME_LIMIT,
    HANDSHAKE_LIMIT,
    FrameReader,
    api_key_of,
    decode_response,
    encode_request,
    response_correlation_id,
)
from metashell.net.sasl import SaslError

if TYPE_CHECKING:
    from metashell.net.sasl import SaslClient

IN_FLIGHT_MAX: Final = 100
SASL_ROUNDS_MAX: Final = 8
SOFTWARE_NAME: Final = "metashell"
ANSWER_LIMIT: Final = 32 * 1024 * 1024
"""Bytes of an answer, unless its API is one of `LARGE_ANSWERS`; batches of records come in pieces of 8 MiB."""
LARGE_ANSWERS: Final = (METADATA, DESCRIBE_LOG_DIRS)
"""APIs that answer about all partitions of a cluster, or of a broker, at once."""
VALUES_MAX: Final = 4_000_000
"""The values of an answer, and of all answers that one call waits for: a Metadata answer about 400 000 partitions, 250 MB."""
TEXT_MAX: Final = 300
"""Characters of a peer's text that are shown."""

_HANDSHAKE_KEYS: Final = (API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE)


@dataclass(frozen=True, slots=True)
class Ready:
    """The handshake is done; requests may be sent. `versions` is what both sides know best, `peer_ranges` all that the peer has."""

    versions: Mapping[int, int]
    peer_ranges: dict[int, tuple[int, int]]
    features: NodeFeatures


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to the request with that correlation id."""

    correlation_id: int
    message: Any


@dataclass(frozen=True, slots=True)
class Closed:
    """The connection is over: why, in one line; whether credentials were refused, or the peer is not whom we mean. The last event."""

    reason: str
    authentication_failed: bool = False
    is_another_node: bool = False


class UnsupportedApiError(Exception):
    """The peer and we have no common version of an API."""


class State(Enum):
    """The states of a client's connection, in order."""

    NEW = "new"
    VERSIONS = "versions"
    SASL_HANDSHAKE = "sasl handshake"
    SASL = "sasl"
    READY = "ready"
    CLOSED = "closed"


class ClientConnection:
    """See the module. `ranges` are the versions that we are willing to talk; `in_flight_max` bounds requests without answer.

    `frame_limit` bounds a response's bytes once the connection is ready; before that it is 512 KiB, and later `ANSWER_LIMIT` for most APIs.
    `values` bounds the values of responses: its one number goes down by those of each, and who shares it with other connections bounds
    them together. Without it each response may have `VALUES_MAX`. `identity` is whom we mean, None where that is not known: a broker of
    4.4 and later that is another one ends the connection.
    """

    def __init__(
        self,
        *,
        client_id: str = "metashell",
        sasl: SaslClient | None = None,
        ranges: ApiRanges | None = None,
        in_flight_max: int = IN_FLIGHT_MAX,
        frame_limit: int = FRAME_LIMIT,
        identity: NodeIdentity | None = None,
        values: list[int] | None = None,
    ) -> None:
        self.state = State.NEW
        self.versions: Mapping[int, int] = {}
        self.peer_ranges: dict[int, tuple[int, int]] = {}
        self.features = NodeFeatures()
        self.session_lifetime_ms = 0
        """How long the server lets the session live, 0 for ever."""
        self._client_id = client_id
        self._sasl = sasl
        self._sasl_rounds = 0
        self._ranges: ApiRanges = ALL_RANGES if ranges is None else {**ranges, **supported_ranges(_HANDSHAKE_KEYS)}
        self._in_flight_max = in_flight_max
        self._frame_limit = frame_limit
        self._identity = identity
        self._values = values
        self._frames = FrameReader(HANDSHAKE_LIMIT)
        self._open: deque[tuple[int, int, int]] = deque()  # correlation id, api key, version
        self._next_correlation_id = 0
        self._events: deque[Ready | Answer | Closed] = deque()
        self._out = bytearray()

    def limit_frames(self, size: int) -> None:
        """From now on a response has at most `size` bytes: for a caller that asks one thing at a time and knows what it may get."""
        assert self.state is not State.NEW
        self._frame_limit = self._frames.limit = size

    def start(self) -> None:
        """Begin the handshake."""
        assert self.state is State.NEW
        self.state = State.VERSIONS
        self._ask_versions(self._ranges[API_VERSIONS][1])

    def version_of(self, api_key: int) -> int:
        """The version of an API that this connection uses. Errors: UnsupportedApiError."""
        if api_key not in self.versions:
            ours, theirs = self._ranges.get(api_key), self.peer_ranges.get(api_key)
            has = "does not have it" if theirs is None else f"has versions {theirs[0]} to {theirs[1]}"
            known = "none" if ours is None else f"{ours[0]} to {ours[1]}"
            raise UnsupportedApiError(f"api key {api_key}: the peer {has}, known here: {known}")
        return self.versions[api_key]

    @property
    def in_flight(self) -> int:
        """Requests that wait for their answer."""
        return len(self._open)

    @property
    def can_send(self) -> bool:
        """Whether `request` may be called now."""
        return self.state is State.READY and len(self._open) < self._in_flight_max

    def request(self, message: Any, version: int | None = None) -> int:
        """Send a request in the version that both know best, or in the one that is given; returns its correlation id.

        Errors: UnsupportedApiError; EncodeError for what does not fit that version (nothing is sent then).
        """
        assert self.can_send, f"{self.state}, {len(self._open)} in flight"
        return self._send(message, self.version_of(api_key_of(message)) if version is None else version)

    def receive_data(self, data: bytes) -> None:
        """Take bytes that the peer sent; then call `next_event` until it gives None."""
        if self.state is State.CLOSED:
            return
        self._frames.feed(data)
        while (frame := self._next_frame()) is not None:
            self._handle(frame)
        if self._frames.fault:
            self.close(f"the peer sent {self._frames.fault}{_hint(self.state)}")

    def connection_lost(self, reason: str = "") -> None:
        """The transport is gone."""
        waited = {State.VERSIONS: " during the handshake", State.SASL_HANDSHAKE: " during the SASL handshake", State.SASL: " during SASL"}
        self.close(reason or f"the peer closed the connection{waited.get(self.state, '')}{_hint(self.state)}")

    def close(self, reason: str, *, authentication_failed: bool = False, is_another_node: bool = False) -> None:
        """End the connection; the owner gets one `Closed`."""
        if self.state is not State.CLOSED:
            self.state = State.CLOSED
            self._out.clear()
            self._open.clear()
            self._events.append(Closed(reason, authentication_failed, is_another_node))

    def next_event(self) -> Ready | Answer | Closed | None:
        """Return the next event, None when there is none."""
        return self._events.popleft() if self._events else None

    def take_output(self) -> bytes:
        """The bytes to send to the peer; they are given once."""
        out = bytes(self._out)
        self._out.clear()
        return out

    def _next_frame(self) -> bytes | None:
        if self.state is State.CLOSED:
            return None
        if self.state is State.READY and self._open and self._open[0][1] not in LARGE_ANSWERS:
            self._frames.limit = min(self._frame_limit, ANSWER_LIMIT)
        found = self._frames.next_frame()
        if self.state is State.READY:
            self._frames.limit = self._frame_limit
        return found

    def _send(self, message: Any, version: int) -> int:
        correlation_id = self._next_correlation_id
        self._out += encode_request(message, version, correlation_id, self._client_id)
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        self._open.append((correlation_id, api_key_of(message), version))
        return correlation_id

    def _handle(self, frame: bytes) -> None:
        if not self._open:
            return self.close("the peer sent an answer to no request")
        correlation_id, api_key, version = self._open.popleft()
        try:
            found = response_correlation_id(frame)
            if found != correlation_id:
                return self.close(f"the peer answered request {found}, the oldest open one is {correlation_id}{_hint(self.state)}")
            if self.state is State.VERSIONS:
                return self._handle_versions(frame, version)
            _, message = decode_response(frame, api_key, version, [VALUES_MAX] if self._values is None else self._values)
        except TooManyValuesError:
            return self.close(f"an answer to api key {api_key} version {version} holds more values than are taken ({VALUES_MAX})")
        except DecodeError as error:
            return self.close(f"an answer to api key {api_key} version {version} is malformed: {_printable(str(error))}")
        if self.state is State.READY:
            self._events.append(Answer(correlation_id, message))
        else:
            _STEPS[self.state](self, message)

    def _ask_versions(self, version: int) -> None:
        request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=__version__)
        if self._identity is not None and version >= IDENTITY_FROM:
            request.cluster_id, request.node_id = self._identity
        self._send(request, version)

    def _handle_versions(self, frame: bytes, version: int) -> None:
        if version > 0 and len(frame) >= 6 and int.from_bytes(frame[4:6], "big", signed=True) == UNSUPPORTED_VERSION:
            # A server that does not know our version answers in version 0, with its own range where it is recent enough.
            _, refused = decode_response(frame, API_VERSIONS, 0)
            low, high = ranges_of(refused).get(API_VERSIONS, (0, 0))
            second = min(high, version - 1)
            if second < max(low, self._ranges[API_VERSIONS][0]):
                return self.close(f"no common version of ApiVersions: the peer has {low} to {high}")
            return self._ask_versions(second)
        _, message = decode_response(frame, API_VERSIONS, version)
        if message.error_code == REBOOTSTRAP_REQUIRED and self._identity is not None:
            cluster_id, node_id = self._identity
            return self.close(f"it is not node {node_id} of cluster {cluster_id}, but another one", is_another_node=True)
        if message.error_code:
            return self.close(f"ApiVersions version {version} was answered with {error_text(message.error_code)}")
        self.peer_ranges = ranges_of(message)
        self.versions = CommonVersions(self._ranges, self.peer_ranges)
        self.features = features_of(message)
        if self._sasl is None or self._sasl_rounds:
            self._become_ready()
        else:
            self.state = State.SASL_HANDSHAKE
            self._send(SaslHandshakeRequest(mechanism=self._sasl.mechanism), 1)

    def _handle_sasl_handshake(self, message: Any) -> None:
        assert self._sasl is not None
        if message.error_code:
            offered = _printable(", ".join(message.mechanisms[:8])) or "no SASL"
            self.close(f"the peer does not take {self._sasl.mechanism}, it offers {offered}", authentication_failed=True)
            return
        self.state = State.SASL
        self._authenticate(self._sasl.first)

    def _handle_sasl(self, message: Any) -> None:
        assert self._sasl is not None
        if message.error_code:
            self.close(
                f"authentication failed: {_printable(message.error_message or '') or error_text(message.error_code)}",
                authentication_failed=True,
            )
            return
        self.session_lifetime_ms = max(0, message.session_lifetime_ms)
        sasl = self._sasl
        self._authenticate(lambda: sasl.next(message.auth_bytes))

    def _authenticate(self, step: Callable[[], bytes | None]) -> None:
        self._sasl_rounds += 1
        try:
            token = step()
        except SaslError as error:
            self.close(f"authentication failed: {_printable(str(error))}", authentication_failed=True)
            return
        if token is None and self._identity is not None and self.versions.get(API_VERSIONS, 0) >= IDENTITY_FROM:
            self.state = State.VERSIONS
            self._ask_versions(self.versions[API_VERSIONS])
        elif token is None:
            self._become_ready()
        elif self._sasl_rounds > SASL_ROUNDS_MAX:
            self.close(f"authentication failed: more than {SASL_ROUNDS_MAX} rounds", authentication_failed=True)
        else:
            self._send(SaslAuthenticateRequest(auth_bytes=token), min(self.versions.get(SASL_AUTHENTICATE, 0), 2))

    def _become_ready(self) -> None:
        self.state = State.READY
        self._frames.limit = self._frame_limit
        self._events.append(Ready(self.versions, self.peer_ranges, self.features))


_STEPS: Final[dict[State, Callable[[ClientConnection, Any], None]]] = {
    State.SASL_HANDSHAKE: ClientConnection._handle_sasl_handshake,
    State.SASL: ClientConnection._handle_sasl,
}


def _printable(text: str) -> str:
    """Return a peer's text, safe to print and shortened."""
    return terminal_line(text if len(text) <= TEXT_MAX else text[:TEXT_MAX] + "...")


def _hint(state: State) -> str:
    """Return the likely reason why a connection ended during the first exchange."""
    return " (is it a Kafka listener, and is security.protocol right?)" if state is State.VERSIONS else ""
