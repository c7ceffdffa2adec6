"""Bugs that the simulated log of groups must find: in the log, its cleaner and its recovery."""

from __future__ import annotations

from typing import Any, Final

from metashell.disk import segmented_log
from metashell.disk.segmented_log import SegmentedLog
from metashell.groups.log import compacted_log
from metashell.groups.log.compacted_log import CompactedLog
from metashell.groups.log.group_log import GroupLog
from tests.simulation.bugs import Patch, table_of


def answer_before_the_sync() -> list[Patch]:
    """Answers leave when the records are written."""
    return [(GroupLog, "is_flushed", property(lambda log: True))]


def swap_before_the_sync() -> list[Patch]:
    """A cleaned segment is put in place although its bytes are only in the cache."""

    def replace(cleaning: Any, group: Any) -> Any:
        disk = cleaning._disk
        disk.sync_file = lambda fd: None
        try:
            return original(cleaning, group)
        finally:
            del disk.sync_file

    original = segmented_log.Cleaning._replace
    return [(segmented_log.Cleaning, "_replace", replace)]


def clean_what_is_not_durable() -> list[Patch]:
    """The segments of a cleaning may hold records that a crash takes, which replaced others."""

    def take(log: Any, *about: Any) -> Any:
        log._flushed, flushed = log._end, log._flushed
        log._has_new_names = False
        try:
            return original(log, *about)
        finally:
            log._flushed = flushed

    original = CompactedLog.take_cleaning
    return [(CompactedLog, "take_cleaning", take)]


def forget_the_swap() -> list[Patch]:
    """A swap that was interrupted stays as it is: the segments that were replaced are gone, and what replaces them is not in place."""
    return [(compacted_log, "complete_swaps", lambda disk, directory, bases: list(bases))]


def abort_what_is_half_committed() -> list[Patch]:
    """Recovery looks at one partition only: a transaction without a marker there is aborted."""

    def end(log: Any) -> None:
        log._ends.clear()
        original(log)

    original = GroupLog._end_transactions
    return [(GroupLog, "_end_transactions", end)]


def sync_the_bytes_and_not_the_names() -> list[Patch]:
    """A new segment's name is not synced with its bytes."""

    def sync(log: Any, token: Any) -> None:
        token.has_new_names = False
        original(log, token)

    original = SegmentedLog._sync
    return [(SegmentedLog, "_sync", sync)]


BUGS: Final = table_of(
    answer_before_the_sync,
    swap_before_the_sync,
    clean_what_is_not_durable,
    forget_the_swap,
    abort_what_is_half_committed,
    sync_the_bytes_and_not_the_names,
)
