"""`recovery-point`: how far a log was known to be durable, which distinguishes rot from a write that was cut off.

A batch that was being written when the machine stopped may be there in part, and later ones of the same flush in whole. Below the recovery
point that cannot be: all of it was synced, so what is bad or missing there was damaged, or lost, afterwards.

The file is written over in place after each flush, and not waited for: a process that is killed leaves it exact. It is synced every
`SYNC_EVERY` flushes, at the start, at the end, and before anything below it is cut off, so a machine that loses its power leaves one that
is at most a little too low. Kafka knows no such file of this log, and may have cut the log since at the word of a later leader: who reads
it compares its epoch with that of quorum-state.

Shape: `0 OFFSET EPOCH CRC`, one line of fixed width; OFFSET is exclusive, EPOCH that of the batch before it, CRC the CRC-32C of what is
before it, in hex. A file of another form says nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from struct import Struct
from typing import Final, NamedTuple

from metashell.codec.crc32c import crc32c
from metashell.codec.framing import whole_frames
from metashell.log.atomic_file import replace_file
from metashell.log.disk import Disk
from metashell.log.names import RECOVERY_POINT

SYNC_EVERY: Final = 128
_BASE_AND_EPOCH: Final = Struct(">q4xi").unpack_from
_LINE: Final = re.compile(rb"(0 (\d{20}) (\d{10})) ([0-9a-f]{8})\n", re.ASCII)


class DurableTo(NamedTuple):
    """All before `offset` was durable; `epoch` is that of the batch that ends there, 0 without one."""

    offset: int
    epoch: int


NOTHING: Final = DurableTo(0, 0)


def read_recovery_point(directory: str) -> DurableTo | None:
    """The recovery point of a log; None where there is none that can be read."""
    try:
        with open(os.path.join(directory, RECOVERY_POINT), "rb") as file:
            match = _LINE.fullmatch(file.read(256))
    except OSError:
        return None
    if match is None or crc32c(match[1]) != int(match[4], 16):
        return None
    return DurableTo(int(match[2]), int(match[3]))


def format_recovery_point(point: DurableTo) -> bytes:
    line = b"0 %020d %010d" % point
    return b"%s %08x\n" % (line, crc32c(line))


class RecoveryPoint:
    """The file of an open log, and the epochs that it needs of it. Errors of all that writes: OSError, which `failed` gets too."""

    __slots__ = ("_disk", "_epochs", "_failed", "_fd", "_flight", "_unsynced", "known")

    def __init__(self, disk: Disk, directory: str, epochs: Sequence[tuple[int, int]], end_offset: int) -> None:
        """Let the file say that all of a log is durable which ends at `end_offset`; `epochs` are (epoch, first offset)."""
        self._disk = disk
        self._failed: Callable[[OSError], None] = lambda error: None
        self._unsynced = 0
        self._epochs = list(epochs)
        point = DurableTo(end_offset, self._epoch_before(end_offset))
        self._flight = self.known = point
        path = os.path.join(directory, RECOVERY_POINT)
        found = read_recovery_point(directory)
        if found is None:
            replace_file(disk, path, format_recovery_point(point))
        self._fd = disk.open_file(path)
        if found not in (None, point):
            self._write(point)
            self.sync()

    def tell(self, failed: Callable[[OSError], None]) -> None:
        """From now on `failed` gets an error before it is raised."""
        self._failed = failed

    # What happens to the log

    def appended(self, data: bytes) -> None:
        """Whole batches are at the log's end."""
        for at, _ in whole_frames(data):
            base, epoch = _BASE_AND_EPOCH(data, at)
            if not self._epochs or epoch != self._epochs[-1][0]:
                self._epochs.append((epoch, base))

    def begin_flush(self, end_offset: int) -> None:
        self._flight = DurableTo(end_offset, self._epoch_before(end_offset))

    def finish_flush(self) -> None:
        """Record that what the flush covered, and what was not cut off meanwhile, is durable."""
        if self._flight.offset > self.known.offset:
            self._write(self._flight)

    def cut(self, offset: int) -> Callable[[], None]:
        """The log ends at `offset` now; what has to be done, and be durable, before its files are cut."""
        kept = DurableTo(offset, self._epoch_before(offset))
        self._epochs = [entry for entry in self._epochs if entry[1] < offset] or [(kept.epoch, offset)]
        self._flight = min(self._flight, kept)
        return partial(self._lower, kept)

    def begin_at(self, offset: int, epoch: int) -> tuple[Callable[[], None], Callable[[], None]]:
        """The log begins anew at a snapshot: what has to be done, and be durable, before its files go, and what when they are gone.

        In between the file claims nothing of an old log that reaches the snapshot's end. That may hold a batch that ends just there and is
        of another epoch: a reader that believed the new point would take it for damaged.
        """
        point = DurableTo(offset, epoch)
        self._epochs = [(epoch, offset)]
        self._flight = NOTHING
        return partial(self._claim_nothing, offset), partial(self._raise, point)

    def _epoch_before(self, offset: int) -> int:
        return next((epoch for epoch, start in reversed(self._epochs) if start < offset), self._epochs[0][0] if self._epochs else 0)

    def _lower(self, point: DurableTo) -> None:
        if point.offset < self.known.offset:
            self._write(point)
            self.sync()

    def _claim_nothing(self, offset: int) -> None:
        if offset <= self.known.offset:
            self._write(NOTHING)
            self.sync()

    def _raise(self, point: DurableTo) -> None:
        if point.offset > self.known.offset:
            self._write(point)

    # The file

    def _write(self, point: DurableTo) -> None:
        try:
            self._disk.write_at(self._fd, format_recovery_point(point), 0)
        except OSError as error:
            self._failed(error)
            raise
        self.known = point
        self._unsynced += 1

    def sync_now_and_then(self) -> None:
        """May be called from the thread that syncs the log."""
        if self._unsynced >= SYNC_EVERY:
            self.sync()

    def sync(self) -> None:
        self._unsynced = 0
        try:
            self._disk.sync_file(self._fd)
        except OSError as error:
            self._failed(error)
            raise

    def close(self) -> None:
        if self._fd >= 0:
            self._disk.close_file(self._fd)
            self._fd = -1
