"""Bytes of a log or a snapshot as batches."""

from __future__ import annotations

from collections.abc import Iterator

from metashell.codec.batches import HEADER_SIZE, LEAD_SIZE, RecordBatch, read_batch_header
from metashell.errors import DecodeError


def cut_batches(data: bytes, file: str, position: int = 0) -> Iterator[RecordBatch]:
    """The batches that fill `data`, which begins at byte `position` of what is called `file`.

    Errors: DecodeError at the first that does not fit, has another magic than 2, or does not have its CRC.
    """
    at, end = 0, len(data)
    while at < end:
        header = read_batch_header(data, at)
        size = header.size_bytes
        if size < HEADER_SIZE or at + size > end:
            raise DecodeError(f"{file}: byte {position + at}: a batch of {size - LEAD_SIZE} bytes does not fit", offset=at)
        if header.magic != 2:
            raise DecodeError(f"{file}: byte {position + at}: a batch of magic {header.magic}", offset=at)
        batch = RecordBatch(header, position + at, data if size == end else data[at : at + size], file)
        if not batch.crc_is_valid():
            raise DecodeError(f"{file}: byte {position + at}: the CRC of the batch at offset {header.base_offset} is wrong", offset=at)
        yield batch
        at += size
