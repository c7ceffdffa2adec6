"""A compressed file or stream, expanded while it is read: compressed copies of logs need no unpacking first.

Never more than a piece is expanded at once, and one batch may take at most the decompression cap. Going back means expanding from
the start. Several members, streams or frames after one another are read as one.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final, Protocol

from metashell.codec.compression import MAX_DECOMPRESSED
from metashell.log.file_kinds import PIECE_SIZE, FrontToBack
from metashell.log.packed_input import BrokenPackingError, Packed, PackedInput
from metashell.log.packing import Packing

_GZIP_WINDOW: Final = 31
_XZ_MEMORY_MAX: Final = 256 << 20
"""More than `xz -9` asks for, which is 65 MiB."""


class Member(Protocol):
    """One member, stream or frame. `read` gives up to `size` bytes, none at its end. Errors: BrokenPackingError."""

    def read(self, size: int) -> bytes: ...
    def close(self) -> None: ...


class PackedFile(FrontToBack):
    """The expanded bytes of a compressed file."""

    batch_size_max = MAX_DECOMPRESSED

    def __init__(self, packed: Packed, packing: Packing) -> None:
        self.name = packed.name
        self.packing = packing
        self._packed = packed
        self._member: Member | None = None
        self._start()

    def _start(self) -> None:
        super().__init__()
        self._end_member()
        self._input = PackedInput(self._packed, self.packing)
        self.trouble = None

    def read_at(self, position: int, size: int) -> bytes:
        if position < self._position:
            self._start()  # of a stream the packed file refuses to go back
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
            except BrokenPackingError as error:
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

    def __init__(self, source: PackedInput, expander: Any, error: type[Exception]) -> None:
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


def _gzip(source: PackedInput) -> Member:
    return _StandardMember(source, _Zlib(), zlib.error)


def _bzip2(source: PackedInput) -> Member:
    from bz2 import BZ2Decompressor

    return _StandardMember(source, BZ2Decompressor(), OSError)


def _xz(source: PackedInput) -> Member:
    from lzma import FORMAT_XZ, LZMADecompressor, LZMAError

    return _StandardMember(source, LZMADecompressor(FORMAT_XZ, memlimit=_XZ_MEMORY_MAX), LZMAError)


def _frames(source: PackedInput) -> Member:
    from metashell.log.packed_frames import Frame

    return Frame(source)


_MEMBERS: dict[Packing, Callable[[PackedInput], Member]] = {
    "gzip": _gzip,
    "bzip2": _bzip2,
    "xz": _xz,
    "zstd": _frames,
    "lz4": _frames,
}
