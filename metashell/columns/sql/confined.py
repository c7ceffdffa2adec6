"""DuckDB for questions to given tables, and for nothing else: what it may reach is decided here, for every command.

- No file, network, extension, secret or variable of the program is within reach of a query, and no query can change that.
- What does not fit in memory goes to a folder of our own below $TMPDIR, which is gone with the database. DuckDB would put it into
  the current directory, which may be the one that is looked at.
- Memory and threads are DuckDB's defaults: most of this machine's memory and all of its cores.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from shutil import rmtree
from typing import Any, Final
from weakref import finalize

import duckdb
import pyarrow as pa

from metashell.errors import MetashellError

_CONFINED: Final[dict[str, str | bool | int | float | list[str]]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
}
_SETTINGS: Final = ("timezone = 'UTC'", "enable_progress_bar = false")
"""What DuckDB takes only once it is open. Its progress bar would go to standard output, among the rows."""
_BATCH_ROWS: Final = 1 << 13


class RefusedError(MetashellError):
    """DuckDB does not answer: the first line of what it says."""


class Database:
    """A database in memory that holds some tables.

    Errors: RefusedError for what DuckDB refuses: SQL that it does not understand, what is out of reach, memory or disk that do not suffice.
    """

    def __init__(self, tables: Mapping[str, pa.Table], macros: Iterable[str] = ()) -> None:
        folder = tempfile.mkdtemp(prefix="metashell-sql-")
        self._connection = duckdb.connect(":memory:", config={**_CONFINED, "temp_directory": folder})
        finalize(self, _end, self._connection, folder)
        for setting in _SETTINGS:
            self._connection.execute(f"set {setting}")
        for macro in macros:
            self._connection.execute(f"create macro {macro}")
        for name, table in tables.items():
            self._connection.register(name, table)
        self._connection.execute("set lock_configuration = true")

    def define(self, name: str, query: str) -> None:
        """Keep the answer to a query as a table of its own."""
        try:
            self._connection.execute(f"create or replace temp table {name} as {query}")
        except duckdb.Error as error:
            raise _refused(error) from error

    def ask(self, query: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The answer to one statement. Rows are made as they are read, so that errors may come then."""
        try:
            count = len(self._connection.extract_statements(query))
            if count != 1:
                raise RefusedError("one statement at a time" if count else "the query is empty")
            relation: Any = self._connection.sql(query)
            if relation is None:
                raise RefusedError("only SELECT, DESCRIBE and SHOW TABLES give rows")
            # DuckDB 1 calls it otherwise.
            name = "to_arrow_reader" if hasattr(relation, "to_arrow_reader") else "fetch_arrow_reader"
            reader = getattr(relation, name)(_BATCH_ROWS)
        except duckdb.Error as error:
            raise _refused(error) from error
        return reader.schema, self._batches(reader)

    def _batches(self, reader: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from reader
        except (duckdb.Error, pa.ArrowException) as error:
            raise _refused(error) from error


def _end(connection: duckdb.DuckDBPyConnection, folder: str) -> None:
    connection.close()
    rmtree(folder, ignore_errors=True)


def _refused(error: Exception) -> RefusedError:
    return RefusedError(next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__))
