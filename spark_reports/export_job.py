"""The job behind `spark-reports export`: plain Parquet (`plain_export`), or a lake by the rules of `metashell export --append`.

Of a lake the driver plans, and commits what has been written. Tasks decode their splits and write Parquet by pyarrow, so that no row goes
through the JVM, whose own writer is several times slower than the decoding. Each attempt of a task writes files of its own names, and only
what is reported to the driver gets into a commit: a failed, repeated or speculative attempt leaves nothing behind that counts."""

from __future__ import annotations

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
from metashell.metadata.image.image import newer_line
from metashell.tables.export.plan import ExportOptions
from metashell.tables.input_files import expand_globs
from metashell.tables.lake.append import AppendOptions, AppendReport, append_to_store, plan_only, refuse_unfit
from metashell.tables.lake.plan import Task
from metashell.tables.lake.status import outcome_lines, planned_lines
from metashell.tables.lake.write_tasks import Job, TaskResult, write_task
from metashell.tables.read_options import EXPORT_MODES, parts_of_notes
from metashell.tables.splits import Split
from metashell.tables.stores import Store, open_store
from spark_reports.plain_export import export_plain, refuse_other_output
from spark_reports.session import run_tasks
from spark_reports.source import SPLIT_BYTES_MIN, begin_task, runs_to_join

_EXPORT, _STREAM = "export", "stream"
_ONLY_WITH = {
    "mode": ("--mode", (_EXPORT,)),
    "dry_run": ("--dry-run", (_EXPORT,)),
    "replace": ("--replace", (_EXPORT,)),
    "table": ("--table", (_EXPORT, _STREAM)),
    "once": ("--once", (_STREAM,)),
}
PARQUET, DELTA = "parquet", "delta"


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
        if values.job == _STREAM and name != DELTA:
            raise UsageError(f"--format {name}: a stream writes tables of {DELTA}", "--format")
        if values.job != _STREAM and name == DELTA:
            raise UsageError(f"--format {name} goes with the jobs export and stream", "--format")


def _require_fitting_format(values: SimpleNamespace) -> None:
    wanted = list(values.format)
    if wanted not in ([], [PARQUET], [DELTA]):
        raise UsageError(f"--format {' --format '.join(wanted)}: an export writes {PARQUET} or {DELTA}", "--format")
    if wanted == [PARQUET] and values.mode == "append":
        raise UsageError(f"--format {PARQUET}: what appends makes tables of {DELTA}", "--format")
    if is_plain(values) and values.dry_run:
        raise UsageError("--dry-run goes with --mode append and --format delta", "--dry-run")


def is_plain(values: SimpleNamespace) -> bool:
    """Return whether an export writes plain Parquet: it does unless it appends, or has another format."""
    return values.mode != "append" and DELTA not in values.format


def is_done_without_spark(store: Store, values: SimpleNamespace) -> bool:
    """Return whether nothing but a plan was wanted, which is printed. Errors: UsageError where the export would be refused at once."""
    if is_plain(values):
        refuse_other_output(store, overwrites=values.mode == "overwrite")
        return False
    options = options_of(values)
    if not values.dry_run:
        refuse_unfit(store, options)
        return False
    report = plan_only(options)
    _say(report)
    sys.stdout.write("".join(f"{line}\n" for line in planned_lines(report)))
    return True


def options_of(values: SimpleNamespace) -> AppendOptions:
    """Return the options of an append that a command line asks for."""
    return AppendOptions(
        paths=planned_paths(values.paths),
        out=values.out,
        mode=values.mode or EXPORT_MODES[0],
        tables=tuple(sorted(set(values.table))) or None,
        on_error=values.on_error,
        show_secrets=values.show_secrets,
        replaces=values.replace,
    )


def run_export(spark: Any, values: SimpleNamespace) -> int:
    """Write tables, and say which; returns how many faults were skipped."""
    if is_plain(values):
        return _run_plain(spark, values)
    try:
        report = export_tables(spark, options_of(values), split_bytes=values.split_size)
    except LogCorruptError as error:
        raise with_way_out(error) from error
    _say(report)
    lines = [f"{table:<40} {count:>12}" for table, count in sorted(report.rows.items())]
    if values.mode in ("append", "overwrite"):
        lines += outcome_lines(report)
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return report.rows.get("faults", 0)


def _run_plain(spark: Any, values: SimpleNamespace) -> int:
    options = ExportOptions(
        paths=planned_paths(values.paths),
        out=values.out,
        tables=tuple(sorted(set(values.table))) or None,
        on_error=values.on_error,
        show_secrets=values.show_secrets,
    )
    try:
        report = export_plain(spark, options, overwrites=values.mode == "overwrite", split_bytes=values.split_size)
    except LogCorruptError as error:
        raise with_way_out(error) from error
    if report.newer:
        complain("spark-reports", newer_line(parts_of_notes(report.newer)))
    sys.stdout.write("".join(f"{table:<40} {count:>12}\n" for table, count in sorted(report.rows.items()) if count))
    return report.rows.get("faults", 0)


def _say(report: AppendReport) -> None:
    for note in filter(None, (report.recovered, *report.plan.notes)):
        complain("spark-reports", note)


# ---- the export


def export_tables(spark: Any, options: AppendOptions, *, split_bytes: int = 0) -> AppendReport:
    """Write what a lake lacks, or all of it anew, in tasks of `split_bytes` each; where that is 0, so that there is work for all cores.

    Patterns in paths are spelled out already (`planned_paths`).

    Errors: as of `add_to`; MetashellError where a task failed for another reason.
    """
    store = open_store(options.out, sources=options.paths)
    options = replace(options, target_bytes=split_bytes or SPLIT_BYTES_MIN)
    runner = SparkTasks(spark.sparkContext, is_balanced=not split_bytes)
    return append_to_store(store, options, runner)


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
        return [_joined(tasks[run]) for run in runs_to_join([task.split for task in tasks])]

    def write(self, tasks: Sequence[Task], job: Job) -> list[tuple[int, TaskResult]]:
        if not tasks:
            return []
        store = job.store()
        going = f"appends/going-{job.append_id}"
        store.put(going, b"\n")
        try:
            found = self._run(WriteTask(job, going, names_host=self._is_apart), list(enumerate(tasks)))
        finally:
            is_going = store.read(going) is not None
            with suppress(MetashellError):
                store.remove(going)
        failed = [(number, result) for number, result in found if result is not None and result.error is not None]
        if failed:
            return failed
        done = [(number, result) for number, result in found if result is not None]
        if len(done) < len(tasks) or not is_going:
            raise MetashellError(
                f"{store.shown_name(going)}: is gone: a task found a fault, and its executor was lost before it could say it"
            )
        return done

    def stop(self) -> None:
        """Do nothing: all results come at once, so no task runs any more."""

    def _run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        return run_tasks(self._context, work, tasks)


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
        result = write_task(number, task, replace(self.job, append_id=f"{self.job.append_id}-{uuid4().hex}"))
        if result.error is not None:
            if self.names_host and not isinstance(result.error, LogCorruptError):
                # A machine may have no file of that name, or another one.
                result.error = PathError(f"{result.error} (on {gethostname()})")
            with suppress(MetashellError):
                store.remove(self.going)
        return number, result


def _joined(tasks: Sequence[Task]) -> Task:
    pieces = tuple(piece for task in tasks for piece in task.split.pieces)
    return Task(Split(pieces), tuple(log for task in tasks for log in task.logs))
