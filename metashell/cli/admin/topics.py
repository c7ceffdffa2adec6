"""Topics and partitions of a live cluster, leader elections, open transactions, and topics that the user may not see.

Only brokers answer `list_topics` and `describe_topics`. Through controllers, the caller makes the same values from their image.

Brokers silently leave out topics and groups that the user may not see. `unseen_topics` and `unseen_groups` find out with three cheap
requests whether this may have happened. A denial takes precedence over any permission
(org.apache.kafka.metadata.authorizer.StandardAuthorizerData). handleTopicMetadataRequest of kafka.server.KafkaApis answers a name that the
user may not describe with TOPIC_AUTHORIZATION_FAILED, even if there is no such topic. AclApis answers SECURITY_DISABLED if there is no
authorizer.

`long_transactions` lists transactions that have been open for too long: they hold back consumers that read only committed records.

Source: KIP-966 (DescribeTopicPartitions), KIP-516 (topic ids), KIP-460 (elections), KIP-664 (transactions),
org.apache.kafka.tools.TransactionsCommand.FindHangingTransactionsCommand, kafka.server.AuthHelper."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from metashell.cli.admin.protocol import BROKER_ENDPOINTS, AdminError, UnsupportedError, check_answer
from metashell.cli.admin.users import AclFilter, describe_acls
from metashell.codec import messages
from metashell.codec.error_codes import (
    ELECTION_NOT_NEEDED,
    NONE,
    SECURITY_DISABLED,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_SERVER_ERROR,
    UNKNOWN_TOPIC_ID,
)
from metashell.codec.messages import DescribeClusterRequest, MetadataRequest
from metashell.common.errors import MetashellError
from metashell.common.values import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Collection

    from metashell.cli.admin.client import Admin
    from metashell.cli.admin.users import AclEntry


NO_LEADER: Final = -1
PAGE: Final = 2000
"""The largest number of partitions in one answer of DescribeTopicPartitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition as the cluster reports it.

    Shape: `replicas` is in order of preference; `leader` is -1 if there is none; `offline` has the replicas whose broker does not serve
    them; `elr` and `last_known_elr` are None if the answer does not have them, as before Kafka 4.0.
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
        """The largest number of replicas of a partition, 0 without partitions."""
        return max((len(partition.replicas) for partition in self.partitions), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to create. -1 partitions or replicas mean the cluster's default; `assignment` has the brokers of each partition instead."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str | None] | None = None
    assignment: Sequence[Sequence[int]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The result for one topic; `error` is set if it was refused. Numbers are -1 and the id is None if the answer does not have them."""

    name: str
    error: AdminError | None = None
    id: bytes | None = None
    partitions: int = -1
    replication_factor: int = -1


# ---- reading


def list_topics(admin: Admin, names: Iterable[str] | None = None) -> tuple[list[Topic], list[AdminError]]:
    """Return all topics or the named ones, ordered by name, and the errors of those that cannot be shown. Through brokers only."""
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
    """Return what `list_topics` returns for the named topics, with their ELR if the cluster supports it."""
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


# ---- changes


def create_topics(admin: Admin, topics: Sequence[NewTopic], *, validate_only: bool = False) -> list[Done]:
    """Create topics, and return the result of each: one that is refused does not stop the others."""
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
    """Delete topics, given as ids by name. A topic that was created again under the same name meanwhile is not deleted.

    If the request had to be sent again, a topic that no longer exists counts as deleted by it.
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
    """Raise the total number of partitions of topics; `assignments` has the brokers of each new partition. Return the result of each."""
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


class ElectionType(IntEnum):
    """The kinds of election: of the preferred replica if it is in sync, or of any live replica, which loses the records that it lacks."""

    PREFERRED = 0
    UNCLEAN = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Elected:
    """The result of the election of one partition; `is_needed` is False if no election was needed."""

    topic: str
    partition: int
    is_needed: bool = True
    error: AdminError | None = None


def elect_leaders(admin: Admin, kind: ElectionType, partitions: Mapping[str, Sequence[int]] | None) -> list[Elected]:
    """Hold elections for these partitions, or (None) for all that need one. Errors: AdminError if the whole request is refused."""
    make = messages.ElectLeadersRequest
    asked = (
        None if partitions is None else tuple(make.TopicPartitions(topic=name, partitions=tuple(ids)) for name, ids in partitions.items())
    )
    answer = admin.ask_active(make(election_type=int(kind), topic_partitions=asked, timeout_ms=admin.timeout_ms))
    check_answer(answer.error_code)
    found = []
    for topic in answer.replica_election_results:
        for result in topic.partition_result:
            code = result.error_code
            error = (
                None
                if code in (NONE, ELECTION_NOT_NEEDED)
                else AdminError(code, result.error_message, f"{topic.topic}:{result.partition_id}")
            )
            found.append(Elected(topic=topic.topic, partition=result.partition_id, is_needed=code != ELECTION_NOT_NEEDED, error=error))
    return sorted(found, key=lambda elected: (elected.topic, elected.partition))


PARTITIONS_MAX: Final = 20_000
"""The most partitions that are checked for open transactions: for each one its broker goes through the partition's producers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """A transaction that has been open in a partition for too long.

    Shape: `transactional_id` and `state` are what a coordinator reports of the producer. They are empty if no coordinator knows the
    transaction: then nothing ever ends it. Units: Unix ms; `started_ms` is the time of its last record if its start is not known.
    """

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    started_ms: int
    start_offset: int = -1
    transactional_id: str = ""
    state: str = ""


def long_transactions(
    admin: Admin, partitions: Mapping[int, Mapping[str, Sequence[int]]], before_ms: int
) -> dict[int, tuple[OpenTransaction, ...] | MetashellError]:
    """Return, for each broker, the open transactions of partitions that it leads whose last record is older than `before_ms` (Unix ms).

    `partitions` has partition numbers by broker and topic. The value is an error for a broker that did not answer.
    """
    make = messages.DescribeProducersRequest
    requests = {
        broker: make(topics=tuple(make.TopicRequest(name=name, partition_indexes=tuple(ids)) for name, ids in topics.items()))
        for broker, topics in partitions.items()
    }
    found: dict[int, tuple[OpenTransaction, ...] | MetashellError] = {}
    for broker, answer in admin.ask_all(requests).items():
        found[broker] = answer if isinstance(answer, MetashellError) else tuple(_open_in(answer, before_ms))
    producers = {one.producer_id for told in found.values() if not isinstance(told, MetashellError) for one in told}
    known = _known_to_coordinators(admin, sorted(partitions), sorted(producers)) if producers else {}
    return {
        broker: told if isinstance(told, MetashellError) else tuple(_with_coordinator(one, known.get(one.producer_id)) for one in told)
        for broker, told in found.items()
    }


def _open_in(answer: Any, before_ms: int) -> list[OpenTransaction]:
    return [
        OpenTransaction(
            topic=topic.name,
            partition=partition.partition_index,
            producer_id=one.producer_id,
            producer_epoch=one.producer_epoch,
            started_ms=one.last_timestamp,
            start_offset=one.current_txn_start_offset,
        )
        for topic in answer.topics
        for partition in topic.partitions
        if partition.error_code == NONE
        for one in partition.active_producers
        if one.current_txn_start_offset >= 0 and one.last_timestamp < before_ms
    ]


def _known_to_coordinators(admin: Admin, brokers: Sequence[int], producers: Sequence[int]) -> dict[int, Any]:
    """Return the coordinators' descriptions of the transactions of these producers, by producer id."""
    listed = admin.ask_all(dict.fromkeys(brokers, messages.ListTransactionsRequest(producer_id_filters=tuple(producers))))
    asked = {
        broker: tuple(state.transactional_id for state in answer.transaction_states)
        for broker, answer in listed.items()
        if not isinstance(answer, MetashellError) and answer.error_code == NONE and answer.transaction_states
    }
    described = admin.ask_all({broker: messages.DescribeTransactionsRequest(transactional_ids=ids) for broker, ids in asked.items()})
    return {
        state.producer_id: state
        for answer in described.values()
        if not isinstance(answer, MetashellError)
        for state in answer.transaction_states
        if state.error_code == NONE
    }


def _with_coordinator(one: OpenTransaction, state: Any | None) -> OpenTransaction:
    """Return the transaction with its coordinator's data; unchanged if the coordinator's transaction does not include the partition."""
    if state is None or all(topic.topic != one.topic or one.partition not in topic.partitions for topic in state.topics):
        return one
    return OpenTransaction(
        topic=one.topic,
        partition=one.partition,
        producer_id=one.producer_id,
        producer_epoch=one.producer_epoch,
        started_ms=state.transaction_start_time_ms if state.transaction_start_time_ms >= 0 else one.started_ms,
        start_offset=one.start_offset,
        transactional_id=state.transactional_id,
        state=state.transaction_state,
    )


NAME_MAX: Final = 249
_ANY: Final = "*"
_HIDING: Final = frozenset({"DESCRIBE", "ALL"})
"""The operations whose denial hides a topic."""
_NO_OPERATIONS: Final = frozenset({0, -(1 << 31)})
"""The values of the cluster's authorized operations for a user who may not DESCRIBE it, and for an answer that does not have them."""


def unseen_topics(admin: Admin, seen: Collection[str]) -> list[str]:
    """Return the reasons why `seen`, a list of all topics, may lack some; empty if it is complete. Through brokers only."""
    denials: list[AclEntry] = []
    unknown = ""
    try:
        denials = describe_acls(admin, AclFilter(resource_type="TOPIC", permission_type="DENY"))
    except UnsupportedError:
        pass  # a broker without DescribeAcls: no denial can be read
    except AdminError as error:
        if error.code == SECURITY_DISABLED:
            return []
        unknown = f"topics that are denied to this user are not known ({error.name}: to read ACLs needs DESCRIBE on the cluster)"
    # The answer for a random name, which no topic or ACL has, shows whether the user may DESCRIBE all names.
    random = f"metashell-{os.urandom(12).hex()}"
    probes = {random: "topics: this user has not the right to DESCRIBE all of them (TOPIC_AUTHORIZATION_FAILED)"}
    for entry in denials:
        if entry.operation in _HIDING and entry.resource_name != _ANY and entry.resource_name not in seen:
            is_prefix = entry.pattern_type == "PREFIXED"
            name = f"{entry.resource_name}{random}"[:NAME_MAX] if is_prefix else entry.resource_name
            what = f"topics that begin with {entry.resource_name}" if is_prefix else f"topic {entry.resource_name}, if there is one"
            probes.setdefault(name, f"{what}: DESCRIBE is denied to this user")
    asked = tuple(MetadataRequest.MetadataRequestTopic(name=name) for name in probes)
    answer = admin.ask(MetadataRequest(topics=asked, allow_auto_topic_creation=False))
    refused = {topic.name for topic in answer.topics if topic.error_code == TOPIC_AUTHORIZATION_FAILED}
    found = [words for name, words in probes.items() if name in refused]
    return [found[0]] if random in refused else [*found, *filter(None, [unknown])]


def unseen_groups(admin: Admin) -> list[str]:
    """Return the reasons why a list of all groups may lack some; empty if the user may DESCRIBE the cluster, and so sees all groups."""
    try:
        answer = admin.ask(DescribeClusterRequest(endpoint_type=BROKER_ENDPOINTS, include_cluster_authorized_operations=True))
    except UnsupportedError as error:
        return [f"groups: whether all are listed is not known ({error})"]
    if answer.error_code == NONE and answer.cluster_authorized_operations not in _NO_OPERATIONS:
        return []
    return ["groups: only those that this user may DESCRIBE are listed (all are with DESCRIBE on the cluster)"]
