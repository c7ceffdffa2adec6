"""One frame of a zstd or lz4 file, expanded while it is read.

The library expands a frame only as a whole, into a file that it is given: a pipe. A thread of its own writes there, as far as the
pipe holds (64 KiB), so what is expanded never lies in memory. The frame's own bytes do: they are gathered first, by the
lengths that its blocks begin with, and a frame of more than 512 MiB is refused.
Source: RFC 8878 (zstd); the LZ4 frame format, version 1.6.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Final

from metashell.log.packed_input import PackedInput

FRAME_SIZE_MAX: Final = 512 << 20

_SKIPPABLE: Final = range(0x184D2A50, 0x184D2A60)
_ZSTD_MAGIC: Final = 0xFD2FB528
_LZ4_MAGIC: Final = 0x184D2204
_ZSTD_ID_SIZES: Final = (0, 1, 2, 4)
_ZSTD_SIZE_SIZES: Final = (0, 2, 4, 8)
_RLE, _RESERVED = 1, 3


class Frame:
    """The next frame of `source`. Errors: BrokenPackingError, at the end of what could be expanded."""

    def __init__(self, source: PackedInput) -> None:
        self._input = source
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_cut_off = False
        self._pipe = -1
        self._thread: Thread | None = None
        self._error: Exception | None = None
        if self._gather():
            self._start(b"".join(self._pieces))
        self._pieces = []

    def read(self, size: int) -> bytes:
        if self._pipe < 0:
            return b""
        if data := os.read(self._pipe, size):
            return data
        self.close()
        if self._is_cut_off:
            raise self._input.cut_off()
        if self._error is not None:
            raise self._input.broken(self._error)
        return b""

    def close(self) -> None:
        """The thread that still writes gets an error, because nobody reads any more."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    # ---- expanding

    def _start(self, frame: bytes) -> None:
        self._pipe, writer = os.pipe()
        self._thread = Thread(target=self._expand, args=(frame, writer), daemon=True)
        self._thread.start()

    def _expand(self, frame: bytes, writer: int) -> None:
        import cramjam

        module = cramjam.zstd if self._input.packing == "zstd" else cramjam.lz4
        target = None
        try:
            # The library's file is the pipe's writing end, opened once more: it has no other way to take one. Were it opened for
            # reading too, the thread would never find that nobody reads any more.
            target = cramjam.File(f"/dev/fd/{writer}", read=False, write=False, truncate=False, append=True)
            os.close(writer)
            writer = -1
            module.decompress_into(frame, target)
        except Exception as error:
            self._error = error
        finally:
            del target  # which closes it
            if writer >= 0:
                os.close(writer)

    # ---- gathering

    def _gather(self) -> bool:
        """Take all of the frame's bytes; whether there is anything to expand."""
        magic = int.from_bytes(self._take(4), "little")
        if magic in _SKIPPABLE:
            for _ in self._parts(self._number(4)):
                self._pieces.clear()
            if self._is_cut_off:
                raise self._input.cut_off()
            return False
        walk = _WALKS.get((self._input.packing, magic))
        if walk is None:
            raise self._input.broken(f"no frame begins with {magic:#010x}")
        for size in walk(self):
            for _ in self._parts(size):
                pass
            if self._is_cut_off:
                break
        return True

    def _take(self, size: int) -> bytes:
        """So many bytes of the frame, fewer where the file ends."""
        return b"".join(self._parts(size))

    def _number(self, size: int) -> int:
        """A little-endian number; 0 where the file ends within it."""
        data = self._take(size)
        return int.from_bytes(data, "little") if len(data) == size else 0

    def _parts(self, size: int) -> Iterator[bytes]:
        while size > 0:
            part = self._input.take(size)
            if not part:
                self._is_cut_off = True
                return
            size -= len(part)
            self._size += len(part)
            self._pieces.append(part)
            if self._size > FRAME_SIZE_MAX:
                raise self._input.broken(f"a frame of more than {FRAME_SIZE_MAX} bytes; expand it first, and read that from standard input")
            yield part

    def _zstd_sizes(self) -> Iterator[int]:
        """The sizes of the parts that follow the magic number; they are taken between two steps."""
        descriptor = self._number(1)
        is_single = descriptor >> 5 & 1
        content_size = _ZSTD_SIZE_SIZES[descriptor >> 6] or is_single
        yield (not is_single) + _ZSTD_ID_SIZES[descriptor & 3] + content_size
        is_last = False
        while not is_last and not self._is_cut_off:
            block = self._number(3)
            is_last, kind = bool(block & 1), block >> 1 & 3
            if kind == _RESERVED:
                raise self._input.broken("a block of a kind that there is not")
            yield 1 if kind == _RLE else block >> 3
        yield 4 if descriptor & 4 else 0

    def _lz4_sizes(self) -> Iterator[int]:
        flags = self._number(1)
        yield 1 + (8 if flags & 8 else 0) + (4 if flags & 1 else 0) + 1
        block_checksum = 4 if flags & 16 else 0
        while not self._is_cut_off and (block := self._number(4)):
            yield (block & 0x7FFFFFFF) + block_checksum
        yield 4 if flags & 4 else 0


_WALKS: Final[dict[tuple[str, int], Callable[[Frame], Iterator[int]]]] = {
    ("zstd", _ZSTD_MAGIC): Frame._zstd_sizes,
    ("lz4", _LZ4_MAGIC): Frame._lz4_sizes,
}
