"""What a placement is measured by, in one place: the figures that a plan states, and that it is compared by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from metashell.placement.cluster import Cluster, Goals, Partition
from metashell.placement.working import Working


class Measures(NamedTuple):
    """How a placement looks, and what it costs to get there. Less is better, in each of them.

    Spreads are greatest minus least count of a broker, over the brokers that take replicas; those of topics are that of the worst topic.
    Leaders are preferred ones, the first replicas. `racks_missing` counts, over all partitions, the racks that each could be in and is not.
    `left_behind` counts the replicas on brokers that are to be left. Moves count copies that have to be made; a change of order is none.
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
    """The measures of the cluster once `placement` has replaced the replicas of the partitions that it names."""
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
