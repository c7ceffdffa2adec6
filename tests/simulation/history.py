"""Every batch that any replica ever wrote, as a tree: what makes the rules on logs cheap to check.

A batch hangs below the one it was written after. Two logs that hold the same batch therefore hold the same before it, so whoever
appends is compared with one entry (LogMatching), and a log is one pointer to its last batch. What is committed is one path from the
root; it only grows.
"""

from __future__ import annotations

from struct import Struct
from typing import Any
from zlib import crc32

from metashell.codec.batch_writer import KRAFT_VERSION_RECORD, KRAFT_VOTERS, read_control_record
from metashell.codec.batches import CONTROL, RecordBatch, read_batch_header
from tests.simulation.violation import Violation

Key = tuple[int, bytes]
"""A voter as (id, directory id)."""

_HEAD = Struct(">qii")
_BODY = Struct(">hi")
_LEAD = 12
_COUNT_AT = 57


class Entry:
    """One batch: where it begins and ends, and what is in force after it.

    `voters` and `level` are those of the last Voters and KRaftVersion records up to here; `last_change` is the last batch up to here that
    changed who votes. `digest` is the state of the replicated state machine after it.
    """

    __slots__ = ("base", "data", "digest", "end", "epoch", "is_control", "last_change", "level", "prev", "voters")

    def __init__(self, prev: Entry | None, base: int, end: int, epoch: int, data: bytes) -> None:
        self.prev = prev
        self.base = base
        self.end = end
        self.epoch = epoch
        self.data = data
        self.is_control = False
        self.digest = 0
        self.voters: frozenset[Key] = frozenset()
        self.level = 0
        self.last_change: Entry | None = None

    def __repr__(self) -> str:
        return f"[{self.base}, {self.end}) of epoch {self.epoch}"


class History:
    """All batches by (base offset, epoch), and the committed path by end offset."""

    def __init__(self, voters: frozenset[Key], level: int) -> None:
        self.root = Entry(None, 0, 0, 0, b"")
        self.root.voters = voters
        self.root.level = level
        self.entries: dict[tuple[int, int], Entry] = {}
        self.committed: dict[int, Entry] = {0: self.root}
        self.tip = self.root
        """The last committed batch."""

    def add(self, prev: Entry, data: bytes, start: int) -> tuple[Entry, int]:
        """The entry of the batch that begins at `start` in `data`, written after `prev`, and where it ends in `data`.

        Errors: Violation where a batch of that offset and epoch exists with other bytes or after another one.
        """
        base, length, epoch = _HEAD.unpack_from(data, start)
        stop = start + _LEAD + length
        batch = data if start == 0 and stop == len(data) else data[start:stop]
        entry = self.entries.get((base, epoch))
        if entry is None:
            return self._new(prev, base, epoch, batch), stop
        if entry.data != batch:
            raise Violation("L7 OffsetEpochUnique", f"two batches at offset {base} of epoch {epoch}")
        if entry.prev is not prev:
            raise Violation("L1 LogMatching", f"batch {entry} follows {entry.prev} in one log and {prev} in another")
        return entry, stop

    def _new(self, prev: Entry, base: int, epoch: int, data: bytes) -> Entry:
        if base != prev.end:
            raise Violation("C3", f"batch at {base} appended to a log that ends at {prev.end}")
        if epoch < prev.epoch:
            raise Violation("L1 LogMatching", f"batch at {base} of epoch {epoch} follows epoch {prev.epoch}")
        attributes, last_delta = _BODY.unpack_from(data, 21)
        entry = Entry(prev, base, base + last_delta + 1, epoch, data)
        entry.voters, entry.level, entry.last_change = prev.voters, prev.level, prev.last_change
        if attributes & CONTROL:
            entry.is_control = True
            entry.digest = prev.digest
            self._apply_control(entry)
        else:
            entry.digest = crc32(data[_COUNT_AT:], prev.digest)
        self.entries[base, epoch] = entry
        return entry

    def _apply_control(self, entry: Entry) -> None:
        for record in RecordBatch(read_batch_header(entry.data), 0, entry.data).records():
            control = read_control_record(record.key, record.value)
            if control.type == KRAFT_VERSION_RECORD:
                entry.level = control.body.k_raft_version
            elif control.type == KRAFT_VOTERS:
                entry.voters = voters_of(control.body)
        check_voters(entry, self.tip)

    def since(self, end: int) -> list[Entry]:
        """The committed batches that follow an offset, in order."""
        found, entry = [], self.tip
        while entry.end > end:
            found.append(entry)
            assert entry.prev is not None
            entry = entry.prev
        return found[::-1]

    def commit(self, entry: Entry) -> int:
        """Extend the committed path to `entry`, and say by how many batches. Errors: Violation where it leaves that path."""
        path = []
        tip = self.tip
        while entry.end > tip.end:
            path.append(entry)
            assert entry.prev is not None
            entry = entry.prev
        if entry is not tip:
            raise Violation("L2 NoLogDivergence", f"{entry} is committed after {tip} was")
        for entry in reversed(path):
            check_step(tip, entry)
            self.committed[entry.end] = entry
            tip = entry
        self.tip = tip
        return len(path)


def voters_of(body: Any) -> frozenset[Key]:
    """Who votes by a VotersRecord."""
    return frozenset((voter.voter_id, voter.voter_directory_id) for voter in body.voters)


def check_voters(entry: Entry, tip: Entry) -> None:
    """A new control batch: at most one uncommitted change of voters in a log (M1), level 1 names directories (M5)."""
    before = entry.prev
    assert before is not None
    if entry.voters != before.voters and not same_ids_named(before, entry):
        last = before.last_change
        if last is not None and last.base >= tip.end:
            raise Violation("M1", f"voters change at {entry.base} while the change at {last.base} is not committed ({tip.end} is)")
        entry.last_change = entry
    if entry.level and any(directory == bytes(16) for _, directory in entry.voters):
        raise Violation("M5", f"kraft.version {entry.level} at {entry.base} with voters that have no directory id")


def same_ids_named(before: Entry, after: Entry) -> bool:
    """Whether the sets differ only by directory ids that became known with the upgrade to level 1."""
    return before.level == 0 and sorted(id for id, _ in before.voters) == sorted(id for id, _ in after.voters)


def check_step(before: Entry, after: Entry) -> None:
    """Two neighbours of the committed path: voters differ by one (M2), the level does not fall (M5)."""
    if after.level < before.level:
        raise Violation("M5", f"kraft.version {after.level} committed at {after.base} after {before.level}")
    if after.voters is before.voters or after.voters == before.voters or same_ids_named(before, after):
        return
    added, removed = after.voters - before.voters, before.voters - after.voters
    if len(added) + len(removed) > 1:
        raise Violation("M2", f"voters change by {sorted(added)} and {sorted(removed)} at {after.base}")
