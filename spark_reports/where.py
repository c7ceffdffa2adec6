"""The option `where`: conditions on columns with `and` between, as in SQL, which the source itself applies.

    offset >= 120000 and offset < 130000 and type in ('PARTITION_RECORD', 'TOPIC_RECORD')
    timestamp >= '2026-11-20 08:00' and epoch is not null

Spark pushes filters down to a source too, but it keeps them with the DataFrame and applies them to its next query as well (seen with 4.1
and 4.3), so that is only done where the option `pushdown` asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa

from metashell.errors import UsageError
from metashell.options.values import did_you_mean
from spark_reports.filters import Test, is_judged

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


def conditions(text: str, schema: pa.Schema) -> tuple[Test, ...]:
    """The conditions of a text on the columns of a schema. Errors: UsageError for what is none, in one line."""
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
        """A value as its column has them: a time is written as text, in UTC unless it has a zone."""
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
        """Whether that word comes next, which is then taken."""
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
