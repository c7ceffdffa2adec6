"""Where a topic's partitions lie in the bytes of record batches, and how they are found there.

A span is a piece of a batch that holds nothing but PartitionRecords of one topic, each of them checked when the batch
was opened and written the way that Kafka writes them: attributes 0, timestamp delta 0, null key, no headers, sizes
of at most two bytes, frame and version of one byte each. So they can be walked with little work, at any time, and
never surprise. A record that decodes but looks otherwise is kept by itself (`overlay.py`).
"""

from array import array
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any, NamedTuple

from metashell.codec.registry import message_type
from metashell.image.partitions import PartitionRegistration, partition_from_record

_INT32 = Struct(">i").unpack_from


class Span(NamedTuple):
    """`record_count` partition records in `buf[start:end]`; the bytes of the batch live as long as a span of it."""

    buf: bytes
    start: int
    end: int
    record_count: int


class SpanIndex:
    """Which partitions are in the spans of a topic, and where; of a repeated one the last counts.

    Shape: places are ordinals over all spans; `_ordinals` is None when the partitions are 0, 1, 2, ... in order, as in
    every snapshot, so that an index costs 8 bytes a partition.
    """

    __slots__ = ("_ends", "_ordinals", "_spans", "_starts")

    def __init__(self, spans: tuple[Span, ...]) -> None:
        self._spans = spans
        self._starts = array("I")
        self._ends = array("I")
        partition_ids: list[int] = []
        for span in spans:
            ids, starts, ends = walk_span(span)
            partition_ids += ids
            self._starts.extend(starts)
            self._ends.extend(ends)
        self._ordinals: dict[int, int] | None = None
        if partition_ids != list(range(len(partition_ids))):
            self._ordinals = {id: ordinal for ordinal, id in enumerate(partition_ids)}

    def __len__(self) -> int:
        return len(self._starts) if self._ordinals is None else len(self._ordinals)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._starts)) if self._ordinals is None else self._ordinals)

    def __contains__(self, partition_id: object) -> bool:
        if self._ordinals is not None:
            return partition_id in self._ordinals
        return isinstance(partition_id, int) and 0 <= partition_id < len(self._starts)

    def read(self, partition_id: int) -> PartitionRegistration:
        """The partition as its record has it. Errors: KeyError for one that is in no span."""
        return read_partition(*self.place(partition_id))

    def place(self, partition_id: int) -> tuple[bytes, int, int]:
        """The buffer that holds a partition's record, and where in it. Errors: KeyError for one that is in no span."""
        if partition_id not in self:
            raise KeyError(partition_id)
        ordinal = partition_id if self._ordinals is None else self._ordinals[partition_id]
        return self._buffer(ordinal), self._starts[ordinal], self._ends[ordinal]

    def _buffer(self, ordinal: int) -> bytes:
        for span in self._spans:
            if ordinal < span.record_count:
                return span.buf
            ordinal -= span.record_count
        raise AssertionError("an ordinal lies in one of the spans")


def walk_span(span: Span) -> tuple[list[int], list[int], list[int]]:
    """The id of each record's partition, where its value starts, and where that ends."""
    buf, at, _, count = span
    partition_ids: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    for _ in range(count):
        first = buf[at]
        if first < 128:
            at += 1
            end = at + (first >> 1)
        else:
            end = at + 2 + ((first & 127 | buf[at + 1] << 7) >> 1)
            at += 2
        at += 2  # attributes and timestamp delta
        while buf[at] > 127:  # offset delta
            at += 1
        at += 2 if buf[at + 2] < 128 else 3  # null key; then the size of the value
        partition_ids.append(_INT32(buf, at + 4)[0])
        starts.append(at + 1)
        ends.append(end - 1)
        at = end
    return partition_ids, starts, ends


def walk_ids(span: Span) -> list[int]:
    """The ids alone: half the work of `walk_span`, for counting and listing."""
    buf, at, _, count = span
    partition_ids: list[int] = []
    for _ in range(count):
        first = buf[at]
        if first < 128:
            at += 1
            end = at + (first >> 1)
        else:
            end = at + 2 + ((first & 127 | buf[at + 1] << 7) >> 1)
            at += 2
        at += 2
        while buf[at] > 127:
            at += 1
        partition_ids.append(_INT32(buf, at + (6 if buf[at + 2] < 128 else 7))[0])
        at = end
    return partition_ids


def read_partition(buf: bytes, start: int, end: int) -> PartitionRegistration:
    """The partition whose PartitionRecord, frame included, is `buf[start:end]`."""
    return partition_from_record(partition_reader(buf[start + 2])(buf, start + 3, end))


def partition_reader(version: int) -> Callable[[bytes, int, int], Any]:
    """`(buf, start, end) -> PartitionRecord`."""
    reader = _readers.get(version)
    if reader is None:
        reader = _readers[version] = message_type("metadata", "PartitionRecord").reader(version)
    return reader


_readers: dict[int, Callable[[bytes, int, int], Any]] = {}


def merge_spans(spans: tuple[Span, ...], span: Span) -> tuple[Span, ...]:
    """`spans` and one more, joined to the last if it goes on where that ends."""
    if spans:
        last = spans[-1]
        if last.buf is span.buf and last.end == span.start:
            return (*spans[:-1], Span(last.buf, last.start, span.end, last.record_count + span.record_count))
    return (*spans, span)
