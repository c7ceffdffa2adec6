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

from metashell.codec.batches import RecordBatch
from metashell.codec.control import LEADER_CHANGE, SNAPSHOT_FOOTER, SNAPSHOT_HEADER
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
METADATA_VERSION_MIN = 7
"""3.3-IV3, the oldest that Kafka 4 starts with."""
_NEWER_VERSION = ", read as version "
"""As codec/frame.py says of a version that is newer than ours; Kafka reads it, and ends only where that fails."""


class Replay:
    """Replays what a start kept. `concerns` are what Kafka takes without a word though it cannot be right."""

    def __init__(self, log: StartLog) -> None:
        self._log = log
        self._loader = ImageLoader(snapshot_id=log.snapshot)
        self._has_records = False
        self._order = OrderCheck(log.start_offset if log.snapshot is None else None)
        self._is_past_snapshot = False
        self.concerns: list[str] = []

    def run(self) -> MetadataImage:
        """The image that the server would have. Errors: Ends; OSError."""
        if self._log.snapshot is not None:
            self._read_snapshot(os.path.join(self._log.directory, checkpoint_name(self._log.snapshot)))
        if self._log.snapshot == BOOTSTRAP_SNAPSHOT_ID:
            # It is read like any other, but its records are no state: the first leader writes them into the log.
            self._end_at_fault(self._loader.image())
            self._loader, self._has_records = ImageLoader(snapshot_id=self._log.snapshot), False
        for path, batches in groupby(self._in_order(), key=lambda place: place[0]):
            with open_regular(path) as file:
                for _, placed in batches:
                    batch = self._checked(file, placed)
                    self._watch(batch)
                    self._take(batch, from_snapshot=False)
        image = self._loader.image()
        self._end_at_fault(image)
        version = image.features.metadata_version
        if self._has_records and version is None:
            raise Ends(self._log.directory, "no metadata.version record is left, so replay fails")
        if version is not None and version < METADATA_VERSION_MIN:
            raise Ends(self._log.directory, f"metadata.version {version} is older than Kafka 4 accepts")
        return image

    def _end_at_fault(self, image: MetadataImage) -> None:
        for fault in image.faults:
            if _NEWER_VERSION in fault.reason:
                self.concerns.append(f"{os.path.basename(fault.file)}: offset {fault.offset}: {fault.record_type}: {fault.reason}")
                continue
            what = f"{fault.record_type}: {fault.reason}" if fault.record_type else fault.reason
            raise Ends(fault.file, f"replay fails at offset {fault.offset}: {what}", position=fault.position, offset=fault.offset)

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
        if batch.header.count and not batch.header.is_control:
            self._has_records = True
        try:
            if from_snapshot:
                self._loader.load_snapshot_batch(batch)
            else:
                snapshot = self._log.snapshot
                self._loader.load_batch(batch, 0 if snapshot is None or self._is_past_snapshot else snapshot.offset)
                self._is_past_snapshot = True
        except DecodeError as error:
            raise Ends(batch.file, str(error), position=batch.position, offset=batch.header.base_offset) from None
