"""What a commit asks of tables that have a log of their own: Delta Lake's, or Iceberg's."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import unquote

from metashell.codec.uris import URI_MARK, is_uri, shown_uri
from metashell.errors import UsageError
from metashell.stores.local import path_of_uri

DIVIDED_BY: Final = ("cluster_id", "date")
GLOB: Final = re.compile(r"([\[\]{}*?\\])")
"""What Hadoop takes for a pattern, unless a backslash stands before it."""
_SCHEMES_OF_HADOOP: Final = {"s3": "s3a", "s3a": "s3a", "s3n": "s3a", "gcs": "gs"}


@dataclass(frozen=True, slots=True)
class Look:
    """A table as it is: whether this lake made it, the number of the last commit that is in it (0: none), and its columns.

    `base` is the newest of its own versions or snapshots, None where it has none.
    """

    is_ours: bool
    number: int
    base: str | None
    schema: Any


class Tables(Protocol):
    """The tables of one lake."""

    def shown(self, table: str) -> str:
        """A table's place or name, for messages."""
        ...

    def look(self, table: str) -> Look | None:
        """How a table is, None where there is none."""
        ...

    def has(self, table: str, number: int, base: str | None) -> bool:
        """Whether a table has what commit `number` puts there; `base` is what its newest version was before.

        Errors: MetashellError where nothing shows that any more.
        """
        ...

    def lost(self, table: str, look: Look, last: int, rows: int) -> str:
        """What a table has lost of this lake, in words, where it was put back to an earlier version; else empty.

        `last` is the last commit that wrote to it, `rows` is what all of them wrote. Where its log does not go back far enough, nothing is
        known, and nothing is said.
        """
        ...

    def write(self, table: str, number: int, frame: Any, *, resets: bool) -> None:
        """Add rows to a table, which is made where there is none, or put them in place of all that it has."""
        ...


def back_at(number: int, last: int) -> str:
    """The words for a table that was put back to what an earlier commit had made of it, or to before all of them."""
    then = f"after commit {number}" if number else "before any commit"
    return f"was put back to what it was {then} of this lake, which wrote to it until {last}"


def require_readable(place: str) -> None:
    """Errors: UsageError for a folder whose parts Spark cannot read: Hadoop takes a colon beside a quoted character for a scheme."""
    uri = java_uri(place)
    path = uri.partition(URI_MARK)[2].partition("/")[2] if URI_MARK in uri else uri.partition(":")[2]
    if ":" in path and (found := GLOB.search(path)):
        raise UsageError(
            f"{shown_uri(place)}: Java's file systems read no folder with both : and {found[0]} in its name: name another --out", "--out"
        )


def java_uri(place: str) -> str:
    """A folder as Java's file systems know it: nothing is quoted, `s3://` is `s3a://`, and no key or setting is in it: plans show it."""
    if not is_uri(place):
        return _file_uri(os.path.abspath(place))
    scheme, _, rest = shown_uri(place).partition("?")[0].partition(URI_MARK)
    if scheme.lower() == "file":
        return _file_uri(path_of_uri(place))
    return f"{_SCHEMES_OF_HADOOP.get(scheme.lower(), scheme)}://{unquote(rest)}".rstrip("/")


def _file_uri(path: str) -> str:
    """A path as a URI: behind two slashes Java would look for a host."""
    return f"file:/{path.lstrip('/')}"
