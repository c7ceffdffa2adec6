"""Which epoch begins at which offset, and from it where two logs part.

Pure: it holds a copy in memory of what `ReplicatedLog.write_leader_epochs` keeps on disk.
Source: org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from metashell.values import OffsetAndEpoch


class EpochCache:
    """(epoch, start offset) entries, strictly increasing in both."""

    __slots__ = ("_epochs", "_starts")

    def __init__(self, entries: Iterable[tuple[int, int]] = ()) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        for epoch, start in entries:
            self.assign(epoch, start)

    @property
    def entries(self) -> list[tuple[int, int]]:
        return list(zip(self._epochs, self._starts, strict=True))

    @property
    def latest_epoch(self) -> int | None:
        return self._epochs[-1] if self._epochs else None

    def assign(self, epoch: int, start: int) -> bool:
        """Let `epoch` begin at `start`; returns whether that changed anything: entries of a later epoch or a later start go."""
        epochs, starts = self._epochs, self._starts
        if epochs:
            if epochs[-1] == epoch and starts[-1] <= start:
                return False
            while epochs and (epochs[-1] >= epoch or starts[-1] >= start):
                epochs.pop()
                starts.pop()
        epochs.append(epoch)
        starts.append(start)
        return True

    def truncate_from_end(self, offset: int) -> bool:
        """Drop entries that begin at or after `offset`; returns whether there were any."""
        index = bisect_left(self._starts, offset)
        if index == len(self._starts):
            return False
        del self._epochs[index:], self._starts[index:]
        return True

    def truncate_from_start(self, offset: int) -> bool:
        """Drop epochs that ended by `offset`, let the one that holds it begin there; returns whether that changed anything."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0 or (index == 0 and self._starts[0] == offset):
            return False
        del self._epochs[:index], self._starts[:index]
        self._starts[0] = offset
        return True

    def clear(self) -> None:
        self._epochs.clear()
        self._starts.clear()

    def epoch_at(self, offset: int) -> int | None:
        """The epoch in which a record at `offset` was written, None before the first entry."""
        index = bisect_right(self._starts, offset) - 1
        return self._epochs[index] if index >= 0 else None

    def end_offset_for(self, epoch: int, log_end: int, last_epoch: int, earliest_snapshot: OffsetAndEpoch | None = None) -> tuple[int, int]:
        """(the last epoch not after `epoch`, where it ends) as this log knows it.

        Shape: for an epoch after the latest one, (`last_epoch`, `log_end`), so that a replica which claims it truncates. A result that ends
        where the earliest snapshot does is that snapshot's id, whose epoch may differ from the one asked for.
        Source: KafkaRaftLog.endOffsetForEpoch.
        """
        epochs = self._epochs
        if not epochs or epoch > epochs[-1]:
            # Kafka's cache answers "undefined" here, which its log turns into the end of the log.
            found = (last_epoch, log_end)
        elif epoch == epochs[-1]:
            found = (epoch, log_end)
        else:
            index = bisect_right(epochs, epoch)
            found = (epochs[index - 1] if index else epoch, self._starts[index])
        if earliest_snapshot is not None and found == (epoch, earliest_snapshot.offset):
            return earliest_snapshot.epoch, earliest_snapshot.offset
        return found
