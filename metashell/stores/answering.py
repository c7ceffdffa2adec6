"""Whether anything answers where a store should be, found out before its client is asked.

The clients of pyarrow try an address that refuses for seven seconds in silence, and wait without an end for one that says nothing; Ctrl-C
does not reach them meanwhile. So the first time that a process needs a server it knocks: one `HEAD /` without keys. Any answer in HTTP will
do.
"""

from __future__ import annotations

import os
import socket
import ssl
import time
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from metashell.codec.uris import URI_MARK, shown_uri
from metashell.errors import PathError
from metashell.progress import shown_while

CONNECT_S: Final = 5.0
ANSWER_S: Final = 20.0
"""A store that has much to do may think for a while."""
_WAITS_S: Final = (0.5,)
"""Between tries: a store that is started anew refuses for a moment."""
_PORTS: Final = {"http": 80, "https": 443}
_PROXIES: Final = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy")
"""What Google's and Azure's clients go through; S3's does not."""
_met: set[Address] = set()


class Address(NamedTuple):
    """A server: `http` or `https`, its name and its port."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}{URI_MARK}{f'[{self.host}]' if ':' in self.host else self.host}{port}"


def require_answer(uri: str) -> None:
    """Find out whether a store answers, once for each server.

    Errors: PathError of one line with URI and address where none does, after `CONNECT_S` and `ANSWER_S` at the latest.
    """
    address = address_of(uri)
    if address is None or address in _met:
        return
    shown = shown_uri(uri)
    with shown_while(f"{shown}: waiting for {address}"):
        reason = _reason(address)
        for seconds in _WAITS_S:
            if reason is None or reason.is_lasting:
                break
            time.sleep(seconds)
            reason = _reason(address)
    if reason is not None:
        raise PathError(f"{shown}: {address} {reason.said}", shown)
    _met.add(address)


def address_of(uri: str) -> Address | None:
    """Where the client of a URI's store will ask; None where only the client knows that."""
    scheme, _, rest = uri.partition(URI_MARK)
    place, _, query = rest.partition("?")
    known = dict(parse_qsl(query))
    if not place:
        return None
    match scheme.lower():
        case "s3" | "s3a":
            endpoint = known.get("endpoint_override") or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
            return _parsed(endpoint or _amazon(known.get("region")), known.get("scheme", "https"))
        case "gs" | "gcs":
            endpoint = known.get("endpoint_override") or os.environ.get("CLOUD_STORAGE_EMULATOR_ENDPOINT") or "storage.googleapis.com"
            return None if _has_proxy() else _parsed(endpoint, known.get("scheme", "https"))
        case "abfs" | "abfss":
            host = place.partition("/")[0].rpartition("@")[2]
            return _parsed(host, "https") if host.endswith(".windows.net") and not _has_proxy() else None
    return None


def _amazon(region: str | None) -> str:
    """Amazon's server for a region; empty where a file, or the machine, may name the region."""
    region = region or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        files = os.environ.get("AWS_CONFIG_FILE") or os.path.expanduser("~/.aws/config")
        return "" if os.path.exists(files) else "s3.us-east-1.amazonaws.com"
    # Other partitions have other domains.
    return "" if region.startswith(("cn-", "us-iso", "eu-iso", "eusc-")) else f"s3.{region}.amazonaws.com"


def _has_proxy() -> bool:
    return any(map(os.environ.get, _PROXIES))


def _parsed(endpoint: str, scheme: str) -> Address | None:
    text = endpoint if URI_MARK in endpoint else f"{scheme}{URI_MARK}{endpoint}"
    try:
        found = urlsplit(text)
        scheme = found.scheme.lower()
        if scheme not in _PORTS or not found.hostname:
            return None
        return Address(scheme, found.hostname, found.port or _PORTS[scheme])
    except ValueError:
        return None  # pyarrow says what it is


class _Reason(NamedTuple):
    """Why there is no answer, behind the address; `is_lasting` where another try would say the same."""

    said: str
    is_lasting: bool = False


def _reason(address: Address) -> _Reason | None:
    try:
        places = _resolved(address)
        with _connected(places) as plain:
            return _knock(address, plain)
    except ssl.SSLError:
        return _Reason("answers, but not by TLS: is it http:// there?", is_lasting=True)
    except TimeoutError:
        return _Reason(f"cannot be reached: nothing came back within {CONNECT_S:.0f} s", is_lasting=True)
    except socket.gaierror as error:
        return _Reason(f"cannot be reached: {address.host} is not known ({error.strerror})", is_lasting=True)
    except OSError as error:
        return _Reason(f"cannot be reached: {error.strerror or error}")


def _resolved(address: Address) -> list[Any]:
    """The places that a name stands for. Errors: OSError, TimeoutError; a resolver alone may take half a minute."""
    answers: SimpleQueue[list[Any] | OSError] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(list(socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)))
        except OSError as error:
            answers.put(error)
        except ValueError:  # a name with an empty part, or one above 63 characters
            answers.put(socket.gaierror(socket.EAI_NONAME, "not the name of a host"))

    Thread(target=ask, name="resolving", daemon=True).start()
    try:
        found = answers.get(timeout=CONNECT_S)
    except Empty:
        raise TimeoutError from None
    if isinstance(found, OSError):
        raise found
    return found


def _connected(places: list[Any]) -> socket.socket:
    """A connection to the first of some places that takes one. Errors: OSError of the last one, TimeoutError after `CONNECT_S` in all."""
    until_s = time.monotonic() + CONNECT_S
    trouble: OSError = TimeoutError()
    for number, (family, kind, protocol, _, where) in enumerate(places):
        connection = socket.socket(family, kind, protocol)
        try:
            # Each gets a fair part of the time that is left.
            connection.settimeout(max((until_s - time.monotonic()) / (len(places) - number), 0.1))
            connection.connect(where)
        except OSError as error:
            connection.close()
            trouble = error
        else:
            return connection
    raise trouble


def _knock(address: Address, plain: socket.socket) -> _Reason | None:
    plain.settimeout(ANSWER_S)
    try:
        with _wrapped(address, plain) as connection:
            host = str(address).partition(URI_MARK)[2]
            connection.sendall(f"HEAD / HTTP/1.1\r\nHost: {host}\r\nUser-Agent: metashell\r\nConnection: close\r\n\r\n".encode())
            heard = connection.recv(5)
    except ssl.SSLError:
        raise
    except TimeoutError:
        return _Reason(f"takes connections, and answered nothing within {ANSWER_S:.0f} s", is_lasting=True)
    except OSError as error:
        return _Reason(f"takes connections, and ends them without an answer ({error.strerror or error})")
    if not heard:
        return _Reason("takes connections, and ends them without an answer")
    return None if "HTTP/".startswith(heard.decode("latin-1")) else _Reason("answers, but not by HTTP", is_lasting=True)


def _wrapped(address: Address, plain: socket.socket) -> socket.socket:
    """With TLS where the address wants it. Whether to trust the server is asked by the store's client, before it sends a key."""
    if address.scheme == "http":
        return plain
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(plain, server_hostname=address.host)
