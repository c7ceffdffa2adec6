"""From one image to a later one, and which places of the metadata differ between them.

A place is named by what it is, not by a path: `("partition", topic id, 3)`, `("config", 2, "orders", "retention.ms")`. The
records between two images show which places they touched; without them (a snapshot took their place) both images are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from metashell.codec.config_types import TOPIC_RESOURCE
from metashell.codec.control import CONTROL_TYPE_NAMES, KRAFT_VERSION, KRAFT_VOTERS, read_control_record
from metashell.codec.frame import FrameError, UnknownRecord, read_metadata_record
from metashell.codec.metadata_version import METADATA_VERSION
from metashell.codec.record_walk import walk_records
from metashell.errors import DecodeError
from metashell.image.client_quotas import quota_entity
from metashell.image.topic_differences import different_partitions, different_topics

if TYPE_CHECKING:
    from metashell.image.image import MetadataImage
    from metashell.image.source import Batch

Place = tuple[Any, ...]
"""The kind of thing, and what names it; see `_PLACES`."""


class Step(NamedTuple):
    """Two images, and the batches of the log that lead from one to the other; None where a snapshot does."""

    before: MetadataImage
    after: MetadataImage
    batches: tuple[Batch, ...] | None

    @property
    def in_transaction(self) -> bool:
        """Whether a metadata transaction is open at the end, so that `after` does not show all of the batches."""
        position = self.after.provenance
        return position.offset + 1 < position.end_offset


class Origin(NamedTuple):
    """The record that touched a place last; `record` is Kafka's name of its type, empty where nobody knows."""

    offset: int
    epoch: int
    timestamp_ms: int
    record: str


def touched_places(step: Step) -> dict[Place, Origin]:
    """What may differ between the images of a step, in the order of the records that touched it last."""
    if step.batches is None:
        position = step.after.provenance
        origin = Origin(position.offset, position.epoch, position.timestamp_ms, "")
        return dict.fromkeys(different_places(step.before, step.after), origin)
    touched: dict[Place, Origin] = {}
    for batch in step.batches:
        for place, origin in _touched_by(batch, step):
            touched.pop(place, None)
            touched[place] = origin
    return touched


def _touched_by(batch: Batch, step: Step) -> Iterator[tuple[Place, Origin]]:
    header = batch.header
    try:
        if header.is_control:
            for record in batch.records():
                control = read_control_record(record.key, record.value)
                if control.type in CONTROL_PLACES:
                    name = CONTROL_TYPE_NAMES[control.type]
                    yield CONTROL_PLACES[control.type], Origin(record.offset, header.leader_epoch, record.timestamp, name)
            return
        buf, start, end = batch.records_area(_AREA_MAX)
        for fields in walk_records(buf, start, end, header.count):
            read = read_metadata_record(buf, fields[4], fields[4] + max(fields[5], 0))
            if not isinstance(read.body, UnknownRecord) and read.family == "metadata":
                origin = Origin(header.base_offset + fields[0], header.leader_epoch, header.base_timestamp + fields[1], read.type_name)
                for place in places_of(read.body, step):
                    yield place, origin
    except (DecodeError, FrameError):
        return  # the image's faults name it


def places_of(record: Any, step: Step) -> list[Place]:
    """Which places a metadata record touches that is among those of `step`; empty for one that touches none."""
    finder = _PLACES.get(type(record).__name__)
    return [] if finder is None else finder(record, step)


_AREA_MAX = 128 << 20
CONTROL_PLACES: dict[int, Place] = {KRAFT_VOTERS: ("voters",), KRAFT_VERSION: ("feature", "kraft.version")}
"""Which place a control record touches, by its type."""


def _of_partition(record: Any, step: Step) -> list[Place]:
    return [("partition", record.topic_id, record.partition_id)]


def _of_broker(record: Any, step: Step) -> list[Place]:
    return [("broker", record.broker_id)]


def _of_fencing(record: Any, step: Step) -> list[Place]:
    return [("broker", record.id)]


def _of_topic(record: Any, step: Step) -> list[Place]:
    # No controller writes a topic's record twice; one that did would begin without partitions.
    known = step.before.topics.by_id.get(record.topic_id)
    numbers = () if known is None else known.partitions
    return [("topic", record.topic_id), *(("partition", record.topic_id, number) for number in numbers)]


def _of_removed_topic(record: Any, step: Step) -> list[Place]:
    topic = step.before.topics.by_id.get(record.topic_id)
    places: list[Place] = [("topic", record.topic_id)]
    if topic is not None:
        settings = step.before.configs.get((TOPIC_RESOURCE, topic.name)) or ()
        places += [("config", TOPIC_RESOURCE, topic.name, key) for key in sorted(settings)]
    return places


def _of_clear_elr(record: Any, step: Step) -> list[Place]:
    named = step.after.topics.by_name.get(record.topic_name)
    topics = step.after.topics if not record.topic_name else () if named is None else (named,)
    return [("partition", topic.id, number) for topic in topics for number in topic.partitions]


_PLACES: dict[str, Callable[[Any, Step], list[Place]]] = {
    "TopicRecord": _of_topic,
    "RemoveTopicRecord": _of_removed_topic,
    "PartitionRecord": _of_partition,
    "PartitionChangeRecord": _of_partition,
    "ClearElrRecord": _of_clear_elr,
    "RegisterBrokerRecord": _of_broker,
    "UnregisterBrokerRecord": _of_broker,
    "BrokerRegistrationChangeRecord": _of_broker,
    "FenceBrokerRecord": _of_fencing,
    "UnfenceBrokerRecord": _of_fencing,
    "RegisterControllerRecord": lambda record, step: [("controller", record.controller_id)],
    "UnregisterControllerRecord": lambda record, step: [("controller", record.controller_id)],
    "ConfigRecord": lambda record, step: [("config", record.resource_type, record.resource_name, record.name)],
    "ClientQuotaRecord": lambda record, step: [("quota", quota_entity(record.entity), record.key)],
    "AccessControlEntryRecord": lambda record, step: [("acl", record.id)],
    "RemoveAccessControlEntryRecord": lambda record, step: [("acl", record.id)],
    "UserScramCredentialRecord": lambda record, step: [("scram", record.mechanism, record.name)],
    "RemoveUserScramCredentialRecord": lambda record, step: [("scram", record.mechanism, record.name)],
    "DelegationTokenRecord": lambda record, step: [("token", record.token_id)],
    "RemoveDelegationTokenRecord": lambda record, step: [("token", record.token_id)],
    "FeatureLevelRecord": lambda record, step: [("feature", record.name)],
    "ZkMigrationStateRecord": lambda record, step: [("zk migration",)],
    "ProducerIdsRecord": lambda record, step: [("producer ids",)],
}
"""By the name of a record's class."""


def different_places(before: MetadataImage, after: MetadataImage) -> Iterator[Place]:
    """Every place whose value differs between two images; topics in both are compared partition by partition."""
    yield from _different_features(before, after)
    yield from ((("broker", id)) for id in _different(before.cluster.brokers, after.cluster.brokers))
    yield from ((("controller", id)) for id in _different(before.cluster.controllers, after.cluster.controllers))
    yield from _different_topics(before, after)
    yield from (("config", *path[0], path[1]) for path in _different_twice(before.configs, after.configs))
    yield from (("quota", *path) for path in _different_twice(before.client_quotas, after.client_quotas))
    if before.producer_ids != after.producer_ids:
        yield ("producer ids",)
    yield from (("acl", id) for id in _different(before.acls.by_id, after.acls.by_id))
    yield from (("scram", *path) for path in _different_twice(before.scram, after.scram))
    yield from (("token", id) for id in _different(before.delegation_tokens, after.delegation_tokens))
    # Where the record lies is no difference: of a snapshot that is its end.
    if (before.voters and before.voters.voters) != (after.voters and after.voters.voters):
        yield ("voters",)


def _different_features(before: MetadataImage, after: MetadataImage) -> Iterator[Place]:
    was, now = before.features, after.features
    if was.metadata_version != now.metadata_version:
        yield ("feature", METADATA_VERSION)
    yield from (("feature", name) for name in _different(was.levels, now.levels))
    if was.zk_migration_state != now.zk_migration_state:
        yield ("zk migration",)


def _different_topics(before: MetadataImage, after: MetadataImage) -> Iterator[Place]:
    was, now = before.topics.by_id, after.topics.by_id
    for id in sorted(different_topics(before.topics, after.topics)):
        old, new = was.get(id), now.get(id)
        if old is None or new is None:
            yield ("topic", id)
        if new is not None:
            yield from (("partition", id, number) for number in different_partitions(old, new))


def _different(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> list[Any]:
    if before is after:
        return []
    return [key for key in _keys(before, after) if before.get(key) != after.get(key)]


def _different_twice(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """The paths of two keys at which two mappings of mappings differ."""
    if before is after:
        return
    for outer in _keys(before, after):
        was, now = before.get(outer) or {}, after.get(outer) or {}
        if was is now:
            continue
        yield from ((outer, inner) for inner in _different(was, now))


def _keys(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> Iterable[Any]:
    """The keys of both, in order where they have one."""
    return sorted({*before, *after}, key=_in_some_order)


def _in_some_order(key: Any) -> Any:
    # Of a quota's entity a name may be None, which has no order.
    return repr(key) if isinstance(key, tuple) else key
