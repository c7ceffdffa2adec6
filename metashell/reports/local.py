"""A report on this machine: base tables into duckdb in memory, then the report's views and question.

The database sees these tables and nothing else: see `columns/sql/confined`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from metashell.errors import MetashellError
from metashell.progress import tell
from metashell.reports.answer import as_declared, base_schema
from metashell.reports.catalog import Report, view_text
from metashell.reports.inputs import answerable, base_batches, tables_by_log

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.columns.sql.confined import Database

DUCKDB_MACROS: Final = (
    "explode(items) as unnest(items)",
    "size(items) as len(items)",
    "distinct_in_order(items) as list_filter(items, lambda item, number: list_position(items, item) = number)",
    "array_except(items, others) as list_filter(distinct_in_order(items), lambda item: not list_contains(others, item))",
)
"""Functions of Spark's SQL that duckdb calls otherwise."""


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
    from metashell.columns.sql.confined import Database
    from metashell.columns.sql.spool import read_tables

    splits = plan_splits(paths, every_checkpoint=any(report.wants_checkpoints for report in reports))
    reports, left_out = answerable(reports, logs_of(splits), paths)
    base_tables = sorted({table for report in reports for table in report.tables})
    options = ReadOptions(tables_by_log=tables_by_log(reports), on_error=on_error, show_secrets=show_secrets, payloads=False)
    found, fault_count = read_tables(splits, options, partial(base_batches, base_tables))
    tables = {table: found[table] if table in found else base_schema(table).empty_table() for table in base_tables}
    database = Database(tables, DUCKDB_MACROS)
    made: set[str] = set()
    return LocalAnswers({report.name: ask(database, report, made) for report in reports}, fault_count, tuple(left_out))


def ask(database: Database, report: Report, made: set[str]) -> pa.Table:
    """The answer of a report from a database that has its base tables, and the views that are `made` already.

    Errors: MetashellError, with what DuckDB says: memory that does not suffice, offsets that no log can reach.
    """
    import pyarrow as pa

    from metashell.columns.sql.confined import RefusedError

    tell(f"answering {report.name}")
    try:
        for view in report.views:
            if view not in made:
                database.define(view, view_text(view))
                made.add(view)
        schema, batches = database.ask(report.sql)
        return as_declared(report, pa.Table.from_batches(batches, schema))
    except RefusedError as error:
        raise MetashellError(f"{report.name}: {error}") from error
