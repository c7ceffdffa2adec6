"""A gzip file or stream, expanded while it is read: compressed copies of logs need no unpacking first."""

from __future__ import annotations

import zlib

from metashell.codec.compression import MAX_DECOMPRESSED
from metashell.log.files import PIECE_SIZE, RegularFile, StreamFile, _Closing

_GZIP_WINDOW = 31


class GzipFile(_Closing):
    """The expanded bytes of a gzip file, of one or more members; going back means expanding it from its start.

    Never more than a piece is expanded at once, and one batch may take at most the decompression cap.
    """

    batch_size_max = MAX_DECOMPRESSED

    def __init__(self, packed: RegularFile | StreamFile) -> None:
        self.name = packed.name
        self._packed = packed
        self._start()

    def _start(self) -> None:
        self._packed_position = 0
        self._position = 0
        self._input = b""
        self._expander = zlib.decompressobj(_GZIP_WINDOW)
        self.trouble = None

    def read_at(self, position: int, size: int) -> bytes:
        if position < self._position:
            self._start()  # of a stream the packed file refuses to go back
        while self._position < position:
            if not self._expand(min(position - self._position, PIECE_SIZE)):
                return b""
        pieces = []
        while size > 0 and (piece := self._expand(min(size, PIECE_SIZE))):
            pieces.append(piece)
            size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _expand(self, size: int) -> bytes:
        """Up to `size` more bytes; none at the end, or where the stream is broken."""
        while self.trouble is None:
            if self._expander.eof and not self._next_member():
                return b""
            self._fill()
            try:
                data = self._expander.decompress(self._input, size)
            except zlib.error as error:
                self.trouble = f"gzip stream is broken: {error}"
                return b""
            ended = not self._input
            self._input = self._expander.unconsumed_tail or self._expander.unused_data
            if data:
                self._position += len(data)
                return data
            if ended and not self._expander.eof:
                self.trouble = self._packed.trouble or "gzip stream is cut off"
        return b""

    def _fill(self) -> None:
        if not self._input:
            self._input = self._packed.read_at(self._packed_position, PIECE_SIZE)
            self._packed_position += len(self._input)

    def _next_member(self) -> bool:
        """Whether another member follows; zeros after the last one are padding."""
        self._input = self._input.lstrip(b"\0")
        self._fill()
        self._input = self._input.lstrip(b"\0")
        if self._input:
            self._expander = zlib.decompressobj(_GZIP_WINDOW)
        return bool(self._input)

    def size(self) -> int | None:
        return None

    def close(self) -> None:
        self._packed.close()
