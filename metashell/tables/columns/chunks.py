"""Batches that are decoded together: a window of a file, and what its compressed batches expand to; or a part of one large batch.

One tight loop goes over the window's batches and checks their checksums. Anything unusual (another magic, a wrong checksum, a length that
leads out of the window) goes to the log's careful reader.

Memory does not grow with the number of records of a batch: 3 MB of zstd may hold four million. Such a batch is expanded twice, block by
block: first to see that all of it expands, since one that does not has no records, and then to decode what the blocks hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from struct import Struct
from typing import Final

import numpy as np
import pyarrow as pa

from metashell.codec.batches import (
    CODEC_MASK,
    CRC_START,
    HEADER_SIZE,
    LEAD_SIZE,
    BatchHeader,
    RecordBatch,
    left_over,
    negative_count,
    read_batch_header,
    read_record_end,
)
from metashell.codec.primitives import (
    CODEC_NAMES,
    MAX_DECOMPRESSED,
    SNAPPY,
    UNCOMPRESSED,
    TooLargeError,
    crc32c,
    crc32c_of_short,
    decompress,
    more_crc32c,
    snappy_blocks,
)
from metashell.common.errors import DecodeError
from metashell.disk.files import OpenFile
from metashell.disk.segment import BatchFault, Tail, read_batches
from metashell.tables.columns.record_walk import NULL, Area, RecordFault, Rows, no_rows, read_block, read_rows, walk_block
from metashell.tables.columns.vectors import BYTES_MAX, Buffer, Headers

WINDOW_BYTES = 2 << 20
"""Bytes of a file decoded at once: some 15 000 partition records. The columns of twice as many leave the processor's cache."""
EXPANDED_BYTES = 16 << 20
"""A chunk ends when its compressed batches have expanded to so much. A batch that is larger is read in parts, as one of more records is."""
RECORDS_MAX = 1 << 14
"""Records that are decoded at once: as tables each of them takes some 300 bytes meanwhile."""

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
        self.expanded_count = 0

    def __len__(self) -> int:
        return len(self.header_at)

    def add_piece(self, piece: bytes) -> int:
        """Add bytes to the buffer; returns where they start in it."""
        start = self.size
        self.pieces.append(piece)
        self.size += len(piece)
        return start

    def add_batch(self, batch: RecordBatch, max_decompressed: int) -> bool:
        """Add a batch that is not in the window; return False for one that has to be read in parts."""
        header = batch.header
        if is_large(header):
            return False
        is_packed = header.magic == 2 and header.attributes & CODEC_MASK
        records = _expand(header.attributes & CODEC_MASK, batch.data, max_decompressed) if is_packed and header.count else b""
        if records is None:
            return False
        number = len(self.header_at)
        self.moved[number] = batch.position
        self.header_at.append(self.add_piece(batch.data))
        if header.magic < 2:
            self.old[number] = header
            self.elsewhere.append(number)
            self._add_old_records(number, batch, max_decompressed)
        elif is_packed:
            self.expand(number, header.count, records)
        return True

    def expand(self, number: int, count: int, records: bytes | DecodeError) -> None:
        """Add the records of a compressed batch to the buffer."""
        self.elsewhere.append(number)
        if count == 0:
            return
        if isinstance(records, DecodeError):
            self.faults.append(RecordFault(number, str(records)))
            return
        start = self.add_piece(records)
        self.areas.append(Area(number, start, self.size, count))
        self.expanded_count += count

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

    @property
    def is_full(self) -> bool:
        """Return whether the compressed batches have expanded to enough."""
        return self.size > len(self.pieces[0]) + EXPANDED_BYTES or self.expanded_count >= RECORDS_MAX

    def parts(self) -> Iterator[tuple[Headers, Buffer, Rows]]:
        """Yield what `read` returns; a batch that is read in parts yields more."""
        yield self.read()

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


# ---- a batch that is read in parts

BLOCK_BYTES = WINDOW_BYTES
_LEAD_MAX: Final = 5
"""Bytes that a record's size takes at most."""
Blocks = Callable[[], Iterator[bytes]]
"""Gives the bytes of a batch's records from the beginning on, each time that it is called. Blocks may have any size."""


class LargeBatch:
    """One batch of many records, or large ones, whose parts have a bounded number of records each.

    `head` are the first bytes of the batch, as many as a fault shows; `area_size` is the size of its records.
    """

    def __init__(self, position: int, head: bytes, area_size: int, blocks: Blocks, fault: str | None = None) -> None:
        self.header = read_batch_header(head)
        self.faults = [] if fault is None else [RecordFault(0, fault)]
        self._position = position
        self._head = head
        self._area_size = area_size
        self._blocks = blocks

    @classmethod
    def of(cls, batch: RecordBatch, max_decompressed: int) -> LargeBatch:
        """Return a batch whose bytes are at hand; one that does not expand has a fault and no records."""
        data = batch.data
        make = partial(cls, batch.position, data[:BYTES_MAX])
        codec_id = batch.header.attributes & CODEC_MASK
        if codec_id == UNCOMPRESSED:
            return make(len(data) - HEADER_SIZE, partial(_slices, data, HEADER_SIZE))
        blocks = partial(_expanded_blocks, codec_id, data)
        # What the stream does not take is left to the codec, which knows what Kafka takes and how to call what it does not.
        with suppress(OSError, DecodeError):
            size = 0
            for block in blocks():
                size += len(block)
                if size > max_decompressed:
                    break
            else:
                return make(size, blocks)
        try:
            area = decompress(codec_id, data[HEADER_SIZE:], max_decompressed)
        except DecodeError as error:
            return make(0, lambda: iter(()), str(error))
        return make(len(area), partial(_slices, area, 0))

    @classmethod
    def in_file(cls, file: OpenFile, position: int, window: bytes) -> LargeBatch | None:
        """Return the batch at a place of a regular file if it is large, not compressed, whole and good; only a block of it is in memory."""
        if len(window) < HEADER_SIZE:
            return None
        header = read_batch_header(window)
        end = position + header.size_bytes
        if header.magic != 2 or header.attributes & CODEC_MASK or header.size_bytes <= max(len(window), EXPANDED_BYTES):
            return None
        size = file.size()
        if size is None or end > size:
            return None
        crc = 0
        for block in _file_blocks(file, position + CRC_START, end):
            crc = more_crc32c(crc, block)
        blocks = partial(_file_blocks, file, position + HEADER_SIZE, end)
        return cls(position, window[:BYTES_MAX], header.size_bytes - HEADER_SIZE, blocks) if crc == header.crc else None

    def parts(self) -> Iterator[tuple[Headers, Buffer, Rows]]:
        """Yield the header and some of the records, at least once; afterwards `faults` tells whether the others could be read."""
        at_head = np.zeros(1, np.int64)
        headers = Headers(Buffer([self._head]), at_head, at_head + self._position, {})
        is_empty = True
        if not self.faults:
            for buffer, rows in self._records(headers):
                is_empty = False
                yield headers, buffer, rows
        if is_empty:
            yield headers, headers.buffer, no_rows()

    def _records(self, headers: Headers) -> Iterator[tuple[Buffer, Rows]]:
        """Yield records with the buffer that they lie in, up to the first that cannot be read."""
        count, end = self.header.count, self._area_size
        taken = done = 0  # the records that were given, and their bytes
        pending: list[bytes] = []
        held, wanted = 0, BLOCK_BYTES
        try:
            if count < 0:
                raise negative_count(count, 0)
            for block in chain(self._blocks(), (b"",)):
                pending.append(block)
                held += len(block)
                is_last = done + held >= end
                if held < wanted and not is_last:
                    continue
                buffer = Buffer(pending)
                at, wanted = 0, BLOCK_BYTES
                while taken < count:
                    starts: list[int] = []
                    following = walk_block(buffer.data, at, buffer.size, min(count - taken, RECORDS_MAX), starts)
                    if not starts:
                        # The next record is unusual, or not all of it is here.
                        if buffer.size - at < _LEAD_MAX and not is_last:
                            break
                        _, following = read_record_end(buffer.data, at, at + end - done)
                        if following > buffer.size:
                            wanted = following - at
                            break
                        starts = [at]
                    rows = read_block(headers, buffer, starts, following, self.faults)
                    if len(rows):
                        yield buffer, rows
                    if self.faults:
                        return
                    taken, done, at = taken + len(starts), done + following - at, following
                if taken == count:
                    if done != end:
                        raise left_over(end - done, count, done)
                    return
                pending = [buffer.data[at : buffer.size]]
                held = buffer.size - at
            raise DecodeError("the batch changed while it was read")
        except DecodeError as error:
            self.faults.append(RecordFault(0, str(error)))


Batches = Chunk | LargeBatch
"""Batches that are decoded together, or a part after another of one."""


def is_large(header: BatchHeader) -> bool:
    """Return whether a batch is read in parts, as far as its header tells."""
    return header.magic == 2 and (header.count > RECORDS_MAX or header.size_bytes > EXPANDED_BYTES)


def _expand(codec_id: int, data: bytes, max_decompressed: int) -> bytes | DecodeError | None:
    """Return the records of a compressed batch; None where they take more than a chunk may, as far as that is allowed."""
    try:
        return decompress(codec_id, data[HEADER_SIZE:], min(max_decompressed, EXPANDED_BYTES))
    except TooLargeError as error:
        return None if max_decompressed > EXPANDED_BYTES else error
    except DecodeError as error:
        return error


def _expanded_blocks(codec_id: int, data: bytes) -> Iterator[bytes]:
    """Yield what the records of a compressed batch expand to. Errors: OSError or DecodeError where the codec may know better."""
    if codec_id == SNAPPY:
        return snappy_blocks(data[HEADER_SIZE:], MAX_DECOMPRESSED)
    if codec_id >= len(CODEC_NAMES):
        raise DecodeError(f"unknown compression type id {codec_id}")
    stream = pa.CompressedInputStream(pa.BufferReader(memoryview(data)[HEADER_SIZE:]), CODEC_NAMES[codec_id])
    return _until_empty(partial(stream.read, BLOCK_BYTES))


def _until_empty(read: Callable[[], bytes]) -> Iterator[bytes]:
    return iter(read, b"")


def _slices(data: bytes, start: int) -> Iterator[bytes]:
    return (data[at : at + BLOCK_BYTES] for at in range(start, len(data), BLOCK_BYTES))


def _file_blocks(file: OpenFile, start: int, end: int) -> Iterator[bytes]:
    return (file.read_at(at, min(BLOCK_BYTES, end - at)) for at in range(start, end, BLOCK_BYTES))


# ---- reading


def read_chunks(file: OpenFile, start: int, max_decompressed: int) -> Iterator[Batches | BatchFault]:
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
        if at:
            yield chunk
        elif (large := LargeBatch.in_file(file, position, window)) is not None:
            at = large.header.size_bytes
            yield large
        else:
            item = next(read_batches(file, start=position), None)
            if isinstance(item, RecordBatch):
                at = len(item.data)
                yield _chunk_of(item, max_decompressed)
            elif item is not None:
                yield item
                if isinstance(item, Tail):
                    return
                at = item.size
        if not at:
            break
        position += at


def read_stream_chunks(items: Iterator[RecordBatch | BatchFault], max_decompressed: int) -> Iterator[Batches | BatchFault]:
    """Yield the batches of a stream, by the chunk, and its faults. A stream can only be read front to back."""
    chunk = Chunk(b"", 0)
    for item in items:
        is_added = isinstance(item, RecordBatch) and chunk.add_batch(item, max_decompressed)
        if len(chunk) and (not is_added or chunk.size >= WINDOW_BYTES or chunk.is_full):
            yield chunk
            chunk = Chunk(b"", 0)
        if isinstance(item, BatchFault):
            yield item
        elif not is_added:
            yield LargeBatch.of(item, max_decompressed)
    if len(chunk):
        yield chunk


def _chunk_of(batch: RecordBatch, max_decompressed: int) -> Batches:
    chunk = Chunk(b"", batch.position)
    return chunk if chunk.add_batch(batch, max_decompressed) else LargeBatch.of(batch, max_decompressed)


def _fill(chunk: Chunk, window: bytes, max_decompressed: int) -> int:
    """Add the batches of a window up to an unusual one; returns where that starts."""
    at = 0
    while True:
        at = _hop(chunk.header_at, window, at)
        if at + HEADER_SIZE > len(window) or chunk.is_full:
            return at
        length, magic, crc, attributes, count = _unpack_head(window, at + 8)
        end = at + LEAD_SIZE + length
        if magic != 2 or end > len(window) or end < at + HEADER_SIZE or not attributes & CODEC_MASK or count > RECORDS_MAX:
            return at
        data = window[at:end]
        if crc32c(data, CRC_START) != crc:
            return at
        records = _expand(attributes & CODEC_MASK, data, max_decompressed) if count else b""
        if records is None:
            return at
        chunk.header_at.append(at)
        chunk.expand(len(chunk.header_at) - 1, count, records)
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
