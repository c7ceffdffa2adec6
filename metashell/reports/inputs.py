"""What a report reads: of which log, which tables of columns/, and the batches of its base tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from metashell.codec.uris import shown_uri
from metashell.errors import PathError
from metashell.escape import writable
from metashell.log.identity import name_of
from metashell.log.kinds import METADATA, LogKind
from metashell.reports import undone
from metashell.reports.answer import as_base
from metashell.reports.catalog import Report

if TYPE_CHECKING:
    import pyarrow as pa

    from metashell.columns.inputs.splits import Piece

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
        found.setdefault(report.log, set()).update(source_tables(base_tables_of([report])))
    return found


def base_tables_of(reports: Iterable[Report]) -> list[str]:
    """The base tables that the reports need: those of their questions and, of the metadata log, those that tell what has not happened."""
    of_logs = {table for report in reports for table in (*report.tables, *(undone.TABLES if report.log == METADATA else ()))}
    return sorted(of_logs)


def source_tables(base_tables: Sequence[str]) -> set[str]:
    """The tables of columns/ that the base tables are made of."""
    from metashell.reports.derived import TABLES

    return {source for table in base_tables for source in (TABLES[table].sources if table in TABLES else (table,))}


def tables_of_files(reports: Sequence[Report], pieces: Iterable[Piece]) -> Callable[[pa.RecordBatch], list[str]]:
    """Which base tables the rows of a batch are for: those of the reports that are about the log of its file."""
    by_log = {log: base_tables_of([report for report in reports if report.log == log]) for log in dict.fromkeys(r.log for r in reports)}
    log_of = {writable(shown_uri(piece.path)): piece.log for piece in pieces}
    everything = base_tables_of(reports)

    def of(batch: pa.RecordBatch) -> list[str]:
        log = log_of.get(batch.column("file")[0].as_py()) if batch.num_rows else None
        return everything if log is None else by_log.get(log, [])

    return of


def base_batches(base_tables: Sequence[str], table: str, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The base tables' batches that a batch of a table of columns/ stands for."""
    from metashell.reports.derived import TABLES

    for name in base_tables:
        if name in TABLES and table in TABLES[name].sources:
            yield name, TABLES[name].rows_of(table, batch)
    if table in base_tables:
        yield table, as_base(table, batch)
