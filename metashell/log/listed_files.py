"""Which files a log's directory stands for."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from metashell.errors import UsageError
from metashell.log.directory import Listing
from metashell.log.files import OpenFile
from metashell.log.source_fault import SourceFault


class ListedFile(NamedTuple):
    """A file of a log's directory.

    `may_end_early` marks the last segment, whose torn or empty tail is no fault. `follows` is the offset before a segment's first one,
    where a checkpoint says that and the segment begins later.
    """

    name: str
    is_checkpoint: bool = False
    may_end_early: bool = False
    follows: int | None = None


def listed_files(
    listing: Listing,
    open_name: Callable[[str], OpenFile],
    *,
    every_checkpoint: bool = False,
    shows_damaged: bool = False,
    passed_over: list[SourceFault] | None = None,
) -> Iterator[ListedFile]:
    """The files that a log's directory stands for, in order: its segments, and first the checkpoint that they need.

    They need the newest complete one where they do not begin at offset 0. With `every_checkpoint` all are given. With `shows_damaged`
    the newest one stands in where none is complete: a dump shows what it has and what it lacks, while no table may be made of it.
    What no checkpoint stands for has to begin at offset 0, which matters to logs without gaps only. What is wrong with the checkpoints
    that are newer than the one that was chosen is added to `passed_over`.
    """
    segments = listing.segments
    begin = segments[0].base_offset if segments else None
    follows: int | None = None if listing.checkpoints and begin != 0 else -1
    if every_checkpoint:
        yield from (ListedFile(entry.name, is_checkpoint=True) for entry in listing.checkpoints)
    elif begin != 0 and listing.checkpoints:
        faults = passed_over if passed_over is not None else []
        complete = next((entry for entry in listing.checkpoints if _is_complete(entry.name, open_name, faults)), None)
        if complete is not None or shows_damaged:
            yield ListedFile((complete or listing.checkpoints[0]).name, is_checkpoint=True)
        if complete is not None and begin is not None and begin > complete.snapshot_id.offset:
            follows = complete.snapshot_id.offset - 1
    for segment in segments:
        yield ListedFile(segment.name, may_end_early=segment is segments[-1], follows=follows)
        follows = None


def _is_complete(name: str, open_name: Callable[[str], OpenFile], passed_over: list[SourceFault]) -> bool:
    from metashell.log.snapshot import first_snapshot_fault

    try:
        with open_name(name) as file:
            fault = first_snapshot_fault(file)
    except (OSError, UsageError):
        return False  # a running node has removed it, or it may not be read
    if fault is not None:
        passed_over.append(fault)
    return fault is None
