"""The bytes of a compressed file, as the expanders of its members take them."""

from __future__ import annotations

from typing import Protocol

from metashell.log.file_kinds import PIECE_SIZE
from metashell.log.packing import Packing


class Packed(Protocol):
    """The compressed bytes that an expander reads: a file by position, or a stream."""

    name: str
    trouble: str | None

    def read_at(self, position: int, size: int) -> bytes: ...
    def close(self) -> None: ...


class BrokenPackingError(Exception):
    """Compressed bytes that cannot be expanded any further; the text says why."""


class PackedInput:
    """The compressed bytes, front to back; what was taken too much is given back."""

    def __init__(self, packed: Packed, packing: Packing) -> None:
        self.packing = packing
        self._packed = packed
        self._piece = b""
        self._piece_at = 0
        self._at = 0

    @property
    def position(self) -> int:
        """How many bytes were taken."""
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
        """Take back the end of what was taken last."""
        self._at -= len(data)

    def cut_off(self) -> BrokenPackingError:
        """The error to raise where the bytes end too early."""
        return BrokenPackingError(
            self._packed.trouble or f"{self.packing} stream is cut off at byte {self.position} of the compressed file"
        )

    def broken(self, error: Exception | str) -> BrokenPackingError:
        """The error to raise where the bytes are not what they should be."""
        return BrokenPackingError(f"{self.packing} stream is broken before byte {self.position} of the compressed file: {error}")

    def skip_zeros(self) -> bool:
        """Pass over zeros, which pad files; whether anything follows."""
        while data := self.take(PIECE_SIZE):
            if rest := data.lstrip(b"\0"):
                self.give_back(rest)
                return True
        return False
