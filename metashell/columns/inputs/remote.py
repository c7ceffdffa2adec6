"""Files of object stores and HDFS, through pyarrow's file systems: `file://`, `s3://`, `hdfs://`, `gs://`; see stores/file_systems."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from os.path import basename, dirname
from typing import Any
from urllib.parse import quote

from pyarrow.fs import FileSelector, FileType

from metashell.codec.uris import shown_uri
from metashell.errors import PathError
from metashell.log.file_kinds import Closing
from metashell.log.files import OpenFile, unpacked
from metashell.stores.file_systems import TROUBLE, errors_of, file_system, store_error
from metashell.stores.retrying import again, may_pass

_SMALL_MAX = 1 << 16
_PIECE = 8 << 20


def remote_input(uri: str) -> tuple[RemoteTree, str, bool]:
    """What lies at a URI: a tree of files, the URI's path in it, and whether that is a folder. Errors: UsageError."""
    system, path = file_system(uri)
    with errors_of(uri):
        info = again(lambda: system.get_file_info(path))
    if info.type == FileType.NotFound:
        raise PathError(f"{shown_uri(uri)}: No such file or directory", shown_uri(uri))
    return RemoteTree(uri, system, path), path, info.type == FileType.Directory


class RemoteTree:
    """The files of a store, below or beside the path of a URI."""

    def __init__(self, uri: str, system: Any, top: str) -> None:
        self._uri = uri
        self._system = system
        self._top = top.rstrip("/")

    def walk(self, top: str) -> Iterator[tuple[str, list[str]]]:
        with errors_of(self._uri):
            below = again(lambda: self._system.get_file_info(FileSelector(top, recursive=True, allow_not_found=True)))
        folders: dict[str, list[str]] = {}
        for entry in below:
            if entry.type == FileType.File:
                folders.setdefault(dirname(entry.path), []).append(basename(entry.path))
        yield from sorted(folders.items())

    def place(self, folder: str, name: str = "") -> str:
        """The URI of a folder or of a file in it; the query stays behind it."""
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
        return open_remote(place)

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
            again(work)

    def read(self, folder: str, name: str) -> bytes | None:
        """A small file, None where it cannot be read. Errors: PathError where the store fails: it may say of which cluster a log is."""

        def work() -> bytes:
            with self._system.open_input_file(f"{folder}/{name}") as file:
                return bytes(file.read(_SMALL_MAX))

        try:
            return again(work)
        except TROUBLE as error:
            if may_pass(str(error)):
                raise store_error(self._uri, error) from error
            return None


def open_remote(uri: str) -> OpenFile:
    """A remote file, read by position. Errors: UsageError where it cannot be opened."""
    system, path = file_system(uri)
    with errors_of(uri):
        file = RemoteFile(uri, again(lambda: system.open_input_file(path)), lambda: system.get_file_info(path).type)
    return unpacked(file)


class RemoteFile(Closing):
    """A file of a pyarrow file system in the form of our opened files."""

    batch_size_max = (1 << 31) + 11
    is_far = True

    def __init__(self, name: str, file: Any, look: Callable[[], Any]) -> None:
        """`look` finds out what lies there now."""
        self.name = shown_uri(name)
        self._uri = name
        self.trouble: str | None = None
        self._file = file
        self._look = look
        self._size = int(file.size())

    def read_at(self, position: int, size: int) -> bytes:
        size = min(size, self._size - position)
        if size <= 0:
            return b""
        try:
            return again(lambda: self._bytes(position, size))
        except TROUBLE as error:
            self.trouble = str(store_error(self._uri, error))
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
        return self.read_at(0, size)

    def close(self) -> None:
        self._file.close()
