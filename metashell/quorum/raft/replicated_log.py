"""The Protocols of a log: `ReplicatedLog`, which the core needs, and `DurableLog`, which a driver needs to make it durable from another
thread.

`metashell.disk.log.metadata_log` fulfils both on disk; `MemoryLog` is a `ReplicatedLog` in memory, for tests, the simulation and the
observer.

All calls return at once, with what they wrote in the system's cache; what must be durable when it returns says so. A driver may have the
log leave such work to a thread, if it lets nobody see anything of the step, and makes no other one, before that is done. The core checks
batches before it appends them; the log trusts it. Errors: OSError and LogCorruptError are the driver's: the replica stops.

`MemoryLog` keeps batches as they came; every operation costs the logarithm of their number or less, beside the bytes it hands over. A test
can make it lose what was not flushed.

Source: org.apache.kafka.raft.ReplicatedLog."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, Protocol

from metashell.codec.framing import whole_frames
from metashell.common.values import OffsetAndEpoch, Recovering


class PartialSnapshot(Protocol):
    """A snapshot that is written or downloaded, `*.checkpoint.part` until it is frozen."""

    @property
    def id(self) -> OffsetAndEpoch: ...

    @property
    def size(self) -> int:
        """Bytes so far."""

    def append(self, data: bytes) -> None: ...

    def freeze(self) -> None:
        """Make it complete: fsync, atomic rename, fsync of the directory; durable on return. It is then among the log's `snapshots`."""

    def begin_freeze(self) -> Callable[[], None]:
        """The same in three steps, for a caller that cannot wait: this, then the slow part it returns, in any thread, then `end_freeze`."""

    def end_freeze(self) -> None:
        """The slow part is done: it is among the log's `snapshots` now."""

    def close(self) -> None:
        """Drop it, unless it is frozen."""


class ReplicatedLog(Protocol):
    """The one raft log and its snapshots. Offsets are of the log; `end_offset` is exclusive."""

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def flushed_offset(self) -> int:
        """All before it is durable. After `truncate_to` it is at most the new end."""

    @property
    def size(self) -> int:
        """Bytes of all batches, without snapshots."""

    @property
    def recovering(self) -> Recovering | None:
        """The damage by which this log lost records that its replica may have acknowledged, None without. Found when it was opened."""

    def end_recovery(self) -> None:
        """The log is whole again; durable on return."""

    def leader_epochs(self) -> Sequence[tuple[int, int]]:
        """(epoch, start offset) of each epoch that has batches, or that this replica began, ascending; as recovered or last written."""

    def write_leader_epochs(self, entries: Sequence[tuple[int, int]]) -> None:
        """Replace leader-epoch-checkpoint; durable some time later, since nothing depends on it: it can be derived from the batches."""

    def append(self, data: bytes, end_offset: int) -> None:
        """Add whole batches whose first base offset is the log's end; `end_offset` is the end after them."""

    def read(self, start_offset: int, end_offset: int, max_size: int) -> bytes:
        """Whole batches from the one that holds `start_offset` on, none that begins at or after `end_offset`.

        Shape: at most `max_size` bytes, but at least one batch; empty where nothing is in the range. It may end early, at a segment's end.
        """

    def is_batch_boundary(self, offset: int) -> bool:
        """Whether a batch begins at `offset`, or the log ends there."""

    def truncate_to(self, offset: int) -> None:
        """Drop all batches that begin at or after `offset`, a batch boundary; durable on return."""

    def snapshots(self) -> Sequence[OffsetAndEpoch]:
        """The complete ones, ascending; the bootstrap snapshot (0, 0) included where there is one."""

    def snapshot_size(self, id: OffsetAndEpoch) -> int:
        """In bytes. Errors: KeyError for one that is not there."""

    def read_snapshot(self, id: OffsetAndEpoch, position: int, max_size: int) -> bytes: ...

    def create_snapshot(self, id: OffsetAndEpoch) -> PartialSnapshot:
        """A new `.part`; an older one of that id is gone."""

    def start_at_snapshot(self, id: OffsetAndEpoch) -> None:
        """Drop the whole log and begin at the snapshot's end offset; older snapshots may go. Durable on return."""

    def delete_before(self, id: OffsetAndEpoch) -> None:
        """Make a snapshot's end offset the log's start: segments wholly below it and older snapshots go, files after a delay."""


class Work(Protocol):
    """Steps on the disk. `is_awaited`: nothing of the step that left it may be seen, and no other one be made, before it is done."""

    @property
    def is_awaited(self) -> bool: ...

    def carry_out(self) -> None:
        """Do it, in any thread. Errors: OSError."""


class DurableLog(ReplicatedLog, Protocol):
    """A log on disk. One flush at a time: begun and finished on the loop's thread, synced in another one, beside whatever happens."""

    def begin_flush(self) -> Any:
        """Note all that was appended so far."""

    def sync(self, token: Any) -> None:
        """Wait for the disk. Errors: OSError."""

    def finish_flush(self, token: Any) -> int:
        """Return the durable end: less than was noted where some of the log was cut off meanwhile. Errors: OSError."""

    def note_committed(self, offset: int) -> None:
        """Note that all before `offset` is committed; called after each step, so it costs next to nothing."""

    def defer(self) -> None:
        """From now on what a call wants of the disk, beyond what the system's cache takes, waits to be taken as work."""

    def take_work(self) -> Work | None:
        """Take the disk work that the calls so far have left, None for none. One thread does all that is taken, in order."""

    def delete_due(self, now_ms: int) -> int | None:
        """Remove files that are out of use for long enough, in the thread that does the work.

        Gives the time to call again, None where none wait. Errors: OSError.
        """

    def close(self) -> None:
        """Nothing follows."""


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
        """Do what a crash may do: the log ends where it was flushed to, at a batch."""
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
