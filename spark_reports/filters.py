"""The option `where` of a load: conditions on its rows with `and` between, as in SQL.

    offset >= 120000 and offset < 130000 and type in ('PARTITION_RECORD', 'TOPIC_RECORD')
    timestamp >= '2026-11-20 08:00' and epoch is not null

They become ranges for the headers of batches, types whose payloads are written, and a mask over the rest. A condition compares a whole
column of numbers, texts, booleans, times or bytes with values. Spark's own filters are not taken: Spark 4.1 to 4.3 keeps pushed filters
with the DataFrame and applies them to its next query as well."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
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
    "=": pc.equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "<": pc.less,
    "<=": pc.less_equal,
}
_MILLI: Final = 1000


@dataclass(frozen=True, slots=True)
class Test:
    """One condition on a column: `in`, `is null` or a sign, and its value, if it has one."""

    name: str
    column: str
    value: Any = None
    is_negated: bool = False

    def mask(self, array: pa.Array) -> pa.Array:
        """Return a mask of the rows for which it holds; null where that is not known, as in SQL."""
        found = self._found(array)
        return pc.invert(found) if self.is_negated else found

    def _found(self, array: pa.Array) -> pa.Array:
        if self.name == "is null":
            return pc.is_null(array)
        if self.name == "in":
            inside = pc.is_in(array, value_set=pa.array(self.value, array.type))
            return pc.if_else(pc.is_valid(array), inside, pa.scalar(None, pa.bool_()))
        return _COMPARISONS[self.name](array, pa.scalar(self.value, array.type))


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that all have to hold, and the bounds that follow from them."""

    tests: tuple[Test, ...] = ()
    bounds: Bounds = ANY
    payload_types: frozenset[str] | None = None

    def kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch for which all conditions hold."""
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


def with_bounds(filters: Filters, schema: pa.Schema) -> Filters:
    """Return conditions with the bounds that follow from them, for tables of records, which have offset, epoch and timestamp."""
    bounds, types = ANY, None
    for test in filters.tests:
        if test.column in BOUNDED and not test.is_negated:
            bounds = bounds.on(test.column, _range(test, schema.field(test.column).type))
        if test.column == "type" and not test.is_negated and test.name in ("=", "in"):
            named = frozenset(_values(test))
            types = named if types is None else types & named
    return replace(filters, bounds=bounds, payload_types=types)


def is_judged(test: Test, schema: pa.Schema) -> bool:
    """Return whether a test can be made on its column: the type is simple, and takes the value as it is."""
    kind = schema.field(test.column).type
    if not any(
        of(kind) for of in (pa.types.is_integer, pa.types.is_boolean, pa.types.is_string, pa.types.is_timestamp, pa.types.is_binary)
    ):
        return False
    try:
        test.mask(pa.nulls(1, kind))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def _values(test: Test) -> Sequence[Any]:
    return test.value if test.name == "in" else (test.value,)


def _range(test: Test, kind: pa.DataType) -> Range:
    """Return the numbers for which a test may hold."""
    if test.name == "is null":
        return OPEN
    numbers = [_number(value, kind) for value in _values(test)]
    if test.name == "in":
        return Range(min(least for least, _ in numbers), max(most for _, most in numbers))
    ((below, above),) = numbers
    match test.name:
        case ">":
            return Range(below + 1, None)
        case ">=":
            return Range(above, None)
        case "<":
            return Range(None, above - 1)
        case "<=":
            return Range(None, below)
    return Range(below, below) if below == above else Range(1, 0)


def _number(value: Any, kind: pa.DataType) -> tuple[int, int]:
    """Return the whole numbers at or below and at or above a value: columns of times have microseconds, logs milliseconds."""
    if not pa.types.is_timestamp(kind):
        return int(value), int(value)
    micros = pa.scalar(value, kind).value
    return micros // _MILLI, -(-micros // _MILLI)


# ---- the text

_WORD: Final = re.compile(
    r"\s*(?:(?P<number>-?\d+(?![\w.]))|'(?P<text>(?:[^']|'')*)'|(?P<name>[A-Za-z_]\w*)|(?P<sign><=|>=|<>|!=|==|[=<>(),]))"
)
_NEGATED: Final = ("!=", "<>")
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
            yield self._checked(Test("in", column, [self._value(column, value) for value in values], is_negated))
        elif self._word("between"):
            least = self._value(column, self._literal())
            if is_negated or not self._word("and"):
                raise self._trouble()
            yield self._checked(Test(">=", column, least))
            yield self._checked(Test("<=", column, self._value(column, self._literal())))
        elif is_negated:
            raise self._trouble()
        elif self._word("is"):
            is_negated = self._word("not")
            if not self._word("null"):
                raise self._trouble()
            yield Test("is null", column, is_negated=is_negated)
        else:
            kind, sign = self._next()
            is_negated = sign in _NEGATED
            name = "=" if is_negated or sign == "==" else sign
            if kind != "sign" or name not in _COMPARISONS:
                raise self._trouble()
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
            shown = ", ".join(map(str, _values(test)))
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
