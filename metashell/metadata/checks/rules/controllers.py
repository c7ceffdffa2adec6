"""Controllers: server.properties against the voter set in the log, and registrations of controllers without a vote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from metashell.codec.releases import METADATA_VERSION, UNREGISTER_CONTROLLER_LEVEL, level_name, metadata_version_name
from metashell.metadata.checks.facts import CONFIG, IMAGE, LOG, QuorumNote
from metashell.metadata.checks.model import BAD, UNUSUAL, Evidence, Found, check, evidence_of, last_of
from metashell.metadata.checks.nodes import ServerNode, kraft_version, nodes_of
from metashell.metadata.checks.rules.live_quorum import fetches

if TYPE_CHECKING:
    from metashell.metadata.checks.facts import Configuration, Facts, Listener, MetadataLog
    from metashell.metadata.image import MetadataImage
    from metashell.metadata.image.provenance import VoterEndpoint


_CONTROLLER = "controller"


def _configured(facts: Facts) -> Iterator[tuple[ServerNode, Configuration]]:
    for node in nodes_of(facts):
        if node.configuration is not None:
            yield node, node.configuration


def _image(node: ServerNode, facts: Facts) -> tuple[MetadataImage, MetadataLog | None] | None:
    """The metadata of a node: its own log's, else another node's."""
    log = node.log
    if log is not None and log.image is not None:
        return log.image, log
    return None if facts.health is None else (facts.image, None)


def _found(config: Configuration, cause: str, *steps: str, evidence: tuple[Evidence, ...] = ()) -> Found:
    return Found(config.path, cause, (Evidence(config.path), *evidence), steps, ("configuration", config.path))


@check(
    "configuration.refused_configuration",
    BAD,
    "configurations that Kafka refuses",
    CONFIG,
    endangers="the server does not start",
    source="kafka.server.KafkaConfig",
    of_a_part=True,
)
def refused_configuration(facts: Facts) -> Iterator[Found]:
    return (_found(config, config.trouble) for _, config in _configured(facts) if config.trouble)


@check(
    "configuration.no_voters_configured",
    BAD,
    "controllers of kraft.version 0 whose configuration names no voters: they elect nobody",
    CONFIG,
    LOG,
    endangers="nothing is elected, so nothing is written; the servers start and wait for ever",
    source="org.apache.kafka.raft.QuorumConfig; KIP-853",
    example="server.properties (kraft.version is 0 and controller.quorum.voters is not set; the last voters were 0)",
)
def no_voters_configured(facts: Facts) -> Iterator[Found]:
    """With kraft.version 1 the voters are in the log, so a configuration is right with the list and without it."""
    for node, config in _configured(facts):
        found = _image(node, facts)
        if _CONTROLLER not in config.roles or config.voters or found is None or not _is_static(found[0]):
            continue
        image, log = found
        last = _static_voters(image, log)
        words = ["kraft.version is 0 and controller.quorum.voters is not set: this controller elects nobody"]
        if last:
            words.append(f"the last voters were {', '.join(map(str, last))}")
        if image.leader is not None:
            words.append(f"the last that led: {image.leader.id} in epoch {image.leader.epoch}")
        entries = ",".join(_entry(id, config) for id in last or (config.node_id,))
        yield _found(
            config,
            "; ".join(words),
            f"put controller.quorum.voters={entries} back into {config.path}, on each node, and restart",
            "to do without the list, raise kraft.version first (4.1 or later): metashell features upgrade kraft.version=1",
            evidence=() if log is None else (Evidence(log.path, log.end_offset - 1, log.last_timestamp_ms),),
        )


def _entry(id: int | None, config: Configuration) -> str:
    """An entry of controller.quorum.voters, as far as the configuration knows the address."""
    own = next((one for one in config.advertised if one.name in config.controller_listeners), None)
    return f"{id}@{own.host or 'HOST'}:{own.port}" if own is not None and id == config.node_id else f"{id}@HOST:PORT"


def _is_static(image: MetadataImage) -> bool:
    return kraft_version(image) == 0 and image.voters is None


def _static_voters(image: MetadataImage, log: MetadataLog | None) -> tuple[int, ...]:
    """The voters of the last election, as the log or quorum-state has them."""
    if image.leader is not None and image.leader.voter_ids:
        return image.leader.voter_ids
    note = None if log is None else log.quorum_note
    return note.voter_ids if isinstance(note, QuorumNote) else ()


@check(
    "configuration.other_voters_configured",
    BAD,
    "configurations whose controller.quorum.voters differ from the voters of the last election (kraft.version 0)",
    CONFIG,
    LOG,
    endangers="nodes with different lists may elect two leaders, or none; a majority of the new list may lack committed records",
    source="org.apache.kafka.raft.QuorumState.initialize",
    example="server.properties (1, 2; the log's last election had 1, 2, 3)",
)
def other_voters_configured(facts: Facts) -> Iterator[Found]:
    for node, config in _configured(facts):
        found = _image(node, facts)
        if found is None or not config.voters or not _is_static(found[0]):
            continue
        image, log = found
        last = set(_static_voters(image, log))
        own = {id for id, _, _ in config.voters}
        if last and own != last:
            listed = [", ".join(map(str, sorted(ids))) for ids in (own, last)]
            epoch = f" (epoch {image.leader.epoch})" if image.leader is not None else ""
            step = f"set the same list on all nodes, with the voters {listed[1]}; from kraft.version 1 (4.1) on voters are added one by one"
            evidence = () if log is None else (Evidence(log.path),)
            yield _found(
                config, f"controller.quorum.voters names {listed[0]}; the last election{epoch} had {listed[1]}", step, evidence=evidence
            )


@check(
    "configuration.static_voter_port",
    UNUSUAL,
    "controllers whose own entry of controller.quorum.voters names a port at which they do not listen",
    CONFIG,
    step="make both name one port, unless something between the nodes maps it",
    source="org.apache.kafka.raft.QuorumConfig",
    example="server.properties (node 1 is at port 9094, its controller listener CONTROLLER at port 9093)",
    of_a_part=True,
)
def static_voter_port(facts: Facts) -> Iterator[Found]:
    """The other controllers connect to the address in the list, so it has to be one that the controller listens at or advertises."""
    for _, config in _configured(facts):
        own = [one for one in (*config.advertised, *config.listeners) if one.name in config.controller_listeners]
        for id, _, port in config.voters:
            if _CONTROLLER in config.roles and own and id == config.node_id and port not in {one.port for one in own}:
                cause = f"node {id} is at port {port}, its controller listener {own[0].name} at port {own[0].port}"
                yield _found(config, f"controller.quorum.voters: {cause}")


@check(
    "configuration.configured_without_vote",
    UNUSUAL,
    "controllers by their configuration that are no voters: they only follow",
    CONFIG,
    LOG,
    source="KIP-853, KIP-1186",
    example="server.properties (node 4; voters 1, 2, 3)",
)
def configured_without_vote(facts: Facts) -> Iterator[Found]:
    for node, config in _configured(facts):
        found = _image(node, facts)
        if _CONTROLLER not in config.roles or found is None or found[0].voters is None or config.node_id is None:
            continue
        joins = config.values.get("controller.quorum.auto.join.enable", "").strip().lower() == "true"
        ids = [voter.id for voter in found[0].voters.voters]
        if config.node_id not in ids and not joins:
            step = f"metashell quorum add-controller --server-config {config.path}, on that node, once it has caught up"
            yield _found(config, f"node {config.node_id}; voters {', '.join(map(str, ids))}", step)


@check(
    "configuration.configured_voter_address",
    UNUSUAL,
    "controllers whose configuration has another address than the voter set: the next start changes that",
    CONFIG,
    LOG,
    source="KIP-853, UpdateRaftVoter",
    example="server.properties (CONTROLLER at new:9093; the voter set has old:9093 for 1, offset 120)",
)
def configured_voter_address(facts: Facts) -> Iterator[Found]:
    """A host that the configuration leaves out is the machine's name, which is not known here."""
    for config, listener, endpoint, offset in _own_addresses(facts):
        if listener is not None and (listener.port != endpoint.port or (listener.host and listener.host != endpoint.host)):
            own = f"{listener.host or '(this host)'}:{listener.port}"
            where = f", offset {offset}" if offset >= 0 else ""
            cause = f"{listener.name} at {own}; the voter set has {endpoint.host}:{endpoint.port} for {config.node_id}{where}"
            yield _found(config, cause, f"if {own} is right, start the node while a majority lives: it updates its entry")


@check(
    "configuration.voter_listener",
    BAD,
    "controllers that the voter set names under a listener that their configuration does not have",
    CONFIG,
    LOG,
    endangers="the other voters look for this one under that listener and do not find it",
    source="org.apache.kafka.raft.VoterSet",
    example="server.properties (controller.listener.names CTRL; the voter set has CONTROLLER for 1)",
)
def voter_listener(facts: Facts) -> Iterator[Found]:
    for config, listener, endpoint, offset in _own_addresses(facts):
        if listener is None and endpoint.name not in config.controller_listeners:
            where = f", offset {offset}" if offset >= 0 else ""
            names = ", ".join(config.controller_listeners)
            cause = f"controller.listener.names {names}; the voter set has {endpoint.name} for {config.node_id}"
            yield _found(config, f"{cause}{where}", f"name a controller listener {endpoint.name}, as on the other nodes")


def _own_addresses(facts: Facts) -> Iterator[tuple[Configuration, Listener | None, VoterEndpoint, int]]:
    """Each endpoint of each configured voter in the voter set, with the advertised listener of the same name."""
    for node, config in _configured(facts):
        found = _image(node, facts)
        voters = None if found is None else found[0].voters
        if _CONTROLLER not in config.roles or voters is None or config.trouble:
            continue
        own = next((voter for voter in voters.voters if voter.id == config.node_id), None)
        for endpoint in () if own is None else own.endpoints:
            listener = next((one for one in config.advertised if one.name == endpoint.name), None)
            yield config, listener, endpoint, voters.offset


# ---- registrations


class Holder(NamedTuple):
    """A registered controller without a vote, the features that it holds back, and whether it is known to be gone."""

    id: int
    held: tuple[str, ...]
    is_gone: bool


def voter_ids(facts: Facts) -> frozenset[int]:
    """The ids of the voters by the leader, else by records or quorum-state; empty if nobody knows them."""
    assert facts.health is not None
    quorum = facts.quorum
    if quorum is not None and quorum.voters:
        return frozenset(voter.id for voter in quorum.voters)
    return frozenset(facts.health.voters())


def spare_controllers(facts: Facts) -> list[Holder]:
    """The registered controllers that are neither voters nor known to run, in order.

    A controller without a vote runs if it fetches, which only the leader sees, or if it is a broker that is not fenced.
    """
    voters, cluster = voter_ids(facts), facts.image.cluster
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
    voters = ", ".join(map(str, sorted(voter_ids(facts))))
    seen = "it does not fetch either" if one.is_gone else "whether it fetches, only a live quorum says"
    return f"supports metadata.version {low} to {high} ({metadata_version_name(high)}), the voters are {voters}; {seen}"


def _lowest_of_others(facts: Facts, feature: str, spare: set[int]) -> int:
    cluster = facts.image.cluster
    nodes = [one.supported_features for one in cluster.brokers.values()]
    nodes += [one.supported_features for id, one in cluster.controllers.items() if id not in spare]
    return min(node.get(feature, (0, 0))[1] for node in nodes)


def _ways_out(id: int, release: str, level: int) -> Iterator[str]:
    """Below the level that has UnregisterController, only the controller itself can replace its registration."""
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
    endangers="no feature can be raised above the level that such a controller supports, even if nobody runs it",
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
