"""How a log directory becomes a log that can be written: what recovery found is decided on, then carried out and synced.

Nothing is changed before it is known that the log can start. Each change may be the last one before a crash: the next opening then finds a
directory that leads to the same log.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass

from metashell.log.atomic_file import replace_file
from metashell.log.disk import Disk
from metashell.log.log_segment import LogSegment
from metashell.log.names import LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA, checkpoint_name
from metashell.log.recovery import (
    IndexOf,
    Repair,
    Run,
    Scan,
    list_files,
    segment_files,
    start_offset_of,
    start_over_at,
)
from metashell.log.text_checkpoints import format_leader_epochs, format_topic_id
from metashell.log.text_files import read_text_file
from metashell.values import METADATA_TOPIC_ID, OffsetAndEpoch


@dataclass(slots=True)
class Opened:
    """A recovered log: its segments are open, the last one active, and all of it is durable."""

    segments: list[LogSegment]
    start_offset: int
    epochs: list[tuple[int, int]]
    snapshots: list[OffsetAndEpoch]
    repairs: list[Repair]


class Opening:
    """One recovery of a directory."""

    def __init__(self, disk: Disk, directory: str, index_of: IndexOf) -> None:
        self._disk = disk
        self._directory = directory
        self._index_of = index_of
        self._repairs: list[Repair] = []
        self._scan = Scan(disk, directory, index_of)

    def run(self) -> Opened:
        """Errors: OSError; LogCorruptError for a log that cannot start. Nothing stays open then."""
        try:
            return self._run()
        except BaseException:
            for run in self._scan.runs:
                for segment in run.segments:
                    segment.index.abandon()
                    if segment.fd >= 0:
                        with suppress(OSError):
                            self._disk.close_file(segment.fd)
            raise

    def _run(self) -> Opened:
        found = list_files(self._directory)
        self._scan.read(found.segments)
        run = self._scan.choose(found.snapshots)
        over = start_over_at(run, found.snapshots)
        if run is None or over is not None:
            start = over.offset if over is not None else 0
            run = None
        else:
            start = start_offset_of(self._directory, run, found.snapshots)
        for name in found.leftovers:
            self._remove(os.path.join(self._directory, name))
        self._drop_runs_but(run, over)
        snapshots = self._drop_snapshots(found.snapshots, over, start)
        run = self._cut(run) if run is not None else self._begin(start)
        self._sync(run)
        self._finish_indexes(run)
        epochs = _epochs_from(run, start)
        self._write_texts(epochs)
        return Opened(run.segments, start, epochs, snapshots, self._repairs)

    def _remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._disk.remove_file(path)

    def _drop_runs_but(self, kept: Run | None, over: OffsetAndEpoch | None) -> None:
        """Remove the segments that are no part of the log."""
        dropped = [segment for run in self._scan.runs if run is not kept for segment in run.segments]
        if over is not None:
            # As in MetadataLog.start_at_snapshot: what lies behind the snapshot must not be all that a crash leaves.
            behind = [segment for segment in dropped if segment.base_offset > over.offset]
            dropped = [segment for segment in dropped if segment not in behind]
            self._drop_segments(behind, over)
            if behind:
                self._disk.sync_directory(self._directory)
        self._drop_segments(dropped, over)
        self._scan.runs = [run for run in self._scan.runs if run is kept]

    def _drop_segments(self, segments: list[LogSegment], over: OffsetAndEpoch | None) -> None:
        for segment in segments:
            reason = "does not join the log" if over is None else f"the log starts anew at snapshot {checkpoint_name(over)}"
            self._repairs.append(Repair(segment.name, 0, reason))
            self._disk.close_file(segment.fd)
            segment.fd = -1
            for path in segment_files(self._directory, segment.base_offset):
                if os.path.lexists(path):
                    self._remove(path)

    def _drop_snapshots(self, ids: list[OffsetAndEpoch], over: OffsetAndEpoch | None, start: int) -> list[OffsetAndEpoch]:
        """Remove the snapshots that lie before the log; the others."""
        kept = [id for id in ids if id.offset >= start and not (over is not None and id < over)]
        for id in ids:
            if id not in kept:
                self._remove(os.path.join(self._directory, checkpoint_name(id)))
        return kept

    def _cut(self, run: Run) -> Run:
        """Cut the last segment where its good batches end."""
        last = run.segments[-1]
        repair = self._scan.cuts.get(last.path)
        if repair is not None:
            self._disk.truncate(last.fd, last.size)
            self._repairs.append(repair)
        return run

    def _begin(self, offset: int) -> Run:
        """A log without batches."""
        run = Run([LogSegment.create(self._disk, self._directory, offset, self._index_of(offset))])
        self._scan.runs.append(run)
        return run

    def _sync(self, run: Run) -> None:
        """Make durable what was found and what was changed."""
        for segment in run.segments:
            self._disk.sync_file(segment.fd)
        self._disk.sync_directory(self._directory)

    def _finish_indexes(self, run: Run) -> None:
        for segment in run.segments:
            segment.index.end_recovery()
        for segment in run.segments[:-1]:
            segment.index.write_closed()
        if not run.segments[-1].index.is_open:
            run.segments[-1].index.open_files()

    def _write_texts(self, epochs: list[tuple[int, int]]) -> None:
        for name, data in (
            (LEADER_EPOCH_CHECKPOINT, format_leader_epochs(epochs)),
            (PARTITION_METADATA, format_topic_id(METADATA_TOPIC_ID)),
        ):
            path = os.path.join(self._directory, name)
            if not _holds(path, data):
                replace_file(self._disk, path, data)


def _epochs_from(run: Run, start: int) -> list[tuple[int, int]]:
    """The epochs of the batches from `start` on; the one that holds it begins there."""
    if start >= run.end_offset:
        return []
    before = [epoch for epoch, offset in run.epochs if offset <= start]
    return [*((epoch, start) for epoch in before[-1:]), *((epoch, offset) for epoch, offset in run.epochs if offset > start)]


def _holds(path: str, data: bytes) -> bool:
    try:
        return read_text_file(path) == data
    except FileNotFoundError:
        return False
