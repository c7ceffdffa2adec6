"""Topics and their partitions: what there is, as brokers say, and what is made, grown and deleted.

What can be asked of brokers alone (`list_topics`, `describe_topics`) has another way through controllers: their image, which the caller
turns into the same values.
Source: KIP-966 (DescribeTopicPartitions), KIP-516 (topic ids).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from metashell.admin.errors import AdminError, UnsupportedError
from metashell.codec import messages
from metashell.codec.error_codes import NONE, UNKNOWN_SERVER_ERROR, UNKNOWN_TOPIC_ID
from metashell.values import ZERO_UUID

if TYPE_CHECKING:
    from metashell.admin.admin import Admin

NO_LEADER: Final = -1
PAGE: Final = 2000
"""The partitions of one answer of DescribeTopicPartitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition as the cluster believes it to be.

    Shape: replicas in order of preference; `leader` is -1 for none; `offline` are replicas whose broker does not serve them; `elr` is None
    where the answer has none, as before Kafka 4.0.
    """

    id: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_LEADER

    @property
    def is_under_replicated(self) -> bool:
        return len(self.isr) < len(self.replicas)

    @property
    def is_led_by_preferred(self) -> bool:
        return bool(self.replicas) and self.leader == self.replicas[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic; its partitions are ordered by id."""

    name: str
    id: bytes
    partitions: tuple[Partition, ...]
    is_internal: bool = False

    @property
    def replication_factor(self) -> int:
        """The largest of its partitions."""
        return max((len(partition.replicas) for partition in self.partitions), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to be made: -1 partitions or replicas are the cluster's default; an assignment has the brokers of each partition instead."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str | None] | None = None
    assignment: Sequence[Sequence[int]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What came of one thing: `error` where it was refused. Numbers are -1, and the id None, where the answer does not say."""

    name: str
    error: AdminError | None = None
    id: bytes | None = None
    partitions: int = -1
    replication_factor: int = -1


# ---- looking


def list_topics(admin: Admin, names: Iterable[str] | None = None) -> tuple[list[Topic], list[AdminError]]:
    """All topics by name, or those that are named, and what was said of those that cannot be shown. Through brokers only."""
    make = messages.MetadataRequest
    asked = None if names is None else tuple(make.MetadataRequestTopic(name=name) for name in names)
    answer = admin.ask(make(topics=asked, allow_auto_topic_creation=False))
    found, errors = [], []
    for topic in answer.topics:
        if topic.error_code != NONE and not topic.partitions:
            errors.append(AdminError(topic.error_code, None, topic.name or ""))
        else:
            found.append(_topic(topic, topic.name or ""))
    return sorted(found, key=lambda topic: topic.name), errors


def describe_topics(admin: Admin, names: Sequence[str]) -> tuple[list[Topic], list[AdminError]]:
    """The same of the named topics with their ELR, where the cluster knows of it."""
    try:
        return _describe_pages(admin, names)
    except UnsupportedError:
        return list_topics(admin, names)


def _describe_pages(admin: Admin, names: Sequence[str]) -> tuple[list[Topic], list[AdminError]]:
    make = messages.DescribeTopicPartitionsRequest
    partitions: dict[str, list[Partition]] = {}
    found: dict[str, Any] = {}
    errors: list[AdminError] = []
    cursor = None
    while True:
        topics = tuple(make.TopicRequest(name=name) for name in sorted(set(names)))
        answer = admin.ask(make(topics=topics, response_partition_limit=PAGE, cursor=cursor))
        for topic in answer.topics:
            if topic.error_code != NONE:
                errors.append(AdminError(topic.error_code, None, topic.name or ""))
                continue
            found[topic.name] = topic
            partitions.setdefault(topic.name, []).extend(map(_partition, topic.partitions))
        if answer.next_cursor is None:
            break
        place = answer.next_cursor.topic_name, answer.next_cursor.partition_index
        if cursor is not None and place <= (cursor.topic_name, cursor.partition_index):
            raise AdminError(
                UNKNOWN_SERVER_ERROR, f"the answer goes on at {place[0]}:{place[1]}, where it has been", "DescribeTopicPartitions"
            )
        cursor = make.Cursor(topic_name=answer.next_cursor.topic_name, partition_index=answer.next_cursor.partition_index)
    topics_found = [
        Topic(name=name, id=topic.topic_id, is_internal=topic.is_internal, partitions=_ordered(partitions[name]))
        for name, topic in sorted(found.items())
    ]
    return topics_found, errors


def _topic(topic: Any, name: str) -> Topic:
    return Topic(name=name, id=topic.topic_id, is_internal=topic.is_internal, partitions=_ordered(map(_partition, topic.partitions)))


def _ordered(partitions: Iterable[Partition]) -> tuple[Partition, ...]:
    return tuple(sorted(partitions, key=lambda partition: partition.id))


def _partition(partition: Any) -> Partition:
    elr, last_known = getattr(partition, "eligible_leader_replicas", None), getattr(partition, "last_known_elr", None)
    return Partition(
        id=partition.partition_index,
        leader=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        replicas=tuple(partition.replica_nodes),
        isr=tuple(partition.isr_nodes),
        offline=tuple(partition.offline_replicas),
        elr=None if elr is None else tuple(elr),
        last_known_elr=None if last_known is None else tuple(last_known),
    )


# ---- changing


def create_topics(admin: Admin, topics: Sequence[NewTopic], *, validate_only: bool = False) -> list[Done]:
    """Make topics, each for itself. Errors: AdminError for what is refused as a whole."""
    make = messages.CreateTopicsRequest
    asked = make(topics=tuple(map(_creatable, topics)), timeout_ms=admin.timeout_ms, validate_only=validate_only)
    return [
        Done(
            name=topic.name,
            error=_error(topic),
            id=None if topic.topic_id == ZERO_UUID else topic.topic_id,
            partitions=topic.num_partitions,
            replication_factor=topic.replication_factor,
        )
        for topic in admin.ask_active(asked).topics
    ]


def _creatable(topic: NewTopic) -> Any:
    make = messages.CreateTopicsRequest
    assignments = enumerate(topic.assignment)
    return make.CreatableTopic(
        name=topic.name,
        num_partitions=-1 if topic.assignment else topic.partitions,
        replication_factor=-1 if topic.assignment else topic.replication_factor,
        assignments=tuple(make.CreatableReplicaAssignment(partition_index=id, broker_ids=tuple(brokers)) for id, brokers in assignments),
        configs=tuple(make.CreatableTopicConfig(name=key, value=value) for key, value in (topic.configs or {}).items()),
    )


def delete_topics(admin: Admin, topics: Mapping[str, bytes]) -> list[Done]:
    """Delete topics, by name and id: one that somebody has made again under the name meanwhile is not touched.

    One that is not there any more when the request had to be sent again was deleted by it.
    """
    make = messages.DeleteTopicsRequest
    names = {id: name for name, id in topics.items()}
    asked = make(topics=tuple(make.DeleteTopicState(topic_id=id) for id in topics.values()), timeout_ms=admin.timeout_ms)
    answer = admin.ask_active(asked)
    return [
        Done(name=name, error=None if admin.again and topic.error_code == UNKNOWN_TOPIC_ID else _error(topic, name), id=topic.topic_id)
        for topic in answer.responses
        for name in (names.get(topic.topic_id, topic.name or ""),)
    ]


def create_partitions(
    admin: Admin,
    counts: Mapping[str, int],
    assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
    *,
    validate_only: bool = False,
) -> list[Done]:
    """Let topics have this many partitions in all; assignments name the brokers of the new ones."""
    make = messages.CreatePartitionsRequest
    topics = []
    for name, count in counts.items():
        chosen = (assignments or {}).get(name)
        placed = None if not chosen else tuple(make.CreatePartitionsAssignment(broker_ids=tuple(brokers)) for brokers in chosen)
        topics.append(make.CreatePartitionsTopic(name=name, count=count, assignments=placed))
    answer = admin.ask_active(make(topics=tuple(topics), timeout_ms=admin.timeout_ms, validate_only=validate_only))
    return [Done(name=result.name, error=_error(result), partitions=counts.get(result.name, -1)) for result in answer.results]


def _error(answer: Any, name: str = "") -> AdminError | None:
    if answer.error_code == NONE:
        return None
    return AdminError(answer.error_code, answer.error_message, name or answer.name or "")
