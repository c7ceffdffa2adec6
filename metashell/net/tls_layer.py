"""TLS of an accepted connection without I/O: bytes of the socket in, plain bytes out, and the other way.

asyncio's own layer drops the alert that says to a peer why its handshake failed, and gives data before it gives the certificate.
"""

from __future__ import annotations

import ssl
from typing import Final

_PIECE: Final = 64 * 1024


class TlsLayer:
    """The server's side of one TLS connection.

    `done`: the handshake is over, `fault` why the connection cannot go on, `ended` that the peer said good-bye.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.certificate = b""
        """The peer's, in DER; empty before the end of the handshake, and where there is none."""
        self.done = False
        self.ended = False
        self.fault: ssl.SSLError | None = None

    def receive(self, data: bytes | memoryview) -> bytes:
        """The plain bytes that are complete now. `take_output` may have something afterwards, also after a fault (an alert)."""
        if self.fault is not None or self.ended:
            return b""
        self._incoming.write(data)
        found = bytearray()
        try:
            if not self.done:
                self._object.do_handshake()
                self.done = True
                self.certificate = self._object.getpeercert(binary_form=True) or b""
            while not self.ended:
                piece = self._object.read(_PIECE)
                found += piece
                self.ended = not piece
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.ended = True
        except ssl.SSLError as error:
            self.fault = error
        return bytes(found)

    def send(self, data: bytes) -> None:
        """Encrypt plain bytes for `take_output`; only after the handshake."""
        if self.fault is None:
            view = memoryview(data)
            try:
                while view:
                    view = view[self._object.write(view) :]
            except ssl.SSLError as error:
                self.fault = error

    def close(self) -> None:
        """Say good-bye, for `take_output`."""
        if self.done and self.fault is None:
            try:
                self._object.unwrap()
            except ssl.SSLError:
                return  # the peer's own good-bye has not come; nobody waits for it

    def take_output(self) -> bytes:
        """The bytes for the socket; they are given once."""
        return self._outgoing.read()
