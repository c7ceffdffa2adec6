"""Gathers the changes of topics and partitions in a batch or a whole log.

Records arrive as objects through `replay_*`, from the controller and from the general path of the loader, or as bytes through `add_topic`,
`add_span` and `pending`, from the loop that opens batches (`scanner.py`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from metashell.common.values import uuid_text
from metashell.metadata.image.partitions import CLEAR_ELR, PartitionRegistration, Span, check_change, partition_from_record, walk_span
from metashell.metadata.image.provenance import ReplayError
from metashell.metadata.image.topics import RawPartition, TopicImage, TopicsImage, fold_entry, is_full, packed

_UNTOUCHED: Final = object()
_SPANS_MAX: Final = 64
"""A topic with more spans than this keeps further partitions one by one."""


class _TopicWork:
    """A topic whose partitions change in this delta: the entries that change, by partition."""

    __slots__ = ("entries", "topic")

    def __init__(self, topic: TopicImage) -> None:
        self.topic = topic
        self.entries: dict[int, list[Any]] = {}

    def entry(self, partition_id: int) -> list[Any]:
        """The partition's entry, to append to.

        Errors: ReplayError for a partition that the topic does not have.
        """
        entry = self.entries.get(partition_id)
        if entry is None:
            kept = self.topic.overlay.get(partition_id)
            if kept is None and partition_id not in self.topic.index():
                raise ReplayError(f"topic {self.topic.name!r} has no partition {partition_id}")
            entry = self.entries[partition_id] = [None] if kept is None else list(kept)
        return entry

    def read(self, partition_id: int) -> PartitionRegistration:
        """The partition as it is now."""
        entry = self.entries.get(partition_id)
        if entry is None:
            return self.topic.read(partition_id, self.topic.index())
        return fold_entry(entry, self.topic.index().read(partition_id) if entry[0] is None else None)

    def partition_ids(self) -> set[int]:
        return {*self.topic.partitions, *self.entries}

    def apply(self, *, keeps_objects: bool) -> TopicImage:
        overlay = self.topic.overlay.mutate()
        for partition_id, entry in self.entries.items():
            if keeps_objects:
                overlay[partition_id] = (self.read(partition_id),)
            else:
                overlay[partition_id] = (packed(self.read(partition_id)),) if is_full(entry) else tuple(entry)
        return self.topic.with_overlay(overlay.finish())


class TopicsDelta:
    """Gathers topics and partitions; its cost is that of its changes.

    Shape: `pending` maps the 20 bytes that name a partition in its records (id, topic id) to its entry, to which the
    scanner appends; it has those that changed before, `open_entry` adds others. Dropping a topic drops its entries. `keeps_objects`: see
    MetadataDelta.
    """

    __slots__ = ("_by_id", "_by_name", "_has_dropped", "_image", "_is_first", "_work", "keeps_objects", "pending")

    def __init__(self, image: TopicsImage) -> None:
        self._image = image
        self.keeps_objects = False
        self._is_first = not len(image)
        self._by_id: dict[bytes, TopicImage | None] = {}
        self._by_name: dict[str, TopicImage | None] = {}
        self._work: dict[bytes, _TopicWork] = {}
        self._has_dropped = False
        self.pending: dict[bytes, list[Any]] = {}

    def topic(self, topic_id: bytes) -> TopicImage | None:
        """The topic of an id, without the changes of this delta to its partitions; None for an unknown one."""
        topic = self._by_id.get(topic_id, _UNTOUCHED)
        return self._image.by_id.get(topic_id) if topic is _UNTOUCHED else topic  # type: ignore[return-value]

    def topic_named(self, name: str) -> TopicImage | None:
        topic = self._by_name.get(name, _UNTOUCHED)
        return self._image.by_name.get(name) if topic is _UNTOUCHED else topic  # type: ignore[return-value]

    def add_topic(self, topic: TopicImage) -> None:
        """Add a topic; it replaces one of the same name or id, as in Kafka.

        A controller never writes such a record. It is a fault of the log, and the image still shows what Kafka's would.
        Errors: ReplayError, applied, if the name or the id was taken.
        """
        image = self._image
        is_new = topic.id not in self._by_id and topic.name not in self._by_name
        if is_new and (self._is_first or (topic.id not in image.by_id and topic.name not in image.by_name)):
            self._by_id[topic.id] = topic
            self._by_name[topic.name] = topic
            return
        former = self.topic_named(topic.name)
        same_id = self.topic(topic.id)
        if same_id is not None:
            self._drop(same_id)
        self._by_id[topic.id] = topic
        self._by_name[topic.name] = topic
        if same_id is not None:
            raise ReplayError(f"topic id {uuid_text(topic.id)} is taken by {same_id.name!r}", applied=True)
        if former is not None:
            raise ReplayError(f"topic {topic.name!r} has the id {uuid_text(former.id)} already", applied=True)

    def add_span(self, topic_id: bytes, span: Span) -> None:
        """Add checked partition records of one topic; they replace the former state of the same partitions.

        Errors: ReplayError for an unknown topic.
        """
        topic = self._known(topic_id)
        if topic_id not in self._work and not topic.is_indexed and len(topic.spans) < _SPANS_MAX:
            self._put(topic.with_span(span))
            return
        # One more span would drop the index, or make the list of spans longer. A log that adds partitions one by one would then take
        # quadratic time, so they are kept singly.
        partition_ids, starts, ends = walk_span(span)
        for partition_id, start, end in zip(partition_ids, starts, ends, strict=True):
            self.set_partition(topic_id, partition_id, RawPartition(span.buf[start + 2], span.buf[start + 3 : end]))

    def open_entry(self, key: bytes) -> list[Any]:
        """The entry of the partition that `key` names; it is in `pending` from now on.

        Errors: ReplayError for an unknown topic or partition.
        """
        entry = self.pending.get(key)
        if entry is None:
            entry = self._open_work(key[4:]).entry(int.from_bytes(key[:4], "big", signed=True))
            self.pending[key] = entry
        return entry

    def replay_topic(self, record: Any) -> None:
        self.add_topic(TopicImage(record.name, record.topic_id))

    def replay_remove_topic(self, record: Any) -> str:
        """The name of the removed topic. Errors: ReplayError for an unknown id."""
        topic = self._known(record.topic_id)
        self._drop(topic)
        return topic.name

    def replay_partition(self, record: Any) -> None:
        """Errors: ReplayError for an unknown topic, or directories that do not fit."""
        self.set_partition(record.topic_id, record.partition_id, partition_from_record(record))

    def set_partition(self, topic_id: bytes, partition_id: int, base: PartitionRegistration | RawPartition) -> None:
        """Set the state of a partition. Errors: ReplayError for an unknown topic."""
        entries = self._open_work(topic_id).entries
        # The list object stays the same: `pending` may refer to it.
        entries.setdefault(partition_id, [])[:] = [base]
        self.pending[_key(partition_id, topic_id)] = entries[partition_id]

    def replay_partition_change(self, record: Any) -> None:
        self.change_partition(_key(record.partition_id, record.topic_id), record, record)

    def change_partition(self, key: bytes, record: Any, kept: Any) -> None:
        """Merge a change into the partition that `key` names; `kept` is the form of it that the entry keeps.

        Errors: ReplayError for an unknown topic or partition, or a change that does not fit.
        """
        fits_any = check_change(record)
        entry = self.open_entry(key)
        if fits_any:
            entry.append(kept)
            return
        work = self._work[key[4:]]
        partition_id = int.from_bytes(key[:4], "big", signed=True)
        in_spans = work.topic.index().read(partition_id) if entry[0] is None else None
        entry[:] = [fold_entry([*entry, record], in_spans)]

    def replay_clear_elr(self, record: Any) -> None:
        """Errors: ReplayError for an unknown topic name."""
        for topic in self._named_or_all(record.topic_name):
            work = self._work.get(topic.id) or _TopicWork(topic)
            for partition_id in work.partition_ids():
                self._clear_elr(work, partition_id)

    def clear_elr(self, topic_id: bytes, partition_id: int) -> None:
        """Do to one partition what a ClearElrRecord does to all; nothing where there is no such partition."""
        topic = self.topic(topic_id)
        if topic is None:
            return
        work = self._work.get(topic_id) or _TopicWork(topic)
        if partition_id in work.entries or topic.has_partition(partition_id):
            self._clear_elr(work, partition_id)

    def _clear_elr(self, work: _TopicWork, partition_id: int) -> None:
        partition = work.read(partition_id)
        if partition.elr or partition.last_known_elr:
            self.open_entry(_key(partition_id, work.topic.id)).append(CLEAR_ELR)

    def _named_or_all(self, name: str) -> Iterable[TopicImage]:
        if not name:
            untouched = [topic for topic in self._image if topic.id not in self._by_id]
            return [*untouched, *(topic for topic in self._by_id.values() if topic is not None)]
        topic = self.topic_named(name)
        if topic is None:
            raise ReplayError(f"topic {name!r} is not known")
        return [topic]

    def _known(self, topic_id: bytes) -> TopicImage:
        topic = self.topic(topic_id)
        if topic is None:
            raise ReplayError(f"topic id {uuid_text(topic_id)} is not known")
        return topic

    def _open_work(self, topic_id: bytes) -> _TopicWork:
        work = self._work.get(topic_id)
        if work is None:
            work = self._work[topic_id] = _TopicWork(self._known(topic_id))
        return work

    def _put(self, topic: TopicImage) -> None:
        self._by_id[topic.id] = topic
        named = self.topic_named(topic.name)
        if named is not None and named.id == topic.id:
            self._by_name[topic.name] = topic

    def _drop(self, topic: TopicImage) -> None:
        self._has_dropped = True
        self._by_id[topic.id] = None
        named = self.topic_named(topic.name)
        if named is not None and named.id == topic.id:
            self._by_name[topic.name] = None
        work = self._work.pop(topic.id, None)
        if work is not None:
            for partition_id in work.entries:
                self.pending.pop(_key(partition_id, topic.id), None)

    def apply(self) -> TopicsImage:
        """The next image; the delta has done its work then."""
        for work in self._work.values():
            self._put(work.apply(keeps_objects=self.keeps_objects))
        if self._is_first:
            return TopicsImage(_remaining(self._by_id, self._has_dropped), _remaining(self._by_name, self._has_dropped))
        by_id, by_name = self._image.maps()
        return TopicsImage(_changed(by_id, self._by_id, self._has_dropped), _changed(by_name, self._by_name, self._has_dropped))


def _changed(topics: Any, changes: dict[Any, TopicImage | None], has_dropped: bool) -> Any:
    """The map with all changes made; None stands for a dropped topic."""
    target = topics.mutate()
    if has_dropped:
        for key in [key for key, topic in changes.items() if topic is None]:
            target.pop(key, None)
            del changes[key]
    target.update(changes)
    return target.finish()


def _remaining(changes: dict[Any, TopicImage | None], has_dropped: bool) -> Any:
    """The topics that a delta of an empty image added and did not drop."""
    return {key: topic for key, topic in changes.items() if topic is not None} if has_dropped else changes


def _key(partition_id: int, topic_id: bytes) -> bytes:
    return partition_id.to_bytes(4, "big", signed=True) + topic_id
