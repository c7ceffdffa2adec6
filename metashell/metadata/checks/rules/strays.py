"""Directories of partitions against the metadata: which of them a broker would rename to -stray when it starts.

Kafka loads a log under the topic id of its partition.metadata. If that file is missing, names no partition of the metadata, or one that
this broker is no replica of, the broker renames the directory to -stray and begins an empty log in its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.common.values import group_log_topic_id, uuid_text
from metashell.metadata.checks.facts import IMAGE, LOG, TOPIC_DIRECTORIES, TopicNote
from metashell.metadata.checks.model import BAD, UNUSUAL, Evidence, Found, check
from metashell.metadata.checks.nodes import image_of, nodes_of, repairing
from metashell.metadata.checks.partitions import NO_DIRECTORIES

if TYPE_CHECKING:
    from metashell.metadata.checks.facts import Facts, LogDirectory, PartitionDirectory
    from metashell.metadata.checks.nodes import ServerNode
    from metashell.metadata.image import TopicImage
    from metashell.metadata.image.partitions import PartitionRegistration

_STRAY: Final = "org.apache.kafka.storage.internals.log.LogManager.isStrayKraftReplica (KAFKA-14616, KAFKA-16814)"


class _Placed(NamedTuple):
    """A directory of a partition with what the metadata says: the topic of its id, that of its name, and the partition (of the id)."""

    node: ServerNode
    directory: LogDirectory
    place: PartitionDirectory
    of_id: TopicImage | None
    of_name: TopicImage | None
    partition: PartitionRegistration | None


def _placed(facts: Facts) -> Iterator[_Placed]:
    """The directories that a broker loads as logs, without those that it renamed. A node that is only a controller loads none.

    A controller of ours that serves groups keeps their log in such directories, with a topic id that the metadata does not have.
    """
    for node in nodes_of(facts):
        image, config = image_of(node, facts), node.configuration
        if node.stored_id is None or image is None or (config is not None and config.roles == {"controller"}):
            continue
        topics = image.topics
        for directory in node.directories:
            for place in directory.partitions:
                if place.suffix or (node.cluster_id and place.topic_id == group_log_topic_id(node.cluster_id)):
                    continue
                of_id = topics.by_id.get(place.topic_id) if isinstance(place.topic_id, bytes) else None
                has_it = of_id is not None and of_id.has_partition(place.partition)
                partition = of_id.partitions[place.partition] if of_id is not None and has_it else None
                yield _Placed(node, directory, place, of_id, topics.by_name.get(place.topic), partition)


def _note(facts: Facts, id: bytes) -> TopicNote:
    return next((log.topics[id] for log in facts.logs if id in log.topics), TopicNote(""))


def _since(note: TopicNote, facts: Facts, path: str) -> tuple[Evidence, ...]:
    log = facts.logs[0].path
    return (Evidence(path), Evidence(log, note.offset, note.timestamp_ms)) if note.offset >= 0 else (Evidence(path),)


def _copies(one: _Placed) -> str:
    """Return a text on the other replicas that have the records if this replica's log leaves the cluster; empty for an unknown topic."""
    topic = one.of_name
    if topic is None or not topic.has_partition(one.place.partition):
        return ""
    replicas = topic.partitions[one.place.partition].replicas
    others = [str(id) for id in replicas if id != one.node.stored_id]
    return (
        f"the replicas on {', '.join(others)} have it too"
        if others
        else "this is the only replica: its records would be out of the cluster"
    )


@check(
    "strays.stray_topic_id",
    BAD,
    "directories of partitions with another topic id than the metadata has for that name: a start renames them to -stray",
    IMAGE,
    LOG,
    TOPIC_DIRECTORIES,
    endangers="the broker serves an empty log instead; where this is the only replica, the records are out of the cluster",
    source=_STRAY,
    example="orders-0 (topic id YjFCU3hKTm5SdG1GbFRqRg; the log has GkAEk4eBS9m0_53kDCFCYA for orders, offset 28)",
)
def stray_topic_id(facts: Facts) -> Iterator[Found]:
    """A topic that was removed and made again, while the broker was down, leaves such directories too: then the log says so."""
    for one in _placed(facts):
        id, topic = one.place.topic_id, one.of_name
        if not isinstance(id, bytes) or one.of_id is not None or topic is None or _was_removed(facts, id):
            continue
        note = _note(facts, topic.id)
        at = f", offset {note.offset}" if note.offset >= 0 else ""
        cause = f"topic id {uuid_text(id)}; the log has {uuid_text(topic.id)} for {topic.name}{at}; {_copies(one)}"
        step = (
            f"do not start the broker yet; {repairing(one.node, one.directory)} writes topic_id: {uuid_text(topic.id)} where it is proven "
            f"that this is {topic.name}'s log; else find out whose log this is, and keep a copy"
        )
        yield Found(_name(one), cause, _since(note, facts, one.place.path), (step,), ("partition", topic.id, one.place.partition))


@check(
    "strays.no_topic_id",
    BAD,
    "directories of partitions whose partition.metadata is missing or torn: a start renames them to -stray, or does not come about",
    IMAGE,
    LOG,
    TOPIC_DIRECTORIES,
    endangers="the broker serves an empty log instead; where this is the only replica, the records are out of the cluster",
    source=f"{_STRAY}; before 3.8 (3.7.1) a broker does not start",
    example="orders-1 (no partition.metadata; by the log orders has topic id GkAEk4eBS9m0_53kDCFCYA)",
)
def no_topic_id(facts: Facts) -> Iterator[Found]:
    for one in _placed(facts):
        id, topic = one.place.topic_id, one.of_name
        if isinstance(id, bytes):
            continue
        what = "no partition.metadata" if id is None else f"partition.metadata: {id}"
        if topic is None:
            yield Found(_name(one), f"{what}; the log knows no topic {one.place.topic}", (Evidence(one.place.path),))
            continue
        note = _note(facts, topic.id)
        cause = f"{what}; by the log {topic.name} has topic id {uuid_text(topic.id)}; {_copies(one)}"
        step = (
            f"do not start the broker yet; {repairing(one.node, one.directory)} writes topic_id: {uuid_text(topic.id)} where it is proven "
            f"that this is {topic.name}'s log"
        )
        yield Found(_name(one), cause, _since(note, facts, one.place.path), (step,), ("partition", topic.id, one.place.partition))


@check(
    "strays.not_a_replica",
    UNUSUAL,
    "directories of partitions of which the broker is no replica: a start renames them to -stray (from 3.7 on)",
    IMAGE,
    LOG,
    TOPIC_DIRECTORIES,
    source=_STRAY,
    example="orders-2 (on broker 1; its replicas are 2, 3)",
)
def not_a_replica(facts: Facts) -> Iterator[Found]:
    """A broker that was down while its replicas were moved away finds such directories; the other replicas have all records."""
    for one in _placed(facts):
        if one.of_id is None:
            continue
        if one.partition is None:
            cause = f"{one.of_id.name} has no partition {one.place.partition}"
        elif one.node.stored_id not in one.partition.replicas:
            cause = f"on broker {one.node.stored_id}; its replicas are {', '.join(map(str, one.partition.replicas))}"
        else:
            continue
        yield Found(_name(one), cause, (Evidence(one.place.path),), (), ("partition", one.of_id.id, one.place.partition))


@check(
    "strays.unknown_topic",
    BAD,
    "directories of partitions whose topic the metadata never had: a start renames them to -stray (from 3.7 on)",
    IMAGE,
    LOG,
    TOPIC_DIRECTORIES,
    endangers="their records are out of the cluster; they are of another cluster, or the metadata is not this cluster's",
    source=_STRAY,
    example="orders-0 (topic id YjFCU3hKTm5SdG1GbFRqRg)",
)
def unknown_topic(facts: Facts) -> Iterator[Found]:
    """A log that does not begin at offset 0 may have lost the record that removed a topic, so it cannot tell."""
    if _begins_late(facts):
        return
    for one in _placed(facts):
        id = one.place.topic_id
        if isinstance(id, bytes) and one.of_id is None and one.of_name is None and not _was_removed(facts, id):
            step = "find out whose disk this is: the metadata log has all since the cluster's first record, and no such topic"
            yield Found(_name(one), f"topic id {uuid_text(id)}", (Evidence(one.place.path),), (step,), ("directory", one.place.path))


@check(
    "strays.removed_topic",
    UNUSUAL,
    "directories of partitions whose topic was deleted: a start renames them to -stray (from 3.7 on)",
    IMAGE,
    LOG,
    TOPIC_DIRECTORIES,
    source=_STRAY,
)
def removed_topic(facts: Facts) -> Iterator[Found]:
    for one in _placed(facts):
        id = one.place.topic_id
        if not isinstance(id, bytes) or one.of_id is not None:
            continue
        note = _note(facts, id)
        if note.removed_offset >= 0:
            evidence = (Evidence(one.place.path), Evidence(facts.logs[0].path, note.removed_offset, note.removed_ms))
            yield Found(_name(one), f"topic id {uuid_text(id)} was deleted at offset {note.removed_offset}", evidence)
        elif one.of_name is None and _begins_late(facts):
            yield Found(_name(one), f"the metadata has no topic id {uuid_text(id)}", (Evidence(one.place.path),))


@check(
    "strays.partition_twice",
    BAD,
    "partitions with a log in two directories of one broker",
    TOPIC_DIRECTORIES,
    endangers="the broker does not start: duplicate log directories",
    source="org.apache.kafka.storage.internals.log.LogManager.loadLog",
    example="orders-0 (in d1 and d2; the metadata assigns d1)",
    of_a_part=True,
)
def partition_twice(facts: Facts) -> Iterator[Found]:
    """Seen in 4.4.0: `Duplicate log directories for orders-0 are found in both ...`, and the server ends."""
    for node in nodes_of(facts):
        first: dict[tuple[str, int], tuple[LogDirectory, PartitionDirectory]] = {}
        for directory in node.directories:
            for place in directory.partitions:
                if place.suffix or _is_stray(facts, node, place):
                    continue
                other, other_place = first.setdefault((place.topic, place.partition), (directory, place))
                if other is not directory:
                    assigned = _assigned(facts, node, place)
                    known = f"; the metadata assigns {assigned}" if assigned else ""
                    step = "compare the two; keep the one that the metadata assigns, move the other out of the log directory"
                    evidence = (Evidence(other_place.path), Evidence(place.path))
                    yield Found(f"{place.topic}-{place.partition}", f"in {other.path} and {directory.path}{known}", evidence, (step,))


def _is_stray(facts: Facts, node: ServerNode, place: PartitionDirectory) -> bool:
    """Return whether a start renames a directory before it looks for another one of the same partition, as far as the metadata is known."""
    if facts.health is None:
        return False
    topic = facts.image.topics.by_id.get(place.topic_id) if isinstance(place.topic_id, bytes) else None
    return topic is None or not topic.has_partition(place.partition) or node.stored_id not in topic.partitions[place.partition].replicas


def _assigned(facts: Facts, node: ServerNode, place: PartitionDirectory) -> str:
    """The path of the directory that the metadata assigns a replica to, or its id if none of these directories has it; else empty."""
    if facts.health is None or node.stored_id is None:
        return ""
    topic = facts.image.topics.by_name.get(place.topic)
    if topic is None or not topic.has_partition(place.partition):
        return ""
    id = _directory_of(topic.partitions[place.partition], node.stored_id)
    if id is None or id in NO_DIRECTORIES:
        return ""
    return next((one.path for one, identity in node.identities if identity.directory_id == id), uuid_text(id))


def _directory_of(partition: PartitionRegistration, broker_id: int) -> bytes | None:
    return next((id for replica, id in zip(partition.replicas, partition.directories, strict=False) if replica == broker_id), None)


@check(
    "strays.other_directory",
    UNUSUAL,
    "partitions that lie in another directory of their broker than the metadata assigns",
    IMAGE,
    LOG,
    TOPIC_DIRECTORIES,
    source="KIP-858; kafka.server.AssignmentsManager",
    example="orders-0 (in d1; the metadata assigns d2)",
)
def other_directory(facts: Facts) -> Iterator[Found]:
    """The broker tells the controller of its true directory when it starts."""
    for one in _placed(facts):
        if one.partition is None or one.node.stored_id is None:
            continue
        own = next((identity.directory_id for directory, identity in one.node.identities if directory is one.directory), None)
        assigned = _directory_of(one.partition, one.node.stored_id)
        if own is None or assigned is None or assigned in NO_DIRECTORIES or assigned == own:
            continue
        registered = facts.image.cluster.brokers.get(one.node.stored_id)
        if registered is None or own not in registered.directories:
            continue
        evidence = (Evidence(one.place.path),)
        yield Found(_name(one), f"in {one.directory.path}; the metadata assigns {_assigned(facts, one.node, one.place)}", evidence)


@check(
    "strays.stray_left",
    UNUSUAL,
    "directories that a broker has renamed to -stray: they are kept and serve nobody",
    TOPIC_DIRECTORIES,
    step="check whether their records are missed; if not, remove them while the broker is down",
    source=_STRAY,
    of_a_part=True,
)
def stray_left(facts: Facts) -> Iterator[Found]:
    for directory in facts.directories:
        for place in directory.partitions:
            if place.suffix == "stray":
                yield Found(place.path, key=("directory", place.path))


def _name(one: _Placed) -> str:
    return f"{one.place.topic}-{one.place.partition}"


def _was_removed(facts: Facts, id: bytes) -> bool:
    return _note(facts, id).removed_offset >= 0


def _begins_late(facts: Facts) -> bool:
    """Return whether the logs lack the cluster's first records, which then may have named topics that are gone."""
    return all(log.start_offset > 0 for log in facts.logs)
