"""Columns while they are read: where the value of each row is in the buffer, and the Arrow array made of it.

Bytes of variable size are copied once, when it is known which rows are good.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from metashell.codec.schema import FieldSchema
from metashell.columns.decode.vectors import DTYPES, WIDTHS, Array, Buffer, Ints, Mask, bitmap, offsets_of, range_positions
from metashell.columns.schemas import ARROW_TYPES

_BLOCK_MAX = 12


class FixedCells:
    """Values of a fixed width, the field's default where none was read."""

    def __init__(self, field: FieldSchema, default: Any, count: int) -> None:
        self.type = field.type
        self.default = default
        self.count = count
        self._values: Array | None = None

    def put(self, rows: Ints | None, values: Array) -> None:
        if rows is None:
            self._values = values
            return
        if self._values is None:
            self._values = self._defaults(self.count)
        self._values[rows] = values

    def arrow(self, buffer: Buffer, rows: Ints | None) -> pa.Array:
        if self._values is None:
            return fixed_array(self.type, self._defaults(self.count if rows is None else len(rows)))
        return fixed_array(self.type, self._values if rows is None else self._values[rows])

    def _defaults(self, count: int) -> Array:
        code = DTYPES[self.type]
        return np.full(count, self.default, code) if code != "V16" else np.zeros(count, code)


class RangeCells:
    """Strings, bytes, and arrays of a fixed-width primitive: where each starts, and its count, -1 for null.

    They have no `places` while no row was read: all are at the field's default then.
    """

    def __init__(self, field: FieldSchema, default: Any, count: int) -> None:
        self.type = field.type
        self.is_array = field.is_array
        self.width = WIDTHS[field.type] if field.is_array else 1
        self.default_count = -1 if default is None else 0
        self.count = count
        self.places: tuple[Ints, Ints] | None = None

    def put(self, rows: Ints | None, starts: Ints, counts: Ints) -> None:
        if rows is None:
            self.places = starts, counts
            return
        if self.places is None:
            self.places = np.zeros(self.count, np.int64), np.full(self.count, self.default_count, np.int64)
        self.places[0][rows], self.places[1][rows] = starts, counts

    def take_null_for_none(self) -> None:
        """Make empty what is null."""
        self.default_count = 0
        if self.places is not None:
            self.places = self.places[0], np.maximum(self.places[1], 0)

    def arrow(self, buffer: Buffer, rows: Ints | None) -> pa.Array:
        kind = pa.list_(ARROW_TYPES[self.type]) if self.is_array else ARROW_TYPES[self.type]
        if self.places is None and self.default_count < 0:
            return pa.nulls(self.count if rows is None else len(rows), kind)
        if self.places is None:
            self.put(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
        assert self.places is not None
        starts, counts = self.places if rows is None else (self.places[0][rows], self.places[1][rows])
        row_count = len(counts)
        least, most = (int(counts.min()), int(counts.max())) if row_count else (0, 0)
        if most < 0:
            return pa.nulls(row_count, kind)
        validity = None
        null_count = 0
        if least < 0:
            absent = counts < 0
            null_count = int(absent.sum())
            counts = np.maximum(counts, 0)
            validity = pa.py_buffer(bitmap(~absent))
        is_even = least == most
        offsets = pa.py_buffer(np.arange(0, most * row_count + 1, most, dtype=np.int32) if is_even and most else offsets_of(counts))
        if self.is_array:
            values = fixed_array(self.type, self._elements(buffer, starts, counts, most, is_even))
            return pa.ListArray.from_buffers(kind, row_count, [validity, offsets], null_count, 0, [values])
        data = pa.py_buffer(buffer.ranges(starts, counts))
        return pa.Array.from_buffers(kind, row_count, [validity, offsets, data], null_count)

    def _elements(self, buffer: Buffer, starts: Ints, counts: Ints, most: int, is_even: bool) -> Array:
        """The elements of all arrays. Short arrays are read as blocks of the longest one's length, and what is too much is dropped."""
        if most > _BLOCK_MAX:
            return buffer.take(self.type, range_positions(starts, counts, self.width))
        if most == 0:
            return np.zeros(0, DTYPES[self.type])
        blocks = buffer.blocks(self.type, starts, most)
        return blocks.reshape(-1) if is_even else blocks[np.arange(most) < counts[:, None]]

    def malformed(self, buffer: Buffer) -> Mask | None:
        """The rows whose text may not be UTF-8: those with a byte that is not ASCII. None if there are none."""
        if self.places is None:
            return None
        starts, counts = self.places[0], np.maximum(self.places[1], 0)
        data = buffer.ranges(starts, counts)
        high = data > 127
        if not high.any():
            return None
        sums = np.zeros(len(data) + 1, np.int64)
        np.cumsum(high, out=sums[1:])
        ends = np.cumsum(counts)
        return np.asarray(sums[ends] - sums[ends - counts] > 0)


Cells = FixedCells | RangeCells


def fixed_array(kind: str, values: Array) -> pa.Array:
    """An Arrow array over fixed-width values, which are not copied unless Arrow's type is wider."""
    count = len(values)
    if kind == "uuid":
        offsets = pa.py_buffer(np.arange(0, 16 * count + 1, 16, dtype=np.int32))
        return pa.Array.from_buffers(pa.binary(), count, [None, offsets, pa.py_buffer(np.ascontiguousarray(values))], 0)
    if kind == "bool":
        return pa.Array.from_buffers(pa.bool_(), count, [None, pa.py_buffer(bitmap(values))], 0)
    if kind in ("uint16", "uint32"):
        values = values.astype("i4" if kind == "uint16" else "i8")
    return pa.Array.from_buffers(ARROW_TYPES[kind], count, [None, pa.py_buffer(np.ascontiguousarray(values))], 0)
