"""Opened files that are read by position, front to back: regular files, pipes, and compressed streams over either.

Files are only read: no lock, no mmap (if another process truncates a mapped file, the reader dies of SIGBUS), nothing created. A file that
shrinks or vanishes during reading just ends earlier. A read error is reported through `trouble` instead of raised, so that everything
before it is still used. `WindowReader` finds the frames of a file, one window after the other."""

from __future__ import annotations

import os
import stat
from errno import EINVAL, EISDIR, ENOENT, ENOTDIR
from types import TracebackType
from typing import Protocol, Self

from metashell.codec.batches import LEAD_SIZE, MAGIC_END
from metashell.codec.framing import Window, find_frames, unpack_length
from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.common.errors import PathError, UsageError
from metashell.disk.names import HEAD_SIZE, TAR_MARK, TAR_MARK_AT, Closing, FrontToBack, archive_of, packing_of

STREAM_NAMES = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
STDIN_NAME = "<stdin>"
"""The name of standard input that was opened as `-`."""

_IN_A_STORE = "this reads files of this machine only; metashell export, report and sql read stores"


class OpenFile(Protocol):
    """A file that is open for reading.

    `read_at` returns up to `size` bytes, fewer only at the end; a stream cannot go back before the last position. `size()` is the current
    size, None if only reading can show it. `peek` returns the first bytes and keeps them readable, also in a stream before its first read.
    `batch_size_max` bounds the memory of a batch where the file's size does not.
    """

    name: str
    trouble: str | None
    batch_size_max: int

    def read_at(self, position: int, size: int) -> bytes: ...
    def peek(self, size: int) -> bytes: ...
    def size(self) -> int | None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


def open_file(path: str) -> OpenFile:
    """Open `path` for reading; `-` is standard input. A compressed file is recognized by its first bytes and expanded.

    Errors: UsageError for a path that cannot be opened, or that is a directory or an archive.
    """
    try:
        file = _open_plain(path)
    except OSError as error:
        from metashell.common.uris import is_uri, shown_uri

        if is_uri(path) and error.errno in (ENOENT, ENOTDIR):
            raise PathError(f"{shown_uri(path)}: {_IN_A_STORE}", shown_uri(path)) from error
        raise PathError.of(path, error) from error
    return unpacked(file)


def open_at(directory: int, name: str, label: str) -> OpenFile:
    """Open a file of an opened directory, by name.

    Errors: OSError, also for an archive. It is not a UsageError, because the reader of a live directory expects missing files.
    """
    fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=directory)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(EISDIR, "not a regular file", label)
    try:
        return unpacked(RegularFile(fd, label))
    except UsageError as error:
        raise OSError(EINVAL, str(error).removeprefix(f"{label}: "), label) from None


def _open_plain(path: str) -> RegularFile | StreamFile:
    if path in STREAM_NAMES:
        return StreamFile(os.dup(0), STDIN_NAME if path == "-" else path)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    mode = os.fstat(fd).st_mode
    if stat.S_ISDIR(mode):
        os.close(fd)
        raise UsageError(f"{path}: Is a directory", path)
    return RegularFile(fd, path) if stat.S_ISREG(mode) else StreamFile(fd, path)


def open_regular(path: str) -> RegularFile:
    """Open a regular file without expanding it. Errors: OSError."""
    return RegularFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC), path)


def is_stream(path: str) -> bool:
    """Whether a path is standard input, a pipe or the like, which can be read once only."""
    if path in STREAM_NAMES:
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def unpacked(file: OpenFile) -> OpenFile:
    """The file, expanded if it is compressed. Errors: UsageError for an archive; the file is closed then."""
    head = file.peek(HEAD_SIZE)
    packing = packing_of(head)
    if packing is None:
        return _refuse_archive(file, archive_of(head), "")
    from metashell.disk.compressed_files import CompressedFile

    return _refuse_archive(CompressedFile(file, packing), None, f" ({packing})")


def _refuse_archive(file: OpenFile, kind: str | None, how: str) -> OpenFile:
    """Return the file, unless it is an archive of other files."""
    # A log begins with an offset, so with a zero byte; a tar archive begins with a file name.
    if kind is None and file.peek(1) > b"\0" and file.peek(_TAR_HEAD_SIZE)[TAR_MARK_AT:_TAR_HEAD_SIZE] == TAR_MARK:
        kind = f"a tar archive{how}"
    if kind is None:
        return file
    file.close()
    raise UsageError(f"{file.name}: {kind}, not a log: unpack it first", file.name)


_TAR_HEAD_SIZE = TAR_MARK_AT + len(TAR_MARK)


class RegularFile(Closing):
    """A regular file, read with `pread`: it has no position of its own."""

    def __init__(self, fd: int, name: str) -> None:
        self.name = name
        self._fd = fd

    def read_at(self, position: int, size: int) -> bytes:
        size = min(size, (self.size() or 0) - position)  # a broken length must not allocate memory
        if size <= 0:
            return b""
        try:
            data = os.pread(self._fd, size, position)
            if 0 < len(data) < size:
                data += self.read_at(position + len(data), size - len(data))
        except OSError as error:
            self.trouble = error.strerror or str(error)
            return b""
        return data

    def size(self) -> int | None:
        return os.fstat(self._fd).st_size

    def peek(self, size: int) -> bytes:
        return self.read_at(0, size)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class StreamFile(FrontToBack):
    """A pipe, socket or terminal: read once, front to back."""

    batch_size_max = MAX_DECOMPRESSED

    def __init__(self, fd: int, name: str) -> None:
        super().__init__()
        self.name = name
        self._fd = fd

    def read_at(self, position: int, size: int) -> bytes:
        assert position >= self._position, "a stream is read front to back"
        return super().read_at(position, size)

    def _more(self, size: int) -> bytes:
        try:
            return os.read(self._fd, size)
        except OSError as error:
            self.trouble = error.strerror or str(error)
            return b""

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


WINDOW_SIZE = 1 << 20
"""The bytes of a file to read at a time; a larger batch is read as a whole."""


class WindowReader:
    """Reads a file window by window, each when it is needed.

    `limit` ends the walk early, as --max-bytes does. A regular file is read to its size at the reader's creation, even if it grows; `grow`
    moves this end. `batch_size_max` bounds the memory for a batch, whatever its length field says. `window_size` may change between two
    windows.
    """

    def __init__(self, file: OpenFile, limit: int | None, batch_size_max: int, window_size: int = WINDOW_SIZE) -> None:
        self.file = file
        self.batch_size_max = batch_size_max
        self.window_size = window_size
        self._limit = limit
        self._carried = b""
        self.end: int | None = None
        self.grow()
        self.is_stream = file.size() is None

    def grow(self) -> bool:
        """Move the end of the walk to the current end of a regular file. Returns whether it moved."""
        before = self.end
        ends = [end for end in (self.file.size(), self._limit) if end is not None]
        self.end = min(ends) if ends else None
        return before is not None and self.end is not None and self.end > before

    def read(self, position: int) -> Window:
        """The window that starts at `position`, the end of the one before."""
        size = self.window_size
        while True:
            buf, is_last = self._bytes(position, size)
            window = find_frames(buf, position, self._left(position, buf, is_last), self.batch_size_max)
            if window.frames or window.stop is not None:
                self._carried = buf[window.next - position :] if self.is_stream else b""
                return window
            # The first batch is larger than the window.
            self._carried = buf if self.is_stream else b""
            size = max(LEAD_SIZE + unpack_length(buf, 8)[0], MAGIC_END)

    def _left(self, position: int, buf: bytes, is_last: bool) -> int | None:
        if is_last or self.end is None:
            return len(buf) if is_last else None
        return self.end - position

    def _bytes(self, position: int, size: int) -> tuple[bytes, bool]:
        """Up to `size` bytes from `position` on, and whether the file ends there."""
        if self.end is not None:
            size = max(min(size, self.end - position), 0)
        carried = self._carried
        missing = size - len(carried)
        more = self.file.read_at(position + len(carried), missing) if missing > 0 else b""
        buf = carried + more if carried else more
        is_last = len(buf) < size or (self.end is not None and position + len(buf) >= self.end)
        return buf, is_last
