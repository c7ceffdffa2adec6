"""The metadata log of a replica, on disk: append, read, truncate, flush, and drop what a snapshot covers. It implements raft's
`ReplicatedLog`.

`segmented_log` says how it is appended to and flushed, and that a failed write ends it. `defer` makes rare and slow work run in a thread
too (see `file_system`):

    work = log.take_work()         # the deferred steps of the calls so far, in order
    work.carry_out()               # in a thread, one for all such work; also for `delete_due`

The files are those of Kafka, in Kafka's formats. Of these, only batches, names, epochs and snapshots are ever synced, because indexes are
made again at each start. The file `recovery-point` beside the log says how far it is durable; it is written after each flush.
Source: org.apache.kafka.storage.internals.log.UnifiedLog, LocalLog; org.apache.kafka.raft.KafkaRaftLog."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Sequence
from functools import partial
from typing import Final

from metashell.codec.framing import checked_batches
from metashell.common.values import OffsetAndEpoch
from metashell.disk.file_system import DeferredSteps, DeferredWork, DirectoryLock, Disk, Step, replace_file
from metashell.disk.file_system import FlushToken as FlushToken
from metashell.disk.file_system import LogStoppedError as LogStoppedError
from metashell.disk.log_segment import LogSegment
from metashell.disk.names import LEADER_EPOCH_CHECKPOINT
from metashell.disk.opening import Opened, open_metadata
from metashell.disk.recovery import remove_damage_note, segment_files
from metashell.disk.segmented_log import INDEX_INTERVAL, INDEX_SIZE, SegmentedLog
from metashell.disk.snapshot_files import DELETE_DELAY_MS, DeletedFiles, RecentAppends, SnapshotFiles, SnapshotPart
from metashell.disk.state_files import format_leader_epochs

SEGMENT_SIZE: Final = 1 << 30
SEGMENT_MS: Final = 7 * 24 * 3_600_000


class MetadataLog(SegmentedLog):
    """An open log. Errors of every method that writes: OSError, after which all of them raise LogStoppedError.

    `directory` has the segments, and quorum-state beside them. `repairs` are the files that recovery cut or removed. `recovering` is set
    if this log may lack records that this replica acknowledged; `acknowledged` is the proof of these.
    """

    __slots__ = (
        "_deleted",
        "_epochs",
        "_lock",
        "_parts",
        "_recent",
        "_snapshots",
        "_start",
        "_work",
        "acknowledged",
        "recovering",
        "repairs",
    )

    @classmethod
    def open(
        cls,
        log_directory: str,
        disk: Disk | None = None,
        *,
        segment_size: int = SEGMENT_SIZE,
        segment_ms: int = SEGMENT_MS,
        index_interval: int = INDEX_INTERVAL,
        index_size: int = INDEX_SIZE,
        lock: bool = True,
        accept_loss: bool = False,
    ) -> MetadataLog:
        """Open and recover the log in `__cluster_metadata-0` of a log directory, and create it if needed; all of it is durable then.

        The directory's `.lock` is held until `close`, unless `lock` is False: then the caller holds it. A log that lost durable records is
        cut as after a crash, and has `recovering` set, also when it is opened again, unless `accept_loss`.
        Units: bytes; `segment_ms` is the time between timestamps of batches.
        Errors: BlockingIOError if another process holds the lock; LogCorruptError if the log cannot start; OSError.
        """
        disk = disk or Disk()
        held = DirectoryLock(log_directory, disk) if lock else None
        try:
            opened = open_metadata(disk, log_directory, index_interval, index_size, accept_loss=accept_loss)
            return cls(disk, opened, segment_size, segment_ms, held)
        except BaseException:
            if held is not None:
                held.release()
            raise

    def __init__(self, disk: Disk, opened: Opened, segment_size: int, segment_ms: int, lock: DirectoryLock | None) -> None:
        """See `open`."""
        super().__init__(
            disk, opened.directory, opened.segments, opened.index_of, opened.point, segment_size=segment_size, segment_ms=segment_ms
        )
        self.repairs = opened.repairs
        self.recovering = opened.recovering
        self.acknowledged = opened.acknowledged
        self._lock = lock
        self._start = opened.start_offset
        self._epochs = opened.epochs
        self._snapshots = SnapshotFiles(disk, self.directory, opened.snapshots)
        self._parts: dict[OffsetAndEpoch, SnapshotPart] = {}
        self._deleted = DeletedFiles(disk)
        self._recent = RecentAppends()
        self._work = DeferredSteps(self._fail)

    # Reading

    @property
    def start_offset(self) -> int:
        return self._start

    @property
    def size(self) -> int:
        """The bytes of all segments."""
        return sum(segment.size for segment in self._segments)

    def leader_epochs(self) -> Sequence[tuple[int, int]]:
        return self._epochs

    def read(self, start_offset: int, end_offset: int, max_size: int) -> bytes:
        """Whole batches from `start_offset` on. Errors: OSError; LogCorruptError if the disk returns other bytes than were written."""
        if not self._bases[0] <= start_offset < self._end:
            return b""
        segment = self._segment_of(start_offset)
        # One read never crosses a segment's end: a Kafka follower appends it as a whole, and stops if it exceeds its own segment size.
        data = self._recent.read(start_offset, min(end_offset, segment.end_offset), max_size)
        if not data:
            data = segment.read(start_offset, end_offset, max_size)
            for _ in checked_batches(data, segment.path):
                pass
        return data

    def is_batch_boundary(self, offset: int) -> bool:
        if offset == self._end:
            return True
        return self._bases[0] <= offset < self._end and self._segment_of(offset).begins_at(offset)

    # Appending

    def append(self, data: bytes, end_offset: int) -> None:
        self._check()
        self._work.settle()
        start = self._end
        self._append(data, end_offset)
        self._recent.add(start, end_offset, data)

    # Flushing

    def begin_flush(self) -> FlushToken:
        self._check()
        self._work.settle()
        return super().begin_flush()

    def _sync(self, token: FlushToken) -> None:
        super()._sync(token)
        self.acknowledged.reach_end(token.end_offset)

    def note_committed(self, offset: int) -> None:
        self.acknowledged.note_committed(min(offset, self._flushed))

    # Truncating

    def truncate_to(self, offset: int) -> None:
        """Drop all batches from `offset` on. Errors: AssertionError if it lies inside a batch or before the start."""
        self._check()
        if offset == self._end:
            return
        assert self._start <= offset and self.is_batch_boundary(offset), f"truncation to {offset} of {self._start} to {self._end}"
        lower = self._point.cut(offset)
        empty = [self.acknowledged.empty] if offset == 0 and self.recovering is None else []
        count = max(bisect_right(self._bases, offset), 1)
        dropped = self._forget_segments(self._segments[count:])
        active = self._active = self._segments[-1]
        active.cut(offset)
        self._has_new_names = False
        self._dirty = [segment for segment in self._dirty if segment.is_dirty and segment in self._segments]
        self._set_end(offset)
        self._work.do(*empty, lower, *dropped, active.cut_files, self._sync_directory)

    def _set_end(self, offset: int) -> None:
        self._end = offset
        self._recent.clear()
        self._flushed = min(self._flushed, offset)
        if self._flight is not None:
            # A flush is under way, and covers the batches that were dropped. New batches at the same offsets are not durable through it.
            # Example: it flushes up to 120, and the log is cut to 100 and grows to 120 again: only offsets before 100 are durable.
            self._flight.end_offset = min(self._flight.end_offset, offset)

    def _forget_segments(self, segments: list[LogSegment]) -> list[Step]:
        """Take segments out of the log, and return the steps that remove their files: at once, since only uncommitted records go."""
        for segment in segments:
            self._forget_segment(segment)
        return [partial(self._remove_files, segment) for segment in segments]

    def _remove_files(self, segment: LogSegment) -> None:
        segment.index.abandon()
        for path in segment_files(self.directory, segment.base_offset):
            if os.path.lexists(path):
                self._disk.remove_file(path)

    def _sync_directory(self) -> None:
        self._disk.sync_directory(self.directory)

    def _forget_segment(self, segment: LogSegment) -> None:
        self._close(segment.fd)
        index = self._segments.index(segment)
        del self._segments[index], self._bases[index]

    def start_at_snapshot(self, id: OffsetAndEpoch) -> None:
        """Drop the whole log and begin at a complete snapshot. After a crash in the middle of it, the next `open` completes it."""
        self._check()
        assert id in self._snapshots.ids, f"snapshot {id} is not there"
        lower, lift = self._point.begin_at(id.offset, id.epoch)
        # Segments behind the snapshot's end go first. If a crash left only these, the snapshot would end before the first segment: the
        # records in between would be missing, and the log could not start.
        behind = self._forget_segments([segment for segment in self._segments if segment.base_offset > id.offset])
        if behind:
            behind.append(self._sync_directory)
        before = self._forget_segments(list(self._segments))
        active = self._active = LogSegment(self._disk, self.directory, id.offset, -1, self._index_of(id.offset))
        self._segments.append(active)
        self._bases.append(id.offset)
        older = self._drop_snapshots_before(id)
        self._has_new_names = False
        self._dirty = []
        self._set_end(id.offset)
        self._start = self._flushed = id.offset
        self._epochs = []
        after = self._sync_directory, lift, partial(self.acknowledged.reach_end, id.offset)
        self._work.do(lower, *behind, *before, active.make_files, *older, *after)

    def delete_before(self, id: OffsetAndEpoch) -> None:
        """Move the log's start to a complete snapshot's end; the last segment always stays. `delete_due` removes the files."""
        self._check()
        assert id in self._snapshots.ids and id.offset <= self._end, f"snapshot {id} is not there, or behind the log's end {self._end}"
        self._start = max(self._start, id.offset)
        steps: list[Step] = []
        for segment in [segment for segment in self._segments[:-1] if segment.end_offset <= self._start]:
            steps += [partial(self._deleted.mark, path) for path in segment_files(self.directory, segment.base_offset)]
            self._dirty = [other for other in self._dirty if other is not segment]
            self._forget_segment(segment)
        self._work.do(*steps, *self._drop_snapshots_before(id), is_awaited=False)

    def _drop_snapshots_before(self, id: OffsetAndEpoch) -> list[Step]:
        """Take older snapshots out of use, and return the steps that rename their files."""
        dropped = [other for other in self._snapshots.ids if other < id]
        for older in dropped:
            self._snapshots.forget(older)
        return [partial(self._deleted.mark, self._snapshots.path(older)) for older in dropped]

    def delete_due(self, now_ms: int, delay_ms: int = DELETE_DELAY_MS) -> int | None:
        """Remove the files that were taken out of use `delay_ms` ago, counted from the first call that saw them.

        Returns the time of the next removal, None if no file waits. Errors: as for every method that writes.
        """
        self._check()
        try:
            self.acknowledged.write_committed()
            return self._deleted.remove_due(now_ms, delay_ms)
        except OSError as error:
            self._fail(error)
            raise

    # Epochs

    def write_leader_epochs(self, entries: Sequence[tuple[int, int]]) -> None:
        """Write leader-epoch-checkpoint. Nothing depends on it: each `open` derives it from the batches, and quorum-state has the epoch."""
        self._check()
        self._epochs = list(entries)
        self._work.do(self._write_epochs, is_awaited=False)

    def _write_epochs(self) -> None:
        replace_file(self._disk, os.path.join(self.directory, LEADER_EPOCH_CHECKPOINT), format_leader_epochs(self._epochs))

    # Snapshots

    def snapshots(self) -> Sequence[OffsetAndEpoch]:
        return self._snapshots.ids

    def snapshot_size(self, id: OffsetAndEpoch) -> int:
        return self._snapshots.size(id)

    def snapshot_path(self, id: OffsetAndEpoch) -> str:
        """The file of a complete snapshot; it may be renamed once a newer snapshot exists."""
        return self._snapshots.path(id)

    def read_snapshot(self, id: OffsetAndEpoch, position: int, max_size: int) -> bytes:
        return self._snapshots.read(id, position, max_size)

    def create_snapshot(self, id: OffsetAndEpoch) -> SnapshotPart:
        self._check()
        older = self._parts.pop(id, None)
        if older is not None:
            older.close()
        self._parts = {other: part for other, part in self._parts.items() if part.is_open}
        try:
            part = SnapshotPart(self._disk, id, self._snapshots.path(id), self._publish, self._fail)
        except OSError as error:
            self._fail(error)
            raise
        self._parts[id] = part
        return part

    def _publish(self, part: SnapshotPart) -> None:
        """Add a snapshot that has become complete, or remove it if the log begins behind it by now."""
        if part.id.offset < self._start:
            self._work.do(partial(self._deleted.mark, self._snapshots.path(part.id)), is_awaited=False)
        else:
            self._snapshots.add(part.id, part.size)

    # Damage

    def end_recovery(self) -> None:
        """Record that the log is whole again; durable on return, or before others see a result of the call."""
        self.recovering = None
        self._work.do(partial(remove_damage_note, self._disk, self.directory))

    # Deferred work

    def defer(self) -> None:
        """From now on, changes to more than the log's end wait until a thread carries them out; see `file_system`."""
        self._work.defer()

    def take_work(self) -> DeferredWork | None:
        """The deferred work of the calls so far, None without any. One thread carries out all of it, in order."""
        return self._work.take()

    # Closing

    def close(self) -> None:
        """Flush, finish the files and release the lock; a failed log is left as it is. No flush may be under way."""
        assert self._flight is None, "a flush is under way"
        try:
            if self._failure is None:
                self._work.finish()
                self.flush()
                self._point.sync()
                self.acknowledged.write_committed()
                self._active.index.close_files()
        finally:
            self._release()

    def _release(self) -> None:
        if not self._segments:
            return
        for part in self._parts.values():
            part.release()
        super()._release()
        self._snapshots.close()
        if self._lock is not None:
            self._lock.release()
