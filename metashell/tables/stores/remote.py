"""A folder of an object store or of HDFS, through pyarrow's file systems.

A file comes to be by one call: an object of a store is there when its upload has ended, and an upload that was begun and left is none. But
pyarrow ends the upload of a stream that is closed or forgotten, also after an error. So whatever is written lies on this machine first, and
is then given to the stream as a whole; nothing can come between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from os import unlink
from os.path import dirname, splitext
from tempfile import NamedTemporaryFile
from threading import current_thread, main_thread
from typing import Any, BinaryIO, Final, TypeVar, cast
from urllib.parse import quote
from uuid import uuid4

from pyarrow import memory_map
from pyarrow.fs import FileSelector, FileType

from metashell.common.errors import PathError, UsageError
from metashell.common.uris import shown_uri
from metashell.disk.file_system import LOG_DIRECTORY_MARKS, errors_naming
from metashell.tables.stores.file_systems import TROUBLE, file_system, store_error
from metashell.tables.stores.store import Held, StoreFile, checked_name, retry

T = TypeVar("T")
_AT_ONCE: Final = 8
"""The number of requests that wait for the store at the same time."""
_COPIED: Final = 8 << 20
_TYPES: Final = {".html": "text/html; charset=utf-8", ".json": "application/json", ".csv": "text/csv; charset=utf-8"}
_BYTES: Final = "application/octet-stream"
"""Content types of files, for browsers."""
_RENAMES = frozenset(("hdfs", "viewfs"))
"""File systems that rename a file, but not onto another."""


class RemoteStore:
    """A folder in a store. It is opened at its first use."""

    is_local = False

    def __init__(self, place: str) -> None:
        self.place = place
        self.shown = shown_uri(place)
        self._opened: tuple[Any, str] | None = None

    def __reduce__(self) -> tuple[type[RemoteStore], tuple[str]]:
        return type(self), (self.place,)

    @property
    def _system(self) -> Any:
        return self._open()[0]

    @property
    def _top(self) -> str:
        return self._open()[1]

    def _open(self) -> tuple[Any, str]:
        if self._opened is None:
            system, top = file_system(self.place)
            if not top.strip("/"):
                raise UsageError(f"{self.shown}: names no folder", self.shown)
            self._opened = system, top.rstrip("/")
        return self._opened

    def shown_name(self, name: str) -> str:
        base, mark, query = self.shown.partition("?")
        return f"{base.rstrip('/')}/{quote(name, safe='/=')}{mark}{query}"

    def _path(self, name: str) -> str:
        return f"{self._top}/{checked_name(name)}"

    def _ask(self, name: str, work: Callable[[], T]) -> T:
        """Do what may be repeated. Errors: PathError."""
        try:
            return retry(work)
        except TROUBLE as error:
            raise self._error(name, error) from error

    def _error(self, name: str, error: Exception) -> PathError:
        said = str(store_error(self.place, error)).removeprefix(f"{self.shown}: ")
        shown = self.shown_name(name) if name else self.shown
        return PathError(f"{shown}: {said}", shown)

    def require_writable(self) -> None:
        """Write, find, read and remove a small file. Errors: PathError, for whatever does not work."""
        kind = self._ask("", lambda: self._info(self._top)).type
        if kind == FileType.File:
            raise PathError(f"{self.shown}: Not a directory", self.shown)
        folders = [dirname(self._top), *([self._top] if kind == FileType.Directory else [])]
        marks: list[str] = []
        _several(
            lambda path: marks.extend(self._found("", path)),
            [f"{folder}/{mark}" for folder in folders if folder for mark in LOG_DIRECTORY_MARKS],
        )
        if marks:
            raise PathError(f"{self.shown}: is or lies in a metadata directory, which is only read", self.shown)
        name = f".metashell-probe-{uuid4().hex}"
        path = self._path(name)
        _uninterrupted(lambda: self._ask("", lambda: self._write(path, b"probe")))
        found = self._ask("", lambda: self._info(path))
        self._ask("", lambda: _without(self._system, path))
        if found.type != FileType.File:
            raise PathError(f"{self.shown}: what is written there is not found again", self.shown)

    def _found(self, name: str, path: str) -> list[str]:
        """Return the path if a file is there. Opening it is one request; otherwise pyarrow asks for a folder too. Errors: PathError."""

        def work() -> list[str]:
            try:
                self._system.open_input_file(path).close()
            except FileNotFoundError:
                return []
            return [path]

        return self._ask(name, work)

    def has(self, name: str) -> bool:
        """Return whether a file is there."""
        return bool(self._found(name, self._path(name)))

    def _info(self, path: str | Sequence[str]) -> Any:
        return self._system.get_file_info(path)

    @contextmanager
    def create(self, name: str, *, durable: bool = False) -> Iterator[BinaryIO]:
        with NamedTemporaryFile("wb", prefix="metashell-") as file:
            yield cast("BinaryIO", file)
            file.flush()
            self._upload(name, file.name)

    def put(self, name: str, data: bytes, *, durable: bool = False) -> None:
        path = self._path(name)
        _uninterrupted(lambda: self._ask(name, lambda: self._write(path, data)))

    def put_file(self, name: str, path: str, *, durable: bool = False) -> None:
        self._upload(name, path)
        unlink(path)

    def put_files(self, files: Iterable[tuple[str, str]]) -> None:
        _several(lambda one: self.put_file(*one), files)

    def _upload(self, name: str, local: str) -> None:
        path = self._path(name)
        with memory_map(local) as file:
            data = file.read_buffer()
            _uninterrupted(lambda: self._ask(name, lambda: self._write(path, data)))

    def _write(self, path: str, data: Any) -> None:
        """Write everything in one call: closing afterwards ends an upload that is whole."""
        if self._system.type_name in _RENAMES:
            self._write_and_rename(path, data)
            return
        stream = self._system.open_output_stream(path, metadata={"Content-Type": _TYPES.get(splitext(path)[1], _BYTES)})
        try:
            stream.write(data)
        except BaseException:
            # Left open it would keep the process from ending. What was not written as a whole is not there after this either.
            with suppress(*TROUBLE):
                stream.close()
            raise
        stream.close()

    def _write_and_rename(self, path: str, data: Any) -> None:
        folder, _, base = path.rpartition("/")
        unfinished = f"{folder}/.{base}.{uuid4().hex}.part"
        self._system.create_dir(folder, recursive=True)
        try:
            with self._system.open_output_stream(unfinished) as stream:
                stream.write(data)
            with suppress(FileNotFoundError):
                self._system.delete_file(path)
            self._system.move(unfinished, path)
        except TROUBLE:
            with suppress(*TROUBLE):
                self._system.delete_file(unfinished)
            raise

    def read(self, name: str) -> bytes | None:
        path = self._path(name)

        def work() -> bytes | None:
            try:
                with self._system.open_input_file(path) as file:
                    return bytes(file.read())
            except FileNotFoundError:
                return None

        return self._ask(name, work)

    def get_file(self, name: str, path: str) -> None:
        source = self._path(name)

        def work() -> None:
            with self._system.open_input_file(source) as file, open(path, "wb", buffering=0) as copy:
                size = file.size()
                while (start := copy.tell()) < size:
                    data = file.read_at(min(_COPIED, size - start), start)
                    if not data:
                        raise OSError(f"ended after {start} bytes: incomplete")
                    with errors_naming(path):
                        copy.write(data)

        self._ask(name, work)

    def files(self, below: str = "") -> list[StoreFile]:
        top = self._path(below) if below else self._top
        found = self._ask(below, lambda: self._system.get_file_info(FileSelector(top, recursive=True, allow_not_found=True)))
        cut = len(self._top) + 1
        return sorted(
            StoreFile(entry.path[cut:], entry.size, (entry.mtime_ns or 0) // 1_000_000)
            for entry in found
            if entry.type == FileType.File and not _is_unfinished(entry.base_name)
        )

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        found: dict[str, int] = {}

        def ask(name: str) -> None:
            path = self._path(name)
            entry = self._ask(name, lambda: self._info(path))
            if entry.type == FileType.File:
                found[name] = entry.size

        _several(ask, names)
        return found

    def move(self, source: str, target: str, size: int | None = None) -> None:
        """Stores copy and delete: the target is whole all the time, and after a crash both may be there, which a repetition mends."""
        old, new = self._path(source), self._path(target)

        def work() -> None:
            if self._info(old).type == FileType.NotFound:
                found = self._info(new)
                if found.type == FileType.NotFound:
                    raise FileNotFoundError("no such file")
                if size not in (None, found.size):
                    raise FileNotFoundError(f"no such file, and {self.shown_name(target)} has {found.size} bytes, not {size}")
                return
            if self._system.type_name in _RENAMES:
                self._system.create_dir(new.rpartition("/")[0], recursive=True)
                if self._info(new).type != FileType.NotFound:
                    self._system.delete_file(new)
                self._system.move(old, new)
                return
            self._system.copy_file(old, new)
            _without(self._system, old)

        self._ask(source, work)

    def move_all(self, moves: Iterable[tuple[str, str, int | None]]) -> None:
        _several(lambda one: self.move(*one), moves)

    def remove(self, name: str) -> None:
        path = self._path(name)
        self._ask(name, lambda: _without(self._system, path))

    def remove_all(self, names: Iterable[str]) -> None:
        _several(self.remove, names)

    def remove_below(self, folder: str) -> None:
        path = self._path(folder)

        def work() -> None:
            with suppress(FileNotFoundError):
                self._system.delete_dir(path)

        self._ask(folder, work)

    def sync_names(self, names: Iterable[str]) -> None:
        """Do nothing: a store has what it has acknowledged."""

    def sink(self, name: str) -> tuple[Any, str]:
        path = self._path(name)
        if self._system.type_name in _RENAMES:
            self._ask(name, lambda: self._system.create_dir(path.rpartition("/")[0], recursive=True))
        return self._system, path

    def lock(self, purpose: str) -> AbstractContextManager[Held]:
        from metashell.tables.stores.locks import store_lock

        return store_lock(self, purpose)


def _uninterrupted(work: Callable[[], None]) -> None:
    """Do it in another thread, which Ctrl-C does not reach: between opening and writing it would leave an empty file."""
    if current_thread() is main_thread():
        _several(lambda _: work(), (None,))
    else:
        work()


def _several(work: Callable[[T], None], items: Iterable[T]) -> None:
    """Do it for each, a few at a time: each is a request that waits. Errors: the first, when none is running any more."""
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        for running in [pool.submit(work, item) for item in items]:
            running.result()
    finally:
        # After an error, or Ctrl-C, what has not begun never does.
        pool.shutdown(cancel_futures=True)


def _without(system: Any, path: str) -> None:
    with suppress(FileNotFoundError):
        system.delete_file(path)


def _is_unfinished(name: str) -> bool:
    return name.startswith(".") and name.endswith(".part")
