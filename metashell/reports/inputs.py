"""What a report reads: of which log, which tables of columns/, and the batches of its base tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from metashell.errors import PathError
from metashell.log.identity import name_of
from metashell.log.kinds import LogKind
from metashell.reports.answer import as_base
from metashell.reports.catalog import Report

if TYPE_CHECKING:
    import pyarrow as pa

FAULTS = "faults"


class Answerable(NamedTuple):
    """The reports whose log is there, and the others."""

    reports: list[Report]
    left_out: list[Report]


def answerable(reports: Sequence[Report], logs: Collection[LogKind | None], paths: Sequence[str]) -> Answerable:
    """Which of the reports can be answered from logs of these kinds (None: only reading shows the kind).

    Errors: PathError where none can: an empty answer would say that nothing has happened.
    """
    found = [report for report in reports if report.log in logs or None in logs]
    if not found:
        missing = " or ".join(dict.fromkeys(name_of(report.log).removeprefix("the ") for report in reports))
        names = ", ".join(report.name for report in reports)
        raise PathError(f"{' '.join(paths)}: no {missing} here, which {names} {'is' if len(reports) == 1 else 'are'} about")
    return Answerable(found, [report for report in reports if report not in found])


def logs_at(paths: Sequence[str]) -> set[LogKind | None]:
    """The kinds of logs at some paths. Errors: UsageError for a path without any."""
    from metashell.columns.inputs.files import input_files

    return {file.log for path in paths for file in input_files(path)}


def tables_by_log(reports: Sequence[Report]) -> dict[LogKind, set[str]]:
    """The tables of columns/ that the reports are made from, by the log whose rows they want: every log has some of them."""
    found: dict[LogKind, set[str]] = {}
    for report in reports:
        found.setdefault(report.log, set()).update(source_tables(report.tables))
    return found


def source_tables(base_tables: Sequence[str]) -> set[str]:
    """The tables of columns/ that the base tables are made of."""
    from metashell.reports.derived import TABLES

    return {source for table in base_tables for source in (TABLES[table].sources if table in TABLES else (table,))}


def base_batches(base_tables: Sequence[str], table: str, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The base tables' batches that a batch of a table of columns/ stands for."""
    from metashell.reports.derived import TABLES

    for name in base_tables:
        if name in TABLES and table in TABLES[name].sources:
            yield name, TABLES[name].rows_of(table, batch)
    if table in base_tables:
        yield table, as_base(table, batch)
