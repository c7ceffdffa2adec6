"""The walk over the batches of a log: their order, each batch by itself, and the indexes beside it. Also the checkpoint.

A checkpoint has a header and a footer, batches that count from 0 in one epoch, and records like those of the log."""

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
    """The checks of a segment's indexes, as far as it has them."""

    offset: OffsetIndexCheck | None = None
    time: TimeIndexCheck | None = None
    transaction: TransactionIndexCheck | None = None

    @property
    def next_position(self) -> int:
        return NEVER if self.offset is None else self.offset.next_place

    @property
    def next_offset(self) -> int:
        """The offset from which on a batch is of interest to the time index or the transaction index."""
        next_time = NEVER if self.time is None else self.time.next_place
        return next_time if self.transaction is None else min(next_time, self.transaction.next_place)

    def forgive(self, position: int, offset: int) -> None:
        """A bad batch begins at `position`: entries may name that, and offsets up to the next good batch."""
        if self.offset is not None:
            self.offset.meet(position, offset, None)
        if self.time is not None:
            self.time.forgives = True
        if self.transaction is not None:
            self.transaction.forgives = True

    def drain(self) -> None:
        """Read on to the end of each index, where there is no log to compare it with."""
        for index in (self.offset, self.time, self.transaction):
            if index is not None:
                index.drain()

    def end(self, log_size: int, log_end_offset: int) -> None:
        """The log is over: what entries are left lead nowhere."""
        if self.offset is not None:
            self.offset.end(log_size)
        if self.time is not None:
            self.time.end(log_end_offset)
        if self.transaction is not None:
            self.transaction.end(log_end_offset)


NO_INDEXES = SegmentIndexes()


@dataclass(slots=True)
class LogState:
    """Where a walk is: what the next batch has to be, and what was seen.

    `epochs` are the leader epochs and the first offset of each, `epoch_start_mins` where each can have begun at the earliest;
    `watched` are offsets whose batches are of interest (a checkpoint ends after one), `seen` what was found there: leader epoch
    and largest timestamp. The batches of earlier segments end at `earlier_end`; those of this one are expected from `segment_start`.
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

        A torn or zero tail of the `active` one (the file that they are read from) is how it ends when a node stops.
        """
        state = self.state
        check = self.records.check
        counts = self.report.counts
        # Entries above are looked at only when the walk has come to where they point.
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
                next_position = indexes.offset.meet(item.position, first, last)
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
            indexes.time.meet(header.base_offset, header.last_offset, header.max_timestamp, max_timestamp)
        if indexes.transaction is not None and header.last_offset >= indexes.transaction.next_place:
            indexes.transaction.meet(batch)

    def _note_watched(self, batch: RecordBatch) -> int:
        """Note what the batch says of the watched offsets in it; gives the next one. `watched` descends."""
        state = self.state
        header = batch.header
        while state.watched and state.watched[-1] <= header.last_offset:
            offset = state.watched.pop()
            if offset >= header.base_offset:
                state.seen[offset] = header.leader_epoch, header.max_timestamp
        return state.watched[-1] if state.watched else NEVER

    def _follow(self, batch: RecordBatch) -> None:
        """Judge a batch that does not simply go on where the one before it ended, in its epoch."""
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
        """The lowest offset at which the epoch that has its first batch there can have begun."""
        state = self.state
        if len(state.epochs) == 1:
            return 0
        if is_metadata_log or state.expected_offset is None:
            return first_offset
        is_first_of_segment = state.expected_offset == state.segment_start
        return min(state.earlier_end if is_first_of_segment else state.expected_offset, first_offset)

    def _take_fault(self, fault: BatchFault, indexes: SegmentIndexes, active: OpenFile | None) -> None:
        """Report a bad place. What the indexes say of it cannot be judged."""
        state = self.state
        offset = -1 if fault.offset is None else fault.offset
        self._is_cut_short = isinstance(fault, Tail)
        if active is not None and fault.may_be_tail:
            self.report.note(fault.file, fault.reason, position=fault.position, offset=offset)
            return
        self.report.error(fault.file, fault.reason, position=fault.position, offset=offset)
        state.is_certain = False
        if fault.batch is not None:
            # After a batch that is itself at fault, anything may follow.
            state.expected_offset = state.epoch = None
            indexes.forgive(fault.position, offset)


def kind_of_items(items: Iterator[RecordBatch | BatchFault]) -> tuple[LogKind, Iterator[RecordBatch | BatchFault]]:
    """Whether a log of an unknown name is that of metadata, by its first batches, and all of its batches; any other is checked as data."""
    content, again = content_of(items)
    return METADATA if content.kind == METADATA else DATA, again


class CheckpointFacts(NamedTuple):
    """What a checkpoint says of the log: where in it it ends, and the timestamp there, None without a header."""

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
    """The same for what is read of one."""
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
