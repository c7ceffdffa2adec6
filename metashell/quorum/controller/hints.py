"""Hints: lookups of partitions, and of access control entries, that name too much rather than too little, so that they need no versions.

Everything found here is held against an image before it counts, so one table serves the newest image and the stable one alike. Entries are
added when records are replayed, never undone; one is dropped when neither the committed view nor the tip bears it out and no transaction is
open, for then no way leads back to it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from struct import Struct
from typing import Any, Final

from metashell.common.values import NO_LEADER
from metashell.metadata.checks.partitions import has_eligible, is_leaderless, is_reassigning, is_unpreferred
from metashell.metadata.image import Acl, AclsImage, MetadataImage, PartitionRegistration
from metashell.metadata.image.partitions import Span, read_partition, walk_span
from metashell.quorum.controller.decision import Steps

_PARTITION_BITS: Final = 32
_PARTITION_MASK: Final = (1 << _PARTITION_BITS) - 1
_GONE_MIN: Final = 64
REPLICAS_AT: Final = 23
"""Where the replicas stand in a partition's record: after frame, type, version, partition and topic id."""
COUNT_MAX: Final = 64
NO_MOVES: Final = b"\x01\x01"
"""Nothing being removed, nothing being added."""
_ORDINARY_MAX: Final = 14
"""Leader, two epochs, the length of the directories and the end of the tags; what is longer has an ELR."""
_PIECE: Final = 2048
"""Partitions that are looked at in one piece."""
_DECODED: Final = 4
"""One that is decoded takes as long as so many that stay bytes."""
_RECLAIMED: Final = 20_000
"""Handles that are looked at in one piece."""
REPLICAS: Final = [Struct(f">{count}i").unpack_from for count in range(COUNT_MAX)]
PartitionKey = tuple[bytes, int]
"""(topic id, partition)."""
Piece = tuple[bytes, list[int], list[int], list[int]]
"""A buffer, and of partitions in it their ids, where their values start, and where those end."""


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
        self.eligible: dict[PartitionKey, None] = {}
        self._names: dict[str, set[str]] = {}
        self._gone: set[int] = set()
        self._free: list[int] = []
        self.swept = 0

    def add_image(self, image: MetadataImage) -> Steps[None]:
        """Take a whole image, in one pass that leaves its partitions bytes; what is replayed meanwhile may be noted between the steps."""
        room = _PIECE
        for topic in image.topics:
            self.add_topic(topic.name)
            for span in topic.spans:
                for piece in pieces(span):
                    self._add_piece(topic.id, piece)
                    room -= len(piece[1])
                    if room <= 0:
                        yield
                        room = _PIECE
            index = topic.scan() if topic.overlay else None
            for partition_id in topic.overlay:
                assert index is not None
                self.add_partition(topic.id, partition_id, topic.read(partition_id, index))
                room -= _DECODED
                if room <= 0:
                    yield
                    room = _PIECE

    @property
    def special_count(self) -> int:
        """Return how many partitions are named for anything but their brokers."""
        return len(self.leaderless) + len(self.unpreferred) + len(self.reassigning) + len(self.eligible)

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
        key = collision_key(name)
        names = self._names.get(key)
        if names is not None:
            names.discard(name)
            if not names:
                del self._names[key]

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
        if is_leaderless(partition):
            self.leaderless[key] = None
        if is_unpreferred(partition):
            self.unpreferred[key] = None
        if is_reassigning(partition):
            self.reassigning[key] = None
        if has_eligible(partition):
            self.eligible[key] = None

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
        if record.eligible_leader_replicas or record.last_known_elr:
            self.eligible[key] = None

    def of_broker(self, broker_id: int) -> Iterator[PartitionKey]:
        """The partitions that have, or once had, a replica on a broker, each once."""
        topic_ids = self._topic_ids
        seen: set[int] = set()
        for handle in self._by_broker.get(broker_id, ()):
            if handle not in seen:
                seen.add(handle)
                yield topic_ids[handle >> _PARTITION_BITS], handle & _PARTITION_MASK

    def forget_partitions(self, topic_id: bytes) -> None:
        """Drop the partitions of a topic that no view knows; `reclaim` frees the room that they take."""
        serial = self._serials.pop(topic_id, None)
        if serial is not None:
            self._gone.add(serial)

    @property
    def has_waste(self) -> bool:
        """Whether most of the room is taken by what is gone."""
        return len(self._gone) > _GONE_MIN and len(self._gone) > len(self._serials)

    def reclaim(self) -> Steps[None]:
        """Free the room of what is gone; anything may be noted, looked up and forgotten between the steps."""
        gone = frozenset(self._gone)
        for handles in tuple(self._by_broker.values()):
            yield from _without(handles, gone)
        self._gone -= gone
        self._free += gone

    def _serial(self, topic_id: bytes) -> int:
        serial = self._serials.get(topic_id)
        if serial is None and self._free:
            serial = self._serials[topic_id] = self._free.pop()
            self._topic_ids[serial] = topic_id
        elif serial is None:
            serial = self._serials[topic_id] = len(self._topic_ids)
            self._topic_ids.append(topic_id)
        return serial

    def _add_piece(self, topic_id: bytes, piece: Piece) -> None:
        """Take partitions of a span, by where their records have what is of interest.

        Written out, for a million partitions pass here when a snapshot is loaded; one that is special in any way is decoded.
        """
        buf, partition_ids, starts, ends = piece
        by_broker = self._by_broker
        first = self._serial(topic_id) << _PARTITION_BITS
        for partition_id, start, end in zip(partition_ids, starts, ends, strict=True):
            at = start + REPLICAS_AT
            count = buf[at] - 1
            after = at + 1 + 4 * count
            in_sync = buf[after] - 1
            moving = after + 1 + 4 * in_sync
            leader = moving + 2
            if not 0 < count < COUNT_MAX or not 0 <= in_sync < COUNT_MAX or buf[moving:leader] != NO_MOVES or end - leader < 4:
                self.add_partition(topic_id, partition_id, read_partition(buf, start, end))
                continue
            replicas = REPLICAS[count](buf, at + 1)
            if buf[leader : leader + 4] != buf[at + 1 : at + 5] or end - leader > _ORDINARY_MAX + 16 * count:
                self.add_partition(topic_id, partition_id, read_partition(buf, start, end))
                continue
            handle = first | partition_id & _PARTITION_MASK
            for broker_id in replicas:
                if broker_id in by_broker:
                    by_broker[broker_id].append(handle)
                else:
                    by_broker[broker_id] = array("Q", (handle,))


def pieces(span: Span) -> Iterator[Piece]:
    """Yield the places of a span's records, some thousand at a time."""
    buf, at, end, count = span
    while count > 0:
        piece = min(count, _PIECE)
        partition_ids, starts, ends = walk_span(Span(buf, at, end, piece))
        yield buf, partition_ids, starts, ends
        at = ends[-1] + 1
        count -= piece


def _without(handles: array[int], gone: Collection[int]) -> Steps[None]:
    """Take the handles of some topics out of an array, in place: others may be appended between the steps, and some are there twice."""
    read = kept = 0
    while read < len(handles):
        piece = handles[read : read + _RECLAIMED]
        read += len(piece)
        left = array("Q", [handle for handle in piece if handle >> _PARTITION_BITS not in gone])
        handles[kept : kept + len(left)] = left
        kept += len(left)
        yield
    del handles[kept:]


def collision_key(name: str) -> str:
    """Names that give the same metric name have the same key. Source: org.apache.kafka.common.internals.Topic.unifyCollisionChars."""
    return name.replace(".", "_")


PREFIXED: Final = 4
ALLOW: Final = 3
_ACL_PIECE: Final = 1000
_Place = tuple[int, int, str]
"""(resource type, pattern type, name)."""


class AclHints:
    """The ids of entries by what they are about."""

    def __init__(self) -> None:
        self._ids: dict[_Place, dict[bytes, None]] = {}
        self._allowed: Counter[str] = Counter()
        """How many entries allow something to a principal."""
        # How many prefixes of each length there are, by type: a name is looked up by its beginnings of these lengths alone.
        self._lengths: dict[int, dict[int, int]] = {}

    def add_image(self, acls: AclsImage) -> Steps[None]:
        for number, (id, acl) in enumerate(acls.by_id.items(), 1):
            self.add(id, acl)
            if not number % _ACL_PIECE:
                yield

    def add(self, id: bytes, acl: Acl) -> None:
        place = _place(acl)
        ids = self._ids.get(place)
        if ids is None:
            ids = self._ids[place] = {}
            if acl.pattern_type == PREFIXED:
                lengths = self._lengths.setdefault(acl.resource_type, {})
                lengths[len(acl.resource_name)] = lengths.get(len(acl.resource_name), 0) + 1
        if id not in ids:
            ids[id] = None
            if acl.permission_type == ALLOW:
                self._allowed[acl.principal] += 1

    def forget(self, id: bytes, acl: Acl) -> None:
        """Drop an entry that no view knows."""
        place = _place(acl)
        ids = self._ids.get(place)
        if ids is None or id not in ids:
            return
        del ids[id]
        if acl.permission_type == ALLOW:
            self._allowed[acl.principal] -= 1
            if not self._allowed[acl.principal]:
                del self._allowed[acl.principal]
        if not ids:
            del self._ids[place]
            if acl.pattern_type == PREFIXED:
                lengths = self._lengths[acl.resource_type]
                lengths[len(acl.resource_name)] -= 1
                if not lengths[len(acl.resource_name)]:
                    del lengths[len(acl.resource_name)]

    def allows_something(self, principal: str) -> bool:
        """Whether an entry allows something to a principal by its name; one may also be on its way in or out."""
        return self._allowed[principal] > 0

    def at(self, acls: AclsImage, resource_type: int, pattern_type: int, name: str) -> Iterator[Acl]:
        """The entries of an image that name exactly this."""
        for id in self._ids.get((resource_type, pattern_type, name), ()):
            acl = acls.by_id.get(id)
            if acl is not None and _place(acl) == (resource_type, pattern_type, name):
                yield acl

    def prefixed(self, acls: AclsImage, resource_type: int, name: str) -> Iterator[Acl]:
        """The entries of an image whose prefix a name begins with."""
        for length in self._lengths.get(resource_type, ()):
            if length <= len(name):
                yield from self.at(acls, resource_type, PREFIXED, name[:length])


def _place(acl: Acl) -> _Place:
    return acl.resource_type, acl.pattern_type, acl.resource_name
