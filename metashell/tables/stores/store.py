"""The operations of an output place, whether it is a folder on this machine or one in a store."""

from __future__ import annotations

from random import uniform
from time import sleep
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager
    from typing import Any, BinaryIO


LOCK = ".metashell-lock"
"""The file that is locked in a folder of this machine. It is none of the folder's files."""


LAKE: Final = "appends/_delta_log"
"""The folder that marks a lake (`tables.lake`)."""


class StoreFile(NamedTuple):
    """A file that is there: its name, relative to the folder, its bytes, and when it was written, by the clock of its store."""

    name: str
    size: int
    mtime_ms: int


class Held(Protocol):
    """A lock that is held."""

    def require(self) -> None:
        """Call it before each step that another writer must not see half of.

        Errors: MetashellError where it can have been lost: it is gone, or was not renewed in time, since this process slept or the store
        failed.
        """
        ...

    def listed(self, store: Store, folder: str) -> list[StoreFile]:
        """Return the files below a folder that the lock lies in, by a list that is not older than the lock. Errors: MetashellError."""
        ...


class Store(Protocol):
    """A folder that takes output. Every error is a MetashellError of one line, without credentials.

    `shown` names the folder in messages; `place` opens it again, and may hold credentials. Names are relative, with "/" between; what
    comes from data must be quoted in them: "", ".", ".." and "\\0" are refused.
    """

    place: str
    shown: str
    is_local: bool

    def shown_name(self, name: str) -> str:
        """Return the path or URI of a file, for messages."""
        ...

    def require_writable(self) -> None:
        """Find out before the work whether files can be written, found, read and removed here. Nothing of it stays."""
        ...

    def create(self, name: str, *, durable: bool = False) -> AbstractContextManager[BinaryIO]:
        """Open a new file, or one in another's place: it gets its name only after the block has ended without an error.

        With `durable` its bytes and its name are on disk by then.
        """
        ...

    def put(self, name: str, data: bytes, *, durable: bool = False) -> None:
        """Write a file of these bytes, as `create` does."""
        ...

    def put_file(self, name: str, path: str, *, durable: bool = False) -> None:
        """Move a file of this machine into the store, as `create` does; it is gone from its path afterwards."""
        ...

    def put_files(self, files: Iterable[tuple[str, str]]) -> None:
        """Move many (name, path) into the store, several at a time where that pays."""
        ...

    def read(self, name: str) -> bytes | None:
        """Return a whole file; None if there is none."""
        ...

    def get_file(self, name: str, path: str) -> None:
        """Copy a file to this machine, to an unused path. Errors: also if there is none."""
        ...

    def files(self, below: str = "") -> list[StoreFile]:
        """Return all files below a folder, at any depth, by name; no file that is being written."""
        ...

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """Return the bytes of those files that exist; each is read by its name, several at a time if that is quicker."""
        ...

    def move(self, source: str, target: str, size: int | None = None) -> None:
        """Give a file another name, in place of what had it; the target is whole at any time.

        Done already is no error: the source is gone and the target there, with the `size` that the file had, where the caller knows it.
        """
        ...

    def move_all(self, moves: Iterable[tuple[str, str, int | None]]) -> None:
        """Move many files (source, target, size), several at a time where that pays."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        ...

    def remove_all(self, names: Iterable[str]) -> None:
        """Remove many files, several at a time where that pays."""
        ...

    def remove_below(self, folder: str) -> None:
        """Remove a folder and all that is in it, if it is there."""
        ...

    def sync_names(self, names: Iterable[str]) -> None:
        """Return when the names of files that were written by `sink` are on disk."""
        ...

    def sink(self, name: str) -> str | tuple[Any, str]:
        """Return a path, or pyarrow's file system and a path in it, to write to directly.

        After a crash, or an error, part of the file may be there: for names that a later step moves, when all of them are whole.
        """
        ...

    def lock(self, purpose: str) -> AbstractContextManager[Held]:
        """Keep other writers out. Errors: UsageError where another has it: who, and since when."""
        ...


def checked_name(name: str) -> str:
    """Return a name that lies below its folder. Errors: ValueError, which is a mistake of ours: what comes from data is quoted."""
    if any(part in ("", ".", "..") for part in name.split("/")) or "\0" in name:
        raise ValueError(f"not a name of a file: {name!r}")
    return name


# ---- repeated requests

T = TypeVar("T")
WAITS_S: Final = (0.1, 0.4, 1.6)
"""The store's own client has tried several times before each of these."""
_PASSING: Final = (
    "HTTP status 5",
    "SLOW_DOWN",
    "THROTTLING",
    "REQUEST_TIMEOUT",
    "INTERNAL_FAILURE",
    "SERVICE_UNAVAILABLE",
    "NETWORK_CONNECTION",
    "curlCode",
    "onnection reset",
    "imed out",
    "imeout",
    "ncomplete",
)
"""Words of a store's errors about trouble that may pass."""
_HOPELESS: Final = ("curlCode: 6,", "curlCode: 7,", "curlCode: 60,", "UNKNOWN_HOST")
"""Among these: no such host, nothing listens there, a certificate that is not trusted."""


def retry(work: Callable[[], T], wait: Callable[[float], None] | None = None) -> T:
    """Return the result of work that may be repeated. Errors: that of the last try."""
    for seconds in WAITS_S:
        try:
            return work()
        except OSError as error:
            if isinstance(error, FileNotFoundError | PermissionError) or not is_transient(str(error)):
                raise
        _wait(seconds) if wait is None else wait(seconds)
    return work()


def is_transient(said: str) -> bool:
    """Return whether what a store said is worth another try."""
    return any(word in said for word in _PASSING) and not any(word in said for word in _HOPELESS)


def _wait(seconds: float) -> None:
    # Many workers that failed at once shall not come back at once.
    sleep(seconds * uniform(0.5, 1.5))
