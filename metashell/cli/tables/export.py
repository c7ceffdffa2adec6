"""metashell export: writes logs as tables to files; with --append, adds what is new in them to a lake."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from metashell.cli.tool import declared_tool
from metashell.common import options
from metashell.common.command import STATUS_FAILED, STATUS_OK, complain, with_way_out
from metashell.common.errors import LogCorruptError, UsageError
from metashell.common.forms import aligned, counted
from metashell.common.options import CommandSpec, Option, choice, did_you_mean, flag
from metashell.tables import keep_to_one_allocator, only_what_we_use, require_packages

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.tables.export.plan import ExportReport
    from metashell.tables.lake.append import AppendOptions


EXPORT = CommandSpec(
    name="metashell-export",
    summary="write the records of logs as tables: Parquet, Arrow, CSV or JSON lines",
    description="""
        Writes one table for each record type, with all its versions merged, to DIR/TABLE.FORMAT: a file, or a folder of parts. Large files
        are read by all cores. No table gets its final name before the whole export is complete. An interrupted export continues
        where it stopped; a repeated one reads only what is new. Files that no export has written are never replaced.

        Each row has cluster_id (from meta.properties, else the directory), file, offset, epoch and timestamp. Fields have the names of
        Kafka's messages, in snake case. Times are timestamps in UTC, ids are UUIDs beside their text as Kafka prints it (topic_id and
        topic_id_text), and codes are numbers beside their words (operation and operation_name).

        With --append, DIR is a lake: days, nodes and clusters go into Delta tables, one for each record type, each record once. What a lake
        has already is known by offsets, so the same logs again, or a copy of them, add nothing. It needs the extra lake.
        """,
    options=(
        options.OUT,
        flag("--append", help="add what is new to the lake DIR, which is made if there is none"),
        flag(
            "--committed-only",
            help="with --append: read metadata logs up to their newest checkpoint; what follows, which may not be committed, comes later",
        ),
        flag("--dry-run", help="with --append: say what the lake has of the logs, and what would be added"),
        flag(
            "--replace",
            help="remove what an earlier export wrote and this one does not; with --append, what differs from the logs since one was cut "
            "and written anew",
        ),
        choice(
            "--format",
            "-f",
            metavar="FORMAT",
            choices=("parquet", "arrow", "csv", "jsonl"),
            default="parquet",
            help="file format",
        ),
        Option(
            names=("--tables", "-t"),
            metavar="A,B",
            multiple=True,
            kind="table",
            help="only these tables, separated by commas, or all. The default is all but records, whose JSON text costs several "
            "times as much as everything else",
        ),
        options.DEMO,
        options.ON_ERROR,
        options.JOBS,
        options.LOG_KIND,
        options.SHOW_SECRETS._replace(help="export passwords, keys and salts instead of redacting them; the files say so"),
        flag("--quiet", "-q", help="print no progress bar and no summary"),
        options.VERSION,
    ),
    arguments=(options.LOG_PATHS,),
    examples=(
        ("metashell export /var/lib/kafka/__cluster_metadata-0 --out tables", "a node's metadata log as Parquet"),
        ("metashell export dumps/ --out tables --tables partition,partition_change", "two tables of all clusters below dumps"),
        ("metashell export FILE.log --out tables --on-error skip --tables all", "everything around a corrupt batch, with all JSON text"),
        ("metashell export s3://dumps/today --out s3://tables/today", "from a store into a store, where every table is a folder of parts"),
        ("metashell export /dumps/2026-11-20 --append --out s3://bucket/lake", "what is new since yesterday, into a lake"),
    ),
    epilog=(("TABLES OF EVENTS", options.EVENT_TABLES), options.EXIT_STATUS),
    files=(
        *options.LOG_FILES,
        ("DIR/_manifest.json", "what an export has written, so that the next one reads only what is new"),
        ("DIR/appends", "of a lake: what it holds of which logs"),
    ),
    environment=(*options.TEMPORARY_ENVIRONMENT, *options.STORE_ENVIRONMENT),
)


NAME = "metashell export"


def _export(values: SimpleNamespace) -> int:
    """Export what the command line names."""

    require_fitting(values)
    require_packages("arrow", "pyarrow", "numpy")
    keep_to_one_allocator()
    with only_what_we_use():
        return _status(append_to_lake(values, _tables(values), NAME) if values.append else _export_anew(values))


def _export_anew(values: SimpleNamespace) -> int:
    """Write tables and return the number of faults that were skipped."""
    from metashell.tables.export.job import export, progress_bar
    from metashell.tables.export.plan import ExportOptions
    from metashell.tables.stores import open_store

    open_store(values.out, sources=values.paths)
    options = ExportOptions(
        paths=tuple(values.paths),
        out=values.out,
        form=values.format,
        tables=_tables(values),
        on_error=values.on_error,
        jobs=values.jobs,
        show_secrets=values.show_secrets,
        log=values.log,
        replaces=values.replace,
    )
    try:
        with progress_bar(sys.stderr, is_shown=sys.stderr.isatty() and not values.quiet) as bar:
            report = export(options, bar.advance, bar.start)
    except LogCorruptError as error:
        raise with_way_out(error) from error
    if not values.quiet:
        sys.stdout.write(summary(report))
    if report.newer:
        from metashell.metadata.image.image import newer_line
        from metashell.tables.read_options import parts_of_notes

        complain(NAME, newer_line(parts_of_notes(report.newer)))
    return report.rows.get("faults", 0)


def _tables(values: SimpleNamespace) -> tuple[str, ...] | None:
    """Return the wanted tables, or None for the default ones. Errors: UsageError for an unknown name."""
    names = [name.strip() for words in values.tables for name in words.split(",") if name.strip()]
    if not names:
        return None
    from metashell.tables.dictionary import table_names

    known = table_names()
    for name in names:
        if name not in (*known, "all"):
            raise UsageError(f"--tables: no table {name}{did_you_mean(name, known)}", name)
    return tuple(known) if "all" in names else tuple(sorted(set(names)))


def summary(report: ExportReport) -> str:
    """Return the number of rows of each table, one line per table."""

    shown = {table: count for table, count in sorted(report.rows.items()) if count or table == "faults"}
    lines = list(aligned([(table, f"{count:>12,}") for table, count in shown.items()]))
    if report.is_unchanged:
        lines.append("nothing has changed since the last export")
    elif report.reused_count:
        lines.append(f"{report.reused_count} of {report.split_count} parts were there already")
    return "".join(f"{line}\n" for line in lines)


def _status(faults: int) -> int:
    if not faults:
        return STATUS_OK

    complain(NAME, f"{counted(faults, 'fault')} skipped; the table faults has the details")
    return STATUS_FAILED


main = declared_tool(NAME, EXPORT, _export, tells_interrupts=True)


_LAKE_ONLY = {"dry_run": "--dry-run", "committed_only": "--committed-only"}


def require_fitting(values: SimpleNamespace) -> None:
    """Raise UsageError for options that cannot be combined."""
    if values.append:
        if values.format != "parquet":
            raise UsageError(f"--append: a lake is Delta tables of Parquet files, not {values.format}", "--format")
        return
    for name, option in _LAKE_ONLY.items():
        if getattr(values, name):
            raise UsageError(f"{option} goes with --append", option)


def append_to_lake(values: SimpleNamespace, tables: tuple[str, ...] | None, name: str) -> int:
    """Add the new records, or print what they are; return the number of faults that were skipped."""
    require_packages("lake", "deltalake")
    from metashell.tables.lake.append import append, plan_only

    options = _options(values, tables)
    try:
        if values.dry_run:
            report = plan_only(options)
        else:
            from metashell.tables.export.job import progress_bar

            with progress_bar(sys.stderr, is_shown=sys.stderr.isatty() and not values.quiet) as bar:
                report = append(options, bar.advance, bar.start)
    except LogCorruptError as error:
        raise with_way_out(error) from error
    # Some notes report lost changes. They go to stderr even with --quiet, as in a job that a timer starts.
    for note in filter(None, (report.recovered, *report.plan.notes)):
        complain(name, note)
    if not values.quiet:
        from metashell.tables.lake.status import added_lines, planned_lines

        lines = planned_lines(report) if values.dry_run else added_lines(report)
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return report.rows.get("faults", 0)


def _options(values: SimpleNamespace, tables: tuple[str, ...] | None) -> AppendOptions:
    from metashell.tables.lake.append import AppendOptions

    return AppendOptions(
        paths=tuple(values.paths),
        out=values.out,
        tables=tables,
        on_error=values.on_error,
        jobs=values.jobs,
        show_secrets=values.show_secrets,
        log=values.log,
        replaces=values.replace,
        is_committed_only=values.committed_only,
    )
