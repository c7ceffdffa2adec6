"""DuckDB for questions to given tables, and for nothing else: what it may reach is decided here, for every command.

- No file, network, extension, secret or variable of the program is within reach of a query, and no query can change that.
- What does not fit in memory goes to a folder of our own below $TMPDIR, which is gone with the database. DuckDB would put it into
  the current directory, which may be the one that is looked at.
- Memory and threads are DuckDB's defaults, most of this machine's memory and all of its cores, unless `settings` say otherwise.
- Whatever takes time is done by a thread of its own while this one waits, so that Ctrl-C stops it; then the database can be asked again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from shutil import rmtree
from threading import Event, Thread
from typing import Any, Final, TypeVar, cast
from weakref import finalize

import duckdb
import pyarrow as pa

from metashell.columns.sql.served import Serve, Served, Trouble
from metashell.errors import MetashellError
from metashell.log.outputs import temporary_files

_CONFINED: Final[dict[str, str | bool | int | float | list[str]]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
}
_SETTINGS: Final = (
    "timezone = 'UTC'",
    "enable_progress_bar = false",
    # Before 2.0 it ends queries with a join and a window by an internal error: seen with 1.4 and 1.5, not with 1.3 and 2.0.
    *(("disabled_optimizers = 'join_filter_pushdown'",) if int(duckdb.__version__.partition(".")[0]) < 2 else ()),
)
"""What DuckDB takes only once it is open. Its progress bar would go to standard output, among the rows."""
_BATCH_ROWS: Final = 1 << 13
_WAIT_S: Final = 0.05
Found = TypeVar("Found")


class RefusedError(MetashellError):
    """DuckDB does not answer. The message is the first line of what it says, `excerpt` the others: its hint, and the place in the query."""

    def __init__(self, message: str, excerpt: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.excerpt = tuple(excerpt)


class Database:
    """A database in memory that holds some tables.

    Errors: RefusedError for what DuckDB refuses: SQL that it does not understand, what is out of reach, memory or disk that do not suffice.
    """

    def __init__(self, tables: Mapping[str, pa.Table], macros: Iterable[str] = (), settings: Mapping[str, str | int] | None = None) -> None:
        with temporary_files():
            folder = tempfile.mkdtemp(prefix="metashell-sql-")
        finalize(self, rmtree, folder, ignore_errors=True)
        self._connection = duckdb.connect(":memory:", config={**_CONFINED, **(settings or {}), "temp_directory": folder})
        # Of what is to be done at the end the latest comes first.
        finalize(self, self._connection.close)
        self._unread: pa.RecordBatchReader | None = None
        self._trouble = Trouble()
        self._is_stopping = Event()
        for setting in _SETTINGS:
            self._connection.execute(f"set {setting}")
        for macro in macros:
            self._connection.execute(f"create macro {macro}")
        for name, table in tables.items():
            self.put(name, table)
        self._connection.execute("set lock_configuration = true")

    def put(self, name: str, table: pa.Table) -> None:
        """Hold one more table, or another one under a name."""
        self._connection.register(name, table)

    def serve(self, name: str, schema: pa.Schema, serve: Serve) -> None:
        """Hold a table whose rows `serve` makes when a query scans it; what it raises is raised where rows are waited for.

        It is called in any thread, and may be in several at once. `go_on` tells it when nobody waits any more.
        """
        self._connection.register(name, Served(name, schema, serve, self._trouble))

    def go_on(self) -> None:
        """Errors: KeyboardInterrupt where the wait for an answer was broken off."""
        if self._is_stopping.is_set():
            raise KeyboardInterrupt

    def drop(self, name: str) -> None:
        """Hold a table no longer."""
        self._connection.unregister(name)

    def define(self, name: str, query: str) -> None:
        """Keep the answer to a query as a table of its own."""
        self._end_answer()
        try:
            self._waited_for(lambda: self._connection.execute(f"create or replace temp table {name} as {query}"))
        except duckdb.Error as error:
            raise self._reason(error) from error

    def statements(self, text: str) -> list[str]:
        """The statements of a text, without what separates them."""
        try:
            return [statement.query.strip().rstrip(";") for statement in self._connection.extract_statements(text)]
        except duckdb.Error as error:
            raise _refused(error) from error

    def ask(self, query: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The answer to one statement. Rows are made as they are read, so that errors may come then, and until the next question only."""
        self._end_answer()
        try:
            count = len(self._connection.extract_statements(query))
            if count != 1:
                raise RefusedError("one statement at a time" if count else "the query is empty")
            reader = self._waited_for(lambda: self._reader(query))
        except duckdb.Error as error:
            raise self._reason(error) from error
        self._unread = reader
        return reader.schema, self._batches(reader)

    def _end_answer(self) -> None:
        """Drop what was not read of the last answer: DuckDB gives one at a time."""
        if self._unread is not None:
            self._unread.close()
            self._unread = None

    def _reader(self, query: str) -> pa.RecordBatchReader:
        relation: Any = self._connection.sql(query)
        if relation is None:
            raise RefusedError("only SELECT, DESCRIBE and SHOW TABLES give rows")
        # DuckDB 1 calls it otherwise.
        name = "to_arrow_reader" if hasattr(relation, "to_arrow_reader") else "fetch_arrow_reader"
        return getattr(relation, name)(_BATCH_ROWS)

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        try:
            while self._unread is reader and (batch := self._waited_for(partial(next, reader, None))) is not None:
                yield batch
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            # DuckDB 2 says some of what goes wrong as an error of the system.
            raise self._reason(error) from error
        finally:
            if self._unread is reader:
                self._end_answer()

    def _waited_for(self, work: Callable[[], Found]) -> Found:
        """What `work` gives. Where the wait is broken off, the work is stopped first: nothing else may use the connection meanwhile."""
        outcome: list[tuple[Found | None, BaseException | None]] = []
        # A join that is interrupted may leave a thread that runs looking as if it had ended (CPython 3.11).
        done = Event()

        def run() -> None:
            try:
                outcome.append((work(), None))
            except BaseException as error:  # raised again where it is waited for
                outcome.append((None, error))
            finally:
                done.set()

        thread = Thread(target=run, name="duckdb", daemon=True)
        self._is_stopping.clear()
        self._trouble.taken()
        try:
            thread.start()
            while not done.wait(_WAIT_S):
                pass
        except BaseException:
            self._is_stopping.set()
            while thread.ident is not None and not done.is_set():
                with suppress(KeyboardInterrupt):
                    self._connection.interrupt()
                    done.wait(_WAIT_S)
            raise
        found, error = outcome[0]
        if error is not None:
            raise error
        return cast(Found, found)

    def _reason(self, error: Exception) -> BaseException:
        """What ended a query: an error of one who serves a table, or what DuckDB says."""
        return self._trouble.taken() or _refused(error)


def _refused(error: Exception) -> RefusedError:
    lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
    return RefusedError(lines[0].strip(), lines[1:]) if lines else RefusedError(type(error).__name__)
