"""What a row of a survey (see `runs`) says at its beginning, read without decoding all of it."""

from __future__ import annotations

from struct import unpack_from


class EarlyRow:
    """A partition of which only these fields are there; each is read when it is asked for."""

    __slots__ = ("_first",)

    def __init__(self, first: bytes) -> None:
        self._first = first

    @property
    def leader(self) -> int:
        return int.from_bytes(self._first[-4:], "big", signed=True)

    @property
    def replicas(self) -> tuple[int, ...]:
        return self._array(0)

    @property
    def isr(self) -> tuple[int, ...]:
        return self._array(1)

    @property
    def removing_replicas(self) -> tuple[int, ...]:
        return self._array(2)

    @property
    def adding_replicas(self) -> tuple[int, ...]:
        return self._array(3)

    def _array(self, index: int) -> tuple[int, ...]:
        first = self._first
        at = 0
        for _ in range(index):
            at += (first[at] - 1) * 4 + 1
        return unpack_from(f">{first[at] - 1}i", first, at + 1)
