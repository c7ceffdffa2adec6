"""Blocks in which Python's garbage collector rests."""

from __future__ import annotations

import gc
from types import TracebackType


class Uncollected:
    """A block that makes very many objects and hardly a cycle of them: looking for cycles would take a quarter of its time, or more.

    With `freezes` what was made is out of the collector's sight afterwards, too: for what lives long.
    """

    def __init__(self, *, freezes: bool = False) -> None:
        self._freezes = freezes
        self._was_enabled = False

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._freezes:
            gc.freeze()
        if self._was_enabled:
            gc.enable()
