"""Nodes that answer as a test says, each on a port of its own."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from struct import unpack
from typing import Any, Final

from metashell.codec.codes import API_VERSIONS
from metashell.codec.messages import ApiVersionsResponse
from metashell.net.addresses import Address
from metashell.net.frames import decode_request, encode_response

CONTROLLER_APIS: Final = {18: (0, 4), 19: (2, 7), 52: (0, 2), 55: (0, 2), 60: (0, 2), 64: (0, 0)}
BROKER_APIS: Final = {3: (0, 13), 18: (0, 4), 19: (2, 7), 55: (0, 2), 60: (0, 2), 64: (0, 0)}


class Silence(Exception):
    """Raised by an answer: the peer keeps the connection, and says nothing more."""


class HangUp(Exception):
    """Raised by an answer: the peer closes the connection."""


Answer = Callable[[Any], Any]
"""From a request to its response."""


class Peer:
    """A node; `asked` are the requests that it got, by name, without ApiVersions."""

    def __init__(self, answer: Answer, apis: Mapping[int, tuple[int, int]], *, talks: bool = True) -> None:
        self.answer = answer
        self.asked: list[str] = []
        self._connections: list[socket.socket] = []
        peer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                peer._connections.append(self.connection)
                while talks and len(head := self.rfile.read(4)) == 4:
                    header, request = decode_request(self.rfile.read(*unpack(">i", head)))
                    if header.api_key == API_VERSIONS:
                        made = ApiVersionsResponse.ApiVersion
                        keys = tuple(made(api_key=key, min_version=low, max_version=high) for key, (low, high) in apis.items())
                        response: Any = ApiVersionsResponse(api_keys=keys)
                    else:
                        peer.asked.append(type(request).__name__.removesuffix("Request"))
                        try:
                            response = peer.answer(request)
                        except HangUp:
                            return
                        except Silence:
                            break
                    self.wfile.write(encode_response(header.api_key, header.api_version, header.correlation_id, response))
                # Until the client has had enough.
                self.rfile.read()

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._address = Address("127.0.0.1", self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self) -> Address:
        """Also of one that is closed."""
        return self._address

    def hang_up(self) -> None:
        """End the connections that are open."""
        for connection in self._connections:
            connection.shutdown(socket.SHUT_RDWR)
        self._connections.clear()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def peer(answer: Answer, apis: Mapping[int, tuple[int, int]] = CONTROLLER_APIS, *, talks: bool = True) -> Iterator[Peer]:
    """A node that serves while the block runs; one that does not talk accepts connections, and that is all."""
    made = Peer(answer, apis, talks=talks)
    try:
        yield made
    finally:
        made.close()
