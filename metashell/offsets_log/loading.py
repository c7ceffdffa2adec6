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


def load(paths: Sequence[str], *, wants: Callable[[RawRecord], bool] | None = None, max_decompressed: int = MAX_DECOMPRESSED) -> Loaded:
    """Read the logs at some paths; `wants` as in `Fold`. Errors: UsageError for a path without such a log."""
    loaded = Loaded()
    decoder = Decoder()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        unusable: list[SourceFault] = []
        logs = offsets_logs(paths, loaded.notes, unusable)
        for fault in unusable:
            loaded.add_fault(fault)
        for log in logs:
            loaded.logs.append(LoadedLog(log, _fold_of(log, decoder, wants, loaded, max_decompressed)))
    finally:
        if was_enabled:
            gc.enable()
    return loaded


def _fold_of(log: PartitionLog, decoder: Decoder, wants: Callable[[RawRecord], bool] | None, loaded: Loaded, max_decompressed: int) -> Fold:
    fold = Fold(decoder, wants, max_decompressed)
    for item in batches_of(log, fold.quick):
        if isinstance(item, SourceFault):
            loaded.add_fault(item)
            continue
        try:
            fold.add(item)
        except DecodeError as error:
            loaded.add_fault(SourceFault(item.file, item.header.base_offset, item.position, f"offset {item.header.base_offset}: {error}"))
    return fold
