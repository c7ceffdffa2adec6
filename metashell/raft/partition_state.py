"""The voter sets and kraft.version levels that the log and its snapshot hold, at every offset that can still be asked for.

Both take effect when they are appended, committed or not, and a truncation undoes them. What a snapshot holds counts as written at
its end offset - 1, so that of (0, 0) lies at -1. While neither names voters, the static ones are in force.
Source: org.apache.kafka.raft.internals.KRaftControlRecordStateMachine, VoterSetHistory, KRaftVersionState.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Generic, TypeVar

from metashell.raft.control_batches import ControlValue, KRaftVersion
from metashell.raft.voter_set import VoterSet

T = TypeVar("T")


class History(Generic[T]):
    """Values by the offset they were written at, strictly increasing; each holds until the next."""

    __slots__ = ("offsets", "values")

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.values: list[T] = []

    def add(self, offset: int, value: T) -> None:
        assert not self.offsets or offset > self.offsets[-1], f"offset {offset} is not after {self.offsets[-1]}"
        self.offsets.append(offset)
        self.values.append(value)

    def at(self, offset: int) -> T | None:
        """The value in force at an offset, its own included."""
        index = bisect_right(self.offsets, offset) - 1
        return self.values[index] if index >= 0 else None

    def truncate_new(self, offset: int) -> bool:
        """Drop what was written at or after `offset`; returns whether there was any."""
        index = bisect_left(self.offsets, offset)
        dropped = index < len(self.offsets)
        del self.offsets[index:], self.values[index:]
        return dropped

    def truncate_old(self, offset: int) -> None:
        """Keep the last value written at or before `offset`, and those after it."""
        index = bisect_right(self.offsets, offset) - 1
        if index > 0:
            del self.offsets[:index], self.values[:index]

    def clear(self) -> None:
        self.offsets.clear()
        self.values.clear()


class PartitionState:
    """What the log says of its own quorum.

    `voters` and `kraft_version` are those in force now. `voters_offset` is where that set was written, -1 for the bootstrap snapshot's,
    None while the static set is in force.
    """

    __slots__ = ("_levels", "_sets", "_static", "doubtful_changes", "kraft_version", "voters", "voters_offset")

    def __init__(self, static: VoterSet) -> None:
        self._static = static
        self._sets: History[VoterSet] = History()
        self._levels: History[int] = History()
        self.doubtful_changes = 0
        """How many sets followed one whose majority they need not overlap; logged, not refused, since compaction may hide steps."""
        self.voters = static
        self.voters_offset: int | None = None
        self.kraft_version = 0

    def apply(self, offset: int, value: ControlValue) -> bool:
        """Fold in the control record at `offset`; returns whether it was of the quorum's."""
        if value.__class__ is VoterSet:
            assert isinstance(value, VoterSet)
            if self._sets.offsets and not self._sets.values[-1].overlaps(value):
                self.doubtful_changes += 1
            self._sets.add(offset, value)
            self.voters, self.voters_offset = value, offset
        elif value.__class__ is KRaftVersion:
            assert isinstance(value, KRaftVersion)
            self._levels.add(offset, value.level)
            self.kraft_version = value.level
        else:
            return False
        return True

    @property
    def static_is_ignored(self) -> bool:
        """Whether controller.quorum.voters is set and no longer in force (metric IgnoredStaticVoters)."""
        return self.voters_offset is not None and len(self._static) > 0

    def voters_at(self, offset: int) -> VoterSet | None:
        """The set written last at or before `offset`, None where the log names none there."""
        return self._sets.at(offset)

    def kraft_version_at(self, offset: int) -> int:
        return self._levels.at(offset) or 0

    def committed_voters(self, high_watermark: int) -> VoterSet:
        """The set in force in the committed prefix."""
        return self._sets.at(high_watermark - 1) or self._static

    def voters_before(self) -> VoterSet | None:
        """The set that the last one took the place of, None where the log does not have it."""
        values = self._sets.values
        return values[-2] if len(values) > 1 else None

    def voters_are_committed(self, high_watermark: int | None) -> bool:
        """Whether no change of the voters waits for its commit; false while nothing is known to be committed or no set was written."""
        return high_watermark is not None and self.voters_offset is not None and self.voters_offset < high_watermark

    def truncate_new(self, offset: int) -> bool:
        """The log lost all from `offset` on. Returns whether voters or level may have changed."""
        sets, levels = self._sets.truncate_new(offset), self._levels.truncate_new(offset)
        if sets or levels:
            self._refresh()
        return sets or levels

    def truncate_old(self, offset: int) -> None:
        """A snapshot that ends at `offset` exists: only what holds at its last record and what follows is kept."""
        self._sets.truncate_old(offset - 1)
        self._levels.truncate_old(offset - 1)

    def load_snapshot(self, end_offset: int, kraft_version: int | None, voters: VoterSet | None) -> None:
        """Forget all, and begin with what a snapshot says; None for what it does not."""
        self._sets.clear()
        self._levels.clear()
        if kraft_version is not None:
            self._levels.add(end_offset - 1, kraft_version)
        if voters is not None:
            self._sets.add(end_offset - 1, voters)
        self._refresh()

    def _refresh(self) -> None:
        sets, levels = self._sets, self._levels
        self.voters = sets.values[-1] if sets.values else self._static
        self.voters_offset = sets.offsets[-1] if sets.offsets else None
        self.kraft_version = levels.values[-1] if levels.values else 0
