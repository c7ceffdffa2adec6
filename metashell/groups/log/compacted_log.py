"""The log of one partition of a compacted topic, as a broker keeps it. It has no other copy.

So all that it was told to keep is checked when it is opened. Every batch is read. The log ends before the first one that a crash may have
cut off or left out, if nothing before the recovery point is missing; only unsynced batches go then. Anything else that does not fit refuses
to open, with the file and the place: a broker would cut there, and drop what was acknowledged. Segments join: each begins at the end of the
one before it. Inside a cleaned segment offsets are missing, but none above the recovery point.

A cleaning (`disk.segmented_log`) writes segments anew without what was replaced. The swap is Kafka's: a cleaned segment is written as
`.log.cleaned`, synced, and renamed to `.log.swap`; the segments that it replaces are removed, and it is renamed to `.log`, with the
directory synced between these steps. `open` removes what was not complete, and completes what was renamed.
Source: org.apache.kafka.storage.internals.log.{UnifiedLog,LocalLog,LogLoader,Cleaner}."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from metashell.codec.batches import MAGIC_END, BatchHeader, RecordBatch, unpack_header
from metashell.codec.framing import MAGIC_MAX, checked_batches, whole_frames
from metashell.common.errors import LogCorruptError
from metashell.common.values import uuid_text
from metashell.disk.file_system import Disk, replace_file
from metashell.disk.files import RegularFile
from metashell.disk.log_segment import BatchPlace, LogSegment, SegmentIndex
from metashell.disk.names import LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, RECOVERY_POINT, segment_name
from metashell.disk.recovery import Repair, flaw_at, list_files, segment_files
from metashell.disk.segment import BatchFault, order_fault, read_batches
from metashell.disk.segmented_log import INDEX_INTERVAL, INDEX_SIZE, Cleaning, SegmentedLog, complete_swaps
from metashell.disk.state_files import RecoveryPoint, format_leader_epochs, format_topic_id, read_recovery_point, read_topic_id

SEGMENT_SIZE: Final = 100 << 20
"""offsets.topic.segment.bytes."""
CLEAN_SIZE_MIN: Final = 4 << 20
_NEVER_MS: Final = 1 << 62
_NO_COPY: Final = "restore the directory from a copy, or move it away to begin without what it holds"


class OpenTransaction(NamedTuple):
    """A transaction without an end so far: its producer's epoch, and the time of its newest record. Units: Unix ms."""

    producer_epoch: int
    timestamp_ms: int


class CompactedLog(SegmentedLog):
    """The log of one partition of a compacted topic, in its directory `TOPIC-N`. `repairs` are the changes that recovery made.

    `open_transactions` are those without an end, by producer id. Errors: as SegmentedLog.
    """

    __slots__ = ("_clean_size", "_clean_to", "_cleaning", "open_transactions", "repairs")

    @classmethod
    def open(
        cls,
        directory: str,
        topic_id: bytes,
        takes: Callable[[RecordBatch], None],
        disk: Disk | None = None,
        *,
        segment_size: int = SEGMENT_SIZE,
        index_size: int = INDEX_SIZE,
    ) -> CompactedLog:
        """Open and recover a log, or create it; all of it is durable then. The caller holds a lock. `takes` gets each batch, in order.

        Errors: LogCorruptError for a log of another topic, and for one that lost what was durable; OSError.
        """
        disk = disk or Disk()

        def index_of(base_offset: int) -> SegmentIndex:
            return SegmentIndex(disk, directory, base_offset, INDEX_INTERVAL, index_size)

        opening = _Opening(disk, directory, topic_id, index_of)
        try:
            opening.run(takes)
            point = RecoveryPoint(disk, directory, [(0, 0)], opening.segments[-1].end_offset)
        except BaseException:
            for segment in opening.segments:
                segment.index.abandon()
                disk.close_file(segment.fd)
            raise
        made = cls(disk, directory, opening.segments, index_of, point, segment_size=segment_size, segment_ms=_NEVER_MS)
        made.repairs = opening.repairs
        made.open_transactions = opening.transactions
        return made

    def __init__(self, *args: Any, **words: Any) -> None:
        super().__init__(*args, **words)
        self.repairs: list[Repair] = []
        self.open_transactions: dict[int, OpenTransaction] = {}
        self._clean_size = sum(segment.size for segment in self._segments[:-1])
        self._clean_to = -1
        """The end of the segments that are to be cleaned as soon as they are durable; -1 for none."""
        self._cleaning: Cleaning | None = None

    @property
    def start_offset(self) -> int:
        return self._bases[0]

    @property
    def size(self) -> int:
        """The bytes of all segments."""
        return sum(segment.size for segment in self._segments)

    def read(self, offset: int, max_size: int) -> bytes:
        """Return whole batches from the one with `offset` on, or from the next one: up to `max_size` bytes, but at least one.

        Errors: OSError; LogCorruptError if the disk returns other bytes than were written.
        """
        while self._bases[0] <= offset < self._end:
            segment = self._segment_of(offset)
            data = segment.read(offset, self._end, max_size)
            for _ in checked_batches(data, segment.path):
                pass
            if data:
                return data
            offset = segment.end_offset
        return b""

    def append(self, data: bytes, end_offset: int) -> None:
        """Append batches that go on at the log's end. They are durable after the next flush."""
        self._check()
        self._append(data, end_offset)
        for at, size in whole_frames(data):
            note_transaction(self.open_transactions, RecordBatch(BatchHeader(*unpack_header(data, at)), at, data[at : at + size]))

    def is_unflushed(self) -> bool:
        return self._flushed < self._end

    # Cleaning

    def take_cleaning(self, now_ms: int, delete_retention_ms: int, size_min: int = CLEAN_SIZE_MIN) -> Cleaning | None:
        """Return the work of a cleaning, if one is due, for a thread: its `carry_out` may run beside all else but another cleaning.

        One is due when what was appended since the last one is as large as what that left, and at least `size_min`: half of the log is
        dirty then (Kafka's log.cleaner.min.cleanable.ratio of 0.5). Kafka never cleans the active segment, so it is rolled here. It is
        cleaned once it is durable: else a crash could take the newer record of a key whose older one is gone. Errors: OSError.
        """
        self._check()
        if self._cleaning is not None:
            return None
        if self._clean_to < 0 and self.size - self._clean_size >= max(size_min, self._clean_size):
            try:
                if self._active.size:
                    self._roll()
            except OSError as error:
                self._fail(error)
                raise
            self._clean_to = self._end
        if not 0 <= self._clean_to <= self._flushed:
            return None
        segments = [segment for segment in self._segments[:-1] if segment.end_offset <= self._clean_to]
        self._clean_to = -1
        if not segments:
            return None
        self._cleaning = Cleaning(
            self._disk, self.directory, segments, self._index_of, self._segment_size, now_ms, delete_retention_ms, self._point.sync
        )
        return self._cleaning

    def finish_cleaning(self, cleaning: Cleaning) -> None:
        """Take over the segments of a cleaning that was carried out. After one that failed, the log has ended. Errors: LogStoppedError."""
        assert cleaning is self._cleaning, "this cleaning is not the one under way"
        self._cleaning = None
        if cleaning.failure is not None:
            self._fail(cleaning.failure)
        self._check()
        count = len(cleaning.segments)
        assert self._segments[:count] == cleaning.segments, "segments were changed while they were cleaned"
        for segment in cleaning.segments:
            self._close(segment.fd)
        self._segments[:count] = cleaning.made
        self._bases = [segment.base_offset for segment in self._segments]
        self._clean_size = sum(segment.size for segment in cleaning.made)

    def close(self) -> None:
        """Flush and close the files; a failed log is left as it is. No flush and no cleaning may be under way."""
        assert self._flight is None and self._cleaning is None, "work is under way"
        try:
            if self._failure is None:
                self.flush()
                self._point.sync()
                self._active.index.close_files()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the files as they are."""
        self._flight = None
        self._release()


def note_transaction(transactions: dict[int, OpenTransaction], batch: RecordBatch) -> None:
    """Note in `transactions` that a batch continues or ends one."""
    header = batch.header
    if not header.is_transactional:
        return
    if header.is_control:
        transactions.pop(header.producer_id, None)
    else:
        transactions[header.producer_id] = OpenTransaction(header.producer_epoch, header.max_timestamp)


class _Opening:
    """One recovery of a directory. `segments` are those that are open by now, the last one active in the end."""

    def __init__(self, disk: Disk, directory: str, topic_id: bytes, index_of: Callable[[int], SegmentIndex]) -> None:
        self._disk = disk
        self._directory = directory
        self._topic_id = topic_id
        self._index_of = index_of
        self._point = read_recovery_point(directory)
        self.segments: list[LogSegment] = []
        self.repairs: list[Repair] = []
        self.transactions: dict[int, OpenTransaction] = {}

    def run(self, takes: Callable[[RecordBatch], None]) -> None:
        """Errors: LogCorruptError, OSError."""
        self._begin()
        found = list_files(self._directory)
        for name in found.leftovers:
            self._disk.remove_file(os.path.join(self._directory, name))
        bases = complete_swaps(self._disk, self._directory, found.segments)
        is_torn = False
        for number, base in enumerate(bases):
            if is_torn or not self._joins(base):
                self._drop(bases[number:])
                break
            path = os.path.join(self._directory, segment_name(base))
            segment = LogSegment(self._disk, self._directory, base, self._disk.open_file(path), self._index_of(base))
            self.segments.append(segment)
            is_torn = not self._read(segment, takes)
        known = 0 if self._point is None else self._point.offset
        end = self.segments[-1].end_offset if self.segments else 0
        if end < known:
            raise LogCorruptError(
                self._directory, end, f"the log ends here; {RECOVERY_POINT} says that all before offset {known} was on disk"
            )
        if not self.segments:
            self.segments.append(LogSegment.create(self._disk, self._directory, 0, self._index_of(0)))
        self._finish()

    def _begin(self) -> None:
        """Create what is missing of a new directory, or check that it is the topic's."""
        parent = os.path.dirname(self._directory)
        if not os.path.isdir(self._directory):
            self._disk.make_directory(self._directory)
        self._disk.sync_directory(parent)
        path = os.path.join(self._directory, PARTITION_METADATA)
        try:
            known = read_topic_id(path)
        except FileNotFoundError:
            if list_files(self._directory).segments:
                raise LogCorruptError(path, 0, "is missing, so nothing says whose log this is") from None
            replace_file(self._disk, path, format_topic_id(self._topic_id))
        else:
            if known != self._topic_id:
                reason = (
                    f"topic id {uuid_text(known)} is not {uuid_text(self._topic_id)}: this is the log of a broker; move its directory away"
                )
                raise LogCorruptError(path, 0, reason)
        path = os.path.join(self._directory, LEADER_EPOCH_CHECKPOINT)
        if not os.path.exists(path):
            replace_file(self._disk, path, format_leader_epochs([(0, 0)]))

    def _joins(self, base: int) -> bool:
        """Whether a segment begins at the end of the one before it. Errors: LogCorruptError if not, and a crash does not explain it."""
        if not self.segments or self.segments[-1].end_offset == base:
            return True
        before = self.segments[-1]
        if self._may_be_unsynced(before.end_offset):
            return False
        raise LogCorruptError(
            before.path, before.size, f"the segment ends at offset {before.end_offset}, and the next one begins at {base}"
        )

    def _may_be_unsynced(self, offset: int) -> bool:
        return self._point is not None and offset >= self._point.offset

    def _read(self, segment: LogSegment, takes: Callable[[RecordBatch], None]) -> bool:
        """Read a segment. Returns False if it was cut at a write that a crash cut off. Errors: LogCorruptError for any other flaw."""
        file = RegularFile(segment.fd, segment.path)
        for item in read_batches(file):
            reason = self._flaw(segment, item)
            if reason is not None:
                flaw = flaw_at(file, segment.name, segment.size, item, reason, segment.end_offset)
                is_acknowledged = flaw.whole_end is not None if self._point is None else segment.end_offset < self._point.offset
                # Writes are small here: where one is missing, zeros are shorter than a sector, and the next one is behind them.
                is_torn = flaw.may_be_torn or not any(file.read_at(segment.size, MAGIC_END))
                if is_acknowledged or not is_torn:
                    raise LogCorruptError(segment.path, segment.size, f"{reason}; {_NO_COPY}")
                self._disk.truncate(segment.fd, segment.size)
                self.repairs.append(Repair(segment.name, segment.size, reason))
                return False
            assert isinstance(item, RecordBatch)
            header = item.header
            place = BatchPlace(
                header.base_offset, header.last_offset, header.leader_epoch, header.max_timestamp, item.position, header.size_bytes
            )
            segment.found(place)
            note_transaction(self.transactions, item)
            takes(item)
        return True

    def _flaw(self, segment: LogSegment, item: RecordBatch | BatchFault) -> str | None:
        if isinstance(item, BatchFault):
            if item.kind == "unreadable":
                raise LogCorruptError(item.file, item.position, item.reason)
            return item.reason
        header = item.header
        if header.magic != MAGIC_MAX:
            return f"magic {header.magic} is not of this log"
        if header.last_offset_delta < 0:
            return f"batch at offset {header.base_offset} ends before it begins"
        # No CRC covers the base offset. One that leads past what was durable when the segment was cleaned is not true.
        may_skip = self._point is None or header.last_offset < self._point.offset
        return order_fault(segment.end_offset, None, (header.base_offset, header.leader_epoch), may_skip=may_skip)

    def _drop(self, bases: Sequence[int]) -> None:
        """Remove segments that lie behind the log's end; none of their batches was durable. The last goes first, so that no gap is left."""
        for base in reversed(bases):
            for path in segment_files(self._directory, base):
                if os.path.lexists(path):
                    self._disk.remove_file(path)
            self._disk.sync_directory(self._directory)
            self.repairs.append(Repair(segment_name(base), 0, "lies behind the log's end"))

    def _finish(self) -> None:
        """Sync what was found and changed, and write the indexes."""
        for segment in self.segments:
            segment.index.end_recovery()
            self._disk.sync_file(segment.fd)
        for segment in self.segments[:-1]:
            segment.index.write_closed()
        if not self.segments[-1].index.is_open:
            self.segments[-1].index.open_files()
        self._disk.sync_directory(self._directory)
