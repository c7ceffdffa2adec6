"""pyarrow's file system of a URI, for reading and for writing, and what stores say as errors of one line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl
from uuid import uuid4

from pyarrow import ArrowException
from pyarrow.fs import FileSelector, FileSystem, FileType, S3FileSystem

from metashell.codec.uris import URI_MARK, shown_uri, without_credentials
from metashell.errors import PathError, UsageError
from metashell.stores.answering import require_answer
from metashell.stores.retrying import again
from metashell.stores.wording import NOTHING, is_bare, no_bucket, plain_words

TROUBLE = (OSError, ValueError, ArrowException)
"""What pyarrow's file systems raise when credentials or the network are missing: each has its own."""
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
"""What a client reads when it is made."""
_SYSTEMS: dict[tuple[object, ...], Any] = {}
_NO_HDFS = "hdfs:// needs Hadoop and Java on this machine: set HADOOP_HOME, JAVA_HOME and CLASSPATH=$(hadoop classpath --glob)"
_UNREADABLE = "Cannot parse URI"
_QUOTED = "not a URI: characters that mean something in one are quoted, a space as %20, a / in a secret key as %2F"


def file_system(uri: str) -> tuple[Any, str]:
    """The file system of a URI and the path in it.

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
        return again(lambda: _found(plain))
    except TROUBLE as error:
        if scheme.lower() in ("hdfs", "viewfs"):
            raise PathError(f"{shown_uri(uri)}: {_NO_HDFS}{_cause(uri, error)}", shown_uri(uri)) from error
        if isinstance(error, OSError):
            raise store_error(uri, error) from error
        if _UNREADABLE in str(error):
            # pyarrow's words tell a position in a text that nobody is shown.
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
    """Errors: ValueError for an S3 URI that pyarrow does not understand; with a region it asks nobody for one."""
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
    said = str(error)
    if is_bare(said):
        said = _reason_of(uri) or said
    return PathError(f"{shown_uri(uri)}: {plain_words(uri, said) or type(error).__name__}", shown_uri(uri))


def _reason_of(uri: str) -> str:
    """Why a store refuses: what it says of a list, since the answer to a `HEAD` has no text. Empty where it gives the list."""
    try:
        system, path = file_system(uri)
        system.get_file_info(FileSelector(f"{path.partition('/')[0]}/.metashell-{uuid4().hex}", allow_not_found=True))
    except (*TROUBLE, PathError) as error:
        return str(error) if isinstance(error, TROUBLE) else ""
    return ""


def nothing_at(uri: str, system: Any, path: str) -> PathError:
    """The error for a URI at which nothing is, with its file system and its path there: the bucket itself may be missing."""
    return PathError(f"{shown_uri(uri)}: {NOTHING if has_bucket(system, path) else no_bucket(uri)}", shown_uri(uri))


def has_bucket(system: Any, path: str) -> bool:
    """Whether the bucket of a path is there, as far as its store says that."""
    try:
        return system.type_name not in _OF_BUCKETS or bool(system.get_file_info(path.partition("/")[0]).type != FileType.NotFound)
    except TROUBLE:
        return True  # who may not ask for it may still read in it
