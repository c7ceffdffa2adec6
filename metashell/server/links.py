"""Connections to peers: one a destination, opened when there is something to say, each with the versions that its peer has.

A connection whose SASL session is nearly over is replaced before the next request. A request that takes too long, or is followed by
another one, ends its connection, because answers come in order; the next one opens a new connection, after a pause that grows while
that fails. This module imports asyncio, so it is itself imported inside functions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, assert_never

from metashell.codec.error_codes import BROKER_NOT_AVAILABLE, NETWORK_EXCEPTION, UNSUPPORTED_VERSION
from metashell.errors import EncodeError
from metashell.net.addresses import Address
from metashell.net.client_connection import ClientConnection
from metashell.net.transport import Connection, ConnectionFailedError, connect
from metashell.raft.messages import (
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
from metashell.raft.ready import Send
from metashell.raft.wire import OURS, UnsupportedVersionError, ask

if TYPE_CHECKING:
    import ssl

    from metashell.net.sasl import SaslClient
    from metashell.raft.connections import CorrelationId

RECONNECT_MIN_S: Final = 0.05
RECONNECT_MAX_S: Final = 0.5
ANSWER_SIZE_MAX: Final = 64 * 1024
"""Bytes of an answer beside its records."""
BATCH_SIZE_MAX: Final = 8 * 1024 * 1024
LINKS_MAX: Final = 64
"""Destinations before those without a request under way are given up: a request to add a voter may name any destination."""


class Answers(Protocol):
    """Who hears of answers."""

    def response(self, destination: int, correlation_id: CorrelationId, response: Response) -> None: ...

    def failed(self, destination: int, correlation_id: CorrelationId, error_code: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOptions:
    """How to connect: `tls` and `sasl` (made for each connection) are those of the controller listener."""

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
        """Send a request; its answer or failure comes later, never before this returns."""
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
        """End all connections; what is under way has no answer."""
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
        return await ask(connection, request, timeout_s)

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
    """Bytes that the answer to a request may have. Only records make it large; the first batch may exceed what was asked for."""
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
        """End the connection, and the request under way without a word."""
        if self.task is not None and not keep_task:
            self.task.cancel()
            self.task = None
        if self.connection is not None:
            self.connection.close(reason)
            self.connection = None

    def close(self) -> None:
        self.drop_connection("closed")
