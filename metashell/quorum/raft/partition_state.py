"""The quorum's state in the log and its snapshot: voter sets, kraft.version levels and epochs by offset, and a snapshot's head.

Voters and levels take effect when they are appended, committed or not, and a truncation undoes them. What a snapshot holds counts as
written at its end offset - 1, so that of (0, 0) lies at -1. While neither names voters, the static ones are in force.

`SnapshotCheck` checks the bytes of a snapshot while they come. A snapshot is batches with offsets from 0: a control batch that begins with
the header, data, a control batch with the footer. Pieces need not end at a batch; at most one unfinished batch is kept. What peers send is
checked before it is made complete, so that no replica ever stands on a snapshot that it cannot read.

`EpochCache` knows which epoch begins at which offset, and from it where two logs part. It is a copy in memory of what
`ReplicatedLog.write_leader_epochs` keeps on disk.

Source: KIP-630; org.apache.kafka.raft.internals.KRaftControlRecordStateMachine, VoterSetHistory, KRaftVersionState;
org.apache.kafka.snapshot.RecordsSnapshotReader; org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Generic, TypeVar, assert_never

from metashell.codec.batches import CODEC_MASK, CONTROL, CRC_START, HEADER_SIZE, TRANSACTIONAL, BatchHeader, CheckedBatch, unpack_header
from metashell.codec.primitives import crc32c
from metashell.common.errors import DecodeError, LogCorruptError
from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft.messages import BATCH_SIZE_MAX
from metashell.quorum.raft.replicated_log import ReplicatedLog
from metashell.quorum.raft.voters import (
    SNAPSHOT_TYPES,
    ControlValue,
    KRaftVersion,
    LeaderChange,
    NewerControlError,
    SnapshotFooter,
    SnapshotHeader,
    VoterSet,
    read_control_batch,
)

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
    """The voters and the kraft.version that the log holds, by offset.

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
        """Drop what the log lost from `offset` on; return whether voters or level may have changed."""
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


_MAGIC = 2
_ZSTD = 4
_READ_SIZE = 64 * 1024


class SnapshotCheck:
    """A check of a snapshot whose bytes arrive piece by piece.

    `last_contained_log_timestamp` (Unix ms) is None before the header was read; `kraft_version` and `voters` None where it has none.
    `fault` says in one line what is wrong with it, and then nothing more is taken in. `name` is what its batches call their file.
    """

    __slots__ = (
        "_name",
        "_needed",
        "_position",
        "_rest",
        "fault",
        "has_data",
        "has_footer",
        "is_newer",
        "kraft_version",
        "last_contained_log_timestamp",
        "next_offset",
        "voters",
    )

    def __init__(self, name: str = "snapshot") -> None:
        self._name = name
        self._position = 0
        self._rest = bytearray()
        self._needed = HEADER_SIZE
        self.next_offset = 0
        self.last_contained_log_timestamp: int | None = None
        self.kraft_version: int | None = None
        self.voters: VoterSet | None = None
        self.has_data = False
        self.has_footer = False
        self.fault: str | None = None
        self.is_newer = False

    @property
    def is_complete(self) -> bool:
        """Whether the footer was read."""
        return self.has_footer and not self._rest and self.fault is None

    def feed(self, data: bytes) -> list[CheckedBatch]:
        """Take in the next bytes; returns the batches that they make whole, none with a fault."""
        if self.fault is not None:
            return []
        rest = self._rest
        rest += data
        if len(rest) < self._needed:
            return []
        whole = bytes(rest)
        try:
            batches = self._read_batches(whole)
        except DecodeError as error:
            self.fault = str(error)
            self.is_newer = isinstance(error, NewerControlError)
            return []
        taken = sum(len(batch.data) for batch in batches)
        self._position += taken
        self._rest = bytearray(whole[taken:])
        return batches

    def _read_batches(self, data: bytes) -> list[CheckedBatch]:
        """Take in all whole batches."""
        batches: list[CheckedBatch] = []
        position, size = 0, len(data)
        while size - position >= HEADER_SIZE:
            header = BatchHeader(*unpack_header(data, position))
            if not HEADER_SIZE <= header.size_bytes <= BATCH_SIZE_MAX:
                raise DecodeError(f"snapshot batch at offset {self.next_offset} has {header.size_bytes} bytes")
            if self.last_contained_log_timestamp is not None and not header.is_control:
                self.has_data = True
            following = position + header.size_bytes
            if following > size:
                self._needed = header.size_bytes
                return batches
            batch = data[position:following]
            self._read_batch(batch, header)
            batches.append(CheckedBatch(header, self._position + position, batch, self._name))
            position = following
        self._needed = HEADER_SIZE
        return batches

    def _read_batch(self, batch: bytes, header: BatchHeader) -> None:
        offset = self.next_offset
        if self.has_footer:
            raise DecodeError(f"snapshot has a batch at offset {offset}, after its footer")
        if header.base_offset != offset or header.magic != _MAGIC:
            raise DecodeError(f"snapshot batch at offset {offset} says {header.base_offset}, magic {header.magic}")
        if crc32c(batch, CRC_START) != header.crc:
            raise DecodeError(f"snapshot batch at offset {offset}: its CRC-32C is not {header.crc:#010x}")
        if header.count < 1 or header.count != header.last_offset_delta + 1:
            raise DecodeError(f"snapshot batch at offset {offset} has {header.count} records for {header.last_offset_delta + 1} offsets")
        if header.attributes & TRANSACTIONAL or header.attributes & CODEC_MASK > _ZSTD:
            raise DecodeError(f"snapshot batch at offset {offset} has attributes {header.attributes:#x}")
        if header.attributes & CONTROL:
            for index, value in enumerate(read_control_batch(batch, header, SNAPSHOT_TYPES), offset):
                self._apply(index, value)
        elif self.last_contained_log_timestamp is None:
            raise DecodeError("snapshot does not begin with its header")
        self.next_offset = offset + header.count

    def _apply(self, offset: int, value: ControlValue) -> None:
        if (offset == 0) != isinstance(value, SnapshotHeader):
            raise DecodeError("snapshot does not begin with its header" if offset == 0 else f"snapshot has a header at offset {offset}")
        match value:
            case SnapshotHeader():
                self.last_contained_log_timestamp = value.last_contained_log_timestamp
            case KRaftVersion():
                self.kraft_version = value.level
            case VoterSet():
                self.voters = value
            case SnapshotFooter():
                self.has_footer = True
            case LeaderChange():
                raise DecodeError(f"snapshot has {value} at offset {offset}")
            case _:
                assert_never(value)


def read_snapshot_head(log: ReplicatedLog, id: OffsetAndEpoch) -> SnapshotCheck:
    """Read the first control batches of a complete snapshot; its data is not read.

    Errors: none are raised for its content, `fault` has them. KeyError for one that is not there.
    """
    check = SnapshotCheck()
    position, size = 0, log.snapshot_size(id)
    while position < size and check.fault is None and not check.has_data:
        try:
            piece = log.read_snapshot(id, position, _READ_SIZE)
        except LogCorruptError as error:
            check.fault = error.reason
            break
        if not piece:
            break
        check.feed(piece)
        position += len(piece)
    if check.last_contained_log_timestamp is None and check.fault is None:
        check.fault = f"snapshot of {size} bytes has no header"
    return check


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
