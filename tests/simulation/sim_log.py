"""A replica's log in memory, as `ReplicatedLog` wants it, that knows what a crash would leave of it.

Its batches are entries of the `History`, so appending checks what the rules on logs ask for. All that was appended but not flushed may be
lost at a crash, from any batch on: a torn one is cut off by the recovery.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from random import Random

from metashell.common.values import OffsetAndEpoch, Recovering
from tests.simulation.checkers.delivery import check_head
from tests.simulation.history import Entry, History
from tests.simulation.violation import Violation


class SimPartial:
    """A snapshot that is not complete; `freeze` puts it among the log's."""

    def __init__(self, log: SimLog, id: OffsetAndEpoch) -> None:
        self.id = id
        self.data = bytearray()
        self._log = log

    @property
    def size(self) -> int:
        return len(self.data)

    def append(self, data: bytes) -> None:
        self._log.fuse()
        self.data += data

    def freeze(self) -> None:
        self.begin_freeze()()
        self.end_freeze()

    def begin_freeze(self) -> Callable[[], None]:
        self._log.fuse()
        return no_fuse

    def end_freeze(self) -> None:
        self._log.parts.pop((self.id.offset, self.id.epoch), None)
        self._log.add_snapshot(self.id, bytes(self.data))

    def close(self) -> None:
        self._log.parts.pop((self.id.offset, self.id.epoch), None)


def no_fuse() -> None:
    """The disk works."""


class SimLog:
    """The log of one metadata directory, over all lives of its replica.

    `fuse` is called before each change and may raise what the fault of the moment asks for. `changed` is set by whatever changes entries,
    `epochs_changed` by what changes the epoch checkpoint; whoever checks them clears them. `truncations` lists the offsets that
    the log was cut to, for flushes that were asked for before.
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self.base = history.root
        """The batch that ends where the log starts."""
        self.tail = history.root
        self.entries: list[Entry] = []
        self.ends: list[int] = []
        self.start_offset = 0
        self.end_offset = 0
        self.flushed_offset = 0
        self.epochs: list[tuple[int, int]] = []
        self.snapshot_ids: list[OffsetAndEpoch] = []
        self.snapshot_data: dict[OffsetAndEpoch, bytes] = {}
        self.parts: dict[tuple[int, int], SimPartial] = {}
        self.rotten: set[OffsetAndEpoch] = set()
        """Snapshots whose bytes are others than were written."""
        self.lost: set[Entry] = set()
        """Batches that were durable until they rotted: who counted them was right, and who has them no more knows."""
        self.truncations: list[int] = []
        self.recovering: Recovering | None = None
        self.changed = False
        self.epochs_changed = False
        self.fuse: Callable[[], None] = no_fuse
        self.on_truncate: Callable[[SimLog, int], None] | None = None

    @property
    def size(self) -> int:
        return sum([len(entry.data) for entry in self.entries])

    # What the core asks for.

    def end_recovery(self) -> None:
        self.fuse()
        self.recovering = None

    def leader_epochs(self) -> Sequence[tuple[int, int]]:
        return self.epochs

    def write_leader_epochs(self, entries: Sequence[tuple[int, int]]) -> None:
        self.fuse()
        self.epochs = list(entries)
        self.epochs_changed = True

    def append(self, data: bytes, end_offset: int) -> None:
        self.fuse()
        position, size = 0, len(data)
        tail, add = self.tail, self.history.add
        while position < size:
            tail, position = add(tail, data, position)
            self.entries.append(tail)
            self.ends.append(tail.end)
        if tail.end != end_offset:
            raise Violation("C3", f"batches said to end at {end_offset} end at {tail.end}")
        self.tail = tail
        self.end_offset = end_offset
        self.changed = True

    def read(self, start_offset: int, end_offset: int, max_size: int) -> bytes:
        index = bisect_right(self.ends, start_offset)
        entries = self.entries
        if index == len(entries) or entries[index].base >= end_offset:
            return b""
        first = entries[index].data
        size = len(first)
        stop = index + 1
        while stop < len(entries) and entries[stop].base < end_offset:
            size += len(entries[stop].data)
            if size > max_size:
                break
            stop += 1
        return first if stop == index + 1 else b"".join([entry.data for entry in entries[index:stop]])

    def is_batch_boundary(self, offset: int) -> bool:
        if offset == self.start_offset or offset == self.end_offset:
            return True
        index = bisect_left(self.ends, offset)
        return index < len(self.ends) and self.ends[index] == offset

    def truncate_to(self, offset: int) -> None:
        self.fuse()
        if self.on_truncate is not None:
            self.on_truncate(self, offset)
        self._cut(offset)
        self.flushed_offset = min(self.flushed_offset, offset)

    def snapshots(self) -> Sequence[OffsetAndEpoch]:
        return self.snapshot_ids

    def snapshot_size(self, id: OffsetAndEpoch) -> int:
        return len(self.snapshot_data[id])

    def read_snapshot(self, id: OffsetAndEpoch, position: int, max_size: int) -> bytes:
        return self.snapshot_data[id][position : position + max_size]

    def create_snapshot(self, id: OffsetAndEpoch) -> SimPartial:
        self.fuse()
        partial = SimPartial(self, id)
        self.parts[id.offset, id.epoch] = partial
        return partial

    def start_at_snapshot(self, id: OffsetAndEpoch) -> None:
        self.fuse()
        if self.on_truncate is not None:
            self.on_truncate(self, -id.offset)
        entry = self.history.committed.get(id.offset)
        if entry is None or entry.epoch != id.epoch:
            raise Violation("S4", f"snapshot {id} is not of the committed path, which has {entry} there")
        self.base = self.tail = entry
        self.entries, self.ends, self.epochs = [], [], []
        self.start_offset = self.end_offset = self.flushed_offset = id.offset
        self._drop_snapshots_before(id.offset)
        self.truncations.append(0)
        self.changed = self.epochs_changed = True

    def delete_before(self, id: OffsetAndEpoch) -> None:
        self.fuse()
        index = bisect_right(self.ends, id.offset)
        if index:
            self.base = self.entries[index - 1]
            del self.entries[:index], self.ends[:index]
        self.start_offset = max(self.start_offset, id.offset)
        self._drop_snapshots_before(id.offset)
        self.changed = self.epochs_changed = True

    # What the driver and the faults do.

    def add_snapshot(self, id: OffsetAndEpoch, data: bytes) -> None:
        """A complete snapshot, durable at once."""
        if id.offset:
            check_head(self.history, id, data)
        if id not in self.snapshot_data:
            self.snapshot_ids = sorted([*self.snapshot_ids, id])
        self.snapshot_data[id] = data

    def rot_snapshot(self, id: OffsetAndEpoch, random: Random) -> None:
        """A bit of a snapshot flips."""
        data = bytearray(self.snapshot_data[id])
        data[int(random.random() * len(data))] ^= 1 << int(random.random() * 8)
        self.snapshot_data[id] = bytes(data)
        self.rotten.add(id)

    def flush(self, offset: int, truncations: int) -> int:
        """All up to `offset` is on disk, as far as it was there when `truncations` of them had been done; where that is now."""
        offset = min([offset, self.end_offset, *self.truncations[truncations:]])
        self.flushed_offset = max(self.flushed_offset, offset)
        return offset

    def crash(self, random: Random, share: float | None = None) -> None:
        """Lose any number of the last batches that were not flushed, or keep a share of them; the recovery flushes these."""
        flushed = bisect_right(self.ends, self.flushed_offset)
        count = len(self.entries) - flushed
        kept = flushed + (int(random.random() * (count + 1)) if share is None else round(share * count))
        self._cut(self.ends[kept - 1] if kept else self.start_offset)
        self.flushed_offset = self.end_offset
        self._recover_epochs()
        self.parts.clear()
        self.truncations.clear()
        self.fuse = no_fuse
        self._recover()

    def _recover_epochs(self) -> None:
        """Epochs of what is gone at either end are forgotten, as UnifiedLog does when it loads."""
        epochs = [(epoch, start) for epoch, start in self.epochs if start < self.end_offset]
        before = [epoch for epoch, start in epochs if start <= self.start_offset]
        self.epochs = [
            (epoch, max(start, self.start_offset)) for epoch, start in epochs if start > self.start_offset or epoch == before[-1]
        ]

    def _recover(self) -> None:
        # A crash between the end of a download and the start of the log at it leaves a snapshot ahead of the log.
        if self.snapshot_ids and (self.snapshot_ids[-1].epoch, self.snapshot_ids[-1].offset) > (self.tail.epoch, self.end_offset):
            self.on_truncate, hook = None, self.on_truncate
            self.start_at_snapshot(self.snapshot_ids[-1])
            self.on_truncate = hook

    def holds(self, entry: Entry) -> bool:
        """Whether a committed batch is in the log, or covered by what it starts after."""
        if entry.end <= self.start_offset:
            return True
        index = bisect_left(self.ends, entry.end)
        return index < len(self.ends) and self.entries[index] is entry

    def holds_durably(self, entry: Entry) -> bool:
        return entry in self.lost or (entry.end <= self.flushed_offset and self.holds(entry))

    def entry_ending_at(self, offset: int) -> Entry | None:
        """The batch that ends at `offset`, which may be the one before the start."""
        if offset == self.start_offset:
            return self.base
        index = bisect_left(self.ends, offset)
        return self.entries[index] if index < len(self.ends) and self.ends[index] == offset else None

    def _cut(self, offset: int) -> None:
        index = bisect_right(self.ends, offset)
        if index == len(self.entries):
            return
        if self.entries[index].base < offset:
            raise Violation("L5", f"truncation to {offset}, inside of {self.entries[index]}")
        del self.entries[index:], self.ends[index:]
        self.tail = self.entries[-1] if index else self.base
        self.end_offset = self.tail.end
        self.truncations.append(self.end_offset)
        self.changed = True

    def _drop_snapshots_before(self, offset: int) -> None:
        for id in self.snapshot_ids:
            if id.offset < offset:
                del self.snapshot_data[id]
        self.snapshot_ids = [id for id in self.snapshot_ids if id.offset >= offset]
