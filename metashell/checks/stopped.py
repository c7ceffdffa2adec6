"""Brokers that were shut down in an orderly way, on disks at rest: what such a stop leaves in the metadata is no trouble."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.checks.nodes import nodes_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metashell.checks.facts import Facts
    from metashell.image.cluster import BrokerRegistration
    from metashell.image.partitions import PartitionRegistration

_LIVE: Final = frozenset({"quorum", "brokers"})


def stopped_brokers(facts: Facts) -> frozenset[int]:
    """The brokers whose orderly stop the metadata ends with: those of the whole cluster, or that of the node whose own disk was read.

    None where a server answers: it says who is missing. A broker that died, or that others outlived, is not among them.
    """
    if facts.health is None or facts.quorum is not None or facts.brokers or facts.image.provenance.source_kind in _LIVE:
        return frozenset()
    brokers = facts.image.cluster.brokers
    orderly = frozenset(id for id, broker in brokers.items() if broker.in_controlled_shutdown)
    if len(orderly) == len(brokers):
        return orderly
    # A copy of one node ends where its server ended: what came after, it cannot know.
    own = (node.stored_id for node in nodes_of(facts) if node.log is not None and node.log.image is facts.image)
    return orderly.intersection(id for id in own if id is not None)


def is_explained(kind: str, partition: PartitionRegistration, stopped: frozenset[int], brokers: Mapping[int, BrokerRegistration]) -> bool:
    """Whether a partition is of a kind only because brokers were stopped in order: it is no longer once they run."""
    match kind:
        case "leaderless" | "offline":
            return not stopped.isdisjoint((*partition.isr, *partition.elr, partition.leader))
        case "under_replicated" | "under_min_isr" | "at_min_isr":
            return stopped.issuperset(set(partition.replicas) - set(partition.isr))
        case "elr":
            return stopped.issuperset((*partition.elr, *partition.last_known_elr))
        case "stuck_reassignment":
            return all(id in stopped or (id in brokers and not brokers[id].fenced) for id in partition.adding_replicas)
        case "not_preferred":
            return partition.replicas[:1] != () and partition.replicas[0] in stopped
    return False
