"""What each broker carries before and after a plan, and what it sends and receives on the way."""

from __future__ import annotations

from typing import NamedTuple

from metashell.placement.cluster import Cluster
from metashell.placement.measures import Placement


class Load(NamedTuple):
    """A broker: replicas and preferred leaders before and after, replicas and bytes that it receives, bytes that it sends as a leader."""

    broker: int
    rack: str | None
    replicas_before: int = 0
    replicas_after: int = 0
    leaders_before: int = 0
    leaders_after: int = 0
    replicas_in: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


def loads(cluster: Cluster, placement: Placement) -> list[Load]:
    """The loads of all brokers, ordered by id. New replicas are copied from the leader, taken to be the preferred one of before."""
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
    """The seconds that the copies take at least, if no broker sends or receives more than `rate` bytes a second."""
    return max((-(-max(one.bytes_in, one.bytes_out) // rate) for one in carried), default=0)
