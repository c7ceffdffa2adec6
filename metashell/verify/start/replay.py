"""What a started server reads: the newest snapshot and the log behind it, first for control records, then to replay all of it.

Nothing is compared with the end of a snapshot, so one that was cut off between batches is taken for whole. In reading, unlike in
recovery, magic numbers count, and a record of an unknown type ends the server. The log is read from an offset on, up to the end of the
segment that holds it; where that leads nowhere, it is read forever.
Source: RecordsIterator, RecordsSnapshotReader, KRaftControlRecordStateMachine.maybeLoadLog, MetadataLoader, QuorumController.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from metashell.codec.batches import RecordBatch
from metashell.codec.control import KRAFT_VERSION as KRAFT_VERSION_RECORD
from metashell.codec.control import LEADER_CHANGE, SNAPSHOT_FOOTER, SNAPSHOT_HEADER, read_control_record
from metashell.codec.frame import RECORD_TYPE_NAMES, FrameError, UnknownRecord, read_metadata_record, refuse_newer_structs
from metashell.codec.metadata_version import KRAFT_VERSION
from metashell.codec.releases import Release, knows_record_type, unsupported_features
from metashell.errors import DecodeError
from metashell.image import MetadataImage
from metashell.image.loader import ImageLoader
from metashell.log.files import RegularFile, open_regular
from metashell.log.names import checkpoint_name
from metashell.log.order import OrderCheck
from metashell.values import BOOTSTRAP_SNAPSHOT_ID
from metashell.verify.start.batches import BadLengthError, Placed, placed_batches, read_placed
from metashell.verify.start.load import StartLog
from metashell.verify.start.segments import Segment
from metashell.verify.start.verdict import Ends

MAGIC = 2
_FEATURE_LEVEL = "FEATURE_LEVEL_RECORD"
_NO_OP = next(type for type, name in RECORD_TYPE_NAMES.items() if name == "NO_OP_RECORD")
_HEAD_SIZE = 3
"""Frame version, type and version of a record, a byte each."""


class Seen(NamedTuple):
    """Where something was replayed first."""

    file: str
    position: int
    offset: int


class Replay:
    """Replays what a start kept, for all releases at once. `concerns` are what Kafka takes without a word though it cannot be right.

    `levels` has every feature level that a record sets, also one that another record changes later: a controller looks at each as it
    comes. `bootstrap` are those of the checkpoint that formatting left, None where it has no records.
    """

    def __init__(self, log: StartLog) -> None:
        self.levels: dict[tuple[str, int], Seen] = {}
        self.types: dict[int, Seen] = {}
        self.bootstrap: dict[str, int] | None = None
        self._usual: set[bytes] = set()
        self._log = log
        self._loader = ImageLoader(snapshot_id=log.snapshot)
        self._order = OrderCheck(log.start_offset if log.snapshot is None else None)
        self._is_past_snapshot = False
        self.concerns: list[str] = []

    def run(self) -> MetadataImage:
        """The image that the server would have. Errors: Ends; OSError."""
        if self._log.snapshot is not None:
            self._read_snapshot(os.path.join(self._log.directory, checkpoint_name(self._log.snapshot)))
        for path, batches in groupby(self._in_order(), key=lambda place: place[0]):
            with open_regular(path) as file:
                for _, placed in batches:
                    batch = self._checked(file, placed)
                    self._watch(batch)
                    self._take(batch, from_snapshot=False)
        image = self._loader.image()
        for fault in image.unread:
            self.concerns.append(f"{os.path.basename(fault.file)}: offset {fault.offset}: {fault.record_type}: {fault.reason}")
        for fault in image.faults:
            what = f"{fault.record_type}: {fault.reason}" if fault.record_type else fault.reason
            raise Ends(fault.file, f"replay fails at offset {fault.offset}: {what}", position=fault.position, offset=fault.offset)
        if not self.is_empty and image.features.metadata_version is None:
            raise Ends(self._log.directory, "no metadata.version record is left, so replay fails")
        return image

    @property
    def is_empty(self) -> bool:
        """Whether nothing but no-ops and the records of the quorum was replayed, so that a first leader has its first records to write."""
        return not self.types.keys() - {_NO_OP}

    def refusal(self, release: Release) -> Ends | None:
        """The end of a server of a release that knows less than the log needs, None where it knows all."""
        found = [(seen, one.text) for (name, level), seen in self.levels.items() for one in unsupported_features({name: level}, release)]
        found += [
            (seen, f"{RECORD_TYPE_NAMES[type]} is a type of record that Kafka {release.name} does not know")
            for type, seen in self.types.items()
            if type in RECORD_TYPE_NAMES and not knows_record_type(release, type)
        ]
        if not found:
            return None
        seen, what = min(found, key=lambda one: one[0].offset)
        return Ends(seen.file, f"replay fails at offset {seen.offset}: {what}", position=seen.position, offset=seen.offset)

    # ---- a snapshot

    def _read_snapshot(self, path: str) -> None:
        if not os.path.isfile(path):
            raise Ends(path, "is not a regular file")
        with open_regular(path) as file:
            first = last = None
            end = 0
            try:
                for placed in placed_batches(file):
                    batch = self._checked(file, placed)
                    last = batch.first_control_type()
                    first = last if placed.position == 0 else first
                    end = placed.end
                    self._take(batch, from_snapshot=True)
            except BadLengthError as error:
                raise Ends(path, str(error), position=error.position) from None
        if end == 0:
            raise Ends(path, "has no whole batch", position=0)
        if first != SNAPSHOT_HEADER:
            raise Ends(path, "does not begin with a snapshot header", position=0)
        if last != SNAPSHOT_FOOTER:
            self.concerns.append(f"{os.path.basename(path)} has no footer; Kafka would load the incomplete checkpoint without noticing")

    # ---- the log

    def _in_order(self) -> Iterator[tuple[str, Placed]]:
        """The batches as they are read, each with its file. Errors: Ends where the server reads forever."""
        log = self._log
        next_offset = log.start_offset if log.snapshot is None else log.snapshot.offset
        while next_offset < log.end_offset:
            place = self._place_of(next_offset)
            if place is None:
                what = f"no batch has offset {next_offset} or more, and the log ends at {log.end_offset}: Kafka would search for it forever"
                raise Ends(log.kept[-1].path, what, offset=next_offset)
            segment, index = place
            for batch in segment.batches[index:]:
                yield segment.path, batch
            reached = segment.next_offset
            if reached <= next_offset:
                what = f"offsets go back to {reached - 1} at the segment's end, so Kafka would read it again forever"
                raise Ends(segment.path, what, offset=next_offset)
            next_offset = reached

    def _place_of(self, offset: int) -> tuple[Segment, int] | None:
        segments = self._log.kept
        at = max((number for number, segment in enumerate(segments) if segment.base_offset <= offset), default=0)
        for segment in segments[at:]:
            for index, batch in enumerate(segment.batches):
                if batch.last_offset >= offset:
                    return segment, index
        return None

    def _watch(self, batch: RecordBatch) -> None:
        """Note what no checksum covers and Kafka never compares: offsets that do not follow, and epochs that begin with no leader."""
        header = batch.header
        name = os.path.basename(batch.file)
        snapshot = self._log.snapshot
        if self._order.expected_offset is None and snapshot is not None and header.base_offset > snapshot.offset:
            self._order.expected_offset = snapshot.offset
        epoch = self._order.epoch
        fault = self._order.check(batch)
        if fault is not None:
            self.concerns.append(f"{name}: byte {batch.position}: {fault.reason}")
        elif epoch is not None and header.leader_epoch != epoch and batch.first_control_type() != LEADER_CHANGE:
            what = f"epoch {header.leader_epoch} begins at offset {header.base_offset} without a leader"
            self.concerns.append(f"{name}: byte {batch.position}: {what}")

    def _checked(self, file: RegularFile, placed: Placed) -> RecordBatch:
        if placed.magic != MAGIC:
            raise Ends(file.name, f"magic {placed.magic} is not known", position=placed.position, offset=placed.base_offset)
        if placed.flaw:
            raise Ends(file.name, placed.flaw, position=placed.position, offset=placed.base_offset)
        return read_placed(file, placed)

    def _take(self, batch: RecordBatch, *, from_snapshot: bool) -> None:
        snapshot = self._log.snapshot
        is_bootstrap = from_snapshot and snapshot == BOOTSTRAP_SNAPSHOT_ID and not batch.header.is_control
        from_offset = 0 if from_snapshot or snapshot is None or self._is_past_snapshot else snapshot.offset
        try:
            if is_bootstrap:
                self._take_bootstrap(batch)
                return
            if from_snapshot:
                self._loader.load_snapshot_batch(batch)
            else:
                self._loader.load_batch(batch, from_offset)
                self._is_past_snapshot = True
            self._note(batch, from_offset)
        except DecodeError as error:
            raise Ends(batch.file, str(error), position=batch.position, offset=batch.header.base_offset) from None

    def _take_bootstrap(self, batch: RecordBatch) -> None:
        """Errors: DecodeError for a record that no release can read."""
        self.bootstrap = self.bootstrap or {}
        for record in batch.records():
            read = read_metadata_record(record.value or b"")
            if isinstance(read.body, UnknownRecord):
                raise DecodeError(f"{read.type_name}: {read.fault}")
            if read.type_name == _FEATURE_LEVEL:
                self.bootstrap[read.body.name] = read.body.feature_level

    def _note(self, batch: RecordBatch, from_offset: int) -> None:
        """Remember the types of the records and the levels that they set; what cannot be read is a fault of the image."""
        if batch.crc_fault() is not None:
            return
        for record in batch.records():
            value = record.value or b""
            seen = Seen(batch.file, batch.position, record.offset)
            if batch.header.is_control:
                control = read_control_record(record.key, value)
                if control.type == KRAFT_VERSION_RECORD:
                    self.levels.setdefault((KRAFT_VERSION, control.body.k_raft_version), seen)
            elif record.offset >= from_offset and value[:_HEAD_SIZE] not in self._usual:
                self._note_record(value, seen)

    def _note_record(self, value: bytes, seen: Seen) -> None:
        """Errors: DecodeError for a version that Kafka refuses although its fields could be read."""
        try:
            read = read_metadata_record(value)
        except FrameError:
            return
        if read.message is None or read.family != "metadata":
            return
        refuse_newer_structs(read.message, read.version, read.body)
        self.types.setdefault(read.type_id, seen)
        if read.type_name == _FEATURE_LEVEL:
            self.levels.setdefault((read.body.name, read.body.feature_level), seen)
        elif not read.newer:
            self._usual.add(value[:_HEAD_SIZE])
