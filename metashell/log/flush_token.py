"""One flush of a log, and the error of a log that writes nothing any more."""

from __future__ import annotations


class LogStoppedError(OSError):
    """Writing was refused because an earlier step on the disk failed, or the log is closed."""


class FlushToken:
    """One flush: the segments it has to sync, and the offset before which all is durable then."""

    __slots__ = ("end_offset", "fds", "has_new_names")

    def __init__(self, end_offset: int, fds: list[int], has_new_names: bool) -> None:
        self.end_offset = end_offset
        self.fds = fds
        self.has_new_names = has_new_names
