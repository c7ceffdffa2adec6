"""Goes on with a file or directory as it grows: new batches, the next segment, and what is taken away again.

A log shrinks when its node cuts off what a new leader does not have: that is a `truncated` line, and what is written
in its place follows. Nothing is locked; the file's size is read a few times a second.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from metashell.codec.framing import Stop
from metashell.dump.inputs import Input, directory_input
from metashell.dump.own.json_lines import JsonWriter
from metashell.dump.own.session import Session
from metashell.dump.windows import format_window
from metashell.dump.writer import Place
from metashell.log.listed_files import ListedFile
from metashell.log.window_reader import WindowReader

POLL_INTERVAL_S = 0.2


def follow(
    session: Session,
    entry: Input,
    last: Place,
    wait: Callable[[], bool] | None = None,
) -> None:
    """Dump `entry` and then whatever is added to it, until interrupted.

    `wait` pauses between two looks and says whether to go on; without it that is a short sleep, for ever.
    """
    wait = wait or _sleep
    following: Input | None = entry
    while following is not None:
        with following.open() as file:
            writer = session.writer(following, file, last, is_followed=file.size() is not None)
            reader = session.reader(file)
            stop = session.walk(writer, reader)
            session.report(following.label, writer.take_findings())
            if file.size() is None:
                return  # a stream has no end to wait at
            following = _Follower(session, following, writer, reader).go_on(stop, wait)
            last = writer.last


def _sleep() -> bool:
    time.sleep(POLL_INTERVAL_S)
    return True


class _Follower:
    """Follows one file from where its dump ended."""

    def __init__(self, session: Session, entry: Input, writer: JsonWriter, reader: WindowReader) -> None:
        self.session = session
        self.entry = entry
        self.writer = writer
        self.reader = reader

    def go_on(self, stop: Stop, wait: Callable[[], bool]) -> Input | None:
        """Write what is added; returns the segment that comes after this one, None when there is no more to wait for."""
        position = stop.position
        while not self._is_hopeless(stop):
            # Look for a next segment first: what was appended to this one before that began must be seen too.
            next_segment = self._next_segment()
            self.reader.grow()
            size = self.reader.end or 0
            if size < position:
                position = self._shrank(position, size)
                continue
            window = self.reader.read(position)
            if window.stop is not None:
                stop = window.stop
                window.stop = None
            format_window(self.writer, window)
            self._flush()
            if window.next == position:
                if next_segment is not None:
                    return next_segment
                if not wait():
                    return None
            position = window.next
        return None

    def _flush(self) -> None:
        self.session.output.write_all(self.writer.take())
        self.session.report(self.entry.label, self.writer.take_findings())

    def _shrank(self, position: int, size: int) -> int:
        self.writer.shrank(position, size)
        self._flush()
        return size

    def _is_hopeless(self, stop: Stop) -> bool:
        """Whether the bytes at the end can never become a batch; zeros can, they are space kept for later."""
        if stop.kind not in ("bad-size", "too-large") or stop.length == 0:
            return False
        self.writer.is_followed = False
        self.writer.stop(stop)
        self._flush()
        return True

    def _next_segment(self) -> Input | None:
        directory = self.entry.directory
        if directory is None:
            return None
        names = [segment.name for segment in directory.list().segments]
        here = os.path.basename(self.entry.label)
        later = [name for name in names if name > here]
        return directory_input(directory, ListedFile(later[0], may_end_early=True), self.entry.log) if later else None
