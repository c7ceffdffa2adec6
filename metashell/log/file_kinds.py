"""What the kinds of opened files share: see `OpenFile` in `files.py`."""

from types import TracebackType
from typing import Self

from metashell.codec.framing import FRAME_SIZE_MAX

PIECE_SIZE = 1 << 20
"""How much a stream is asked for at once, so that a size it only claims to have is never allocated."""


class Closable:
    """Closes at the end of a `with` block."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Closing(Closable):
    """A file that does so."""

    name: str
    trouble: str | None = None
    batch_size_max: int = FRAME_SIZE_MAX


class HeldBytes(Closing):
    """Bytes as a file."""

    def __init__(self, name: str, data: bytes, batch_size_max: int = FRAME_SIZE_MAX) -> None:
        self.name = name
        self.batch_size_max = batch_size_max
        self._data = data

    def read_at(self, position: int, size: int) -> bytes:
        return self._data[position : position + size]

    def peek(self, size: int) -> bytes:
        return self._data[:size]

    def size(self) -> int | None:
        return len(self._data)

    def close(self) -> None:
        return


class FrontToBack(Closing):
    """A file whose size is known only once it is read.

    `_more` gives up to so many bytes that were not read before; none at the end, or in trouble.
    """

    def __init__(self) -> None:
        self._position = 0
        self._peeked = b""

    def _more(self, size: int) -> bytes:
        raise NotImplementedError

    def read_at(self, position: int, size: int) -> bytes:
        while self._position < position:
            if not self._next(min(position - self._position, PIECE_SIZE)):
                return b""
        pieces = []
        while size > 0 and (piece := self._next(min(size, PIECE_SIZE))):
            pieces.append(piece)
            size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def peek(self, size: int) -> bytes:
        """The first `size` bytes, which the next read gives again."""
        while len(self._peeked) < size and (piece := self._more(size - len(self._peeked))):
            self._peeked += piece
        return self._peeked

    def _next(self, size: int) -> bytes:
        if self._peeked:
            data, self._peeked = self._peeked[:size], self._peeked[size:]
        else:
            data = self._more(size)
        self._position += len(data)
        return data

    def size(self) -> int | None:
        return None
