"""The offset index beside a segment, used to start reading near an offset rather than at the segment's beginning.

An index is only a hint: it may be missing, stale, cut or preallocated. What it says is believed only when the batch at
that place says the same.
"""

from metashell.codec.batches import HEADER_SIZE, read_batch_header
from metashell.log.files import OpenFile
from metashell.log.indexes import OFFSET_ENTRY

INDEX_SUFFIX = ".index"


def seek(index: OpenFile, segment: OpenFile, base_offset: int, offset: int) -> int:
    """A byte position in `segment` from which on reading meets everything at and after `offset`; 0 if in doubt.

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
        # The tail of an active index is zero; a real entry of zeros is the first one only, and is not missed.
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
    """Whether a batch that ends with `last_offset` starts at `position`."""
    data = segment.read_at(position, HEADER_SIZE) if position > 0 else b""
    if len(data) < HEADER_SIZE:
        return False
    header = read_batch_header(data)
    return header.magic == 2 and header.last_offset == last_offset
