"""Moves of partitions between members, so that none goes one way while another of its topic goes the other. Source: groups.md 16.5."""

from __future__ import annotations

from metashell.codec.java_hash import bucket_count, string_hash, table_order
from metashell.groups.assignors.client_group import Partition

Pair = tuple[int, int]
"""From which member to which."""


class _Moved:
    """Partitions of one topic that went from one member to another."""

    def __init__(self) -> None:
        self.partitions: dict[Partition, None] = {}
        self._peak = 0

    def add(self, partition: Partition) -> None:
        self.partitions[partition] = None
        self._peak = max(self._peak, len(self.partitions))

    def first(self) -> Partition:
        """The one that a hash set of Java's gives first."""
        return table_order(self.partitions, _hash, bucket_count(16, self._peak))[0]


def _hash(partition: Partition) -> int:
    """What TopicPartition.hashCode gives."""
    return 31 * (31 + partition[1]) + string_hash(partition[0])


class Moves:
    """What was moved so far, as if each partition had gone straight from its first owner to its last."""

    def __init__(self) -> None:
        self._moved: dict[tuple[str, Pair], _Moved] = {}
        self._pairs: dict[Partition, Pair] = {}

    def instead(self, partition: Partition, owner: int, taker: int) -> Partition:
        """The partition to give to `taker` where one of this topic came from there before: that one goes back."""
        giver = self._pairs.get(partition, (owner, taker))[0]
        back = self._moved.get((partition[0], (taker, giver)))
        return partition if back is None else back.first()

    def add(self, partition: Partition, owner: int, taker: int) -> None:
        before = self._pairs.pop(partition, None)
        if before is not None:
            self._forget(partition, before)
            owner = before[0]
            if owner == taker:
                return
        pair = (owner, taker)
        self._pairs[partition] = pair
        self._moved.setdefault((partition[0], pair), _Moved()).add(partition)

    def _forget(self, partition: Partition, pair: Pair) -> None:
        key = (partition[0], pair)
        del self._moved[key].partitions[partition]
        if not self._moved[key].partitions:
            del self._moved[key]
