"""The leader epoch cache on disk, held against the epochs of the log's batches.

Each entry is an epoch and the offset at which it starts. An epoch without records has an entry too; entries that end before the log
starts are dropped, and the first that is left starts where the log does. Source: kraft.md 10.1; LeaderEpochFileCache.
"""

from __future__ import annotations

from itertools import pairwise

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
    for entry in entries:
        if entry.start_offset > end:
            what = f"epoch {entry.epoch} starts at offset {entry.start_offset}, past the log's end, {end}: it is dropped at the next start"
            report.note(path, what, offset=entry.start_offset)
    for number, (epoch, first_offset) in enumerate(state.epochs):
        _check_epoch(path, entries, epoch, first_offset, report, is_first=number == 0)


def _check_order(path: str, entries: tuple[EpochEntry, ...], report: Report) -> None:
    for before, entry in pairwise(entries):
        if entry.epoch <= before.epoch or entry.start_offset < before.start_offset:
            what = f"entry {entry.epoch} {entry.start_offset} does not ascend after {before.epoch} {before.start_offset}"
            report.error(path, what, offset=entry.start_offset)


def _check_epoch(path: str, entries: tuple[EpochEntry, ...], epoch: int, first_offset: int, report: Report, *, is_first: bool) -> None:
    """Hold one epoch of the log against its entry. The log may have records below its start offset, which nothing here tells."""
    entry = next((entry for entry in entries if entry.epoch == epoch), None)
    if entry is None:
        is_dropped = bool(entries) and epoch < entries[0].epoch
        if not is_dropped:
            report.error(path, f"epoch {epoch}, which starts in the log at offset {first_offset}, has no entry", offset=first_offset)
    elif entry.start_offset != first_offset and not is_first and entry is not entries[0]:
        what = f"epoch {epoch} starts at offset {entry.start_offset}, but in the log at {first_offset}"
        report.error(path, what, offset=first_offset)
    elif entry.start_offset > first_offset and entry is not entries[0]:
        what = f"epoch {epoch} starts at offset {entry.start_offset}, but the log has it at {first_offset}"
        report.error(path, what, offset=first_offset)
