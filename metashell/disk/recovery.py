"""Reads a whole log directory after any end of the process or machine: finds the log that is left, and whether durable records were lost.

Like Kafka, we open the metadata log as after an unclean shutdown each time: every batch is checked, and the log ends before the first one
that is bad, cut off, out of order, or of a lower epoch than the one before. The batches found are not taken for durable either: they may
have been written a moment before the process ended, and still be in the page cache only.

An interrupted deletion or truncation leaves segments that do not join. A later run of segments counts only if a complete snapshot covers
everything before it; then the segments before it are dropped, else those behind the gap. Example: segments 0 and 100 end at 150, and there
is a segment 200. With a snapshot that covers all before 200, the log is segment 200: a deletion of old segments was interrupted. Without
one, the log is 0 to 150: a truncation was interrupted, and had removed some of the later segments only.

A crash leaves of an unsynced write a torn tail: the bytes end early, or whole sectors of them are zero. It is cut off, because nobody was
told that those records are durable. All else is damage:

- the log ends before its recovery point;
- a whole batch lies behind the log's end, and the bytes at the end do not look like a cut-off write;
- without a recovery point, as in a directory that comes from Kafka: any whole batch behind the end, a later segment, or an epoch in
  leader-epoch-checkpoint that begins behind it.

Why this matters: a leader counts this replica's acknowledgement towards the majority. If the replica silently forgets records that it
acknowledged, a majority without them may elect a leader without them, and committed records are lost. So a log with damage loses its vote
until the leader has sent it everything again.

Two cases cannot be told apart from a crash: a damaged last batch at or above the recovery point with nothing behind it looks like a torn
tail; a whole sector zeroed above the recovery point looks like one that was never written.

The note of a loss, the file `damaged`, is one line of JSON. It lies beside the log until the log is whole again, and is on disk before
anything is cut or renamed. Kafka ignores it.
Source: LogLoader, LogSegment.recover, KafkaRaftLog.recoverSnapshots and truncateToLatestSnapshot."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from metashell.codec.batches import RecordBatch
from metashell.common.errors import LogCorruptError
from metashell.common.values import OffsetAndEpoch, Recovering
from metashell.disk.file_system import ASIDE_SUFFIX, FILE_MODE, Disk, replace_file
from metashell.disk.files import OpenFile, RegularFile
from metashell.disk.log_segment import BatchPlace, LogSegment, SegmentIndex
from metashell.disk.names import (
    DAMAGED,
    DAMAGED_SUFFIX,
    index_name,
    parse_name,
    segment_name,
    time_index_name,
)
from metashell.disk.properties import read_json_file
from metashell.disk.segment import BadBatch, BatchFault, Tail, order_fault, read_batches, whole_batch_behind
from metashell.disk.state_files import DurableTo, how_much_is_unknown

IndexOf = Callable[[int], SegmentIndex]
_INDEX: Final = re.compile(r"[0-9]{20}\.(?:time)?index", re.ASCII)
_PRODUCER_SUFFIXES: Final = (".snapshot", ".txnindex")


@dataclass(frozen=True, slots=True)
class Repair:
    """A change that recovery made: the file, the byte at which it was cut (0: it was removed), and the reason.

    `kept_as` is the name under which the original file was kept, empty if it was not kept.
    """

    file: str
    position: int
    reason: str
    kept_as: str = ""

    def __str__(self) -> str:
        return f"{self.file}: byte {self.position}: {self.reason}{f', kept as {self.kept_as}' if self.kept_as else ''}"


@dataclass(slots=True)
class FoundFiles:
    """The names in a log directory: segments by base offset, complete snapshots, and leftovers of interrupted work."""

    segments: list[int] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    snapshots: list[OffsetAndEpoch] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)


def list_files(directory: str) -> FoundFiles:
    """The files of the log; other files are ignored."""
    found = FoundFiles()
    for name in sorted(os.listdir(directory)):
        parsed = parse_name(name)
        if name.endswith((".deleted", ".cleaned", ASIDE_SUFFIX)) or (parsed is not None and parsed.state == "part"):
            found.leftovers.append(name)
        elif _INDEX.fullmatch(name):
            found.indexes.append(name)
        elif parsed is None or not parsed.is_in_use:
            continue
        elif parsed.base_offset is not None:
            found.segments.append(parsed.base_offset)
        elif parsed.snapshot_id is not None:
            found.snapshots.append(parsed.snapshot_id)
    stems = {f"{base:020d}" for base in found.segments}
    found.leftovers += [name for name in found.indexes if name.split(".")[0] not in stems]
    found.segments.sort()
    found.snapshots.sort()
    return found


@dataclass(slots=True)
class Run:
    """Segments that join: each begins where the one before it ends. `epochs` are (epoch, first offset)."""

    segments: list[LogSegment] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)

    @property
    def base_offset(self) -> int:
        return self.segments[0].base_offset

    @property
    def end_offset(self) -> int:
        return self.segments[-1].end_offset

    @property
    def last_epoch(self) -> int:
        return self.epochs[-1][0] if self.epochs else 0

    def epoch_at(self, offset: int) -> int | None:
        """The epoch of the batch that holds `offset`; None outside the run."""
        if not self.base_offset <= offset < self.end_offset:
            return None
        return next(epoch for epoch, start in reversed(self.epochs) if start <= offset)

    def agrees_with(self, id: OffsetAndEpoch) -> bool:
        """Whether the run may continue the snapshot, or contains the records that it covers, in the same epoch."""
        if id.offset == self.base_offset:
            return not self.epochs or self.epochs[0][0] >= id.epoch
        return self.epoch_at(id.offset - 1) == id.epoch


class Scan:
    """Reads and checks all segments of a directory, and changes nothing.

    `point` is the offset up to which the log was durable; no batch before it has a later epoch than the one that ends there.
    """

    def __init__(self, disk: Disk, directory: str, index_of: IndexOf, point: DurableTo | None = None) -> None:
        self._disk = disk
        self._directory = directory
        self._index_of = index_of
        self._point = point
        self._distrusted: set[int] = set()
        self.runs: list[Run] = []
        self.flaws: dict[str, Flaw] = {}
        """The flaw at which a segment has to be cut, by path."""

    def read(self, bases: Sequence[int]) -> None:
        """Read the segments. Errors: OSError; LogCorruptError if the disk returns an error instead of bytes."""
        while not self._read(bases):
            self.close()

    def _read(self, bases: Sequence[int]) -> bool:
        """Read all. Returns False if an earlier batch turned out to have a wrong epoch: then all is read once more."""
        distrusted = len(self._distrusted)
        for base in bases:
            path = os.path.join(self._directory, segment_name(base))
            segment = LogSegment(self._disk, self._directory, base, self._disk.open_file(path), self._index_of(base))
            joins = bool(self.runs) and self.runs[-1].end_offset == base and self.runs[-1].segments[-1].path not in self.flaws
            run = self.runs[-1] if joins else Run()
            run.segments.append(segment)
            if not joins:
                self.runs.append(run)
            flaw = self._read_segment(segment, run)
            if len(self._distrusted) > distrusted:
                return False
            if flaw is not None:
                self.flaws[path] = flaw
        return True

    def close(self) -> None:
        """Close the files."""
        for run in self.runs:
            for segment in run.segments:
                segment.index.abandon()
                if segment.fd >= 0:
                    with suppress(OSError):
                        self._disk.close_file(segment.fd)
        self.runs = []
        self.flaws = {}

    def _read_segment(self, segment: LogSegment, run: Run) -> Flaw | None:
        """Add the good batches to the segment, and return the flaw behind them, if any."""
        last_epoch = run.last_epoch
        file = RegularFile(segment.fd, segment.path)
        items = read_batches(file)
        known_end = -1 if self._point is None else self._point.offset
        for item in items:
            reason = _flaw(item, segment, last_epoch)
            if reason is None:
                assert isinstance(item, RecordBatch)
                # A wrong epoch shows where epochs change, or at the recovery point, whose epoch is known.
                if item.header.leader_epoch != last_epoch or item.header.last_offset + 1 == known_end or not run.epochs:
                    reason = self._wrong_epoch(item)
            if reason is not None:
                if _is_of_lower_epoch(item, segment, last_epoch):
                    self._distrust(run, next(items, None))
                return flaw_at(file, segment.name, segment.size, item, reason, segment.end_offset)
            assert isinstance(item, RecordBatch)
            header = item.header
            if header.leader_epoch > last_epoch or not run.epochs:
                last_epoch = header.leader_epoch
                run.epochs.append((last_epoch, header.base_offset))
            segment.found(
                BatchPlace(header.base_offset, header.last_offset, last_epoch, header.max_timestamp, item.position, header.size_bytes)
            )
        return None

    def _wrong_epoch(self, batch: RecordBatch) -> str | None:
        """The reason why the epoch of a batch cannot be true; None if it can.

        No CRC covers the epoch, so nothing else would show that it was changed. A replica that believed in a later epoch than its log has
        would win elections without the committed records: votes compare the last epoch first.
        """
        header, point = batch.header, self._point
        if header.base_offset in self._distrusted:
            return f"leader epoch {header.leader_epoch} at offset {header.base_offset} is above those behind it"
        if point is not None and header.last_offset < point.offset:
            epoch = header.leader_epoch
            if epoch > point.epoch or (epoch != point.epoch and header.last_offset + 1 == point.offset):
                return f"leader epoch {epoch} at offset {header.base_offset} is not that of the recovery point, {point.epoch}"
        return None

    def _distrust(self, run: Run, following: RecordBatch | BatchFault | None) -> None:
        """Epochs went down. The higher one, before, is the wrong one, unless epochs go up again at once.

        Examples: in 3, 3, 9, 4, 4 the 9 is wrong, because the batches behind it stay below it. In 3, 3, 2, 3 the 2 is wrong.
        """
        goes_on = isinstance(following, RecordBatch) and following.header.leader_epoch >= run.last_epoch
        if run.epochs and not goes_on:
            self._distrusted.add(run.epochs[-1][1])

    @property
    def end_offset(self) -> int:
        """The end of the last good batch, whether the segments join or not."""
        return max((run.end_offset for run in self.runs), default=0)

    def choose(self, snapshots: Sequence[OffsetAndEpoch]) -> Run | None:
        """The run that is the log; None without a segment."""
        for run in reversed(self.runs[1:]):
            if any(id.offset >= run.base_offset and run.agrees_with(id) for id in snapshots):
                return run
        return self.runs[0] if self.runs else None


def _flaw(item: RecordBatch | BatchFault, segment: LogSegment, last_epoch: int) -> str | None:
    """The reason why the item that was read next ends the log; None if the log goes on."""
    if isinstance(item, BatchFault):
        if item.kind == "unreadable":
            raise LogCorruptError(item.file, item.position, item.reason)
        return item.reason
    header = item.header
    if header.magic != 2:
        return f"magic {header.magic} is not of this log"
    if header.last_offset_delta < 0:
        return f"batch at offset {header.base_offset} ends before it begins"
    return order_fault(segment.end_offset, last_epoch, (header.base_offset, header.leader_epoch))


def _is_of_lower_epoch(item: RecordBatch | BatchFault, segment: LogSegment, last_epoch: int) -> bool:
    """Whether a lower epoch is the item's only fault."""
    return isinstance(item, RecordBatch) and item.header.base_offset == segment.end_offset and item.header.leader_epoch < last_epoch


def start_over_at(run: Run | None, snapshots: Sequence[OffsetAndEpoch]) -> OffsetAndEpoch | None:
    """The newest snapshot if the log has to begin anew at it, because the log ends before it or contradicts it; else None.

    Both states are left by a follower that crashes between the end of a download and the truncation. A snapshot is committed, so a log that
    contradicts it is not. Kafka compares (epoch, offset) with the log's end only, so it keeps a log of a higher epoch that ends before the
    snapshot.
    """
    if not snapshots:
        return None
    newest = snapshots[-1]
    if run is None:
        return newest if newest.offset else None
    if newest.offset < run.base_offset or (newest.offset <= run.end_offset and run.agrees_with(newest)):
        return None
    return newest


def start_offset_of(directory: str, run: Run, snapshots: Sequence[OffsetAndEpoch]) -> int:
    """The log's start offset: 0 if its first segment is 0, else the end of the earliest snapshot at or after the first segment.

    Errors: LogCorruptError if a log without its beginning has no such snapshot: nothing can replace the missing records.
    """
    base = run.base_offset
    if base == 0:
        return 0
    starts = [id.offset for id in snapshots if id.offset >= base]
    if not starts:
        raise LogCorruptError(directory, base, f"the log starts at {base}, and there is no snapshot at or after that offset")
    return min(starts)


def segment_files(directory: str, base_offset: int) -> list[str]:
    """The paths of the files that one segment may have, the log first. Kafka also keeps a producer snapshot under that name."""
    stem = f"{base_offset:020d}"
    names = [
        segment_name(base_offset),
        index_name(base_offset),
        time_index_name(base_offset),
        *(stem + suffix for suffix in _PRODUCER_SUFFIXES),
    ]
    return [os.path.join(directory, name) for name in names]


_VERSION: Final = 1

_SECTOR: Final = 512
_LOOK: Final = 1 << 20
_PIECE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Flaw:
    """The place in a segment at which the good batches end before the file does.

    `may_be_torn` if a cut-off write looks like this. `whole_end` is the end offset of the last whole batch behind it, None without one.
    `claimed_end` also counts damaged batches behind it, by the offsets that they claim. `is_read_to_end` if all of the rest was read.
    """

    file: str
    position: int
    reason: str
    may_be_torn: bool
    whole_end: int | None
    claimed_end: int
    is_read_to_end: bool


def flaw_at(file: OpenFile, name: str, position: int, item: RecordBatch | BatchFault, reason: str, expected_offset: int) -> Flaw:
    """The flaw at byte `position`, where `item` cannot follow the batch that ends at `expected_offset`.

    Errors: LogCorruptError if the disk returns an error instead of bytes.
    """
    whole_end, claimed_end, is_read_to_end = _look_behind(file, position, item, expected_offset)
    return Flaw(name, position, reason, _may_be_torn(file, position, item), whole_end, claimed_end, is_read_to_end)


def _look_behind(file: OpenFile, position: int, item: RecordBatch | BatchFault, expected_offset: int) -> tuple[int | None, int, bool]:
    whole_end: int | None = None
    claimed_end: int | None = expected_offset
    if isinstance(item, RecordBatch):
        # The batch is whole but out of order. No CRC covers its base offset, so that may be wrong: believe its size instead.
        whole_end = claimed_end = expected_offset + max(item.header.last_offset_delta + 1, 1)
        position += len(item.data)
    elif item.kind != "zero-tail":
        # The length of the damaged batch may be wrong too: the next whole batch may begin inside the bytes that it claims.
        behind = item.behind if isinstance(item, Tail) else whole_batch_behind(file, position)
        position = behind or position
    while True:
        stop: Tail | None = None
        for found in read_batches(file, start=position):
            if isinstance(found, RecordBatch):
                whole_end = claimed_end = max(whole_end or 0, found.header.last_offset + 1)
            elif isinstance(found, Tail):
                stop = found
            else:
                claimed_end = _claim(found, claimed_end)
        if stop is None:
            return whole_end, claimed_end or expected_offset, claimed_end is not None
        if stop.kind == "unreadable":
            raise LogCorruptError(stop.file, stop.position, stop.reason)
        if stop.behind is None:
            return whole_end, claimed_end or expected_offset, claimed_end is not None and stop.may_be_tail
        position = stop.behind


def _claim(fault: BadBatch, offset: int | None) -> int | None:
    """The end offset of a bad batch; None unless it can be believed: the batch follows `offset`, and its two counts agree."""
    if offset is None or fault.batch.header.base_offset != offset:
        return None
    header = fault.batch.header
    return offset + header.count if header.count == header.last_offset_delta + 1 >= 1 else None


def _may_be_torn(file: OpenFile, position: int, item: RecordBatch | BatchFault) -> bool:
    """Whether a crash during a write can look like this: a sector, or the whole rest, is missing or zero."""
    first = _SECTOR - position % _SECTOR
    if isinstance(item, RecordBatch):
        # A CRC covers neither base offset nor length. If a missing sector ends within them, they read as zero and the CRC still matches.
        return not any(item.data[:first])
    if isinstance(item, Tail) and item.looks_cut_off:
        return True
    data = file.read_at(position, min(item.size, _LOOK))
    starts = [0, *range(first, len(data), _SECTOR)]
    return any(not any(data[start:end]) for start, end in zip(starts, [*starts[1:], len(data)], strict=True))


# The note


def read_damage_note(directory: str) -> Recovering | None:
    """The note of a log; None without one. Errors: LogCorruptError for an unreadable note; OSError."""
    path = os.path.join(directory, DAMAGED)
    try:
        return read_json_file(path, _note_of)
    except LogCorruptError as error:
        raise LogCorruptError(path, 0, f"is not a note of damage: {error.reason}; {how_much_is_unknown(directory)}") from error


def _note_of(fields: dict[str, Any]) -> Recovering:
    version, until, epoch, reason = (fields.get(name) for name in ("version", "untilOffset", "epoch", "reason"))
    if version != _VERSION or "untilOffset" not in fields or not isinstance(until, int | None):
        raise ValueError(f"not of version {_VERSION}")
    if not isinstance(epoch, int) or not isinstance(reason, str):
        raise ValueError("no epoch or no reason")
    return Recovering(until, epoch, reason)


def write_damage_note(disk: Disk, directory: str, note: Recovering) -> None:
    """Replace the note; durable on return."""
    fields = {"version": _VERSION, "untilOffset": note.until_offset, "epoch": note.epoch, "reason": note.reason}
    replace_file(disk, os.path.join(directory, DAMAGED), json.dumps(fields, separators=(",", ":")).encode() + b"\n")


def remove_damage_note(disk: Disk, directory: str) -> None:
    """Remove the note, because the log is whole again; durable on return."""
    disk.remove_file(os.path.join(directory, DAMAGED))
    disk.sync_directory(directory)


def join_damage_notes(older: Recovering | None, newer: Recovering) -> Recovering:
    """Merge the note of an earlier loss with a new one, which may be the same damage after an interrupted recovery.

    Until the log reaches the older note's offset, the replica acknowledges nothing behind it, so that offset bounds the new loss too.
    """
    if older is None:
        return newer
    until = None if older.until_offset is None else max(older.until_offset, newer.until_offset or 0)
    return Recovering(until, max(older.epoch, newer.epoch), older.reason)


# What is kept aside


def aside_path(path: str) -> str:
    """A free name beside a file for a copy of its damaged state. Neither Kafka nor we read it as a part of the log."""
    number = 1
    while os.path.lexists(f"{path}{DAMAGED_SUFFIX}{number}"):
        number += 1
    return f"{path}{DAMAGED_SUFFIX}{number}"


def copy_aside(disk: Disk, path: str, fd: int) -> str:
    """Copy a file to a free name. After a crash the copy is whole or does not exist. The name is not synced."""
    target = aside_path(path)
    part = target + ".tmp"
    copy = disk.create_file(part, FILE_MODE)
    try:
        position = 0
        while data := disk.read_at(fd, _PIECE, position):
            disk.append(copy, data)
            position += len(data)
        disk.sync_file(copy)
    finally:
        disk.close_file(copy)
    disk.rename(part, target)
    return target
