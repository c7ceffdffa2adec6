"""Features: the finalized levels against what the registered nodes support."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from metashell.checks.facts import IMAGE
from metashell.checks.model import BAD, UNUSUAL, Found
from metashell.checks.registry import check
from metashell.checks.rules.registrations import spare_controllers
from metashell.codec.metadata_version import level_name
from metashell.codec.releases import NEWEST_RELEASE, unsupported_features

if TYPE_CHECKING:
    from metashell.checks.facts import Facts
    from metashell.image import MetadataImage

Supported = Mapping[str, tuple[int, int]]


def nodes_of(image: MetadataImage) -> list[tuple[str, Supported]]:
    """Every registered node and the lowest and highest level of each feature that it supports, brokers first."""
    cluster = image.cluster
    nodes: list[tuple[str, Supported]] = [(f"broker {id}", one.supported_features) for id, one in sorted(cluster.brokers.items())]
    return nodes + [(f"controller {id}", one.supported_features) for id, one in sorted(cluster.controllers.items())]


@check(
    "features.unsupported_feature",
    BAD,
    "nodes that do not support a finalized feature level",
    IMAGE,
    endangers="such a node does not start again, or stops at the next record it does not know",
    step="upgrade the node, or unregister it where it is gone",
    source="org.apache.kafka.controller.ClusterControlManager",
)
def unsupported_feature(facts: Facts) -> Iterator[Found]:
    """Of a feature that a node does not know, it supports level 0."""
    levels = sorted(facts.image.features.finalized.items())
    for node, supported in nodes_of(facts.image):
        for name, level in levels:
            low, high = supported.get(name, (0, 0))
            if not low <= level <= high:
                yield Found(f"{node}: {level_name(name, level)}, supports {low}-{high}", key=("feature", name))


@check(
    "features.release_too_old",
    BAD,
    "finalized levels that the release in question does not support: it does not start on this metadata",
    IMAGE,
    endangers="a server of that release ends at its start, or applies records that it does not know",
    step="run one of the releases that support the level: no finalized level can be taken back where its records may be in the log",
    source="org.apache.kafka.server.common.MetadataVersion, Feature",
    example="metadata.version 33 (4.4-IV2) is not supported: 7 to 30 are; Kafka 4.4 supports it",
)
def release_too_old(facts: Facts) -> Iterator[Found]:
    """Of the newest release known here `newer_level` says the same: nobody can say of that one what it does not support."""
    if facts.release != NEWEST_RELEASE:
        finalized = facts.image.features.finalized
        yield from (Found(f"Kafka {facts.release.name}: {one.text}") for one in unsupported_features(finalized, facts.release))


@check(
    "features.holds_upgrade",
    UNUSUAL,
    "nodes that do not support a feature level that others do, and so hold back an upgrade to it",
    IMAGE,
    step="upgrade these nodes first, or unregister those that are gone",
    source="org.apache.kafka.controller.QuorumFeatures",
)
def holds_upgrade(facts: Facts) -> Iterator[Found]:
    """The nodes that support less of a feature than another one, where that is more than what is finalized.

    A controller that is registered and gone is told by `stale_controller`.
    """
    finalized, brokers = facts.image.features.finalized, facts.image.cluster.brokers
    stale = {f"controller {one.id}" for one in spare_controllers(facts)}
    nodes = [(node, supported) for node, supported in nodes_of(facts.image) if node not in stale]
    fenced = {f"broker {id}": id for id, broker in brokers.items() if broker.fenced}
    for feature in sorted({name for _, supported in nodes for name in supported}):
        highest = [(node, supported.get(feature, (0, 0))[1]) for node, supported in nodes]
        best = max(level for _, level in highest)
        if best > finalized.get(feature, 0):
            words = level_name(feature, best).partition(" ")[2]
            for node, level in highest:
                if level < best:
                    is_down = node in fenced
                    cause = f"{level_name(feature, level)} at most, others {words}{'; it is fenced' if is_down else ''}"
                    steps = (f"where {node} is gone for good: metashell brokers unregister {fenced[node]}",) if is_down else ()
                    yield Found(f"{node}: {cause}", steps=steps, key=("feature", feature))


class LowestMaximum(NamedTuple):
    """The highest level of a feature that all nodes support, and the nodes that support no more; none where all support the same."""

    level: int
    nodes: tuple[str, ...]


def lowest_maxima(nodes: Sequence[tuple[str, Supported]]) -> dict[str, LowestMaximum]:
    """For each feature that one of the nodes knows: an upgrade above it is refused.

    Source: org.apache.kafka.controller.QuorumFeatures, ClusterControlManager.
    """
    found = {}
    for feature in {name for _, supported in nodes for name in supported}:
        highest = [(node, supported.get(feature, (0, 0))[1]) for node, supported in nodes]
        level = min(level for _, level in highest)
        holders = tuple(node for node, one in highest if one == level)
        found[feature] = LowestMaximum(level, holders if len(holders) < len(nodes) else ())
    return found
