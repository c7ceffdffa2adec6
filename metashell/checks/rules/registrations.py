"""Registrations of controllers that have no vote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from metashell.checks.facts import IMAGE
from metashell.checks.model import BAD, UNUSUAL, Found
from metashell.checks.past import evidence_of, last_of
from metashell.checks.registry import check
from metashell.checks.rules.probes import fetches
from metashell.codec.metadata_version import METADATA_VERSION, UNREGISTER_CONTROLLER_LEVEL, level_name, metadata_version_name

if TYPE_CHECKING:
    from metashell.checks.facts import Facts


class Holder(NamedTuple):
    """A registered controller without a vote, the features of which it supports less than all others, and whether it is surely gone."""

    id: int
    held: tuple[str, ...]
    is_gone: bool


def voters_of(facts: Facts) -> frozenset[int]:
    """The ids of the voters, as the leader, records or quorum-state say; none where nobody knows."""
    assert facts.health is not None
    quorum = facts.quorum
    if quorum is not None and quorum.voters:
        return frozenset(voter.id for voter in quorum.voters)
    return frozenset(facts.health.voters())


def spare_controllers(facts: Facts) -> list[Holder]:
    """The registered controllers that are neither voters nor known to run, in order.

    One that runs beside its vote fetches, which only the leader sees, or is a broker that is not fenced.
    """
    voters, cluster = voters_of(facts), facts.image.cluster
    if not voters:
        return []
    quorum = facts.quorum
    asked = quorum is not None and bool(quorum.voters)
    running = {id for id, broker in cluster.brokers.items() if not broker.fenced}
    if quorum is not None:
        running |= {one.id for one in quorum.observers if quorum.now_ms is None or fetches(quorum, one, quorum.lag_after_ms)}
        running |= {probe.id for probe in quorum.probes if probe.id is not None and probe.outcome == "answers"}
    spare = [id for id in sorted(cluster.controllers) if id not in voters and id not in running]
    nodes = [one.supported_features for one in cluster.brokers.values()]
    nodes += [one.supported_features for id, one in cluster.controllers.items() if id not in spare]
    levels = facts.image.features.finalized
    lowest = {feature: min(node.get(feature, (0, 0))[1] for node in nodes) for feature in set().union(*nodes)} if nodes else {}
    found = []
    for id in spare:
        own = cluster.controllers[id].supported_features
        held = tuple(
            feature
            for feature, level in sorted(lowest.items(), key=lambda item: (item[0] != METADATA_VERSION, item[0]))
            if own.get(feature, (0, 0))[1] < level and levels.get(feature, 0) < level
        )
        found.append(Holder(id, held, asked))
    return found


def _words(facts: Facts, one: Holder) -> str:
    low, high = facts.image.cluster.controllers[one.id].supported_features.get(METADATA_VERSION, (0, 0))
    voters = ", ".join(map(str, sorted(voters_of(facts))))
    seen = "it does not fetch either" if one.is_gone else "whether it fetches, only a live quorum says"
    return f"supports metadata.version {low} to {high} ({metadata_version_name(high)}), the voters are {voters}; {seen}"


def _lowest_of_others(facts: Facts, feature: str, spare: set[int]) -> int:
    cluster = facts.image.cluster
    nodes = [one.supported_features for one in cluster.brokers.values()]
    nodes += [one.supported_features for id, one in cluster.controllers.items() if id not in spare]
    return min(node.get(feature, (0, 0))[1] for node in nodes)


def _ways_out(id: int, release: str, level: int) -> Iterator[str]:
    """Below the level that knows UnregisterController only the controller itself can replace its registration."""
    unregister = f"metashell quorum unregister-controller {id}"
    anew = f"start controller {id} once with {release} under this id, with a new directory: it registers anew"
    if level >= UNREGISTER_CONTROLLER_LEVEL:
        yield f"where controller {id} is gone for good: {unregister}"
        yield f"or {anew}"
    else:
        yield anew
        yield (
            f"{unregister} (Kafka 4.4) takes the registration away, from {level_name(METADATA_VERSION, UNREGISTER_CONTROLLER_LEVEL)} on:"
            " until then the controller has to register anew"
        )


@check(
    "registrations.stale_controller",
    BAD,
    "controllers that are registered, have no vote, and support less than all other nodes: higher feature levels are refused",
    IMAGE,
    endangers="no feature can be raised above what such a controller supports, though nobody runs it",
    source="org.apache.kafka.controller.QuorumFeatures, FeatureControlManager",
    example="controller 3 (supports metadata.version 7 to 25 (4.0-IV3), the voters are 1, 2; refused: metadata.version 30 (4.3-IV0))",
)
def stale_controller(facts: Facts) -> Iterator[Found]:
    spare = spare_controllers(facts)
    ids = {one.id for one in spare}
    for one in spare:
        if not one.held:
            continue
        refused = {feature: _lowest_of_others(facts, feature, ids) for feature in one.held}
        words = ", ".join(level_name(feature, level) for feature, level in refused.items())
        level = refused.get(METADATA_VERSION)
        release = "a newer release" if level is None else f"Kafka {metadata_version_name(level).partition('-')[0]} or later"
        event = last_of(facts.events, "REGISTER_CONTROLLER_RECORD", controller_id=one.id)
        yield Found(
            f"controller {one.id}",
            f"{_words(facts, one)}; refused: {words}",
            evidence_of(event) if event is not None else (),
            tuple(_ways_out(one.id, release, facts.image.features.metadata_version or 0)),
            ("controller", one.id),
        )


@check(
    "registrations.registered_without_vote",
    UNUSUAL,
    "controllers that are registered and have no vote: they wait to be added, or are gone",
    IMAGE,
    step="metashell quorum describe shows who fetches; add one that runs (metashell quorum add-controller), unregister one that is gone"
    " (metashell quorum unregister-controller, from Kafka 4.4 on): it would hold back the next upgrade",
)
def registered_without_vote(facts: Facts) -> Iterator[Found]:
    for one in spare_controllers(facts):
        if not one.held:
            yield Found(f"controller {one.id}", _words(facts, one), key=("controller", one.id))
