"""Logs of groups read to their end: one fold for each partition, and what was wrong with the files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from metashell.codec.compression import MAX_DECOMPRESSED
from metashell.codec.framing import Frame
from metashell.errors import DecodeError
from metashell.log.order import OrderCheck
from metashell.log.segment import TakesFrames
from metashell.log.source_fault import SourceFault
from metashell.offsets_log.decoding import Decoder
from metashell.offsets_log.fold import Fold, RawRecord
from metashell.offsets_log.inputs import PartitionLog, offsets_logs
from metashell.offsets_log.merged import batches_of, newest_first
from metashell.uncollected import Uncollected

FAULTS_MAX = 100


class LoadedLog(NamedTuple):
    """A partition's log and what it says."""

    log: PartitionLog
    fold: Fold


class Loaded:
    """All logs that were named.

    Shape: `faults` are places that could not be used, torn tails among them: the first `FAULTS_MAX`. `fault_count` counts them all, but not
    the torn tails. `notes` are about paths that were passed over.
    """

    def __init__(self) -> None:
        self.logs: list[LoadedLog] = []
        self.faults: list[SourceFault] = []
        self.fault_count = 0
        self.notes: list[str] = []

    def add_fault(self, fault: SourceFault) -> None:
        """Note a fault: of very many only the first are kept."""
        if not fault.is_tail:
            self.fault_count += 1
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(fault)


def load(
    paths: Sequence[str],
    *,
    wants: Callable[[RawRecord], bool] | None = None,
    mark: bytes | None = None,
    max_decompressed: int = MAX_DECOMPRESSED,
    has_past: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Loaded:
    """Read the logs at some paths; `wants` and `mark` as in `Fold`. `progress` gets the bytes that were read and those that there are.

    Of several copies the newest one counts; with `has_past`, and where the newest one is damaged, they are merged.
    Errors: UsageError for a path without such a log.
    """
    loaded = Loaded()
    reader = _Reader(loaded, wants, mark, max_decompressed, has_past=has_past)
    with Uncollected():
        unusable: list[SourceFault] = []
        logs = [newest_first(log) for log in offsets_logs(paths, loaded.notes, unusable)]
        for fault in unusable:
            loaded.add_fault(fault)
        reader.meter = _Meter(logs, progress, has_past=has_past)
        for log in logs:
            loaded.logs.append(LoadedLog(log, reader.fold_of(log)))
    return loaded


class _Meter:
    """Counts bytes."""

    def __init__(self, logs: Sequence[PartitionLog], progress: Callable[[int, int], None] | None, *, has_past: bool) -> None:
        self._progress = progress
        self._done = 0
        copies = [] if progress is None else [copy for log in logs for copy in (log.copies if has_past else log.copies[:1])]
        self._all = sum(_size_of(file.path) for copy in copies for file in copy)

    def add(self, size: int) -> None:
        """Say that some more bytes were read."""
        if self._progress is not None:
            self._done += size
            self._progress(self._done, max(self._all, self._done))


def _size_of(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


class _Reader:
    def __init__(
        self, loaded: Loaded, wants: Callable[[RawRecord], bool] | None, mark: bytes | None, max_decompressed: int, *, has_past: bool
    ) -> None:
        self.meter = _Meter((), None, has_past=has_past)
        self._mark = mark
        self._loaded = loaded
        self._wants = wants
        self._max_decompressed = max_decompressed
        self._has_past = has_past
        self._decoder = Decoder()

    def fold_of(self, log: PartitionLog) -> Fold:
        """The fold of a log whose newest copy is the first one."""
        is_merged = self._has_past or len(log.copies) == 1
        fold, faults = self._read(log if is_merged else log._replace(copies=log.copies[:1]))
        # What wants records has had them: it gets none twice.
        if not is_merged and self._wants is None and not all(fault.is_tail for fault in faults):
            text = "its newest copy is damaged; older ones fill in what it lacks, and may bring back what was deleted since"
            self._loaded.notes.append(f"{log.name}: {text}")
            fold, faults = self._read(log)
        for fault in faults:
            self._loaded.add_fault(fault)
        return fold

    def _read(self, log: PartitionLog) -> tuple[Fold, list[SourceFault]]:
        fold = Fold(self._decoder, self._wants, self._max_decompressed, self._mark)

        def quick(order: OrderCheck) -> TakesFrames | None:
            takes = fold.quick(order)
            if takes is None:
                return None

            def metered(buf: bytes, frames: list[Frame], first: int) -> int:
                done = takes(buf, frames, first)
                if done > first:
                    at, size = frames[done - 1]
                    self.meter.add(at + size - frames[first][0])
                return done

            return metered

        faults: list[SourceFault] = []
        for item in batches_of(log, quick):
            if isinstance(item, SourceFault):
                faults.append(item)
                continue
            self.meter.add(len(item.data))
            try:
                fold.add(item)
            except DecodeError as error:
                place = item.header.base_offset
                faults.append(SourceFault(item.file, place, item.position, f"offset {place}: {error}"))
        return fold, faults
