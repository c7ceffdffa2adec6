"""Identity of log directories: every refusal of Kafka's MetaPropertiesEnsemble, and what the log says of the same disks."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from metashell.common.values import uuid_text
from metashell.metadata.checks.facts import CONFIG, DIRECTORIES, LOG, Identity
from metashell.metadata.checks.model import BAD, UNUSUAL, Evidence, Found, check
from metashell.metadata.checks.nodes import (
    META_PROPERTIES,
    ServerNode,
    directory_ids,
    is_only_voter,
    is_whole,
    lost_directory_ids,
    nodes_of,
    others_text,
    place_of,
    repairing,
    voters_of,
)

if TYPE_CHECKING:
    from metashell.metadata.checks.facts import Facts, LogDirectory

_ENSEMBLE: Final = "org.apache.kafka.metadata.properties.MetaPropertiesEnsemble"
_REFUSED: Final = "Kafka does not start on any directory of this node"
_RESERVED_IDS: Final = 100
"""Directory ids below this number are reserved, such as LOST and MIGRATING."""


def _found(directory: LogDirectory, cause: str, *steps: str, evidence: str = "") -> Found:
    return Found(directory.path, cause, (Evidence(evidence or place_of(directory)),), steps, ("directory", directory.path))


# ---- what is missing or cannot be read


@check(
    "identity.lost_metadata",
    BAD,
    "nodes whose metadata log is gone while their other directories are there",
    DIRECTORIES,
    endangers="the node does not start; if it is the only voter, formatting it begins an empty cluster without any of the partitions",
    source=_ENSEMBLE,
    example="d3 (is empty; node 1389 is the only voter)",
    of_a_part=True,
)
def lost_metadata(facts: Facts) -> Iterator[Found]:
    for node in nodes_of(facts):
        lost = _lost_metadata(node)
        if lost is not None:
            directory, what = lost
            who = _standing(node, facts)
            yield _found(directory, "; ".join(filter(None, (what, who, node.neighbours_text()))), *_ways_back(node, facts, directory))


def _lost_metadata(node: ServerNode) -> tuple[LogDirectory, str] | None:
    """The directory where the metadata log was, if that can be told, and what is there now."""
    if node.log is not None or not node.identities:
        return None
    unformatted = [one for one in node.directories if one.identity is None and not one.is_alone]
    expected = node.log_directory if node.is_complete else unformatted[0] if len(unformatted) == 1 else None
    if expected is None:
        return None
    if expected.identity is None:
        return expected, _state_words(expected)
    if any(one.partitions for one in node.directories):
        return expected, "has no __cluster_metadata-0, while partitions lie in the directories of this node"
    return None


def _standing(node: ServerNode, facts: Facts) -> str:
    voters = voters_of(node, facts)
    if is_only_voter(node, facts):
        return f"{node.name} is the only voter, so formatting it makes an empty cluster"
    if node.id in voters:
        return f"{node.name} is one of the voters {', '.join(map(str, sorted(voters)))}"
    return ""


def _ways_back(node: ServerNode, facts: Facts, directory: LogDirectory) -> list[str]:
    config = "server.properties" if node.configuration is None else node.configuration.path
    cluster = node.cluster_id or "CLUSTER_ID"
    is_dynamic = node.configuration is not None and not node.configuration.voters and "controller" in node.configuration.roles
    format = f"metashell storage format -g -t {cluster} -c {config}{' --no-initial-controllers' if is_dynamic else ''}"
    if is_only_voter(node, facts):
        return [
            f"do not format it yet: look for a copy of {directory.path} (a backup, the old volume) and put it back, or for a checkpoint or "
            f"a broker's log directory: metashell quorum restore COPY --out {directory.path} --node-id {node.id} --listener HOST:PORT",
            f"without any copy the cluster begins anew: keep the other directories, then {format}",
        ]
    if voters_of(node, facts) and node.id in voters_of(node, facts):
        return [f"while a majority of the others ({others_text(node, facts)}) lives: {format}, then start it: it fetches the log"]
    return [
        f"look for a copy of {directory.path} first: where this node is the only voter, formatting makes an empty cluster",
        f"while a quorum of other nodes lives: {format}, then start it: it fetches the log",
        *(["then metashell quorum remove-controller with its former directory.id, and add-controller on this node"] if is_dynamic else []),
    ]


@check(
    "identity.unformatted",
    BAD,
    "log directories without meta.properties",
    DIRECTORIES,
    follows=("lost_metadata",),
    endangers=_REFUSED,
    source="kafka.server.KafkaRaftServer.initializeLogDirs",
    example="d2 (is empty; by its neighbours it was of cluster.id MkU3OEVBNTcwNTJENDM2Qk, node.id 1389)",
    of_a_part=True,
)
def unformatted(facts: Facts) -> Iterator[Found]:
    for node in nodes_of(facts):
        lost = _lost_metadata(node)
        for directory in node.directories:
            if directory.identity is None and not directory.is_alone and (lost is None or directory is not lost[0]):
                cause = "; ".join(filter(None, (_state_words(directory), node.neighbours_text())))
                yield _found(directory, cause, _formatting(node, directory, facts))


def _state_words(directory: LogDirectory) -> str:
    if directory.state != "present":
        return "does not exist" if directory.state == "missing" else "is not a directory"
    return "is empty" if directory.is_empty else "has no meta.properties"


def _formatting(node: ServerNode, directory: LogDirectory, facts: Facts) -> str:
    config = "server.properties" if node.configuration is None else node.configuration.path
    if directory.partitions or directory.metadata is not None:
        return _writing(node, directory, facts)
    first = "mount its disk, if it had one; a new one: " if node.identities else ""
    return f"{first}metashell storage format -g -t {node.cluster_id or 'CLUSTER_ID'} -c {config}"


def _writing(node: ServerNode, directory: LogDirectory, facts: Facts) -> str:
    """Return the command that writes meta.properties again, from the facts that prove its ids."""
    known = ", ".join(lost_directory_ids(node, facts))
    has = f" (the log has {known} for {node.name})" if known else ""
    more = "" if node.configuration is not None else "; -c server.properties proves the node.id"
    log = "" if node.log is not None or node.configuration is not None else ", --from a directory with a metadata log the rest"
    return f"{repairing(node, directory)}: it writes {META_PROPERTIES} again with the ids that are proven{has}{more}{log}"


@check(
    "identity.torn_identity",
    BAD,
    "meta.properties that cannot be read, or lack what Kafka needs of it",
    DIRECTORIES,
    endangers=_REFUSED,
    source="org.apache.kafka.metadata.properties.MetaProperties",
    example="d3 (is empty; by its neighbours it was of cluster.id MkU3OEVBNTcwNTJENDM2Qk, node.id 1389)",
    of_a_part=True,
)
def torn_identity(facts: Facts) -> Iterator[Found]:
    for node in nodes_of(facts):
        for directory in node.directories:
            identity = directory.identity
            if identity is None or is_whole(identity):
                continue
            what = identity if isinstance(identity, str) else _lacking(identity)
            cause = "; ".join(filter(None, (what, node.neighbours_text())))
            yield _found(directory, cause, _writing(node, directory, facts))


def _lacking(identity: Identity) -> str:
    if identity == Identity(0, None, None, None):
        return "meta.properties is empty, or nothing in it is a property: no cluster.id, no node.id"
    name = "node.id" if identity.version else "broker.id"
    missing = [text for text, value in (("cluster.id", identity.cluster_id), (name, identity.node_id)) if value is None]
    return f"meta.properties has no {' and no '.join(missing)}"


@check(
    "identity.never_started",
    UNUSUAL,
    "nodes that were formatted and never started: there is no metadata log yet",
    DIRECTORIES,
    source="org.apache.kafka.metadata.storage.Formatter",
    of_a_part=True,
)
def never_started(facts: Facts) -> Iterator[Found]:
    for node in nodes_of(facts):
        who = {(identity.cluster_id, identity.node_id) for _, identity in node.identities}
        is_whole_node = len(node.identities) == len(node.directories) and who == {(node.cluster_id, node.id)}
        if is_whole_node and node.log is None and not any(one.partitions for one in node.directories):
            cause = "" if node.is_complete else "or its metadata log is in a directory that was not named"
            yield Found(node.name, cause, key=("directory", node.directories[0].path))


# ---- what does not fit


@check(
    "identity.duplicate_directory_id",
    BAD,
    "log directories with the same directory.id",
    DIRECTORIES,
    endangers=_REFUSED,
    source=_ENSEMBLE,
    example="d2 (directory.id KLlUAC2Kwf4tkmC8QRkT5A is that of d1 too)",
    of_a_part=True,
)
def duplicate_directory_id(facts: Facts) -> Iterator[Found]:
    """A backup of a whole directory has the same id too and is no fault: it is of the same node and has logs in common."""
    seen: dict[bytes, tuple[ServerNode, LogDirectory]] = {}
    for node in nodes_of(facts):
        for directory, id in directory_ids(node):
            other_node, other = seen.setdefault(id, (node, directory))
            if other is directory or (other_node is not node and _is_copy(other, directory)):
                continue
            cause = f"directory.id {uuid_text(id)} is that of {other.path} too: one is a copy of the other's volume or file"
            where = ", ".join(lost_directory_ids(node, facts))
            known = f" (the log has {where} for {node.name})" if where else ""
            step = (
                f"{repairing(node, directory)}, where partitions show which one was copied; else give that one an id of its own in "
                f"{place_of(directory)}{known}: metashell storage random-uuid makes one"
            )
            yield Found(
                directory.path, cause, (Evidence(place_of(other)), Evidence(place_of(directory))), (step,), ("directory", directory.path)
            )


def _is_copy(one: LogDirectory, other: LogDirectory) -> bool:
    """Return whether two directories with one id may be a directory and its backup."""
    if isinstance(one.identity, Identity) and isinstance(other.identity, Identity) and one.identity.node_id != other.identity.node_id:
        return False
    names = {(place.topic, place.partition) for place in one.partitions}
    return (one.metadata is not None and other.metadata is not None) or any((p.topic, p.partition) in names for p in other.partitions)


@check(
    "identity.other_cluster",
    BAD,
    "log directories of another cluster",
    DIRECTORIES,
    endangers=f"{_REFUSED}; nodes of two clusters never form one",
    source=_ENSEMBLE,
    example="d2 (cluster.id NkU3OEVBNTcwNTJENDM2Qk; d1 has MkU3OEVBNTcwNTJENDM2Qk)",
    of_a_part=True,
)
def other_cluster(facts: Facts) -> Iterator[Found]:
    """Compared with the other directories of the node, else with the first node that was given."""
    expected = None
    for node in nodes_of(facts):
        own = node.cluster_id
        expected = expected or own
        with_own = next((place_of(one) for one, identity in node.identities if identity.cluster_id == own), "")
        for directory, identity in node.identities:
            is_alone_in_node = identity.cluster_id != own
            if not is_alone_in_node and own == expected:
                continue
            right, place = (own, with_own) if is_alone_in_node else (expected, "the first node")
            cause = f"cluster.id {identity.cluster_id}; {'the others of this node have' if is_alone_in_node else place + ' has'} {right}"
            step = (
                f"find out which disk this is: one of another cluster does not belong here; if it is this node's, "
                f"{repairing(node, directory)} proves it and sets cluster.id={right}"
                if is_alone_in_node
                else "judge each cluster by itself"
            )
            more = (Evidence(place),) if is_alone_in_node else ()
            yield Found(directory.path, cause, (Evidence(place_of(directory)), *more), (step,), ("directory", directory.path))


@check(
    "identity.other_node_id",
    BAD,
    "log directories of another node.id than the configuration's, or their neighbours'",
    DIRECTORIES,
    endangers=_REFUSED,
    source=_ENSEMBLE,
    example="d1 (node.id 1389 in meta.properties, 1001 in server.properties)",
    of_a_part=True,
)
def other_node_id(facts: Facts) -> Iterator[Found]:
    for node in nodes_of(facts):
        config = node.configuration
        by_config = config is not None and config.node_id is not None
        whose = f"in {config.path}" if config is not None and by_config else "in the others of this node"
        for directory, identity in node.identities:
            if identity.node_id != node.id:
                step = (
                    f"set node.id={identity.node_id} in the configuration, or mount the disk of node {node.id}; "
                    "never change meta.properties of a node that has run"
                )
                yield _found(directory, f"node.id {identity.node_id} in meta.properties, {node.id} {whose}", step)


@check(
    "identity.reserved_directory_id",
    BAD,
    "log directories with a directory.id that Kafka reserves",
    DIRECTORIES,
    endangers=_REFUSED,
    source=_ENSEMBLE,
    of_a_part=True,
)
def reserved_directory_id(facts: Facts) -> Iterator[Found]:
    for node in nodes_of(facts):
        for directory, id in directory_ids(node):
            if int.from_bytes(id, "big") < _RESERVED_IDS:
                yield _found(directory, f"directory.id {uuid_text(id)}", f"{repairing(node, directory)} gives it the id that is proven")


@check(
    "identity.old_identity",
    UNUSUAL,
    "meta.properties in the form of ZooKeeper's times (version 0)",
    DIRECTORIES,
    source="org.apache.kafka.metadata.properties.MetaPropertiesVersion",
    of_a_part=True,
)
def old_identity(facts: Facts) -> Iterator[Found]:
    for node in nodes_of(facts):
        for directory, identity in node.identities:
            if identity.version == 0:
                yield _found(directory, f"version 0, broker.id {identity.node_id}")


@check(
    "identity.misplaced_metadata",
    BAD,
    "metadata logs outside the metadata directory of the configuration",
    DIRECTORIES,
    CONFIG,
    endangers=_REFUSED,
    source="kafka.server.KafkaRaftServer.initializeLogDirs",
    example="d1/__cluster_metadata-0 (by server.properties the metadata directory is d3)",
    of_a_part=True,
)
def misplaced_metadata(facts: Facts) -> Iterator[Found]:
    for node in nodes_of(facts):
        config = node.configuration
        if config is None or not config.metadata_directory:
            continue
        for directory in node.directories:
            log = directory.metadata
            if log is not None and posixpath.realpath(directory.path) != posixpath.realpath(config.metadata_directory):
                cause = f"by {config.path} the metadata directory is {config.metadata_directory}"
                step = f"set metadata.log.dir={directory.path}, or move {log.path} to {config.metadata_directory} where there is none"
                yield _found(directory, cause, step, evidence=log.path)


# ---- against the log


@check(
    "identity.other_disk_votes",
    BAD,
    "voters whose disk is not the one that the voter set names",
    DIRECTORIES,
    LOG,
    endangers="this disk does not vote, and while the voter set names another one, a majority lacks it",
    source="KIP-853; org.apache.kafka.raft.VoterSet.isVoter",
    example="node-2 (directory.id A; the voter set has B for 2)",
)
def other_disk_votes(facts: Facts) -> Iterator[Found]:
    for node in nodes_of(facts):
        directory = node.log_directory
        identity = None if directory is None else directory.identity
        if directory is None or not isinstance(identity, Identity) or identity.directory_id is None or node.id is None:
            continue
        named = voters_of(node, facts).get(node.id)
        if named is not None and named != identity.directory_id:
            voter, own = uuid_text(named), uuid_text(identity.directory_id)
            steps = (
                f"the disk with {voter} is there: mount that one",
                f"it is lost: metashell quorum remove-controller {node.id} -d {voter}, then metashell quorum add-controller "
                "--server-config server.properties on this node",
            )
            yield _found(directory, f"directory.id {own}; the voter set has {voter} for {node.id}", *steps)


@check(
    "identity.missing_directory",
    BAD,
    "registered directories of brokers that none of their log.dirs has",
    DIRECTORIES,
    CONFIG,
    LOG,
    follows=("duplicate_directory_id",),
    endangers="the replicas in them are offline once the broker starts without them",
    source="KIP-858",
    example="broker 1: directory A (3 replicas; log.dirs has B)",
)
def missing_directory(facts: Facts) -> Iterator[Found]:
    """A directory without replicas may be missing."""
    for node in nodes_of(facts):
        if not node.is_complete or facts.health is None or node.configuration is None:
            continue
        missing = set(lost_directory_ids(node, facts))
        if not missing or len(node.identities) < len(node.directories):
            continue  # A directory that is empty or cannot be read may be the missing one.
        counts = dict.fromkeys(missing, 0)
        for _, _, partition in facts.image.topics.iter_partitions():
            for id, directory in zip(partition.replicas, partition.directories, strict=False):
                if id == node.stored_id and (text := uuid_text(directory)) in counts:
                    counts[text] += 1
        present = ", ".join(uuid_text(id) for _, id in directory_ids(node)) or "none"
        for text, count in sorted(counts.items()):
            if count:
                cause = f"{count} replicas are assigned to it; log.dirs of {node.configuration.path} has {present}"
                step = f"add the directory with directory.id={text} to log.dirs, or mount its disk"
                yield Found(f"broker {node.stored_id}: directory {text}", cause, (), (step,), ("broker", node.stored_id))


@check(
    "identity.shared_node_id",
    BAD,
    "different disks of one cluster that claim the same node.id",
    DIRECTORIES,
    endangers="a cluster takes one of them at a time; the other's records are not its own",
    source="KIP-853",
    example="node 2 (a: directory.id A, log to 521; b: directory.id B, log to 480)",
    of_a_part=True,
)
def shared_node_id(facts: Facts) -> Iterator[Found]:
    first: dict[tuple[str | None, int | None], ServerNode] = {}
    for node in nodes_of(facts):
        if node.log is None or not node.identities:
            continue
        other = first.setdefault((node.cluster_id, node.stored_id), node)
        ids = [{id for _, id in directory_ids(one)} for one in (other, node)]
        if other is node or not all(ids) or ids[0] & ids[1]:
            continue
        disks = [_disk_text(one) for one in (other, node)]
        named = voters_of(node, facts).get(node.stored_id or 0)
        known = f"; the voter set has {uuid_text(named)}" if named is not None else ""
        step = (
            "start the server only on the disk that the voter set or the broker's registration names; give the other node an id of its own"
        )
        yield Found(f"node {node.stored_id}", f"{'; '.join(disks)}{known}", (), (step,), ("directory", node.directories[0].path))


def _disk_text(node: ServerNode) -> str:
    log, directory = node.log, node.log_directory
    assert log is not None
    assert directory is not None
    ids = ", ".join(uuid_text(id) for _, id in directory_ids(node))
    return f"{directory.path}: directory.id {ids}, log to offset {log.end_offset}, epoch {log.last_epoch}"
