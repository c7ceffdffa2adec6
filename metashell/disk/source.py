"""The sources of an image: one file (a checkpoint, a bootstrap checkpoint or a segment), or the metadata directory of a node.

A source yields the batches of a snapshot (none for a segment) and then those of the log (none for a checkpoint), and collects unreadable
places in `faults`. It never raises for a file's content.

The node of a directory may be running. All needed files are opened before any is read, because an open file stays readable after its
removal; if a listed file is gone, the directory is listed again.

Which records are committed? All of a checkpoint: a node makes it from committed records only, so `certain_to` is the checkpoint's end.
Nothing in the files says so of the log behind it (up to `end_offset`): a leader that was cut off appends records that a later leader
replaces. So what follows `certain_to` may not be committed.

The bootstrap snapshot is not the state at offset 0, and its records are not committed: the first leader writes them into the log. Once
there is a log, only its records that name the quorum are yielded, since the others would be applied twice."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

from metashell.codec.batches import RecordBatch
from metashell.common.errors import PathError, UsageError
from metashell.common.values import BOOTSTRAP_SNAPSHOT_ID, OffsetAndEpoch
from metashell.disk.directory import CheckpointEntry, Listing, MetadataDirectory, SegmentEntry, content_of, log_kind_of
from metashell.disk.files import STREAM_NAMES, OpenFile, open_file
from metashell.disk.indexes import INDEX_SUFFIX, seek_offset
from metashell.disk.inputs import find_metadata, place_of
from metashell.disk.names import DATA, METADATA, Closable, classify, parse_name
from metashell.disk.segment import (
    BadBatch,
    BatchFault,
    OrderCheck,
    SourceFault,
    Tail,
    checked_snapshot,
    empty_tail,
    fault_of,
    first_snapshot_fault,
    read_batches,
)

if TYPE_CHECKING:
    from metashell.disk.names import LogKind


def open_source(path: str) -> FileSource | DirectorySource:
    """Open the source at `path`: a file, `-` for standard input, or a directory.

    Errors: UsageError for a path that cannot be opened, and for a directory without metadata or with several.
    """
    if path not in STREAM_NAMES and os.path.isdir(path):
        return open_directory(path)
    return FileSource(path)


SourceKind = Literal["checkpoint", "bootstrap", "segment", "directory"]


class FileSource(Closable):
    """One checkpoint, bootstrap checkpoint or segment; its name decides which, or else its first record.

    A pipe can be read once only: either `snapshot_batches` or `log_batches`, to the end.
    """

    kind: SourceKind

    def __init__(self, path: str) -> None:
        self.path = path
        self.faults: list[SourceFault] = []
        self.end_offset: int | None = None
        self._file: OpenFile = open_file(path)
        items = read_batches(self._file)
        first = next(items, None)
        self._unread: Iterator[RecordBatch | BatchFault] | None = chain(() if first is None else (first,), items)
        name = os.path.basename(path)
        self.kind = classify(name, first.batch if isinstance(first, BatchFault) else first)
        parsed = parse_name(name)
        self.snapshot_id: OffsetAndEpoch | None = parsed.snapshot_id if parsed is not None else None
        self.certain_to: int | None = None
        if self.snapshot_id is not None:
            self.end_offset = self.snapshot_id.offset
            self.certain_to = self.end_offset if self.snapshot_id != BOOTSTRAP_SNAPSHOT_ID else None

    def log_kind(self) -> tuple[LogKind | None, bool]:
        """The file's log by content and place, and whether that is certain. Call it before reading anything."""

        assert self._unread is not None, "nothing was read yet"
        content, self._unread = content_of(self._unread)
        if self.kind != "segment":
            return METADATA, True
        place = None if self.path in STREAM_NAMES else place_of(os.path.dirname(self.path) or ".", ())
        return log_kind_of(place, content), content.is_sure or place == DATA

    def snapshot_batches(self) -> Iterator[RecordBatch]:
        """The batches of a checkpoint, numbered from 0; none if this is a segment.

        A checkpoint without its header at the start or its footer at the end is a fault in `faults` once it is read, and nothing of a
        faulty one counts as committed. If its name has no end offset, its own numbering is used.
        """
        if self.kind == "segment":
            return
        end_offset = 0
        for batch in checked_snapshot(self._items(), self._file.name, self.faults):
            end_offset = batch.header.last_offset + 1
            yield batch
        if self.snapshot_id is None:
            self.end_offset = end_offset
        is_state = self.kind == "checkpoint" and self.snapshot_id != BOOTSTRAP_SNAPSHOT_ID
        self.certain_to = self.end_offset if is_state and not self.faults else None

    def log_batches(self, from_offset: int = 0) -> Iterator[RecordBatch]:
        """The batches of a segment with offsets from `from_offset` on; none if this is a checkpoint."""
        if self.kind != "segment":
            return
        order = OrderCheck(None)
        is_empty = True
        for item in self._items():
            is_empty = False
            if isinstance(item, BatchFault):
                self.faults.append(fault_of(item))
                order.forget()
                continue
            if fault := order.check(item):
                self.faults.append(fault)
            self.end_offset = item.header.last_offset + 1
            if self.end_offset > from_offset:
                yield item
        if is_empty:
            self.faults.append(fault_of(empty_tail(self._file.name)))

    def _items(self) -> Iterator[RecordBatch | BatchFault]:
        items, self._unread = self._unread, None
        if items is None:
            self.faults.clear()
            if self.kind == "segment":
                self.end_offset = None
            items = read_batches(self._file)
        return items

    def close(self) -> None:
        self._file.close()


_ATTEMPTS = 10
_OPENED_EARLY_MAX = 64


def open_directory(path: str) -> DirectorySource | FileSource:
    """Open the source of a directory; a node that was only formatted has just its bootstrap checkpoint.

    Errors: UsageError for a directory without metadata, or with several metadata directories below it.
    """
    found = find_metadata(path)
    return DirectorySource(found) if os.path.isdir(found) else FileSource(found)


class DirectorySource(Closable):
    """A metadata directory; `snapshot_id` is the id of the checkpoint in use, None without one.

    With `up_to`, no checkpoint that ends after that offset is used, so that an image of that offset can be made. With `log_from`, no
    checkpoint is used, and the log begins at the segment that may contain that offset.
    """

    kind: SourceKind = "directory"

    def __init__(self, path: str, *, up_to: int | None = None, log_from: int | None = None) -> None:
        self.path = path
        self._log_from = log_from
        self._up_to = up_to
        self.snapshot_id: OffsetAndEpoch | None = None
        self.certain_to: int | None = None
        self.end_offset: int | None = None
        self._choice_faults: list[SourceFault] = []
        self._snapshot_faults: list[SourceFault] = []
        self._log_faults: list[SourceFault] = []
        self._snapshot: OpenFile | None = None
        self._whole: list[RecordBatch] = []
        """The batches of the checkpoint in use, kept from its check until they are yielded."""
        self._opened: dict[str, OpenFile] = {}
        self._segments: list[SegmentEntry] = []
        self._has_log = False
        try:
            self._directory = MetadataDirectory(path)
        except OSError as error:
            raise PathError.of(path, error) from error
        try:
            self._open_files()
        except BaseException:
            self.close()
            raise

    @property
    def faults(self) -> list[SourceFault]:
        """The faults so far, in the order of the source; complete after both iterations."""
        return [*self._choice_faults, *self._snapshot_faults, *self._log_faults]

    def snapshot_batches(self) -> Iterator[RecordBatch]:
        """The batches of the checkpoint in use, numbered from 0."""
        only_quorum = self.snapshot_id == BOOTSTRAP_SNAPSHOT_ID and self._has_log
        return (batch for batch in self._snapshot_batches() if batch.header.is_control or not only_quorum)

    def _snapshot_batches(self) -> Iterator[RecordBatch]:
        self._snapshot_faults = []
        if self._whole:
            whole, self._whole = self._whole, []
            whole.reverse()
            while whole:
                yield whole.pop()
        elif self._snapshot is not None:
            # A damaged checkpoint is used only if there is nothing better; its first fault has been reported.
            told = list(self._choice_faults)
            yield from checked_snapshot(read_batches(self._snapshot), self._snapshot.name, self._snapshot_faults)
            self._snapshot_faults = [fault for fault in self._snapshot_faults if fault not in told]

    def log_batches(self, from_offset: int = 0) -> Iterator[RecordBatch]:
        """The batches with offsets from the checkpoint's end, or `from_offset` if that is later, to the log's end.

        The first batch may start below that offset, because snapshots before 4.0 may end inside a batch. The replay has to skip its earlier
        records.
        """
        self._log_faults = []
        start = max(from_offset, self.snapshot_id.offset if self.snapshot_id is not None else 0)
        self.end_offset = start
        order = OrderCheck(start)
        queue = list(self._segments)
        while queue:
            segment = queue.pop(0)
            file = self._opened.get(segment.name)
            if file is not None:
                yield from self._segment_batches(file, segment, queue, order, start)
            elif (late := self._open_late(segment)) is not None:
                with late:
                    yield from self._segment_batches(late, segment, queue, order, start)

    def _segment_batches(
        self, file: OpenFile, segment: SegmentEntry, queue: list[SegmentEntry], order: OrderCheck, start: int
    ) -> Iterator[RecordBatch]:
        """One segment's batches. At the end of the last segment, look for newer ones and put them into `queue`.

        If there are any, the node has rolled the log, and this segment is read to its final end.
        """
        position = self._position_of(start, segment, file)
        tail: Tail | None = None
        was_last = not queue
        while True:
            for item in read_batches(file, start=position):
                if isinstance(item, Tail):
                    tail = item
                    break
                batch = item.batch if isinstance(item, BadBatch) else item
                position = batch.position + len(batch.data)
                if isinstance(item, BadBatch):
                    self._log_faults.append(fault_of(item))
                    if batch.header.last_offset >= start:
                        order.forget()
                elif batch.header.last_offset >= start:
                    self._check(batch, order, start)
                    yield batch
            if not was_last:
                break
            queue.extend(self._newer_segments(segment))
            was_last = False
            if not queue:
                self._check_length(file, position)
                break
            tail = None
        if tail is not None:
            self._log_faults.append(fault_of(tail, is_last=not queue))
            order.forget()

    def _position_of(self, offset: int, segment: SegmentEntry, file: OpenFile) -> int:
        """The position from which to read a segment for `offset` and what follows: the segment may be a gigabyte."""
        if segment.base_offset >= offset:
            return 0
        try:
            with self._directory.open(f"{segment.base_offset:020d}{INDEX_SUFFIX}") as index:
                return seek_offset(index, file, segment.base_offset, offset)
        except OSError:
            return 0

    def _check(self, batch: RecordBatch, order: OrderCheck, start: int) -> None:
        header = batch.header
        if order.expected_offset == start and header.base_offset < start:
            order.expected_offset = header.base_offset  # a checkpoint may end inside this batch
        if fault := order.check(batch):
            self._log_faults.append(fault)
        self.end_offset = header.last_offset + 1

    def _check_length(self, file: OpenFile, position: int) -> None:
        """Report that the log was truncated during reading: a follower drops records that a new leader does not have."""
        size = file.size()
        if size is not None and size < position:
            reason = f"was cut to {size} bytes while it was read; what lay after that may not be in the log any more"
            self._log_faults.append(SourceFault(file.name, -1, size, reason))

    # Opening all needed files before any is read

    def _open_files(self) -> None:
        for _ in range(_ATTEMPTS):
            self._choice_faults = []
            try:
                self._open_listed(self._listing())
            except FileNotFoundError:  # the node has removed a listed file: list again
                self._close_files()
                self._snapshot = self.snapshot_id = self.certain_to = self.end_offset = None
                self._opened = {}
                self._whole = []
            else:
                break
        else:
            raise UsageError(f"{self.path}: files vanish faster than they can be opened", self.path)
        if self._snapshot is None and not self._opened and self._choice_faults:
            raise UsageError(str(self._choice_faults[0]), self.path)

    def _listing(self) -> Listing:
        listing = self._directory.list()
        if self._log_from is not None:
            return Listing(listing.segments_from(self._log_from), [])
        if self._up_to is None:
            return listing
        return Listing(listing.segments, [entry for entry in listing.checkpoints if entry.snapshot_id.offset <= self._up_to])

    def _open_listed(self, listing: Listing) -> None:
        self._open_snapshot(listing)
        self._segments = []
        self._has_log = False
        for segment in listing.segments_from(0 if self.snapshot_id is None else self.snapshot_id.offset):
            if len(self._opened) < _OPENED_EARLY_MAX:
                file = self._open(segment.name, segment.base_offset)
                if file is None:
                    continue
                self._opened[segment.name] = file
                self._has_log = self._has_log or file.size() != 0
            self._segments.append(segment)

    def _open(self, name: str, offset: int) -> OpenFile | None:
        """Open a listed file; a file that exists and cannot be opened is a fault. Errors: FileNotFoundError."""
        try:
            return self._directory.open(name)
        except FileNotFoundError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            self._choice_faults.append(SourceFault(os.path.join(self.path, name), offset, -1, reason))
            return None

    def _open_snapshot(self, listing: Listing) -> None:
        """Choose the newest complete checkpoint, and report newer ones with faults.

        Without any, the log is enough if it starts at 0; else the newest checkpoint that can be opened is better than none.
        """
        damaged: CheckpointEntry | None = None
        for checkpoint in listing.checkpoints:
            file = self._open(checkpoint.name, checkpoint.snapshot_id.offset)
            if file is None:
                continue
            fault = first_snapshot_fault(file, self._whole)
            if fault is None:
                self._use(checkpoint, file)
                if checkpoint.snapshot_id != BOOTSTRAP_SNAPSHOT_ID:
                    self.certain_to = checkpoint.snapshot_id.offset
                return
            file.close()
            self._choice_faults.append(fault)
            damaged = damaged or checkpoint
        starts_at_zero = bool(listing.segments) and listing.segments[0].base_offset == 0
        if damaged is not None and not starts_at_zero:
            self._use(damaged, self._directory.open(damaged.name))

    def _use(self, checkpoint: CheckpointEntry, file: OpenFile) -> None:
        self._snapshot = file
        self.snapshot_id = checkpoint.snapshot_id
        self.end_offset = checkpoint.snapshot_id.offset

    def _open_late(self, segment: SegmentEntry) -> OpenFile | None:
        """Open a segment late, because there were too many to open all at first; it may be gone by now."""
        try:
            return self._directory.open(segment.name)
        except OSError as error:
            name = os.path.join(self.path, segment.name)
            gone = isinstance(error, FileNotFoundError)
            reason = "vanished before it was read" if gone else error.strerror or str(error)
            self._log_faults.append(SourceFault(name, segment.base_offset, -1, reason))
            return None

    def _newer_segments(self, segment: SegmentEntry) -> list[SegmentEntry]:
        """Open the segments that the node has started since the directory was listed."""
        for _ in range(_ATTEMPTS):
            try:
                newer = [other for other in self._directory.list().segments if other.base_offset > segment.base_offset]
                for other in newer:
                    self._opened[other.name] = self._directory.open(other.name)
                return newer
            except OSError:
                continue
        return []

    def _close_files(self) -> None:
        for file in (self._snapshot, *self._opened.values()):
            if file is not None:
                file.close()

    def close(self) -> None:
        self._whole = []
        self._close_files()
        self._directory.close()


class OffsetsWithImage(NamedTuple):
    """The first and the last offset at which a source has an image; for a checkpoint they are the same.

    Shape: everything before `certain_to` is committed, so every replica of that log has it; None if nothing is known to be committed.
    """

    first: int
    end: int
    certain_to: int | None


class CommonOffset(NamedTuple):
    """The offset at which to compare several sources; `is_certain` means that everything before it is committed."""

    offset: int
    is_certain: bool


def common_offset(reaches: Sequence[OffsetsWithImage]) -> CommonOffset | None:
    """The highest committed offset at which all sources have an image; None if they have none in common.

    Shape: records that one source knows to be committed are committed for all, so the highest `certain_to` counts. If none knows any, or
    if a source ends before it, the result is the highest offset that all reach. Example: sources that end at 90, 120 and 130, of which one
    has a checkpoint at 100, are compared at 90.
    """
    certain = max((reach.certain_to for reach in reaches if reach.certain_to is not None), default=None)
    lowest = min(reach.end for reach in reaches)
    offset = lowest if certain is None else min(lowest, certain)
    if offset < max(reach.first for reach in reaches):
        return None
    return CommonOffset(offset, certain is not None)
