"""Reports on this machine: which logs and tables they need, the base tables in DuckDB, and answers with the types that a report declares.

The database sees these tables and nothing else: see `tables.sql.database`. Spark uses the same inputs and types, and may lack DuckDB, so
`tables.sql` is imported late."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar

import pyarrow as pa
from pyarrow import compute

from metashell.common.errors import MetashellError, PathError
from metashell.common.runtime import processors
from metashell.common.terminal import update_progress, writable
from metashell.common.uris import shown_uri
from metashell.disk.directory import log_name_of
from metashell.disk.names import METADATA, LogKind
from metashell.tables import schemas
from metashell.tables.input_files import input_files
from metashell.tables.read_options import ReadOptions
from metashell.tables.reports import uncommitted
from metashell.tables.reports.catalog import BASES, DERIVED, EARLIEST_MS, LATEST_MS, Report, tables_in_sql, view_text
from metashell.tables.reports.derived_tables import DERIVED_TABLES
from metashell.tables.reports.numpy_views import NUMPY_TABLES, NUMPY_VIEWS, NumpyViews
from metashell.tables.splits import Piece, logs_of, plan_splits

DUCKDB_MACROS: Final = (
    "explode(items) as unnest(items)",
    "size(items) as len(items)",
    "distinct_in_order(items) as list_filter(items, lambda item, number: list_position(items, item) = number)",
    "array_except(items, others) as list_filter(distinct_in_order(items), lambda item: not list_contains(others, item))",
)
"""Functions of Spark's SQL that duckdb calls otherwise."""

_THREADS_MAX: Final = 4
_MEMORY_MB: Final = 96
"""The memory that DuckDB may use for each thread, and for no less than two; what does not fit goes to disk."""


@dataclass(frozen=True, slots=True)
class LocalAnswers:
    """The answers of reports by name, how many faults were skipped on the way, and the reports whose log was not there."""

    tables: dict[str, pa.Table]
    fault_count: int
    left_out: tuple[Report, ...] = ()


def run_local(reports: Sequence[Report], paths: Sequence[str], *, on_error: Any = "fail", show_secrets: bool = False) -> LocalAnswers:
    """Return the answers of reports over files and directories, which are read once for all of them.

    Errors: LogCorruptError at the first fault unless `on_error` is "skip"; UsageError for a path that cannot be read, and where none of
    the reports has its log here.
    """
    from metashell.tables.sql.sources import read_tables

    splits = plan_splits(paths, every_checkpoint=any(report.wants_checkpoints for report in reports))
    reports, left_out = answerable(reports, logs_of(splits), paths)
    base_tables = tables_of_files(reports, (piece for split in splits for piece in split.pieces))
    options = ReadOptions(tables_by_log=tables_by_log(reports), on_error=on_error, show_secrets=show_secrets, payloads=False)
    with closing(NumpyViews(sum(split.bytes for split in splits))) as folded:
        wanted = (*tables_in_sql(reports, NUMPY_VIEWS), *uncommitted.TABLES)

        def kept(table: str, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
            for name, rows in base_batches(base_tables(batch), table, batch):
                if name in NUMPY_TABLES:
                    folded.add(name, rows)
                if name in wanted:
                    yield name, rows

        read, fault_count = read_tables(splits, options, kept)
        found = {name: spooled.table() for name, spooled in read.items()}
        spans = uncommitted.spans_in(found)
        tables = {
            table: uncommitted.without_uncommitted(table, found[table], spans) if table in found else base_schema(table).empty_table()
            for table in wanted
        }
        asking = ReportDatabase(tables, folded, spans)
        return LocalAnswers({report.name: asking.ask(report) for report in reports}, fault_count, tuple(left_out))


def _settings() -> dict[str, str | int]:
    """Of DuckDB. No report asks for rows in the order in which they were read."""
    threads = min(processors(), _THREADS_MAX)
    return {"threads": threads, "memory_limit": f"{_MEMORY_MB * max(threads, 2)}MB", "preserve_insertion_order": "false"}


class ReportDatabase:
    """A database with the base tables of reports. A view is made when the first report needs it, and then kept for all."""

    def __init__(self, tables: dict[str, pa.Table], folded: NumpyViews, spans: list[uncommitted.Span]) -> None:
        from metashell.tables.sql.database import Database

        self._database = Database(tables, DUCKDB_MACROS, _settings())
        self._folded = folded
        self._undone = spans
        self._made: set[str] = set()

    def ask(self, report: Report) -> pa.Table:
        """Return the answer of a report.

        Errors: MetashellError, with what DuckDB says: memory that does not suffice, offsets that no log can reach.
        """
        update_progress(f"answering {report.name}")
        try:
            for view in report.views:
                if view not in self._made:
                    self._make(view)
            return self._put_aside(report)
        except MetashellError as error:
            raise MetashellError(f"{report.name}: {error}") from error

    def _make(self, view: str) -> None:
        if view in NUMPY_VIEWS:
            for name, table in self._folded.make(view, self._topic_names, self._undone).items():
                self._database.put(name, table)
                self._made.add(name)
        else:
            self._database.define(view, view_text(view))
            self._made.add(view)

    def _put_aside(self, report: Report) -> pa.Table:
        """Return the answer, whose pages are those of a file."""
        from metashell.tables.sql.sources import Spool

        _, batches = self._database.ask(report.sql)
        with closing(Spool()) as spool:
            is_empty = True
            for batch in batches:
                spool.add_as_is(as_declared(report, batch))
                is_empty = False
            return declared_schema(report).empty_table() if is_empty else spool.table()

    def _topic_names(self) -> pa.Table:
        schema, batches = self._database.ask("select * from topic_names")
        return pa.Table.from_batches(batches, schema)


# ---- input


class Answerable(NamedTuple):
    """The reports whose log is there, and the others."""

    reports: list[Report]
    left_out: list[Report]


def answerable(reports: Sequence[Report], logs: Collection[LogKind | None], paths: Sequence[str]) -> Answerable:
    """Return the reports that can be answered from logs of these kinds (None: only reading shows the kind), and the others.

    Errors: PathError where none can: an empty answer would say that nothing has happened.
    """
    found = [report for report in reports if report.log in logs or None in logs]
    if not found:
        missing = " or ".join(dict.fromkeys(log_name_of(report.log).removeprefix("the ") for report in reports))
        names = ", ".join(report.name for report in reports)
        raise PathError(f"{' '.join(paths)}: no {missing} here, which {names} {'is' if len(reports) == 1 else 'are'} about")
    return Answerable(found, [report for report in reports if report not in found])


def logs_at(paths: Sequence[str]) -> set[LogKind | None]:
    """Return the kinds of logs at some paths. Errors: UsageError for a path without any."""
    return {file.log for path in paths for file in input_files(path)}


def tables_by_log(reports: Sequence[Report]) -> dict[LogKind, set[str]]:
    """Return the tables of events that the reports are made from, by the log whose rows they want: every log has some of them."""
    found: dict[LogKind, set[str]] = {}
    for report in reports:
        found.setdefault(report.log, set()).update(source_tables(base_tables_of([report])))
    return found


def base_tables_of(reports: Iterable[Report]) -> list[str]:
    """Return the base tables that the reports need: those of their questions, and those that show uncommitted records."""
    of_logs = {table for report in reports for table in (*report.tables, *(uncommitted.TABLES if report.log == METADATA else ()))}
    return sorted(of_logs)


def source_tables(base_tables: Sequence[str]) -> set[str]:
    """Return the tables of events that the base tables are made of."""
    return {source for table in base_tables for source in (DERIVED_TABLES[table].sources if table in DERIVED_TABLES else (table,))}


def tables_of_files(reports: Sequence[Report], pieces: Iterable[Piece]) -> Callable[[pa.RecordBatch], list[str]]:
    """Return which base tables the rows of a batch are for: those of the reports that are about the log of its file."""
    by_log = {log: base_tables_of([report for report in reports if report.log == log]) for log in dict.fromkeys(r.log for r in reports)}
    log_of = {writable(shown_uri(piece.path)): piece.log for piece in pieces}
    everything = base_tables_of(reports)

    def of(batch: pa.RecordBatch) -> list[str]:
        log = log_of.get(batch.column("file")[0].as_py()) if batch.num_rows else None
        return everything if log is None else by_log.get(log, [])

    return of


def base_batches(base_tables: Sequence[str], table: str, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the base tables' batches that a batch of a table of columns/ stands for."""
    for name in base_tables:
        if name in DERIVED_TABLES and table in DERIVED_TABLES[name].sources:
            yield name, DERIVED_TABLES[name].rows_of(table, batch)
    if table in base_tables:
        yield table, as_base(table, batch)


# ---- declared types

Rows = TypeVar("Rows", "pa.Table", "pa.RecordBatch")


def declared_schema(report: Report) -> pa.Schema:
    """Return the Arrow schema of a report's answer, with what its columns mean; times are microseconds in UTC, as Spark keeps them."""
    types = {
        "string": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "time": pa.timestamp("us", "UTC"),
        "integers": pa.list_(pa.int64()),
    }
    return schemas.commented(report.name, pa.schema([(name, types[kind]) for name, kind in report.columns.items()]))


def as_declared(report: Report, answer: Rows) -> Rows:
    """Return the answer, or some of its rows, with the columns and types of the report; times arrive as Unix milliseconds."""
    schema = declared_schema(report)
    columns = []
    for wanted in schema:
        column = answer.column(wanted.name)
        if pa.types.is_timestamp(wanted.type):
            column = column.cast(pa.int64()).cast(pa.timestamp("ms", "UTC"))
        columns.append(column.cast(wanted.type))
    return type(answer).from_arrays(columns, schema=schema)


@cache
def base_schema(table: str) -> pa.Schema:
    """Return the schema of a base table under the names that the SQL uses."""
    if table in DERIVED:
        return DERIVED_TABLES[table].schema
    schema = schemas.tables()[table]
    return pa.schema([pa.field(name, schema.field(source).type) for source, name in BASES[table].items()])


def as_base(table: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the columns of a table's batch that reports read, under their names there. Only times that cannot be are changed."""
    schema = base_schema(table)
    return pa.RecordBatch.from_arrays([_possible(source, batch.column(source)) for source in BASES[table]], schema=schema)


def _possible(name: str, column: pa.Array) -> pa.Array:
    if name != "timestamp" or not len(column):
        return column

    seen = compute.min_max(column)
    if seen["min"].as_py() >= EARLIEST_MS and seen["max"].as_py() <= LATEST_MS:
        return column
    return compute.max_element_wise(compute.min_element_wise(column, LATEST_MS), EARLIEST_MS)
