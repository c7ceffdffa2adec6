"""A node as the subject of tests, and its fields by the names that `ls -l` and `cat` show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from metashell.common.values import uuid_from_text, uuid_text
from metashell.metadata.checks import BITS, PartitionSurvey
from metashell.metadata.nodes import Directory, Leaf
from metashell.metadata.nodes.names import spellings
from metashell.metadata.nodes.places import resource_of, subject_of
from metashell.metadata.nodes.settings import safe_config_text
from metashell.metadata.nodes.topics import PartitionNode, partition_value
from metashell.shell.output import summarize

if TYPE_CHECKING:
    from metashell.metadata.image import MetadataImage, PartitionRegistration, TopicImage
    from metashell.metadata.nodes import Node
    from metashell.shell.context import Context

PARTITION: Final = "partition"
TOPIC: Final = "topic"
BROKER: Final = "broker"

ROW_FIELDS: Final[dict[str, Callable[[Any], Any]]] = {
    "leader": lambda partition: partition.leader,
    "replicas": lambda partition: partition.replicas,
    "isr": lambda partition: partition.isr,
    "addingReplicas": lambda partition: partition.adding_replicas,
    "removingReplicas": lambda partition: partition.removing_replicas,
    "eligibleLeaderReplicas": lambda partition: partition.elr,
    "lastKnownElr": lambda partition: partition.last_known_elr,
    "leaderRecoveryState": lambda partition: partition.leader_recovery_state,
    "directories": lambda partition: tuple(map(uuid_text, partition.directories)),
}
"""Fields of a partition that a survey of many reads, in addition to `racks` and BITS; by the names that `cat` shows."""
USUAL: Final = frozenset({*ROW_FIELDS, *BITS, "racks"})
PARTITION_NAMES: Final = frozenset(
    ("path", "name", "type", "topic", "partition", "racks", "partitionId", "topicId", "leaderEpoch", "partitionEpoch", *ROW_FIELDS, *BITS)
)
"""All fields of every partition."""
EARLY_NAMES: Final = frozenset({"leader", "replicas", "isr", "addingReplicas", "removingReplicas"})
"""Fields that need no decoding; see `metashell.metadata.checks.health`."""

_MISSING: Final = object()


def row_name(name: str) -> str:
    """Return the spelling of a field in a survey of many partitions; the name itself for any other field."""
    return next((each for each in spellings(name) if each in USUAL), name)


class Subject:
    """A node with its path and the values that tests need, each computed once."""

    def __init__(self, ctx: Context, path: str, node: Node) -> None:
        self.ctx = ctx
        self.path = path
        self.node = node

    @property
    def type(self) -> str:
        return self.node.type

    @cached_property
    def place(self) -> tuple[TopicImage, int] | None:
        """Return the topic and number of a partition; None for any other node."""
        node: Node | None = self.node
        if node is not None and node.type == PARTITION and isinstance(node, Directory):
            node = node.child("data")  # Kafka 2.8 to 3.2 show partitions as directories
        return node.place if isinstance(node, PartitionNode) else None

    @cached_property
    def partition(self) -> PartitionRegistration | None:
        if self.place is None:
            return None
        topic, number = self.place
        return topic.partitions[number]

    @cached_property
    def bits(self) -> int:
        """Return the faults of a partition, as BITS."""
        assert self.place is not None and self.partition is not None
        return self.ctx.health.judge_of(self.place[0])(self.partition)

    @cached_property
    def topic(self) -> TopicImage | None:
        """Return the node's own topic, or the topic of its partition; None for any other node."""
        if self.place is not None:
            return self.place[0]
        id = self.node.envelope_info.get("topic_id") if self.type == TOPIC else None
        return None if id is None else self.ctx.image.topics.by_id.get(uuid_from_text(id))

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """Return the own settings of a topic, a broker or a resource, by key. Secrets are hidden unless --show-secrets is given."""
        resource = resource_of(subject_of(self.path.split("/")[1:], self.ctx.image) or ())
        if resource is None or (not self.node.is_directory and self.type != BROKER):
            return {}
        found: Mapping[str, str] = self.ctx.image.configs.get(resource, {})
        return {key: safe_config_text((resource, key, value)) if self.ctx.redact else value for key, value in found.items()}

    @cached_property
    def _value(self) -> Any:
        return self.node.value(self.ctx.redact) if isinstance(self.node, Leaf) else None

    @cached_property
    def _shown(self) -> Mapping[str, Any]:
        """Return the fields that `ls -l` shows, which are the slowest to compute."""
        return summarize(self.ctx, self.node)

    def field(self, name: str) -> tuple[bool, Any]:
        """Return whether the node has a field, by any spelling of its name, and its value."""
        for spelled in spellings(name):
            for source in (self._of_all, self._of_kind, self._of_value, self._of_summary):
                value = source(spelled)
                if value is not _MISSING:
                    return True, value
        return False, None

    def _of_all(self, name: str) -> Any:
        match name:
            case "path":
                return self.path
            case "name":
                return self.node.name
            case "type":
                return self.type
        return _MISSING

    def _of_kind(self, name: str) -> Any:
        if self.type == PARTITION and self.place is not None:
            return self._of_partition(name)
        if self.type == TOPIC and self.topic is not None:
            return self._of_topic(name, self.topic)
        if name == "configs" and self.type == BROKER:
            return self.settings
        return _MISSING

    def _of_partition(self, name: str) -> Any:
        assert self.place is not None and self.partition is not None
        topic, number = self.place
        match name:
            case "topic":
                return topic.name
            case "partition":
                return number
            case _ if name in BITS:
                return bool(self.bits & BITS[name])
            case "racks":
                return racks_of(self.ctx.image, self.partition.replicas)
            case _ if name in ROW_FIELDS:
                return ROW_FIELDS[name](self.partition)
        return partition_value(self.partition, topic.id, number).get(name, _MISSING)

    def _of_topic(self, name: str, topic: TopicImage) -> Any:
        match name:
            case "partitions":
                return topic.partition_count
            case "topic":
                return topic.name
            case "id":
                return uuid_text(topic.id)
            case "configs":
                return self.settings
            case "racks":
                return racks_of(self.ctx.image, self._brokers)
            case "brokers":
                return self._brokers
            case "leaders":
                return sorted({leader for leader in PartitionSurvey(lambda partition: partition.leader).answers(topic) if leader >= 0})
            case _ if name in BITS:
                return self._counts[name]
        return _MISSING

    @cached_property
    def _brokers(self) -> list[int]:
        assert self.topic is not None
        answers = PartitionSurvey(lambda partition: partition.replicas).answers(self.topic)
        return sorted({id for replicas in answers for id in replicas})

    @cached_property
    def _counts(self) -> dict[str, int]:
        assert self.topic is not None
        return self.ctx.health.topic_counts(self.topic)

    def _of_value(self, name: str) -> Any:
        value = self._value
        if isinstance(value, Mapping) and name in value:
            return value[name]
        if name == "value" and isinstance(self.node, Leaf):
            return value
        return self.node.envelope_info.get(name, _MISSING)

    def _of_summary(self, name: str) -> Any:
        # `_of_topic` has all fields of a topic, and the summary of a topic reads its partitions.
        return _MISSING if self.type == TOPIC and self.topic is not None else self._shown.get(name, _MISSING)


def racks_of(image: MetadataImage, ids: Iterable[int]) -> list[str]:
    """Return the racks of these brokers, each once; brokers without a rack are skipped."""
    brokers = image.cluster.brokers
    return sorted({rack for id in ids if id in brokers and (rack := brokers[id].rack) is not None})
