"""The headers of many batches as columns of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from metashell.codec.batches import CODEC_MASK, CONTROL, LEAD_SIZE, LOG_APPEND_TIME, TRANSACTIONAL, BatchHeader
from metashell.columns.decode.vectors import Array, Buffer, Ints, Mask

_FIELDS = (
    ("base_offset", "int64", 0),
    ("length", "int32", 8),
    ("leader_epoch", "int32", 12),
    ("magic", "int8", 16),
    ("crc", "uint32", 17),
    ("attributes", "int16", 21),
    ("last_offset_delta", "int32", 23),
    ("base_timestamp", "int64", 27),
    ("max_timestamp", "int64", 35),
    ("producer_id", "int64", 43),
    ("producer_epoch", "int16", 51),
    ("base_sequence", "int32", 53),
    ("count", "int32", 57),
)


class Headers:
    """The header fields of a chunk's batches; `at` is where each batch lies in the buffer, `position` where in the file.

    Batches of magic 0 and 1 have another layout; theirs come as objects, by number.
    """

    base_offset: Ints
    leader_epoch: Array
    magic: Array
    crc: Array
    attributes: Array
    last_offset_delta: Array
    base_timestamp: Ints
    max_timestamp: Ints
    producer_id: Ints
    producer_epoch: Array
    base_sequence: Array
    count: Array
    length: Array

    def __init__(self, buffer: Buffer, at: Ints, position: Ints, old: dict[int, BatchHeader]) -> None:
        self.buffer = buffer
        self.at = at
        self.position = position
        for name, kind, place in _FIELDS:
            column = buffer.take(kind, at + place)
            for number, header in old.items():
                value: Any = header.size_bytes - LEAD_SIZE if name == "length" else getattr(header, name)
                column[number] = value
            setattr(self, name, column)

    def __len__(self) -> int:
        return len(self.at)

    @property
    def size(self) -> Array:
        return self.length + LEAD_SIZE

    @property
    def last_offset(self) -> Ints:
        return self.base_offset + self.last_offset_delta

    @property
    def codec_id(self) -> Array:
        return self.attributes & CODEC_MASK

    @property
    def is_control(self) -> Mask:
        return np.asarray(self.attributes & CONTROL != 0)

    @property
    def is_transactional(self) -> Mask:
        return np.asarray(self.attributes & TRANSACTIONAL != 0)

    @property
    def is_log_append_time(self) -> Mask:
        return np.asarray(self.attributes & LOG_APPEND_TIME != 0)

    def bytes_of(self, number: int, most: int) -> bytes:
        """The first bytes of a batch, at most so many."""
        at = int(self.at[number])
        return self.buffer.data[at : at + min(int(self.length[number]) + LEAD_SIZE, most)]
