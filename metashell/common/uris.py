"""URIs of stores without their credentials: users, passwords, keys and tokens are cut before anything is shown.

A store is opened with the whole URI; rows, manifests, pages, messages and logs name it by `shown_uri`, so that two URIs that differ in
their credentials name one file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from metashell.common.errors import MetashellError, UsageError
from metashell.common.values import REDACTED

URI_MARK = "://"
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>`]+")
_SLIP = re.compile(r"(?<![\w.+-])((?:s3[an]?|gs|gcs|abfss?|wasbs?|hdfs|viewfs):/?)(?!/)([^\s'\"<>`]*[@?][^\s'\"<>`]*)", re.IGNORECASE)
"""A mistyped URI of a store that lacks a slash: it may hold keys all the same."""
_PUNCTUATION = ":;,.!?)]}"
"""Characters that may follow a URI in a sentence."""
_CONTAINERS = frozenset(("abfs", "abfss", "wasb", "wasbs"))
"""Where a container stands before the @, as in `abfs://container@account.dfs.core.windows.net`."""
_SHOWN_PARAMETERS = frozenset(
    (
        "allow_bucket_creation",
        "allow_bucket_deletion",
        "anonymous",
        "background_writes",
        "buffer_size",
        "connect_timeout",
        "default_block_size",
        "default_bucket_location",
        "endpoint_override",
        "project_id",
        "region",
        "replication",
        "request_timeout",
        "retry_limit_seconds",
        "scheme",
        "tls_verify_certificates",
    )
)
"""Parameters of stores that hold no secret; every other one is cut, since we do not know what it is."""
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_PIECE_SIZE_MIN = 4
"""Shorter pieces of a URI occur in any sentence."""


def is_uri(path: str) -> bool:
    """Whether a path is the URI of a store, such as `s3://bucket/key`."""
    return URI_MARK in path


def place_and_query(path: str) -> tuple[str, str]:
    """Where a path or URI leads, and the query of a URI with its mark: it says how to get there, and may have slashes."""
    place, mark, query = path.partition("?") if is_uri(path) else (path, "", "")
    return place, mark + query


def file_name(path: str) -> str:
    """The name of a file, given by path or URI."""
    return place_and_query(path)[0].rpartition("/")[2]


def folder_of(path: str) -> str:
    """The folder that a file given by path or URI lies in, by which it can be opened: that of a URI keeps the query."""
    place, query = place_and_query(path)
    return os.path.dirname(place) + query


def path_below(folder: str, name: str) -> str:
    """The path or URI of what lies below a folder."""
    place, query = place_and_query(folder)
    return f"{os.path.join(place, name)}{query}" if name else folder


def expand_braces(pattern: str) -> list[str]:
    """A pattern with braces, such as `{a,b}`, as those without."""
    match = _BRACES.search(pattern)
    if match is None:
        return [pattern]
    return [done for word in match[1].split(",") for done in expand_braces(pattern[: match.start()] + word + pattern[match.end() :])]


def shown_uri(uri: str) -> str:
    """The URI without its user, password and unknown parameters; anything that is no URI as it is."""
    scheme, mark, rest = uri.partition(URI_MARK)
    if not mark:
        return uri
    place, question, query = rest.partition("?")
    shown = "&".join(word for word in re.split("[&;]", query) if _is_shown(word))
    return f"{scheme}{mark}{_without_user(scheme, place)}{question if shown else ''}{shown}"


def _is_shown(word: str) -> bool:
    name, _, value = word.partition("=")
    return name.lower() in _SHOWN_PARAMETERS and "@" not in unquote(value)


def _without_user(scheme: str, place: str) -> str:
    """The place of a URI without the user. A secret key may hold slashes that should have been escaped: then it ends at the last @."""
    authority = place.partition("/")[0]
    user, at, _ = authority.rpartition("@")
    if at:
        is_container = scheme.lower() in _CONTAINERS and ":" not in user
        return place if is_container else place[len(user) + 1 :]
    name, colon, port = authority.rpartition(":")
    if not colon or port.isdigit() or authority.endswith("]"):
        return place
    # No port, so it is a password that is cut off by a slash of its own, or by the end.
    return place.rpartition("@")[2] if "@" in place else f"{name}:{REDACTED}"


def without_credentials(text: str, uri: str = "") -> str:
    """A message with every URI in it as `shown_uri` shows it, and without the credentials of `uri`, however they are quoted.

    What was meant as a URI and lacks a slash is cut too.
    """
    if URI_MARK in uri:
        text = text.replace(uri, shown_uri(uri))
        for piece in sorted(set(_credentials(uri)), key=len, reverse=True):
            text = text.replace(piece, REDACTED)
    text = _URI.sub(_shown_match, text) if URI_MARK in text else text
    return _SLIP.sub(_shown_slip, text)


@contextmanager
def errors_without_credentials() -> Iterator[None]:
    """Errors that are raised in the block say nothing that opens a store: others than our commands may write them down, such as Spark."""
    try:
        yield
    except MetashellError as error:
        error.args = tuple(without_credentials(word) if isinstance(word, str) else word for word in error.args)
        if isinstance(error, UsageError):
            error.argument = shown_uri(error.argument)
        raise


def _shown_match(match: re.Match[str]) -> str:
    uri = match[0].rstrip(_PUNCTUATION)
    return shown_uri(uri) + match[0][len(uri) :]


def _shown_slip(match: re.Match[str]) -> str:
    typed, rest = match.groups()
    mended = f"{typed.partition(':')[0]}{URI_MARK}"
    uri = rest.rstrip(_PUNCTUATION)
    return typed + shown_uri(mended + uri).removeprefix(mended) + rest[len(uri) :]


def _credentials(uri: str) -> Iterator[str]:
    """The parts of a URI that open its store: as they are written and as they are meant. A user without a password opens none."""
    scheme, _, rest = uri.partition(URI_MARK)
    place, _, query = rest.partition("?")
    shown = _without_user(scheme, place)
    hidden = place.removesuffix(shown).removesuffix("@") if place.endswith(shown) else place
    words = [word.partition("=")[2] for word in re.split("[&;]", query) if not _is_shown(word)]
    users = (hidden, *hidden.split(":")) if ":" in hidden else ()
    for piece in (*users, *words):
        for spelling in (piece, unquote(piece)):
            if len(spelling) >= _PIECE_SIZE_MIN:
                yield spelling
