"""Which partitions may be meant: lookups that name too much rather than too little, so that they need no versions.

Everything found here is held against an image before it counts. Entries are added when records are replayed, never undone; one
is dropped when neither the committed view nor the tip bears it out and no transaction is open, for then no way leads back to it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Any, Final

from metashell.ids import NO_LEADER
from metashell.image import MetadataImage, PartitionRegistration
from metashell.image.spans import Span, read_partition, walk_span

_PARTITION_BITS: Final = 32
_PARTITION_MASK: Final = (1 << _PARTITION_BITS) - 1
_GONE_MIN: Final = 64
_REPLICAS_AT: Final = 23
"""Where the replicas stand in a partition's record: after frame, type, version, partition and topic id."""
_COUNT_MAX: Final = 64
_NO_MOVES: Final = b"\x01\x01"
"""Nothing being removed, nothing being added."""
_ORDINARY_MAX: Final = 14
"""Leader, two epochs, the length of the directories and the end of the tags; what is longer has an ELR."""
_REPLICAS: Final = [Struct(f">{count}i").unpack_from for count in range(_COUNT_MAX)]
PartitionKey = tuple[bytes, int]
"""(topic id, partition)."""


class Hints:
    """Partitions by broker, and those that may be leaderless, led by another than the preferred replica, or under reassignment."""

    def __init__(self) -> None:
        self._topic_ids: list[bytes] = []
        self._serials: dict[bytes, int] = {}
        # A partition is (serial of its topic << 32 | partition): 8 bytes for each replica that it has or had.
        self._by_broker: dict[int, array[int]] = {}
        self.leaderless: dict[PartitionKey, None] = {}
        self.unpreferred: dict[PartitionKey, None] = {}
        self.reassigning: dict[PartitionKey, None] = {}
        self._names: dict[str, set[str]] = {}
        self._gone: set[int] = set()

    def add_image(self, image: MetadataImage) -> None:
        """Take a whole image, in one pass that leaves its partitions bytes."""
        for topic in image.topics:
            self.add_topic(topic.name)
            for span in topic.spans:
                self._add_span(topic.id, span)
            index = topic.scan() if topic.overlay else None
            for partition_id in topic.overlay:
                assert index is not None
                self.add_partition(topic.id, partition_id, topic.read(partition_id, index))

    def add_topic(self, name: str) -> None:
        if "." in name or "_" in name:
            self._names.setdefault(collision_key(name), set()).add(name)

    def colliding(self, name: str, exists: Callable[[str], bool]) -> str | None:
        """A topic whose name differs from `name` in nothing but dots and underscores."""
        if "." not in name and "_" not in name:
            return None
        return min((other for other in self._names.get(collision_key(name), ()) if exists(other)), default=None)

    def forget_topic(self, name: str) -> None:
        """Drop the name of a topic that neither view knows."""
        names = self._names.get(collision_key(name))
        if names is not None:
            names.discard(name)

    def add_replicas(self, topic_id: bytes, partition_id: int, replicas: Iterable[int]) -> None:
        handle = self._serial(topic_id) << _PARTITION_BITS | partition_id & _PARTITION_MASK
        by_broker = self._by_broker
        for broker_id in replicas:
            handles = by_broker.get(broker_id)
            if handles is None:
                handles = by_broker[broker_id] = array("Q")
            handles.append(handle)

    def add_partition(self, topic_id: bytes, partition_id: int, partition: PartitionRegistration) -> None:
        """Take a partition as it is, with all that is special about it."""
        self.add_replicas(topic_id, partition_id, partition.replicas)
        self.note(topic_id, partition_id, partition)
        if partition.elr:
            # A replica that a reassignment removed may still be eligible.
            self.add_replicas(topic_id, partition_id, [id for id in partition.elr if id not in partition.replicas])

    def note(self, topic_id: bytes, partition_id: int, partition: PartitionRegistration) -> None:
        key = topic_id, partition_id
        if partition.leader == NO_LEADER:
            self.leaderless[key] = None
        if not partition.replicas or partition.leader != partition.replicas[0]:
            self.unpreferred[key] = None
        if partition.adding_replicas or partition.removing_replicas:
            self.reassigning[key] = None

    def note_change(self, record: Any) -> None:
        """Take a PartitionChangeRecord: what it may have made of its partition."""
        key = record.topic_id, record.partition_id
        if record.leader != -2:
            self.unpreferred[key] = None
            if record.leader == NO_LEADER:
                self.leaderless[key] = None
        if record.replicas is not None:
            self.unpreferred[key] = None
            self.add_replicas(record.topic_id, record.partition_id, record.replicas)
        if record.adding_replicas or record.removing_replicas:
            self.reassigning[key] = None

    def of_broker(self, broker_id: int) -> Iterator[PartitionKey]:
        """The partitions that have, or once had, a replica on a broker, each once."""
        topic_ids = self._topic_ids
        handles = self._by_broker.get(broker_id, ())
        for handle in dict.fromkeys(handles):
            partition_id = handle & _PARTITION_MASK
            yield topic_ids[handle >> _PARTITION_BITS], partition_id

    def forget_partitions(self, topic_id: bytes) -> None:
        """Drop the partitions of a topic that no view knows; the room that they take is reclaimed once most of it is waste."""
        serial = self._serials.pop(topic_id, None)
        if serial is None:
            return
        self._gone.add(serial)
        if len(self._gone) > _GONE_MIN and len(self._gone) * 2 > len(self._topic_ids):
            for broker_id, handles in self._by_broker.items():
                self._by_broker[broker_id] = array("Q", [handle for handle in handles if handle >> _PARTITION_BITS not in self._gone])
            self._gone.clear()
            self._renumber()

    def _renumber(self) -> None:
        """Give the remaining topics new serials, so that those of removed ones are free again."""
        former = self._serials
        self._topic_ids = list(former)
        self._serials = {topic_id: serial for serial, topic_id in enumerate(former)}
        serials = {serial: self._serials[topic_id] for topic_id, serial in former.items()}
        for broker_id, handles in self._by_broker.items():
            renumbered = [serials[handle >> _PARTITION_BITS] << _PARTITION_BITS | handle & _PARTITION_MASK for handle in handles]
            self._by_broker[broker_id] = array("Q", renumbered)

    def _serial(self, topic_id: bytes) -> int:
        serial = self._serials.get(topic_id)
        if serial is None:
            serial = self._serials[topic_id] = len(self._topic_ids)
            self._topic_ids.append(topic_id)
        return serial

    def _add_span(self, topic_id: bytes, span: Span) -> None:
        """Take the partitions of a span, by where their records have what is of interest.

        Written out, for a million partitions pass here when a snapshot is loaded; one that is special in any way is decoded.
        """
        buf = span.buf
        by_broker = self._by_broker
        first = self._serial(topic_id) << _PARTITION_BITS
        partition_ids, starts, ends = walk_span(span)
        for partition_id, start, end in zip(partition_ids, starts, ends, strict=True):
            at = start + _REPLICAS_AT
            count = buf[at] - 1
            after = at + 1 + 4 * count
            in_sync = buf[after] - 1
            moving = after + 1 + 4 * in_sync
            leader = moving + 2
            if not 0 < count < _COUNT_MAX or not 0 <= in_sync < _COUNT_MAX or buf[moving:leader] != _NO_MOVES or end - leader < 4:
                self.add_partition(topic_id, partition_id, read_partition(buf, start, end))
                continue
            replicas = _REPLICAS[count](buf, at + 1)
            if buf[leader : leader + 4] != buf[at + 1 : at + 5] or end - leader > _ORDINARY_MAX + 16 * count:
                self.add_partition(topic_id, partition_id, read_partition(buf, start, end))
                continue
            handle = first | partition_id & _PARTITION_MASK
            for broker_id in replicas:
                if broker_id in by_broker:
                    by_broker[broker_id].append(handle)
                else:
                    by_broker[broker_id] = array("Q", (handle,))


def collision_key(name: str) -> str:
    """Names that give the same metric name have the same key. Source: org.apache.kafka.common.internals.Topic.unifyCollisionChars."""
    return name.replace(".", "_")
