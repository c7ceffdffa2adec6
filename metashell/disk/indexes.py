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

`read_stable_end` finds the open transactions of a partition: a transaction is open from its first batch to the marker of its producer,
and the last stable offset is where the first open one starts. A broker writes the state of producers beside each segment that it begins, so
only the log from the newest usable snapshot on is walked, and of it only the heads of batches and markers are looked at. The walk ends
where the log ends, though that end may not be committed.
Source: org.apache.kafka.storage.internals.log.{OffsetIndex,TimeIndex,TransactionIndex,AbortedTxn,ProducerStateManager}."""

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from typing import Final, NamedTuple

from metashell.codec.batch_writer import ABORT, COMMIT, control_type
from metashell.codec.batches import CONTROL, HEADER_SIZE, TRANSACTIONAL, RecordBatch, read_batch_header, unpack_header
from metashell.codec.framing import MAGIC_MAX, BatchFrame
from metashell.codec.primitives import crc32c
from metashell.common.errors import DecodeError, UsageError
from metashell.disk.directory import SegmentEntry, listing_of
from metashell.disk.files import OpenFile, open_file
from metashell.disk.names import index_name
from metashell.disk.segment import BadBatch, Tail, read_batches

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


# ---- open transactions

_ATTRIBUTES_AT: Final = 21
_MAGIC_AT: Final = 16
_SNAPSHOT_SUFFIX: Final = ".snapshot"
_NEAR_BYTES: Final = 1 << 20
_MARKERS_MAX: Final = 16


@dataclass(slots=True, kw_only=True)
class OpenTransaction:
    """An open transaction in a partition's log. `since_ms` is the time of its first batch, None if the log no longer has that batch."""

    producer_id: int
    producer_epoch: int
    start_offset: int
    since_ms: int | None


class StableEnd(NamedTuple):
    """Where a log ends, and its open transactions, ordered by start. `last_ms` is the newest timestamp that was seen, -1 for none."""

    end_offset: int
    last_ms: int
    open: tuple[OpenTransaction, ...]

    @property
    def last_stable_offset(self) -> int:
        return self.open[0].start_offset if self.open else self.end_offset


def read_stable_end(folder: str) -> StableEnd:
    """Return the end and the open transactions of a partition's directory. A segment that cannot be read counts as far as it can."""
    segments, start, found = _start_of_walk(folder)
    end, last_ms = start, -1
    for number, segment in enumerate(segments):
        if number + 1 < len(segments) and segments[number + 1].base_offset <= start:
            continue
        end, last_ms = _walk(os.path.join(folder, segment.name), start, max(end, segment.base_offset), last_ms, found)
    for one in found.values():
        if one.since_ms is None:
            one.since_ms = _time_at(folder, one.start_offset)
    return StableEnd(end, last_ms, tuple(sorted(found.values(), key=lambda one: one.start_offset)))


def unwalked_bytes(folder: str) -> int:
    """Return how many bytes `read_stable_end` would walk."""
    segments, start, _ = _start_of_walk(folder)
    ends = [segment.base_offset for segment in segments[1:]] + [1 << 63]
    return sum(os.path.getsize(os.path.join(folder, one.name)) for one, end in zip(segments, ends, strict=False) if end > start)


def _start_of_walk(folder: str) -> tuple[list[SegmentEntry], int, dict[int, OpenTransaction]]:
    """Return the segments, the offset from which on they have to be walked, and the transactions that are open there."""
    names = os.listdir(folder)
    segments = listing_of(names).segments
    for offset, name in sorted(_snapshots(names), reverse=True):
        # A snapshot behind the newest segment is one of a clean stop: it has all that the log has, unless the log was cut since.
        if segments and segments[0].base_offset <= offset <= segments[-1].base_offset:
            entries = _snapshot(os.path.join(folder, name))
            if entries is not None:
                return segments, offset, entries
    return segments, 0, {}


def _snapshots(names: Iterable[str]) -> Iterator[tuple[int, str]]:
    for name in names:
        stem = name.removesuffix(_SNAPSHOT_SUFFIX)
        if stem != name and stem.isascii() and stem.isdigit():
            yield int(stem), name


def _snapshot(path: str) -> dict[int, OpenTransaction] | None:
    """Return the open transactions of a snapshot of producers, None if it is damaged."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        header = read_producer_header(data)
    except (OSError, DecodeError):
        return None
    if header.version != PRODUCER_SNAPSHOT_VERSION or header.crc != header.computed_crc or header.size_bytes != len(data):
        return None
    return {
        one.producer_id: OpenTransaction(
            producer_id=one.producer_id, producer_epoch=one.producer_epoch, start_offset=one.current_txn_first_offset, since_ms=None
        )
        for one in producer_entries(data, header.entry_count)
        if one.current_txn_first_offset >= 0
    }


def _walk(path: str, start: int, end: int, last_ms: int, found: dict[int, OpenTransaction]) -> tuple[int, int]:
    """Follow the transactions of a segment from an offset on; return where it ends, and the newest time so far."""

    def skips_plain(buf: bytes, frames: list[BatchFrame], first: int) -> int:
        nonlocal end, last_ms
        for done, (at, size) in enumerate(frames[first:] if first else frames, start=first):
            if size < HEADER_SIZE or buf[at + _MAGIC_AT] != MAGIC_MAX or buf[at + _ATTRIBUTES_AT + 1] & (TRANSACTIONAL | CONTROL):
                return done
            fields = unpack_header(buf, at)
            end, last_ms = fields[0] + fields[6] + 1, max(last_ms, fields[8])
        return len(frames)

    try:
        with open_file(path) as file:
            for item in read_batches(file, takes=skips_plain):
                if isinstance(item, BadBatch | Tail):
                    continue
                end, last_ms = item.header.last_offset + 1, max(last_ms, item.header.max_timestamp)
                if item.header.last_offset >= start and item.header.is_transactional:
                    _follow(item, found)
    except UsageError:
        pass
    return end, last_ms


def _follow(batch: RecordBatch, found: dict[int, OpenTransaction]) -> None:
    header = batch.header
    if header.is_control:
        if _is_end(batch):
            found.pop(header.producer_id, None)
    elif header.producer_id not in found:
        found[header.producer_id] = OpenTransaction(
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            start_offset=header.base_offset,
            since_ms=header.base_timestamp,
        )


def _is_end(batch: RecordBatch) -> bool:
    try:
        return any(control_type(record.key) in (ABORT, COMMIT) for record in batch.records())
    except DecodeError:
        return False


class BatchHead(NamedTuple):
    """The head of a batch: its offsets, the time of its first record, and whether it is a marker."""

    base_offset: int
    last_offset: int
    base_ms: int
    is_control: bool


def _time_at(folder: str, offset: int) -> int | None:
    head = heads_at(folder, (offset,)).get(offset)
    return None if head is None or head.base_offset > offset else head.base_ms


def heads_at(folder: str, offsets: Iterable[int]) -> dict[int, BatchHead]:
    """Return for each offset the head of the first batch of a partition's directory that ends at or behind it, if there is one.

    Offsets that lie near each other are found in one walk, from where the offset index leads.
    """
    found: dict[int, BatchHead] = {}
    left = sorted(set(offsets), reverse=True)
    segments = listing_of(os.listdir(folder)).segments
    for number, segment in enumerate(segments):
        here = []
        end = segments[number + 1].base_offset if number + 1 < len(segments) else None
        while left and (end is None or left[-1] < end):
            here.append(left.pop())
        if not here:
            continue
        with suppress(UsageError), open_file(os.path.join(folder, segment.name)) as file:
            for position, some in _runs(here, folder, file, segment.base_offset):
                _find_heads(file, position, some, found)
        # Compaction and damage may have taken what lay behind an offset in its segment: the next one has the first batch behind it.
        left += [offset for offset in reversed(here) if offset not in found]
    return found


def has_only_markers(folder: str, head: BatchHead, until: int) -> bool:
    """Return whether there are only markers of transactions from a batch on until an offset. More than `_MARKERS_MAX` are not looked at."""
    for _ in range(_MARKERS_MAX):
        if not head.is_control or head.last_offset + 1 >= until:
            return head.is_control
        following = heads_at(folder, (head.last_offset + 1,)).get(head.last_offset + 1)
        if following is None:
            return False
        head = following
    return False


def _runs(offsets: list[int], folder: str, file: OpenFile, base_offset: int) -> Iterator[tuple[int, list[int]]]:
    run: list[int] = []
    start = last = 0
    for offset in offsets:
        position = _position(folder, file, base_offset, offset)
        if run and position - last > _NEAR_BYTES:
            yield start, run
            run = []
        if not run:
            start = position
        run.append(offset)
        last = position
    yield start, run


def _find_heads(file: OpenFile, position: int, offsets: list[int], found: dict[int, BatchHead]) -> None:
    at_index = 0

    def note(buf: bytes, frames: list[BatchFrame], first: int) -> int:
        nonlocal at_index
        for done, (at, size) in enumerate(frames[first:] if first else frames, start=first):
            if size < HEADER_SIZE or buf[at + _MAGIC_AT] != MAGIC_MAX or at_index == len(offsets):
                return done
            fields = unpack_header(buf, at)
            last = fields[0] + fields[6]
            while at_index < len(offsets) and offsets[at_index] <= last:
                found[offsets[at_index]] = BatchHead(fields[0], last, fields[7], bool(fields[5] & CONTROL))
                at_index += 1
        return len(frames)

    for _ in read_batches(file, start=position, takes=note):
        if at_index == len(offsets):
            return


def _position(folder: str, file: OpenFile, base_offset: int, offset: int) -> int:
    path = os.path.join(folder, index_name(base_offset))
    if not os.path.exists(path):
        return 0
    try:
        with open_file(path) as index:
            return seek_offset(index, file, base_offset, offset)
    except UsageError:
        return 0
