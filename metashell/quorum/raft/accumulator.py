"""The accumulator of a leader: it gathers appended records into batches whose offsets are known at once.

All values of one call lie in one batch, so that they are replicated, truncated and delivered together. A prepared call leaves only
after it was scheduled. Data is encoded when it is prepared: a batch is closed by joining what is there.
Source: org.apache.kafka.raft.internals.BatchAccumulator, BatchBuilder.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from struct import Struct
from typing import Final

from metashell.codec.batch_writer import write_varint
from metashell.codec.primitives import crc32c
from metashell.quorum.raft.messages import BATCH_SIZE_MAX, BufferAllocationError, NotLeaderError, RecordBatchTooLargeError
from metashell.quorum.raft.voters import ControlValue, VoterSet, write_control_batch

COMPLETED_MAX: Final = 10
"""Closed batches that may wait; the next one is refused."""
HEADER_SIZE: Final = 61

_NEVER: Final = 1 << 63
_LEAD = Struct(">qiibI")
_AFTER_CRC = Struct(">hiqqqhii")
_AFTER_LENGTH: Final = 9
"""Bytes of epoch, magic and CRC, which the length counts besides what the CRC covers."""


class AppendedBatch:
    """A closed batch; `append_ms` is the monotonic time of its first append, `values` are those of its records, none of a control batch."""

    __slots__ = ("append_ms", "base_offset", "data", "is_control", "last_offset", "values")

    def __init__(
        self, base_offset: int, last_offset: int, data: bytes, append_ms: int, is_control: bool, values: Sequence[bytes] = ()
    ) -> None:
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.data = data
        self.append_ms = append_ms
        self.is_control = is_control
        self.values = values

    def __repr__(self) -> str:
        return f"AppendedBatch(offsets {self.base_offset} to {self.last_offset}, {len(self.data)} bytes)"


class BatchAccumulator:
    """The batches of one epoch, from `base_offset` on.

    Units: `now_ms` is monotonic and drives the linger; `timestamp`, Unix ms, goes into the batches. `next_offset` is that of the next
    record to be prepared.
    """

    __slots__ = (
        "_base",
        "_completed",
        "_count",
        "_drain_before",
        "_linger_due",
        "_opened_ms",
        "_parts",
        "_size",
        "_timestamp",
        "_values",
        "epoch",
        "linger_ms",
        "next_offset",
        "voters_offset",
    )

    def __init__(self, epoch: int, base_offset: int, linger_ms: int) -> None:
        self.epoch = epoch
        self.linger_ms = linger_ms
        self.next_offset = base_offset
        self.voters_offset = -1
        """Where the last voter set was put, -1 before there is one."""
        self._completed: deque[AppendedBatch] = deque()
        self._drain_before = _NEVER
        self._linger_due = _NEVER
        self._base = base_offset
        self._count = 0
        self._size = HEADER_SIZE
        self._parts: list[bytes] = []
        self._values: list[bytes] = []
        self._opened_ms = 0
        self._timestamp = 0

    @property
    def is_empty(self) -> bool:
        return not self._count and not self._completed

    @property
    def next_due_ms(self) -> int | None:
        """The time when a batch may be drained, None while none may."""
        if self._completed and self._completed[0].last_offset < self._drain_before:
            return self._completed[0].append_ms
        if self._count and self._drain_before == _NEVER:
            return self._linger_due
        return None

    def prepare(self, epoch: int, values: Sequence[bytes], now_ms: int, timestamp: int) -> int:
        """Add values that leave after `schedule`; returns the offset of the last.

        Errors: NotLeaderError for an earlier epoch; ValueError for a later one, for no values or an empty one; RecordBatchTooLargeError;
        BufferAllocationError. Nothing was added then.
        """
        if epoch != self.epoch:
            if epoch < self.epoch:
                raise NotLeaderError(f"append in epoch {epoch}, the leader's is {self.epoch}")
            raise ValueError(f"append in epoch {epoch}, which is after the leader's {self.epoch}")
        if not values or not all(values):
            raise ValueError("append without values, or with an empty one")
        data = encode_records(values, self._count)
        if self._size + len(data) > BATCH_SIZE_MAX:
            data = self._make_room(values, data)
        if not self._count:
            self._open(now_ms, timestamp)
        if self._drain_before == _NEVER:
            self._drain_before = self.next_offset
        self._parts.append(data)
        self._values += values
        self._size += len(data)
        self._count += len(values)
        self.next_offset += len(values)
        return self.next_offset - 1

    def schedule(self) -> None:
        """Release all that was prepared."""
        self._drain_before = _NEVER

    def append(self, epoch: int, values: Sequence[bytes], now_ms: int, timestamp: int) -> int:
        """`prepare` and `schedule`. Errors: as `prepare`."""
        last_offset = self.prepare(epoch, values, now_ms, timestamp)
        self._drain_before = _NEVER
        return last_offset

    def append_control(self, values: Sequence[ControlValue], now_ms: int, timestamp: int) -> int:
        """Add one batch of control records behind all data, due at once; returns the offset of its last record."""
        assert values, "an empty control batch"
        self._close()
        base_offset = self.next_offset
        last_offset = base_offset + len(values) - 1
        data = write_control_batch(base_offset, self.epoch, timestamp, values)
        self._completed.append(AppendedBatch(base_offset, last_offset, data, now_ms, True))
        self.next_offset = last_offset + 1
        for offset, value in enumerate(values, base_offset):
            if value.__class__ is VoterSet:
                self.voters_offset = offset
        return last_offset

    def drain(self, now_ms: int) -> list[AppendedBatch]:
        """The batches that leave now, in the order of their offsets."""
        if self._count and now_ms >= self._linger_due and self._drain_before == _NEVER:
            self._close()
        completed = self._completed
        if not completed:
            return []
        drained = []
        while completed and completed[0].last_offset < self._drain_before:
            drained.append(completed.popleft())
        if not completed and not self._count:
            self._linger_due = _NEVER
        return drained

    def _make_room(self, values: Sequence[bytes], data: bytes) -> bytes:
        """Close the current batch, and encode the values for the start of a new one."""
        if self._count:
            data = encode_records(values, 0)
        if HEADER_SIZE + len(data) > BATCH_SIZE_MAX:
            raise RecordBatchTooLargeError(f"{len(values)} records take {HEADER_SIZE + len(data)} bytes, more than {BATCH_SIZE_MAX}")
        if len(self._completed) >= COMPLETED_MAX:
            raise BufferAllocationError(f"{len(self._completed)} batches wait to be written")
        self._close()
        return data

    def _open(self, now_ms: int, timestamp: int) -> None:
        self._base = self.next_offset
        self._opened_ms = now_ms
        self._timestamp = timestamp
        if self._linger_due == _NEVER:
            self._linger_due = now_ms + self.linger_ms

    def _close(self) -> None:
        if not self._count:
            return
        data = join_batch(self._base, self.epoch, self._timestamp, self._count, b"".join(self._parts))
        self._completed.append(AppendedBatch(self._base, self._base + self._count - 1, data, self._opened_ms, False, self._values))
        self._parts.clear()
        self._values = []
        self._count = 0
        self._size = HEADER_SIZE


def join_batch(base_offset: int, epoch: int, timestamp: int, count: int, records: bytes) -> bytes:
    """One batch of data records that are encoded."""
    body = _AFTER_CRC.pack(0, count - 1, timestamp, timestamp, -1, -1, -1, count) + records
    return _LEAD.pack(base_offset, _AFTER_LENGTH + len(body), epoch, 2, crc32c(body)) + body


def encode_records(values: Sequence[bytes], offset_delta: int) -> bytes:
    """The records area for values at consecutive deltas: attributes 0, timestamp delta 0, key null, no headers."""
    varints = _VARINTS
    parts: list[bytes] = []
    for index, value in enumerate(values, offset_delta):
        delta = varints[index]
        size = varints[len(value)]
        parts += (varints[len(delta) + len(size) + len(value) + 4], b"\0\0", delta, b"\1", size, value, b"\0")
    return b"".join(parts)


def encoded_size(value: bytes, offset_delta: int) -> int:
    """Bytes of one data record in a batch."""
    varints, size = _VARINTS, len(value)
    size += len(varints[offset_delta]) + len(varints[size]) + 4
    return size + len(varints[size])


class _Varints(dict[int, bytes]):
    """Zig-zag varints of small numbers, made when they are first needed."""

    def __missing__(self, value: int) -> bytes:
        out = bytearray()
        write_varint(out, value)
        made = bytes(out)
        if value < 1 << 14:
            self[value] = made
        return made


_VARINTS = _Varints()
