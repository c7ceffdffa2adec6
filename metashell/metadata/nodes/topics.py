"""Topics by name and by id, and their partitions, which stay bytes until a leaf is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from metashell.codec.codes import RECOVERY_STATES, code_name
from metashell.common.values import uuid_text
from metashell.metadata.nodes.names import list_text, parse_int, sorted_names
from metashell.metadata.nodes.node import (
    Directory,
    FixedDirectory,
    JsonValue,
    KeyedDirectory,
    Leaf,
    Node,
    Tree,
    ValueLeaf,
    text_directory,
    uuid_directory,
)

if TYPE_CHECKING:
    from metashell.metadata.image import PartitionRegistration, TopicImage


def topics_node(name: str, tree: Tree) -> FixedDirectory:
    """/image/topics, with `byId` and `byName`."""
    return FixedDirectory(
        name, {"byId": lambda name: topics_by_id_node(name, tree), "byName": lambda name: topics_by_name_node(name, tree)}
    )


def topics_by_name_node(name: str, tree: Tree, *, nested: bool = False) -> KeyedDirectory:
    """All topics under their names; with `nested`, partitions are directories with one leaf `data` (second view)."""
    make = partial(_topic_node, nested=nested)
    return text_directory(name, tree.image.topics.by_name, make, tree.names, names=tree.topic_names, is_view=nested)


def topics_by_id_node(name: str, tree: Tree, *, nested: bool = False) -> KeyedDirectory:
    """The same under the texts of their ids."""

    make = partial(_topic_node, nested=nested)
    return uuid_directory(name, tree.image.topics.by_id, make, names=tree.topic_ids, is_view=nested)


def _topic_node(name: str, _: object, topic: TopicImage, *, nested: bool) -> TopicNode:
    return TopicNode(name, topic, nested=nested)


class TopicNode(Directory):
    """A topic: `id`, `name`, and each partition under its number."""

    __slots__ = ("_nested", "topic")

    def __init__(self, name: str, topic: TopicImage, *, nested: bool = False) -> None:
        super().__init__(name, "topic")
        self.topic = topic
        self._nested = nested

    @property
    def envelope_info(self) -> dict[str, Any]:
        return {"topic_id": uuid_text(self.topic.id), "partition_count": self.topic.partition_count}

    @property
    def has_directories(self) -> bool:
        return self._nested

    def child_names(self) -> Sequence[str]:
        return sorted_names(["id", "name", *map(str, self.topic.partitions)])

    def child_count(self) -> int:
        return self.topic.partition_count + 2

    def fact_values(self) -> dict[str, str]:
        """The values of the children that are no partitions."""
        return {"id": uuid_text(self.topic.id), "name": self.topic.name}

    def facts(self) -> Iterator[Leaf]:
        """The children that are no partitions."""
        return (ValueLeaf(name, value) for name, value in self.fact_values().items())

    def child(self, name: str) -> Node | None:
        if name in ("id", "name"):
            return ValueLeaf(name, self.fact_values()[name])
        number = parse_int(name)
        return None if number is None or number not in self.topic.partitions else self._partition(name, number)

    def iter_children(self) -> Iterator[Node]:
        # The numbers come from one pass over the topic; looking each of them up would index it.
        for name in self.child_names():
            node = self.child(name) if name in ("id", "name") else self._partition(name, int(name))
            assert node is not None
            yield node

    def _partition(self, name: str, number: int) -> Node:
        topic = self.topic
        if not self._nested:
            return PartitionNode(name, topic, number)
        return FixedDirectory(name, {"data": lambda leaf: PartitionNode(leaf, topic, number, type="leaf")}, type="partition")


class PartitionNode(Leaf):
    """A partition's registration, decoded when its text or value is asked for."""

    __slots__ = ("_number", "_topic")

    def __init__(self, name: str, topic: TopicImage, number: int, *, type: str = "partition") -> None:
        # A walk makes millions of these: calling the constructors up to Node would take a sixth of its time.
        self.name = name
        self.type = type
        self.is_view = False
        self._topic = topic
        self._number = number

    @property
    def place(self) -> tuple[TopicImage, int]:
        """The topic and the partition's number."""
        return self._topic, self._number

    @property
    def envelope_info(self) -> dict[str, Any]:
        return {"topic": self._topic.name}

    def kafka_text(self, redact: bool = False) -> str:
        return partition_text(self._topic.partitions[self._number])

    def value(self, redact: bool = True) -> JsonValue:
        return partition_value(self._topic.partitions[self._number], self._topic.id, self._number)


def partition_text(partition: PartitionRegistration) -> str:
    """Java's text of a partition's registration.

    Source: org.apache.kafka.metadata.PartitionRegistration.toString.
    """
    return (
        f"PartitionRegistration(replicas={list_text(partition.replicas)}"
        f", directories={list_text(map(uuid_text, partition.directories))}"
        f", isr={list_text(partition.isr)}"
        f", removingReplicas={list_text(partition.removing_replicas)}"
        f", addingReplicas={list_text(partition.adding_replicas)}"
        f", elr={list_text(partition.elr)}"
        f", lastKnownElr={list_text(partition.last_known_elr)}"
        f", leader={partition.leader}"
        f", leaderRecoveryState={code_name(RECOVERY_STATES, partition.leader_recovery_state)}"
        f", leaderEpoch={partition.leader_epoch}"
        f", partitionEpoch={partition.partition_epoch})"
    )


def partition_value(partition: PartitionRegistration, topic_id: bytes, number: int) -> dict[str, Any]:
    """The partition under the field names of PartitionRecord, every field always there."""
    return {
        "partitionId": number,
        "topicId": uuid_text(topic_id),
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "removingReplicas": list(partition.removing_replicas),
        "addingReplicas": list(partition.adding_replicas),
        "leader": partition.leader,
        "leaderRecoveryState": partition.leader_recovery_state,
        "leaderEpoch": partition.leader_epoch,
        "partitionEpoch": partition.partition_epoch,
        "directories": [uuid_text(directory) for directory in partition.directories],
        "eligibleLeaderReplicas": list(partition.elr),
        "lastKnownElr": list(partition.last_known_elr),
    }
