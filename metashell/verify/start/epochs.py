"""The leader epoch cache as a start fills it: from its file, then from the batches that recovery finds. Source: LeaderEpochFileCache."""

from __future__ import annotations

from metashell.verify.start.verdict import Ends


class EpochCache:
    """Epochs and the offset at which each starts, ascending in both."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int]] = []

    @property
    def latest(self) -> int | None:
        return self.entries[-1][0] if self.entries else None

    def assign(self, epoch: int, start_offset: int, file: str) -> None:
        """Add an entry; those it contradicts go. Errors: Ends for numbers below 0."""
        if epoch < 0 or start_offset < 0:
            raise Ends(file, f"an entry of epoch {epoch} at offset {start_offset} is refused")
        if self.entries and self.entries[-1][0] == epoch and start_offset >= self.entries[-1][1]:
            return
        while self.entries and (self.entries[-1][0] >= epoch or self.entries[-1][1] >= start_offset):
            self.entries.pop()
        self.entries.append((epoch, start_offset))

    def found(self, epoch: int, base_offset: int, file: str) -> None:
        """A batch of that epoch was recovered."""
        if epoch >= 0 and (self.latest is None or epoch > self.latest):
            self.assign(epoch, base_offset, file)

    def cut(self, end_offset: int) -> None:
        while self.entries and self.entries[-1][1] >= end_offset:
            self.entries.pop()
