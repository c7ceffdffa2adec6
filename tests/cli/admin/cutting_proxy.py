"""A listener before a node that hands everything on, and cuts the connection where a request of one API was, or would be, sent."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass


@dataclass
class CuttingProxy:
    """`api_key` is what it cuts at, after the node got it, or before where `hands_on` is False; `seen` is how many of these came."""

    target: int
    api_key: int = -1
    hands_on: bool = True
    seen: int = 0
    port: int = 0

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self.target)) as node:
            back = threading.Thread(target=_copy, args=(node, client), daemon=True)
            back.start()
            with suppress(OSError):
                while frame := _frame(client):
                    is_cut = struct.unpack_from(">h", frame, 4)[0] == self.api_key
                    self.seen += is_cut
                    if self.hands_on or not is_cut:
                        if is_cut:
                            # The client hears nothing more.
                            client.shutdown(socket.SHUT_RDWR)
                        node.sendall(frame)
                    if is_cut:
                        break
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            # What the node was asked is answered before it hears of the end.
            with suppress(OSError):
                node.shutdown(socket.SHUT_WR)
            back.join()


def _frame(peer: socket.socket) -> bytes:
    head = _exactly(peer, 4)
    return head + _exactly(peer, int.from_bytes(head)) if head else b""


def _exactly(peer: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        if not (piece := peer.recv(size - len(data))):
            return b""
        data += piece
    return data


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            with suppress(OSError):
                target.sendall(data)


@contextmanager
def cutting_proxy(target: int) -> Iterator[CuttingProxy]:
    """A proxy on a port of its own, before a port of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = CuttingProxy(target, port=listener.getsockname()[1])
        thread = threading.Thread(target=proxy.serve, args=(listener,), daemon=True)
        thread.start()
        yield proxy
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
