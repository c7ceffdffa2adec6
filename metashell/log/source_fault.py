"""A part of a source that could not be read."""

from typing import NamedTuple

from metashell.log.segment import BatchFault


class SourceFault(NamedTuple):
    """One place in a source that could not be used.

    `offset` is the log offset there, -1 if unknown; `position` the byte in `file`, -1 where the fault is no place in it (a
    missing file). A fault that `is_tail` is the normal end of a running or stopped node's last segment.
    """

    file: str
    offset: int
    position: int
    reason: str
    is_tail: bool = False

    def __str__(self) -> str:
        place = f"byte {self.position}: " if self.position >= 0 else ""
        return f"{self.file}: {place}{self.reason}"


def fault_of(item: BatchFault, *, is_last: bool = False) -> SourceFault:
    """The source's fault for one in a file; `is_last` if the file is the last segment of a directory."""
    offset = -1 if item.offset is None else item.offset
    return SourceFault(item.file, offset, item.position, item.reason, is_tail=is_last and item.may_be_tail)
