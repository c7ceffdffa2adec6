"""Every record that touched a path, with the state before and after it.

The state is that of what the path is about: records about other things are not replayed, nor even decoded. So an image here shows
nothing but the path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from metashell.codec.control import LEADER_CHANGE
from metashell.codec.frame import FrameError, UnknownRecord, read_metadata_record
from metashell.codec.record_walk import walk_records
from metashell.codec.usual_records import GAVE_UP, make_loop
from metashell.errors import DecodeError
from metashell.history.targets import BEGIN, BEGIN_TRANSACTION, END, TRANSACTION_TYPES, Target
from metashell.image.cut_batch import CutBatch, batches_before
from metashell.image.delta import MetadataDelta
from metashell.image.faults import ReplayError
from metashell.image.image import EMPTY_IMAGE, MetadataImage
from metashell.image.loader import ImageLoader, fault_of
from metashell.image.steps import CONTROL_PLACES, Origin, Place, Step, places_of

if TYPE_CHECKING:
    from metashell.codec.record_walk import RecordFields
    from metashell.history.past import Past
    from metashell.image.source import Batch
    from metashell.image.voters import Leader
    from metashell.values import OffsetAndEpoch


class Touch(NamedTuple):
    """A record, what it touched, and the images on both sides; `batch` is the offset of the first record of its batch."""

    origin: Origin
    places: tuple[Place, ...]
    before: MetadataImage
    after: MetadataImage
    batch: int = -1

    @property
    def step(self) -> Step:
        return Step(self.before, self.after, None)


class Story:
    """The touches of a target in the order of the log, of records from offset `since` on and before `until`.

    Shape: `start` is the offset before which nothing but the state is known, 0 where the log is whole; `known` is that state.
    `last` is the state at the end of the story: all of it, or as much as the target's records tell. `has_touches` says whether there was
    any, also one before `since` as far as that was read. `faults` says in lines what of the log could not be read, complete after the
    iteration, and `gaps` where records are missing: the offset that should have come, and the one that did.
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
        # What is asked for as a whole is replayed as a whole; then a later start saves most of the work. A snapshot that nobody wants
        # to see record by record is loaded.
        is_late = self._since > 0 and (self._since == starts[0] or (self._target.needles is None and self._since > starts[0]))
        self.start = first = starts[0]
        replayer = self._replayer
        if is_late:
            image = self._past.image(self._since)
            if self._target.has_leaders and image.leader is None:
                image = image._replace(leader=self._leader_before(starts[0]))
            replayer.image = image
            # In the middle of a metadata transaction: from its beginning on.
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
        """Whom the last election before `since` named; no checkpoint knows it."""
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


class _Replayer:
    """Replays the records of a target one by one. Those of a metadata transaction are given at its end."""

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

    def _records(self, buf: bytes, start: int, end: int, count: int) -> Sequence[tuple[int, int, int, int]]:
        """Offset delta, start and end of the value, and timestamp delta of each record of a wanted type."""
        found: list[tuple[int, int, int, int]] = []
        if self._walk(buf[:end], start, 0, count, self._target.types, found.append) != GAVE_UP:
            return found
        wanted: list[RecordFields] = list(walk_records(buf, start, end, count))
        return [(fields[0], fields[4], fields[4] + fields[5], fields[1]) for fields in wanted if fields[5] > 1]

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
        from metashell.codec.control import read_control_record

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


__all__ = ["Story", "Target", "Touch"]
