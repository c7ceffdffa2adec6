"""A `ReplicatedLog` in memory, for tests, the simulation and live observers; a loss of what was not flushed can be played.

Batches are kept as they came; every operation costs the logarithm of their number or less, beside the bytes it hands over.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Sequence
from struct import Struct

from metashell.codec.framing import whole_frames
from metashell.values import OffsetAndEpoch, Recovering

_HEAD = Struct(">q4xi7xi")
"""Of a batch's header: base offset, leader epoch, last offset delta."""


class MemorySnapshot:
    """A `PartialSnapshot`, in memory."""

    __slots__ = ("_data", "_id", "_log")

    def __init__(self, log: MemoryLog, id: OffsetAndEpoch) -> None:
        self._log: MemoryLog | None = log
        self._id = id
        self._data = bytearray()

    @property
    def id(self) -> OffsetAndEpoch:
        return self._id

    @property
    def size(self) -> int:
        return len(self._data)

    def append(self, data: bytes) -> None:
        assert self._log is not None, f"snapshot {self._id} is closed"
        self._data += data

    def freeze(self) -> None:
        self.begin_freeze()()
        self.end_freeze()

    def begin_freeze(self) -> Callable[[], None]:
        return lambda: None

    def end_freeze(self) -> None:
        assert self._log is not None, f"snapshot {self._id} is closed"
        self._log.add_snapshot(self._id, bytes(self._data))
        self._log = None

    def close(self) -> None:
        self._log = None


class MemoryLog:
    """Batches by their base offsets, with snapshots and the entries of leader-epoch-checkpoint."""

    __slots__ = (
        "_bases",
        "_batches",
        "_data",
        "_end",
        "_epochs",
        "_flushed",
        "_leader_epochs",
        "_size",
        "_snapshots",
        "_start",
        "recovering",
    )

    def __init__(self) -> None:
        self.recovering: Recovering | None = None
        self._start = self._end = self._flushed = 0
        self._bases: list[int] = []
        self._epochs: list[int] = []
        self._batches: list[bytes] = []
        self._leader_epochs: list[tuple[int, int]] = []
        self._snapshots: list[OffsetAndEpoch] = []
        self._data: dict[OffsetAndEpoch, bytes] = {}
        self._size = 0

    @property
    def start_offset(self) -> int:
        return self._start

    @property
    def end_offset(self) -> int:
        return self._end

    @property
    def flushed_offset(self) -> int:
        return self._flushed

    @property
    def size(self) -> int:
        return self._size

    def flush_to(self, offset: int) -> None:
        """All before `offset` survives `lose_unflushed`."""
        assert offset <= self._end, f"flush to {offset}, the log ends at {self._end}"
        self._flushed = max(self._flushed, offset)

    def lose_unflushed(self) -> None:
        """What a crash may do: the log ends where it was flushed to, at a batch."""
        self.truncate_to(self._flushed)

    def end_recovery(self) -> None:
        self.recovering = None

    def leader_epochs(self) -> Sequence[tuple[int, int]]:
        return self._leader_epochs

    def write_leader_epochs(self, entries: Sequence[tuple[int, int]]) -> None:
        self._leader_epochs = list(entries)

    def append(self, data: bytes, end_offset: int) -> None:
        end = self._end
        for at, size in whole_frames(data):
            base, epoch, last_offset_delta = _HEAD.unpack_from(data, at)
            assert base == end, f"batch at {base} does not follow {end}"
            self._bases.append(base)
            self._epochs.append(epoch)
            self._batches.append(data[at : at + size])
            end = base + int(last_offset_delta) + 1
        assert end == end_offset, f"the batches end at {end}, not at {end_offset}"
        self._end = end
        self._size += len(data)

    def read(self, start_offset: int, end_offset: int, max_size: int) -> bytes:
        bases = self._bases
        first = max(bisect_right(bases, start_offset) - 1, 0)
        last = len(bases) if end_offset >= self._end else bisect_left(bases, end_offset)
        if first >= last or start_offset >= self._end:
            return b""
        batches = self._batches
        size = len(batches[first])
        index = first + 1
        while index < last:
            size += len(batches[index])
            if size > max_size:
                break
            index += 1
        return batches[first] if index == first + 1 else b"".join(batches[first:index])

    def batches(self, start_offset: int = 0) -> list[tuple[int, int, int, bytes]]:
        """(base offset, end offset, epoch, bytes) of each batch from the one that holds `start_offset` on."""
        if not self._bases:
            return []
        first = max(bisect_right(self._bases, start_offset) - 1, 0)
        ends = [*self._bases[first + 1 :], self._end]
        return list(zip(self._bases[first:], ends, self._epochs[first:], self._batches[first:], strict=True))

    def last_epoch(self) -> int | None:
        """The epoch of the last batch."""
        return self._epochs[-1] if self._epochs else None

    def is_batch_boundary(self, offset: int) -> bool:
        if offset == self._end:
            return True
        index = bisect_left(self._bases, offset)
        return index < len(self._bases) and self._bases[index] == offset

    def truncate_to(self, offset: int) -> None:
        assert self.is_batch_boundary(offset), f"truncation to {offset} inside a batch"
        index = bisect_left(self._bases, offset)
        self._size -= sum(map(len, self._batches[index:]))
        del self._bases[index:], self._epochs[index:], self._batches[index:]
        self._end = offset
        self._flushed = min(self._flushed, offset)

    def snapshots(self) -> Sequence[OffsetAndEpoch]:
        return self._snapshots

    def snapshot_size(self, id: OffsetAndEpoch) -> int:
        return len(self._data[id])

    def read_snapshot(self, id: OffsetAndEpoch, position: int, max_size: int) -> bytes:
        return self._data[id][position : position + max_size]

    def create_snapshot(self, id: OffsetAndEpoch) -> MemorySnapshot:
        return MemorySnapshot(self, id)

    def add_snapshot(self, id: OffsetAndEpoch, data: bytes) -> None:
        """A complete snapshot, the bootstrap one for example."""
        if id not in self._data:
            insort(self._snapshots, id)
        self._data[id] = data

    def start_at_snapshot(self, id: OffsetAndEpoch) -> None:
        assert id in self._data, f"snapshot {id} is not there"
        self._bases.clear()
        self._epochs.clear()
        self._batches.clear()
        self._leader_epochs.clear()
        self._start = self._end = self._flushed = id.offset
        self._size = 0
        self._drop_snapshots_before(id)

    def delete_before(self, id: OffsetAndEpoch) -> None:
        assert id in self._data, f"snapshot {id} is not there"
        self._start = max(self._start, id.offset)
        self._drop_batches_before(self._start)
        self._drop_snapshots_before(id)

    def forget_before(self, offset: int) -> None:
        """Begin the log at `offset` or a batch before it, without a snapshot: for an observer that nobody fetches from.

        The last batch stays, whatever the offset.
        """
        if not self._bases:
            return
        index = max(bisect_right(self._bases, offset) - 1, 0)
        self._drop(index)
        self._start = self._bases[0]

    def _drop_batches_before(self, offset: int) -> None:
        """Drop the batches that end at or before `offset`."""
        bases = self._bases
        if offset >= self._end:
            self._drop(len(bases))
            return
        self._drop(max(bisect_right(bases, offset) - 1, 0))

    def _drop(self, count: int) -> None:
        if count:
            self._size -= sum(map(len, self._batches[:count]))
            del self._bases[:count], self._epochs[:count], self._batches[:count]

    def _drop_snapshots_before(self, id: OffsetAndEpoch) -> None:
        index = bisect_left(self._snapshots, id)
        for older in self._snapshots[:index]:
            del self._data[older]
        del self._snapshots[:index]
