"""A proxy before the S3 server of tests, which refuses, drops or delays what it is told to, and lists late.

with FaultyS3(s3_server, lambda request: 503 if request.number % 10 == 9 else None) as address: ...
"""

from __future__ import annotations

import http.client
import re
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread
from time import monotonic, sleep
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import unquote, urlsplit

DROP = -1
"""Close the connection without an answer."""
LOSE = -2
"""Do what is asked for, and close the connection then: nobody hears that it was done."""
HOLD = -3
"""Answer nothing, and do what is asked for later, when whoever asked has asked again."""
_HELD_S = 1.0
_LISTED = re.compile(rb"<Contents>.*?<Key>(.*?)</Key>.*?</Contents>", re.DOTALL)
CODES = {403: "ExpiredToken", 500: "InternalError", 503: "SlowDown", 404: "NoSuchKey"}


class Request(NamedTuple):
    number: int
    method: str
    path: str
    is_signed: bool = True


Fault = Callable[[Request], int | None]


class FaultyS3:
    """`fault` says of each request which status it gets instead of an answer, DROP, LOSE, HOLD, or None to let it through.

    A list does not show what was written less than `late_s` before it.
    """

    def __init__(self, server: str, fault: Fault, late_s: float = 0) -> None:
        self.fault = fault
        self.held: list[Thread] = []
        self._written_s: dict[str, float] = {}
        self.seen: list[Request] = []
        numbers = count()
        place = urlsplit(server).netloc
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def answer(self) -> None:
                if (self.command, self.path) == ("HEAD", "/"):
                    # Somebody asks whether anything listens here, which is no request of S3.
                    self.send_response_only(403)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                request = Request(next(numbers), self.command, self.path, "Authorization" in self.headers)
                proxy.seen.append(request)
                body = self._body()
                status = proxy.fault(request)
                if status == HOLD:
                    proxy.held.append(Thread(target=lambda: (sleep(_HELD_S), self._ask(body))))
                    proxy.held[-1].start()
                if status == LOSE:
                    self._ask(body)
                if status in (DROP, LOSE, HOLD):
                    self.close_connection = True
                    return
                if status is not None:
                    code = CODES[status]
                    text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>as told</Message></Error>".encode()
                    self.send_response_only(status)
                    self.send_header("Content-Type", "application/xml")
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    if self.command != "HEAD":
                        self.wfile.write(text)
                    return
                self._pass_on(body)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer  # noqa: N815 - the names of http.server

            def _body(self) -> bytes:
                if self.headers.get("Expect", "").lower() == "100-continue":
                    self.send_response_only(100)
                    self.end_headers()
                if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parts = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                while self.rfile.readline().strip():
                    pass
                return b"".join(parts)

            def _pass_on(self, body: bytes) -> None:
                answer, data = self._ask(body)
                self.send_response_only(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                        self.send_header(name, value)
                length = answer.getheader("Content-Length") if self.command == "HEAD" else None
                self.send_header("Content-Length", length or str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            def _ask(self, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
                """The answer of the server itself."""
                upstream = http.client.HTTPConnection(place, timeout=60)
                dropped = {"transfer-encoding", "content-length", "expect", "connection"}
                headers = {name: value for name, value in self.headers.items() if name.lower() not in dropped}
                upstream.request(self.command, self.path, body=body or None, headers={**headers, "Content-Length": str(len(body))})
                answer = upstream.getresponse()
                data = answer.read()
                upstream.close()
                if self.command == "PUT":
                    proxy._written_s[unquote(self.path.partition("?")[0])] = monotonic()
                elif late_s and "list-type" in self.path:
                    data = _LISTED.sub(self._listed, data)
                return answer, data

            def _listed(self, entry: re.Match[bytes]) -> bytes:
                path = f"{self.path.partition('?')[0].rstrip('/')}/{unquote(entry[1].decode())}"
                return b"" if monotonic() - proxy._written_s.get(path, -late_s) < late_s else entry[0]

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                pass  # clients that gave up

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
