"""CreateTopics, and the placement of new replicas: brokers in turn, spread over racks, each first in its turn.

Source: org.apache.kafka.controller.ReplicationControlManager.createTopics, kafka.server.ControllerApis;
org.apache.kafka.metadata.placement.StripedReplicaPlacer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from metashell.codec import messages
from metashell.codec.code_writer import Shared
from metashell.codec.codes import TOPIC_RESOURCE
from metashell.codec.error_codes import (
    INVALID_CONFIG,
    INVALID_PARTITIONS,
    INVALID_REPLICA_ASSIGNMENT,
    INVALID_REPLICATION_FACTOR,
    INVALID_REQUEST,
    INVALID_TOPIC_EXCEPTION,
    NONE,
    POLICY_VIOLATION,
    REQUEST_TIMED_OUT,
    TOPIC_ALREADY_EXISTS,
    TOPIC_AUTHORIZATION_FAILED,
)
from metashell.codec.validation import METADATA_TOPIC, topic_name_fault
from metashell.common.values import ZERO_UUID
from metashell.metadata.image.provenance import VersionedRecord
from metashell.quorum.controller.authorizer import Operation, Resource
from metashell.quorum.controller.config_changes import SET, ConfigChange, ConfigChecker, check_count
from metashell.quorum.controller.config_checks import EffectiveConfig
from metashell.quorum.controller.decision import PIECE, TOO_LARGE, ApiError, BoundedRecords, Chance, Decision, Request, Steps, new_uuid
from metashell.quorum.controller.elections import PartitionChanges, active_replicas, check_manual_assignment, new_partition
from metashell.quorum.controller.settings import PolicyRefusal, TopicToCreate
from metashell.quorum.controller.state import State

PARTITIONS_MAX: Final = 10_000
"""The partitions of one CreateTopics request."""
NOT_ALLOWED_TEXT: Final = "Authorization failed."
_STRICT_FROM = 6


def create_topics(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Create topics, each by itself: what is wrong with one does not keep the others."""
    return TopicCreation(state, request, now_ms).decide()


class TopicCreation:
    """One CreateTopics request."""

    def __init__(self, state: State, request: Request, now_ms: int) -> None:
        self._state = state
        self._request = request
        self._now_ms = now_ms
        self._changes = PartitionChanges(state)
        self._checker = ConfigChecker(state)
        self._records = BoundedRecords()
        self._results: dict[str, messages.CreateTopicsResponse.CreatableTopicResult] = {}

    def decide(self) -> Steps[Decision]:
        body = self._request.body
        counts = Counter(topic.name for topic in body.topics)
        refused = yield from self._refused_names(counts)
        topics = [topic for topic in body.topics if topic.name not in refused]
        if self._request.is_late(body.timeout_ms, self._now_ms):
            self._results = {topic.name: _failed(topic.name, ApiError(REQUEST_TIMED_OUT)) for topic in topics}
        elif topics:
            self._check_partition_count(topics)
            for topic in topics:
                yield
                self._results[topic.name] = yield from self._result_of(topic)
        results = [self._results[topic.name] for topic in topics]
        results += [_failed(name, error) for name, error in refused.items()]
        answer = messages.CreateTopicsResponse(topics=tuple(results), throttle_time_ms=self._throttle_time_ms())
        return Decision(answer, () if body.validate_only else self._records)

    def _throttle_time_ms(self) -> int:
        return self._state.quotas.throttle_time_ms(self._state.stable.client_quotas, self._request)

    def _refused_names(self, counts: Counter[str]) -> Steps[dict[str, ApiError]]:
        """Names that are not looked at any further, with why."""
        authorizer, request = self._state.authorizer, self._request
        may_create_any = authorizer.allows_cluster(request, Operation.CREATE)
        refused: dict[str, ApiError] = {}
        for number, (name, count) in enumerate(counts.items(), 1):
            if not number % PIECE:
                yield
            if count > 1:
                refused[name] = ApiError(INVALID_REQUEST, "Duplicate topic name.")
            elif name == METADATA_TOPIC:
                refused[name] = ApiError(INVALID_REQUEST, f"Creation of internal topic {METADATA_TOPIC} is prohibited.")
            elif not may_create_any and not authorizer.allows(request, Operation.CREATE, Resource.TOPIC, name):
                refused[name] = ApiError(TOPIC_AUTHORIZATION_FAILED, NOT_ALLOWED_TEXT)
        return refused

    def _check_partition_count(self, topics: Sequence[messages.CreateTopicsRequest.CreatableTopic]) -> None:
        default = self._state.settings.partitions_default
        total = sum(len(topic.assignments) or (default if topic.num_partitions == -1 else max(topic.num_partitions, 0)) for topic in topics)
        if total > PARTITIONS_MAX:
            raise ApiError(POLICY_VIOLATION, "Excessively large number of partitions per request.")

    def _result_of(self, topic: messages.CreateTopicsRequest.CreatableTopic) -> Steps[messages.CreateTopicsResponse.CreatableTopicResult]:
        try:
            self._check_name(topic.name)
            return (yield from self._create(topic))
        except ApiError as error:
            if error.code == POLICY_VIOLATION and not isinstance(error, PolicyRefusal):
                raise
            return _failed(topic.name, error)

    def _check_name(self, name: str) -> None:
        by_name = self._state.image.topics.by_name
        if name in by_name:
            raise ApiError(TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        fault = topic_name_fault(name)
        if fault is not None:
            raise ApiError(INVALID_TOPIC_EXCEPTION, fault)
        colliding = self._state.hints.colliding(name, by_name.__contains__)
        if colliding is not None:
            raise ApiError(INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {colliding}")

    def _create(self, topic: messages.CreateTopicsRequest.CreatableTopic) -> Steps[messages.CreateTopicsResponse.CreatableTopicResult]:
        config_records = self._config_records(topic)
        topic_id = new_uuid(self._state.chance)
        partitions = yield from (self._by_hand(topic, topic_id) if topic.assignments else self._placed(topic, topic_id))
        self._ask_policy(topic, partitions)
        is_strict = self._request.version >= _STRICT_FROM
        quotas = self._state.stable.client_quotas
        self._state.quotas.charge(quotas, self._request, len(partitions), self._now_ms, is_strict=is_strict)
        self._records.append((messages.TopicRecord(name=topic.name, topic_id=topic_id), 0))
        self._records.extend(config_records)
        self._records.extend(partitions)
        return self._created(topic, topic_id, partitions)

    def _ask_policy(self, topic: messages.CreateTopicsRequest.CreatableTopic, partitions: Sequence[VersionedRecord]) -> None:
        policies = self._state.settings.policies
        if policies.create_topic is None:
            return
        configs = {one.name: one.value for one in topic.configs}
        replicas = {record.partition_id: record.replicas for record, _ in partitions}
        if topic.assignments:
            policies.check_topic(TopicToCreate(topic.name, None, None, replicas, configs))
        else:
            policies.check_topic(TopicToCreate(topic.name, len(replicas), len(replicas[0]), None, configs))

    def _config_records(self, topic: messages.CreateTopicsRequest.CreatableTopic) -> list[VersionedRecord]:
        nulls = [one.name for one in topic.configs if one.value is None]
        if nulls:
            raise ApiError(INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
        if not topic.configs:
            return []
        check_count(topic.configs)
        changes = {one.name: ConfigChange(SET, one.value) for one in topic.configs}
        records = self._checker.incremental((TOPIC_RESOURCE, topic.name), changes, is_new=True)
        return [*records, *self._checker.elr_clearings(records)]

    def _by_hand(self, topic: messages.CreateTopicsRequest.CreatableTopic, topic_id: bytes) -> Steps[list[VersionedRecord]]:
        if topic.replication_factor != -1:
            why = "A manual partition assignment was specified, but replication factor was not set to -1."
            raise ApiError(INVALID_REQUEST, why)
        if topic.num_partitions != -1:
            raise ApiError(INVALID_REQUEST, "A manual partition assignment was specified, but numPartitions was not set to -1.")
        records: dict[int, VersionedRecord] = {}
        replication_factor: int | None = None
        for one in topic.assignments:
            if one.partition_index in records:
                why = f"Found multiple manual partition assignments for partition {one.partition_index}"
                raise ApiError(INVALID_REPLICA_ASSIGNMENT, why)
            check_manual_assignment(self._state, one.broker_ids, replication_factor)
            replication_factor = len(one.broker_ids)
            isr = active_replicas(self._changes, one.broker_ids, one.partition_index)
            records[one.partition_index] = new_partition(self._changes, topic_id, one.partition_index, one.broker_ids, isr)
            yield
        if sorted(records) != list(range(len(records))):
            raise ApiError(INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence")
        return [records[partition_id] for partition_id in sorted(records)]

    def _placed(self, topic: messages.CreateTopicsRequest.CreatableTopic, topic_id: bytes) -> Steps[list[VersionedRecord]]:
        if topic.replication_factor < -1 or topic.replication_factor == 0:
            why = "Replication factor must be larger than 0, or -1 to use the default value."
            raise ApiError(INVALID_REPLICATION_FACTOR, why)
        if topic.num_partitions < -1 or topic.num_partitions == 0:
            raise ApiError(INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
        settings = self._state.settings
        count = settings.partitions_default if topic.num_partitions == -1 else topic.num_partitions
        factor = settings.replication_default if topic.replication_factor == -1 else topic.replication_factor
        try:
            return (yield from place_partitions(self._state, self._changes, topic_id, range(count), factor))
        except ApiError as error:
            message = str(error.message)
            if not message.startswith(_UNPLACED):
                message = f"{_UNPLACED}{factor} time(s): {message}"
            raise ApiError(error.code, message) from None

    def _created(
        self, topic: messages.CreateTopicsRequest.CreatableTopic, topic_id: bytes, partitions: Sequence[VersionedRecord]
    ) -> messages.CreateTopicsResponse.CreatableTopicResult:
        result = messages.CreateTopicsResponse.CreatableTopicResult(
            name=topic.name, topic_id=topic_id, error_code=NONE, error_message=None, configs=()
        )
        if self._state.authorizer.allows(self._request, Operation.DESCRIBE_CONFIGS, Resource.TOPIC, topic.name):
            defaults, configs = self._state.topic_defaults, self._state.image.configs
            own = {one.name: one.value for one in topic.configs}
            result.num_partitions = len(partitions)
            result.replication_factor = len(partitions[0][0].replicas)
            result.configs = _creatable_configs(defaults.listing(configs, own)) if own else defaults.made_of(configs, _shared_configs)
        else:
            result.topic_config_error_code = TOPIC_AUTHORIZATION_FAILED
        return result


_UNPLACED: Final = "Unable to replicate the partition "


def _creatable_configs(listing: Iterable[EffectiveConfig]) -> tuple[messages.CreateTopicsResponse.CreatableTopicConfigs, ...]:
    make = messages.CreateTopicsResponse.CreatableTopicConfigs
    return tuple(
        make(
            name=item.key.name,
            value=None if item.key.is_sensitive else item.value,
            read_only=False,
            config_source=item.source,
            is_sensitive=item.key.is_sensitive,
        )
        for item in listing
    )


def _shared_configs(listing: Iterable[EffectiveConfig]) -> Shared:
    """The configs of a topic that sets none: the same for all of them, so they are encoded once."""
    return Shared(_creatable_configs(listing))


def _failed(name: str, error: ApiError) -> messages.CreateTopicsResponse.CreatableTopicResult:
    return messages.CreateTopicsResponse.CreatableTopicResult(
        name=name, topic_id=ZERO_UUID, error_code=error.code, error_message=error.message, configs=()
    )


def place_partitions(
    state: State, changes: PartitionChanges, topic_id: bytes, partition_ids: range, factor: int
) -> Steps[list[VersionedRecord]]:
    """New partitions on brokers that the controller picks. Errors: ApiError INVALID_REPLICATION_FACTOR."""
    placer = Placer(usable_brokers(state), state.chance)
    placer.check(factor)
    records: list[VersionedRecord] = []
    for partition_id in partition_ids:
        replicas = placer.place(factor)
        isr = tuple(id for id in replicas if changes.is_active(id))
        if not isr:
            why = f"{_UNPLACED}{factor} time(s): All brokers are currently fenced or in controlled shutdown."
            raise ApiError(INVALID_REPLICATION_FACTOR, why)
        records.append(new_partition(changes, topic_id, partition_id, replicas, isr))
        if len(records) > PARTITIONS_MAX:
            raise ApiError(POLICY_VIOLATION, TOO_LARGE)
        if not len(records) % PIECE:
            yield
    return records


# Placement


class UsableBroker(NamedTuple):
    """A broker that takes new replicas; no rack is a rack of its own."""

    id: int
    rack: str | None
    fenced: bool


def usable_brokers(state: State) -> list[UsableBroker]:
    """The brokers that replicas may be placed on: not in controlled shutdown, and with a directory that is not cordoned.

    Only heartbeats count here: a broker that is flagged in its registration and unfenced again is usable, as in Kafka.
    """
    brokers = state.image.cluster.brokers
    usable = []
    for broker_id, fenced in state.heartbeats.usable():
        broker = brokers.get(broker_id)
        if broker is not None and not broker.is_cordoned:
            usable.append(UsableBroker(broker_id, broker.rack, fenced))
    return usable


class _BrokerList:
    """Brokers of a rack; each epoch starts one further."""

    def __init__(self, brokers: list[int], chance: Chance) -> None:
        self._brokers = sorted(brokers)
        self._epoch = 0
        self._index = 0
        self._offset = chance.randrange(len(brokers)) if brokers else 0

    def next(self, epoch: int) -> int:
        """The next broker of this epoch, -1 when all had their turn."""
        count = len(self._brokers)
        if not count:
            return -1
        if self._epoch != epoch:
            self._epoch, self._index = epoch, 0
            self._offset = (self._offset + 1) % count
        if self._index >= count:
            return -1
        broker = self._brokers[(self._index + self._offset) % count]
        self._index += 1
        return broker

    def shuffle(self, chance: Chance) -> None:
        chance.shuffle(self._brokers)


class _Rack:
    def __init__(self, brokers: list[UsableBroker], chance: Chance) -> None:
        self.unfenced = _BrokerList([broker.id for broker in brokers if not broker.fenced], chance)
        self.fenced = _BrokerList([broker.id for broker in brokers if broker.fenced], chance)

    def next(self, epoch: int) -> int:
        broker = self.unfenced.next(epoch)
        return self.fenced.next(epoch) if broker < 0 else broker


class Placer:
    """Places the partitions of one topic."""

    def __init__(self, brokers: list[UsableBroker], chance: Chance) -> None:
        self._chance = chance
        by_rack: dict[str | None, list[UsableBroker]] = {}
        for broker in brokers:
            by_rack.setdefault(broker.rack, []).append(broker)
        names = sorted(by_rack, key=lambda rack: (rack is not None, rack or ""))
        self._racks = [_Rack(by_rack[name], chance) for name in names]
        self._broker_count = len(brokers)
        self._unfenced_count = sum(not broker.fenced for broker in brokers)
        self._epoch = 0
        self._rack_offset = chance.randrange(len(names)) if names else 0

    def check(self, replication_factor: int) -> None:
        """Errors: ApiError INVALID_REPLICATION_FACTOR if no partition can have so many replicas."""
        if replication_factor <= 0:
            raise ApiError(
                INVALID_REPLICATION_FACTOR, f"Invalid replication factor {replication_factor}: the replication factor must be positive."
            )
        if not self._unfenced_count:
            why = "All brokers are currently fenced, or have all their log directories cordoned."
            raise ApiError(INVALID_REPLICATION_FACTOR, why)
        if replication_factor > self._broker_count:
            raise ApiError(
                INVALID_REPLICATION_FACTOR,
                f"The target replication factor of {replication_factor} cannot be reached because only {self._broker_count} broker(s) "
                "are registered or some brokers have all their log directories cordoned.",
            )

    def place(self, replication_factor: int) -> tuple[int, ...]:
        """The replicas of the next partition, the leader first; call `check` before."""
        self._shuffle_when_all_have_led()
        racks = self._racks
        if self._rack_offset == len(racks):
            self._rack_offset = 0
        leader_rack = self._rack_offset
        # Only an unfenced broker may lead, and `check` made sure that there is one; followers may be fenced.
        while (leader := racks[leader_rack].unfenced.next(self._epoch)) < 0:
            leader_rack = (leader_rack + 1) % len(racks)
        replicas = [leader]
        rack = self._rack_offset
        while len(replicas) < replication_factor:
            if rack == leader_rack:
                # The leader's rack has had its turn; it is passed over once.
                leader_rack = -1
            else:
                broker = racks[rack].next(self._epoch)
                if broker >= 0:
                    replicas.append(broker)
            rack = (rack + 1) % len(racks)
        self._epoch += 1
        self._rack_offset += 1
        return tuple(replicas)

    def _shuffle_when_all_have_led(self) -> None:
        if self._epoch == self._unfenced_count and self._unfenced_count > 1:
            self._chance.shuffle(self._racks)
            for rack in self._racks:
                rack.unfenced.shuffle(self._chance)
                rack.fenced.shuffle(self._chance)
            self._epoch = 0
