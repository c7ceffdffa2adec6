"""Where text goes: a file descriptor, or an object with `write` (tests, and callers inside a process)."""

from __future__ import annotations

import os
from typing import Protocol


class ByteSink(Protocol):
    """What takes bytes; a `BytesIO` is one."""

    def write(self, data: bytes, /) -> object: ...


class TextSink(Protocol):
    """What takes the lines about faults; stderr is one."""

    def write(self, text: str, /) -> object: ...


class Output:
    """Writes all of what it is given, or raises OSError. `fd` is None for an object."""

    def __init__(self, target: int | ByteSink) -> None:
        self.fd = target if isinstance(target, int) else None
        self._sink = None if isinstance(target, int) else target

    @property
    def is_terminal(self) -> bool:
        return self.fd is not None and os.isatty(self.fd)

    def takes_more(self) -> bool:
        """Whether a short write would not wait."""
        if self.fd is None:
            return True
        import select

        return bool(select.select((), (self.fd,), (), 0)[1])

    def write_all(self, parts: list[bytes]) -> None:
        """Write pieces of text one after another; each is let go of once it is written."""
        parts.reverse()
        while parts:
            self.write(parts.pop())

    def write(self, data: bytes) -> None:
        """Write all of `data`; waits where the descriptor is one that does not block."""
        if self._sink is not None:
            self._sink.write(data)
            return
        assert self.fd is not None
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self.fd, view) :]
            except BlockingIOError:
                import select

                select.select((), (self.fd,), ())


class TerminalOutput(Output):
    """Passes text on to a terminal with what could drive the terminal escaped; every `write` is whole characters."""

    def write(self, data: bytes) -> None:
        from metashell.escape import terminal_text

        super().write(terminal_text(data.decode("utf-8", "surrogateescape")).encode())
