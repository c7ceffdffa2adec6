"""Logs of groups read to their end: one fold for each partition, and what was wrong with the files."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import NamedTuple

from metashell.codec.compression import MAX_DECOMPRESSED
from metashell.errors import DecodeError
from metashell.log.source_fault import SourceFault
from metashell.offsets_log.decoding import Decoder
from metashell.offsets_log.fold import Fold, RawRecord
from metashell.offsets_log.inputs import PartitionLog, offsets_logs
from metashell.offsets_log.merged import batches_of, newest_first

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
    max_decompressed: int = MAX_DECOMPRESSED,
    has_past: bool = False,
) -> Loaded:
    """Read the logs at some paths; `wants` as in `Fold`.

    Of several copies the newest one counts; with `has_past`, and where the newest one is damaged, they are merged.
    Errors: UsageError for a path without such a log.
    """
    loaded = Loaded()
    reader = _Reader(loaded, wants, max_decompressed, has_past=has_past)
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        unusable: list[SourceFault] = []
        logs = offsets_logs(paths, loaded.notes, unusable)
        for fault in unusable:
            loaded.add_fault(fault)
        for log in map(newest_first, logs):
            loaded.logs.append(LoadedLog(log, reader.fold_of(log)))
    finally:
        if was_enabled:
            gc.enable()
    return loaded


class _Reader:
    def __init__(self, loaded: Loaded, wants: Callable[[RawRecord], bool] | None, max_decompressed: int, *, has_past: bool) -> None:
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
        fold = Fold(self._decoder, self._wants, self._max_decompressed)
        faults: list[SourceFault] = []
        for item in batches_of(log, fold.quick):
            if isinstance(item, SourceFault):
                faults.append(item)
                continue
            try:
                fold.add(item)
            except DecodeError as error:
                place = item.header.base_offset
                faults.append(SourceFault(item.file, place, item.position, f"offset {place}: {error}"))
        return fold, faults
