"""Which brokers may take over a replica: one a broker, and as many racks for a partition as there can be."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.placement.cluster import Broker


class Racks:
    """The rule of racks, as Kafka's own placement keeps it: a partition's replicas lie in as many racks as possible.

    Beyond that, two in one rack are as good as two in another. Without racks every broker is as good as any other.
    """

    def __init__(self, brokers: Sequence[Broker], takers: int, *, is_wanted: bool) -> None:
        self._takers = takers
        named = [broker.rack for broker in brokers if broker.takes]
        self.is_kept = is_wanted and None not in named
        self.count = len(set(named)) if self.is_kept else 1
        mates: dict[str | None, int] = {}
        for index, broker in enumerate(brokers):
            mates[broker.rack] = mates.get(broker.rack, 0) | 1 << index
        # A broker without a rack counts as one for itself; only brokers that take nothing can be without.
        self.mates = [1 << index if broker.rack is None else mates[broker.rack] for index, broker in enumerate(brokers)]

    def needed(self, replica_count: int) -> int:
        """How many racks a partition with so many replicas should be in."""
        return min(replica_count, self.count)

    def spanned(self, replicas: Sequence[int]) -> int:
        """How many racks the replicas are in; 1 where racks do not matter."""
        return len({self.mates[replica] for replica in replicas}) if self.is_kept else 1

    def options(self, replicas: Sequence[int], mask: int, source: int) -> int:
        """The brokers that may take the replica on `source` over: the partition is in as many racks after that as it has to be."""
        if not self.is_kept:
            return self._takers & ~mask
        mates = self.mates
        others = spanned = 0
        for replica in replicas:
            if replica != source:
                mine = mates[replica]
                if not others & mine:
                    spanned += 1
                others |= mine
        # Worked case, three replicas and racks a and b, on a1, a2 and b1: the one on a1 may go anywhere, since the others span both
        # racks already. The one on b1 may go only to rack b: the others are both in a, and nothing else makes up for it.
        if spanned >= min(len(replicas), self.count):
            return self._takers & ~mask
        return self._takers & ~(others | mask)
