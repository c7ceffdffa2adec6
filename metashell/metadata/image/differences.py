"""The places of the metadata that differ between two images.

A place is a kind of thing with its key, not a path: `("partition", topic id, 3)`, `("config", 2, "orders", "retention.ms")`. The records
between two images show which places they touched. Without those records (a snapshot took their place) both images are compared.

Why not compare value by value? A cluster has a million partitions, and nearly all are equal. Two images of one history share every topic
that did not change, so `is` decides. Images of two files share nothing, but most of their bytes are equal: runs of partition records are
compared as bytes, and only the rest is decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from metashell.codec.batch_writer import CONTROL_TYPE_NAMES, KRAFT_VERSION_RECORD, KRAFT_VOTERS, read_control_record
from metashell.codec.batches import walk_records
from metashell.codec.codes import TOPIC_RESOURCE
from metashell.codec.metadata_records import FrameError, UnknownRecord, read_metadata_record
from metashell.codec.releases import METADATA_VERSION
from metashell.common.errors import DecodeError
from metashell.metadata.image.partitions import Span, walk_span
from metashell.metadata.image.settings import quota_entity

if TYPE_CHECKING:
    from metashell.metadata.image.image import MetadataImage
    from metashell.metadata.image.provenance import Batch
    from metashell.metadata.image.topics import TopicImage, TopicsImage


Place = tuple[Any, ...]
"""A kind of thing and its key; see `_PLACES`."""


class Step(NamedTuple):
    """Two images, and the batches of the log between them; None if a snapshot came between."""

    before: MetadataImage
    after: MetadataImage
    batches: tuple[Batch, ...] | None

    @property
    def in_transaction(self) -> bool:
        """Return whether a metadata transaction is open at the end, so that `after` does not show all of the batches."""
        position = self.after.provenance
        return position.offset + 1 < position.end_offset


class Origin(NamedTuple):
    """The record that touched a place last; `record` is Kafka's name of its type, empty if it is not known."""

    offset: int
    epoch: int
    timestamp_ms: int
    record: str


def touched_places(step: Step) -> dict[Place, Origin]:
    """The places that may differ between the images of a step, in the order of the records that touched them last."""
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
        return  # It is among the image's faults.


def places_of(record: Any, step: Step) -> list[Place]:
    """The places that a metadata record of `step` touches; empty for one that touches none."""
    finder = _PLACES.get(type(record).__name__)
    return [] if finder is None else finder(record, step)


_AREA_MAX = 128 << 20
CONTROL_PLACES: dict[int, Place] = {KRAFT_VOTERS: ("voters",), KRAFT_VERSION_RECORD: ("feature", "kraft.version")}
"""The place that a control record changes, by its type."""


def _of_partition(record: Any, step: Step) -> list[Place]:
    return [("partition", record.topic_id, record.partition_id)]


def _of_broker(record: Any, step: Step) -> list[Place]:
    return [("broker", record.broker_id)]


def _of_fencing(record: Any, step: Step) -> list[Place]:
    return [("broker", record.id)]


def _of_topic(record: Any, step: Step) -> list[Place]:
    # No controller writes a topic's record twice. A second one starts a topic without partitions, so the former ones are touched.
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
    # The offset of the voters' record is no difference: in a snapshot it is the end of the snapshot.
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
    # A name in a quota's entity may be None, which cannot be compared with a text.
    return repr(key) if isinstance(key, tuple) else key


def different_topics(before: TopicsImage, after: TopicsImage) -> Iterator[bytes]:
    """The ids of topics that are in one image only, or may differ; in any order."""
    if before is after:
        return
    was, now = before.by_id, after.by_id
    for id, topic in was.items():
        other = now.get(id)
        if other is not topic and (other is None or not _are_alike(topic, other)):
            yield id
    yield from (id for id in now if id not in was)


def different_partitions(before: TopicImage | None, after: TopicImage) -> list[int]:
    """The partitions of a topic that differ, in order; without one before, all."""
    if before is None:
        return sorted(after.partition_ids())
    if before.spans is after.spans or _are_same(before.spans, after.spans):
        numbers = {number for number in {**before.overlay, **after.overlay} if before.overlay.get(number) is not after.overlay.get(number)}
    else:
        numbers = _numbers_with_other_bytes(before, after)
    olds, news = before.partitions, after.partitions
    return sorted(number for number in numbers if olds.get(number) != news.get(number))


def _are_alike(before: TopicImage, after: TopicImage) -> bool:
    """Return whether two topics have equal bytes and no later changes."""
    if before.name != after.name or before.overlay or after.overlay or len(before.spans) != len(after.spans):
        return False
    for (buf, start, end, _), (other, other_start, other_end, _) in zip(before.spans, after.spans, strict=True):
        if end - start != other_end - other_start or not other.startswith(buf[start:end], other_start):
            return False
    return True


def _are_same(before: tuple[Span, ...], after: tuple[Span, ...]) -> bool:
    return len(before) == len(after) and all(
        old.buf is new.buf and old.start == new.start and old.end == new.end for old, new in zip(before, after, strict=True)
    )


def _numbers_with_other_bytes(before: TopicImage, after: TopicImage) -> set[int]:
    """The partitions whose records differ as bytes, or that later records changed."""
    olds, news = _values(before), _values(after)
    differing = {number for number in olds.keys() | news.keys() if olds.get(number) != news.get(number)}
    return differing | {*before.overlay, *after.overlay}


def _values(topic: TopicImage) -> dict[int, bytes]:
    values: dict[int, bytes] = {}
    for span in topic.spans:
        numbers, starts, ends = walk_span(span)
        values |= {number: span.buf[start:end] for number, start, end in zip(numbers, starts, ends, strict=True)}
    return values


def differences(old: MetadataImage, new: MetadataImage) -> Iterator[Place]:
    """Every place whose value differs. Images of one history are compared by what they share: equal parts cost nothing.

    Shape: a topic that is gone is one place, and so is each partition that it had.
    """
    yield from different_places(old, new)
    if old.topics is new.topics:
        return
    for id, topic in old.topics.by_id.items():
        if id not in new.topics.by_id:
            yield from (("partition", id, number) for number in sorted(topic.partition_ids()))
