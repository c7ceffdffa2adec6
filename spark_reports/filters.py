"""Filters on the rows of a load: those that Spark pushes down, and the option `where`, which has conditions with `and` between, as in SQL.

    offset >= 120000 and offset < 130000 and type in ('PARTITION_RECORD', 'TOPIC_RECORD')
    timestamp >= '2026-11-20 08:00' and epoch is not null

They become ranges for the headers of batches, types whose payloads are written, and a mask over the rest. Only comparisons of a whole
column of numbers, texts, booleans, times or bytes with values are taken; Spark applies all of its filters again. Spark keeps pushed
filters with the DataFrame and applies them to its next query as well (seen with 4.1 and 4.3), so pushing is only done where the option
`pushdown` asks for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.common.errors import UsageError
from metashell.common.options import did_you_mean
from metashell.tables.columns.chunk_records import Place
from metashell.tables.read_options import ANY, BOUNDED, OPEN, Bounds, Range
from metashell.tables.splits import Piece

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
        """Return a mask of the rows for which it holds; null where that is not known, as in SQL."""
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
        """Return the rows of a batch for which all filters hold."""
        if not self.tests or not batch.num_rows:
            return batch
        mask = None
        for test in self.tests:
            found = test.mask(batch.column(test.column))
            mask = found if mask is None else pc.and_kleene(mask, found)
        return batch.filter(mask)

    def may_hold(self, piece: Piece) -> bool:
        """Return whether a piece of a file may hold such a row, by what all of its rows have in common."""
        tests = [test for test in self.tests if test.column in _OF_PIECES]
        if not tests or piece.log is None:
            return True
        place = Place(piece)
        columns = dict(zip(_OF_PIECES, (*place.arrays(1), *place.kind_arrays(1)), strict=True))
        return all(test.mask(columns[test.column])[0].as_py() for test in tests)


def judged(filters: Iterable[Any], schema: pa.Schema) -> Filters:
    """Return those of some filters that can be judged on columns of a schema."""
    tests = (_test(each) for each in filters)
    return Filters(tuple(test for test in tests if test is not None and is_judged(test, schema)))


def with_bounds(filters: Filters, schema: pa.Schema) -> Filters:
    """Return filters with the bounds that follow from them, for tables of records, which have offset, epoch and timestamp."""
    bounds, types = ANY, None
    for test in filters.tests:
        if test.column in BOUNDED and not test.is_negated:
            bounds = bounds.on(test.column, _range(test, schema.field(test.column).type))
        if test.column == "type" and not test.is_negated and test.name in ("EqualTo", "In"):
            named = frozenset(test.value if test.name == "In" else (test.value,))
            types = named if types is None else types & named
    return replace(filters, bounds=bounds, payload_types=types)


def _test(pushed: Any) -> Test | None:
    """Return a filter of Spark as ours. Its classes came with Spark 4.1, so they are known by their names."""
    name = type(pushed).__name__
    if name == "Not":
        inner = _test(pushed.child)
        return None if inner is None else replace(inner, is_negated=not inner.is_negated)
    if name not in (*_COMPARISONS, *_OF_TEXT, "In", "IsNull", "IsNotNull", "EqualNullSafe") or len(pushed.attribute) != 1:
        return None
    return Test(name, pushed.attribute[0], getattr(pushed, "value", None))


def is_judged(test: Test, schema: pa.Schema) -> bool:
    """Return whether a test can be made on its column: the type is simple, and takes the value as it is."""
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
    """Return the numbers for which a test may hold."""
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
    """Return the whole numbers at or below and at or above a value: columns of times have microseconds, logs milliseconds."""
    if not pa.types.is_timestamp(kind):
        return int(value), int(value)
    micros = pa.scalar(value, kind).value
    return micros // _MILLI, -(-micros // _MILLI)


# ---- the option `where`

_WORD: Final = re.compile(
    r"\s*(?:(?P<number>-?\d+(?![\w.]))|'(?P<text>(?:[^']|'')*)'|(?P<name>[A-Za-z_]\w*)|(?P<sign><=|>=|<>|!=|==|[=<>(),]))"
)
_SIGNS: Final = {
    "=": ("EqualTo", False),
    "==": ("EqualTo", False),
    "!=": ("EqualTo", True),
    "<>": ("EqualTo", True),
    "<": ("LessThan", False),
    "<=": ("LessThanOrEqual", False),
    ">": ("GreaterThan", False),
    ">=": ("GreaterThanOrEqual", False),
}
_FORM: Final = "conditions such as offset >= 100 or type in ('A', 'B'), with and between"
Token = tuple[str, Any]


def parse_conditions(text: str, schema: pa.Schema) -> tuple[Test, ...]:
    """Return the conditions of a text on the columns of a schema. Errors: UsageError for what is none, in one line."""
    return tuple(_Reader(text, schema).conditions())


class _Reader:
    def __init__(self, text: str, schema: pa.Schema) -> None:
        self.text = text
        self.schema = schema
        self.tokens = list(_tokens(text))
        self.at = 0

    def conditions(self) -> Iterator[Test]:
        while True:
            yield from self._condition()
            if self.at == len(self.tokens):
                return
            if not self._word("and"):
                raise self._trouble()

    def _condition(self) -> Iterator[Test]:
        column = self._column()
        is_negated = self._word("not")
        if self._word("in"):
            values = self._values()
            yield self._checked(Test("In", column, [self._value(column, value) for value in values], is_negated))
        elif self._word("between"):
            least = self._value(column, self._literal())
            if is_negated or not self._word("and"):
                raise self._trouble()
            yield self._checked(Test("GreaterThanOrEqual", column, least))
            yield self._checked(Test("LessThanOrEqual", column, self._value(column, self._literal())))
        elif is_negated:
            raise self._trouble()
        elif self._word("is"):
            name = "IsNotNull" if self._word("not") else "IsNull"
            if not self._word("null"):
                raise self._trouble()
            yield Test(name, column)
        else:
            kind, sign = self._next()
            if kind != "sign" or sign not in _SIGNS:
                raise self._trouble()
            name, is_negated = _SIGNS[sign]
            yield self._checked(Test(name, column, self._value(column, self._literal()), is_negated))

    def _column(self) -> str:
        kind, name = self._next()
        if kind != "name":
            raise self._trouble()
        found = next((column for column in self.schema.names if column.lower() == name.lower()), None)
        if found is None:
            near = did_you_mean(name, self.schema.names) or f"; there are {', '.join(self.schema.names)}"
            raise UsageError(f"option where: no column {name}{near}", name)
        return str(found)

    def _values(self) -> Sequence[Any]:
        values = []
        if self._next() != ("sign", "("):
            raise self._trouble()
        while True:
            values.append(self._literal())
            following = self._next()
            if following == ("sign", ")"):
                return values
            if following != ("sign", ","):
                raise self._trouble()

    def _literal(self) -> Any:
        kind, value = self._next()
        if kind == "name" and value.lower() in ("true", "false"):
            return value.lower() == "true"
        if kind not in ("number", "text"):
            raise self._trouble()
        return int(value) if kind == "number" else value

    def _value(self, column: str, value: Any) -> Any:
        """Return a value as its column has them: a time is written as text, in UTC unless it has a zone."""
        kind = self.schema.field(column).type
        if not pa.types.is_timestamp(kind) or not isinstance(value, str):
            return value
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise UsageError(f"option where: {value} is no time, which {column} is compared with", value) from None
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)

    def _checked(self, test: Test) -> Test:
        if not is_judged(test, self.schema):
            shown = test.value if test.name != "In" else ", ".join(map(str, test.value))
            raise UsageError(
                f"option where: {test.column} is of type {self.schema.field(test.column).type}, and cannot be compared with {shown}"
            )
        return test

    def _next(self) -> Token:
        if self.at == len(self.tokens):
            raise self._trouble()
        self.at += 1
        return self.tokens[self.at - 1]

    def _word(self, word: str) -> bool:
        """Return whether that word comes next, which is then taken."""
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "name" and self.tokens[self.at][1].lower() == word:
            self.at += 1
            return True
        return False

    def _trouble(self) -> UsageError:
        return UsageError(f"option where takes {_FORM}, not {self.text}", self.text)


def _tokens(text: str) -> Iterator[Token]:
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _WORD.match(text, at)
        if found is None:
            raise UsageError(f"option where takes {_FORM}, not {text}", text)
        kind = str(found.lastgroup)
        yield kind, found[kind].replace("''", "'") if kind == "text" else found[kind]
        at = found.end()
