"""Whether what looks like a torn tail is one: nothing was ever written after a batch whose write was cut off."""

from __future__ import annotations

import re

from metashell.codec.batches import HEADER_SIZE, LEAD_SIZE, MAGIC_END
from metashell.codec.crc32c import crc32c
from metashell.log.files import OpenFile

_LOOK_MAX = 9 * 1024 * 1024
"""Kafka's largest metadata batch is 8 MiB, so the next one starts within that."""
_CHECKED_MAX = 64 * 1024 * 1024
_CRC_START = 21
# An offset below 2^48, a length below 2^24, a leader epoch that is not negative, magic 2.
_LEAD = re.compile(rb"(?=\0\0.{6}\0.{3}[\0-\x7f].{3}\x02)", re.DOTALL)


def whole_batch_behind(file: OpenFile, position: int) -> int | None:
    """Where, behind a batch at byte `position` that claims more bytes than the file has, a whole batch lies; None without one.

    Then it is that batch's length which is wrong, and what follows it is not the remains of a last write. Looks at the first
    9 MiB only, and gives up where too much of it resembles batches.
    """
    data = file.read_at(position, _LOOK_MAX)
    left = _CHECKED_MAX
    for match in _LEAD.finditer(data, 1):
        start = match.start()
        end = start + LEAD_SIZE + int.from_bytes(data[start + 8 : start + LEAD_SIZE], "big")
        if end - start < HEADER_SIZE or end > len(data):
            continue
        left -= end - start
        if left < 0:
            break
        if crc32c(data[start:end], _CRC_START) == int.from_bytes(data[start + MAGIC_END : start + _CRC_START], "big"):
            return position + start
    return None
