"""Whether what looks like a torn tail is one: a write that was cut off has nothing whole after it."""

from __future__ import annotations

from metashell.codec.batches import CRC_START, HEADER_SIZE, MAGIC_END, read_batch_header
from metashell.codec.crc32c import crc32c
from metashell.log.files import OpenFile

_SEARCHED_MAX = 1 << 24
_SUMS_MAX = 100
"""What only looks like a header costs a checksum of as many bytes as it says."""
_EPOCH_START = 12
_MAGIC = b"\x02"


def whole_batch_after(file: OpenFile, position: int, offset: int, epoch: int) -> int | None:
    """The byte of a whole batch that lies somewhere after `position`, of that epoch and not before that offset; None for none.

    Where there is one, the batch at `position` was not cut off: its length is damaged, and a server would cut the log there.
    """
    data = file.read_at(position, _SEARCHED_MAX)
    mark = epoch.to_bytes(4, "big", signed=True) + _MAGIC
    found = data.find(mark, MAGIC_END)
    sums_left = _SUMS_MAX
    while found >= 0 and sums_left:
        start = found - _EPOCH_START
        if start + HEADER_SIZE <= len(data):
            header = read_batch_header(data, start)
            if HEADER_SIZE <= header.size_bytes <= len(data) - start and header.base_offset >= offset:
                sums_left -= 1
                if crc32c(data[start : start + header.size_bytes], CRC_START) == header.crc:
                    return position + start
        found = data.find(mark, found + 1)
    return None
