"""Walks the batches of a log or checkpoint: their order, each batch by itself, and the indexes of a segment.

A checkpoint has a header and a footer; its batches count from 0 and have one epoch; its records are like those of the log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from metashell.codec.batch_writer import LEADER_CHANGE, SNAPSHOT_HEADER, read_control_record
from metashell.codec.batches import RecordBatch
from metashell.common.errors import DecodeError
from metashell.disk.directory import content_of
from metashell.disk.files import OpenFile
from metashell.disk.names import DATA, METADATA, LogKind, parse_name
from metashell.disk.segment import BatchFault, OrderCheck, SourceFault, Tail, checked_snapshot, read_batches
from metashell.inspect.verify import Report, VerifyOptions
from metashell.inspect.verify.batches import RecordCheck
from metashell.inspect.verify.indexes import NEVER, OffsetIndexCheck, TimeIndexCheck, TransactionIndexCheck


@dataclass(slots=True)
class SegmentIndexes:
    """The checks of a segment's indexes, None for those that it does not have."""

    offset: OffsetIndexCheck | None = None
    time: TimeIndexCheck | None = None
    transaction: TransactionIndexCheck | None = None

    @property
    def next_position(self) -> int:
        return NEVER if self.offset is None else self.offset.next_place

    @property
    def next_offset(self) -> int:
        """The first offset that the time index or the transaction index names next."""
        next_time = NEVER if self.time is None else self.time.next_place
        return next_time if self.transaction is None else min(next_time, self.transaction.next_place)

    def forgive(self, position: int, offset: int) -> None:
        """Accept entries that name a bad batch at `position`, or offsets up to the next good batch."""
        if self.offset is not None:
            self.offset.compare_batch(position, offset, None)
        if self.time is not None:
            self.time.forgives = True
        if self.transaction is not None:
            self.transaction.forgives = True

    def drain(self) -> None:
        """Read each index to its end, where there is no log to compare it with."""
        for index in (self.offset, self.time, self.transaction):
            if index is not None:
                index.drain()

    def end(self, log_size: int, log_end_offset: int) -> None:
        """Report the entries that are left after the end of the log."""
        if self.offset is not None:
            self.offset.end(log_size)
        if self.time is not None:
            self.time.end(log_end_offset)
        if self.transaction is not None:
            self.transaction.end(log_end_offset)


NO_INDEXES = SegmentIndexes()


@dataclass(slots=True)
class LogState:
    """The state of a walk: the offset and epoch that the next batch must have, and what was read so far.

    `epochs` are the leader epochs and the first offset of each, `epoch_start_mins` the earliest offset at which each can have begun.
    `watched` are the last offsets of checkpoints, in descending order; `seen` has the leader epoch and largest timestamp found there. The
    batches of earlier segments end at `earlier_end`; this segment should begin at `segment_start`.
    """

    expected_offset: int | None = None
    first_offset: int | None = None
    epoch: int | None = None
    epochs: list[tuple[int, int]] = field(default_factory=list)
    epoch_start_mins: list[int] = field(default_factory=list)
    segment_start: int = 0
    earlier_end: int = 0
    watched: list[int] = field(default_factory=list)
    seen: dict[int, tuple[int, int]] = field(default_factory=dict)
    is_certain: bool = True

    @property
    def end_offset(self) -> int:
        return -1 if self.expected_offset is None else self.expected_offset


class LogWalk:
    """Walks the segments of one log, in order."""

    def __init__(self, report: Report, records: RecordCheck, state: LogState) -> None:
        self.report = report
        self.records = records
        self.state = state
        self._is_cut_short = False

    def walk(
        self, items: Iterable[RecordBatch | BatchFault], indexes: SegmentIndexes = NO_INDEXES, *, active: OpenFile | None = None
    ) -> None:
        """Check the batches of one segment.

        `active` is their file if it is the log's last: a torn or zero-filled tail of that one is normal after a node stops.
        """
        state = self.state
        check = self.records.check
        counts = self.report.counts
        # This loop runs once a batch, so it compares two numbers and calls the indexes only where an entry points.
        next_position, next_offset = indexes.next_position, indexes.next_offset
        watched = state.watched[-1] if state.watched else NEVER
        max_timestamp = -1
        size = 0
        batch_count = record_count = 0
        self._is_cut_short = False
        for item in items:
            if isinstance(item, BatchFault):
                self._take_fault(item, indexes, active)
                next_position = indexes.next_position
                size = item.position + item.size
                continue
            header = item.header
            first = header.base_offset
            last = first + header.last_offset_delta
            if first != state.expected_offset or header.leader_epoch != state.epoch:
                self._follow(item)
            state.expected_offset = last + 1
            batch_count += 1
            record_count += check(item)
            if item.position >= next_position:
                assert indexes.offset is not None
                next_position = indexes.offset.compare_batch(item.position, first, last)
            if last >= next_offset:
                self._meet_offset(item, indexes, max_timestamp)
                next_offset = indexes.next_offset
            if header.max_timestamp > max_timestamp:
                max_timestamp = header.max_timestamp
            if last >= watched:
                watched = self._note_watched(item)
            size = item.position + len(item.data)
        counts["batches"] += batch_count
        counts["records"] += record_count
        if not self._is_cut_short:
            indexes.end(size, state.end_offset)

    def _meet_offset(self, batch: RecordBatch, indexes: SegmentIndexes, max_timestamp: int) -> None:
        header = batch.header
        if indexes.time is not None and header.last_offset >= indexes.time.next_place:
            indexes.time.compare_batch(header.base_offset, header.last_offset, header.max_timestamp, max_timestamp)
        if indexes.transaction is not None and header.last_offset >= indexes.transaction.next_place:
            indexes.transaction.compare_batch(batch)

    def _note_watched(self, batch: RecordBatch) -> int:
        """Note epoch and timestamp for the watched offsets in a batch; return the next watched offset."""
        state = self.state
        header = batch.header
        while state.watched and state.watched[-1] <= header.last_offset:
            offset = state.watched.pop()
            if offset >= header.base_offset:
                state.seen[offset] = header.leader_epoch, header.max_timestamp
        return state.watched[-1] if state.watched else NEVER

    def _follow(self, batch: RecordBatch) -> None:
        """Check a batch that does not simply follow the one before it in the same epoch."""
        state = self.state
        header = batch.header
        fault = OrderCheck(state.expected_offset, state.epoch, may_skip=not self.records.is_metadata).check(batch)
        if fault is not None:
            self.report.error(fault.file, fault.reason, position=fault.position, offset=fault.offset)
        if header.leader_epoch != state.epoch:
            self._begin_epoch(batch)
        if state.first_offset is None:
            state.first_offset = header.base_offset
        state.epoch = header.leader_epoch

    def _begin_epoch(self, batch: RecordBatch) -> None:
        state = self.state
        header = batch.header
        is_metadata_log = self.records.kind == "metadata"
        if is_metadata_log and state.epoch is not None and batch.first_control_type() != LEADER_CHANGE:
            reason = f"leader epoch {header.leader_epoch} does not begin with a leader change"
            self.report.error(batch.file, reason, position=batch.position, offset=header.base_offset)
        if header.leader_epoch >= 0:
            state.epochs.append((header.leader_epoch, header.base_offset))
            state.epoch_start_mins.append(self._start_min(header.base_offset, is_metadata_log))

    def _start_min(self, first_offset: int, is_metadata_log: bool) -> int:
        """The lowest offset at which an epoch can have begun whose first batch is at `first_offset`."""
        state = self.state
        if len(state.epochs) == 1:
            return 0
        if is_metadata_log or state.expected_offset is None:
            return first_offset
        is_first_of_segment = state.expected_offset == state.segment_start
        return min(state.earlier_end if is_first_of_segment else state.expected_offset, first_offset)

    def _take_fault(self, fault: BatchFault, indexes: SegmentIndexes, active: OpenFile | None) -> None:
        """Report a bad batch. Index entries that point into it cannot be checked."""
        state = self.state
        offset = -1 if fault.offset is None else fault.offset
        self._is_cut_short = isinstance(fault, Tail)
        if active is not None and fault.may_be_tail:
            self.report.note(fault.file, fault.reason, position=fault.position, offset=offset)
            return
        self.report.error(fault.file, fault.reason, position=fault.position, offset=offset)
        state.is_certain = False
        if fault.batch is not None:
            # Offset and epoch of a bad batch are not to be trusted, so the next one is not compared with them.
            state.expected_offset = state.epoch = None
            indexes.forgive(fault.position, offset)


def kind_of_items(items: Iterator[RecordBatch | BatchFault]) -> tuple[LogKind, Iterator[RecordBatch | BatchFault]]:
    """Return the kind of a log by its first batches, and an iterator over all batches. Any but the metadata log counts as data."""
    content, again = content_of(items)
    return METADATA if content.kind == METADATA else DATA, again


class CheckpointFacts(NamedTuple):
    """The offset, epoch and timestamp at which a checkpoint ends; the timestamp is None without a header."""

    file: str
    end_offset: int
    epoch: int
    timestamp_ms: int | None
    is_whole: bool


def check_checkpoint(file: OpenFile, name: str, report: Report, options: VerifyOptions) -> CheckpointFacts:
    """Check an opened checkpoint, or bootstrap checkpoint, whose name is `name`."""
    return check_checkpoint_batches(read_batches(file), file.name, name, report, options)


def check_checkpoint_batches(
    items: Iterator[RecordBatch | BatchFault], label: str, name: str, report: Report, options: VerifyOptions
) -> CheckpointFacts:
    """As `check_checkpoint`, for batches that were read already."""
    records = RecordCheck(report, "checkpoint", deep=options.deep, max_decompressed=options.max_decompressed)
    parsed = parse_name(os.path.basename(name))
    snapshot_id = None if parsed is None else parsed.snapshot_id
    faults: list[SourceFault] = []
    timestamp_ms: int | None = None
    epoch: int | None = None
    told_errors = report.by_severity["error"]
    for batch in checked_snapshot(items, label, faults):
        report.counts["batches"] += 1
        report.counts["records"] += records.check(batch)
        if epoch is None:
            epoch = batch.header.leader_epoch
            timestamp_ms = _header_timestamp(batch)
            if snapshot_id is not None and epoch != snapshot_id.epoch:
                what = f"leader epoch {epoch} is not that of the file's name, {snapshot_id.epoch}"
                report.error(label, what, position=batch.position, offset=batch.header.base_offset)
        elif batch.header.leader_epoch != epoch:
            what = f"leader epoch {batch.header.leader_epoch} is not that of the first batch, {epoch}"
            report.error(label, what, position=batch.position, offset=batch.header.base_offset)
    for fault in faults:
        report.error(fault.file, fault.reason, position=fault.position, offset=fault.offset)
    is_whole = report.by_severity["error"] == told_errors
    if snapshot_id is None:
        return CheckpointFacts(label, 0, 0, timestamp_ms, is_whole)
    return CheckpointFacts(label, snapshot_id.offset, snapshot_id.epoch, timestamp_ms, is_whole)


def _header_timestamp(batch: RecordBatch) -> int | None:
    if not batch.header.is_control:
        return None
    with suppress(DecodeError, StopIteration):
        record = next(batch.records())
        control = read_control_record(record.key, record.value)
        if control.type == SNAPSHOT_HEADER:
            return int(control.body.last_contained_log_timestamp)
    return None
