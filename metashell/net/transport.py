"""Connections over asyncio: `connect` for those that we open, `serve` for those that we accept.

Only moves bytes between sockets and the cores, and has the clock: timeouts end what the peer draws out. Everything here
belongs to the running loop's thread. This module imports asyncio, so it is itself imported inside functions.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, assert_never

from metashell.common.errors import MetashellError
from metashell.net.client_connection import Answer, ClientConnection, Ready, UnsupportedApiError
from metashell.net.client_connection import Closed as ClientClosed

if TYPE_CHECKING:
    import ssl

    from metashell.net.addresses import Address

CONNECT_TIMEOUT_S: Final = 10.0
REQUEST_TIMEOUT_S: Final = 30.0
SESSION_PART: Final = 0.85
"""How much of a session's life is used; the least that Kafka's clients let pass before they authenticate again."""


class ConnectionFailedError(MetashellError):
    """A connection could not be made or ended; the message is the reason without the address.

    `authentication`: the peer refused our credentials, or we refused its certificate. `unsupported`: it has no common version of what was
    asked. `another_node`: it is not whom we mean. None of these is worth another try. `timed_out`: there was no connection, or no answer,
    in time. `sent`: the request had been sent, so the peer may have carried it out.
    """

    def __init__(
        self,
        reason: str,
        *,
        authentication: bool = False,
        unsupported: bool = False,
        another_node: bool = False,
        timed_out: bool = False,
        sent: bool = False,
    ) -> None:
        super().__init__(reason)
        self.authentication = authentication
        self.unsupported = unsupported
        self.another_node = another_node
        self.timed_out = timed_out
        self.sent = sent


class Connection(asyncio.Protocol):
    """A connection that is ready for requests; made by `connect`."""

    def __init__(self, core: ClientConnection) -> None:
        loop = asyncio.get_running_loop()
        self._core = core
        self._transport: asyncio.Transport | None = None
        self._ready: asyncio.Future[Ready] = loop.create_future()
        self._gone: asyncio.Future[ClientClosed] = loop.create_future()
        self._lost: asyncio.Future[None] = loop.create_future()
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._room = asyncio.Event()
        self._writable = True
        self._expires_at = float("inf")
        self._retired = False

    @property
    def connected(self) -> bool:
        """Whether the socket was connected, and its TLS handshake done."""
        return self._transport is not None

    @property
    def expired(self) -> bool:
        """Whether the server will soon end the session, as connections.max.reauth.ms says; then it is time for a new connection."""
        return asyncio.get_running_loop().time() >= self._expires_at

    def retire(self) -> None:
        """Close the connection as soon as no request waits for its answer."""
        self._retired = True
        self._pump()

    @property
    def versions(self) -> Mapping[int, int]:
        """Api key to the version that is used."""
        return self._core.versions

    @property
    def core(self) -> ClientConnection:
        """The connection's core, with the negotiated `peer_ranges`, `features`, `session_lifetime_ms`."""
        return self._core

    @property
    def closed(self) -> str:
        """The reason why the connection is closed, empty while it is open."""
        return self._gone.result().reason if self._gone.done() else ""

    async def request(self, message: Any, *, version: int | None = None, timeout_s: float = REQUEST_TIMEOUT_S) -> Any:
        """Send a request and wait for its response; several may be under way.

        Waits while too many are. A request whose time is over closes the connection, because its answer would hold back the others.
        Errors: ConnectionFailedError, EncodeError.
        """
        sent = False
        try:
            async with asyncio.timeout(timeout_s):
                while not (self._core.can_send and self._writable):
                    self._check_open()
                    self._room.clear()
                    await self._room.wait()
                sent = True
                return await self._send(message, version)
        except TimeoutError:
            reason = f"no answer within {timeout_s:.3g} s"
            self.close(reason)
            raise ConnectionFailedError(reason, timed_out=True, sent=sent) from None
        except UnsupportedApiError as error:
            raise ConnectionFailedError(str(error), unsupported=True) from None

    async def _send(self, message: Any, version: int | None) -> Any:
        correlation_id = self._core.request(message, version)
        answer = self._answers[correlation_id] = asyncio.get_running_loop().create_future()
        try:
            self._flush()
            return await answer
        finally:
            self._answers.pop(correlation_id, None)

    def _check_open(self) -> None:
        if self._gone.done():
            raise _failure(self._gone.result())

    def close(self, reason: str = "closed") -> None:
        """End the connection now; requests under way fail with `reason`."""
        self._core.close(reason)
        self._pump()

    async def wait_closed(self) -> None:
        """Wait until the socket is closed."""
        if self._transport is not None:
            await asyncio.shield(self._lost)

    async def wait_ready(self) -> None:
        """Wait for the end of the handshake. Errors: ConnectionFailedError."""
        await asyncio.wait((self._ready, self._gone), return_when=asyncio.FIRST_COMPLETED)
        if not self._ready.done():
            self._check_open()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._core.start()
        self._pump()

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        self._core.receive_data(data)
        self._pump()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        # Who closes with our first bytes unread resets: that is what the core has the better words for.
        is_told = exc is not None and (self._ready.done() or not isinstance(exc, ConnectionResetError))
        self._core.connection_lost(reason_of(exc) if exc is not None and is_told else "")
        self._pump()
        if not self._lost.done():
            self._lost.set_result(None)

    def pause_writing(self) -> None:
        """See asyncio."""
        self._writable = False

    def resume_writing(self) -> None:
        """See asyncio."""
        self._writable = True
        self._room.set()

    def _flush(self) -> None:
        if self._transport is not None and (data := self._core.take_output()):
            self._transport.write(data)

    def _pump(self) -> None:
        while (event := self._core.next_event()) is not None:
            match event:
                case Ready():
                    if self._core.session_lifetime_ms:
                        lifetime_s = self._core.session_lifetime_ms / 1000
                        self._expires_at = asyncio.get_running_loop().time() + lifetime_s * SESSION_PART
                    self._ready.set_result(event)
                case Answer(correlation_id, message):
                    waiting = self._answers.get(correlation_id)
                    if waiting is not None and not waiting.done():
                        waiting.set_result(message)
                case ClientClosed():
                    self._end(event)
                case _:
                    assert_never(event)
        if self._retired and not self._core.in_flight and not self._gone.done():
            self.close("retired")
        self._flush()
        self._room.set()

    def _end(self, event: ClientClosed) -> None:
        self._gone.set_result(event)
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(_failure(event, sent=True))
        if self._transport is not None:
            self._transport.abort()


def _failure(event: ClientClosed, *, sent: bool = False) -> ConnectionFailedError:
    return ConnectionFailedError(event.reason, authentication=event.authentication_failed, another_node=event.is_another_node, sent=sent)


async def connect(
    address: Address,
    *,
    core: ClientConnection | None = None,
    tls: ssl.SSLContext | None = None,
    server_hostname: str | None = None,
    timeout_s: float = CONNECT_TIMEOUT_S,
) -> Connection:
    """A connection that has done its handshake. `core` says who we are and what we talk (a fresh one for each connection).

    Errors: ConnectionFailedError, in one line without the address.
    """
    loop = asyncio.get_running_loop()
    made = Connection(core or ClientConnection())
    try:
        async with asyncio.timeout(timeout_s):
            # Where a context checks no names, an empty name keeps asyncio from asking for one.
            name = None if tls is None else (server_hostname or address.host)
            await loop.create_connection(lambda: made, address.host, address.port, ssl=tls, server_hostname=name)
            await made.wait_ready()
    except TimeoutError:
        what = "connected, but no answer" if made.connected else "no connection"
        made.close("timed out")
        raise ConnectionFailedError(f"{what} within {timeout_s:g} s", timed_out=True) from None
    except OSError as error:
        cut_off = tls is not None and isinstance(error, ConnectionResetError | ConnectionAbortedError)
        hint = " during the TLS handshake (does the peer talk TLS? see security.protocol)" if cut_off else ""
        raise ConnectionFailedError(reason_of(error) + hint, authentication=_is_tls(error)) from None
    except ValueError:
        # Not a name: an empty label, one of more than 63 characters, a NUL. Peers say where others are, so it may be anything.
        made.close("given up")
        raise ConnectionFailedError("not a host name") from None
    except BaseException:
        made.close("given up")
        raise
    return made


def _is_tls(error: BaseException) -> bool:
    return type(error).__name__ == "SSLCertVerificationError"


def reason_of(error: BaseException) -> str:
    """An error of a socket in a few words, as the operating system says it."""
    import os

    if isinstance(error, socket.gaierror):
        return error.strerror or "the name is not known"
    if _is_tls(error):
        return f"the certificate is refused: {getattr(error, 'verify_message', '') or error}"
    if isinstance(error, OSError) and type(error).__name__.startswith("SSL"):
        return f"TLS: {_tls_reason(error)}"
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    if several := _ERRNO.findall(str(error)):
        # A name with several addresses, each of which failed; asyncio joins their texts.
        return ", ".join(dict.fromkeys(os.strerror(int(number)) for number in several))
    return str(error) or _BARE.get(type(error).__name__, type(error).__name__)


_ERRNO: Final = re.compile(r"\[Errno (\d{1,4})\]")
_BARE: Final = {"ConnectionResetError": "Connection reset by peer", "ConnectionAbortedError": "Connection aborted"}
"""Errors that asyncio raises without a text."""


def _tls_reason(error: OSError) -> str:
    reason = getattr(error, "reason", None)
    if not reason:
        return str(error)
    return f"{_TLS_HINTS[reason]} ({reason})" if reason in _TLS_HINTS else str(reason)


_NO_CERTIFICATE: Final = "the peer wants a certificate that it knows, see ssl.keystore.location"
_NO_TLS: Final = "the peer does not talk TLS, see security.protocol"
_TLS_HINTS: Final = {
    "SSLV3_ALERT_BAD_CERTIFICATE": _NO_CERTIFICATE,
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": _NO_CERTIFICATE,
    "TLSV1_ALERT_UNKNOWN_CA": _NO_CERTIFICATE,
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": _NO_CERTIFICATE,
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "no protocol version or cipher suite in common",
    "TLSV1_ALERT_PROTOCOL_VERSION": "no protocol version in common",
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "RECORD_LAYER_FAILURE": _NO_TLS,
}
