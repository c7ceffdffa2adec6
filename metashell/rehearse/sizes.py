"""How large partitions are, where that is known."""

from __future__ import annotations

from collections.abc import Mapping


class Sizes:
    """The bytes of a replica of each partition, by topic and number; empty if no sizes are known."""

    def __init__(self, by_partition: Mapping[tuple[str, int], int] | None = None) -> None:
        self.by_partition = {} if by_partition is None else by_partition
        self.are_known = by_partition is not None

    def of(self, topic: str, partition: int) -> int | None:
        """None for a partition whose size is not known."""
        return self.by_partition.get((topic, partition))
