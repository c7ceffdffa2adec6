"""Logs of groups read to their end: one fold for each partition, and what was wrong with the files."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
from metashell.offsets_log.merged import batches_of

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


@contextmanager
def many_objects() -> Iterator[None]:
    """A block that makes very many objects and no cycles of them: looking for cycles would take most of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def load(
    paths: Sequence[str],
    *,
    wants: Callable[[RawRecord], bool] | None = None,
    mark: bytes | None = None,
    max_decompressed: int = MAX_DECOMPRESSED,
    progress: Callable[[int, int], None] | None = None,
) -> Loaded:
    """Read the logs at some paths; `wants` and `mark` as in `Fold`. `progress` gets the bytes that were read and those that there are.

    Errors: UsageError for a path without such a log.
    """
    loaded = Loaded()
    decoder = Decoder()
    with many_objects():
        unusable: list[SourceFault] = []
        logs = offsets_logs(paths, loaded.notes, unusable)
        for fault in unusable:
            loaded.add_fault(fault)
        meter = _Meter(logs, progress)
        for log in logs:
            fold = Fold(decoder, wants, max_decompressed, mark)
            _read(log, fold, loaded, meter)
            loaded.logs.append(LoadedLog(log, fold))
    return loaded


class _Meter:
    """Counts bytes."""

    def __init__(self, logs: Sequence[PartitionLog], progress: Callable[[int, int], None] | None) -> None:
        self._progress = progress
        self._done = 0
        self._all = 0 if progress is None else sum(_size_of(file.path) for log in logs for copy in log.copies for file in copy)

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


def _read(log: PartitionLog, fold: Fold, loaded: Loaded, meter: _Meter) -> None:
    def quick(order: OrderCheck) -> TakesFrames | None:
        takes = fold.quick(order)
        if takes is None:
            return None

        def metered(buf: bytes, frames: list[Frame], first: int) -> int:
            done = takes(buf, frames, first)
            if done > first:
                at, size = frames[done - 1]
                meter.add(at + size - frames[first][0])
            return done

        return metered

    for item in batches_of(log, quick):
        if isinstance(item, SourceFault):
            loaded.add_fault(item)
            continue
        meter.add(len(item.data))
        try:
            fold.add(item)
        except DecodeError as error:
            loaded.add_fault(SourceFault(item.file, item.header.base_offset, item.position, f"offset {item.header.base_offset}: {error}"))
