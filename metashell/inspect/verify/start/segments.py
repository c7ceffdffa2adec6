"""Follows Kafka's recovery of one segment: where Kafka cuts it, or why it exits.

A file ends where fewer than 18 bytes are left, or fewer than the length of the batch: that is no error. A length below 14 is an error,
and so is a batch that is shorter than its header or has a wrong checksum. Magic numbers above 2 pass until a record is read.

Every batch is checked, and its last offset must be within 2^31 of the segment's base offset. Its own base offset and epoch are not
compared with the batch before it. The indexes are rebuilt with an entry every 4096 bytes; over an entry that goes back Kafka drops the
whole segment. The leader epoch cache is filled from its file, then from the recovered batches.

Source: FileLogInputStream, DefaultRecordBatch.ensureValid, LegacyRecord; LogSegment.recover, LogLoader.recoverLog, OffsetIndex.append,
TimeIndex.maybeAppend; LeaderEpochFileCache."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from metashell.codec.batches import HEADER_SIZE, MAGIC_END, BatchHeader, RecordBatch, crc_fault, unpack_header
from metashell.codec.framing import FRAME_SIZE_MAX, MAGIC_MAX, LegacyBatch, Stop, frame_fault, message_crc, read_message_header
from metashell.disk.files import RegularFile, WindowReader, open_regular
from metashell.inspect.verify.start import ServerExit

INDEX_INTERVAL = 4096
_OFFSET_SPAN = (1 << 31) - 1


@dataclass(slots=True)
class Segment:
    """One segment, of which `valid_size` bytes are kept, and its batches. `split_at` is a batch that becomes a segment of its own."""

    path: str
    base_offset: int
    size: int
    batches: list[Placed] = field(default_factory=list)
    valid_size: int = 0
    reason: str = ""
    split_at: Placed | None = None

    @property
    def next_offset(self) -> int:
        return self.batches[-1].last_offset + 1 if self.batches else self.base_offset


class _IndexGoesBackError(Exception):
    """An index entry is below the one before it; the message names its batch."""


def recover_segment(path: str, base_offset: int, epochs: EpochCache, *, is_early: bool = False) -> Segment:
    """Recover a segment. `is_early`: it has no offset index, so Kafka recovers it when it is loaded.

    Errors: ServerExit; OSError.
    """
    if not os.path.exists(path):
        return Segment(path, base_offset, 0)
    with open_regular(path) as file:
        segment = Segment(path, base_offset, file.size() or 0)
        try:
            _Recovery(segment, file, epochs).recover()
        except _IndexGoesBackError as error:
            if is_early:
                raise ServerExit(path, f"{error} while the index is made anew that it lacks") from None
            segment.batches = []
            segment.valid_size = 0
            segment.reason = f"{error}, so all of the segment is given up"
        return segment


class _Recovery:
    def __init__(self, segment: Segment, file: RegularFile, epochs: EpochCache) -> None:
        self._segment = segment
        self._file = file
        self._epochs = epochs
        self._last_entry = 0
        self._index: int | None = None
        self._time: tuple[int, int] | None = None
        self._latest = (-1, segment.base_offset)

    def recover(self) -> None:
        segment = self._segment
        try:
            for batch in placed_batches(self._file):
                if batch.flaw:
                    segment.reason = batch.flaw
                    break
                if not 0 <= batch.last_offset - segment.base_offset <= _OFFSET_SPAN:
                    self._overflow(batch)
                    break
                self._keep_batch(batch)
        except BadLengthError as error:
            segment.reason = str(error)
        if not segment.reason and segment.split_at is None and segment.valid_size < segment.size:
            segment.reason = "the rest is not a whole batch"
        if segment.split_at is None:
            self._append_time(self._latest)

    def _keep_batch(self, batch: Placed) -> None:
        segment = self._segment
        if batch.max_timestamp > self._latest[0]:
            self._latest = batch.max_timestamp, batch.last_offset
        if batch.position - self._last_entry > INDEX_INTERVAL:
            if self._index is not None and batch.last_offset <= self._index:
                raise _IndexGoesBackError(f"offset {batch.last_offset} at byte {batch.position} goes back in the index")
            self._index = batch.last_offset
            self._append_time(self._latest)
            self._last_entry = batch.position
        segment.batches.append(batch)
        segment.valid_size = batch.end
        if batch.magic >= 2:
            self._epochs.found(batch.epoch, batch.base_offset, segment.path)

    def _append_time(self, entry: tuple[int, int]) -> None:
        """Add a time index entry: the largest timestamp so far, and its offset. The offset may go back although the timestamp does not."""
        if self._time is not None and entry[1] < self._time[1]:
            raise _IndexGoesBackError(f"offset {entry[1]} goes back in the time index")
        if self._time is None or entry[0] > self._time[0]:
            self._time = entry

    def _overflow(self, batch: Placed) -> None:
        """Follow Kafka where a batch is too far from the segment's name: it splits before the last batch, and exits for any other."""
        segment = self._segment
        try:
            *_, last = placed_batches(self._file)
        except BadLengthError as error:
            raise ServerExit(segment.path, f"{error} behind a batch of offset {batch.last_offset}", position=error.position) from None
        if last.last_offset - segment.base_offset <= _OFFSET_SPAN:
            what = f"the batch of offset {batch.base_offset} does not belong into a segment of {segment.base_offset}"
            raise ServerExit(segment.path, what, position=batch.position, offset=batch.base_offset)
        if last.position != batch.position or not segment.batches:
            what = "several batches are too far from the segment's name"
            raise ServerExit(segment.path, what, position=batch.position, offset=batch.base_offset, is_known=False)
        segment.split_at = batch
        segment.reason = f"offset {batch.base_offset} is too far from the segment's name"
        if batch.flaw:
            raise ServerExit(segment.path, "a damaged batch is too far from the segment's name", position=batch.position, is_known=False)


class Placed(NamedTuple):
    """One batch: its place and the fields that recovery reads; `flaw` is its fault, empty for none."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    epoch: int
    magic: int
    max_timestamp: int
    record_count: int
    flaw: str = ""

    @property
    def end(self) -> int:
        return self.position + self.size


class BadLengthError(Exception):
    """The bytes at `position` are a length that no batch has."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.reason)
        self.position = stop.position


def placed_batches(file: RegularFile) -> Iterator[Placed]:
    """The batches of a segment up to where Kafka sees its end. Errors: BadLengthError; ServerExit for an error of the disk."""
    reader = WindowReader(file, None, FRAME_SIZE_MAX)
    position = 0
    while True:
        window = reader.read(position)
        for at, size in window.frames:
            yield _placed(window.buf[at : at + size], position + at)
        position = window.next
        if window.stop is not None:
            break
    if file.trouble is not None:
        raise ServerExit(file.name, file.trouble, position=window.stop.position)
    if window.stop.kind == "bad-size":
        raise BadLengthError(window.stop)


def _placed(data: bytes, position: int) -> Placed:
    magic = int.from_bytes(data[MAGIC_END - 1 : MAGIC_END], "big", signed=True)
    if magic < 2:
        header = read_message_header(data[:HEADER_SIZE])
        flaw = "" if message_crc(data) == header.crc and magic >= 0 else f"a message of magic {magic} whose checksum is wrong"
    else:
        header = BatchHeader(*unpack_header(data[:HEADER_SIZE].ljust(HEADER_SIZE, b"\0")))
        # A magic number above 2 passes here.
        flaw = frame_fault(MAGIC_MAX, len(data)) or crc_fault(header, data) or ""
    return Placed(
        position,
        len(data),
        header.base_offset,
        header.last_offset,
        header.leader_epoch,
        magic,
        header.max_timestamp,
        header.count,
        flaw,
    )


def read_placed(file: RegularFile, placed: Placed) -> RecordBatch:
    """Read the whole batch, to decode its records."""
    data = file.read_at(placed.position, placed.size)
    if placed.magic < MAGIC_MAX:
        return LegacyBatch(placed.position, data, file.name)
    return RecordBatch(BatchHeader(*unpack_header(data)), placed.position, data, file.name)


class EpochCache:
    """Epochs and the offset at which each starts, ascending in both."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int]] = []

    @property
    def latest(self) -> int | None:
        return self.entries[-1][0] if self.entries else None

    def assign(self, epoch: int, start_offset: int, file: str) -> None:
        """Add an entry and remove those that contradict it. Errors: ServerExit for numbers below 0."""
        if epoch < 0 or start_offset < 0:
            raise ServerExit(file, f"an entry of epoch {epoch} at offset {start_offset} is refused")
        if self.entries and self.entries[-1][0] == epoch and start_offset >= self.entries[-1][1]:
            return
        while self.entries and (self.entries[-1][0] >= epoch or self.entries[-1][1] >= start_offset):
            self.entries.pop()
        self.entries.append((epoch, start_offset))

    def found(self, epoch: int, base_offset: int, file: str) -> None:
        """Add the epoch of a recovered batch if it is new."""
        if epoch >= 0 and (self.latest is None or epoch > self.latest):
            self.assign(epoch, base_offset, file)

    def cut(self, end_offset: int) -> None:
        while self.entries and self.entries[-1][1] >= end_offset:
            self.entries.pop()
