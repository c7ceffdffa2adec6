"""A plan while it is computed, with counts that every move keeps up to date, and the measures of a placement.

Sets of brokers are integers, in which bit n stands for the broker with index n: a plan computes millions of unions, and frozensets would
take far longer. `measure` defines the figures that describe a plan and compare it with others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from metashell.rehearse.placement.cluster import Broker, Cluster, Goals, Partition, PlacementError


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
        self._count_partitions(cluster.partitions)
        self.origins = list(self.masks)
        self.topics = self._by_topic()
        self.topic_of = [0] * len(self.partitions)
        for topic, members in enumerate(self.topics):
            for number in members:
                self.topic_of[number] = topic

    def _count_partitions(self, partitions: Sequence[Partition]) -> None:
        index, counts, sizes = self.index, self.counts, self.sizes
        # Sorted, so that the plan does not depend on the order of the input.
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
        """The set of brokers that may take the replica of a partition on `source`."""
        return self.racks.options(self.replicas[number], self.masks[number], source)

    def move(self, number: int, source: int, target: int) -> None:
        """Move the replica of a partition on `source` to `target`, at the same place of the order."""
        replicas = self.replicas[number]
        replicas[replicas.index(source)] = target
        self.masks[number] ^= 1 << source | 1 << target
        size = self.partitions[number].size
        self.counts[source] -= 1
        self.counts[target] += 1
        self.sizes[source] -= size
        self.sizes[target] += size

    def cheapest_first(self, members: list[int], source: int) -> list[int]:
        """Partitions with a replica on `source`: first those that this plan moved there, which can move on at no cost, then by size."""
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


def bits(mask: int) -> Iterator[int]:
    """The indexes in a set, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def lightest(mask: int, first: Sequence[int], second: Sequence[int]) -> int:
    """The index with the least `first`, then the least `second`, in a set that is not empty."""
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
    """The count of something on each broker, kept as sets of brokers with the same count.

    Why not a list? With an entry for each broker and topic, lists would be the largest thing in memory. Most topics are small, and an even
    topic has few different counts.
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
        """Count one that goes from a broker to another."""
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


class Racks:
    """The rule of Kafka's own placement: a partition's replicas span as many racks as possible.

    Beyond that, two replicas in one rack are as good as two in another. Without racks all brokers are equal.
    """

    def __init__(self, brokers: Sequence[Broker], takers: int, *, is_wanted: bool) -> None:
        self._takers = takers
        named = [broker.rack for broker in brokers if broker.takes]
        self.is_kept = is_wanted and None not in named
        self.count = len(set(named)) if self.is_kept else 1
        mates: dict[str | None, int] = {}
        for index, broker in enumerate(brokers):
            mates[broker.rack] = mates.get(broker.rack, 0) | 1 << index
        # A broker without a rack counts as a rack of its own; only brokers that take no replicas can lack one here.
        self.mates = [1 << index if broker.rack is None else mates[broker.rack] for index, broker in enumerate(brokers)]

    def needed(self, replica_count: int) -> int:
        """The number of racks that a partition with so many replicas should span."""
        return min(replica_count, self.count)

    def spanned(self, replicas: Sequence[int]) -> int:
        """The number of racks that the replicas span; 1 if racks are ignored."""
        return len({self.mates[replica] for replica in replicas}) if self.is_kept else 1

    def options(self, replicas: Sequence[int], mask: int, source: int) -> int:
        """The set of brokers that may take the replica on `source` so that the partition still spans the racks that it should."""
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


class Measures(NamedTuple):
    """Figures of a placement and of the moves to reach it. Less is better in each of them.

    Spreads are greatest minus least count of a broker, over the brokers that take replicas; those of topics are that of the worst topic.
    Leaders are preferred leaders, the first replicas. `racks_missing` sums, over all partitions, the racks that each could span and does
    not. `left_behind` counts the replicas on brokers that should be emptied. Moves are copies; a change of order is none.
    """

    replica_spread: int
    leader_spread: int
    topic_replica_spread: int
    topic_leader_spread: int
    racks_missing: int
    left_behind: int
    replicas_moved: int
    bytes_moved: int


Placement = Mapping[tuple[str, int], Sequence[int]]


def measure(cluster: Cluster, goals: Goals, placement: Placement) -> Measures:
    """Measure the cluster with the replicas that `placement` gives to the partitions it names."""
    before = Working(cluster, goals)
    partitions = tuple(
        partition._replace(replicas=tuple(placement.get((partition.topic, partition.partition), partition.replicas)))
        for partition in cluster.partitions
    )
    after = Working(cluster._replace(partitions=partitions), goals)
    takers = [index for index, broker in enumerate(after.brokers) if broker.takes]
    leaders = list(after.fixed_leaders)
    topic_replicas = topic_leaders = racks_missing = left_behind = moved = moved_bytes = 0
    for members in after.topics:
        own, led = [0] * len(after.brokers), [0] * len(after.brokers)
        for number in members:
            replicas = after.replicas[number]
            led[replicas[0]] += 1
            for place in replicas:
                own[place] += 1
            racks_missing += max(0, after.racks.needed(len(replicas)) - after.racks.spanned(replicas))
            left_behind += (after.masks[number] & after.left).bit_count()
            new = (after.masks[number] & ~before.masks[number]).bit_count()
            moved += new
            moved_bytes += new * after.partitions[number].size
        topic_replicas = max(topic_replicas, _spread(own, takers))
        topic_leaders = max(topic_leaders, _spread(led, takers))
        leaders = [total + count for total, count in zip(leaders, led, strict=True)]
    return Measures(
        replica_spread=_spread(after.counts, takers),
        leader_spread=_spread(leaders, takers),
        topic_replica_spread=topic_replicas,
        topic_leader_spread=topic_leaders,
        racks_missing=racks_missing,
        left_behind=left_behind,
        replicas_moved=moved,
        bytes_moved=moved_bytes,
    )


def _spread(counts: Sequence[int], takers: Sequence[int]) -> int:
    return max(counts[index] for index in takers) - min(counts[index] for index in takers)


def as_placement(planned: Sequence[tuple[Partition, tuple[int, ...]]]) -> Placement:
    """A plan by topic and partition."""
    return {(partition.topic, partition.partition): replicas for partition, replicas in planned}


class Load(NamedTuple):
    """A broker's replicas and preferred leaders before and after, the replicas and bytes it receives, the bytes it sends as a leader."""

    broker: int
    rack: str | None
    replicas_before: int = 0
    replicas_after: int = 0
    leaders_before: int = 0
    leaders_after: int = 0
    replicas_in: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


def plan_loads(cluster: Cluster, placement: Placement) -> list[Load]:
    """The loads of all brokers, ordered by id. New replicas are assumed to be copied from the preferred leader of before."""
    found = {broker.id: Load(broker.id, broker.rack)._asdict() for broker in sorted(cluster.brokers)}
    for partition in cluster.partitions:
        before = partition.replicas
        after = placement.get((partition.topic, partition.partition), before)
        for id in before:
            found[id]["replicas_before"] += 1
        for id in after:
            found[id]["replicas_after"] += 1
        found[before[0]]["leaders_before"] += 1
        found[after[0]]["leaders_after"] += 1
        for id in after:
            if id not in before:
                found[id]["replicas_in"] += 1
                found[id]["bytes_in"] += partition.size
                found[before[0]]["bytes_out"] += partition.size
    return [Load(**one) for one in found.values()]


def seconds_at(rate: int, carried: list[Load]) -> int:
    """The least time of the copies in seconds, if no broker sends or receives more than `rate` bytes a second."""
    return max((-(-max(one.bytes_in, one.bytes_out) // rate) for one in carried), default=0)
