"""Requests of peers to the core, and its answers back to them: the border between net and raft.

An answer goes out on the connection that the request came on; a parked one of a connection that ended is forgotten. This module imports
asyncio by what it needs, so it is itself imported inside functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from metashell.codec.api_keys import API_VERSIONS
from metashell.errors import EncodeError
from metashell.net.accepted_connection import ServerRequest
from metashell.net.listener import Listener, serve
from metashell.net.listener_options import ListenerOptions
from metashell.raft.messages import Request, Response
from metashell.raft.wire import decode_request, encode_response, hide_leader
from metashell.raft.wire.versions import OURS

SERVED: Final = {key: versions for key, versions in OURS.items() if key != API_VERSIONS}
"""What peers may ask the core; ApiVersions is answered by net."""

OtherApi = Callable[[ServerRequest], Any]
"""Answers a request that is none of raft's: gives the response's object."""


class Asked(Protocol):
    """Who is asked."""

    @property
    def is_stopped(self) -> bool: ...

    @property
    def kraft_version(self) -> int: ...

    def request(self, token: Token, request: Request, listener: str) -> None: ...

    def forget(self, token: Token) -> None: ...


class Token:
    """A request that waits for its answer."""

    __slots__ = ("connection", "request")

    def __init__(self, request: ServerRequest, connection: tuple[str, int]) -> None:
        self.request = request
        self.connection = connection

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.request.cancelled


class Inbound:
    """The listeners of a replica. `others` are APIs beside raft's, by key. Counters of connections are each listener's own."""

    def __init__(self, others: Mapping[int, tuple[tuple[int, int], OtherApi]] | None = None) -> None:
        self.listeners: dict[str, Listener] = {}
        self.unanswerable = 0
        """Answers that did not fit the version of their request; their connections were closed."""
        self._others = dict(others or {})
        self._asked: Asked | None = None
        self._waiting: dict[tuple[str, int], set[Token]] = {}

    @property
    def ranges(self) -> dict[int, tuple[int, int]]:
        """The APIs that are served."""
        return SERVED | {key: versions for key, (versions, _) in self._others.items()}

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
        """Requests without answer so far."""
        return sum(map(len, self._waiting.values()))

    def reply(self, token: object, message: Response) -> None:
        """The core answers."""
        assert isinstance(token, Token), "the core was asked with one"
        waiting = self._waiting.get(token.connection)
        if waiting is not None:
            waiting.discard(token)
            if not waiting:
                del self._waiting[token.connection]
        request = token.request
        asked = self._asked
        if request.cancelled or asked is None:
            return
        version = request.header.api_version
        try:
            request.respond(encode_response(hide_leader(message, version, asked.kraft_version), version))
        except EncodeError as error:
            self.unanswerable += 1
            request.close_connection(f"the answer does not fit: {error}")

    async def stop(self, grace_s: float) -> None:
        """Close all listeners; open requests may be answered for `grace_s`."""
        for listener in self.listeners.values():
            await listener.stop(grace_s)

    def _on_request(self, request: ServerRequest) -> None:
        asked = self._asked
        if asked is None or asked.is_stopped:
            request.close_connection("the replica does not run")
            return
        header = request.header
        other = self._others.get(header.api_key)
        if other is not None:
            request.respond(other[1](request))
            return
        token = Token(request, (request.listener, request.connection_id))
        self._waiting.setdefault(token.connection, set()).add(token)
        asked.request(token, decode_request(header.api_key, header.api_version, request.message), request.listener)

    def _on_closed(self, connection: tuple[str, int]) -> None:
        for token in self._waiting.pop(connection, ()):
            if self._asked is not None:
                self._asked.forget(token)
