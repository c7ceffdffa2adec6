"""DuckDB for queries on given tables and nothing else, and what a scan's condition proves.

- No file, network, extension, secret or variable of the program is within reach of a query, and no query can change that.
- What does not fit in memory goes to a folder of our own below $TMPDIR, which is removed with the database. DuckDB would put it into the
  current directory, which may be the one that is read.
- Memory and threads are DuckDB's defaults, most of this machine's memory and all of its cores, unless `settings` say otherwise.
- Whatever takes time runs in a thread of its own while this one waits, so that Ctrl-C stops it; the database stays usable.

DuckDB takes any dataset of pyarrow, and uses only its schema and, for each scan, a scanner. The scanner has to apply the condition, an
expression of Arrow: DuckDB does not check the rows again. Arrow can tell which files of a dataset hold no row of a filter. We ask it about
files that do not exist: could a file whose offsets are at most 41 hold a row? If not, the wanted offsets are larger, and bisection finds
the bounds. A condition that Arrow does not understand bounds nothing."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial, reduce
from itertools import pairwise
from shutil import rmtree
from threading import Event, Thread
from typing import Any, Final, NamedTuple, TypeVar, cast
from weakref import WeakMethod, finalize

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from metashell.common.errors import MetashellError
from metashell.disk.file_system import temporary_files
from metashell.tables.read_options import ANY, BOUNDED, OPEN, Bounds, Range

_CONFINEMENT: Final[dict[str, str | bool | int | float | list[str]]] = {
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
"""Settings that DuckDB takes only once it is open. Its progress bar would go to standard output, among the rows."""
_BATCH_ROWS: Final = 1 << 13
_WAIT_S: Final = 0.05
Found = TypeVar("Found")


class RefusedError(MetashellError):
    """DuckDB refuses a query. The message is the first line of DuckDB's, `excerpt` has the others: its hint, and the place in the query."""

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
        self._connection = duckdb.connect(":memory:", config={**_CONFINEMENT, **(settings or {}), "temp_directory": folder})
        # An ExitStack runs the latest callback first.
        finalize(self, self._connection.close)
        self._unread: pa.RecordBatchReader | None = None
        self._trouble = Trouble()
        self._is_stopping = Event()
        with passed_interrupts():
            for setting in _SETTINGS:
                self._connection.execute(f"set {setting}")
            for macro in macros:
                self._connection.execute(f"create macro {macro}")
        for name, table in tables.items():
            self.put(name, table)
        with passed_interrupts():
            self._connection.execute("set lock_configuration = true")

    def put(self, name: str, table: pa.Table) -> None:
        """Hold one more table, or another one under a name."""
        with passed_interrupts():
            self._connection.register(name, table)

    def serve(self, name: str, schema: pa.Schema, serve: Serve) -> None:
        """Hold a table whose rows `serve` makes when a query scans it; what it raises is raised where rows are waited for.

        It is called in any thread, also in several at once. `go_on` raises when nothing waits for the rows any more.
        """
        with passed_interrupts():
            self._connection.register(name, ServedTable(name, schema, serve, self._trouble))

    def go_on(self) -> None:
        """Errors: KeyboardInterrupt where the wait for an answer was broken off."""
        if self._is_stopping.is_set():
            raise KeyboardInterrupt

    def drop(self, name: str) -> None:
        """Hold a table no longer."""
        with passed_interrupts():
            self._connection.unregister(name)

    def define(self, name: str, query: str) -> None:
        """Keep the answer to a query as a table."""
        self._end_answer()
        try:
            self._waited_for(lambda: self._connection.execute(f"create or replace temp table {name} as {query}"))
        except duckdb.Error as error:
            raise self._reason(error) from error

    def statements(self, text: str) -> list[str]:
        """Return the statements of a text, without what separates them."""
        try:
            return [statement.query.strip().rstrip(";").rstrip() for statement in self._connection.extract_statements(text)]
        except duckdb.Error as error:
            raise _refused(error) from error

    def ask(self, query: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the answer to one statement. Rows are made as they are read: errors may come then, and only until the next question."""
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
        # DuckDB 1 has another name for it.
        name = "to_arrow_reader" if hasattr(relation, "to_arrow_reader") else "fetch_arrow_reader"
        return getattr(relation, name)(_BATCH_ROWS)

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        try:
            while self._unread is reader and (batch := self._waited_for(partial(next, reader, None))) is not None:
                yield batch
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            # DuckDB 2 raises some of its errors as OSError.
            raise self._reason(error) from error
        finally:
            if self._unread is reader:
                self._end_answer()

    def _waited_for(self, work: Callable[[], Found]) -> Found:
        """Return the result of `work`. An interrupted wait stops the work first: nothing else may use the connection meanwhile."""
        outcome: list[tuple[Found | None, BaseException | None]] = []
        # After an interrupted join, a thread that still runs may look as if it had ended (CPython 3.11).
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
        """Return the error that ended a query: that of a table's source, or DuckDB's own."""
        return self._trouble.taken() or _refused(error)


@contextmanager
def passed_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt for Ctrl-C within a short call of DuckDB, which has other errors for it."""
    try:
        yield
    except (RuntimeError, duckdb.Error) as error:
        if "Query interrupted" in str(error) or "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from None
        raise


def _refused(error: Exception) -> RefusedError:
    lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
    return RefusedError(lines[0].strip(), lines[1:]) if lines else RefusedError(type(error).__name__)


# ---- a table that is read when a query scans it


class Scan(NamedTuple):
    """The wish of one scan: columns (None: all) of the rows for which a condition holds (None: of all).

    `fail` notes what ends it after its scanner was made.
    """

    columns: list[str] | None
    condition: Any
    fail: Callable[[BaseException], None]

    def names(self, column: str) -> bool:
        """Return whether it may want a column, be it for the condition only."""
        return self.columns is None or column in self.columns or column in str(self.condition)

    def of(self, table: pa.Table) -> Any:
        """Return the scanner of a table that has all the rows."""
        return ds.dataset(table).scanner(columns=self.columns, filter=self.condition)

    def schema_of(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of the wanted columns of a table."""
        return schema if self.columns is None else pa.schema([schema.field(column) for column in self.columns])

    def batches_of(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the wanted rows and columns of some rows."""
        if self.condition is None:
            yield batch if self.columns is None else batch.select(self.columns)
        else:
            yield from self.of(pa.Table.from_batches([batch])).to_batches()


class BatchScanner(NamedTuple):
    """What DuckDB needs of a scanner: a reader of batches, which are made when it wants them."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the reader; there is one."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches)


Serve = Callable[[str, Scan], Any]
"""Makes the scanner of a table's rows."""


class Trouble:
    """The error that ended a scan. DuckDB keeps only its text."""

    def __init__(self) -> None:
        self._error: BaseException | None = None

    def note(self, error: BaseException) -> None:
        self._error = self._error or error

    def taken(self) -> BaseException | None:
        """Return the error, once."""
        error, self._error = self._error, None
        return error


class ServedTable(ds.Dataset):  # type: ignore[misc]
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


# ---- bounds that a filter proves

_MICROS: Final = pa.timestamp("us", "UTC")
_TEXT: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_TYPES_MAX: Final = 64
PARQUET_FORMAT: Final = ds.ParquetFileFormat()
_FILES: Final = LocalFileSystem()


class FilterBounds:
    """One filter on the columns of a schema."""

    def __init__(self, schema: pa.Schema, condition: pc.Expression) -> None:
        # Times are compared in microseconds, as DuckDB has them.
        self._schema = pa.schema([field.with_type(_judged_type(field.type)) for field in schema])
        self._condition = condition

    def bounds(self) -> Bounds:
        """Return the bounds between which all rows lie that the filter keeps."""
        try:
            return reduce(lambda found, name: found.on(name, self._range(name)), BOUNDED, ANY)
        except pa.ArrowException:
            return ANY

    def types(self, column: str = "type") -> frozenset[str] | None:
        """Return the only texts that a column has in rows that the filter keeps, None where there may be others."""
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
        files = [PARQUET_FORMAT.make_fragment(str(number), _FILES, partition_expression=each) for number, each in enumerate(known)]
        asked = ds.FileSystemDataset(files, self._schema, PARQUET_FORMAT, _FILES)
        found = {int(file.path) for file in asked.get_fragments(filter=self._condition)}
        return [number in found for number in range(len(known))]


def _judged_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return _MICROS if pa.types.is_timestamp(kind) else kind


def _least(may_be: Any, low: int, high: int) -> int:
    """Return the number above the largest one for which `may_be` was shown not to hold; it does not at `low`, and may at `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        if may_be(middle):
            high = middle
        else:
            low = middle
    return low + 1
