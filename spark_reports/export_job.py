"""The job behind `spark-reports export`: tables as Parquet below `table=NAME/cluster_id=ID/date=DAY/`.

One pass over the input writes all tables: each task decodes its split and writes Parquet by pyarrow, so that no row goes through the JVM,
whose own writer is several times slower than the decoding. Tasks write below `_temporary`; only what successful tasks report
is moved, a table at a time, so a failed, repeated or speculative task leaves nothing behind.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pyarrow as pa
from pyarrow import compute, fs

from metashell.codec.uris import is_uri, shown_uri, without_credentials
from metashell.columns import ReadOptions, Split, read_split
from metashell.columns.decode.redacting import marked_schema
from metashell.columns.export.parquet import ParquetTable
from metashell.columns.inputs.splits import logs_of, require_logs
from metashell.columns.meanings.comments import commented
from metashell.columns.typed.times import times
from metashell.errors import UsageError
from spark_reports.source import balanced_splits

TEMPORARY = "_temporary"
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""What stands in a path where a partition has no value."""


@dataclass(frozen=True, slots=True)
class Written:
    """A file that a task has written: where it lies, where it belongs, and how many rows it has."""

    path: str
    table: str
    folder: str
    rows: int


@dataclass(slots=True)
class Task:
    """What a task does to its split; it travels to the executor."""

    scratch: str
    options: ReadOptions
    writers: dict[tuple[str, str], Any] = field(default_factory=dict)
    rows: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))

    def __call__(self, split: Split) -> list[Written]:
        storage, folder = storage_of(f"{self.scratch}/{uuid4().hex}")
        storage.create_dir(folder, recursive=True)
        try:
            for table, batch in read_split(split, self.options):
                for where, part in parts_of(table, batch):
                    self._write(storage, folder, (table, where), part)
        finally:
            for writer in self.writers.values():
                writer.close()
        return [Written(_place(folder, number), *key, self.rows[key]) for number, key in enumerate(self.writers)]

    def _write(self, storage: Any, folder: str, key: tuple[str, str], part: pa.RecordBatch) -> None:
        if key not in self.writers:
            path = _place(folder, len(self.writers))
            on_disk = isinstance(storage, fs.LocalFileSystem)
            schema = marked_schema(commented(key[0], part.schema), show_secrets=self.options.show_secrets)
            self.writers[key] = ParquetTable(path, schema, None if on_disk else storage)
        self.writers[key].write([part])
        self.rows[key] += part.num_rows


def _place(folder: str, number: int) -> str:
    return f"{folder}/{number}.parquet"


def export_tables(
    spark: Any, paths: Sequence[str], out: str, tables: Sequence[str] | None, *, split_bytes: int = 0, on_error: Any = "fail", **more: Any
) -> dict[str, int]:
    """Write tables (None: all but `records`) and give the rows of each that has any. `more` are options of reading; columns are typed.

    Errors: UsageError where a table is there already; Spark's around LogCorruptError.
    """
    storage, target = storage_of(out)
    for table in tables or ():
        _refuse_existing(storage, target, table)
    scratch = f"{TEMPORARY}/{uuid4().hex}"
    options = ReadOptions(**{"tables": frozenset(tables) if tables else None, "on_error": on_error, "columns": "typed", **more})
    splits = balanced_splits(paths, split_bytes, None)
    require_logs(logs_of(splits), tables or (), paths)
    context = spark.sparkContext
    try:
        written = context.parallelize(splits, max(len(splits), 1)).flatMap(Task(f"{out.rstrip('/')}/{scratch}", options)).collect()
        return _commit(storage, target, f"{target}/{scratch}", written)
    finally:
        if storage.get_file_info(f"{target}/{TEMPORARY}").type == fs.FileType.Directory:
            storage.delete_dir(f"{target}/{TEMPORARY}")


def _commit(storage: Any, target: str, scratch: str, files: list[Written]) -> dict[str, int]:
    rows: dict[str, int] = defaultdict(int)
    for number, written in enumerate(files):
        folder = f"{scratch}/whole/table={written.table}{written.folder}"
        storage.create_dir(folder, recursive=True)
        storage.move(written.path, f"{folder}/part-{number:05d}.parquet")
        rows[written.table] += written.rows
    for table in rows:
        _refuse_existing(storage, target, table)
    for table in rows:
        storage.move(f"{scratch}/whole/table={table}", f"{target}/table={table}")
    return dict(sorted(rows.items()))


def _refuse_existing(storage: Any, target: str, table: str) -> None:
    path = f"{target}/table={table}"
    if storage.get_file_info(path).type != fs.FileType.NotFound:
        raise UsageError(f"{path}: is there already", path)


def storage_of(path: str) -> tuple[Any, str]:
    """pyarrow's file system of a path or URI, and the path in it."""
    if is_uri(path):
        try:
            found: tuple[Any, str] = fs.FileSystem.from_uri(path)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise UsageError(without_credentials(f"{path}: {error}", path), shown_uri(path)) from error
        return found
    return fs.LocalFileSystem(), os.path.abspath(path)


def parts_of(table: str, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of a batch by the folder they belong to; the columns that the folder names are left out."""
    cluster = f"/cluster_id={quote(batch.column('cluster_id')[0].as_py() or _NO_VALUE, safe='')}"
    kept = batch.drop_columns(["cluster_id"])
    if "timestamp" not in batch.schema.names:
        yield cluster, kept
        return
    moments = batch.column("timestamp")
    days = (times(moments) if pa.types.is_integer(moments.type) else moments).cast(pa.timestamp("ms")).cast(pa.date32(), safe=False)
    for day in days.unique().to_pylist():
        chosen = days.is_null() if day is None else compute.equal(days, day).fill_null(False)
        part = kept if chosen.true_count == len(days) else kept.filter(chosen)
        yield f"{cluster}/date={_NO_VALUE if day is None else day.isoformat()}", part
