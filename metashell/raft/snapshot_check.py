"""The bytes of a snapshot, checked while they come, and what its control records say of the quorum.

A snapshot is batches with offsets from 0: a control batch that begins with the header, data, a control batch with the footer. Pieces
need not end at a batch; at most one unfinished batch is kept. What peers send is checked before it is made complete, so that no
replica ever stands on a snapshot that it cannot read.
Source: KIP-630; org.apache.kafka.snapshot.RecordsSnapshotReader.
"""

from __future__ import annotations

from typing import assert_never

from metashell.codec.batches import CODEC_MASK, CONTROL, CRC_START, HEADER_SIZE, TRANSACTIONAL, BatchHeader, CheckedBatch, unpack_header
from metashell.codec.crc32c import crc32c
from metashell.errors import DecodeError, LogCorruptError
from metashell.raft.config import BATCH_SIZE_MAX
from metashell.raft.control_batches import (
    SNAPSHOT_TYPES,
    ControlValue,
    KRaftVersion,
    LeaderChange,
    NewerControlError,
    SnapshotFooter,
    SnapshotHeader,
    read_control_batch,
)
from metashell.raft.protocols import ReplicatedLog
from metashell.raft.voter_set import VoterSet
from metashell.values import OffsetAndEpoch

_MAGIC = 2
_ZSTD = 4
_READ_SIZE = 64 * 1024


class SnapshotCheck:
    """What is known of a snapshot so far.

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
        """Whether it ends as a snapshot does."""
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
    """What the first control batches of a complete snapshot say; its data is not read.

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
