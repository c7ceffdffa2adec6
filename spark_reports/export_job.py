"""The job behind `spark-reports export`: tables as Parquet in a lake, by the code and the rules of `metashell export --append`.

The driver plans, and commits what has been written; tasks decode their splits and write Parquet by pyarrow, so that no row goes through the
JVM, whose own writer is several times slower than the decoding. A task writes below a folder that no other attempt of it has, and only
what is reported to the driver gets into a commit: a failed, repeated or speculative attempt leaves nothing behind that counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from socket import gethostname
from typing import Any, Final
from uuid import uuid4

from metashell.columns.inputs.globs import places_of
from metashell.columns.inputs.splits import Split
from metashell.columns.lake.append import FILES, AppendOptions, AppendReport, add_to
from metashell.columns.lake.commit import Commits
from metashell.columns.lake.compact import Rewrite
from metashell.columns.lake.plan import Task
from metashell.columns.lake.rewrite import rewrite_task
from metashell.columns.lake.write import Job, TaskResult, Written, write_task
from metashell.errors import LogCorruptError, MetashellError, PathError
from metashell.stores import open_store
from spark_reports.said import error_in
from spark_reports.session import end_workers
from spark_reports.source import SPLIT_BYTES, SPLIT_BYTES_MIN, TASKS_WANTED
from spark_reports.worker import begin_task

_FILE_COST_BYTES: Final = 64 << 10


def export_tables(spark: Any, options: AppendOptions, *, split_bytes: int = 0, commits: Commits = FILES) -> AppendReport:
    """Write what a lake lacks, or all of it anew, in tasks of `split_bytes` each; where that is 0, so that there is work for all cores.

    Patterns in paths are spelled out already (`planned_paths`).

    Errors: as of `add_to`; MetashellError where a task failed for another reason.
    """
    store = open_store(options.out, sources=options.paths)
    options = replace(options, target_bytes=split_bytes or SPLIT_BYTES_MIN)
    runner = SparkTasks(spark.sparkContext, is_balanced=not split_bytes)
    return add_to(store, options, runner, commits, purpose="spark-reports export")


def planned_paths(paths: Sequence[str]) -> tuple[str, ...]:
    """The paths that patterns stand for, each once."""
    return tuple(dict.fromkeys(place for path in paths for place in places_of(path)))


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
        """Nothing runs any more: results come together."""

    def _run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        try:
            found: list[Any] = self._context.parallelize(tasks, len(tasks)).map(work).collect()
        except KeyboardInterrupt:
            # They would write on while what they wrote is removed.
            end_workers()
            raise
        except Exception as error:
            raise error_in(error) or error from None
        return found


@dataclass(frozen=True, slots=True)
class WriteTask:
    """What a task does to its share; it travels to the executor.

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
    """What a task does to the files that it makes one of."""

    place: str
    work: str

    def __call__(self, numbered: tuple[int, Rewrite]) -> Written | None:
        number, task = numbered
        return rewrite_task(number, task, self.place, _of_attempt(self.work))


def _of_attempt(work: str) -> str:
    return f"{work}/{uuid4().hex}"


def _weight(task: Task) -> int:
    return task.split.bytes + _FILE_COST_BYTES * len(task.split.pieces)
