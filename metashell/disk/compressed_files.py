"""Compressed files and streams, expanded while they are read, so that compressed copies of logs need no unpacking.

At most one piece is expanded at once, and one batch may take at most the decompression cap. Reading an earlier position expands from the
start again. Consecutive members, streams or frames are read as one.

The library expands a zstd or lz4 frame only as a whole, into a file. We give it a pipe and a thread of its own: the pipe holds 64 KiB, so
the thread waits for the reader, and the expanded bytes are never all in memory. The compressed frame is: its bytes are gathered first, by
the lengths of its blocks, and a frame of more than 512 MiB is refused.
Source: RFC 8878 (zstd); the LZ4 frame format, version 1.6."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any, Final, Protocol

from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.disk.names import PIECE_SIZE, FrontToBack, Packing

_GZIP_WINDOW: Final = 31
_XZ_MEMORY_MAX: Final = 256 << 20
"""More than `xz -9` asks for, which is 65 MiB."""


class Member(Protocol):
    """One member, stream or frame. `read` gives up to `size` bytes, none at its end. Errors: BrokenPackingError."""

    def read(self, size: int) -> bytes: ...
    def close(self) -> None: ...


class CompressedFile(FrontToBack):
    """The expanded bytes of a compressed file."""

    batch_size_max = MAX_DECOMPRESSED

    def __init__(self, packed: CompressedBytes, packing: Packing) -> None:
        self.name = packed.name
        self.packing = packing
        self._packed = packed
        self._member: Member | None = None
        self._start()

    def _start(self) -> None:
        super().__init__()
        self._end_member()
        self._input = CompressedInput(self._packed, self.packing)
        self.trouble = None

    def read_at(self, position: int, size: int) -> bytes:
        if position < self._position:
            self._start()  # a stream refuses to go back
        return super().read_at(position, size)

    def _more(self, size: int) -> bytes:
        while self.trouble is None:
            try:
                if self._member is None:
                    if not self._input.skip_zeros():
                        return b""
                    self._member = _MEMBERS[self.packing](self._input)
                if data := self._member.read(size):
                    return data
                self._end_member()
            except BrokenCompressionError as error:
                self.trouble = str(error)
        return b""

    def _end_member(self) -> None:
        if self._member is not None:
            self._member.close()
            self._member = None

    def close(self) -> None:
        self._end_member()
        self._packed.close()


class _StandardMember:
    """A member that one of the standard library's decompressors reads."""

    def __init__(self, source: CompressedInput, expander: Any, error: type[Exception]) -> None:
        self._input = source
        self._expander = expander
        self._error = error

    def read(self, size: int) -> bytes:
        expander = self._expander
        while not expander.eof:
            fed = self._input.take(PIECE_SIZE) if expander.needs_input else b""
            try:
                data: bytes = expander.decompress(fed, size)
            except (self._error, EOFError) as error:
                raise self._input.broken(error) from None
            if expander.eof:
                self._input.give_back(expander.unused_data)
            if data:
                return data
            if not fed and not expander.eof:
                raise self._input.cut_off()
        return b""

    def close(self) -> None:
        return


class _Zlib:
    """zlib's decompressor in the form of bz2's and lzma's."""

    def __init__(self) -> None:
        self._expander = zlib.decompressobj(_GZIP_WINDOW)
        self._rest = b""

    @property
    def needs_input(self) -> bool:
        return not self._rest

    @property
    def eof(self) -> bool:
        return self._expander.eof

    @property
    def unused_data(self) -> bytes:
        return self._expander.unused_data

    def decompress(self, data: bytes, size: int) -> bytes:
        expanded = self._expander.decompress(self._rest + data, size)
        self._rest = self._expander.unconsumed_tail
        return expanded


def _gzip(source: CompressedInput) -> Member:
    return _StandardMember(source, _Zlib(), zlib.error)


def _bzip2(source: CompressedInput) -> Member:
    from bz2 import BZ2Decompressor

    return _StandardMember(source, BZ2Decompressor(), OSError)


def _xz(source: CompressedInput) -> Member:
    from lzma import FORMAT_XZ, LZMADecompressor, LZMAError

    return _StandardMember(source, LZMADecompressor(FORMAT_XZ, memlimit=_XZ_MEMORY_MAX), LZMAError)


def _frames(source: CompressedInput) -> Member:

    return CompressedFrame(source)


_MEMBERS: dict[Packing, Callable[[CompressedInput], Member]] = {
    "gzip": _gzip,
    "bzip2": _bzip2,
    "xz": _xz,
    "zstd": _frames,
    "lz4": _frames,
}


FRAME_SIZE_MAX: Final = 512 << 20

_SKIPPABLE: Final = range(0x184D2A50, 0x184D2A60)
_ZSTD_MAGIC: Final = 0xFD2FB528
_LZ4_MAGIC: Final = 0x184D2204
_ZSTD_ID_SIZES: Final = (0, 1, 2, 4)
_ZSTD_SIZE_SIZES: Final = (0, 2, 4, 8)
_RLE, _RESERVED = 1, 3


class CompressedFrame:
    """The next frame of `source`. Errors: BrokenPackingError, at the end of what could be expanded."""

    def __init__(self, source: CompressedInput) -> None:
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
        """Close the reading end. A thread that still writes gets an error then, and ends."""
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
            # The library only opens files by path, so it opens the pipe's writing end once more. Opened for reading too, the pipe would
            # always have a reader, and the thread would never get the error that ends it.
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
        """Take all of the frame's bytes. Returns whether there is anything to expand."""
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
        """The next `size` bytes of the frame, fewer if the file ends."""
        return b"".join(self._parts(size))

    def _number(self, size: int) -> int:
        """A little-endian number; 0 if the file ends within it."""
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
        """The sizes of the parts after the magic number. The caller takes each part before the next step."""
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


_WALKS: Final[dict[tuple[str, int], Callable[[CompressedFrame], Iterator[int]]]] = {
    ("zstd", _ZSTD_MAGIC): CompressedFrame._zstd_sizes,
    ("lz4", _LZ4_MAGIC): CompressedFrame._lz4_sizes,
}


class CompressedBytes(Protocol):
    """The compressed bytes that an expander reads: a file by position, or a stream."""

    name: str
    trouble: str | None

    def read_at(self, position: int, size: int) -> bytes: ...
    def close(self) -> None: ...


class BrokenCompressionError(Exception):
    """Compressed bytes that cannot be expanded any further; the text has the reason."""


class CompressedInput:
    """The compressed bytes, front to back; a caller gives back the bytes that it did not need."""

    def __init__(self, packed: CompressedBytes, packing: Packing) -> None:
        self.packing = packing
        self._packed = packed
        self._piece = b""
        self._piece_at = 0
        self._at = 0

    @property
    def position(self) -> int:
        """The number of bytes taken."""
        return self._piece_at + self._at

    def take(self, size: int) -> bytes:
        """The next bytes, at most `size`; none at the end."""
        if self._at >= len(self._piece):
            self._piece_at += self._at
            self._piece = self._packed.read_at(self._piece_at, PIECE_SIZE)
            self._at = 0
        data = self._piece[self._at : self._at + size]
        self._at += len(data)
        return data

    def give_back(self, data: bytes) -> None:
        """Return the end of the bytes that were taken last."""
        self._at -= len(data)

    def cut_off(self) -> BrokenCompressionError:
        """The error for bytes that end too early."""
        return BrokenCompressionError(
            self._packed.trouble or f"{self.packing} stream is cut off at byte {self.position} of the compressed file"
        )

    def broken(self, error: Exception | str) -> BrokenCompressionError:
        """The error for bytes that do not expand."""
        return BrokenCompressionError(f"{self.packing} stream is broken before byte {self.position} of the compressed file: {error}")

    def skip_zeros(self) -> bool:
        """Skip zeros, which pad files. Returns whether anything follows."""
        while data := self.take(PIECE_SIZE):
            if rest := data.lstrip(b"\0"):
                self.give_back(rest)
                return True
        return False
