"""The frames of a file, window by window."""

from __future__ import annotations

from metashell.codec.batches import LEAD_SIZE, MAGIC_END
from metashell.codec.framing import Window, find_frames, unpack_length
from metashell.log.files import OpenFile

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
