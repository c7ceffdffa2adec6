"""The binary files beside a segment: offset index, time index, transaction index, producer state snapshot.

| file | entry | size |
| --- | --- | --- |
| `.index` | int32 offset - base offset, int32 position of the batch whose last offset that is | 8 |
| `.timeindex` | int64 timestamp, int32 offset - base offset | 12 |
| `.txnindex` | int16 version 0, int64 producer id, first, last and last stable offset of an aborted transaction | 34 |
| `.snapshot` | int16 version 1, uint32 CRC-32C of what follows it, int32 count, entries | 46 |

The two indexes of an active segment are preallocated: the unused part is zero. This module has the rules between neighbouring entries.
`inspect.dump` compares entries with the log by random access, `inspect.verify` while it walks the log once.

`seek_offset` uses the offset index to start reading near an offset instead of at the segment's beginning. An index is only a hint, because
it is never synced: it may be missing, stale, cut or preallocated. An entry is believed only if the batch at its position agrees.
Source: org.apache.kafka.storage.internals.log.{OffsetIndex,TimeIndex,TransactionIndex,AbortedTxn,ProducerStateManager}."""

from bisect import bisect_right
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from metashell.codec.batches import HEADER_SIZE, read_batch_header
from metashell.codec.primitives import crc32c
from metashell.common.errors import DecodeError
from metashell.disk.files import OpenFile

OFFSET_ENTRY = Struct(">ii")
TIME_ENTRY = Struct(">qi")
ABORTED_TRANSACTION = Struct(">hqqqq")
PRODUCER_ENTRY = Struct(">qhiqiqiq")
PRODUCER_HEADER = Struct(">hIi")
PRODUCER_SNAPSHOT_VERSION = 1
TRANSACTION_INDEX_VERSION = 0
_PRODUCER_CRC_END = 6
_WARM_SIZE = 8192


class ProducerEntry(NamedTuple):
    """A log's state of one idempotent producer; -1 means none."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int


class AbortedTransaction(NamedTuple):
    """One aborted transaction; as in Kafka, only the high byte of the version is read."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int

    def can_follow(self, last_offset: int) -> bool:
        """Whether it may follow an entry with this last offset (-1 for no entry).

        Markers are written one after the other, so last offsets ascend. The last stable offset need not: a transaction that is still open
        may have begun before this one. Source: TransactionIndex.append, ProducerStateManager.lastStableOffset.
        """
        return self.first_offset <= self.last_offset > last_offset


def offset_entry_ascends(before: tuple[int, int, *tuple[object, ...]], entry: tuple[int, int, *tuple[object, ...]]) -> bool:
    """Whether an entry (offset, position, ...) of an offset index may follow another. Source: OffsetIndex.append."""
    return before[0] < entry[0] and before[1] < entry[1]


def time_entry_ascends(before: tuple[int, int, *tuple[object, ...]], entry: tuple[int, int, *tuple[object, ...]]) -> bool:
    """Whether an entry (timestamp, offset, ...) of a time index may follow another, perhaps of the same offset.

    Source: TimeIndex.maybeAppend.
    """
    return before[0] < entry[0] and before[1] <= entry[1]


class OffsetIndex(NamedTuple):
    """The entries of an offset index, for look-ups."""

    base_offset: int
    relative_offsets: tuple[int, ...]
    positions: tuple[int, ...]
    is_ascending: bool

    def lookup(self, offset: int) -> tuple[int, int]:
        """The offset and position of the largest entry not above `offset`; the segment's beginning if there is none."""
        target = offset - self.base_offset
        slot = bisect_right(self.relative_offsets, target) - 1 if self.is_ascending else self._java_search(target)
        if slot < 0:
            return self.base_offset, 0
        return self.base_offset + self.relative_offsets[slot], self.positions[slot]

    def _java_search(self, target: int) -> int:
        """The slot that Kafka's search finds, also in an index that does not ascend (a zero-filled tail)."""
        offsets = self.relative_offsets
        if not offsets:
            return -1
        last = len(offsets) - 1
        first_hot = max(0, last - _WARM_SIZE // OFFSET_ENTRY.size)
        if offsets[first_hot] < target:
            low, high = first_hot, last
        elif offsets[0] > target:
            return -1
        else:
            low, high = 0, first_hot
        while low < high:
            middle = (low + high + 1) >> 1
            if offsets[middle] > target:
                high = middle - 1
            elif offsets[middle] < target:
                low = middle
            else:
                return middle
        return low


def read_offset_index(data: bytes, base_offset: int) -> OffsetIndex:
    """The offset index in `data`, without an incomplete entry at the end."""
    count = len(data) // OFFSET_ENTRY.size
    numbers = Struct(f">{2 * count}i").unpack_from(data)
    offsets = numbers[::2]
    is_ascending = all(map(int.__lt__, offsets, offsets[1:]))
    return OffsetIndex(base_offset, offsets, numbers[1::2], is_ascending)


def whole_entries(data: bytes, form: Struct) -> bytes:
    """`data` without an incomplete entry at its end."""
    return data[: len(data) - len(data) % form.size]


def aborted_transactions(data: bytes) -> Iterator[AbortedTransaction]:
    """The entries of a transaction index, without an incomplete one at the end."""
    return map(AbortedTransaction._make, ABORTED_TRANSACTION.iter_unpack(whole_entries(data, ABORTED_TRANSACTION)))


class ProducerSnapshotHeader(NamedTuple):
    """The head of a producer state snapshot, and the actual checksum of its bytes."""

    version: int
    crc: int
    computed_crc: int
    entry_count: int

    @property
    def size_bytes(self) -> int:
        """The size of a file with that many entries."""
        return PRODUCER_HEADER.size + PRODUCER_ENTRY.size * self.entry_count


def read_producer_header(data: bytes) -> ProducerSnapshotHeader:
    """The head of a producer state snapshot. Errors: DecodeError if the file is shorter than a head."""
    if len(data) < PRODUCER_HEADER.size:
        raise DecodeError(f"producer snapshot of {len(data)} byte(s) is cut off", offset=len(data))
    version, crc, count = PRODUCER_HEADER.unpack_from(data)
    return ProducerSnapshotHeader(version, crc, crc32c(data[_PRODUCER_CRC_END:]), count)


def producer_fields(data: bytes, count: int) -> Iterator[tuple[int, int, int, int, int, int, int, int]]:
    """Up to `count` entries of a producer state snapshot, with the fields of `ProducerEntry`; fewer if the bytes end earlier.

    They are plain tuples, because there may be very many.
    """
    room = (len(data) - PRODUCER_HEADER.size) // PRODUCER_ENTRY.size
    end = PRODUCER_HEADER.size + PRODUCER_ENTRY.size * max(0, min(count, room))
    return PRODUCER_ENTRY.iter_unpack(data[PRODUCER_HEADER.size : end])


def producer_entries(data: bytes, count: int) -> Iterator[ProducerEntry]:
    """The same entries with named fields."""
    return map(ProducerEntry._make, producer_fields(data, count))


INDEX_SUFFIX = ".index"


def seek_offset(index: OpenFile, segment: OpenFile, base_offset: int, offset: int) -> int:
    """A byte position in `segment` from which reading finds everything at and after `offset`; 0 if in doubt.

    Shape: an entry is the last offset of a batch, less the segment's base offset, and the batch's position.
    Source: org.apache.kafka.storage.internals.log.OffsetIndex.
    """
    if segment.size() is None:
        return 0
    low, high = 0, (index.size() or 0) // OFFSET_ENTRY.size
    found = (-1, 0)
    while low < high:
        middle = (low + high) // 2
        entry = _read_entry(index, middle)
        # The tail of an active index is zero. Only a first entry can be (0, 0), and skipping that one leads to the same result.
        if entry > (0, 0) and base_offset + entry[0] <= offset:
            found, low = entry, middle + 1
        else:
            high = middle
    relative_offset, position = found
    return position if _starts_batch(segment, position, base_offset + relative_offset) else 0


def _read_entry(index: OpenFile, number: int) -> tuple[int, int]:
    data = index.read_at(number * OFFSET_ENTRY.size, OFFSET_ENTRY.size)
    return OFFSET_ENTRY.unpack(data) if len(data) == OFFSET_ENTRY.size else (0, 0)


def _starts_batch(segment: OpenFile, position: int, last_offset: int) -> bool:
    """Whether the batch at `position` ends with `last_offset`."""
    data = segment.read_at(position, HEADER_SIZE) if position > 0 else b""
    if len(data) < HEADER_SIZE:
        return False
    header = read_batch_header(data)
    return header.magic == 2 and header.last_offset == last_offset
