"""Whether a log is the one that a lake has, by the batches that both have, and by the epochs of their offsets."""

from __future__ import annotations

from bisect import bisect_left

from metashell.columns.lake.given import Given, differs
from metashell.columns.lake.ledger import Anchor, LogKey, LogState
from metashell.errors import UsageError
from metashell.log.inputs import InputFile
from metashell.log.kinds import METADATA


class Judge:
    """Sees the batches of a file in order, and holds them against the anchors of its log.

    `fault` is the first batch that differs, `good_to` the offset after the last one before it that is equal. Along a metadata log epochs
    grow: a batch of an older one than is known before it differs too, unless it `may_fall`.
    """

    def __init__(self, file: InputFile, known: LogState, *, may_fall: bool = False) -> None:
        self.file = file
        self.fault: Anchor | None = None
        self.good_to = 0
        self.is_proved = False
        self._is_exact = file.log == METADATA
        self._may_fall = may_fall
        self._offsets = known.offsets
        self._anchors = known.anchors
        self._lasts = sorted(known.anchors)
        self._epochs = known.epochs

    def see(self, batch: Anchor) -> None:
        at = bisect_left(self._lasts, batch.base)
        while at < len(self._lasts) and self._lasts[at] <= batch.last:
            self._hold(batch, self._anchors[self._lasts[at]])
            at += 1
        if self._is_exact and at < len(self._lasts) and self._anchors[self._lasts[at]].base <= batch.last:
            self._differs(batch)  # it ends within a batch that the lake has
        if batch.epoch >= 0 and any(self._epochs.at(offset) not in (None, batch.epoch) for offset in (batch.base, batch.last)):
            self._differs(batch)
        if self._is_exact and not self._may_fall and self._newer_before(batch) is not None:
            self._differs(batch)

    def _newer_before(self, batch: Anchor) -> int | None:
        """The newest epoch that is known before a batch, if its own is older; else None."""
        newest = self._epochs.newest_before(batch.base)
        return newest if 0 <= batch.epoch < newest else None

    def _hold(self, batch: Anchor, anchor: Anchor) -> None:
        is_same = batch == anchor if self._is_exact else -1 in (batch.epoch, anchor.epoch) or batch.epoch == anchor.epoch
        if not is_same:
            self._differs(batch)
        elif self.fault is None:
            self.is_proved = True
            self.good_to = max(self.good_to, batch.last + 1)

    def _differs(self, batch: Anchor) -> None:
        if self.fault is None:
            self.fault = batch

    def require(self, lake: LogState | None, given: Given, key: LogKey) -> None:
        """Errors: UsageError where a batch is not the one that the lake, or a file that was `given` before, has at its offsets."""
        if self.fault is None:
            return
        path, there = self.file.path, self._epoch_there(self.fault)
        newer = self._newer_before(self.fault) if there is None else None
        if lake is None or not self._is_at_odds(self.fault, lake):
            other = given.at(key, self.fault.base) or given.at(key, self.fault.last) or given.before(key, self.fault.base)
            raise differs(path, self.fault, other, there, newer)
        what = "not what the lake has there" if newer is None else f"epoch {self.fault.epoch}, and the lake has epoch {newer} before it"
        raise UsageError(
            f"{path}: offset {self.fault.base}: {what}: the log was cut and written anew, or it is another log; "
            "--replace removes what differs and writes it anew",
            path,
        )

    def _is_at_odds(self, batch: Anchor, known: LogState) -> bool:
        """Whether a batch differs from what the lake itself has."""
        judge = Judge(self.file, known)
        judge.see(batch)
        return judge.fault is not None

    def _epoch_there(self, batch: Anchor) -> int | None:
        """The epoch that is known of a batch's offsets and is not its own; None where there is no such."""
        at = bisect_left(self._lasts, batch.base)
        anchor = self._anchors[self._lasts[at]] if at < len(self._lasts) else None
        known = [self._epochs.at(batch.base), self._epochs.at(batch.last)]
        known += [anchor.epoch] if anchor is not None and anchor.base <= batch.last else []
        return next((epoch for epoch in known if epoch not in (None, batch.epoch)), None)
