"""Every record that touched a path, with the state before and after it.

Only records about the path's own subject are replayed; others are not even decoded. So an image here shows that path and nothing else.

A `Target` says which records can touch a path. Its needles are byte strings: every record about the path contains one of them. Batches
without any needle are skipped. If no needle is known, the type of each record decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from metashell.codec.batch_writer import LEADER_CHANGE, read_control_record
from metashell.codec.batches import walk_records
from metashell.codec.codes import TOPIC_RESOURCE
from metashell.codec.metadata_records import GAVE_UP, FrameError, UnknownRecord, make_loop, read_metadata_record
from metashell.codec.primitives import encode_uvarint
from metashell.common.errors import DecodeError
from metashell.common.values import uuid_from_text
from metashell.metadata.image.differences import CONTROL_PLACES, Origin, Place, Step, places_of
from metashell.metadata.image.image import EMPTY_IMAGE, MetadataDelta, MetadataImage
from metashell.metadata.image.loader import ImageLoader, fault_of
from metashell.metadata.image.provenance import CutBatch, ReplayError, batches_before
from metashell.metadata.nodes.names import is_uuid_text, name_unescape, parse_int
from metashell.metadata.nodes.settings import own_resources

if TYPE_CHECKING:
    from metashell.common.values import OffsetAndEpoch
    from metashell.metadata.history.past import Past
    from metashell.metadata.image.provenance import Batch, Leader
    from metashell.metadata.nodes.settings import Resource


class Touch(NamedTuple):
    """A record, the places that it touched, and the images before and after it; `batch` is the base offset of its batch."""

    origin: Origin
    places: tuple[Place, ...]
    before: MetadataImage
    after: MetadataImage
    batch: int = -1

    @property
    def step(self) -> Step:
        return Step(self.before, self.after, None)


class Timeline:
    """The touches of a target by the records from offset `since` to before `until`, in the order of the log.

    Shape: `start` is the offset where the known log begins, 0 for a whole log; `known` is the state there. `last` is the state at the end,
    whole or made of the target's records only. `has_touches` says whether there was any touch, including those before `since` that were
    read. `faults` are lines about unreadable parts of the log, complete after the iteration; `gaps` are missing records: the offset that
    should have come, and the one that came.
    """

    def __init__(self, past: Past, target: Target, *, since: int = 0, until: int | None = None) -> None:
        self._past = past
        self._target = target
        self._since = since
        self._until = until
        self._replayer = _Replayer(target, past.max_decompressed)
        self.start = 0
        self.known = EMPTY_IMAGE
        self.faults: list[str] = []
        self.gaps: list[tuple[int, int]] = []
        self.has_touches = False

    @property
    def last(self) -> MetadataImage:
        return self._replayer.image

    def __iter__(self) -> Iterator[Touch]:
        starts = self._past.starts()
        # A target without needles replays every record, so a later start saves most of the work. If the oldest state is asked for, its
        # snapshot is loaded and not shown record by record.
        is_late = self._since > 0 and (self._since == starts[0] or (self._target.needles is None and self._since > starts[0]))
        self.start = first = starts[0]
        replayer = self._replayer
        if is_late:
            image = self._past.image(self._since)
            if self._target.has_leaders and image.leader is None:
                image = image._replace(leader=self._leader_before(starts[0]))
            replayer.image = image
            # `since` may be in the middle of a metadata transaction: read from its beginning.
            first = image.provenance.offset + 1
            source = self._past.open_log(first)
        else:
            source = self._past.open_oldest()
            # A damaged checkpoint gives way to an older one.
            self.start = first = 0 if source.snapshot_id is None else source.snapshot_id.offset
        try:
            if not is_late:
                replayer.snapshot_id = source.snapshot_id
                for batch in source.snapshot_batches():
                    for touch in replayer.touches(batch, 0):
                        self.known = touch.after
                replayer.snapshot_id = None
            batches = source.log_batches(first)
            is_first = source.snapshot_id is None and not is_late
            expected = -1
            for batch in batches if self._until is None else batches_before(batches, self._until):
                if 0 <= expected < batch.header.base_offset:
                    self.gaps.append((expected, batch.header.base_offset))
                expected = batch.header.last_offset + 1
                if is_first:
                    self.start, is_first = batch.header.base_offset, False
                for touch in replayer.touches(batch, first):
                    self.has_touches = True
                    if touch.origin.offset >= self._since:
                        yield touch
            self.faults = [str(fault_of(trouble)) for trouble in source.faults if not trouble.is_tail] + replayer.faults
        finally:
            source.close()

    def _leader_before(self, start: int) -> Leader | None:
        """The leader of the last election before `since`, which no checkpoint holds."""
        loader = ImageLoader()
        source = self._past.open_log(start)
        try:
            for batch in source.log_batches(start):
                if batch.header.base_offset >= self._since:
                    break
                if batch.header.is_control:
                    loader.load_batch(batch)
            return loader.image().leader
        finally:
            source.close()


_STEP: Final = 10_000
"""Records that are looked through at once: a batch may have millions."""


class _Replayer:
    """Replays the records of a target one by one. The touches of a metadata transaction come at its end."""

    def __init__(self, target: Target, max_decompressed: int) -> None:
        self.image = EMPTY_IMAGE
        self._target = target
        self._max_decompressed = max_decompressed
        self._held: list[Touch] | None = None
        self._before = EMPTY_IMAGE
        self._batch = -1
        self.snapshot_id: OffsetAndEpoch | None = None
        """The snapshot whose batches come, None for those of the log."""
        self.faults: list[str] = []
        body = "if buf[start + 1] in types: add((index, start, end, 0))"
        self._walk = make_loop(body, parameters="types add", each={"index": "range(count)"})

    def touches(self, batch: Batch, from_offset: int) -> Iterator[Touch]:
        header = batch.header
        if header.is_control:
            if self._target.has_controls:
                yield from self._control(batch)
            return
        try:
            buf, start, end = batch.records_area(self._max_decompressed)
            self._target.learn(buf)
            if self._held is None and BEGIN_TRANSACTION not in buf and not self._target.may_be_in(buf):
                return
            for index, value, stop, later_ms in self._records(buf, start, end, header.count):
                if header.base_offset + index >= from_offset:
                    origin = Origin(header.base_offset + index, header.leader_epoch, header.base_timestamp + later_ms, "")
                    self._batch = header.base_offset
                    yield from self._record(buf, value, stop, origin)
        except DecodeError as error:
            self.faults.append(f"{batch.file}: offset {header.base_offset}: {error}")

    def _records(self, buf: bytes, start: int, end: int, count: int) -> Iterator[tuple[int, int, int, int]]:
        """Offset delta, start and end of the value, and timestamp delta of each record of a wanted type. Errors: DecodeError."""
        whole, index = buf if end == len(buf) else buf[:end], 0
        while index < count:
            found: list[tuple[int, int, int, int]] = []
            step = min(count - index, _STEP)
            after = self._walk(whole, start, index, step, self._target.types, found.append)
            if after == GAVE_UP:
                break
            for place, value, stop, later_ms in found:
                yield index + place, value, stop, later_ms
            start, index = after, index + step
        for fields in walk_records(buf, start, end, count - index) if index < count else ():
            if fields[5] > 1:
                yield fields[0], fields[4], fields[4] + fields[5], fields[1]

    def _record(self, buf: bytes, start: int, end: int, origin: Origin) -> Iterator[Touch]:
        kind = buf[start + 1]
        if kind in TRANSACTION_TYPES:
            yield from self._transaction(kind)
            return
        if not self._target.may_be_in(buf, start, end + 1):
            return
        try:
            read = read_metadata_record(buf, start, end)
        except FrameError as error:
            self.faults.append(f"offset {origin.offset}: {error}")
            return
        if read.fault is not None:
            self.faults.append(f"offset {origin.offset}: {read.type_name}: {read.fault}")
        if isinstance(read.body, UnknownRecord) or read.family != "metadata":
            return
        touch = self._replay(read.body, origin._replace(record=read.type_name))
        if touch is None:
            return
        if self._held is None:
            yield touch
        else:
            self._held.append(touch)

    def _replay(self, record: Any, origin: Origin) -> Touch | None:
        before = self.image
        delta = MetadataDelta(before)
        try:
            delta.replay(record)
        except ReplayError as error:
            if not error.applied:
                return None
        self.image = after = delta.apply()
        places = tuple(places_of(record, Step(before, after, None)))
        return Touch(origin, places, before, after, self._batch) if places else None

    def _transaction(self, kind: int) -> Iterator[Touch]:
        if kind == BEGIN:
            if self._held is None:
                self._held, self._before = [], self.image
            return
        held, self._held = self._held, None
        if held is None:
            return
        if kind == END:
            yield from held
        else:
            self.image = self._before

    def _control(self, batch: Batch) -> Iterator[Touch]:
        loader = ImageLoader(self.image, snapshot_id=self.snapshot_id)
        load = loader.load_batch if self.snapshot_id is None else loader.load_snapshot_batch
        for record in batch.records():
            try:
                control = read_control_record(record.key, record.value)
            except DecodeError:
                continue
            if control.type in CONTROL_PLACES or (control.type == LEADER_CHANGE and self._target.has_leaders):
                before = self.image
                load(CutBatch(batch, record.offset + 1))
                image = loader.image()
                features = before.features._replace(kraft_version=image.features.kraft_version)
                self.image = before._replace(voters=image.voters, leader=image.leader, features=features)
                origin = Origin(record.offset, batch.header.leader_epoch, record.timestamp, control.type_name)
                yield Touch(origin, (CONTROL_PLACES.get(control.type, ("leader",)),), before, self.image, batch.header.base_offset)


# ---- targets


_TOPIC: Final = b"\x01\x02\x00"
_CONFIG: Final = b"\x01\x04\x00"
_REMOVE_TOPIC: Final = b"\x01\x09\x00"
_CLEAR_ELR: Final = b"\x01\x1c\x00"
BEGIN_TRANSACTION: Final = b"\x01\x17\x00"
_ID_SIZE: Final = 16

_FRAME_SIZE: Final = 3
_KEY_SIZE: Final = 4 + _ID_SIZE
_TOPIC_TYPE: Final = 2
_PARTITION: Final = 3
_PARTITION_CHANGE: Final = 5
_REMOVE_TOPIC_TYPE: Final = 9
_TOPIC_TYPES = frozenset({2, 3, 5, 9, 28})
BEGIN: Final = 23
END: Final = 24
ABORT: Final = 25
TRANSACTION_TYPES: Final = frozenset({BEGIN, END, ABORT})
_TYPES_OF_PARTS = {
    "topics": _TOPIC_TYPES,
    "configs": frozenset({2, 4, 9}),
    "cluster": frozenset({0, 1, 7, 8, 17, 27, 29}),
    "acls": frozenset({18, 19}),
    "clientQuotas": frozenset({14}),
    "scram": frozenset({11, 22}),
    "delegationToken": frozenset({10, 26}),
    "features": frozenset({12, 21}),
    "producerIds": frozenset({15}),
    "voters": frozenset[int](),
}
"""The record types that touch each part of /image; configs need those of topics too, since removing a topic removes its configs."""
ALL_TYPES: Final = frozenset().union(*_TYPES_OF_PARTS.values())
_BROKER_RECORDS = (*(bytes((1, 0, version)) for version in range(8)), b"\x01\x01\x00", b"\x01\x07\x00", b"\x01\x08\x00")
_BROKER_CHANGES = tuple(bytes((1, 17, version)) for version in range(8))
_CONTROLLER_RECORDS = tuple(bytes((1, kind, version)) for kind in (27, 29) for version in range(8))


class Target:
    """The records that can touch one path; with `has_controls` control records too, with `has_leaders` elections among them.

    `learn` finds the ids of all topics that ever have the wanted name.
    """

    def __init__(
        self,
        types: frozenset[int],
        needles: Sequence[bytes] | None = None,
        *,
        topic: bytes = b"",
        number: int | None = None,
        has_controls: bool = False,
        has_leaders: bool = False,
    ) -> None:
        self.has_controls = has_controls
        self.has_leaders = has_leaders
        self.types = types | TRANSACTION_TYPES
        self.needles = None if needles is None else list(needles)
        self._topic = topic
        self._number = number

    def add_id(self, id: bytes) -> None:
        """Look for the records of this topic too."""
        assert self.needles is not None
        found = [id] if self._number is None else [self._number.to_bytes(4, "big", signed=True) + id, _REMOVE_TOPIC + id]
        self.needles += [needle for needle in found if needle not in self.needles]

    def learn(self, buf: bytes) -> None:
        """Find the topics of the wanted name that a batch creates."""
        topic = self._topic
        if not topic:
            return
        at = buf.find(topic)
        while at >= 0:
            after = at + len(topic)
            id = buf[after : after + _ID_SIZE]
            if len(id) == _ID_SIZE:
                self.add_id(id)
            at = buf.find(topic, after)

    def may_be_in(self, buf: bytes, start: int = 0, end: int | None = None) -> bool:
        """Return whether bytes may hold a record about the path."""
        needles = self.needles
        if needles is None:
            return True
        last = len(buf) if end is None else end
        return any(buf.find(needle, start, last) >= 0 for needle in needles)


class PartitionsTarget(Target):
    """The records that touch any of these partitions, by topic id and number; there may be a million of them."""

    def __init__(self, partitions: Iterable[tuple[bytes, int]]) -> None:
        super().__init__(frozenset({_TOPIC_TYPE, _PARTITION, _PARTITION_CHANGE, _REMOVE_TOPIC_TYPE}))
        self._keys = {number.to_bytes(4, "big", signed=True) + id for id, number in partitions}
        self._ids = {key[4:] for key in self._keys}

    def may_be_in(self, buf: bytes, start: int = 0, end: int | None = None) -> bool:
        """Return whether a record is about one of them; always True for a whole batch, whose records have to be walked."""
        if end is None:
            return True
        kind = buf[start + 1]
        if kind == _TOPIC_TYPE:
            # The record ends with the id and a count of tagged fields, which is 0; `end` is one further.
            return buf[end - 2 - _ID_SIZE : end - 2] in self._ids
        begin = start + _FRAME_SIZE
        return buf[begin : begin + _ID_SIZE] in self._ids if kind == _REMOVE_TOPIC_TYPE else buf[begin : begin + _KEY_SIZE] in self._keys


def target_of(components: Sequence[str]) -> Target:
    """The target of a path below /image, of components without wildcards."""
    match [*components]:
        case ["image", "topics", "byName", name, *rest]:
            return _topic_named(name_unescape(name), _number(rest))
        case ["image", "topics", "byId", id, *rest] if is_uuid_text(id):
            target = Target(_TOPIC_TYPES, [_CLEAR_ELR], number=_number(rest))
            target.add_id(uuid_from_text(id))
            if _number(rest) is not None:
                # The record of the topic itself ends with its id.
                target.needles = [*(target.needles or ()), uuid_from_text(id) + b"\0"]
            return target
        case ["image", "cluster", "brokers" | "controllers" as kind, id, *_] if (number := parse_int(id)) is not None:
            key = number.to_bytes(4, "big", signed=True)
            frames = (*_BROKER_RECORDS, *_BROKER_CHANGES) if kind == "brokers" else _CONTROLLER_RECORDS
            return Target(_TYPES_OF_PARTS["cluster"], [frame + key for frame in frames])
        case ["image", "configs", name, *_] if own_resources(name):
            return _configs(own_resources(name))
        case ["image", part, *_] if part in _TYPES_OF_PARTS:
            return Target(_TYPES_OF_PARTS[part], has_controls=part in ("features", "voters"))
    return Target(ALL_TYPES, has_controls=True, has_leaders=True)


def _topic_named(name: str, number: int | None) -> Target:
    encoded = name.encode()
    return Target(_TOPIC_TYPES, [_topic_start(encoded), _CLEAR_ELR], topic=_topic_start(encoded), number=number)


def _topic_start(name: bytes) -> bytes:
    return _TOPIC + encode_uvarint(len(name) + 1) + name


def _number(rest: Sequence[str]) -> int | None:
    return parse_int(rest[0]) if rest else None


def _configs(resources: Sequence[Resource]) -> Target:
    needles: list[bytes] = []
    topic = b""
    for type, name in resources:
        encoded = name.encode()
        needles.append(_CONFIG + bytes((type & 0xFF,)) + encode_uvarint(len(encoded) + 1) + encoded)
        if type == TOPIC_RESOURCE:
            topic = _topic_start(encoded)
            needles.append(topic)
    return Target(_TYPES_OF_PARTS["configs"], needles, topic=topic)
