"""Batches that are decoded together: a window of a file, and what its compressed batches expand to.

One tight loop goes over the window's batches, checking checksums. Anything unusual there (another magic, a wrong checksum, a length
that leads out of the window) goes to log's careful reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

import numpy as np

from metashell.codec.batches import CODEC_MASK, CRC_START, HEADER_SIZE, LEAD_SIZE, BatchHeader, RecordBatch
from metashell.codec.compression import decompress
from metashell.codec.crc32c import crc32c, crc32c_of_short
from metashell.columns.decode.headers import Headers
from metashell.columns.decode.rows import NULL, Area, RecordFault, Rows, read_rows
from metashell.columns.decode.vectors import Buffer
from metashell.errors import DecodeError
from metashell.log.files import OpenFile
from metashell.log.segment import BatchFault, read_batches
from metashell.log.tail import Tail

WINDOW_BYTES = 2 << 20
"""How much of a file is decoded at once: some 15 000 partition records. The columns of twice as many leave the processor's cache."""
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
        """The batches' headers and their records; afterwards `faults` has the batches that could not be read."""
        buffer = Buffer(self.pieces)
        self.pieces = []
        at = np.array(self.header_at, np.int64)
        position = at + self.base
        for number, place in self.moved.items():
            position[number] = place
        headers = Headers(buffer, at, position, self.old)
        return headers, buffer, read_rows(headers, buffer, self.elsewhere, self.areas, self.old_rows, self.faults)


def read_chunks(file: OpenFile, start: int, max_decompressed: int) -> Iterator[Chunk | BatchFault]:
    """The batches of a regular file from a place on, by the chunk, and the faults between them.

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
    """The same for a stream, which can only be read front to back."""
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
    """Add the batches of a whole small file; False, and the chunk is of no use, where they are not plain and good up to its end."""
    start = chunk.add_piece(data)
    found: list[int] = []
    if not data or _hop(found, data, 0) != len(data):
        return False
    chunk.header_at += [start + at for at in found]
    return True


def _hop(header_at: list[int], window: bytes, at: int) -> int:
    """The tight loop: adds batches that are not compressed and have the right checksum; returns where it stopped."""
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
