"""One JSON array instead of a line for each object: what `-o json` gives."""

from __future__ import annotations

from contextlib import nullcontext
from types import TracebackType
from typing import Self

from metashell.dump.options import DumpOptions
from metashell.dump.output import Output


def json_form(options: DumpOptions, output: Output) -> ArrayOutput | nullcontext[Output]:
    """What to write lines to, inside a `with`, so that they come out as the form that was asked for."""
    return ArrayOutput(output) if options.output == "json" else nullcontext(output)


class ArrayOutput(Output):
    """Passes lines of JSON on as the elements of an array; every `write` is a number of whole lines."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._is_empty = True
        self._target = output

    def write(self, data: bytes) -> None:
        if not data:
            return
        before = b"[\n" if self._is_empty else b",\n"
        self._is_empty = False
        super().write(before + data.removesuffix(b"\n").replace(b"\n", b",\n"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # After Ctrl-C nobody waits for a reader that has stalled, only to close the array.
        is_interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        if (is_interrupted and not self._target.takes_more()) or (kind is not None and issubclass(kind, OSError)):
            return
        super().write(b"[]\n" if self._is_empty else b"\n]\n")
