"""Filters that Spark pushes down: ranges for the headers of batches, types whose payloads are written, and a mask over what is left.

Only those are taken whose meaning is beyond doubt: comparisons of a whole column of numbers, texts, truths, times or bytes with values.
Spark judges all of them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.columns.bounds import ANY, OPEN, Bounds, Range
from metashell.columns.decode.place import Place
from metashell.columns.inputs.splits import Piece

_BOUNDED: Final = ("offset", "epoch", "timestamp")
_OF_PIECES: Final = ("cluster_id", "file", "log", "checkpoint")
"""Columns that have one value in all of a file."""
_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "EqualTo": pc.equal,
    "GreaterThan": pc.greater,
    "GreaterThanOrEqual": pc.greater_equal,
    "LessThan": pc.less,
    "LessThanOrEqual": pc.less_equal,
}
_OF_TEXT: Final[dict[str, Callable[[Any, str], Any]]] = {
    "StringStartsWith": pc.starts_with,
    "StringEndsWith": pc.ends_with,
    "StringContains": pc.match_substring,
}
_MILLI: Final = 1000


@dataclass(frozen=True, slots=True)
class Test:
    """One filter on a column: Spark's name of it, and its value, if it has one."""

    name: str
    column: str
    value: Any = None
    is_negated: bool = False

    def mask(self, array: pa.Array) -> pa.Array:
        """Where it holds; null where that is not known, as in SQL."""
        found = self._found(array)
        return pc.invert(found) if self.is_negated else found

    def _found(self, array: pa.Array) -> pa.Array:
        match self.name:
            case "IsNull":
                return pc.is_null(array)
            case "IsNotNull":
                return pc.is_valid(array)
            case "In":
                values = pa.array([value for value in self.value if value is not None], array.type)
                inside = pc.is_in(array, value_set=values)
                is_known = pc.is_valid(array) if len(values) == len(self.value) else inside
                return pc.if_else(is_known, inside, pa.scalar(None, pa.bool_()))
            case "EqualNullSafe":
                return pc.is_null(array) if self.value is None else pc.fill_null(pc.equal(array, pa.scalar(self.value, array.type)), False)
            case name if name in _OF_TEXT:
                return _OF_TEXT[name](array, self.value)
            case name:
                return _COMPARISONS[name](array, pa.scalar(self.value, array.type))


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters that are judged here, and the bounds that follow from them."""

    tests: tuple[Test, ...] = ()
    bounds: Bounds = ANY
    payload_types: frozenset[str] | None = None

    def kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch for which all filters hold."""
        if not self.tests or not batch.num_rows:
            return batch
        mask = None
        for test in self.tests:
            found = test.mask(batch.column(test.column))
            mask = found if mask is None else pc.and_kleene(mask, found)
        return batch.filter(mask)

    def may_hold(self, piece: Piece) -> bool:
        """Whether a piece of a file may hold such a row, by what all of its rows have in common."""
        tests = [test for test in self.tests if test.column in _OF_PIECES]
        if not tests or piece.log is None:
            return True
        place = Place(piece)
        columns = dict(zip(_OF_PIECES, (*place.arrays(1), *place.kind_arrays(1)), strict=True))
        return all(test.mask(columns[test.column])[0].as_py() for test in tests)


def judged(filters: Iterable[Any], schema: pa.Schema) -> Filters:
    """Those of some filters that can be judged on columns of a schema."""
    tests = (_test(each) for each in filters)
    return Filters(tuple(test for test in tests if test is not None and is_judged(test, schema)))


def with_bounds(filters: Filters, schema: pa.Schema) -> Filters:
    """The same with the bounds that follow, for tables whose rows are of records and have their offset, epoch and timestamp."""
    bounds, types = ANY, None
    for test in filters.tests:
        if test.column in _BOUNDED and not test.is_negated:
            bounds = bounds.on(test.column, _range(test, schema.field(test.column).type))
        if test.column == "type" and not test.is_negated and test.name in ("EqualTo", "In"):
            named = frozenset(test.value if test.name == "In" else (test.value,))
            types = named if types is None else types & named
    return replace(filters, bounds=bounds, payload_types=types)


def _test(pushed: Any) -> Test | None:
    """A filter of Spark as ours. Its classes came with Spark 4.1, so they are known by their names."""
    name = type(pushed).__name__
    if name == "Not":
        inner = _test(pushed.child)
        return None if inner is None else replace(inner, is_negated=not inner.is_negated)
    if name not in (*_COMPARISONS, *_OF_TEXT, "In", "IsNull", "IsNotNull", "EqualNullSafe") or len(pushed.attribute) != 1:
        return None
    return Test(name, pushed.attribute[0], getattr(pushed, "value", None))


def is_judged(test: Test, schema: pa.Schema) -> bool:
    """Whether a test can be made on its column: the type is simple, and takes the value as it is."""
    if test.column not in schema.names:
        return False
    kind = schema.field(test.column).type
    if test.name in ("IsNull", "IsNotNull"):
        return True
    if not any(
        of(kind) for of in (pa.types.is_integer, pa.types.is_boolean, pa.types.is_string, pa.types.is_timestamp, pa.types.is_binary)
    ):
        return False
    if test.name in _OF_TEXT and not pa.types.is_string(kind):
        return False
    # A time without a zone would be guessed at.
    if pa.types.is_timestamp(kind) and any(value.tzinfo is None for value in _values(test) if isinstance(value, datetime)):
        return False
    try:
        test.mask(pa.nulls(1, kind))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def _values(test: Test) -> Sequence[Any]:
    return test.value if test.name == "In" else (test.value,)


def _range(test: Test, kind: pa.DataType) -> Range:
    """The numbers for which a test may hold."""
    if test.name == "In":
        numbers = [_number(value, kind) for value in test.value if value is not None]
        return Range(min(least for least, _ in numbers), max(most for _, most in numbers)) if numbers else Range(1, 0)
    if (test.name not in _COMPARISONS and test.name != "EqualNullSafe") or test.value is None:
        return OPEN
    below, above = _number(test.value, kind)
    is_whole = below == above
    match test.name:
        case "GreaterThan":
            return Range(below + 1, None)
        case "GreaterThanOrEqual":
            return Range(above, None)
        case "LessThan":
            return Range(None, above - 1)
        case "LessThanOrEqual":
            return Range(None, below)
    return Range(below, below) if is_whole else Range(1, 0)


def _number(value: Any, kind: pa.DataType) -> tuple[int, int]:
    """A value as the whole numbers next to it, at or below and at or above: columns of times have microseconds, logs milliseconds."""
    if not pa.types.is_timestamp(kind):
        return int(value), int(value)
    micros = pa.scalar(value, kind).value
    return micros // _MILLI, -(-micros // _MILLI)
