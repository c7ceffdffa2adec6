"""The job behind `spark-reports export`: tables as Parquet below `table=NAME/cluster_id=ID/date=DAY/`.

One pass over the input writes all tables: each task decodes its split and writes Parquet by pyarrow, so that no row goes through the JVM,
whose own writer is several times slower than the decoding. Tasks write below `_temporary`; only what successful tasks report
is moved, when all have ended, so a failed, repeated or speculative task leaves nothing behind.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

import pyarrow as pa
from pyarrow import compute

from metashell.columns import ReadOptions, Split, read_split
from metashell.columns.decode.redacting import marked_schema
from metashell.columns.export.parquet import ParquetTable
from metashell.columns.inputs.splits import logs_of, require_logs
from metashell.columns.meanings.comments import commented
from metashell.columns.typed.times import times
from metashell.errors import MetashellError, UsageError
from metashell.stores import Store, open_store
from spark_reports.source import balanced_splits

TEMPORARY: Final = "_temporary"
_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
"""What stands in a path where a partition has no value."""


@dataclass(frozen=True, slots=True)
class Written:
    """A file that a task has written: its name until all have ended, where it belongs, its rows and bytes."""

    name: str
    table: str
    folder: str
    rows: int
    size: int


@dataclass(frozen=True, slots=True)
class Task:
    """What a task does to its split; it travels to the executor."""

    store: Store
    options: ReadOptions

    def __call__(self, split: Split) -> list[Written]:
        with TemporaryDirectory(prefix="metashell-") as work:
            parts = self._parts(split, work)
            attempt = f"{TEMPORARY}/{uuid4().hex}"
            found = [(f"{attempt}-{number}.part", *part) for number, part in enumerate(parts)]
            written = [Written(name, *key, rows, os.stat(path).st_size) for name, path, key, rows in found]
            self.store.put_files([(name, path) for name, path, _, _ in found])
            return written

    def _parts(self, split: Split, work: str) -> list[tuple[str, tuple[str, str], int]]:
        """The files of a split on the executor's disk: path, table and folder, rows."""
        writers: dict[tuple[str, str], ParquetTable] = {}
        rows: dict[tuple[str, str], int] = defaultdict(int)
        try:
            for table, batch in read_split(split, self.options):
                for folder, part in parts_of(table, batch):
                    key = table, folder
                    if key not in writers:
                        schema = marked_schema(commented(table, part.schema), show_secrets=self.options.show_secrets)
                        writers[key] = ParquetTable(os.path.join(work, str(len(writers))), schema)
                    writers[key].write([part])
                    rows[key] += part.num_rows
        finally:
            for writer in writers.values():
                writer.close()
        return [(os.path.join(work, str(number)), key, rows[key]) for number, key in enumerate(writers)]


def export_tables(
    spark: Any, paths: Sequence[str], out: str, tables: Sequence[str] | None, *, split_bytes: int = 0, on_error: Any = "fail", **more: Any
) -> dict[str, int]:
    """Write tables (None: all but `records`) and give the rows of each that has any. `more` are options of reading; columns are typed.

    Errors: UsageError where a table is there already, or another writes here; MetashellError where the store fails; Spark's around
    LogCorruptError.
    """
    store = open_store(out)
    store.require_writable()
    with store.lock("spark-reports export") as held:
        for table in tables or ():
            _refuse_existing(store, table)
        options = ReadOptions(**{"tables": frozenset(tables) if tables else None, "on_error": on_error, "columns": "typed", **more})
        splits = balanced_splits(paths, split_bytes, None)
        require_logs(logs_of(splits), tables or (), paths)
        store.remove_below(TEMPORARY)  # of a job that was killed
        try:
            written = spark.sparkContext.parallelize(splits, max(len(splits), 1)).flatMap(Task(store, options)).collect()
            held.require()
            return _commit(store, written)
        finally:
            with suppress(MetashellError):
                store.remove_below(TEMPORARY)


def _commit(store: Store, files: list[Written]) -> dict[str, int]:
    rows: dict[str, int] = defaultdict(int)
    for written in files:
        rows[written.table] += written.rows
    for table in rows:
        _refuse_existing(store, table)
    targets = [f"table={written.table}{written.folder}/part-{number:05d}.parquet" for number, written in enumerate(files)]
    try:
        store.move_all((written.name, target, written.size) for written, target in zip(files, targets, strict=True))
    except BaseException:
        with suppress(MetashellError):
            store.remove_all(targets)
        raise
    return dict(sorted(rows.items()))


def _refuse_existing(store: Store, table: str) -> None:
    folder = f"table={table}"
    if store.files(folder):
        shown = store.shown_name(folder)
        raise UsageError(f"{shown}: is there already", shown)


def parts_of(table: str, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of a batch by the folder they belong to; the columns that the folder names are left out."""
    for cluster, rows in _by_value(batch, batch.column("cluster_id")):
        kept = rows.drop_columns(["cluster_id"])
        folder = f"/cluster_id={quote(cluster.as_py() or _NO_VALUE, safe='')}"
        if "timestamp" not in batch.schema.names:
            yield folder, kept
            continue
        for day, part in _by_value(kept, _days(kept.column("timestamp"))):
            yield f"{folder}/date={_NO_VALUE if day.as_py() is None else day.as_py().isoformat()}", part


def _days(moments: pa.Array) -> pa.Array:
    """The day of each time in UTC; null for one that no calendar has."""
    found = times(moments) if pa.types.is_integer(moments.type) else moments
    return found.cast(pa.timestamp("ms")).cast(pa.date32(), safe=False)


def _by_value(batch: pa.RecordBatch, values: pa.Array) -> Iterator[tuple[pa.Scalar, pa.RecordBatch]]:
    """The rows of each value, in the order in which values first occur."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    distinct = values.unique()
    for value in distinct:
        if len(distinct) == 1:
            yield value, batch
        else:
            yield value, batch.filter(compute.equal(values, value) if value.is_valid else compute.is_null(values))
