"""The segments of an open log: how they are appended to, flushed, closed and cleaned.

One thread calls a log, except for `sync`, which may run beside everything else:

    token = log.begin_flush()      # everything appended until now
    log.sync(token)                # in a thread: waits for the disk
    log.finish_flush(token)        # flushed_offset has moved

Any failed write or fsync ends the log: nothing is written, synced or retried after it. Why not retry: after a failed fsync, Linux may mark
the dirty pages as clean, so the next fsync succeeds although the bytes were lost. A retry would report lost records as durable.
Source: org.apache.kafka.storage.internals.log.{UnifiedLog,LocalLog}.

`Cleaning` cleans the segments of a compacted log: the newest record of each key stays, and all that it replaced goes.

As in Kafka's cleaner:
- Offsets stay. A batch that lost records keeps its header, and one that lost all of them goes.
- A tombstone deletes what is before it, and stays itself until the batch that holds it was cleaned `delete_retention_ms` ago
  (log.cleaner.delete.retention.ms): readers of the topic may be that late. That time, the delete horizon, stands in the batch's header.
- Records of aborted transactions go. Those of open ones stay, whatever follows them, since nobody knows yet whether they count; while one
  is open no tombstone goes either, because a record before it may be one that is still to be committed.
- A marker goes with the last record of its transaction.

The segments are written in groups of up to a segment's size, the first group first, and each is durable in its place before the next.
Why: a tombstone may go from a later group only when what it deletes is gone from the groups before.

Differs from Kafka: a group keeps its last batch, without records if they go, so that segments join and a missing one is missed; and a
marker does not wait for the delete horizon.
Source: org.apache.kafka.storage.internals.log.{Cleaner,CleanedTransactionMetadata,LocalLog}; KIP-534."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from errno import EIO
from typing import Final

from metashell.codec.batch_writer import COMMIT, write_batch
from metashell.codec.batches import CODEC_MASK, Record, RecordBatch
from metashell.common.errors import DecodeError, LogCorruptError
from metashell.disk.file_system import FILE_MODE, Disk, FlushToken, LogStoppedError
from metashell.disk.files import RegularFile
from metashell.disk.log_segment import BATCH_LEAD, BatchPlace, LogSegment, SegmentIndex, batch_heads
from metashell.disk.names import segment_name
from metashell.disk.recovery import segment_files
from metashell.disk.segment import BadBatch, Tail, read_batches
from metashell.disk.state_files import RecoveryPoint

INDEX_INTERVAL: Final = 4096
INDEX_SIZE: Final = 10 << 20


class SegmentedLog:
    """See the module. Errors of every method that writes: OSError, after which all of them raise LogStoppedError.

    Units: sizes are bytes; `segment_ms` is the time between timestamps of batches after which a segment is rolled.
    """

    __slots__ = (
        "_active",
        "_bases",
        "_dirty",
        "_disk",
        "_end",
        "_failure",
        "_flight",
        "_flushed",
        "_has_new_names",
        "_index_of",
        "_late_closes",
        "_point",
        "_segment_ms",
        "_segment_size",
        "_segments",
        "directory",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        segments: list[LogSegment],
        index_of: Callable[[int], SegmentIndex],
        point: RecoveryPoint,
        *,
        segment_size: int,
        segment_ms: int,
    ) -> None:
        """Take open segments, of which the last is active; all of them is durable."""
        self.directory = directory
        self._disk = disk
        self._segments = segments
        self._bases = [segment.base_offset for segment in segments]
        self._active = segments[-1]
        self._end = self._flushed = self._active.end_offset
        self._index_of = index_of
        self._point = point
        self._segment_size = segment_size
        self._segment_ms = segment_ms
        self._dirty: list[LogSegment] = []
        self._flight: FlushToken | None = None
        self._late_closes: list[int] = []
        self._has_new_names = False
        self._failure: OSError | None = None
        point.tell(self._fail)

    @property
    def end_offset(self) -> int:
        return self._end

    @property
    def flushed_offset(self) -> int:
        return self._flushed

    @property
    def failure(self) -> OSError | None:
        """The error that ended the log."""
        return self._failure

    def _segment_of(self, offset: int) -> LogSegment:
        active = self._active
        return active if offset >= active.base_offset else self._segments[bisect_right(self._bases, offset) - 1]

    # Appending

    def _append(self, data: bytes, end_offset: int) -> None:
        heads = batch_heads(data, self._end, end_offset)
        last_offset, _, timestamp = heads[-1] if len(heads) == 1 else (end_offset - 1, 0, max(head[2] for head in heads))
        segment = self._active
        try:
            if not segment.has_room(len(data), last_offset, timestamp, self._segment_size, self._segment_ms):
                segment = self._roll()
            if not segment.is_dirty:
                self._dirty.append(segment)
            segment.append(data, heads)
        except OSError as error:
            self._fail(error)
            raise
        self._point.appended(data)
        self._end = end_offset

    def _roll(self) -> LogSegment:
        """Start a new segment at the log's end."""
        self._active.index.close_files()
        return self._begin_segment(self._end)

    def _begin_segment(self, offset: int) -> LogSegment:
        segment = LogSegment.create(self._disk, self.directory, offset, self._index_of(offset))
        self._segments.append(segment)
        self._bases.append(offset)
        self._active = segment
        self._has_new_names = True
        return segment

    # Flushing

    def begin_flush(self) -> FlushToken:
        """Start a flush of everything appended so far. One flush at a time: the previous one must be finished."""
        self._check()
        assert self._flight is None, "a flush is under way"
        dirty = self._dirty
        token = self._flight = FlushToken(self._end, [segment.fd for segment in dirty], self._has_new_names)
        self._point.begin_flush(self._end)
        for segment in dirty:
            segment.is_dirty = False
        self._dirty = []
        self._has_new_names = False
        return token

    def sync(self, token: FlushToken) -> None:
        """Wait for the disk. The only method that another thread may call. Errors: OSError, which ends the log."""
        try:
            self._sync(token)
        except OSError as error:
            self._fail(error)
            raise

    def _sync(self, token: FlushToken) -> None:
        for fd in token.fds:
            self._disk.sync_file(fd)
        if token.has_new_names:
            self._disk.sync_directory(self.directory)
        self._point.sync_now_and_then()

    def finish_flush(self, token: FlushToken) -> int:
        """End a flush whose `token` was synced, and return the new flushed offset. Errors: LogStoppedError if the sync failed."""
        assert token is self._flight, "this flush is not the one under way"
        self._flight = None
        self._close_late()
        self._check()
        self._flushed = max(self._flushed, token.end_offset)
        self._point.finish_flush()
        return self._flushed

    def flush(self) -> int:
        """Run all three steps of a flush."""
        token = self.begin_flush()
        try:
            self.sync(token)
        except OSError:
            self._flight = None
            raise
        return self.finish_flush(token)

    # Closing

    def _close(self, fd: int) -> None:
        """Close a segment's file, or do so later if a flush may be using it."""
        if self._flight is not None:
            self._late_closes.append(fd)
        else:
            self._disk.close_file(fd)

    def _close_late(self) -> None:
        for fd in self._late_closes:
            self._disk.close_file(fd)
        self._late_closes.clear()

    def _release(self) -> None:
        """Close the files; nothing is written any more."""
        if self._failure is None:
            self._failure = LogStoppedError(EIO, "is closed", self.directory)
        self._close_late()
        for segment in self._segments:
            segment.index.abandon()
            with suppress(OSError):
                self._disk.close_file(segment.fd)
        self._segments = []
        self._point.close()

    def _check(self) -> None:
        if self._failure is not None:
            raise LogStoppedError(EIO, f"nothing is written any more: {self._failure.strerror or self._failure}", self.directory)

    def _fail(self, error: OSError) -> None:
        if self._failure is None:
            self._failure = error


CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
_PIECE: Final = 1 << 20


class Cleaning:
    """One cleaning of closed, durable segments. `made` are the new segments, `failure` the error after which the log has to end."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        segments: Sequence[LogSegment],
        index_of: Callable[[int], SegmentIndex],
        segment_size: int,
        now_ms: int,
        delete_retention_ms: int,
        sync_point: Callable[[], None],
    ) -> None:
        """`sync_point` makes the recovery point durable: below it, offsets may be missing."""
        self.segments = list(segments)
        self.made: list[LogSegment] = []
        self.failure: OSError | None = None
        self._disk = disk
        self._directory = directory
        self._index_of = index_of
        self._segment_size = segment_size
        self._now_ms = now_ms
        self._horizon_ms = now_ms + delete_retention_ms
        self._sync_point = sync_point
        self._newest: dict[bytes, int] = {}
        self._aborted: set[int] = set()
        """The base offsets of batches that belong to aborted transactions."""
        self._open: set[int] = set()
        """Those of open transactions."""
        self._kept: set[int] = set()
        """Producers whose transaction has records that stay."""

    def carry_out(self) -> None:
        """Clean the segments. Never raises: see `failure`."""
        try:
            self._sync_point()
            self._find_newest()
            for group in self._groups():
                self.made.append(self._replace(group))
        except LogCorruptError as error:
            self.failure = OSError(str(error))
        except OSError as error:
            self.failure = error

    def _groups(self) -> Iterator[list[LogSegment]]:
        group: list[LogSegment] = []
        for segment in self.segments:
            if group and sum(one.size for one in (*group, segment)) > self._segment_size:
                yield group
                group = []
            group.append(segment)
        yield group

    def _batches(self, segments: Iterable[LogSegment]) -> Iterator[RecordBatch]:
        """Errors: LogCorruptError if the disk returns other bytes than were written."""
        for segment in segments:
            for item in read_batches(RegularFile(segment.fd, segment.path)):
                if isinstance(item, BadBatch | Tail):
                    raise LogCorruptError(segment.path, item.position, item.reason)
                yield item

    # What stays

    def _find_newest(self) -> None:
        newest = self._newest
        waiting: dict[int, list[RecordBatch]] = {}
        for batch in self._batches(self.segments):
            header = batch.header
            if not header.is_transactional:
                for record in _records(batch):
                    newest[record.key or b""] = record.offset
            elif not header.is_control:
                waiting.setdefault(header.producer_id, []).append(batch)
            else:
                ended = waiting.pop(header.producer_id, [])
                if batch.first_control_type() != COMMIT:
                    self._aborted.update(one.header.base_offset for one in ended)
                    continue
                for one in ended:
                    for record in _records(one):
                        # The later record wins, not the later end of a transaction.
                        newest[record.key or b""] = max(record.offset, newest.get(record.key or b"", -1))
        self._open = {one.header.base_offset for batches in waiting.values() for one in batches}

    def _cleaned(self, batch: RecordBatch) -> bytes:
        """Return what stays of a batch; no bytes if nothing does."""
        header = batch.header
        base = header.base_offset
        if base in self._open:
            return batch.data
        if base in self._aborted:
            return b""
        if header.is_control:
            is_kept = header.producer_id in self._kept
            self._kept.discard(header.producer_id)
            return batch.data if is_kept else b""
        horizon_ms = header.delete_horizon_ms
        is_over = horizon_ms is not None and self._now_ms > horizon_ms and not self._open
        newest = self._newest
        records = list(_records(batch))
        kept = [one for one in records if newest.get(one.key or b"") == one.offset and not (is_over and one.value is None)]
        if not kept:
            return b""
        if header.is_transactional:
            self._kept.add(header.producer_id)
        if horizon_ms is None and any(one.value is None for one in kept):
            horizon_ms = self._horizon_ms
        elif len(kept) == len(records):
            return batch.data
        return write_batch(
            base,
            kept,
            leader_epoch=header.leader_epoch,
            base_timestamp=header.base_timestamp if horizon_ms is None else horizon_ms,
            last_offset_delta=header.last_offset_delta,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            codec_id=header.attributes & CODEC_MASK,
            is_transactional=header.is_transactional,
            has_delete_horizon=horizon_ms is not None,
        )

    # Files

    def _replace(self, group: Sequence[LogSegment]) -> LogSegment:
        """Write one segment in place of several; durable on return."""
        base = group[0].base_offset
        made = LogSegment(self._disk, self._directory, base, -1, self._index_of(base))
        cleaned, swap = made.path + CLEANED, made.path + SWAP
        made.fd = self._disk.create_file(cleaned, FILE_MODE)
        try:
            pieces: list[bytes] = []
            size = 0
            for batch in self._batches(group):
                data = self._cleaned(batch)
                if not data and batch.header.last_offset + 1 == group[-1].end_offset:
                    data = write_batch(
                        batch.header.base_offset,
                        (),
                        leader_epoch=batch.header.leader_epoch,
                        base_timestamp=batch.header.base_timestamp,
                        max_timestamp=batch.header.max_timestamp,
                        last_offset_delta=batch.header.last_offset_delta,
                    )
                if not data:
                    continue
                made.found(_place(data, made.size))
                pieces.append(data)
                size += len(data)
                if size >= _PIECE:
                    self._disk.append(made.fd, b"".join(pieces))
                    pieces, size = [], 0
            self._disk.append(made.fd, b"".join(pieces))
            self._disk.sync_file(made.fd)
            self._disk.rename(cleaned, swap)
            self._disk.sync_directory(self._directory)
            _put_in_place(self._disk, self._directory, swap, base, [segment.base_offset for segment in group[1:]])
        except BaseException:
            self._disk.close_file(made.fd)
            raise
        made.index.end_recovery()
        made.index.write_closed()
        return made


def _records(batch: RecordBatch) -> Iterator[Record]:
    try:
        yield from batch.records()
    except DecodeError as error:
        raise LogCorruptError(batch.file, batch.position, str(error)) from error


def _place(data: bytes, position: int) -> BatchPlace:
    base, _, epoch, delta, timestamp = BATCH_LEAD.unpack_from(data)
    return BatchPlace(base, base + delta, epoch, timestamp, position, len(data))


def _put_in_place(disk: Disk, directory: str, swap: str, base: int, replaced: Iterable[int]) -> None:
    """Remove the segments that a durable `.swap` file replaces, and give it its name; durable on return."""
    for other in replaced:
        for path in segment_files(directory, other):
            if os.path.lexists(path):
                disk.remove_file(path)
    # Before the file has its own name, so that no segment is found that lies inside another one.
    disk.sync_directory(directory)
    disk.rename(swap, os.path.join(directory, segment_name(base)))
    disk.sync_directory(directory)


def complete_swaps(disk: Disk, directory: str, bases: Sequence[int]) -> list[int]:
    """Complete the swaps that a stop interrupted, and return the base offsets of the segments that there are then. Errors: OSError."""
    left = set(bases)
    for name in sorted(os.listdir(directory)):
        if not name.endswith(".log" + SWAP):
            continue
        swap = os.path.join(directory, name)
        base = int(name.split(".")[0])
        end = _end_of(disk, swap)
        replaced = [other for other in sorted(left) if base < other < end]
        _put_in_place(disk, directory, swap, base, replaced)
        left = {*left, base}.difference(replaced)
    return sorted(left)


def _end_of(disk: Disk, path: str) -> int:
    """The end offset of a file of whole batches; it was synced before it got its name."""
    fd = disk.open_file(path)
    try:
        end = 0
        for item in read_batches(RegularFile(fd, path)):
            if not isinstance(item, BadBatch | Tail):
                end = item.header.last_offset + 1
        return end
    finally:
        disk.close_file(fd)
