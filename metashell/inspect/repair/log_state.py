"""Judges the log in a directory by the rules of its opening, and changes nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.disk.file_system import Disk
from metashell.disk.log_segment import SegmentIndex
from metashell.disk.opening import Opening
from metashell.disk.recovery import FoundFiles, list_files

if TYPE_CHECKING:
    from metashell.common.values import OffsetAndEpoch
    from metashell.disk.opening import OpeningPlan
    from metashell.disk.recovery import Flaw, Run


class LogState(NamedTuple):
    """What an opening would do to a log, with the files as they are now.

    `reason` says why the log cannot start, and is empty if it can. `flaws` are the places where segments would be cut, by path; `found` are
    the names in the directory. The segments of `plan.run` are closed.
    """

    found: FoundFiles
    plan: OpeningPlan | None
    flaws: dict[str, Flaw]
    run: Run | None
    reason: str = ""


class ReadingDisk(Disk):
    """The real file system for what only reads: files are opened without the right to write."""

    def open_file(self, path: str) -> int:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def judge_log(directory: str, assumed: OffsetAndEpoch | None = None) -> LogState:
    """Judge the log in a directory by the rules of `open_metadata`, and change nothing.

    `assumed` is a snapshot that is to be put there, and whole. Errors: OSError.
    """
    disk = ReadingDisk()
    found = list_files(directory)
    if assumed is not None:
        found.snapshots = sorted({*found.snapshots, assumed})

    def index_of(base_offset: int) -> SegmentIndex:
        return SegmentIndex(disk, directory, base_offset, _UNUSED_INDEX, _UNUSED_INDEX)

    plan, flaws, run, reason = Opening(disk, directory, index_of, accept_loss=True, assumed=assumed).judge(found)
    return LogState(found, plan, flaws, run, reason)


_UNUSED_INDEX: Final = 4096
"""The interval and size of indexes that are never written."""
