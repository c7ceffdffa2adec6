"""Recovery of one segment: where it is cut, or that Kafka ends over it.

Every batch is checked, and its last offset has to lie within 2^31 of the segment's name; nothing holds its base offset or its epoch
against the batch before it. The indexes are made anew, with an entry every 4096 bytes, and an entry that goes back makes Kafka give
up all of the segment. Source: LogSegment.recover, LogLoader.recoverLog; OffsetIndex.append, TimeIndex.maybeAppend.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from metashell.log.files import RegularFile, open_regular
from metashell.verify.start.batches import BadLengthError, Placed, placed_batches
from metashell.verify.start.epochs import EpochCache
from metashell.verify.start.verdict import Ends

INDEX_INTERVAL = 4096
_OFFSET_SPAN = (1 << 31) - 1


@dataclass(slots=True)
class Segment:
    """One segment: what of it is kept, `valid_size` bytes, and what lies in it. `split_at` is a batch that becomes a segment of its own."""

    path: str
    base_offset: int
    size: int
    batches: list[Placed] = field(default_factory=list)
    valid_size: int = 0
    reason: str = ""
    split_at: Placed | None = None

    @property
    def next_offset(self) -> int:
        return self.batches[-1].last_offset + 1 if self.batches else self.base_offset


class _IndexGoesBackError(Exception):
    """An index entry that is below the one before it: the batch that it is of."""


def recover_segment(path: str, base_offset: int, epochs: EpochCache, *, is_early: bool = False) -> Segment:
    """What recovery makes of a segment; `is_early` where it has no offset index, so that it is recovered when it is loaded.

    Errors: Ends; OSError.
    """
    if not os.path.exists(path):
        return Segment(path, base_offset, 0)
    with open_regular(path) as file:
        segment = Segment(path, base_offset, file.size() or 0)
        try:
            _Recovery(segment, file, epochs).run()
        except _IndexGoesBackError as error:
            if is_early:
                raise Ends(path, f"{error} while the index is made anew that it lacks") from None
            segment.batches = []
            segment.valid_size = 0
            segment.reason = f"{error}, so all of the segment is given up"
        return segment


class _Recovery:
    def __init__(self, segment: Segment, file: RegularFile, epochs: EpochCache) -> None:
        self._segment = segment
        self._file = file
        self._epochs = epochs
        self._last_entry = 0
        self._index: int | None = None
        self._time: tuple[int, int] | None = None
        self._latest = (-1, segment.base_offset)

    def run(self) -> None:
        segment = self._segment
        try:
            for batch in placed_batches(self._file):
                if batch.flaw:
                    segment.reason = batch.flaw
                    break
                if not 0 <= batch.last_offset - segment.base_offset <= _OFFSET_SPAN:
                    self._overflow(batch)
                    break
                self._take(batch)
        except BadLengthError as error:
            segment.reason = str(error)
        if not segment.reason and segment.split_at is None and segment.valid_size < segment.size:
            segment.reason = "the rest is not a whole batch"
        if segment.split_at is None:
            self._append_time(self._latest)

    def _take(self, batch: Placed) -> None:
        segment = self._segment
        if batch.max_timestamp > self._latest[0]:
            self._latest = batch.max_timestamp, batch.last_offset
        if batch.position - self._last_entry > INDEX_INTERVAL:
            if self._index is not None and batch.last_offset <= self._index:
                raise _IndexGoesBackError(f"offset {batch.last_offset} at byte {batch.position} goes back in the index")
            self._index = batch.last_offset
            self._append_time(self._latest)
            self._last_entry = batch.position
        segment.batches.append(batch)
        segment.valid_size = batch.end
        if batch.magic >= 2:
            self._epochs.found(batch.epoch, batch.base_offset, segment.path)

    def _append_time(self, entry: tuple[int, int]) -> None:
        """The largest timestamp so far, and its offset, which may go back though the timestamp does not."""
        if self._time is not None and entry[1] < self._time[1]:
            raise _IndexGoesBackError(f"offset {entry[1]} goes back in the time index")
        if self._time is None or entry[0] > self._time[0]:
            self._time = entry

    def _overflow(self, batch: Placed) -> None:
        """Kafka splits a segment whose last batch is too far from its name, and ends over any other: it sees no reason to split."""
        segment = self._segment
        try:
            *_, last = placed_batches(self._file)
        except BadLengthError as error:
            raise Ends(segment.path, f"{error} behind a batch of offset {batch.last_offset}", position=error.position) from None
        if last.last_offset - segment.base_offset <= _OFFSET_SPAN:
            what = f"the batch of offset {batch.base_offset} does not belong into a segment of {segment.base_offset}"
            raise Ends(segment.path, what, position=batch.position, offset=batch.base_offset)
        if last.position != batch.position or not segment.batches:
            what = "several batches are too far from the segment's name"
            raise Ends(segment.path, what, position=batch.position, offset=batch.base_offset, is_known=False)
        segment.split_at = batch
        segment.reason = f"offset {batch.base_offset} is too far from the segment's name"
        if batch.flaw:
            raise Ends(segment.path, "a damaged batch is too far from the segment's name", position=batch.position, is_known=False)
