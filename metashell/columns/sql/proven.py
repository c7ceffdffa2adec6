"""What a filter proves of the rows that it keeps: between which offsets, epochs and times they lie, and of which types they are.

DuckDB hands a scan its filter as an expression of Arrow. Arrow passes over files whose rows are known to fail a filter, by rules of its own
for comparisons, `and`, `or`, `in` and null. Here it is asked about files that do not exist: in this one offsets are at most 41, may it
hold a row? Where the answer is no, that much is proved, and bisection finds how far. What Arrow does not understand stays open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from metashell.columns.bounds import ANY, OPEN, Bounds, Range

BOUNDED: Final = ("offset", "epoch", "timestamp")
_MICROS: Final = pa.timestamp("us", "UTC")
_TEXT: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_TYPES_MAX: Final = 64
_FORMAT: Final = ds.ParquetFileFormat()
_FILES: Final = LocalFileSystem()


class Judge:
    """One filter on the columns of a schema."""

    def __init__(self, schema: pa.Schema, condition: pc.Expression) -> None:
        # Times are compared in microseconds, as DuckDB has them.
        self._schema = pa.schema([field.with_type(_judged_type(field.type)) for field in schema])
        self._condition = condition

    def bounds(self) -> Bounds:
        """Where all rows lie that the filter keeps."""
        try:
            return reduce(lambda found, name: found.on(name, self._range(name)), BOUNDED, ANY)
        except pa.ArrowException:
            return ANY

    def types(self, column: str = "type") -> frozenset[str] | None:
        """The only texts that a column has in rows that the filter keeps, None where there may be others."""
        if column not in self._schema.names:
            return None
        named = sorted({found[1] for found in _TEXT.finditer(str(self._condition))})
        if not named or len(named) > _TYPES_MAX:
            return None
        field = pc.field(column)
        between = [(field > low) & (field < high) for low, high in pairwise(named)]
        others = [field.is_null(), field < named[0], field > named[-1], *between]
        try:
            if any(self._may_hold(others)):
                return None
            wanted = self._may_hold([field == text for text in named])
        except pa.ArrowException:
            return None
        return frozenset(text for text, is_wanted in zip(named, wanted, strict=True) if is_wanted)

    def _range(self, name: str) -> Range:
        if name not in self._schema.names:
            return OPEN
        kind, field = self._schema.field(name).type, pc.field(name)
        if self._may_hold([field.is_null()])[0]:
            return OPEN
        bits = 31 if kind == pa.int32() else 63
        low, high = -(1 << bits), (1 << bits) - 1

        def may_be_at_most(value: int) -> bool:
            return self._may_hold([field <= pa.scalar(value, kind)])[0]

        def may_be_at_least(value: int) -> bool:
            return self._may_hold([field >= pa.scalar(value, kind)])[0]

        if not may_be_at_most(high):
            return Range(1, 0)
        least = None if may_be_at_most(low) else _least(may_be_at_most, low, high)
        most = None if may_be_at_least(high) else -_least(lambda value: may_be_at_least(-value), -high, -low)
        if pa.types.is_timestamp(kind):
            return Range(None if least is None else -(-least // 1000), None if most is None else most // 1000)
        return Range(least, most)

    def _may_hold(self, known: Sequence[pc.Expression]) -> list[bool]:
        """For each of some files, of whose rows only that is known, whether it may hold a row that the filter keeps."""
        files = [_FORMAT.make_fragment(str(number), _FILES, partition_expression=each) for number, each in enumerate(known)]
        asked = ds.FileSystemDataset(files, self._schema, _FORMAT, _FILES)
        found = {int(file.path) for file in asked.get_fragments(filter=self._condition)}
        return [number in found for number in range(len(known))]


def _judged_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return _MICROS if pa.types.is_timestamp(kind) else kind


def _least(may_be: Any, low: int, high: int) -> int:
    """The number above the largest one for which it was shown that `may_be` does not hold; it does not at `low`, and may at `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        if may_be(middle):
            high = middle
        else:
            low = middle
    return low + 1
