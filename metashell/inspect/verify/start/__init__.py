"""Forecasts whether Apache Kafka would start on a disk, in each release, what it would cut or delete, and what would be lost.

Promises:
- Nothing is written. Kafka's own steps are followed without touching a file, in Kafka's order, up to the step at which it would exit.
- The rules are Kafka's, not ours. Kafka truncates a log at the first bad batch and deletes all later segments. It accepts gaps and torn
  checkpoints silently. It never checks offsets and epochs, which no checksum covers. `disk.log` recovers by other rules.
- Where we do not know what Kafka does, the answer is "not known", which counts as not safe.
- The judge is Kafka: tests/interop/test_start_safe.py starts real servers on copies of damaged directories and compares.

Only the metadata log is judged, and the files that a controller reads before it. Logs of topics and the server's other log directories
are listed as not judged.

Segments are read as a start of Kafka reads them. A file ends where fewer than 18 bytes are left, or fewer than the length of the batch:
that is no error. A length below 14 is an error, and so is a batch that is shorter than its header or has a wrong checksum. Magic numbers
above 2 pass until a record is read. Every batch is checked, and its last offset must be within 2^31 of the segment's base offset. Its own
base offset and epoch are not compared with the batch before it. The indexes are rebuilt with an entry every 4096 bytes; over an entry that
goes back Kafka drops the whole segment. The leader epoch cache is filled from its file, then from the recovered batches.

Source: FileLogInputStream, DefaultRecordBatch.ensureValid, LegacyRecord; LogSegment.recover, LogLoader.recoverLog, OffsetIndex.append,
TimeIndex.maybeAppend; LeaderEpochFileCache."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from metashell.codec.batches import HEADER_SIZE, MAGIC_END, BatchHeader, RecordBatch, crc_fault, unpack_header
from metashell.codec.framing import FRAME_SIZE_MAX, MAGIC_MAX, LegacyBatch, Stop, frame_fault, message_crc, read_message_header
from metashell.common.forms import counted
from metashell.disk.files import RegularFile, WindowReader, open_regular

Action = Literal["cut", "delete", "split"]
"""`cut`: the file ends at `position` afterwards; `delete`: it is deleted, or renamed to be deleted; `split`: the bytes from `position` on
become a segment of their own, named by its offset."""


class ServerExit(Exception):
    """Kafka would exit here, for this reason. With `is_known` false we do not know what it would do."""

    def __init__(self, file: str, reason: str, *, position: int = -1, offset: int = -1, is_known: bool = True) -> None:
        super().__init__(reason)
        self.file = file
        self.reason = reason
        self.position = position
        self.offset = offset
        self.is_known = is_known


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file that a start changes.

    `offset` is the first one removed, -1 for none. `bytes` counts everything removed, `batches` and `records` only what is sound in it.
    With `loses`, part of it is nowhere else in the directory.
    """

    file: str
    action: Action
    position: int
    bytes: int
    offset: int = -1
    batches: int = 0
    records: int = 0
    loses: bool = False
    reason: str = ""

    def __str__(self) -> str:
        done = {
            "cut": f"cut this file to {self.position} bytes",
            "delete": "delete this file",
            "split": f"split this file at byte {self.position}",
        }[self.action]
        held = (
            f" ({counted(self.batches, 'whole batch', 'whole batches')}, {counted(self.records, 'record')})"
            if self.file.endswith(".log")
            else ""
        )
        gone = f" and {'lose' if self.loses else 'remove'} {counted(self.bytes, 'byte')}{held}" if self.bytes else ""
        return f"Kafka would {done}{gone}, because {self.reason}"


@dataclass(slots=True)
class StartVerdict:
    """The answer for one log directory. `starts` is None if that is not known.

    `end_offset` and `epoch` are the log's end and last epoch after the start, before anything is written; None if the start does not get
    so far. `lost` is what the start would lose, and what is lost already; `unnoticed` are faults that Kafka accepts silently. `release` is
    the one that starts, and `releases` are all that would start and read everything, whatever they would cut. `troubles` are the ids of
    checks that would keep the started node from working. `not_judged` are logs of partitions that are not read.
    """

    path: str
    release: str
    starts: bool | None = True
    reason: str = ""
    changes: list[Change] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    unnoticed: list[str] = field(default_factory=list)
    start_offset: int | None = None
    end_offset: int | None = None
    epoch: int | None = None
    troubles: list[str] = field(default_factory=list)
    not_judged: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    counts: tuple[int, int, int] = (0, 0, 0)
    """Files, batches and records that were read."""

    @property
    def is_safe(self) -> bool:
        return self.starts is True and not self.lost and not self.unnoticed and not self.troubles

    def __str__(self) -> str:
        if self.starts is None:
            return f"it is not known whether Kafka {self.release} would start: {self.reason}"
        others = [name for name in self.releases if name != self.release]
        if not self.starts:
            return f"Kafka {self.release} would not start: {self.reason}{f'; {_listed(others)} would' if others else ''}"
        log = f"log from offset {self.start_offset} to {self.end_offset}, epoch {self.epoch}"
        losses = [f"lose {'; '.join(self.lost)}"] if self.lost else []
        losses += [f"not notice {counted(len(self.unnoticed), 'fault')}"] if self.unnoticed else []
        outcome = f"and {', and '.join(losses or ['lose nothing'])}"
        outcome += f", but not work: {', '.join(self.troubles)}" if self.troubles else ""
        left_out = f"; the logs of {counted(len(self.not_judged), 'partition')} were not read" if self.not_judged else ""
        also = f"; {_listed(others)} would start too" if others else "; no other release would do so"
        return f"Kafka {self.release} would start ({log}) {outcome}{also}{left_out}"


def _listed(names: list[str]) -> str:
    """`4.1, 4.2 and 4.3`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def verdict_value(verdict: StartVerdict) -> dict[str, Any]:
    """A verdict as JSON; null for what is not known."""
    return {
        "kind": "start",
        "path": verdict.path,
        "release": verdict.release,
        "starts": verdict.starts,
        "releases": list(verdict.releases),
        "safe": verdict.is_safe,
        "reason": verdict.reason or None,
        "start_offset": verdict.start_offset,
        "end_offset": verdict.end_offset,
        "epoch": verdict.epoch,
        "changes": [_change_value(change) for change in verdict.changes],
        "lost": verdict.lost,
        "unnoticed": verdict.unnoticed,
        "troubles": verdict.troubles,
        "not_judged": list(verdict.not_judged),
    }


def _change_value(change: Change) -> dict[str, Any]:
    return {
        "file": change.file,
        "action": change.action,
        "position": change.position,
        "offset": change.offset if change.offset >= 0 else None,
        "bytes": change.bytes,
        "batches": change.batches,
        "records": change.records,
        "loses": change.loses,
        "reason": change.reason,
    }


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
