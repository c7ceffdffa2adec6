"""A table whose rows are made when a query scans it: DuckDB says which columns it wants, and under which condition.

DuckDB takes whatever is a dataset of pyarrow, and asks nothing of it but its schema and, for each scan, a scanner. That has to apply the
condition: DuckDB does not look at it again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakMethod

import pyarrow as pa
import pyarrow.dataset as ds


class Scan(NamedTuple):
    """What one scan wants: columns (None: all), of the rows for which a condition holds (None: of all).

    `fail` notes what ends it after its scanner was made.
    """

    columns: list[str] | None
    condition: Any
    fail: Callable[[BaseException], None]

    def names(self, column: str) -> bool:
        """Whether it may want a column, be it for the condition only."""
        return self.columns is None or column in self.columns or column in str(self.condition)

    def of(self, table: pa.Table) -> Any:
        """The scanner of a table that has all the rows."""
        return ds.dataset(table).scanner(columns=self.columns, filter=self.condition)


Serve = Callable[[str, Scan], Any]
"""Makes the scanner of a table's rows."""


class Trouble:
    """What ended a scan. DuckDB makes a text of its own of it; this is the error itself."""

    def __init__(self) -> None:
        self._error: BaseException | None = None

    def note(self, error: BaseException) -> None:
        self._error = self._error or error

    def taken(self) -> BaseException | None:
        """The error, once."""
        error, self._error = self._error, None
        return error


class Served(ds.Dataset):  # type: ignore[misc]
    """A table of this schema, whose scanners `serve` makes.

    It holds `serve` weakly: DuckDB holds it in turn, where Python's collector does not see it.
    """

    def __init__(self, name: str, schema: pa.Schema, serve: Serve, trouble: Trouble) -> None:
        self._name = name
        self._columns = schema
        self._serve = WeakMethod(serve)
        self._trouble = trouble

    @property
    def schema(self) -> pa.Schema:
        return self._columns

    def scanner(self, columns: list[str] | None = None, filter: Any = None, **_: Any) -> Any:
        serve = self._serve()
        assert serve is not None, "who serves a table outlives its queries"
        try:
            return serve(self._name, Scan(columns, filter, self._trouble.note))
        except BaseException as error:
            self._trouble.note(error)
            raise
