"""Bytes of a log, a snapshot or a Fetch response as batches: the one check that they pass wherever they cross a border."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

from metashell.codec.batches import HEADER_SIZE, LEAD_SIZE, RecordBatch, read_batch_header
from metashell.errors import DecodeError, LogCorruptError

_LENGTH: Final = Struct(">i")
_LENGTH_AT: Final = 8
_MAGIC: Final = 2


def checked_batches(data: bytes, file: str, position: int = 0, *, base_offset: int | None = None) -> Iterator[RecordBatch]:
    """The batches of version 2 that fill `data`, which begins at byte `position` of what is called `file`.

    Shape: with `base_offset`, the first batch begins there. Base offsets follow one another: no CRC covers them.
    Errors: LogCorruptError, which names the batch's offset, at the first batch that does not fit, has another magic, does not follow the
    one before it, or does not have its CRC.
    """
    at, end, expected = 0, len(data), base_offset
    while at < end:
        try:
            header = read_batch_header(data, at)
        except DecodeError as error:
            raise LogCorruptError(file, position + at if expected is None else expected, f"byte {position + at}: {error}") from None
        offset, size = header.base_offset, header.size_bytes
        if size < HEADER_SIZE or at + size > end:
            raise LogCorruptError(file, offset, f"batch of {size} bytes at byte {position + at}, {end - at} are left")
        if header.magic != _MAGIC:
            raise LogCorruptError(file, offset, f"batch at byte {position + at} has magic {header.magic}")
        if expected is not None and offset != expected:
            raise LogCorruptError(file, offset, f"batch at byte {position + at} is not the one at offset {expected}")
        if header.last_offset_delta < 0:
            raise LogCorruptError(file, offset, f"batch at byte {position + at} ends before it begins")
        batch = RecordBatch(header, position + at, data if size == end else data[at : at + size], file)
        fault = batch.crc_fault()
        if fault is not None:
            raise LogCorruptError(file, offset, fault)
        yield batch
        expected = header.last_offset + 1
        at += size


def whole_batches_size(data: bytes) -> int:
    """How many bytes at the start of `data` are whole batches, going by their lengths alone."""
    position = 0
    while position + LEAD_SIZE <= len(data):
        length = _LENGTH.unpack_from(data, position + _LENGTH_AT)[0]
        end = position + LEAD_SIZE + max(int(length), 0)
        if end > len(data):
            break
        position = end
    return position
