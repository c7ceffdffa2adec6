"""The signals that end a command which runs until it is told to stop.

They are noted from the moment that `watch` is called, so none is lost while modules are imported or files are made, where an exception
could be dropped or leave something behind. They are raised only where waiting can be left: inside of `raised`.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopRequested(BaseException):
    """A signal said to stop; `number` is which."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class StopSignals:
    """`noted` is the first of the signals that came, 0 for none; `watched` are those that can. Only the main thread may call anything."""

    def __init__(self) -> None:
        self.noted = 0
        self.watched: list[signal.Signals] = []
        self._raises = False

    def watch(self) -> None:
        """From now on signals are noted, but for SIGHUP where nohup has it ignored."""
        is_detached = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        self.watched = [number for number in STOP_SIGNALS if number != signal.SIGHUP or not is_detached]
        for number in self.watched:
            signal.signal(number, self._note)

    def ignore(self) -> None:
        """From now on signals do nothing: stopping takes a moment, and leaves nothing half done."""
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Here a signal, also one that came before, is StopRequested."""
        try:
            self._raises = True
            if self.noted:
                raise StopRequested(self.noted)
            yield
        finally:
            self._raises = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.noted = self.noted or number
        if self._raises:
            self._raises = False
            raise StopRequested(number)


@contextmanager
def left_in_order() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP end the program as an exit does, so that what it has on disk is removed."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(_KILLED + number)

    numbers = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    before = [(number, signal.signal(number, leave)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


_KILLED = 128
