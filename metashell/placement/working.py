"""A plan in the making: replicas as indexes of brokers, with counts that every move keeps up to date."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.placement.cluster import Cluster, Goals, Partition, PlacementError
from metashell.placement.masks import Levels, bits
from metashell.placement.racks import Racks


class Working:
    """The replicas of all partitions that may move.

    Shape: brokers are indexes by ascending id. `replicas[n]` and `masks[n]` are those of the movable partition n, in the order and as a
    set; `origins[n]` is the set at the beginning. `counts` and `sizes` have the replicas and bytes of each broker, fixed partitions
    included.
    """

    def __init__(self, cluster: Cluster, goals: Goals) -> None:
        self.brokers = tuple(sorted(cluster.brokers))
        self.index = {broker.id: index for index, broker in enumerate(self.brokers)}
        self.takers = sum(1 << index for index, broker in enumerate(self.brokers) if broker.takes)
        self.left = sum(1 << index for index, broker in enumerate(self.brokers) if broker.is_left)
        if not self.takers:
            raise PlacementError("no broker can take replicas")
        self.racks = Racks(self.brokers, self.takers, is_wanted=goals.racks)
        self.counts = [0] * len(self.brokers)
        self.sizes = [0] * len(self.brokers)
        self.fixed_leaders = [0] * len(self.brokers)
        self.partitions: list[Partition] = []
        self.replicas: list[list[int]] = []
        self.masks: list[int] = []
        self._add(cluster.partitions)
        self.origins = list(self.masks)
        self.topics = self._by_topic()
        self.topic_of = [0] * len(self.partitions)
        for topic, members in enumerate(self.topics):
            for number in members:
                self.topic_of[number] = topic

    def _add(self, partitions: Sequence[Partition]) -> None:
        index, counts, sizes = self.index, self.counts, self.sizes
        # In this order, so that plans do not depend on the one they come in.
        for partition in sorted(partitions):
            try:
                places = [index[broker] for broker in partition.replicas]
            except KeyError as error:
                raise PlacementError(f"{partition.topic}:{partition.partition}: broker {error.args[0]} is not known") from None
            for place in places:
                counts[place] += 1
                sizes[place] += partition.size
            if partition.is_fixed:
                self.fixed_leaders[places[0]] += 1
                continue
            self.partitions.append(partition)
            self.replicas.append(places)
            self.masks.append(sum(1 << place for place in places))

    def _by_topic(self) -> list[list[int]]:
        topics: dict[str, list[int]] = {}
        for number, partition in enumerate(self.partitions):
            topics.setdefault(partition.topic, []).append(number)
        return list(topics.values())

    def options(self, number: int, source: int) -> int:
        """The brokers that may take over the replica of a partition on `source`."""
        return self.racks.options(self.replicas[number], self.masks[number], source)

    def move(self, number: int, source: int, target: int) -> None:
        """The replica of a partition on `source` goes to `target`, into the same place of the order."""
        replicas = self.replicas[number]
        replicas[replicas.index(source)] = target
        self.masks[number] ^= 1 << source | 1 << target
        size = self.partitions[number].size
        self.counts[source] -= 1
        self.counts[target] += 1
        self.sizes[source] -= size
        self.sizes[target] += size

    def cheapest_first(self, members: list[int], source: int) -> list[int]:
        """Partitions with a replica on `source`: first those that this plan brought there, which may move on at no cost, then small
        ones."""
        bit, origins, partitions = 1 << source, self.origins, self.partitions
        members.sort(key=lambda number: (origins[number] & bit != 0, partitions[number].size))
        return members

    def topic_levels(self) -> list[Levels]:
        """The replicas of every topic on each broker."""
        found = []
        for members in self.topics:
            counts: dict[int, int] = {}
            for number in members:
                for place in self.replicas[number]:
                    counts[place] = counts.get(place, 0) + 1
            found.append(Levels(counts, (1 << len(self.brokers)) - 1))
        return found

    def lies_on(self, members: Sequence[int]) -> dict[int, list[int]]:
        """The partitions with a replica on each broker that may give one away."""
        found: dict[int, list[int]] = {place: [] for place in bits(self.takers)}
        for number in members:
            for place in self.replicas[number]:
                if place in found:
                    found[place].append(number)
        return found
