"""pyarrow's file system of a URI, for reading and for writing, and what stores say as errors of one line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl

from pyarrow import ArrowException
from pyarrow.fs import FileSystem, S3FileSystem

from metashell.codec.uris import URI_MARK, shown_uri, without_credentials
from metashell.errors import PathError, UsageError
from metashell.stores.retrying import again

TROUBLE = (OSError, ValueError, ArrowException)
"""What pyarrow's file systems raise when credentials or the network are missing: each has its own."""
_ASKED_FOR = {"gs": "retry_limit_seconds=20", "gcs": "retry_limit_seconds=20", "s3": "allow_delayed_open=true"}
"""Parameters that a URI gets unless it has them. Google's client retries for a quarter of an hour when there are no credentials. S3's
writes a small object by one request instead of three, where pyarrow knows that parameter."""
_SCHEMES = {"s3a": "s3", "gcs": "gs"}
_ANONYMOUS = re.compile(r"[?&](?P<word>anonymous=true(?:&|$))(?P<rest>.*)")
_KEPT = ("s3",)
_AWS_VARIABLES = (
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_PROFILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
)
"""What a client reads when it is made."""
_SYSTEMS: dict[tuple[object, ...], Any] = {}
_NO_HDFS = "hdfs:// needs Hadoop and Java on this machine: set HADOOP_HOME, JAVA_HOME and CLASSPATH=$(hadoop classpath --glob)"
_AWS = re.compile(r"AWS Error (\w+)(?: \(HTTP status \d+\))? during (\w+) operation: (.*)", re.DOTALL)
_UNKNOWN = re.compile(r"Unable to parse ExceptionName: (\w+) Message: (.*)", re.DOTALL)
"""What its client says of a code that it has no name for."""
_REQUEST_ID = re.compile(r" ?\(Request ID: [^)]*\)?")


def file_system(uri: str) -> tuple[Any, str]:
    """The file system of a URI and the path in it.

    Errors: UsageError for a URI that pyarrow does not understand, PathError where the store's client cannot start.
    """
    scheme, mark, rest = uri.partition(URI_MARK)
    plain = f"{_SCHEMES.get(scheme.lower(), scheme.lower())}{mark}{rest}"
    try:
        return again(lambda: _found(plain))
    except TROUBLE as error:
        if scheme.lower() in ("hdfs", "viewfs"):
            raise PathError(f"{shown_uri(uri)}: {_NO_HDFS}{_cause(uri, error)}", shown_uri(uri)) from error
        if isinstance(error, OSError):
            raise store_error(uri, error) from error
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
    return _SYSTEMS.setdefault(root, system), path


def _unsigned(uri: str) -> tuple[Any, str]:
    """S3 without a signature, also where there are keys: pyarrow's URIs have no word for that, its file system has."""
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
    """What a store says, as an error about a URI."""
    try:
        yield
    except TROUBLE as error:
        raise store_error(uri, error) from error


def store_error(uri: str, error: Exception) -> PathError:
    """The error of a store in one line, without credentials: stores quote what they were given."""
    said = _AWS.search(str(error))
    if said is not None:
        code, operation, text = said.groups()
        if (named := _UNKNOWN.match(text)) is not None:
            code, text = named.groups()
        reason = f"{operation}: {code}: {_REQUEST_ID.sub('', text)}".rstrip(": ")
    else:
        reason = str(error)
    line = (reason.removeprefix("[Errno 2] ").strip().splitlines() or [type(error).__name__])[0]
    return PathError(f"{shown_uri(uri)}: {without_credentials(line, uri)}", shown_uri(uri))
