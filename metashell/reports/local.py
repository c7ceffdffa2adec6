"""A report on this machine: base tables into duckdb in memory, then the report's views and question.

The database sees these tables and nothing else: see `columns/sql/confined`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from metashell.errors import MetashellError
from metashell.progress import tell
from metashell.reports import undone
from metashell.reports.answer import as_declared, base_schema, declared_schema
from metashell.reports.catalog import Report, tables_in_sql, view_text
from metashell.reports.inputs import answerable, base_batches, tables_by_log, tables_of_files
from metashell.system import processors

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.reports.folds import Folds

DUCKDB_MACROS: Final = (
    "explode(items) as unnest(items)",
    "size(items) as len(items)",
    "distinct_in_order(items) as list_filter(items, lambda item, number: list_position(items, item) = number)",
    "array_except(items, others) as list_filter(distinct_in_order(items), lambda item: not list_contains(others, item))",
)
"""Functions of Spark's SQL that duckdb calls otherwise."""

_THREADS_MAX: Final = 4
_MEMORY_MB: Final = 96
"""What DuckDB may use for each thread, and for no less than two; what does not fit goes to disk."""


@dataclass(frozen=True, slots=True)
class LocalAnswers:
    """The answers of reports by name, how many faults were skipped on the way, and the reports whose log was not there."""

    tables: dict[str, pa.Table]
    fault_count: int
    left_out: tuple[Report, ...] = ()


def run_local(reports: Sequence[Report], paths: Sequence[str], *, on_error: Any = "fail", show_secrets: bool = False) -> LocalAnswers:
    """The answers of reports over files and directories, which are read once for all of them.

    Errors: LogCorruptError at the first fault unless `on_error` is "skip"; UsageError for a path that cannot be read, and where none of
    the reports has its log here.
    """
    from metashell.columns import ReadOptions, plan_splits
    from metashell.columns.inputs.splits import logs_of
    from metashell.columns.sql.spool import read_tables
    from metashell.reports import folds

    splits = plan_splits(paths, every_checkpoint=any(report.wants_checkpoints for report in reports))
    reports, left_out = answerable(reports, logs_of(splits), paths)
    base_tables = tables_of_files(reports, (piece for split in splits for piece in split.pieces))
    options = ReadOptions(tables_by_log=tables_by_log(reports), on_error=on_error, show_secrets=show_secrets, payloads=False)
    with closing(folds.Folds(sum(split.bytes for split in splits))) as folded:
        wanted = (*tables_in_sql(reports, folds.NUMPY_VIEWS), *undone.TABLES)

        def kept(table: str, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
            for name, rows in base_batches(base_tables(batch), table, batch):
                if name in folds.NUMPY_TABLES:
                    folded.add(name, rows)
                if name in wanted:
                    yield name, rows

        found, fault_count = read_tables(splits, options, kept)
        spans = undone.spans_in(found)
        tables = {
            table: undone.without_undone(table, found[table], spans) if table in found else base_schema(table).empty_table()
            for table in wanted
        }
        asking = Asking(tables, folded, spans)
        return LocalAnswers({report.name: asking.ask(report) for report in reports}, fault_count, tuple(left_out))


def _settings() -> dict[str, str | int]:
    """Of DuckDB. No report asks for rows in the order in which they were read."""
    threads = min(processors(), _THREADS_MAX)
    return {"threads": threads, "memory_limit": f"{_MEMORY_MB * max(threads, 2)}MB", "preserve_insertion_order": "false"}


class Asking:
    """A database with the base tables of reports. A view is made when the first report needs it, and then kept for all."""

    def __init__(self, tables: dict[str, pa.Table], folded: Folds, spans: list[undone.Span]) -> None:
        from metashell.columns.sql.confined import Database

        self._database = Database(tables, DUCKDB_MACROS, _settings())
        self._folded = folded
        self._undone = spans
        self._made: set[str] = set()

    def ask(self, report: Report) -> pa.Table:
        """The answer of a report.

        Errors: MetashellError, with what DuckDB says: memory that does not suffice, offsets that no log can reach.
        """
        tell(f"answering {report.name}")
        try:
            for view in report.views:
                if view not in self._made:
                    self._make(view)
            return self._put_aside(report)
        except MetashellError as error:
            raise MetashellError(f"{report.name}: {error}") from error

    def _make(self, view: str) -> None:
        from metashell.reports.folds import NUMPY_VIEWS

        if view in NUMPY_VIEWS:
            for name, table in self._folded.make(view, self._topic_names, self._undone).items():
                self._database.put(name, table)
                self._made.add(name)
        else:
            self._database.define(view, view_text(view))
            self._made.add(view)

    def _put_aside(self, report: Report) -> pa.Table:
        """The answer, whose pages are those of a file."""
        from metashell.columns.sql.spool import Spool

        _, batches = self._database.ask(report.sql)
        with closing(Spool()) as spool:
            is_empty = True
            for batch in batches:
                spool.add_as_is(as_declared(report, batch))
                is_empty = False
            return declared_schema(report).empty_table() if is_empty else spool.table()

    def _topic_names(self) -> pa.Table:
        import pyarrow as pa

        schema, batches = self._database.ask("select * from topic_names")
        return pa.Table.from_batches(batches, schema)
