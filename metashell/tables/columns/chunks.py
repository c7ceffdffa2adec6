"""Batches that are decoded together: a window of a file, and what its compressed batches expand to.

One tight loop goes over the window's batches and checks their checksums. Anything unusual (another magic, a wrong checksum, a length that
leads out of the window) goes to the log's careful reader. The order of batches is `disk.log.order` applied to many headers at once; a
fault is a row with its place, its reason and the bytes there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Final

import numpy as np

from metashell.codec.batches import CODEC_MASK, CRC_START, HEADER_SIZE, LEAD_SIZE, BatchHeader, RecordBatch
from metashell.codec.primitives import crc32c, crc32c_of_short, decompress
from metashell.codec.redaction import shown_head
from metashell.common.errors import DecodeError
from metashell.disk.files import OpenFile
from metashell.disk.segment import BatchFault, SourceFault, Tail, order_fault, read_batches
from metashell.tables.columns.record_walk import NULL, Area, RecordFault, Rows, read_rows
from metashell.tables.columns.vectors import Buffer, Headers

WINDOW_BYTES = 2 << 20
"""Bytes of a file decoded at once: some 15 000 partition records. The columns of twice as many leave the processor's cache."""
EXPANDED_BYTES = 16 << 20
"""A chunk ends when its compressed batches have expanded to so much; one batch expands to at most 128 MiB."""

_unpack_usual = Struct(">i4xbIh").unpack_from
_unpack_head = Struct(">i4xbIh34xi").unpack_from
_LENGTH_MIN = HEADER_SIZE - LEAD_SIZE
_LARGE = 1 << 18


class Chunk:
    """Batches in order: where their headers and records lie in the buffer that the pieces will be joined to.

    The records of a batch follow its header, but for those of `elsewhere`, whose records lie in `areas`, if any.
    """

    def __init__(self, window: bytes, base: int) -> None:
        self.base = base
        self.size = len(window)
        self.pieces = [window]
        self.header_at: list[int] = []
        self.moved: dict[int, int] = {}
        self.old: dict[int, BatchHeader] = {}
        self.elsewhere: list[int] = []
        self.areas: list[Area] = []
        self.old_rows: list[list[int]] = []
        self.faults: list[RecordFault] = []

    def __len__(self) -> int:
        return len(self.header_at)

    def add_piece(self, piece: bytes) -> int:
        """Add bytes to the buffer; returns where they start in it."""
        start = self.size
        self.pieces.append(piece)
        self.size += len(piece)
        return start

    def add_batch(self, batch: RecordBatch, max_decompressed: int) -> None:
        """Add a batch that is not in the window."""
        number = len(self.header_at)
        self.moved[number] = batch.position
        self.header_at.append(self.add_piece(batch.data))
        if batch.header.magic < 2:
            self.old[number] = batch.header
            self.elsewhere.append(number)
            self._add_old_records(number, batch, max_decompressed)
        elif batch.header.attributes & CODEC_MASK:
            self.expand(number, batch.header.attributes, batch.header.count, batch.data, max_decompressed)

    def expand(self, number: int, attributes: int, count: int, data: bytes, max_decompressed: int) -> None:
        """Add the records of a compressed batch to the buffer."""
        self.elsewhere.append(number)
        if count == 0:
            return
        try:
            records = decompress(attributes & CODEC_MASK, data[HEADER_SIZE:], max_decompressed)
        except DecodeError as error:
            self.faults.append(RecordFault(number, str(error)))
            return
        start = self.add_piece(records)
        self.areas.append(Area(number, start, self.size, count))

    def _add_old_records(self, number: int, batch: RecordBatch, max_decompressed: int) -> None:
        """Add messages of magic 0 and 1: keys and values go into the buffer one by one."""
        try:
            for record in batch.records(max_decompressed):
                row = [number, record.offset, record.timestamp]
                for part in (record.key, record.value):
                    row += (self.add_piece(part or b""), NULL if part is None else len(part))
                self.old_rows.append(row)
        except DecodeError as error:
            self.faults.append(RecordFault(number, str(error)))

    def read(self) -> tuple[Headers, Buffer, Rows]:
        """Return the batches' headers and their records; afterwards `faults` has the batches that could not be read."""
        buffer = Buffer(self.pieces)
        self.pieces = []
        at = np.array(self.header_at, np.int64)
        position = at + self.base
        for number, place in self.moved.items():
            position[number] = place
        headers = Headers(buffer, at, position, self.old)
        return headers, buffer, read_rows(headers, buffer, self.elsewhere, self.areas, self.old_rows, self.faults)


def read_chunks(file: OpenFile, start: int, max_decompressed: int) -> Iterator[Chunk | BatchFault]:
    """Yield the batches of a regular file from a place on, by the chunk, and the faults between them.

    A `Tail` is the last item.
    """
    position = start
    while True:
        window = file.read_at(position, WINDOW_BYTES)
        if not window:
            break
        chunk = Chunk(window, position)
        at = _fill(chunk, window, max_decompressed)
        item = None if at else next(read_batches(file, start=position), None)
        if isinstance(item, RecordBatch):
            chunk = Chunk(b"", position)
            chunk.add_batch(item, max_decompressed)
            at = len(item.data)
        if len(chunk):
            yield chunk
        if isinstance(item, BatchFault):
            yield item
            if isinstance(item, Tail):
                return
            at = item.size
        if not at:
            break
        position += at


def read_stream_chunks(items: Iterator[RecordBatch | BatchFault], max_decompressed: int) -> Iterator[Chunk | BatchFault]:
    """Yield the batches of a stream, by the chunk, and its faults. A stream can only be read front to back."""
    chunk = Chunk(b"", 0)
    for item in items:
        if isinstance(item, RecordBatch):
            chunk.add_batch(item, max_decompressed)
        if len(chunk) and (chunk.size >= WINDOW_BYTES or isinstance(item, BatchFault)):
            yield chunk
            chunk = Chunk(b"", 0)
        if isinstance(item, BatchFault):
            yield item
    if len(chunk):
        yield chunk


def _fill(chunk: Chunk, window: bytes, max_decompressed: int) -> int:
    """Add the batches of a window up to an unusual one; returns where that starts."""
    at = 0
    while True:
        at = _hop(chunk.header_at, window, at)
        if at + HEADER_SIZE > len(window) or chunk.size > len(window) + EXPANDED_BYTES:
            return at
        length, magic, crc, attributes, count = _unpack_head(window, at + 8)
        end = at + LEAD_SIZE + length
        if magic != 2 or end > len(window) or end < at + HEADER_SIZE or not attributes & CODEC_MASK:
            return at
        data = window[at:end]
        if crc32c(data, CRC_START) != crc:
            return at
        chunk.header_at.append(at)
        chunk.expand(len(chunk.header_at) - 1, attributes, count, data, max_decompressed)
        at = end


def add_plain(chunk: Chunk, data: bytes) -> bool:
    """Add the batches of a whole small file; False, with a useless chunk, unless all of them are plain and good."""
    start = chunk.add_piece(data)
    found: list[int] = []
    if not data or _hop(found, data, 0) != len(data):
        return False
    chunk.header_at += [start + at for at in found]
    return True


def _hop(header_at: list[int], window: bytes, at: int) -> int:
    """Add batches that are not compressed and have the right checksum, in a tight loop; return the position where it stopped."""
    append, unpack = header_at.append, _unpack_usual
    size = len(window)
    last = size - HEADER_SIZE
    while at <= last:
        length, magic, crc, attributes = unpack(window, at + 8)
        end = at + LEAD_SIZE + length
        if magic != 2 or end > size or length < _LENGTH_MIN or attributes & CODEC_MASK:
            break
        if length < _LARGE:
            if crc32c_of_short(window[at + CRC_START : end]) != crc:
                break
        elif crc32c(window[at + CRC_START : end]) != crc:
            break
        append(at)
        at = end
    return at


# ---- order of the batches of a metadata log


class HeaderOrder:
    """Checks the order of the batches of one file, chunk after chunk.

    `begins_by` is the offset at or before which the first batch has to start, None where nothing is known of it.
    """

    def __init__(self, begins_by: int | None) -> None:
        self._begins_by = begins_by
        self._expected: int | None = None
        self._epoch: int | None = None

    @classmethod
    def after(cls, end: int, epoch: int) -> HeaderOrder:
        """Return the order after a batch that ended before the offset `end`."""
        order = cls(None)
        order._expected, order._epoch = end, epoch
        return order

    def check(self, headers: Headers) -> list[Fault]:
        """Return the faults of batches out of order; each batch is compared with the one before it, whatever that one was."""
        if not len(headers):
            return []
        base, epoch = headers.base_offset, headers.leader_epoch
        # Numbers that wrap around here are out of order too; the message is made with Python's numbers.
        odd = (base[1:] != headers.last_offset[:-1] + 1) | (epoch[1:] < epoch[:-1])
        faults = [] if (reason := self._first(int(base[0]), int(epoch[0]))) is None else [_fault_of(headers, 0, reason)]
        for number in (np.flatnonzero(odd) + 1).tolist():
            here = (int(base[number]), int(epoch[number]))
            if reason := order_fault(_end(headers, number - 1), int(epoch[number - 1]), here):
                faults.append(_fault_of(headers, number, reason))
        self._expected, self._epoch = _end(headers, len(headers) - 1), int(epoch[-1])
        return faults

    def check_next(self, batch: RecordBatch) -> Fault | None:
        """Return the fault of the batch behind the last one, which another reads."""
        reason = self._first(batch.header.base_offset, batch.header.leader_epoch)
        if reason is None:
            return None
        data = batch.data
        return _fault(batch.header.base_offset, batch.position, len(data), reason, data[:HEADER_SIZE], data[:BYTES_MAX])

    def forget(self) -> None:
        """After bytes that hold no good batch, anything may follow."""
        self._begins_by = self._expected = self._epoch = None

    def _first(self, offset: int, epoch: int) -> str | None:
        expected = self._expected
        if self._begins_by is not None:
            # A checkpoint may end within a batch, or segments may reach back behind it.
            expected, self._begins_by = None if offset <= self._begins_by else self._begins_by, None
        return order_fault(expected, self._epoch, (offset, epoch))


def _end(headers: Headers, number: int) -> int:
    """Return the offset after a batch; may be beyond what an offset can be."""
    return int(headers.base_offset[number]) + int(headers.last_offset_delta[number]) + 1


def _fault_of(headers: Headers, number: int, reason: str) -> Fault:
    head, data = headers.bytes_of(number, HEADER_SIZE), headers.bytes_of(number, BYTES_MAX)
    return _fault(int(headers.base_offset[number]), int(headers.position[number]), int(headers.size[number]), reason, head, data)


def _fault(offset: int, position: int, size: int, reason: str, head: bytes, data: bytes) -> Fault:
    return Fault(kind="bad-order", offset=offset, position=position, size=size, reason=reason, harmless=shown_head(head), data=data)


# ---- faults

UNKNOWN_RECORD: Final = "unknown-record"
"""The kind of a fault that a newer release explains."""
BYTES_MAX: Final = 1 << 20
"""The bytes of a fault that are kept; `size` counts all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One place that could not be read. `data` are the bytes there, up to a limit, `harmless` what can hold no secret.

    A fault that is not serious ends no export: a newer release wrote a record, or a field of it, that is not known.
    """

    kind: str
    offset: int | None
    position: int
    size: int
    reason: str
    harmless: bytes | None = None
    data: bytes | None = None
    is_serious: bool = True

    def __str__(self) -> str:
        offset = "" if self.offset is None else f"offset {self.offset}: "
        return f"{offset}byte {self.position}: {self.reason}"


def fault_of_item(item: BatchFault, file: OpenFile) -> Fault:
    """Return the fault of a batch, or of bytes that hold none, which are read from the file again if that is possible."""
    data = item.batch.data if item.batch is not None else b""
    if not data and file.size() is not None:
        data = file.read_at(item.position, min(item.size, BYTES_MAX))
    return Fault(
        kind=item.kind,
        offset=item.offset,
        position=item.position,
        size=item.size,
        reason=item.reason,
        harmless=shown_head(data) if item.batch is not None else None,
        data=data[:BYTES_MAX],
    )


def fault_of_file(fault: SourceFault) -> Fault:
    """Return the fault of a checkpoint that is not used."""
    return Fault(
        kind="bad-checkpoint", offset=fault.offset if fault.offset >= 0 else None, position=fault.position, size=0, reason=fault.reason
    )


def fault_of_records(headers: Headers, number: int, reason: str) -> Fault:
    """Return a batch of the right checksum whose records cannot be read from some place on."""
    return Fault(
        kind="bad-records",
        offset=int(headers.base_offset[number]),
        position=int(headers.position[number]),
        size=int(headers.size[number]),
        reason=reason,
        harmless=shown_head(headers.bytes_of(number, HEADER_SIZE)),
        data=headers.bytes_of(number, BYTES_MAX),
    )
