"""metashell export: logs as tables in files."""

from __future__ import annotations

import sys

from metashell.cli.common import STATUS_FAILED, STATUS_OK, complain, declared_tool, with_way_out
from metashell.options.export_tools import EXPORT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.columns.export.plan import ExportReport

NAME = "metashell export"


def _export(values: SimpleNamespace) -> int:
    """Export what the command line names."""
    from metashell.cli.export_lake import append_to_lake, require_fitting
    from metashell.columns.packages import keep_to_one_allocator, only_what_we_use, require_packages

    require_fitting(values)
    require_packages("arrow", "pyarrow", "numpy")
    keep_to_one_allocator()
    with only_what_we_use():
        return _status(append_to_lake(values, _tables(values), NAME) if values.append else _export_anew(values))


def _export_anew(values: SimpleNamespace) -> int:
    """Write tables; returns how many faults were skipped."""
    from metashell.columns.export.options import ExportOptions
    from metashell.columns.export.progress import progress_bar
    from metashell.columns.export.run import export
    from metashell.errors import LogCorruptError
    from metashell.stores import open_store

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
        columns="raw" if values.old_columns else "typed",
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
        from metashell.columns.decode.newer import parts_of
        from metashell.image.newer import newer_line

        complain(NAME, newer_line(parts_of(report.newer)))
    return report.rows.get("faults", 0)


def _tables(values: SimpleNamespace) -> tuple[str, ...] | None:
    """The wanted tables, None for the usual ones. Errors: UsageError for a name that is no table's."""
    names = [name.strip() for words in values.tables for name in words.split(",") if name.strip()]
    if not names:
        return None
    from metashell.columns.names import table_names
    from metashell.errors import UsageError
    from metashell.options.values import did_you_mean

    known = table_names()
    for name in names:
        if name not in (*known, "all"):
            raise UsageError(f"--tables: no table {name}{did_you_mean(name, known)}", name)
    return tuple(known) if "all" in names else tuple(sorted(set(names)))


def summary(report: ExportReport) -> str:
    """The rows of each table, a line each."""
    from metashell.forms import aligned

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
    from metashell.forms import counted

    complain(NAME, f"{counted(faults, 'fault')} skipped; the table faults has the details")
    return STATUS_FAILED


main = declared_tool(NAME, EXPORT, _export, tells_interrupts=True)
