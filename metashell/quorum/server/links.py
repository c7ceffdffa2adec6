"""Connections with peers: `Links` sends the core's requests, and `Inbound` takes theirs to the core and brings the answers back.

There is one outgoing connection a destination, opened when there is something to say, with the versions that its peer has. One whose SASL
session is nearly over is replaced before the next request. A request that takes too long, or is followed by another one, ends its
connection, because answers come in order; the next one opens a new connection, after a pause that grows while that fails.

An answer goes out on the connection that the request came on; a parked one of a connection that ended is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, assert_never

from metashell.codec.codes import API_VERSIONS
from metashell.codec.error_codes import BROKER_NOT_AVAILABLE, NETWORK_EXCEPTION, UNSUPPORTED_VERSION
from metashell.common.errors import EncodeError
from metashell.net.accepted_connection import ServerRequest
from metashell.net.addresses import Address
from metashell.net.client_connection import ClientConnection
from metashell.net.frames import response_type
from metashell.net.listener import Listener, serve
from metashell.net.listener_options import Fault, ListenerOptions, Refuse
from metashell.net.transport import Connection, ConnectionFailedError, connect
from metashell.quorum.raft.messages import (
    BATCH_SIZE_MAX,
    AddRaftVoterRequest,
    ApiVersionsRequest,
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    Endpoint,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    RemoveRaftVoterRequest,
    Request,
    Response,
    UpdateRaftVoterRequest,
    VoteRequest,
)
from metashell.quorum.raft.ready import Send
from metashell.quorum.raft.wire import OURS, UnsupportedVersionError, decode_request, encode_response, hide_leader, send_raft_request

if TYPE_CHECKING:
    import ssl

    from metashell.net.fair_queue import Asker
    from metashell.net.sasl import SaslClient
    from metashell.quorum.controller import Request as ControllerRequest
    from metashell.quorum.raft.ready import CorrelationId


RECONNECT_MIN_S: Final = 0.05
RECONNECT_MAX_S: Final = 0.5
ANSWER_SIZE_MAX: Final = 64 * 1024
"""Bytes of an answer beside its records."""
LINKS_MAX: Final = 64
"""Destinations before those without a request under way are given up: a request to add a voter may name any destination."""


class Answers(Protocol):
    """The receiver of answers."""

    def response(self, destination: int, correlation_id: CorrelationId, response: Response) -> None: ...

    def failed(self, destination: int, correlation_id: CorrelationId, error_code: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOptions:
    """The options of outbound connections: `tls` and `sasl` (made for each connection) are those of the controller listener."""

    client_id: str
    request_timeout_ms: int
    tls: ssl.SSLContext | None = None
    sasl: Callable[[], SaslClient] | None = None


class Links:
    """All outbound connections of a replica. `counters` counts connections opened, failures, and answers."""

    def __init__(
        self,
        options: LinkOptions,
        answers: Answers,
        on_trouble: Callable[[Endpoint, str], None] = lambda endpoint, reason: None,
        on_reached: Callable[[Endpoint], None] = lambda endpoint: None,
    ) -> None:
        self.opened = 0
        self.failures = 0
        self.answered = 0
        self._options = options
        self._answers = answers
        self._on_trouble = on_trouble
        self._on_reached = on_reached
        self._links: dict[int, _Link] = {}
        self._is_closed = False

    def send(self, message: Send) -> None:
        """Send a request; its answer or failure comes after this returns."""
        if self._is_closed:
            return
        link = self._links.get(message.destination)
        if link is None or link.endpoint != message.endpoint:
            if link is not None:
                link.close()
            elif len(self._links) >= LINKS_MAX:
                self._close_idle()
            link = self._links[message.destination] = _Link(message.endpoint)
        if link.task is not None:
            link.drop_connection("a newer request takes its place")
        link.task = asyncio.get_running_loop().create_task(self._exchange(link, message))

    async def close(self) -> None:
        """End all connections; requests under way get no answer."""
        self._is_closed = True
        tasks = [link.task for link in self._links.values() if link.task is not None]
        for link in self._links.values():
            link.close()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._links.clear()

    def _close_idle(self) -> None:
        for destination in [destination for destination, link in self._links.items() if link.task is None]:
            self._links.pop(destination).close()

    async def _exchange(self, link: _Link, message: Send) -> None:
        error_code = 0
        response: Response | None = None
        try:
            response = await self._ask(link, message.message)
        except UnsupportedVersionError:
            error_code = UNSUPPORTED_VERSION
        except (ConnectionFailedError, EncodeError) as error:
            link.drop_connection(str(error), keep_task=True)
            self.failures += 1
            error_code = NETWORK_EXCEPTION if isinstance(error, ConnectionFailedError) and error.authentication else BROKER_NOT_AVAILABLE
            self._on_trouble(link.endpoint, str(error))
        link.task = None
        if response is not None:
            self.answered += 1
            self._answers.response(message.destination, message.correlation_id, response)
        else:
            self._answers.failed(message.destination, message.correlation_id, error_code)

    async def _ask(self, link: _Link, request: Request) -> Response:
        timeout_s = self._options.request_timeout_ms / 1000
        connection = link.connection
        if connection is not None and connection.expired:
            # The peer would end the session with this request or one of the next. Nothing is under way on it.
            link.drop_connection("the session is nearly over", keep_task=True)
            connection = None
        if connection is None or connection.closed:
            connection = await self._open(link, timeout_s)
        connection.core.limit_frames(answer_size_max(request))
        return await send_raft_request(connection, request, timeout_s)

    async def _open(self, link: _Link, timeout_s: float) -> Connection:
        options = self._options
        loop = asyncio.get_running_loop()
        pause_s = link.not_before - loop.time()
        if pause_s > 0:
            await asyncio.sleep(pause_s)
        link.pause_s = min(max(link.pause_s * 2, RECONNECT_MIN_S), RECONNECT_MAX_S)
        link.not_before = loop.time() + link.pause_s
        core = ClientConnection(
            client_id=options.client_id,
            sasl=None if options.sasl is None else options.sasl(),
            ranges=OURS,
            in_flight_max=1,
            frame_limit=ANSWER_SIZE_MAX,
        )
        link.connection = None
        link.connection = await connect(Address(*link.endpoint), core=core, tls=options.tls, timeout_s=timeout_s)
        self.opened += 1
        self._on_reached(link.endpoint)
        link.pause_s = 0.0
        link.not_before = 0.0
        return link.connection


def answer_size_max(request: Request) -> int:
    """Return the most bytes that the answer to a request may have. Only records make it large; the first batch may exceed the limit."""
    match request:
        case FetchRequest():
            return max(request.max_size, BATCH_SIZE_MAX) + ANSWER_SIZE_MAX
        case FetchSnapshotRequest():
            return max(request.max_size, 0) + ANSWER_SIZE_MAX
        case VoteRequest() | BeginQuorumEpochRequest() | EndQuorumEpochRequest() | DescribeQuorumRequest() | ApiVersionsRequest():
            return ANSWER_SIZE_MAX
        case AddRaftVoterRequest() | RemoveRaftVoterRequest() | UpdateRaftVoterRequest():
            return ANSWER_SIZE_MAX
        case _:
            assert_never(request)


class _Link:
    """One destination: its connection and the one request under way."""

    __slots__ = ("connection", "endpoint", "not_before", "pause_s", "task")

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.connection: Connection | None = None
        self.task: asyncio.Task[None] | None = None
        self.pause_s = 0.0
        self.not_before = 0.0

    def drop_connection(self, reason: str, *, keep_task: bool = False) -> None:
        """End the connection, and the request under way without an answer."""
        if self.task is not None and not keep_task:
            self.task.cancel()
            self.task = None
        if self.connection is not None:
            self.connection.close(reason)
            self.connection = None

    def close(self) -> None:
        self.drop_connection("closed")


SERVED: Final = {key: versions for key, versions in OURS.items() if key != API_VERSIONS}
"""What peers may ask the core; ApiVersions is answered by net."""


class Application(Protocol):
    """Takes the requests of peers before raft does: it answers them, now or later, or leaves them to raft (`Inbound.ask`)."""

    @property
    def ranges(self) -> Mapping[int, tuple[int, int]]:
        """All APIs that are served, raft's among them."""

    def begin(self, inbound: Inbound) -> None:
        """Set the receiver of answers, before the first request."""

    def take(self, request: ServerRequest) -> None:
        """A request has come."""

    def refuse_large(self, request: ServerRequest) -> Refuse | None:
        """A large request has come, which is not decoded yet: return what refuses it, None where its message has to be looked at."""

    def faulted(self, fault: Fault) -> None:
        """A peer asked for what is not served, could not log in, or broke the protocol: its connection was closed."""

    def closed(self, listener: str, connection_id: int) -> None:
        """A connection is over: nobody waits for the answers to its requests."""


class Asked(Protocol):
    """The replica that takes requests."""

    @property
    def is_stopped(self) -> bool: ...

    @property
    def kraft_version(self) -> int: ...

    def request(self, token: Token, request: Request, listener: str) -> None: ...

    def forget(self, token: Token) -> None: ...


class Token:
    """A request that waits for its answer; `version` is that of the answer, which `send` gets as codec's message."""

    __slots__ = ("connection", "request", "send", "version")

    def __init__(self, request: ServerRequest, version: int, send: Callable[[Any], None]) -> None:
        self.request = request
        self.connection = (request.listener, request.connection_id)
        self.version = version
        self.send = send

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.request.cancelled


Answer = Callable[[Any], Iterator[object] | None]
"""Takes the response's object, None where raft has to answer; sends a large one while it is iterated."""


class Waiter:
    """A request and its sender, with the answer while that waits for its records to become stable.

    Without `send` nobody waits any more, and nothing else is kept.
    """

    __slots__ = ("answer", "asker", "connection", "request", "send")

    def __init__(self, request: ControllerRequest, connection: Hashable, send: Answer, asker: Asker) -> None:
        self.request: ControllerRequest | None = request
        self.connection = connection
        self.asker = asker
        self.answer: Any = None
        self.send: Answer | None = send

    def leave(self) -> None:
        """It was answered, or its connection is closed."""
        self.request = self.answer = self.send = None


class Inbound:
    """The listeners of a replica. Counters of connections are each listener's own."""

    def __init__(self, application: Application | None = None, on_event: Callable[[str], None] = lambda line: None) -> None:
        self._on_event = on_event
        self.listeners: dict[str, Listener] = {}
        self.unanswerable = 0
        """Answers that did not fit the version of their request; their connections were closed."""
        self.application = application
        self._asked: Asked | None = None
        self._waiting: dict[tuple[str, int], set[Token]] = {}
        if application is not None:
            application.begin(self)

    @property
    def ranges(self) -> Mapping[int, tuple[int, int]]:
        """The APIs that are served."""
        return SERVED if self.application is None else self.application.ranges

    async def open(self, options: ListenerOptions) -> Listener:
        """Open one listener. Errors: OSError, UsageError."""
        name = options.name
        opened = await serve(
            self._on_request,
            options,
            on_closed=lambda number, reason: self._on_closed((name, number)),
            on_event=self._on_event,
            on_large=self._on_large,
            on_fault=self._on_fault,
        )
        self.listeners[name] = opened
        return opened

    def start(self, asked: Asked) -> None:
        """Take requests; earlier ones had their connections closed."""
        self._asked = asked

    @property
    def waiting(self) -> int:
        """Requests that raft has not answered so far."""
        return sum(map(len, self._waiting.values()))

    def ask(
        self, request: ServerRequest, key: int, version: int, message: Any, send: Callable[[ServerRequest, Any], None] | None = None
    ) -> None:
        """Let raft answer: its own request, or one inside `request`; `send` gets the answer in place of `respond`."""
        asked = self._asked
        assert asked is not None, "requests come after the start"
        token = Token(request, version, partial(send or self.respond, request))
        self._waiting.setdefault(token.connection, set()).add(token)
        asked.request(token, decode_request(key, version, message), request.listener)

    def respond(self, request: ServerRequest, message: Any) -> None:
        """Answer a request; where its version cannot hold the answer, its connection ends."""
        if request.cancelled:
            return
        try:
            request.respond(message)
        except EncodeError as error:
            self.unanswerable += 1
            request.close_connection(f"the answer does not fit: {error}")

    def respond_in_steps(self, request: ServerRequest, message: Any) -> Generator[None, None, None]:
        """As `respond`, for a large answer: the encoding pauses now and then."""
        header = request.header
        try:
            body = yield from response_type(header.api_key).write_steps(message, header.api_version)
        except EncodeError as error:
            self.unanswerable += 1
            request.close_connection(f"the answer does not fit: {error}")
        else:
            request.respond_encoded(body)

    def reply(self, token: object, message: Response) -> None:
        """The core answers."""
        assert isinstance(token, Token), "the core was asked with one"
        waiting = self._waiting.get(token.connection)
        if waiting is not None:
            waiting.discard(token)
            if not waiting:
                del self._waiting[token.connection]
        asked = self._asked
        if token.cancelled or asked is None:
            return
        try:
            answer = encode_response(hide_leader(message, token.version, asked.kraft_version), token.version)
        except EncodeError as error:
            self.unanswerable += 1
            token.request.close_connection(f"the answer does not fit: {error}")
        else:
            token.send(answer)

    async def stop(self, grace_s: float) -> None:
        """Close all listeners; open requests may be answered for `grace_s`."""
        for listener in self.listeners.values():
            await listener.stop(grace_s)

    def _on_request(self, request: ServerRequest) -> None:
        asked = self._asked
        if asked is None or asked.is_stopped:
            request.close_connection("the replica does not run")
        elif self.application is not None:
            self.application.take(request)
        else:
            header = request.header
            self.ask(request, header.api_key, header.api_version, request.message)

    def _on_large(self, request: ServerRequest) -> Refuse | None:
        if self.application is None or self._asked is None or self._asked.is_stopped:
            return None
        return self.application.refuse_large(request)

    def _on_fault(self, fault: Fault) -> None:
        if self.application is not None:
            self.application.faulted(fault)

    def _on_closed(self, connection: tuple[str, int]) -> None:
        for token in self._waiting.pop(connection, ()):
            if self._asked is not None:
                self._asked.forget(token)
        if self.application is not None:
            self.application.closed(*connection)
