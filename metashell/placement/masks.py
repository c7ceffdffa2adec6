"""Sets of brokers as integers: bit n stands for the broker with index n. A plan asks for unions of them by the million."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def bits(mask: int) -> Iterator[int]:
    """The indexes in a set, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def lightest(mask: int, first: Sequence[int], second: Sequence[int]) -> int:
    """The index in a set that is not empty with the least `first`, and among these the least `second`."""
    low = mask & -mask
    best = low.bit_length() - 1
    mask ^= low
    while mask:
        low = mask & -mask
        index = low.bit_length() - 1
        mask ^= low
        if first[index] < first[best] or (first[index] == first[best] and second[index] < second[best]):
            best = index
    return best


class Levels:
    """How many of something each broker has, as sets of brokers with the same count.

    There are few different counts once a topic is even, and most topics are small: a list with an entry for each broker and topic would be
    the largest thing in memory.
    """

    __slots__ = ("masks",)

    def __init__(self, counts: dict[int, int], everyone: int) -> None:
        masks: dict[int, int] = {}
        some = 0
        for index, count in counts.items():
            masks[count] = masks.get(count, 0) | 1 << index
            some |= 1 << index
        masks[0] = masks.get(0, 0) | everyone & ~some
        self.masks = masks

    def of(self, index: int) -> int:
        """The count of a broker."""
        bit = 1 << index
        for count, mask in self.masks.items():
            if mask & bit:
                return count
        raise AssertionError(index)

    def at(self, count: int) -> int:
        """The brokers with this count."""
        return self.masks.get(count, 0)

    def shift(self, source: int, target: int) -> None:
        """One goes from a broker to another."""
        self._change(source, -1)
        self._change(target, 1)

    def _change(self, index: int, by: int) -> None:
        bit = 1 << index
        count = self.of(index)
        masks = self.masks
        masks[count] &= ~bit
        if not masks[count]:
            del masks[count]
        masks[count + by] = masks.get(count + by, 0) | bit
