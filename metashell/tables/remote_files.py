"""Files of object stores and HDFS, through pyarrow's file systems: `file://`, `s3://`, `hdfs://`, `gs://`; see stores/file_systems."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from os.path import basename, dirname
from typing import Any
from urllib.parse import quote

from pyarrow.fs import FileSelector, FileType

from metashell.common.errors import MetashellError, PathError
from metashell.common.uris import shown_uri
from metashell.disk.files import OpenFile, unpacked
from metashell.disk.names import Closing
from metashell.tables.stores.file_systems import TROUBLE, errors_of, file_system, nothing_at, store_error
from metashell.tables.stores.store import is_transient, retry

_SMALL_MAX = 1 << 16
_PIECE = 8 << 20
_HEAD = 1 << 16


def remote_input(uri: str) -> tuple[RemoteTree, str, bool]:
    """Return the target of a URI: a tree of files, the URI's path in it, and whether that is a folder. Errors: UsageError."""
    system, path = file_system(uri)
    with errors_of(uri):
        info = retry(lambda: system.get_file_info(path))
    if info.type == FileType.NotFound:
        raise nothing_at(uri, system, path)
    tree = RemoteTree(uri, system, path)
    tree.add(info)
    return tree, path, info.type == FileType.Directory


def version_now(uri: str) -> str | None:
    """Return the `RemoteFile.version` of the file at a URI, which changes with the file; None if there is none any more."""
    system, path = file_system(uri)

    def work() -> str | None:
        try:
            with system.open_input_file(path) as file:
                return _version(file)
        except FileNotFoundError:
            return None

    with errors_of(uri):
        return retry(work)


def _version(file: Any) -> str:
    """Return the store's tag for the content of an opened file, or its size and when it was written; empty if it says neither."""
    said = file.metadata() or {}
    found = said.get("ETag") or said.get("Last-Modified") or b""
    return f"{file.size()} {found.decode()}" if found else ""


class RemoteTree:
    """The files of a store, below or beside the path of a URI."""

    def __init__(self, uri: str, system: Any, top: str) -> None:
        self._uri = uri
        self._system = system
        self._top = top.rstrip("/")
        self._versions: dict[str, str] = {}

    def walk(self, top: str) -> Iterator[tuple[str, list[str]]]:
        with errors_of(self._uri):
            below = retry(lambda: self._system.get_file_info(FileSelector(top, recursive=True, allow_not_found=True)))
        folders: dict[str, list[str]] = {}
        for entry in below:
            if entry.type == FileType.File:
                self.add(entry)
                folders.setdefault(dirname(entry.path), []).append(basename(entry.path))
        yield from sorted(folders.items())

    def add(self, entry: Any) -> None:
        """Note when a file was written, by the clock of its store."""
        self._versions[entry.path] = str(entry.mtime_ns or "")

    def version(self, folder: str, name: str) -> str:
        """Return the time at which a listed file was written, as a text; empty where the store does not give it."""
        return self._versions.get(f"{folder}/{name}", "")

    def place(self, folder: str, name: str = "") -> str:
        """Return the URI of a folder or of a file in it; the query stays behind it."""
        base, mark, query = self._uri.partition("?")
        if folder != self._top and not folder.startswith(f"{self._top}/"):
            above = dirname(base.rstrip("/"))  # the folder of a named file, or the one above a named folder
            return f"{above}/{quote(name)}{mark}{query}" if name else above
        below = folder[len(self._top) :].strip("/")
        found = "/".join(filter(None, (base.rstrip("/"), quote(below), quote(name))))
        return found + mark + query if name else found

    def name(self, folder: str) -> str:
        return basename(folder.rstrip("/"))

    def parent(self, folder: str) -> str:
        return dirname(folder.rstrip("/"))

    def open(self, place: str) -> OpenFile:
        # What is there is judged by it: a store that fails must not make a log shorter.
        return open_remote(place, strict=True)

    def fetch(self, folder: str, name: str, target: str) -> None:
        """Copy a file into a folder of this machine. Errors: PathError where the store fails, or the copy cannot be written."""
        path = os.path.join(target, name)
        os.makedirs(target, exist_ok=True)

        def work() -> None:
            with self._system.open_input_stream(f"{folder}/{name}") as file, open(path, "wb") as copy:
                while data := file.read(_PIECE):
                    try:
                        copy.write(data)
                    except OSError as error:
                        raise PathError.of(path, error) from error

        with errors_of(self._uri):
            retry(work)

    def read(self, folder: str, name: str) -> bytes | None:
        """Return a small file, None where it cannot be read. Errors: PathError where the store fails: the file may name a log's cluster."""

        def work() -> bytes:
            with self._system.open_input_file(f"{folder}/{name}") as file:
                return bytes(file.read(_SMALL_MAX))

        try:
            return retry(work)
        except TROUBLE as error:
            if is_transient(str(error)):
                raise store_error(self._uri, error) from error
            return None


def open_remote(uri: str, *, strict: bool = False) -> OpenFile:
    """Return a remote file, read by position. Errors: UsageError where it cannot be opened."""
    system, path = file_system(uri)
    with errors_of(uri):
        file = RemoteFile(uri, retry(lambda: system.open_input_file(path)), lambda: system.get_file_info(path).type, strict=strict)
    return unpacked(file)


class RemoteFile(Closing):
    """A file of a pyarrow file system in the form of our opened files."""

    batch_size_max = (1 << 31) + 11
    is_far = True

    def __init__(self, name: str, file: Any, look: Callable[[], Any], *, strict: bool = False) -> None:
        """`look` finds out what lies there now; `strict` is that of `open_input`."""
        self.name = shown_uri(name)
        self._uri = name
        self.trouble: str | None = None
        self._file = file
        self._look = look
        self._strict = strict
        self._size = int(file.size())
        self._head = b""

    @property
    def version(self) -> str:
        """A text that changes when the store gets another file of this name."""
        return _version(self._file)

    def read_at(self, position: int, size: int) -> bytes:
        size = min(size, self._size - position)
        if size <= 0:
            return b""
        if position + size <= len(self._head):
            return self._head[position : position + size]
        try:
            return retry(lambda: self._bytes(position, size))
        except TROUBLE as error:
            found = store_error(self._uri, error)
            if self._strict:
                # A file that is gone is one that cannot be opened; a store that fails says nothing of the file.
                raise found if isinstance(error, FileNotFoundError) else MetashellError(str(found)) from error
            self.trouble = str(found)
            return b""

    def _bytes(self, position: int, size: int) -> bytes:
        try:
            return bytes(self._file.read_at(size, position))
        except OSError:
            # S3's client says no more than that the answer was no file, whatever the reason.
            if self._look() == FileType.NotFound:
                raise FileNotFoundError("it was removed while it was read") from None
            raise

    def size(self) -> int | None:
        return self._size

    def peek(self, size: int) -> bytes:
        """Return the first bytes. More than that are kept: what follows asks for them, and a small file is then read by one request."""
        if len(self._head) < min(size, self._size):
            self._head = self.read_at(0, max(size, _HEAD))
        return self._head[:size]

    def close(self) -> None:
        self._file.close()
