"""pyarrow's file system of a URI, for reading and for writing, and the errors of stores in one line of plain words.

The clients of pyarrow try an address that refuses for seven seconds in silence, and wait forever for one that does not answer; Ctrl-C
does not reach them meanwhile. So before a process first uses a server it sends one `HEAD /` without keys. Any answer in HTTP will do."""

from __future__ import annotations

import os
import re
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit
from uuid import uuid4

from pyarrow import ArrowException
from pyarrow.fs import FileSelector, FileSystem, FileType, S3FileSystem

from metashell.common.errors import PathError, UsageError
from metashell.common.terminal import show_progress
from metashell.common.uris import URI_MARK, shown_uri, without_credentials
from metashell.tables.stores.store import retry

TROUBLE = (OSError, ValueError, ArrowException)
"""Exceptions of pyarrow's file systems when credentials or the network are missing: each file system has its own."""
_ASKED_FOR = {"gs": "retry_limit_seconds=20", "gcs": "retry_limit_seconds=20", "s3": "allow_delayed_open=true"}
"""Parameters that a URI gets unless it has them. Google's client retries for a quarter of an hour when there are no credentials. S3's
writes a small object by one request instead of three, where pyarrow knows that parameter."""
_SCHEMES = {"s3a": "s3", "gcs": "gs"}
_ANONYMOUS = re.compile(r"[?&](?P<word>anonymous=true(?:&|$))(?P<rest>.*)")
_KEPT = ("s3",)
_OF_BUCKETS = ("s3", "gcs", "abfs")
_AWS_VARIABLES = (
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_PROFILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
)
"""Environment variables that a client reads when it is made."""
KEPT_SYSTEMS: dict[tuple[object, ...], Any] = {}
"""Clients with their open connections, by store and by what they were made from."""
_NO_HDFS = "hdfs:// needs Hadoop and Java on this machine: set HADOOP_HOME, JAVA_HOME and CLASSPATH=$(hadoop classpath --glob)"
_UNREADABLE = "Cannot parse URI"
_QUOTED = "not a URI: characters that mean something in one are quoted, a space as %20, a / in a secret key as %2F"


def file_system(uri: str) -> tuple[Any, str]:
    """Return the file system of a URI and the path in it.

    Errors: UsageError for a URI that pyarrow does not understand, PathError where no store answers or its client cannot start.
    """
    scheme, mark, rest = uri.partition(URI_MARK)
    if "#" in rest:
        # To pyarrow s3://tables/day#1 is s3://tables/day: other logs would be read, and another folder written to.
        raise UsageError(f"{shown_uri(uri)}: a # ends the path of a URI: write it as %23", shown_uri(uri))
    plain = f"{_SCHEMES.get(scheme.lower(), scheme.lower())}{mark}{rest}"
    try:
        try:
            require_answer(uri)
        except PathError:
            _require_parsed(plain)
            raise
        return retry(lambda: _found(plain))
    except TROUBLE as error:
        if scheme.lower() in ("hdfs", "viewfs"):
            raise PathError(f"{shown_uri(uri)}: {_NO_HDFS}{_cause(uri, error)}", shown_uri(uri)) from error
        if isinstance(error, OSError):
            raise store_error(uri, error) from error
        if _UNREADABLE in str(error):
            # pyarrow's message gives a position in a text that the user never sees.
            raise UsageError(f"{shown_uri(uri)}: {_QUOTED}", shown_uri(uri)) from error
        raise UsageError(str(store_error(uri, error)), shown_uri(uri)) from error


def _found(uri: str) -> tuple[Any, str]:
    more = _ASKED_FOR.get(uri.partition(URI_MARK)[0])
    if more is not None and more.partition("=")[0] not in uri:
        try:
            return _opened(f"{uri}{'&' if '?' in uri else '?'}{more}")
        except ValueError as error:
            if more.partition("=")[0] not in str(error):
                raise
    return _opened(uri)


def _require_parsed(uri: str) -> None:
    """Errors: ValueError for an S3 URI that pyarrow does not understand. With a region in it, pyarrow sends no request to find one."""
    if uri.startswith("s3://"):
        FileSystem.from_uri(
            _ANONYMOUS.sub(r"\g<rest>", uri) + ("" if "region=" in uri else f"{'&' if '?' in uri else '?'}region=us-east-1")
        )


def _opened(uri: str) -> tuple[Any, str]:
    if uri.startswith("s3://") and (match := _ANONYMOUS.search(uri)) is not None:
        return _unsigned(f"{uri[: match.start('word')]}{match['rest']}".rstrip("?&"))
    system, path = FileSystem.from_uri(uri)
    scheme, mark, rest = uri.partition(URI_MARK)
    if scheme not in _KEPT:
        return system, path
    # A client's connections are worth keeping: thousands of files lie in one bucket.
    place, _, query = rest.partition("?")
    root = (os.getpid(), f"{scheme}{mark}{place.partition('/')[0]}?{query}", *map(os.environ.get, _AWS_VARIABLES))
    return KEPT_SYSTEMS.setdefault(root, system), path


def _unsigned(uri: str) -> tuple[Any, str]:
    """S3 without signatures, even if there are keys: pyarrow's URIs cannot say that, its file system can."""
    system, path = FileSystem.from_uri(uri)
    known = dict(parse_qsl(uri.partition("?")[2]))
    chosen = {name: known[name] for name in ("endpoint_override", "scheme") if name in known}
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        chosen.setdefault("endpoint_override", endpoint)
    return S3FileSystem(anonymous=True, region=system.region, **chosen), path


def _cause(uri: str, error: Exception) -> str:
    line = (str(error).splitlines() or [""])[0]
    return f" ({without_credentials(line, uri)})" if line else ""


@contextmanager
def errors_of(uri: str) -> Iterator[None]:
    """Return a store's message as an error about a URI."""
    try:
        yield
    except TROUBLE as error:
        raise store_error(uri, error) from error


def store_error(uri: str, error: Exception) -> PathError:
    """Return the error of a store in one line, without credentials: stores quote what they were given."""
    said = str(error)
    if is_bare(said):
        said = _reason_of(uri) or said
    return PathError(f"{shown_uri(uri)}: {plain_words(uri, said) or type(error).__name__}", shown_uri(uri))


def _reason_of(uri: str) -> str:
    """Return the reason why a store refuses: its answer to a list, since the answer to a `HEAD` has no text. Empty if it lists."""
    try:
        system, path = file_system(uri)
        system.get_file_info(FileSelector(f"{path.partition('/')[0]}/.metashell-{uuid4().hex}", allow_not_found=True))
    except (*TROUBLE, PathError) as error:
        return str(error) if isinstance(error, TROUBLE) else ""
    return ""


def nothing_at(uri: str, system: Any, path: str) -> PathError:
    """Return the error for a URI at which nothing is, with its file system and its path there: the bucket itself may be missing."""
    return PathError(f"{shown_uri(uri)}: {NOTHING if has_bucket(system, path) else no_bucket(uri)}", shown_uri(uri))


def has_bucket(system: Any, path: str) -> bool:
    """Return whether the bucket of a path is there, as far as its store says that."""
    try:
        return system.type_name not in _OF_BUCKETS or bool(system.get_file_info(path.partition("/")[0]).type != FileType.NotFound)
    except TROUBLE:
        return True  # who may not ask for it may still read in it


# ---- errors of stores in plain words

NOTHING: Final = "No such file or directory"
_AWS = re.compile(r"AWS Error (\w+)(?: \(HTTP status (-?\d+)\))? during (\w+) operation: (.*)", re.DOTALL)
_UNKNOWN = re.compile(r"Unable to parse ExceptionName: (\w+) Message: (.*)", re.DOTALL)
"""The message of Amazon's client for a code that it has no name for."""
_REQUEST_ID = re.compile(r" ?\(Request ID: [^)]*\)?")
_NO_BODY: Final = "No response body."
_REGION = re.compile(r"(?:located in|expecting) '([\w-]+)'")
_CURL = re.compile(r"curlCode: (\d+), ([^;]*)(?:; Details: (.*))?", re.DOTALL)
_EXPIRED: Final = "the credentials have expired"
_NO_TOKEN: Final = "the session token is not valid"
_PLAIN: Final = {
    "ACCESS_DENIED": "access denied",
    "AccessDenied": "access denied",
    "INVALID_ACCESS_KEY_ID": "the store does not know the access key",
    "InvalidAccessKeyId": "the store does not know the access key",
    "SIGNATURE_DOES_NOT_MATCH": "the secret key is not that of the access key",
    "SignatureDoesNotMatch": "the secret key is not that of the access key",
    "ExpiredToken": _EXPIRED,
    "EXPIRED_TOKEN": _EXPIRED,
    "REQUEST_EXPIRED": _EXPIRED,
    "TokenRefreshRequired": _EXPIRED,
    "InvalidToken": _NO_TOKEN,
    "INVALID_CLIENT_TOKEN_ID": _NO_TOKEN,
    "UNRECOGNIZED_CLIENT": _NO_TOKEN,
    "REQUEST_TIME_TOO_SKEWED": "the clocks of this machine and of the store differ too much",
    "RequestTimeTooSkewed": "the clocks of this machine and of the store differ too much",
}
"""By the codes of the S3 API, and by the names that Amazon's client gives to some of them."""
_NO_BUCKET: Final = ("NO_SUCH_BUCKET", "NoSuchBucket")
_ELSEWHERE: Final = ("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "TemporaryRedirect")
_REFUSED: Final = ("400", "401", "403")


def plain_words(uri: str, said: str) -> str:
    """Return one line of what a store said of a URI, without credentials, and without the URI."""
    if (found := _AWS.search(said)) is not None:
        line = _of_amazon(uri, *found.groups())
    else:
        # Each client says in its own way that there is nothing.
        line = NOTHING if "Path does not exist" in said else said
    lines = line.removeprefix("[Errno 2] ").strip().splitlines()
    return without_credentials(lines[0], uri) if lines else ""


def no_bucket(uri: str) -> str:
    """Return the words for a bucket that is not there."""
    return f"the bucket {bucket_of(uri)} does not exist"


def bucket_of(uri: str) -> str:
    return unquote(shown_uri(uri).partition(URI_MARK)[2].partition("?")[0].partition("/")[0])


def is_bare(said: str) -> bool:
    """Return whether a store has refused without a reason: the answer to a `HEAD` has no text."""
    found = _AWS.search(said)
    return found is not None and _NO_BODY in found[4] and (found[1] == "ACCESS_DENIED" or found[2] in ("301", "307", *_REFUSED))


def _of_amazon(uri: str, code: str, status: str | None, operation: str, text: str) -> str:
    if (named := _UNKNOWN.match(text)) is not None:
        code, text = named.groups()
    about = f"({operation}: {code if status is None or named is not None else f'HTTP status {status}'})"
    region = _REGION.search(text)
    if code in _NO_BUCKET:
        return f"{no_bucket(uri)} {about}"
    if code in _PLAIN:
        return f"{_PLAIN[code]} {about}"
    if code in _ELSEWHERE or status in ("301", "307"):
        if region is None:
            return f"the bucket is in another region: name it with ?region=, or in AWS_REGION {about}"
        return f"the bucket is in the region {region[1]}: name it with ?region={region[1]}, or in AWS_REGION {about}"
    if (curl := _CURL.search(text)) is not None:
        return f"the store cannot be reached: {(curl[3] or curl[2]).strip()} {about}"
    text = _REQUEST_ID.sub("", text)
    return f"the store refused {about}" if text.startswith(_NO_BODY) and status in _REFUSED else f"{operation}: {code}: {text}".rstrip(": ")


# ---- whether a store can be reached

CONNECT_S: Final = 5.0
ANSWER_S: Final = 20.0
"""A store that has much to do may think for a while."""
_WAITS_S: Final = (0.5,)
"""Between tries: a store that is started anew refuses for a moment."""
_PORTS: Final = {"http": 80, "https": 443}
_PROXIES: Final = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy")
"""The proxies of Google's and Azure's clients; S3's uses none."""
_answering: set[Address] = set()


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
    if address is None or address in _answering:
        return
    shown = shown_uri(uri)
    with show_progress(f"{shown}: waiting for {address}"):
        reason = _reason(address)
        for seconds in _WAITS_S:
            if reason is None or reason.is_lasting:
                break
            time.sleep(seconds)
            reason = _reason(address)
    if reason is not None:
        raise PathError(f"{shown}: {address} {reason.said}", shown)
    _answering.add(address)


def address_of(uri: str) -> Address | None:
    """Return the address that the client of a URI's store will connect to; None if only the client knows it."""
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
        scheme = found.scheme
        if scheme not in _PORTS or not found.hostname:
            return None
        return Address(scheme, found.hostname, found.port or _PORTS[scheme])
    except ValueError:
        return None  # pyarrow says what it is


class _Reason(NamedTuple):
    """Return why there is no answer, after the address; `is_lasting` if another try would fail the same way."""

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
    """Return the places that a name stands for. Errors: OSError, TimeoutError; a resolver alone may take half a minute."""
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
    """Connect to the first of some places that accepts. Errors: OSError of the last one, TimeoutError after `CONNECT_S` in all."""
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
    """With TLS if the address wants it. The store's client verifies the server before it sends a key."""
    if address.scheme == "http":
        return plain
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(plain, server_hostname=address.host)
