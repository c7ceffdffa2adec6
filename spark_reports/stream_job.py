"""The job behind `spark-reports stream`: what is appended to growing logs, as Parquet parts of several tables, until it is stopped.

Spark keeps how far each log is read; a micro-batch is a list of splits, which tasks read once for all tables and write as Parquet. A part
is named by its micro-batch and its split: one that is done again after a crash writes the same names, whole or not at all, and removes
first what the attempt before it left. So each record is in one part, also after kill -9.
"""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from json import dumps
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa

from metashell.common.errors import UsageError
from metashell.common.uris import URI_MARK, is_uri, shown_uri
from metashell.tables import ReadOptions, Split, read_split
from metashell.tables.columns.record_tables import marked_schema
from metashell.tables.columns.typed_tables import spark_batch
from metashell.tables.dictionary import STATE_TABLES
from metashell.tables.export.parquet import ParquetTable
from metashell.tables.export.plan import refuse_lake
from metashell.tables.reports.catalog import DERIVED
from metashell.tables.reports.output import left_out
from metashell.tables.schemas import FAULTS, commented
from metashell.tables.stores import Held, Store, open_store
from metashell.tables.stores.local import path_of_uri
from spark_reports.options import SPLITS, parse_options, table_schema
from spark_reports.source import NAME, begin_task

PROGRESS: Final = "_progress"
_OF_SPARK: Final = "_spark_metadata"
_JARS: Final = {
    "s3a": "org.apache.hadoop:hadoop-aws",
    "gs": "com.google.cloud.bigdataoss:gcs-connector",
    "abfs": "org.apache.hadoop:hadoop-azure",
}
_PART: Final = re.compile(r"^table=[^/]+/part-(\d{8,})-\d{5,}\.parquet$")


@dataclass(frozen=True, slots=True)
class StreamTask:
    """The work of a task on its split; it returns how many faults it left out, and travels to the executor."""

    store: Store
    options: ReadOptions
    batch_id: int

    def __call__(self, numbered: tuple[Split, int]) -> int:
        begin_task()
        split, number = numbered
        tables: dict[str, list[pa.RecordBatch]] = {}
        fault_count = 0
        for table, batch in read_split(split, self.options):
            # Faults that are skipped come whether they are wanted or not.
            fault_count += batch.num_rows if table == FAULTS else 0
            if self.options.tables is None or table in self.options.tables:
                tables.setdefault(table, []).append(spark_batch(batch) if self.options.columns == "typed" else batch)
        for table, batches in tables.items():
            schema = commented(table, marked_schema(batches[0].schema, show_secrets=self.options.show_secrets))
            with self.store.create(f"table={table}/part-{self.batch_id:08d}-{number:05d}.parquet") as file:
                writer = ParquetTable(file, schema)
                writer.write(batches)
                writer.close()
        return fault_count


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
        self._is_first = True

    def __call__(self, frame: Any, batch_id: int) -> None:
        if self.held is not None:
            self.held.require()
        if self._is_first:
            self._remove_from(batch_id)
            self._is_first = False
        rows = frame.collect()
        for note in dict.fromkeys(row["note"] for row in rows if row["note"]):
            self.say(note)
        splits = [(pickle.loads(row["split"]), number) for number, row in enumerate(rows)]
        if splits:
            tasks = self.context.parallelize(splits, len(splits)).map(StreamTask(self.store, self.options, batch_id))
            skipped = sum(tasks.collect())
            if skipped:
                self.say(f"micro-batch {batch_id}: {left_out(skipped)}")
            # What stops the reading of a log stands for a split that has nothing to read.
            self.count_faults(skipped + sum(not split.pieces for split, _ in splits))

    def _remove_from(self, batch_id: int) -> None:
        """Remove what an attempt wrote that was broken off."""
        for file in self.store.files():
            part = _PART.match(file.name)
            if part is not None and int(part[1]) >= batch_id:
                self.store.remove(file.name)


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
    """Start the query that writes tables (None: all but `records`) to `out/table=NAME`, with its progress in `out/_progress`; return it.

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
    wanted = replace(asked.options, tables=frozenset(tables) if tables else None, payloads=True)
    frame = spark.readStream.format(NAME).options(**options).load()
    query = frame.writeStream.foreachBatch(Sink(spark, store, wanted, say, held, count_faults))
    return query.option("checkpointLocation", progress).trigger(processingTime=interval).start()


def refuse_other_output(store: Store) -> None:
    """Errors: UsageError where a stream would write into a lake, or beside the stream of an earlier release."""
    refuse_lake(store, "export --mode append")
    if older := next((file.name for file in store.files() if f"/{_OF_SPARK}/" in file.name), None):
        raise UsageError(f"{store.shown}: holds the stream of an earlier release ({older}): give another --out", store.place)


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
