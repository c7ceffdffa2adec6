"""A progress bar on a terminal: how much is done, how many rows a second, how long it still takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO


class ProgressBar:
    """Takes how many bytes there are and how many are done; shows nothing without a bar."""

    def __init__(self, bar: Any = None) -> None:
        self._bar = bar
        self._task: Any = None
        self._rows = 0

    def start(self, total_bytes: int) -> None:
        if self._bar is not None:
            self._task = self._bar.add_task("export", total=max(total_bytes, 1), rate="")
            self._bar.start()

    def advance(self, done_bytes: int, rows: int) -> None:
        if self._bar is None:
            return
        self._rows += rows
        task = self._bar.tasks[self._task]
        elapsed = task.elapsed or 0.0
        rate = f"{self._rows / elapsed:,.0f} rows/s" if elapsed > 0 else ""
        self._bar.update(self._task, advance=done_bytes, rate=rate)


@contextmanager
def progress_bar(out: TextIO, *, is_shown: bool) -> Iterator[ProgressBar]:
    """A bar for as long as the block runs."""
    if not is_shown:
        yield ProgressBar()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), DownloadColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(file=out), transient=True)
    try:
        yield ProgressBar(bar)
    finally:
        bar.stop()
