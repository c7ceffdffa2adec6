"""What a leader appended, in memory until its own application has it: nothing is read back from the disk, checked and decoded for that.

It is the end of the log as the core wrote it, cut when the log is cut; so what is committed of it is what the log has at these offsets,
whichever replica leads by then. A gap, or more than `SIZE_MAX` bytes, drops the older ones: they are read from the log like anyone's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from metashell.codec.batches import CheckedBatch, read_batch_header
from metashell.raft.accumulator import AppendedBatch

SIZE_MAX: Final = 32 * 1024 * 1024


class OwnBatch(CheckedBatch):
    """A batch that this replica wrote; `values` are those of its data records, as they were given. These bytes never were on a disk."""

    __slots__ = ("values",)

    def __init__(self, batch: AppendedBatch, file: str) -> None:
        super().__init__(read_batch_header(batch.data), 0, batch.data, file)
        self.values: Sequence[bytes] = batch.values


class OwnBatches:
    """Batches without gaps, the oldest first."""

    __slots__ = ("_batches", "_file", "_size")

    def __init__(self, file: str) -> None:
        self._batches: deque[AppendedBatch] = deque()
        self._file = file
        self._size = 0

    def add(self, batches: Iterable[AppendedBatch]) -> None:
        """The log goes on with these."""
        for batch in batches:
            if self._batches and self._batches[-1].last_offset + 1 != batch.base_offset:
                self.clear()
            self._batches.append(batch)
            self._size += len(batch.data)
            while self._size > SIZE_MAX:
                self._size -= len(self._batches.popleft().data)

    def clear(self) -> None:
        """Keep nothing."""
        self._batches.clear()
        self._size = 0

    def cut(self, offset: int) -> None:
        """The log lost all from `offset` on, a batch boundary."""
        while self._batches and self._batches[-1].last_offset >= offset:
            self._size -= len(self._batches.pop().data)

    def drop_before(self, offset: int) -> None:
        """The application has all before `offset`."""
        while self._batches and self._batches[0].last_offset < offset:
            self._size -= len(self._batches.popleft().data)

    def read(self, start_offset: int, end_offset: int, max_size: int) -> list[OwnBatch]:
        """The batches from the one at `start_offset` on that end by `end_offset`.

        Shape: up to `max_size` bytes, but at least one batch; empty where the one at `start_offset` is not kept.
        """
        found: list[OwnBatch] = []
        size = 0
        for batch in self._batches:
            if batch.base_offset < start_offset:
                continue
            if batch.base_offset != start_offset or batch.last_offset >= end_offset:
                break
            size += len(batch.data)
            if found and size > max_size:
                break
            found.append(OwnBatch(batch, self._file))
            start_offset = batch.last_offset + 1
        return found
