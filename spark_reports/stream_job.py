"""The job behind `spark-reports stream`: what is appended to growing logs, in Delta tables, until it is stopped.

Spark keeps how far each log is read; a micro-batch is a list of splits, which tasks read once for all tables and write as Parquet. The
driver commits their files to each table, with the number of the micro-batch as application transaction: one that is done again after a
crash is not committed where it is already. So each record is in a table once, also after kill -9. What an attempt wrote that was not
committed no reader sees.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from json import dumps, loads
from typing import Any, Final
from urllib.parse import unquote
from uuid import uuid4

from metashell.common.errors import MetashellError, UsageError
from metashell.common.uris import URI_MARK, is_uri, shown_uri
from metashell.tables import ReadOptions, Split
from metashell.tables.dictionary import STATE_TABLES
from metashell.tables.export.plan import refuse_lake
from metashell.tables.input_files import input_files
from metashell.tables.lake.delta import Change, LakeFile, changes_of, commit_change, delta_schema, has_append, open_table
from metashell.tables.lake.input_conflicts import known_log
from metashell.tables.lake.log_state import LogKey
from metashell.tables.lake.plan import Task
from metashell.tables.lake.write_tasks import Job, TaskResult, write_task
from metashell.tables.reports.catalog import DERIVED
from metashell.tables.reports.output import left_out
from metashell.tables.schemas import FAULTS
from metashell.tables.splits import Piece
from metashell.tables.stores import Held, Store, open_store
from metashell.tables.stores.local import path_of_uri
from spark_reports.options import SPLITS, parse_options, table_schema
from spark_reports.session import run_tasks
from spark_reports.source import NAME, begin_task

PROGRESS: Final = "_progress"
_JARS: Final = {
    "s3a": "org.apache.hadoop:hadoop-aws",
    "gs": "com.google.cloud.bigdataoss:gcs-connector",
    "abfs": "org.apache.hadoop:hadoop-azure",
}


@dataclass(frozen=True, slots=True)
class StreamTask:
    """The work of a task on its split; it travels to the executor. Each attempt writes files of its own names."""

    job: Job

    def __call__(self, numbered: tuple[int, Task]) -> TaskResult:
        begin_task()
        number, task = numbered
        return write_task(number, task, replace(self.job, append_id=f"{self.job.append_id}-{uuid4().hex}"))


class Sink:
    """Writes micro-batches: Spark calls it with the splits of each, and with its number, from 0 on."""

    def __init__(
        self,
        spark: Any,
        store: Store,
        options: ReadOptions,
        say: Callable[[str], None],
        held: Held | None = None,
        count_faults: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.context = spark.sparkContext
        self.held = held
        self.store = store
        self.options = options
        self.say = say
        self.count_faults = count_faults
        self._logs: dict[str, LogKey] = {}

    def __call__(self, frame: Any, batch_id: int) -> None:
        if self.held is not None:
            self.held.require()
        rows = frame.collect()
        for note in dict.fromkeys(row["note"] for row in rows if row["note"]):
            self.say(note)
        splits = [pickle.loads(row["split"]) for row in rows]
        if splits:
            tasks = [(number, self._task(split)) for number, split in enumerate(splits)]
            results: list[TaskResult] = run_tasks(
                self.context, StreamTask(Job(self.store.place, f"stream-{batch_id:08d}", self.options)), tasks
            )
            for result in results:
                if result.error is not None:
                    raise result.error
            self._commit([file for result in results for file in result.files], batch_id)
            skipped = sum(result.rows.get(FAULTS, 0) for result in results)
            if skipped:
                self.say(f"micro-batch {batch_id}: {left_out(skipped)}")
            # What stops the reading of a log stands for a split that has nothing to read.
            self.count_faults(skipped + sum(not split.pieces for split in splits))

    def _commit(self, files: list[LakeFile], batch_id: int) -> None:
        """Give each table the files of a micro-batch, unless it has them."""
        app_id = f"spark-reports-stream-{query_id(self.store)}"
        for table, given in changes_of(files).items():
            opened = open_table(self.store, table)
            if not has_append(opened, app_id, batch_id):
                if self.held is not None:
                    self.held.require()
                commit_change(self.store, table, opened, delta_schema(table), Change(given), (app_id, batch_id), {"micro_batch": batch_id})

    def _task(self, split: Split) -> Task:
        return Task(split, tuple(self._log(piece) for piece in split.pieces))

    def _log(self, piece: Piece) -> LogKey:
        """Return the log of a piece, as the columns `node_id` and `log` have it; known by its cluster alone where its file is gone."""
        if piece.path not in self._logs:
            found = None
            with suppress(UsageError):
                found = next((known_log(file) for file in input_files(piece.path, piece.log, may_be_empty=True)), None)
            self._logs[piece.path] = found or LogKey(piece.cluster_id, "", "")
        return self._logs[piece.path]


def query_id(store: Store) -> str:
    """Return the id of a stream, which Spark keeps with its progress. Errors: MetashellError where it is not there."""
    data = store.read(f"{PROGRESS}/metadata")
    try:
        return str(loads(data or b"")["id"])
    except (KeyError, TypeError, ValueError):
        raise MetashellError(f"{store.shown_name(PROGRESS)}/metadata: nothing says whose micro-batches these are") from None


def start_stream(
    spark: Any,
    paths: Sequence[str],
    out: str,
    tables: Sequence[str] | None,
    *,
    options: dict[str, str] | None = None,
    interval: str = "5 seconds",
    say: Callable[[str], None] = lambda _: None,
    held: Held | None = None,
    count_faults: Callable[[int], None] = lambda _: None,
) -> Any:
    """Start the query that writes tables (None: all but `records`) to `out/NAME`, with its progress in `out/_progress`; return it.

    `say` gets what is odd about a log, such as that it was cut back, and `count_faults` how many places of each micro-batch are left out.
    `held` is the lock of `out`: where it may be lost, nothing more is written.
    Errors: UsageError for a table that cannot be streamed, for a lake, and for a place that Spark cannot keep its progress at.
    """
    for table in tables or ():
        table_schema(table)
        if table in STATE_TABLES or table in DERIVED:
            raise UsageError(f"table {table} is read as a whole: only tables of events can be streamed", table)
    store = open_store(out, sources=paths)
    refuse_other_output(store)
    progress = progress_place(spark, out)
    store.require_writable()
    options = {**(options or {}), "table": SPLITS, "paths": dumps(list(paths))}
    asked = parse_options(options)
    wanted = replace(asked.options, tables=frozenset(tables) if tables else None, payloads=True, fails_with_store=True)
    frame = spark.readStream.format(NAME).options(**options).load()
    query = frame.writeStream.foreachBatch(Sink(spark, store, wanted, say, held, count_faults))
    return query.option("checkpointLocation", progress).trigger(processingTime=interval).start()


def refuse_other_output(store: Store) -> None:
    """Errors: UsageError where a stream would write into a lake, or into tables whose progress is not there: rows would come twice."""
    refuse_lake(store, "export --mode append")
    names = [file.name for file in store.files()]
    other = next((name for name in names if name.endswith(".parquet") and not name.startswith(f"{PROGRESS}/")), None)
    if other is not None and f"{PROGRESS}/metadata" not in names:
        raise UsageError(f"{store.shown_name(other)}: is there already, and no stream has written it: name another --out", store.place)


def progress_place(spark: Any, out: str) -> str:
    """Return where below `out` Spark keeps the progress of a stream. Errors: UsageError if its file systems have no such place."""
    if not is_uri(out):
        return f"{out.rstrip('/')}/{PROGRESS}"
    place = f"{java_uri(out)}/{PROGRESS}"
    scheme = place.partition(":")[0]
    context = spark.sparkContext
    try:
        context._jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, context._jsc.hadoopConfiguration())
    except Exception as error:
        jar = _JARS.get(scheme, f"the jar of Hadoop's file system for {scheme}://")
        if jar.startswith("org.apache.hadoop:"):
            jar = f"{jar}:{context._jvm.org.apache.hadoop.util.VersionInfo.getVersion()}"
        raise UsageError(
            f"{shown_uri(out)}: Spark keeps the progress of a stream by Hadoop's file systems, and has none for {scheme}://: "
            f"start it with {jar} (spark-submit --packages), or give --out a folder",
            out,
        ) from error
    return place


_SCHEMES_OF_HADOOP: Final = {"s3": "s3a", "s3a": "s3a", "s3n": "s3a", "gcs": "gs"}


def java_uri(place: str) -> str:
    """Return a folder as Java's file systems know it: unquoted, `s3a://` for `s3://`, without keys and settings, as plans show it."""
    if not is_uri(place):
        return _file_uri(os.path.abspath(place))
    scheme, _, rest = shown_uri(place).partition("?")[0].partition(URI_MARK)
    if scheme.lower() == "file":
        return _file_uri(path_of_uri(place))
    return f"{_SCHEMES_OF_HADOOP.get(scheme.lower(), scheme)}://{unquote(rest)}".rstrip("/")


def _file_uri(path: str) -> str:
    """Return a path as a URI: behind two slashes Java would look for a host."""
    return f"file:/{path.lstrip('/')}"
