"""Which rows are wanted, as far as the headers of batches tell: ranges of offsets, epochs and timestamps.

A batch that cannot hold such a row is passed over: neither its checksum nor its records are looked at, and where it can be helped its
bytes are not read. So what is damaged there is not reported, and nothing is said of the order of batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from metashell.codec.batches import LOG_APPEND_TIME, BatchHeader

_LEAST: Final = -(1 << 63)


class Range(NamedTuple):
    """Numbers from `least` to `most`, both included; None where a side is open."""

    least: int | None = None
    most: int | None = None

    def meets(self, first: int, last: int) -> bool:
        """Whether it has a number from `first` to `last`."""
        return (self.least is None or last >= self.least) and (self.most is None or first <= self.most)

    def within(self, other: Range) -> Range:
        """The numbers that both have."""
        least = [side for side in (self.least, other.least) if side is not None]
        most = [side for side in (self.most, other.most) if side is not None]
        return Range(max(least, default=None), min(most, default=None))

    @property
    def is_open(self) -> bool:
        return self.least is None and self.most is None

    @property
    def is_empty(self) -> bool:
        return self.least is not None and self.most is not None and self.least > self.most


OPEN: Final = Range()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The offsets, epochs and timestamps of the wanted rows. Units: timestamps are Unix milliseconds."""

    offset: Range = OPEN
    epoch: Range = OPEN
    timestamp: Range = OPEN

    def within(self, other: Bounds) -> Bounds:
        """What both want."""
        return Bounds(
            offset=self.offset.within(other.offset), epoch=self.epoch.within(other.epoch), timestamp=self.timestamp.within(other.timestamp)
        )

    def on(self, column: str, wanted: Range) -> Bounds:
        """These bounds, further limited in one column: `offset`, `epoch` or `timestamp`."""
        return self.within(replace(ANY, **{column: wanted}))

    def may_hold(self, header: BatchHeader) -> bool:
        """Whether a batch may hold a wanted row, by its header of version 2.

        The base timestamp is not the least one: a later record may be older, and in a batch that was compacted another time stands there.
        """
        earliest = header.max_timestamp if header.attributes & LOG_APPEND_TIME else _LEAST
        return (
            self.offset.meets(header.base_offset, header.last_offset)
            and self.epoch.meets(header.leader_epoch, header.leader_epoch)
            and self.timestamp.meets(earliest, header.max_timestamp)
        )

    def precedes(self, header: BatchHeader) -> bool:
        """Whether a batch lies before all wanted ones, by offset or epoch: these grow along a log, times need not."""
        return (self.offset.least is not None and header.last_offset < self.offset.least) or (
            self.epoch.least is not None and header.leader_epoch < self.epoch.least
        )

    def follows(self, header: BatchHeader) -> bool:
        """Whether a batch lies behind all wanted ones, by offset or epoch."""
        return (self.offset.most is not None and header.base_offset > self.offset.most) or (
            self.epoch.most is not None and header.leader_epoch > self.epoch.most
        )

    @property
    def is_empty(self) -> bool:
        return self.offset.is_empty or self.epoch.is_empty or self.timestamp.is_empty

    @property
    def is_open(self) -> bool:
        return self.offset.is_open and self.epoch.is_open and self.timestamp.is_open


ANY: Final = Bounds()
