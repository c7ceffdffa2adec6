"""Lakes that Spark writes, and a session without Java for what the driver does before and after its tasks."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from metashell.tables.lake.append import AppendOptions, AppendReport

How = Callable[[Any, Sequence[Any]], list[Any]]


def on_spark(spark: Any, out: Path | str, *paths: Path, split_bytes: int = 0, **options: Any) -> AppendReport:
    """The same as `tests.tables.lake.lakes.run`, by tasks of Spark."""
    from spark_reports.export_job import export_tables

    return export_tables(spark, AppendOptions(**{"paths": tuple(map(str, paths)), "out": str(out), **options}), split_bytes=split_bytes)


def one_by_one(work: Any, tasks: Sequence[Any]) -> list[Any]:
    return [work(task) for task in tasks]


class Here:
    """A session whose tasks run in this process, as `how` says; they come pickled, as to an executor."""

    def __init__(self, how: How = one_by_one, master: str = "local[2]") -> None:
        self.sparkContext, self.master = self, master
        self._how, self._tasks, self._work = how, b"", b""

    def parallelize(self, tasks: Sequence[Any], _: int) -> Here:
        self._tasks = pickle.dumps(tasks)
        return self

    def map(self, work: Any) -> Here:
        self._work = pickle.dumps(work)
        return self

    def collect(self) -> list[Any]:
        return self._how(pickle.loads(self._work), pickle.loads(self._tasks))
