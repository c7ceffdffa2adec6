"""The leader epoch cache on disk, held against the epochs of the log's batches.

Each entry is an epoch and the offset at which it starts. An epoch without records has an entry too; entries that end before the log
starts are dropped, and the first that is left starts where the log does. Source: LeaderEpochFileCache.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from metashell.log.text_checkpoints import EpochEntry, read_leader_epochs
from metashell.verify.finding import Report
from metashell.verify.small_files import read_small
from metashell.verify.walk import LogState


def check_epoch_cache(path: str, state: LogState, report: Report) -> None:
    """Check a leader-epoch-checkpoint against the log beside it."""
    entries = read_small(path, report, read_leader_epochs)
    if entries is None:
        return
    _check_order(path, entries, report)
    if state.first_offset is None or not state.is_certain:
        return
    end = state.end_offset
    for run in _runs(state, end):
        _check_run(path, entries, run, report)


def _check_order(path: str, entries: tuple[EpochEntry, ...], report: Report) -> None:
    for before, entry in pairwise(entries):
        if entry.epoch <= before.epoch or entry.start_offset < before.start_offset:
            what = f"entry {entry.epoch} {entry.start_offset} does not ascend after {before.epoch} {before.start_offset}"
            report.error(path, what, offset=entry.start_offset)


class _Run(NamedTuple):
    """The batches of one epoch in the log: all lie in [first_offset, end_offset), and it can have begun at `start_min`.

    Compaction takes batches away, so in the log of a topic an epoch can have begun before its first batch.
    """

    epoch: int
    start_min: int
    first_offset: int
    end_offset: int


def _runs(state: LogState, end_offset: int) -> Iterator[_Run]:
    ends = [*state.epoch_start_mins[1:], end_offset]
    for (epoch, first_offset), start_min, run_end in zip(state.epochs, state.epoch_start_mins, ends, strict=True):
        yield _Run(epoch, start_min, first_offset, run_end)


def _check_run(path: str, entries: tuple[EpochEntry, ...], run: _Run, report: Report) -> None:
    """Hold one epoch of the log against its entry. The log may have records below its start offset, where the first entry begins."""
    log_start = entries[0].start_offset if entries else -1
    if log_start >= run.end_offset:
        return
    entry = next((entry for entry in entries if entry.epoch == run.epoch), None)
    if entry is None:
        what = f"epoch {run.epoch}, which starts in the log at offset {run.first_offset}, has no entry"
        report.error(path, what, offset=run.first_offset)
    elif not run.start_min <= entry.start_offset <= run.first_offset and entry is not entries[0]:
        what = f"epoch {run.epoch} starts at offset {entry.start_offset}, but in the log at {run.first_offset}"
        report.error(path, what, offset=run.first_offset)
