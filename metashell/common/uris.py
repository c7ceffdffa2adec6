"""URIs of stores without their credentials: users, passwords, keys and tokens are removed before anything is shown.

A store is opened with the whole URI. Rows, manifests, pages, messages and logs name it by `shown_uri`, so that two URIs that differ only in
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
"""A mistyped URI of a store that lacks a slash: it may contain keys too."""
_PUNCTUATION = ":;,.!?)]}"
"""Characters that may follow a URI in a sentence."""
_CONTAINERS = frozenset(("abfs", "abfss", "wasb", "wasbs"))
"""The schemes with a container before the @, as in `abfs://container@account.dfs.core.windows.net`."""
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
"""Parameters of stores without secrets; every other one is removed, because we do not know what it is."""
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_PIECE_SIZE_MIN = 4
"""Shorter pieces of a URI are not removed from a text: they occur in any sentence."""


def is_uri(path: str) -> bool:
    """Whether a path is the URI of a store, such as `s3://bucket/key`."""
    return URI_MARK in path


def place_and_query(path: str) -> tuple[str, str]:
    """The place of a path or URI, and a URI's query with its `?`: the query has access parameters, and may contain slashes."""
    place, mark, query = path.partition("?") if is_uri(path) else (path, "", "")
    return place, mark + query


def file_name(path: str) -> str:
    """The file's name in a path or URI."""
    return place_and_query(path)[0].rpartition("/")[2]


def folder_of(path: str) -> str:
    """The folder of a path or URI, in a form that can be opened: a URI keeps its query."""
    place, query = place_and_query(path)
    return os.path.dirname(place) + query


def path_below(folder: str, name: str) -> str:
    """The path or URI of a name below a folder."""
    place, query = place_and_query(folder)
    return f"{os.path.join(place, name)}{query}" if name else folder


def expand_braces(pattern: str) -> list[str]:
    """The patterns without braces for one with braces, such as `{a,b}`."""
    match = _BRACES.search(pattern)
    if match is None:
        return [pattern]
    return [done for word in match[1].split(",") for done in expand_braces(pattern[: match.start()] + word + pattern[match.end() :])]


def shown_uri(uri: str) -> str:
    """The URI without its user, password and unknown parameters; other texts unchanged."""
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
    """The place of a URI without the user. A secret key may contain unescaped slashes, so it ends at the last @."""
    authority = place.partition("/")[0]
    user, at, _ = authority.rpartition("@")
    if at:
        is_container = scheme.lower() in _CONTAINERS and ":" not in user
        return place if is_container else place[len(user) + 1 :]
    name, colon, port = authority.rpartition(":")
    if not colon or port.isdigit() or authority.endswith("]"):
        return place
    # This is not a port, so it is a password, cut off by a slash in it or by the end.
    return place.rpartition("@")[2] if "@" in place else f"{name}:{REDACTED}"


def without_credentials(text: str, uri: str = "") -> str:
    """A message with `shown_uri` applied to every URI in it, and without the credentials of `uri`, however they are quoted.

    Mistyped URIs that lack a slash are treated alike.
    """
    if URI_MARK in uri:
        text = text.replace(uri, shown_uri(uri))
        for piece in sorted(set(_credentials(uri)), key=len, reverse=True):
            text = text.replace(piece, REDACTED)
    text = _URI.sub(_shown_match, text) if URI_MARK in text else text
    return _SLIP.sub(_shown_slip, text)


@contextmanager
def errors_without_credentials() -> Iterator[None]:
    """A block whose errors have no credentials in their messages: programs such as Spark write messages to their logs."""
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
    """The credentials in a URI, both as written and unquoted. A user without a password is not one."""
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
