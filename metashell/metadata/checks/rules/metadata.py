"""The metadata itself: whether the log and its checkpoints have all of it, and whether its levels fit the registered nodes.

These are the checks of records that could not be applied, of checkpoints against the beginning of the log, of finalized features, and of
a migration from ZooKeeper, which only releases 3.4 to 3.9 can finish."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.codec.codes import ZK_MIGRATION_STATES
from metashell.codec.releases import BOOTSTRAP_SNAPSHOT_LEVEL, KRAFT_VERSION, NEWEST_RELEASE, level_name, unsupported_features
from metashell.metadata.checks.facts import IMAGE, LOG
from metashell.metadata.checks.model import BAD, UNUSUAL, Evidence, Found, check, evidence_of
from metashell.metadata.checks.nodes import is_only_voter, nodes_of, others_text, repairing, voters_of
from metashell.metadata.checks.rules.controllers import spare_controllers
from metashell.metadata.image.image import damage_of, newer_parts

if TYPE_CHECKING:
    from metashell.metadata.checks.facts import Facts, MetadataLog
    from metashell.metadata.checks.nodes import ServerNode
    from metashell.metadata.image import MetadataImage


@check(
    "metadata.incomplete",
    BAD,
    "the log begins late and without a snapshot: what came before is missing, so nothing else is judged",
    IMAGE,
    follows=("lost_checkpoint",),
    of_a_part=True,
)
def incomplete(facts: Facts) -> Iterator[Found]:
    begins_at = facts.image.provenance.begins_at
    if begins_at:
        yield Found(f"the log before offset {begins_at}")


@check("metadata.not_followed", BAD, "the quorum is not followed, and this is not its newest state", IMAGE, of_a_part=True)
def not_followed(facts: Facts) -> Iterator[Found]:
    if facts.not_followed:
        yield Found(facts.not_followed)


@check(
    "metadata.empty",
    UNUSUAL,
    "the metadata is as it was formatted: no node has written to it, so there is nothing to judge",
    IMAGE,
)
def empty(facts: Facts) -> Iterator[Found]:
    if facts.image.is_as_formatted:
        yield Found("neither a leader nor a node nor a topic")


@check(
    "metadata.no_metadata_version",
    BAD,
    "no metadata.version is finalized: a controller of Kafka does not start on this log",
    IMAGE,
    follows=("lost_checkpoint", "torn_checkpoint"),
)
def no_metadata_version(facts: Facts) -> Iterator[Found]:
    image = facts.image
    if image.leader is not None and image.features.metadata_version is None:
        yield Found("metadata.version")


@check("metadata.fault", BAD, "records that could not be applied", IMAGE, follows=("lost_checkpoint", "torn_checkpoint"), of_a_part=True)
def fault(facts: Facts) -> Iterator[Found]:
    return (Found(str(one)) for one in damage_of(facts.image))


@check(
    "metadata.newer_record",
    BAD,
    f"records newer than Kafka {NEWEST_RELEASE.name}: what they change cannot be relied on",
    IMAGE,
    of_a_part=True,
)
def newer_record(facts: Facts) -> Iterator[Found]:
    return (Found(part.text) for part in newer_parts(facts.image) if part.missing)


@check(
    "metadata.newer_level",
    UNUSUAL,
    f"feature levels, or versions of records, newer than Kafka {NEWEST_RELEASE.name}: their rules are not judged here",
    IMAGE,
    of_a_part=True,
)
def newer_level(facts: Facts) -> Iterator[Found]:
    return (Found(part.place) for part in newer_parts(facts.image) if not part.missing)


@check(
    "metadata.first_records",
    UNUSUAL,
    "records of formatting that only Kafka from 4.4 on puts into the log: 4.3 begins at 4.3-IV0 without them",
    IMAGE,
)
def first_records(facts: Facts) -> Iterator[Found]:
    """Features in a directory's image at offset 0 can only come from a bootstrap snapshot."""
    image = facts.image
    level = image.features.metadata_version
    if image.provenance.source_kind != "directory" or image.provenance.end_offset or level is None or level >= BOOTSTRAP_SNAPSHOT_LEVEL:
        return
    # kraft.version is in control records, which every server reads.
    yield from (Found(f"SCRAM user {name}") for name in sorted({name for users in image.scram.values() for name in users}))
    finalized = sorted(image.features.finalized.items())
    yield from (Found(level_name(name, level)) for name, level in finalized if name != KRAFT_VERSION and level)


def _ways_back(node: ServerNode, facts: Facts, start: int) -> list[str]:
    """Return the ways to restore a log that lacks its beginning; see KafkaMetadataLog.recoverSnapshots."""
    log, directory = node.log, node.log_directory
    assert log is not None
    assert directory is not None
    copy = f"{repairing(node, directory)} --from PATH, a directory or checkpoint (from offset {start} on) of another controller or broker"
    if is_only_voter(node, facts):
        return [f"{node.name} is the only voter: do not empty it; {copy} (brokers have checkpoints too)"]
    others = others_text(node, facts)
    if node.id is not None and node.id in voters_of(node, facts):
        alive = f"while a majority of the voters {', '.join(map(str, sorted(voters_of(node, facts))))} lives (others: {others})"
    else:
        alive = "while the quorum lives"
    kept = "keep meta.properties and quorum-state, start it: it fetches everything"
    fetch = f"{alive}: remove the segments and checkpoints in {log.path}, {kept}"
    return [copy, f"or, {fetch}; not this way if it is the only voter"]


@check(
    "checkpoints.lost_checkpoint",
    BAD,
    "metadata logs that begin late while no whole checkpoint has what came before",
    LOG,
    endangers="the node does not start, or comes up without what is missing",
    source="org.apache.kafka.raft.internals.KafkaRaftLog.recoverSnapshots",
    example="node-2/__cluster_metadata-0 (offsets 0 to 250 are in no checkpoint and no segment)",
    of_a_part=True,
)
def lost_checkpoint(facts: Facts) -> Iterator[Found]:
    for node in nodes_of(facts):
        log = node.log
        if log is None or not log.start_offset or _newest_whole(log) >= log.start_offset:
            continue
        newest = _newest_whole(log)
        first = max(newest, 0)
        torn = [one for one in log.checkpoints if one.trouble]
        words = f"offsets {first} to {log.start_offset - 1} are in no checkpoint and no segment"
        whats = f"{words}; the log begins at {log.start_offset}"
        for one in torn[:1]:
            whats += f"; {one.name} ({one.size_bytes} bytes) {_trouble(one.trouble)}"
        evidence = (Evidence(log.path, log.start_offset), *(Evidence(f"{log.path}/{one.name}") for one in torn[:1]))
        yield Found(log.path, whats, evidence, tuple(_ways_back(node, facts, log.start_offset)), ("directory", log.path))


@check(
    "checkpoints.torn_checkpoint",
    BAD,
    "checkpoints that are not whole",
    LOG,
    follows=("lost_checkpoint",),
    endangers="Kafka loads the newest one without looking for its end: the node comes up without what is missing in it",
    source="org.apache.kafka.snapshot.RecordsSnapshotReader; KIP-630",
    example="00000000000000000329-0000000001.checkpoint (0 bytes)",
    of_a_part=True,
)
def torn_checkpoint(facts: Facts) -> Iterator[Found]:
    for node in nodes_of(facts):
        log = node.log
        if log is None:
            continue
        for one in log.checkpoints:
            if one.trouble:
                path = f"{log.path}/{one.name}"
                older = _newest_whole(log)
                has_rest = older >= log.start_offset or log.start_offset == 0
                directory = node.log_directory
                assert directory is not None
                put_aside = f"{repairing(node, directory)} puts it aside: an older checkpoint and the log have everything"
                steps = [put_aside] if has_rest else []
                steps = steps or _ways_back(node, facts, log.start_offset)
                yield Found(path, f"{one.size_bytes} bytes; {_trouble(one.trouble)}", (Evidence(path),), tuple(steps), ("directory", path))


@check(
    "checkpoints.behind",
    UNUSUAL,
    "metadata logs of voters that lack what another one has in a checkpoint, so what is committed",
    LOG,
    source="KIP-595",
    example="node-3 (ends at 300, epoch 1; node-2 has a checkpoint of all before 329)",
    of_a_part=True,
)
def behind(facts: Facts) -> Iterator[Found]:
    """Such a voter cannot win an election against one that has it, and fetches it when it runs."""
    of_cluster: dict[str | None, list[tuple[ServerNode, MetadataLog]]] = {}
    for node in nodes_of(facts):
        if node.log is not None and node.stored_id is not None:
            of_cluster.setdefault(node.cluster_id, []).append((node, node.log))
    for logs in of_cluster.values():
        best, committed = max(logs, key=lambda found: _newest_whole(found[1]))
        for node, log in logs:
            if log.end_offset < _newest_whole(committed) and node is not best and node.stored_id in voters_of(best, facts):
                whole = _newest_whole(committed)
                cause = f"ends at {log.end_offset}, epoch {log.last_epoch}; {best.name} has a checkpoint of all before {whole}"
                yield Found(
                    log.path,
                    f"{cause}: it lacks {log.end_offset} to {whole - 1} and cannot win against it",
                    (Evidence(log.path, log.end_offset),),
                )


@check(
    "checkpoints.majority_behind",
    BAD,
    "quorums whose other voters, a majority, lack what one node has in a checkpoint, so what is committed",
    LOG,
    endangers="these voters can elect a leader among themselves, and then the committed records are gone",
    step="start the node that has them first, or bring its checkpoint and log to the others, before a majority without them runs",
    source="KIP-595",
    of_a_part=True,
)
def majority_behind(facts: Facts) -> Iterator[Found]:
    nodes = [node for node in nodes_of(facts) if node.log is not None and node.stored_id is not None]
    for node in nodes:
        assert node.log is not None
        voters, whole = voters_of(node, facts), _newest_whole(node.log)
        lacking = {
            other.stored_id: other.log.end_offset
            for other in nodes
            if other.log is not None and other.stored_id in voters and other.cluster_id == node.cluster_id and other.log.end_offset < whole
        }
        if lacking and 2 * len(lacking) > len(voters):
            ends = ", ".join(f"{id} ends at {end}" for id, end in sorted(lacking.items(), key=str))
            evidence = (Evidence(node.log.path, whole),)
            yield Found(node.name, f"it has a checkpoint of all before {whole}; of voters {', '.join(map(str, voters))}: {ends}", evidence)
            return


def _newest_whole(log: MetadataLog) -> int:
    return max((one.offset for one in log.checkpoints if not one.trouble), default=-1)


def _trouble(text: str) -> str:
    return text.removeprefix("checkpoint ")


# ---- features


Supported = Mapping[str, tuple[int, int]]


def registered_nodes(image: MetadataImage) -> list[tuple[str, Supported]]:
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
    """A node supports level 0 of a feature that it does not know."""
    levels = sorted(facts.image.features.finalized.items())
    for node, supported in registered_nodes(facts.image):
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
    """For the newest known release `newer_level` says the same: its limits are those of this software."""
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
    """The nodes that support a lower level than other nodes, if the higher level is above the finalized one.

    A registered controller that is gone is left to `stale_controller`.
    """
    finalized, brokers = facts.image.features.finalized, facts.image.cluster.brokers
    stale = {f"controller {one.id}" for one in spare_controllers(facts)}
    nodes = [(node, supported) for node, supported in registered_nodes(facts.image) if node not in stale]
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
    """The highest level of a feature that all nodes support, and the nodes that support no more; empty if all support the same."""

    level: int
    nodes: tuple[str, ...]


def lowest_maxima(nodes: Sequence[tuple[str, Supported]]) -> dict[str, LowestMaximum]:
    """The level of each feature that an upgrade cannot exceed.

    Source: org.apache.kafka.controller.QuorumFeatures, ClusterControlManager.
    """
    found = {}
    for feature in {name for _, supported in nodes for name in supported}:
        highest = [(node, supported.get(feature, (0, 0))[1]) for node, supported in nodes]
        level = min(level for _, level in highest)
        holders = tuple(node for node, one in highest if one == level)
        found[feature] = LowestMaximum(level, holders if len(holders) < len(nodes) else ())
    return found


# ---- migration from ZooKeeper


MIGRATION: Final = 1
PRE_MIGRATION: Final = 2


@check(
    "migration.zk_migration",
    BAD,
    "a migration from ZooKeeper that is not finished",
    IMAGE,
    endangers="Kafka 4.0 and later know no ZooKeeper: they cannot end it, and brokers that are still in ZooKeeper are lost to them",
    source="KIP-866, org.apache.kafka.metadata.migration.ZkMigrationState",
    example="PRE_MIGRATION (nothing can be changed until all brokers have registered with migration on; offset 3)",
)
def zk_migration(facts: Facts) -> Iterator[Found]:
    state = facts.image.features.zk_migration_state
    if state not in (PRE_MIGRATION, MIGRATION):
        return
    brokers = facts.image.cluster.brokers
    in_zk = sorted(id for id, broker in brokers.items() if broker.is_migrating_zk_broker)
    if state == PRE_MIGRATION:
        registered = f"registered so far: {', '.join(map(str, in_zk))}" if in_zk else "none has registered"
        cause = f"nothing can be changed until all brokers have registered with migration on; {registered}"
        steps = ["start every broker with zookeeper.metadata.migration.enable=true and the controllers' listener, under Kafka 3.9"]
    else:
        cause = "begun and not finalised"
        steps = ["finalise it with Kafka 3.9 before an upgrade to 4.x: restart controllers without zookeeper.metadata.migration.enable"]
        if in_zk:
            cause += f"; brokers still in ZooKeeper mode: {', '.join(map(str, in_zk))}"
            steps.insert(0, "restart the brokers in KRaft mode, one after the other")
    not_ready = sorted(id for id, one in facts.image.cluster.controllers.items() if not one.zk_migration_ready)
    if not_ready:
        cause += f"; controllers that are not ready for it: {', '.join(map(str, not_ready))}"
    event = None
    for one in facts.events:
        if one.name == "ZK_MIGRATION_STATE_RECORD" and (event is None or event.record.zk_migration_state != one.record.zk_migration_state):
            event = one
    yield Found(ZK_MIGRATION_STATES[state], cause, () if event is None else evidence_of(event), tuple(steps))
