"""The job behind `spark-reports export`: tables as Parquet in a lake, by the code and the rules of `metashell export --append`.

The driver plans, and commits what has been written; tasks decode their splits and write Parquet by pyarrow, so that no row goes through
the JVM, whose own writer is several times slower than the decoding. A task writes below a folder that no other attempt of it has, and
only what is reported to the driver gets into a commit: a failed, repeated or speculative attempt leaves nothing behind that counts."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from socket import gethostname
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from metashell.common.command import complain, with_way_out
from metashell.common.errors import LogCorruptError, MetashellError, PathError, UsageError
from metashell.common.uris import is_uri
from metashell.tables.input_files import expand_globs
from metashell.tables.lake.append import FILES, AppendOptions, AppendReport, append_to_store, plan_only, refuse_unfit
from metashell.tables.lake.commit import Commits
from metashell.tables.lake.layout import PARQUET, Rewrite, commit_name, read_format
from metashell.tables.lake.plan import Task
from metashell.tables.lake.status import checked_target_size, outcome_lines, planned_lines
from metashell.tables.lake.write_tasks import Job, TaskResult, Written, rewrite_task, write_task
from metashell.tables.read_options import EXPORT_MODES, TABLE_FORMATS
from metashell.tables.splits import FILE_COST_BYTES, Split
from metashell.tables.stores import Store, open_store
from spark_reports.session import end_workers, error_from
from spark_reports.source import SPLIT_BYTES, SPLIT_BYTES_MIN, TASKS_WANTED, begin_task
from spark_reports.table_commits import TableCommits, require_format, settings_for
from spark_reports.table_logs import DeltaTables, IcebergTables, require_readable

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
        raise UsageError(f"--target-file-size: tables of {name} merge small files in their own way", "--target-file-size")
    if name != PARQUET:
        require_readable(values.out)
    is_object_store = is_uri(values.out) and not values.out.lower().startswith(("hdfs:", "file:"))
    if name == "iceberg" and is_object_store and not values.catalog:
        raise UsageError(
            "--format iceberg: in an object store Iceberg needs a catalog that keeps writers apart: give --catalog", "--catalog"
        )


def table_format_of(values: SimpleNamespace) -> str:
    """Return the name of the tables' format in format.json; tables of a catalog are others than those of a folder."""
    return f"{_format(values)}:{values.catalog}" if values.catalog else _format(values)


def _format(values: SimpleNamespace) -> str:
    return values.format[0] if values.format else PARQUET


def session_settings(values: SimpleNamespace) -> dict[str, str]:
    """Return the settings that the session of a job needs. Errors: UsageError for a format that has no jars for this Spark."""
    if values.job != "export" or not values.format:
        return {}
    for jar in (values.jars or "").split(","):
        if jar and not is_uri(jar) and not os.path.isfile(jar):
            raise UsageError(f"--jars: {jar}: No such file", "--jars")
    return settings_for(values.format[0], values.jars or "")


def start_error(error: MetashellError, settings: dict[str, str]) -> MetashellError:
    """Return the error of a Spark that did not start; if it found no jars, the error says what to give."""
    packages = settings.get("spark.jars.packages")
    if packages is None or not re.search("unresolved dependency|download failed", str(error)):
        return error
    return MetashellError(f"Spark did not start: Maven cannot be reached for {packages}: give these jars with --jars")


def is_done_without_spark(store: Store, values: SimpleNamespace) -> bool:
    """Return whether nothing but a plan was wanted, which is printed. Errors: UsageError where the export would be refused at once."""
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
    """Return the options of an append that a command line asks for."""
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


def run_export(spark: Any, values: SimpleNamespace) -> int:
    """Write tables, and say which; returns how many faults were skipped."""
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
    """Return the commits for the format of tables that is asked for. Errors: MetashellError where Spark lacks what that needs."""
    name = _format(values)
    if name == PARQUET:
        return FILES
    require_format(spark, name, open_store(values.out))
    tables = {
        "delta": lambda lake_id: DeltaTables(spark, values.out, lake_id),
        "iceberg": lambda lake_id: IcebergTables(spark, values.out, lake_id, values.catalog or ""),
    }
    return TableCommits(spark, table_format_of(values), tables[name])


def _say(report: AppendReport) -> None:
    for note in filter(None, (report.recovered, *report.plan.notes)):
        complain("spark-reports", note)


# ---- the export


def export_tables(spark: Any, options: AppendOptions, *, split_bytes: int = 0, commits: Commits = FILES) -> AppendReport:
    """Write what a lake lacks, or all of it anew, in tasks of `split_bytes` each; where that is 0, so that there is work for all cores.

    Patterns in paths are spelled out already (`planned_paths`).

    Errors: as of `add_to`; MetashellError where a task failed for another reason.
    """
    store = open_store(options.out, sources=options.paths)
    options = replace(options, target_bytes=split_bytes or SPLIT_BYTES_MIN)
    runner = SparkTasks(spark.sparkContext, is_balanced=not split_bytes)
    return append_to_store(store, options, runner, commits, purpose="spark-reports export")


def planned_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths that patterns stand for, each once."""
    return tuple(dict.fromkeys(place for path in paths for place in expand_globs(path)))


class SparkTasks:
    """Runs the tasks of an append on Spark."""

    def __init__(self, context: Any, *, is_balanced: bool = True) -> None:
        self._context = context
        self._is_balanced = is_balanced
        self._is_apart = context is not None and not context.master.startswith("local")

    def balanced(self, tasks: list[Task]) -> list[Task]:
        """Tasks as the source `kafka_metadata` has them: larger ones for a large input, and some for each core."""
        if not self._is_balanced:
            return tasks
        share = min(max(sum(map(_weight, tasks)) // TASKS_WANTED, SPLIT_BYTES_MIN), SPLIT_BYTES)
        shared: list[Task] = []
        weight = share
        for task in tasks:
            if weight >= share:
                shared.append(task)
                weight = _weight(task)
            else:
                last = shared[-1]
                shared[-1] = Task(Split((*last.split.pieces, *task.split.pieces)), (*last.sources, *task.sources))
                weight += _weight(task)
        return shared

    def write(self, tasks: Sequence[Task], job: Job) -> list[tuple[int, TaskResult]]:
        if not tasks:
            return []
        store = job.store()
        going = f"{job.work}/going"
        store.put(going, b"\n")
        found = self._run(WriteTask(job, going, names_host=self._is_apart), list(enumerate(tasks)))
        failed = [(number, result) for number, result in found if result is not None and result.error is not None]
        if failed:
            return failed
        done = [(number, result) for number, result in found if result is not None]
        if len(done) < len(tasks):
            raise MetashellError(
                f"{store.shown_name(going)}: is gone: a task found a fault, and its executor was lost before it could say it"
            )
        return done

    def rewrite(self, tasks: Sequence[Rewrite], place: str, work: str) -> list[Written | None]:
        if not tasks:
            return []
        return self._run(RewriteTask(place, work), list(enumerate(tasks)))

    def stop(self) -> None:
        """Do nothing: all results come at once, so no task runs any more."""

    def _run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        try:
            found: list[Any] = self._context.parallelize(tasks, len(tasks)).map(work).collect()
        except KeyboardInterrupt:
            # They would write on while what they wrote is removed.
            end_workers()
            raise
        except Exception as error:
            raise error_from(error) or error from None
        return found


@dataclass(frozen=True, slots=True)
class WriteTask:
    """The work of a task on its share; it travels to the executor.

    A fault in a file is a result, not an exception: Spark would try again, and stop other tasks while they write. The file `going` says
    that results are wanted: whoever finds a fault, or ends the job, removes it, and tasks that begin later do nothing.
    With `names_host` an error about a file says on which machine.
    """

    job: Job
    going: str
    names_host: bool = False

    def __call__(self, numbered: tuple[int, Task]) -> tuple[int, TaskResult | None]:
        begin_task()
        number, task = numbered
        store = self.job.store()
        if store.read(self.going) is None:
            return number, None
        result = write_task(number, task, replace(self.job, work=_of_attempt(self.job.work)))
        if result.error is not None:
            if self.names_host and not isinstance(result.error, LogCorruptError):
                # A machine may have no file of that name, or another one.
                result.error = PathError(f"{result.error} (on {gethostname()})")
            with suppress(MetashellError):
                store.remove(self.going)
        return number, result


@dataclass(frozen=True, slots=True)
class RewriteTask:
    """The work of a task that makes one file of several."""

    place: str
    work: str

    def __call__(self, numbered: tuple[int, Rewrite]) -> Written | None:
        number, task = numbered
        return rewrite_task(number, task, self.place, _of_attempt(self.work))


def _of_attempt(work: str) -> str:
    return f"{work}/{uuid4().hex}"


def _weight(task: Task) -> int:
    return task.split.bytes + FILE_COST_BYTES * len(task.split.pieces)
