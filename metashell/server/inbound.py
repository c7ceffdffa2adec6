"""Requests of peers to the core, and its answers back to them: the border between net and raft.

An answer goes out on the connection that the request came on; a parked one of a connection that ended is forgotten. This module imports
asyncio by what it needs, so it is itself imported inside functions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any, Final, Protocol

from metashell.codec.api_keys import API_VERSIONS
from metashell.errors import EncodeError
from metashell.net.accepted_connection import ServerRequest
from metashell.net.frames import response_type
from metashell.net.listener import Listener, serve
from metashell.net.listener_options import ListenerOptions
from metashell.raft.messages import Request, Response
from metashell.raft.wire import decode_request, encode_response, hide_leader
from metashell.raft.wire.versions import OURS

SERVED: Final = {key: versions for key, versions in OURS.items() if key != API_VERSIONS}
"""What peers may ask the core; ApiVersions is answered by net."""


class Application(Protocol):
    """Takes the requests of peers before raft does: it answers them, now or later, or has raft do it (`Inbound.ask`)."""

    @property
    def ranges(self) -> Mapping[int, tuple[int, int]]:
        """All APIs that are served, raft's among them."""

    def begin(self, inbound: Inbound) -> None:
        """Before the first request: where answers go."""

    def take(self, request: ServerRequest) -> None:
        """A request has come."""

    def closed(self, listener: str, connection_id: int) -> None:
        """A connection is over: nobody waits for the answers to its requests."""


class Asked(Protocol):
    """Who is asked."""

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


class Inbound:
    """The listeners of a replica. Counters of connections are each listener's own."""

    def __init__(self, application: Application | None = None) -> None:
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
        opened = await serve(self._on_request, options, on_closed=lambda number, reason: self._on_closed((name, number)))
        self.listeners[name] = opened
        return opened

    def start(self, asked: Asked) -> None:
        """Take requests; those that came before had their connections closed."""
        self._asked = asked

    @property
    def waiting(self) -> int:
        """Requests that raft has not answered so far."""
        return sum(map(len, self._waiting.values()))

    def ask(
        self, request: ServerRequest, key: int, version: int, message: Any, send: Callable[[ServerRequest, Any], None] | None = None
    ) -> None:
        """Have raft answer: a request of its own, or one that lies in `request`; `send` gets the answer in place of `respond`."""
        asked = self._asked
        assert asked is not None, "requests come after the start"
        token = Token(request, version, partial(send or self.respond, request))
        self._waiting.setdefault(token.connection, set()).add(token)
        asked.request(token, decode_request(key, version, message), request.listener)

    def respond(self, request: ServerRequest, message: Any) -> None:
        """Answer a request; where its version cannot say the answer, its connection ends."""
        if request.cancelled:
            return
        try:
            request.respond(message)
        except EncodeError as error:
            self.unanswerable += 1
            request.close_connection(f"the answer does not fit: {error}")

    def respond_in_steps(self, request: ServerRequest, message: Any) -> Generator[None, None, None]:
        """As `respond`, for a large answer: it rests now and then while it is encoded."""
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

    def _on_closed(self, connection: tuple[str, int]) -> None:
        for token in self._waiting.pop(connection, ()):
            if self._asked is not None:
                self._asked.forget(token)
        if self.application is not None:
            self.application.closed(*connection)
