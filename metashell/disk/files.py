"""Opened files that are read by position, front to back: regular files, pipes, and compressed streams over either.

Files are only ever read: no lock, no mmap (a file cut under a map kills the process), nothing created. A file that shrinks or vanishes
under a reader ends earlier, as if it had been that short. What cannot be read any further is reported through `trouble` rather than
raised, so that everything before it is still used. `WindowReader` finds the frames of a file, one window after the other."""

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
"""The name of standard input where `-` opened it."""

_IN_A_STORE = "this reads files of this machine only; metashell export, report and sql read stores"


class OpenFile(Protocol):
    """A file that is open for reading.

    `read_at` gives up to `size` bytes, fewer only at the end; a stream takes no position before the last one given.
    `size()` is what there is now, None when only reading can show it. `peek` gives the first bytes, which may be read again, also of a
    stream, before anything else was read. `batch_size_max` bounds what one batch may make a
    reader hold where the bytes do not bound it themselves.
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
    """`path` opened for reading; `-` is standard input; what is compressed is known by its first bytes and expanded.

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
    """A file of an opened directory, by name.

    Errors: OSError as the system gives it: to the reader of a live directory a missing file is news, not a mistake; one too for an
    archive.
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
    """A regular file as its bytes are, compressed or not. Errors: OSError."""
    return RegularFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC), path)


def is_stream(path: str) -> bool:
    """Whether a path is standard input, a pipe or the like: what is read of it is gone."""
    if path in STREAM_NAMES:
        return True
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def unpacked(file: OpenFile) -> OpenFile:
    """The file itself, or what it expands to. Errors: UsageError for an archive, after which the file is closed."""
    head = file.peek(HEAD_SIZE)
    packing = packing_of(head)
    if packing is None:
        return _refuse_archive(file, archive_of(head), "")
    from metashell.disk.compressed_files import CompressedFile

    return _refuse_archive(CompressedFile(file, packing), None, f" ({packing})")


def _refuse_archive(file: OpenFile, kind: str | None, how: str) -> OpenFile:
    """The file, unless it is an archive, which holds other files."""
    # A log begins with an offset, and so with a zero; a tar archive with the name of a file.
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
        size = min(size, (self.size() or 0) - position)  # what a broken length asks for is not allocated
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
"""Bytes of a file that are read at a time; one batch where that is larger."""


class WindowReader:
    """Reads a file window by window, and no byte of it before it is wanted.

    `limit` ends the walk early, as --max-bytes does. The size of a regular file is taken when the reader is made, so that a file which
    grows is read up to a fixed end; `grow` moves that on. `batch_size_max` bounds what a length may make us hold; `window_size` may be
    changed between two windows.
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
        """Let the walk end where a regular file ends now; whether that is further than before."""
        before = self.end
        ends = [end for end in (self.file.size(), self._limit) if end is not None]
        self.end = min(ends) if ends else None
        return before is not None and self.end is not None and self.end > before

    def read(self, position: int) -> Window:
        """The window that starts at `position`, which is where the one before ended."""
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
        """Up to `size` bytes from `position` on, and whether the file ends with them."""
        if self.end is not None:
            size = max(min(size, self.end - position), 0)
        carried = self._carried
        missing = size - len(carried)
        more = self.file.read_at(position + len(carried), missing) if missing > 0 else b""
        buf = carried + more if carried else more
        is_last = len(buf) < size or (self.end is not None and position + len(buf) >= self.end)
        return buf, is_last
