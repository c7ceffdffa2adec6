"""Bytes of a log, a snapshot or a Fetch response as batches: the one check that they pass wherever they cross a border."""

from collections.abc import Iterator

from metashell.codec.batches import HEADER_SIZE, BatchHeader, CheckedBatch, crc_fault, unpack_header
from metashell.codec.framing import MAGIC_MAX, frames_of
from metashell.errors import LogCorruptError


def checked_batches(data: bytes, file: str, position: int = 0, *, base_offset: int | None = None) -> Iterator[CheckedBatch]:
    """The batches of version 2 that fill `data`, which begins at byte `position` of what is called `file`.

    Shape: with `base_offset`, the first batch begins there. Base offsets follow one another: no CRC covers them.
    Errors: LogCorruptError, which names the batch's offset, at the first batch that does not fit, has another magic, does not follow the
    one before it, or does not have its CRC.
    """
    frames, stop = frames_of(data, position)
    expected = base_offset
    for at, size in frames:
        place = position + at
        if size < HEADER_SIZE:
            raise LogCorruptError(file, place if expected is None else expected, f"batch of {size} bytes at byte {place} has no header")
        header, batch = BatchHeader(*unpack_header(data, at)), data[at : at + size]
        fault = _fault(header, place, expected) or crc_fault(header, batch)
        if fault is not None:
            raise LogCorruptError(file, header.base_offset, fault)
        yield CheckedBatch(header, place, batch, file)
        expected = header.last_offset + 1
    if stop.kind != "end":
        offset = stop.offset if expected is None else expected
        reason = f"byte {stop.position}: {stop.reason}, {stop.left} bytes are left"
        raise LogCorruptError(file, stop.position if offset is None else offset, reason)


def _fault(header: BatchHeader, place: int, expected: int | None) -> str | None:
    """Why a batch is not the next one of a log of ours."""
    if header.magic != MAGIC_MAX:
        return f"batch at byte {place} has magic {header.magic}"
    if expected is not None and header.base_offset != expected:
        return f"batch at byte {place} is not the one at offset {expected}"
    if header.last_offset_delta < 0:
        return f"batch at byte {place} ends before it begins"
    return None
