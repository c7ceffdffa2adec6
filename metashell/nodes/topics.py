"""Topics by name and by id, and their partitions, which stay bytes until a leaf is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from metashell.nodes.java_text import list_text, parse_int
from metashell.nodes.names import is_uuid_text, sorted_names
from metashell.nodes.node import Directory, FixedDirectory, JsonValue, Leaf, Node, ValueLeaf
from metashell.nodes.tree import Tree
from metashell.values import uuid_from_text, uuid_text

if TYPE_CHECKING:
    from metashell.image import PartitionRegistration, TopicImage

_RECOVERY_STATES = {0: "RECOVERED", 1: "RECOVERING"}


class TopicsByNameNode(Directory):
    """All topics under their names; with `nested`, partitions are directories with one leaf `data` (second view)."""

    __slots__ = ("_nested", "_tree")

    def __init__(self, name: str, tree: Tree, *, nested: bool = False) -> None:
        super().__init__(name, is_view=nested)
        self._tree = tree
        self._nested = nested

    def child_names(self) -> Sequence[str]:
        return self._tree.topic_names()

    def child(self, name: str) -> Node | None:
        key = self._tree.names.parse(name)
        topic = self._tree.image.topics.by_name.get(key)
        return None if topic is None else TopicNode(self._tree.names.show(key), topic, self._tree, nested=self._nested)

    def child_count(self) -> int:
        return len(self._tree.image.topics.by_name)


class TopicsByIdNode(Directory):
    """All topics under the texts of their ids."""

    __slots__ = ("_nested", "_tree")

    def __init__(self, name: str, tree: Tree, *, nested: bool = False) -> None:
        super().__init__(name, is_view=nested)
        self._tree = tree
        self._nested = nested

    def child_names(self) -> Sequence[str]:
        return self._tree.topic_ids()

    def child(self, name: str) -> Node | None:
        if not is_uuid_text(name):
            return None
        topic = self._tree.image.topics.by_id.get(uuid_from_text(name))
        return None if topic is None else TopicNode(name, topic, self._tree, nested=self._nested)

    def child_count(self) -> int:
        return len(self._tree.image.topics.by_id)


class TopicNode(Directory):
    """A topic: `id`, `name`, and each partition under its number."""

    __slots__ = ("_nested", "_topic", "_tree")

    def __init__(self, name: str, topic: TopicImage, tree: Tree, *, nested: bool = False) -> None:
        super().__init__(name, "topic")
        self._topic = topic
        self._tree = tree
        self._nested = nested

    @property
    def envelope_info(self) -> dict[str, Any]:
        return {"topic_id": uuid_text(self._topic.id), "partition_count": self._topic.partition_count}

    def child_names(self) -> Sequence[str]:
        return sorted_names(["id", "name", *map(str, self._topic.partitions)])

    def child_count(self) -> int:
        return self._topic.partition_count + 2

    def child(self, name: str) -> Node | None:
        if name == "id":
            return ValueLeaf(name, uuid_text(self._topic.id))
        if name == "name":
            return ValueLeaf(name, self._topic.name)
        number = parse_int(name)
        return None if number is None or number not in self._topic.partitions else self._partition(name, number)

    def iter_children(self) -> Iterator[Node]:
        # The numbers come from one pass over the topic; asking for each of them would index it.
        for name in self.child_names():
            node = self.child(name) if name in ("id", "name") else self._partition(name, int(name))
            assert node is not None
            yield node

    def _partition(self, name: str, number: int) -> Node:
        topic = self._topic
        if not self._nested:
            return PartitionNode(name, topic, number)
        return FixedDirectory(name, {"data": lambda leaf: PartitionNode(leaf, topic, number, type="leaf")}, type="partition")


class PartitionNode(Leaf):
    """A partition's registration, decoded when its text or value is asked for."""

    __slots__ = ("_number", "_topic")

    def __init__(self, name: str, topic: TopicImage, number: int, *, type: str = "partition") -> None:
        # There are millions of these in a walk: the calls up to Node would be a sixth of its time.
        self.name = name
        self.type = type
        self.is_view = False
        self._topic = topic
        self._number = number

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
        f", leaderRecoveryState={_RECOVERY_STATES.get(partition.leader_recovery_state, 'UNKNOWN')}"
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
