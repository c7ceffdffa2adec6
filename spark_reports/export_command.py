"""`spark-reports export` as its command line asks for it, and what it says."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

from metashell.cli.common import complain, with_way_out
from metashell.cli.export_lake import checked_target_size, outcome_lines, planned_lines
from metashell.codec.uris import is_uri
from metashell.columns.lake.append import FILES, AppendOptions, AppendReport, plan_only, refuse_unfit
from metashell.columns.lake.lake import PARQUET, read_format
from metashell.columns.lake.names import commit_name
from metashell.errors import LogCorruptError, MetashellError, UsageError
from metashell.options.report_tools import EXPORT_MODES, TABLE_FORMATS
from spark_reports.tables import require_readable

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.columns.lake.commit import Commits
    from metashell.stores import Store

_EXPORT, _STREAM = "export", "stream"
_ONLY_WITH = {
    "mode": ("--mode", (_EXPORT,)),
    "dry_run": ("--dry-run", (_EXPORT,)),
    "replace": ("--replace", (_EXPORT,)),
    "target_file_size": ("--target-file-size", (_EXPORT,)),
    "catalog": ("--catalog", (_EXPORT,)),
    "jars": ("--jars", (_EXPORT,)),
    "table": ("--table", (_EXPORT, _STREAM)),
    "old_columns": ("--old-columns", (_EXPORT, _STREAM)),
    "once": ("--once", (_STREAM,)),
}
_CATALOG = re.compile(r"[A-Za-z_]\w*(?:\.[\w-]+)*", re.ASCII)


def require_fitting(values: SimpleNamespace) -> None:
    """Errors: UsageError for options that do not go together."""
    for name, (option, jobs) in _ONLY_WITH.items():
        if getattr(values, name) and values.job not in jobs:
            raise UsageError(f"{option} goes with the job{'s' if len(jobs) > 1 else ''} {' and '.join(jobs)}", option)
    if values.job == _EXPORT:
        if values.replace and values.mode != "append":
            raise UsageError("--replace goes with --mode append", "--replace")
        _require_fitting_format(values)
        return
    for name in values.format:
        if name in TABLE_FORMATS:
            raise UsageError(f"--format {name} goes with the job export", "--format")
        if values.job == _STREAM and name != PARQUET:
            raise UsageError(f"--format {name}: a stream writes Parquet", "--format")


def _require_fitting_format(values: SimpleNamespace) -> None:
    wanted = values.format or [PARQUET]
    if len(wanted) > 1 or wanted[0] not in (PARQUET, *TABLE_FORMATS):
        raise UsageError(f"--format {' --format '.join(wanted)}: an export writes one of parquet, {', '.join(TABLE_FORMATS)}", "--format")
    (name,) = wanted
    if name == PARQUET and values.jars:
        raise UsageError("--jars goes with --format delta or iceberg", "--jars")
    if name != "iceberg" and values.catalog:
        raise UsageError("--catalog goes with --format iceberg", "--catalog")
    if values.catalog and not _CATALOG.fullmatch(values.catalog):
        raise UsageError(f"--catalog {values.catalog}: not CATALOG or CATALOG.NAMESPACE", "--catalog")
    if name != PARQUET and values.target_file_size:
        raise UsageError(f"--target-file-size: tables of {name} have a way of their own to put files together", "--target-file-size")
    if name != PARQUET:
        require_readable(values.out)
    is_object_store = is_uri(values.out) and not values.out.lower().startswith(("hdfs:", "file:"))
    if name == "iceberg" and is_object_store and not values.catalog:
        raise UsageError(
            "--format iceberg: in an object store Iceberg needs a catalog that keeps writers apart: give --catalog", "--catalog"
        )


def table_format_of(values: SimpleNamespace) -> str:
    """What format.json says of the tables; those of a catalog are others than those of a folder."""
    return f"{_format(values)}:{values.catalog}" if values.catalog else _format(values)


def _format(values: SimpleNamespace) -> str:
    return values.format[0] if values.format else PARQUET


def session_settings(values: SimpleNamespace) -> dict[str, str]:
    """What the session of a job needs. Errors: UsageError for a format that has no jars for this Spark."""
    if values.job != "export" or not values.format:
        return {}
    from spark_reports.table_formats import settings_for

    for jar in (values.jars or "").split(","):
        if jar and not is_uri(jar) and not os.path.isfile(jar):
            raise UsageError(f"--jars: {jar}: No such file", "--jars")
    return settings_for(values.format[0], values.jars or "")


def start_error(error: MetashellError, settings: dict[str, str]) -> MetashellError:
    """Why Spark did not start: where it looked for jars in vain, what to give."""
    packages = settings.get("spark.jars.packages")
    if packages is None or not re.search("unresolved dependency|download failed", str(error)):
        return error
    return MetashellError(f"Spark did not start: Maven cannot be reached for {packages}: give these jars with --jars")


def is_done_without_spark(store: Store, values: SimpleNamespace) -> bool:
    """Whether nothing but a plan was wanted, which is printed. Errors: UsageError where the export would be refused at once."""
    options = options_of(values)
    _require_same_columns(store, options, _format(values))
    if not values.dry_run:
        refuse_unfit(store, options, table_format_of(values))
        return False
    report = plan_only(options, table_format_of(values))
    _say(report)
    sys.stdout.write("".join(f"{line}\n" for line in planned_lines(report)))
    return True


def _require_same_columns(store: Store, options: AppendOptions, name: str) -> None:
    """Errors: UsageError where an overwrite would give columns other types, which tables with a log of their own do not take."""
    lake = read_format(store) if name != PARQUET and options.mode == "overwrite" and store.sizes([commit_name(1)]) else None
    if lake is not None and lake.columns != options.columns:
        way = "with" if lake.columns == "raw" else "without"
        raise UsageError(
            f"{store.shown}: tables of {name} keep the types of their columns: overwrite {way} --old-columns, or name another --out",
            "--old-columns",
        )


def options_of(values: SimpleNamespace) -> AppendOptions:
    """What a command line asks for."""
    from spark_reports.export_job import planned_paths

    return AppendOptions(
        paths=planned_paths(values.paths),
        out=values.out,
        mode=values.mode or EXPORT_MODES[0],
        tables=tuple(sorted(set(values.table))) or None,
        on_error=values.on_error,
        show_secrets=values.show_secrets,
        columns="raw" if values.old_columns else "typed",
        target_size=checked_target_size(values.target_file_size),
        replaces=values.replace,
    )


def export(spark: Any, values: SimpleNamespace) -> int:
    """Write tables, and say which; returns how many faults were skipped."""
    from spark_reports.export_job import export_tables

    try:
        report = export_tables(spark, options_of(values), split_bytes=values.split_size, commits=_commits(spark, values))
    except LogCorruptError as error:
        raise with_way_out(error) from error
    _say(report)
    lines = [f"{table:<40} {count:>12}" for table, count in sorted(report.rows.items())]
    if values.mode in ("append", "overwrite"):
        lines += outcome_lines(report)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return report.rows.get("faults", 0)


def _commits(spark: Any, values: SimpleNamespace) -> Commits:
    """How what is written gets into tables of the format that is asked for. Errors: MetashellError where Spark lacks what that needs."""
    name = _format(values)
    if name == PARQUET:
        return FILES
    from metashell.stores import open_store
    from spark_reports.delta_tables import DeltaTables
    from spark_reports.iceberg_tables import IcebergTables
    from spark_reports.table_commits import TableCommits
    from spark_reports.table_formats import require_format

    require_format(spark, name, open_store(values.out))
    tables = {
        "delta": lambda lake_id: DeltaTables(spark, values.out, lake_id),
        "iceberg": lambda lake_id: IcebergTables(spark, values.out, lake_id, values.catalog or ""),
    }
    return TableCommits(spark, table_format_of(values), tables[name])


def _say(report: AppendReport) -> None:
    for note in filter(None, (report.recovered, *report.plan.notes)):
        complain("spark-reports", note)
