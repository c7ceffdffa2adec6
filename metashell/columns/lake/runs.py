"""The batches of a file that a lake lacks, as runs."""

from __future__ import annotations

from metashell.columns.lake.contradiction import Judge
from metashell.columns.lake.epochs import Epochs
from metashell.columns.lake.ledger import Anchor, LogState


class Runs:
    """Gathers the batches that are not covered to runs, each with its bytes, its first and its last batch, and where that starts.

    `known` is the first offset of a batch that is covered. `epochs` are those of the others; nothing
    is known of them where offsets or epochs do not grow: the log is damaged.
    """

    def __init__(self, now: LogState, judge: Judge) -> None:
        self.runs: list[tuple[int, int, Anchor, Anchor, int]] = []
        self.first: Anchor | None = None
        self.last: Anchor | None = None
        self.position = -1
        self.reached = 0
        self.known: int | None = None
        self.epochs = Epochs()
        self._is_odd = False
        self._offsets = now.offsets
        self._judge = judge

    def visit(self, start: int, end: int, batch: Anchor) -> None:
        if self.first is None:
            self.first = batch
        if self.last is not None and (batch.base <= self.last.last or batch.epoch < self.last.epoch):
            self._is_odd, self.epochs = True, Epochs()
        self.last, self.position = batch, start
        self.reached = max(self.reached, batch.last + 1)
        self._judge.see(batch)
        if self._offsets.has(batch.base, batch.last + 1):
            self.known = batch.base if self.known is None else self.known
            return
        if not self._is_odd:
            self.epochs.add(batch.base, batch.last + 1, batch.epoch)
        if self.runs and self.runs[-1][1] == start:
            self.runs[-1] = (self.runs[-1][0], end, self.runs[-1][2], batch, start)
        else:
            self.runs.append((start, end, batch, batch, start))
