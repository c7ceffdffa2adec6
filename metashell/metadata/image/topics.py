"""Topics and their partitions, which stay bytes until they are read.

A topic's partitions are in its spans (see `partitions.py`), where a snapshot wrote them, and in its overlay, where later records changed
them. An entry of the overlay describes one partition: first its base (None if that is in the spans), then its changes in order. It is a
list while a delta gathers changes and a tuple in an image.

Why are changes kept instead of folded at once? Folding decodes the partition and makes an object. A log changes many partitions a hundred
times before anyone reads one. An unfolded change costs a pointer, since entries share their changes: after the 20 bytes that name the
partition, few records differ. `is_full` bounds what an entry keeps."""

from __future__ import annotations

from collections.abc import Generator, ItemsView, Iterator, Mapping, Sequence, ValuesView
from itertools import islice
from operator import attrgetter
from typing import Any, Final, TypeVar

from immutables import Map

from metashell.codec.registry import message_type
from metashell.codec.releases import NEWEST_LEVEL, record_versions
from metashell.metadata.image.partitions import (
    PartitionRegistration,
    Span,
    SpanIndex,
    fold_changes,
    merge_spans,
    partition_from_record,
    partition_reader,
    partition_record,
    walk_ids,
)
from metashell.metadata.image.provenance import LossHandler, VersionedRecord, in_order

NO_OVERLAY: Map[int, Entry] = Map()
_MAP_PIECE: Final = 2000
Key = TypeVar("Key", bytes, str)


class TopicImage:
    """A topic: its name, its 16-byte id, and its partitions.

    Shape: most partitions are in `spans` of record batches, later changes in `overlay`; `partitions` is the mapping that the
    rest of the code uses. The first lookup indexes the topic, once; iterating is one pass.
    """

    __slots__ = ("_count", "_index", "id", "name", "overlay", "spans")

    def __init__(
        self,
        name: str,
        id: bytes,
        spans: tuple[Span, ...] = (),
        overlay: Map[int, Entry] = NO_OVERLAY,
        index: SpanIndex | None = None,
    ) -> None:
        self.name = name
        self.id = id
        self.spans = spans
        self.overlay = overlay
        self._index = index
        self._count = -1

    @property
    def partitions(self) -> PartitionMap:
        return PartitionMap(self)

    @property
    def partition_count(self) -> int:
        """The number of partitions; the first call walks the topic's bytes."""
        if self._count < 0:
            self._count = len(self.partition_ids())
        return self._count

    def remember_count(self, count: int) -> None:
        """Keep the number of partitions, found by a caller who read all of them."""
        self._count = count

    def partition_ids(self) -> dict[int, None]:
        """The ids of all partitions, in the order of their records, each once; nothing is decoded or kept."""
        if self._index is not None:
            ids = dict.fromkeys(self._index)
        elif len(self.spans) == 1:
            ids = dict.fromkeys(walk_ids(self.spans[0]))
        else:
            ids = dict.fromkeys(id for span in self.spans for id in walk_ids(span))
        if self.overlay:
            ids.update(dict.fromkeys(self.overlay))
        return ids

    @property
    def is_indexed(self) -> bool:
        return self._index is not None

    def index(self) -> SpanIndex:
        """The index of the spans, made at the first call and kept."""
        if self._index is None:
            self._index = SpanIndex(self.spans)
        return self._index

    def scan(self) -> SpanIndex:
        """The index of the spans for one pass. A new one is not kept, so that a pass over all topics costs no memory."""
        return SpanIndex(self.spans) if self._index is None else self._index

    def has_partition(self, partition_id: int) -> bool:
        return partition_id in self.overlay or partition_id in self.index()

    def read(self, partition_id: int, index: SpanIndex) -> PartitionRegistration:
        """One partition. Errors: KeyError for an unknown one."""
        entry = self.overlay.get(partition_id)
        if entry is None:
            return index.read(partition_id)
        return fold_entry(entry, index.read(partition_id) if entry[0] is None else None)

    def with_span(self, span: Span) -> TopicImage:
        """The topic with more partition records, which replace the former state of the same partitions."""
        overlay = self.overlay
        if overlay:
            changes = overlay.mutate()
            for partition_id in SpanIndex((span,)):
                changes.pop(partition_id, None)
            overlay = changes.finish()
        return TopicImage(self.name, self.id, merge_spans(self.spans, span), overlay)

    def with_overlay(self, overlay: Map[int, Entry]) -> TopicImage:
        return TopicImage(self.name, self.id, self.spans, overlay, self._index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicImage):
            return NotImplemented
        return self is other or (
            self.id == other.id and self.name == other.name and dict(self.partitions.items()) == dict(other.partitions.items())
        )

    def __hash__(self) -> int:
        return hash((self.id, self.name))

    def __repr__(self) -> str:
        return f"TopicImage({self.name!r}, id={self.id.hex()}, {len(self.spans)} spans, {len(self.overlay)} in overlay)"


class PartitionMap(Mapping[int, PartitionRegistration]):
    """The partitions of one topic by id, decoded when they are read; not sorted."""

    __slots__ = ("_topic",)

    def __init__(self, topic: TopicImage) -> None:
        self._topic = topic

    def __getitem__(self, partition_id: int) -> PartitionRegistration:
        return self._topic.read(partition_id, self._topic.index())

    def __contains__(self, partition_id: object) -> bool:
        return isinstance(partition_id, int) and self._topic.has_partition(partition_id)

    def __len__(self) -> int:
        return self._topic.partition_count

    def __iter__(self) -> Iterator[int]:
        return iter(self._topic.partition_ids())

    def items(self) -> ItemsView[int, PartitionRegistration]:
        return _PartitionItems(self)

    def values(self) -> ValuesView[PartitionRegistration]:
        return _PartitionValues(self)

    def pairs(self) -> Iterator[tuple[int, PartitionRegistration]]:
        """Every partition with its id, in one pass."""
        topic = self._topic
        index = topic.scan()
        for partition_id in index:
            yield partition_id, topic.read(partition_id, index)
        for partition_id in topic.overlay:
            if partition_id not in index:
                yield partition_id, topic.read(partition_id, index)

    def __repr__(self) -> str:
        return f"PartitionMap({self._topic!r})"


class _PartitionItems(ItemsView[int, PartitionRegistration]):
    _mapping: PartitionMap

    def __iter__(self) -> Iterator[tuple[int, PartitionRegistration]]:
        return self._mapping.pairs()


class _PartitionValues(ValuesView[PartitionRegistration]):
    _mapping: PartitionMap

    def __iter__(self) -> Iterator[PartitionRegistration]:
        return (partition for _, partition in self._mapping.pairs())


NO_TOPICS: Map[bytes, TopicImage] = Map()
NO_NAMES: Map[str, TopicImage] = Map()


class TopicsImage:
    """All topics, by name and by id; neither mapping is sorted.

    A first delta gives plain dicts, which stay dicts until a next image is made of them: a persistent map of 100 000 topics takes 70 ms
    to make, and a command that opens a snapshot and prints something needs none.
    """

    __slots__ = ("_by_id", "_by_name", "_partition_count")

    def __init__(
        self,
        by_id: Map[bytes, TopicImage] | dict[bytes, TopicImage] = NO_TOPICS,
        by_name: Map[str, TopicImage] | dict[str, TopicImage] = NO_NAMES,
    ) -> None:
        self._by_id = by_id
        self._by_name = by_name
        self._partition_count = -1

    @property
    def by_id(self) -> Mapping[bytes, TopicImage]:
        return self._by_id

    @property
    def by_name(self) -> Mapping[str, TopicImage]:
        return self._by_name

    def is_named(self, topic: TopicImage) -> bool:
        """Return whether the name means this topic. After two records of one name it means the later topic; the former has only its id."""
        named = self._by_name.get(topic.name)
        return named is not None and named.id == topic.id

    def maps(self) -> tuple[Map[bytes, TopicImage], Map[str, TopicImage]]:
        """Both mappings as persistent maps, which the next image shares; made at the first call."""
        if isinstance(self._by_id, dict):
            self._by_id = Map(self._by_id)
        if isinstance(self._by_name, dict):
            self._by_name = Map(self._by_name)
        return self._by_id, self._by_name

    def make_maps(self) -> Generator[None, None, None]:
        """Make both maps, some thousand topics at a time, for a server that must answer in between."""
        self._by_id = yield from _map_in_pieces(self._by_id)
        self._by_name = yield from _map_in_pieces(self._by_name)

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[TopicImage]:
        return iter(self._by_id.values())

    @property
    def partition_count(self) -> int:
        """The number of partitions of all topics; the first call is one pass over their bytes."""
        if self._partition_count < 0:
            self._partition_count = sum(topic.partition_count for topic in self)
        return self._partition_count

    def iter_partitions(self) -> Iterator[tuple[TopicImage, int, PartitionRegistration]]:
        """Every partition of every topic, in one pass over their bytes that keeps nothing."""
        for topic in self:
            for partition_id, partition in topic.partitions.pairs():
                yield topic, partition_id, partition

    def write(self, level: int, loss: LossHandler) -> Iterator[VersionedRecord | None]:
        """The records of each topic and, after it, of its partitions, ordered by name and partition; None is a place to rest."""
        make = message_type("metadata", "TopicRecord").cls
        version = record_versions(level).partition
        for topic in in_order(self, key=attrgetter("name", "id")):
            if topic is None:
                yield None
                continue
            yield make(name=topic.name, topic_id=topic.id), 0
            index = topic.scan()
            # One at a time, so that a snapshot written in slices does not wait for a topic of many partitions.
            for partition_id in sorted({*index, *topic.overlay}):
                yield partition_record(topic.read(partition_id, index), topic.id, partition_id, level, loss), version

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TopicsImage):
            return NotImplemented
        own, others = self.by_id, other.by_id
        return own == others if type(own) is type(others) else dict(own) == dict(others)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TopicsImage({len(self)} topics)"


def _map_in_pieces(topics: Map[Key, TopicImage] | dict[Key, TopicImage]) -> Generator[None, None, Map[Key, TopicImage]]:
    if not isinstance(topics, dict):
        return topics
    empty: Map[Key, TopicImage] = Map()
    made = empty.mutate()
    items = iter(topics.items())
    while piece := dict(islice(items, _MAP_PIECE)):
        made.update(piece)
        yield
    return made.finish()


# ---- entries of the overlay


CHANGES_MAX = 128
"""An image keeps no more changes of one partition than this; more are folded into its base. Each costs a pointer."""

OBJECTS_MAX = 2
"""An image keeps no more changes than this that are objects of their own, as a controller replays them: each costs 200 bytes or more."""

_NO_KEY = bytes(20)
"""The partition id and topic id with which PartitionRecord and PartitionChangeRecord begin."""
_DECODED_MAX = 4096
_decoded: dict[RawChange, Any] = {}


class _Raw:
    """A part of a record as bytes that are known to decode."""

    __slots__ = ("body", "version")

    def __init__(self, version: int, body: bytes) -> None:
        self.version = version
        self.body = body


class RawPartition(_Raw):
    """A PartitionRecord's body."""

    __slots__ = ()

    def decode(self) -> PartitionRegistration:
        return partition_from_record(partition_reader(self.version)(self.body, 0, len(self.body)))


class RawChange(_Raw):
    """A PartitionChangeRecord's body after the key of the partition."""

    __slots__ = ()

    def decode(self) -> Any:
        """The change as a PartitionChangeRecord that names no partition."""
        record = _decoded.get(self)
        if record is None:
            if len(_decoded) >= _DECODED_MAX:
                _decoded.clear()
            body = _NO_KEY + self.body
            record = message_type("metadata", "PartitionChangeRecord").reader(self.version)(body, 0, len(body))
            _decoded[self] = record
        return record


def packed(partition: PartitionRegistration) -> RawPartition:
    """A partition as bytes, which take a third of the memory and are decoded at each read."""
    version = record_versions(NEWEST_LEVEL).partition
    record = partition_record(partition, _NO_KEY[4:], 0, NEWEST_LEVEL, lambda loss: None)
    return RawPartition(version, message_type("metadata", "PartitionRecord").write(record, version))


def is_full(entry: Entry) -> bool:
    """Return whether an entry holds more changes than an image keeps."""
    return len(entry) > OBJECTS_MAX + 1 and (len(entry) > CHANGES_MAX or type(entry[-1]) is not RawChange)


Base = PartitionRegistration | RawPartition | None
Entry = Sequence[Any]
"""[Base, change, ...]; a change is a RawChange, a PartitionChangeRecord or CLEAR_ELR."""


def fold_entry(entry: Entry, in_spans: PartitionRegistration | None) -> PartitionRegistration:
    """The state after all changes of an entry; `in_spans` is the base if the entry has none."""
    base = entry[0]
    if type(base) is RawPartition:
        base = base.decode()
    elif base is None:
        base = in_spans
    assert base is not None, "an entry without a base has its base in a span"
    if len(entry) == 1:
        return base  # type: ignore[no-any-return]
    return fold_changes(base, [change.decode() if type(change) is RawChange else change for change in entry[1:]])
