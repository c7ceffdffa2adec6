"""Rebuilds a meta.properties from what proves it, and never from a guess.

Three values are needed, and each must follow from facts. Facts that contradict each other, or leave several values, end in a refusal that
names them.

- cluster.id: a whole line of the torn file; the other directories of the node in its server.properties; a source that is proven to be of
  the same cluster.
- node.id: a whole line of the torn file; the server.properties; the node that the metadata has for the directory.id; the one broker whose
  directory holds all the partitions that lie here.
- directory.id: a whole line of the torn file; the voter set, for the directory of a voter's metadata log; the directory to which the
  metadata assigns the partitions that lie here; the only registered directory of the node that is not accounted for. Where no record can
  name it (a controller of a static quorum, a node that never registered), a new one serves as well.

Source: org.apache.kafka.metadata.properties.MetaPropertiesEnsemble; KIP-858, KIP-853."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.common.values import ZERO_UUID, uuid_from_text, uuid_text
from metashell.disk.mend import FileChange
from metashell.disk.names import META_PROPERTIES
from metashell.disk.properties import MetaProperties, format_meta_properties
from metashell.inspect.repair.facts import Refusal, RepairFacts, Step
from metashell.metadata.checks.facts import Identity
from metashell.metadata.checks.nodes import is_whole
from metashell.metadata.checks.partitions import NO_DIRECTORIES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metashell.metadata.checks.facts import LogDirectory
    from metashell.metadata.image import MetadataImage


_RESERVED_IDS: Final = 100
_LINE: Final = re.compile(rb"(cluster\.id|node\.id|directory\.id)=([A-Za-z0-9_.-]+)")
_NUMBER: Final = re.compile(r"[0-9]{1,10}")


class Claim(NamedTuple):
    """A value, and the fact that says so."""

    value: str
    source: str


class Unproven(Exception):
    """A value that does not follow from the facts, with the ways to prove it."""

    def __init__(self, cause: str, *ways: str) -> None:
        super().__init__(cause)
        self.cause = cause
        self.ways = ways


def identity_step(facts: RepairFacts) -> tuple[Step | Refusal | None, MetaProperties | None]:
    """The step that rebuilds meta.properties or the reason why it cannot be rebuilt, None if it is sound; and the proven content."""
    check, cause, lines = _fault(facts)
    if not check:
        assert isinstance(facts.own.identity, Identity)
        return None, MetaProperties(*facts.own.identity)
    place = os.path.join(facts.own.path, META_PROPERTIES)
    try:
        cluster = _cluster_id(facts, lines)
        node = _node_id(facts, lines)
        directory = _directory_id(facts, lines, int(node.value))
        _check_unused(facts, directory)
    except Unproven as error:
        return Refusal(check, place, f"{cause}; {error.cause}", error.ways), None
    meta = MetaProperties(1, cluster.value, int(node.value), uuid_from_text(directory.value))
    data = format_meta_properties(meta, date=facts.request.date)
    said = (("cluster.id", cluster), ("node.id", node), ("directory.id", directory))
    reason = "; ".join(f"{name}={claim.value} ({claim.source})" for name, claim in said)
    return Step(check, FileChange("write", META_PROPERTIES, data=data), cause, reason), meta


def _fault(facts: RepairFacts) -> tuple[str, str, dict[str, str]]:
    """The check and cause of a fault in the file, and the lines of it that count; an empty check if it is sound."""
    identity = facts.own.identity
    if identity is None:
        return "unformatted", "meta.properties is missing", {}
    lines = whole_lines(os.path.join(facts.own.path, META_PROPERTIES))
    if not is_whole(identity):
        what = (
            identity
            if isinstance(identity, str)
            else "lacks "
            + " and ".join(name for name, value in (("cluster.id", identity.cluster_id), ("node.id", identity.node_id)) if value is None)
        )
        return "torn_identity", f"meta.properties: {what}", lines
    assert isinstance(identity, Identity)
    own_id = identity.directory_id
    if own_id is not None and int.from_bytes(own_id, "big") < _RESERVED_IDS:
        return "reserved_directory_id", f"directory.id {uuid_text(own_id)} is reserved", _without(lines, "directory.id")
    twin = _twin(facts, own_id)
    if twin is not None:
        cause = f"directory.id {lines.get('directory.id', '')} is that of {twin.path}"
        return "duplicate_directory_id", cause, _without(lines, "directory.id")
    expected = {one.identity.cluster_id for one in facts.siblings if isinstance(one.identity, Identity)} - {None}
    if expected and identity.cluster_id not in expected:
        cause = f"cluster.id {identity.cluster_id}; the others of this node have {_listed(sorted(filter(None, expected)))}"
        return "other_cluster", cause, _without(lines, "cluster.id")
    config = facts.configuration
    if config is not None and config.node_id not in (None, identity.node_id):
        return "other_node_id", f"node.id {identity.node_id}; {config.path} has {config.node_id}", _without(lines, "node.id")
    return "", "", {}


def whole_lines(path: str) -> dict[str, str]:
    """The values of a torn meta.properties whose lines are whole: with their line end, and once. Errors: OSError."""
    try:
        with open(path, "rb") as file:
            rows = file.read(1 << 16).split(b"\n")[:-1]
    except FileNotFoundError:
        return {}
    found: dict[str, set[str]] = {}
    for row in rows:
        match = _LINE.fullmatch(row.rstrip(b"\r"))
        if match is not None:
            found.setdefault(match[1].decode(), set()).add(match[2].decode())
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1}


def _without(lines: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in lines.items() if key != name}


# ---- the three values


def _cluster_id(facts: RepairFacts, lines: dict[str, str]) -> Claim:
    claims = [Claim(lines["cluster.id"], "its own line")] if "cluster.id" in lines else []
    for one in facts.siblings:
        if isinstance(one.identity, Identity) and one.identity.cluster_id is not None:
            claims.append(Claim(one.identity.cluster_id, f"{one.path}, of the same node"))
    for one in facts.related():
        if isinstance(one.identity, Identity) and one.identity.cluster_id is not None:
            claims.append(Claim(one.identity.cluster_id, f"{one.path}, which shares ids with this directory"))
    if "cluster.id" not in lines and facts.own.identity is not None and is_whole(facts.own.identity):
        # Another cluster's id on a disk of this node: only what lies on it can say where it belongs.
        image = facts.image()
        is_ours = image is not None and facts.log is None and facts.siblings and _is_registered(facts, image)
        claims = claims if is_ours else []
        if not claims:
            raise Unproven(
                "nothing in the directory shows that it is this node's: neither its directory.id nor its topics are in the metadata",
                "find out which disk this is; one of another cluster does not belong here",
            )
    return _only("cluster.id", claims, "name a directory of the same cluster with --from, or the server.properties with -c")


def _is_registered(facts: RepairFacts, image: MetadataImage) -> bool:
    identity = facts.own.identity
    assert isinstance(identity, Identity)
    own = identity.directory_id
    registered = own is not None and bool(owners_of(image, own))
    topics = [place.topic_id for place in facts.own.partitions]
    return registered or (bool(topics) and all(id in image.topics.by_id for id in topics if isinstance(id, bytes)))


def _node_id(facts: RepairFacts, lines: dict[str, str]) -> Claim:
    claims = []
    if _NUMBER.fullmatch(lines.get("node.id", "")):
        claims.append(Claim(lines["node.id"], "its own line"))
    config = facts.configuration
    if config is not None and config.node_id is not None:
        claims.append(Claim(str(config.node_id), config.path))
    for one in facts.siblings:
        if isinstance(one.identity, Identity) and one.identity.node_id is not None:
            claims.append(Claim(str(one.identity.node_id), f"{one.path}, of the same node"))
    image = facts.image()
    own = _uuid_of(lines.get("directory.id"))
    if image is not None and own is not None:
        owners = owners_of(image, own)
        claims += [Claim(str(owner), "the metadata has this directory.id for it") for owner in owners]
    # A wrong id in a whole file is changed only where the metadata says whose directory it is.
    is_changed = is_whole(facts.own.identity) and "node.id" not in lines
    if is_changed and not any("metadata" in claim.source for claim in claims):
        raise Unproven(
            "the metadata does not say whose directory this is",
            "set node.id in the configuration to that of the disk, or mount the right disk",
        )
    if not claims and image is not None:
        holders = {broker for broker, _ in holders_of(facts, image)}
        if len(holders) == 1:
            claims.append(Claim(str(holders.pop()), "the partitions that lie here are assigned to a directory of this broker alone"))
        else:
            known = sorted(holders or possible_nodes(image))
            who = f"it may be that of node {_listed(map(str, known))}" if known else "no source names it"
            raise Unproven(f"node.id is not known: {who}", "name the server.properties of this node with -c")
    return _only("node.id", claims, "name the server.properties of this node with -c")


def _directory_id(facts: RepairFacts, lines: dict[str, str], node: int) -> Claim:
    own = _uuid_of(lines.get("directory.id"))
    if own is not None and int.from_bytes(own, "big") >= _RESERVED_IDS:
        return Claim(uuid_text(own), "its own line")
    image = facts.image()
    identity = facts.own.identity
    twin = _twin(facts, identity.directory_id) if isinstance(identity, Identity) else None
    if isinstance(identity, Identity) and twin is not None and not (_never_started(facts) or _assigned_elsewhere(facts, identity)):
        raise Unproven(
            "nothing shows that this directory is the copy: no partition that lies here is assigned to another id",
            f"try the same with {twin.path}, or give the one that was copied an id of its own (metashell storage random-uuid)",
        )
    if image is None and _never_started(facts):
        return Claim(uuid_text(facts.request.new_uuid()), "new: the node has never started")
    if image is None:
        raise Unproven(
            "no metadata is at hand that would name this directory's id",
            f"name the directory of a metadata log of node {node} or another with --from",
        )
    voter = None if image.voters is None else next((one for one in image.voters.voters if one.id == node), None)
    has_log = facts.log is not None
    if has_log and voter is not None and voter.directory_id != ZERO_UUID:
        return Claim(uuid_text(voter.directory_id), f"the voter set names it for voter {node}")
    broker = image.cluster.brokers.get(node)
    if broker is None or not broker.directories:
        return Claim(uuid_text(facts.request.new_uuid()), "new: no record names a directory of this node")
    held = [id for holder, id in holders_of(facts, image) if holder == node]
    if len(held) == 1 and has_held(facts):
        return Claim(uuid_text(held[0]), "the partitions that lie here are assigned to it")
    if has_held(facts) and not held:
        raise Unproven(
            f"no directory of node {node} has all the partitions that lie here by the metadata",
            "find out whose disk this is, or whether partitions of two directories were put together",
        )
    known = (*facts.siblings, *facts.related())
    present = {one.identity.directory_id for one in known if isinstance(one.identity, Identity)}
    lost = [id for id in broker.directories if id not in present and (voter is None or id != voter.directory_id or has_log)]
    if len(lost) == 1 and facts.configuration is not None:
        return Claim(
            uuid_text(lost[0]), f"the only registered directory of node {node} that no other one of {facts.configuration.path} has"
        )
    if len(lost) == 1 and len(broker.directories) == 1:
        return Claim(uuid_text(lost[0]), f"the only directory that node {node} is registered with")
    if not lost:
        return Claim(uuid_text(facts.request.new_uuid()), f"new: node {node} is registered with its other directories alone")
    raise Unproven(
        f"directory.id may be {_listed(map(uuid_text, lost))}",
        "name the server.properties of this node with -c, with all its log.dirs mounted",
    )


def _never_started(facts: RepairFacts) -> bool:
    """Whether all directories of the node are here and hold neither a metadata log nor a partition, so that nobody knows their ids."""
    config = facts.configuration
    if config is None or any(one.state != "present" for one in facts.siblings):
        return False
    places = (facts.own, *facts.siblings)
    return len(places) == len(set(config.log_directories)) and not any(one.metadata or one.partitions for one in places)


def _only(name: str, claims: list[Claim], way: str) -> Claim:
    values = dict.fromkeys(claim.value for claim in claims)
    if not values:
        raise Unproven(f"no source proves {name}", way)
    if len(values) > 1:
        raise Unproven(
            f"{name} is contradictory: {'; '.join(f'{one.value} by {one.source}' for one in claims)}", "find out which one is right"
        )
    sources = list(dict.fromkeys(claim.source for claim in claims))
    return Claim(claims[0].value, ", ".join(sources[:3]))


def _check_unused(facts: RepairFacts, directory: Claim) -> None:
    for one in (*facts.siblings, *facts.others):
        identity = one.identity
        if isinstance(identity, Identity) and identity.directory_id == uuid_from_text(directory.value):
            raise Unproven(f"directory.id would be {directory.value}, which {one.path} has", "find out which of the two is the original")


# ---- what the metadata says of directories


def owners_of(image: MetadataImage, directory_id: bytes) -> list[int]:
    """The nodes that a directory id is registered for, as brokers or voters."""
    owners = {id for id, broker in image.cluster.brokers.items() if directory_id in broker.directories}
    if image.voters is not None:
        owners.update(voter.id for voter in image.voters.voters if voter.directory_id == directory_id)
    return sorted(owners)


def possible_nodes(image: MetadataImage) -> set[int]:
    """All nodes that the metadata knows."""
    voters = () if image.voters is None else image.voters.voters
    return {*image.cluster.brokers, *image.cluster.controllers, *(voter.id for voter in voters)}


def holders_of(facts: RepairFacts, image: MetadataImage) -> list[tuple[int, bytes]]:
    """The (broker, directory id) that the metadata assigns all the partitions to that lie in this directory."""
    common: set[tuple[int, bytes]] | None = None
    for place in facts.own.partitions:
        topic = image.topics.by_id.get(place.topic_id) if isinstance(place.topic_id, bytes) else image.topics.by_name.get(place.topic)
        if place.suffix or topic is None or not topic.has_partition(place.partition):
            continue
        partition = topic.partitions[place.partition]
        pairs = zip(partition.replicas, partition.directories, strict=False)
        assigned = {(broker, id) for broker, id in pairs if id not in NO_DIRECTORIES}
        common = assigned if common is None else common & assigned
    return sorted(common or ())


def has_held(facts: RepairFacts) -> bool:
    return any(not place.suffix for place in facts.own.partitions)


def _twin(facts: RepairFacts, own: bytes | None) -> LogDirectory | None:
    return next(
        (one for one in facts.siblings if own is not None and isinstance(one.identity, Identity) and one.identity.directory_id == own), None
    )


def _assigned_elsewhere(facts: RepairFacts, identity: Identity) -> bool:
    """Whether the metadata assigns the partitions that lie here to a directory with another id: then this one's id is the copied one."""
    image = facts.image()
    if image is None or identity.node_id is None:
        return False
    held = [id for broker, id in holders_of(facts, image) if broker == identity.node_id]
    return len(held) == 1 and held[0] != identity.directory_id


def _uuid_of(text: str | None) -> bytes | None:
    try:
        return None if text is None else uuid_from_text(text)
    except ValueError:
        return None


def _listed(words: Iterable[str]) -> str:
    """`1, 2 or 3`."""
    all_words = list(words)
    return " or ".join(filter(None, (", ".join(all_words[:-1]), *all_words[-1:])))
