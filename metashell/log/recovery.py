"""What a log directory holds after any end of the process or machine, found by reading all of it.

Kafka opens the metadata log as after an unclean shutdown each time, and so do we: every batch is checked, and the log ends before the
first that is bad, cut off, out of order, or of a lower epoch than the one before. What is found is not believed to be durable either: it
may have been written a moment before the process ended. Whether what comes behind that end was lost or never there, `damage` says.

Segments that do not join are what an interrupted deletion left, or an interrupted truncation. A later run of segments counts only where
a complete snapshot covers everything before it; then what lies before it is dropped, else what lies behind the gap.
Source: LogLoader, LogSegment.recover, KafkaRaftLog.recoverSnapshots and truncateToLatestSnapshot.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from metashell.codec.batches import RecordBatch
from metashell.errors import LogCorruptError
from metashell.log.atomic_file import ASIDE_SUFFIX
from metashell.log.damage import Flaw, flaw_at
from metashell.log.disk import Disk
from metashell.log.files import RegularFile
from metashell.log.log_segment import BatchPlace, LogSegment
from metashell.log.names import index_name, parse_name, segment_name, time_index_name
from metashell.log.order import order_fault
from metashell.log.recovery_point import DurableTo
from metashell.log.segment import BatchFault, read_batches
from metashell.log.segment_index import SegmentIndex
from metashell.values import OffsetAndEpoch

IndexOf = Callable[[int], SegmentIndex]
_INDEX: Final = re.compile(r"[0-9]{20}\.(?:time)?index", re.ASCII)
_PRODUCER_SUFFIXES: Final = (".snapshot", ".txnindex")


@dataclass(frozen=True, slots=True)
class Repair:
    """Something that recovery changed, to be reported: the file, the byte it was cut at (0: it was removed), and why.

    `kept_as` is the name under which the file still lies there as it was, empty where that was not worth it.
    """

    file: str
    position: int
    reason: str
    kept_as: str = ""

    def __str__(self) -> str:
        return f"{self.file}: byte {self.position}: {self.reason}{f', kept as {self.kept_as}' if self.kept_as else ''}"


@dataclass(slots=True)
class FoundFiles:
    """The names in a log directory: segments by base offset, complete snapshots, and leftovers of what was interrupted."""

    segments: list[int] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    snapshots: list[OffsetAndEpoch] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)


def list_files(directory: str) -> FoundFiles:
    """The files of the log. Files that are no part of a log are left alone."""
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
        """The epoch of the batch that holds `offset`, None outside the run."""
        if not self.base_offset <= offset < self.end_offset:
            return None
        return next(epoch for epoch, start in reversed(self.epochs) if start <= offset)

    def agrees_with(self, id: OffsetAndEpoch) -> bool:
        """Whether the run may go on from the snapshot, or holds what it covers."""
        if id.offset == self.base_offset:
            return not self.epochs or self.epochs[0][0] >= id.epoch
        return self.epoch_at(id.offset - 1) == id.epoch


class Scan:
    """All segments of a directory, read and checked; nothing is changed by it.

    `point` is what is known to have been durable: a batch before it is of no later epoch than the one that ends there.
    """

    def __init__(self, disk: Disk, directory: str, index_of: IndexOf, point: DurableTo | None = None) -> None:
        self._disk = disk
        self._directory = directory
        self._index_of = index_of
        self._point = point
        self._distrusted: set[int] = set()
        self.runs: list[Run] = []
        self.flaws: dict[str, Flaw] = {}
        """By path: where a segment has to be cut."""

    def read(self, bases: Sequence[int]) -> None:
        """Errors: OSError; LogCorruptError where the disk gives back an error instead of bytes."""
        while not self._read(bases):
            self.close()

    def _read(self, bases: Sequence[int]) -> bool:
        """Read all; False where a batch taken for good before turned out to be of a wrong epoch: then all is read once more."""
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
        """Give the files back."""
        for run in self.runs:
            for segment in run.segments:
                segment.index.abandon()
                if segment.fd >= 0:
                    with suppress(OSError):
                        self._disk.close_file(segment.fd)
        self.runs = []
        self.flaws = {}

    def _read_segment(self, segment: LogSegment, run: Run) -> Flaw | None:
        """Add the good batches to the segment; what is wrong behind them."""
        last_epoch = run.last_epoch
        file = RegularFile(segment.fd, segment.path)
        items = read_batches(file)
        known_end = -1 if self._point is None else self._point.offset
        for item in items:
            reason = _flaw(item, segment, last_epoch)
            if reason is None:
                assert isinstance(item, RecordBatch)
                # An epoch that is wrong shows where epochs change, or where one is known for sure.
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
        """Why the epoch of a batch cannot be true.

        No CRC covers it, so nothing else would show it; and a replica that believed a later epoch than it has would win elections
        without what is committed.
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
        """Epochs went down: unless they go up again at once, it is the higher one, before, that is wrong."""
        goes_on = isinstance(following, RecordBatch) and following.header.leader_epoch >= run.last_epoch
        if run.epochs and not goes_on:
            self._distrusted.add(run.epochs[-1][1])

    @property
    def end_offset(self) -> int:
        """The end of all good batches, whether they join or not."""
        return max((run.end_offset for run in self.runs), default=0)

    def choose(self, snapshots: Sequence[OffsetAndEpoch]) -> Run | None:
        """The run that is the log, None where there is no segment."""
        for run in reversed(self.runs[1:]):
            if any(id.offset >= run.base_offset and run.agrees_with(id) for id in snapshots):
                return run
        return self.runs[0] if self.runs else None


def _flaw(item: RecordBatch | BatchFault, segment: LogSegment, last_epoch: int) -> str | None:
    """Why what was read next ends the log."""
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
    """Whether that is all that is wrong with it."""
    return isinstance(item, RecordBatch) and item.header.base_offset == segment.end_offset and item.header.leader_epoch < last_epoch


def start_over_at(run: Run | None, snapshots: Sequence[OffsetAndEpoch]) -> OffsetAndEpoch | None:
    """The newest snapshot, where the log has to begin anew at it: the log ends before it, or contradicts it.

    Either is how a follower's crash between the end of a download and the truncation looks. A snapshot is committed, so what
    contradicts it is not. Kafka compares (epoch, offset) with the log's end only, and keeps a log of a higher epoch that ends before it.
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
    """Where the log starts: at its first segment if that is 0, else at the end of the earliest snapshot that is not before it.

    Errors: LogCorruptError where a log that lacks its beginning has no such snapshot: nothing can stand for what is missing.
    """
    base = run.base_offset
    if base == 0:
        return 0
    starts = [id.offset for id in snapshots if id.offset >= base]
    if not starts:
        raise LogCorruptError(directory, base, f"the log starts at {base}, and there is no snapshot at or after that offset")
    return min(starts)


def segment_files(directory: str, base_offset: int) -> list[str]:
    """The paths that one segment may have, the log first; by that name Kafka also keeps a state of producers."""
    stem = f"{base_offset:020d}"
    names = [
        segment_name(base_offset),
        index_name(base_offset),
        time_index_name(base_offset),
        *(stem + suffix for suffix in _PRODUCER_SUFFIXES),
    ]
    return [os.path.join(directory, name) for name in names]
