"""CRC-32C (Castagnoli), the checksum of version-2 record batches and of producer snapshots.

The C library accepts `bytes` only and no start index, so a range has to be copied before it is summed. A large batch is
copied piece by piece, which stays in the cache and never holds a second copy of it.
"""

from __future__ import annotations

from google_crc32c import extend as _extend
from google_crc32c import value as _value

_PIECE_SIZE = 256 * 1024


def crc32c(data: bytes, start: int = 0) -> int:
    """The CRC-32C of `data` from index `start` to its end, as an unsigned int."""
    if len(data) - start <= _PIECE_SIZE:
        return int(_value(data[start:]))
    crc = 0
    for index in range(start, len(data), _PIECE_SIZE):
        crc = _extend(crc, data[index : index + _PIECE_SIZE])
    return int(crc)


crc32c_of_short = _value
"""The CRC-32C of `bytes` that need no cutting up, for loops that care for the cost of a call."""
