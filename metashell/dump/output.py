"""Where text goes: a file descriptor, or an object with `write` (tests, and callers inside a process)."""

from __future__ import annotations

import os
from collections.abc import Callable
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

    def takes_more(self) -> bool:
        """Whether a short write would not wait."""
        if self.fd is None:
            return True
        import select

        return bool(select.select((), (self.fd,), (), 0)[1])

    def write_all(self, parts: list[bytes]) -> None:
        """Write pieces of text one after another; each is freed once it is written."""
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
    """Passes text on to a terminal with what could drive the terminal escaped; every `write` is whole lines."""

    def __init__(self, fd: int, escape: Callable[[str], str]) -> None:
        super().__init__(fd)
        self._escape = escape

    def write(self, data: bytes) -> None:
        super().write(self._escape(data.decode("utf-8", "surrogateescape")).encode())


def output_for(target: int | ByteSink, form: str) -> Output:
    """The output of a run, whose text has that form; characters that would drive a terminal are escaped on one."""
    if not isinstance(target, int) or not os.isatty(target):
        return Output(target)
    from metashell.escape import terminal_json, terminal_text

    return TerminalOutput(target, terminal_json if form in ("json", "jsonl") else terminal_text)
