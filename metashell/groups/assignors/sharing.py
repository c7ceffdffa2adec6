"""What both forms of the assignor `simple` do with each partition: count who shares it, and find those who shall."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil
from typing import TypeVar

from metashell.codec.java_hash import bucket_count, hash_order
from metashell.groups.assignors.errors import AssignorError

Partition = TypeVar("Partition")


def table_capacity(size: int) -> int:
    """For how many keys Kafka makes a table that shall hold so many. Source: AssignorHelpers.newHashMap."""
    return int((size + 1) / 0.75 + 1)


def fair_share(members: int, partitions: int) -> tuple[int, list[int]]:
    """How many members each partition is for, and how many partitions each of the members may have."""
    if not partitions:
        return 0, [0] * members
    sharing = -(-members // partitions)
    each = sharing * partitions / members
    return sharing, [ceil(each * (number + 1)) - ceil(each * number) for number in range(members)]


class Sharers:
    """The members that have a partition, by number."""

    def __init__(self) -> None:
        self._numbers: dict[int, None] = {}
        self._peak = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    def add(self, number: int) -> None:
        self._numbers[number] = None
        self._peak = max(self._peak, len(self._numbers))

    def discard(self, number: int) -> None:
        self._numbers.pop(number, None)

    def surplus(self, sharing: int) -> tuple[int, ...]:
        """Who has to give it up: the first in the order of Java's set."""
        return hash_order(self._numbers, bucket_count(16, self._peak))[: max(0, len(self._numbers) - sharing)]


def share_out(partitions: Iterable[tuple[Partition, Sharers]], sharing: int, room: dict[int, int]) -> Iterator[tuple[Partition, int]]:
    """Give partitions that too few members have to the next of those with room, round and round; pairs of partition and member.

    Shape: `room` is how many each may still have, in the order of their numbers.
    Errors: AssignorError where Kafka asks an empty set for its next member.
    """
    waiting = list(room)
    at = 0
    gave_in_this_round = False
    for partition, sharers in partitions:
        missing = sharing - len(sharers)
        given: set[int] = set()
        while missing > 0:
            if at == len(waiting):
                if not gave_in_this_round:
                    break
                if not waiting:
                    raise AssignorError("java.util.NoSuchElementException")
                at, gave_in_this_round = 0, False
            number = waiting[at]
            at += 1
            if number in sharers:
                continue
            missing -= 1
            gave_in_this_round = True
            # Kafka may come to the same member again; that counts as given, and changes nothing.
            if number not in given:
                given.add(number)
                room[number] -= 1
                yield partition, number
            if room[number] <= 0:
                at -= 1
                del waiting[at]
        if not waiting:
            return
