"""What one task of an append does: it writes the rows of its split below `_metashell/work`, a file for each table, cluster and day."""

from __future__ import annotations

import os
from collections import OrderedDict
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Final

import pyarrow as pa

from metashell.columns.decode.options import ReadOptions
from metashell.columns.decode.reader import read_split
from metashell.columns.decode.redacting import marked_schema
from metashell.columns.export.parquet import ParquetTable
from metashell.columns.inputs.splits import Split
from metashell.columns.lake.days import by_day
from metashell.columns.lake.names import folder_of
from metashell.columns.lake.plan import Task
from metashell.columns.meanings.comments import commented
from metashell.columns.typed.shapes import file_schema, plain_type, shaped_schema
from metashell.errors import LogCorruptError, MetashellError, UsageError
from metashell.stores import Store, open_store

_GROUP_ROWS: Final = 1 << 17
_GROUP_BYTES: Final = 24 << 20
_HELD_BYTES_MAX: Final = 96 << 20
_OPEN_MAX: Final = 64
FILES_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class Job:
    """How the tasks of one append write: into which store, below which folder of work, and what they read."""

    place: str
    work: str
    options: ReadOptions

    def store(self) -> Store:
        return open_store(self.place)


@dataclass(frozen=True, slots=True)
class Written:
    """A file that a task has written: where it lies, the folder it belongs to, its rows, bytes and sources."""

    staged: str
    folder: str
    rows: int
    size: int
    sources: tuple[int, ...]


@dataclass(slots=True)
class TaskResult:
    """What came of a task: its files, the columns of its tables, or the error that ended it."""

    written: list[Written] = field(default_factory=list)
    schemas: dict[str, dict[str, str]] = field(default_factory=dict)
    error: MetashellError | None = None

    @property
    def rows(self) -> dict[str, int]:
        """Rows by table."""
        found: dict[str, int] = {}
        for file in self.written:
            table = file.folder.partition("/")[0].partition("=")[2]
            found[table] = found.get(table, 0) + file.rows
        return found


def write_task(number: int, task: Task, job: Job) -> TaskResult:
    """Write the rows of a task; what files hold is no exception but the result's error."""
    store = job.store()
    with nullcontext("") if store.is_local else TemporaryDirectory(prefix="metashell-lake-") as spool:
        gathered = PartFiles(store, f"{job.work}/{number:05d}", spool, show_secrets=job.options.show_secrets)
        try:
            for piece, source in zip(task.split.pieces, task.sources, strict=True):
                for table, batch in read_split(Split((piece,)), job.options):
                    cluster_id = batch.column("cluster_id")[0].as_py()
                    for day, rows in by_day(batch.drop_columns(["cluster_id"])):
                        gathered.add(table, folder_of(table, cluster_id, day), rows, source)
            gathered.finish()
        except (LogCorruptError, UsageError) as error:
            gathered.drop()
            return TaskResult(error=error)
        except BaseException:
            gathered.drop()
            raise
    return TaskResult(gathered.written, gathered.schemas)


class PartFiles:
    """The files of a task. Rows are gathered to row groups; few files are open at a time, since a hostile log has a day for each record."""

    def __init__(self, store: Store, folder: str, spool: str, *, show_secrets: bool) -> None:
        self.written: list[Written] = []
        self.schemas: dict[str, dict[str, str]] = {}
        self._store = store
        self._folder = folder
        self._spool = spool
        self._show_secrets = show_secrets
        self._parts: OrderedDict[str, _Part] = OrderedDict()
        self._held_bytes = 0
        self._count = 0

    def add(self, table: str, folder: str, rows: pa.RecordBatch, source: int) -> None:
        if table not in self.schemas:
            self.schemas[table] = columns_of(rows.schema)
        part = self._parts.get(folder)
        if part is None:
            schema = marked_schema(commented(table, rows.schema), show_secrets=self._show_secrets)
            part = self._parts[folder] = _Part(self._new_name(), schema)
        self._parts.move_to_end(folder)
        size = rows.nbytes
        part.add(rows, size, source)
        self._held_bytes += size
        if part.held_rows >= _GROUP_ROWS or part.held_bytes >= _GROUP_BYTES:
            self._flush(folder)
        elif self._held_bytes >= _HELD_BYTES_MAX:
            for each in sorted(self._parts, key=lambda name: -self._parts[name].held_bytes)[:_OPEN_MAX]:
                self._flush(each)
            # Rows of many days share the memory of the batch that they came in.
            for each in [name for name in self._parts if self._held_bytes >= _HELD_BYTES_MAX // 2]:
                self._end(each)

    def finish(self) -> None:
        """Write what is left."""
        for folder in list(self._parts):
            self._end(folder)
        if self._store.is_local and self.written:
            sync_file(os.path.dirname(self._path(self.written[0].staged)))

    def drop(self) -> None:
        """Close what is open: it stays, incomplete, among what the next run removes."""
        for part in self._parts.values():
            with suppress(OSError, pa.ArrowException):
                part.close()

    def _new_name(self) -> str:
        self._count += 1
        if self._count > FILES_MAX:
            raise MetashellError(f"{self._store.shown}: the rows have more than {FILES_MAX:,} days: no lake can be divided like that")
        return f"{self._folder}/{self._count:06d}.part"

    def _path(self, name: str) -> str:
        if not self._store.is_local:
            return os.path.join(self._spool, name.rpartition("/")[2])
        path = self._store.sink(name)
        assert isinstance(path, str)
        return path

    def _flush(self, folder: str) -> None:
        part = self._parts[folder]
        self._held_bytes -= part.held_bytes
        if part.writer is None:
            open_ones = [name for name, other in self._parts.items() if other.writer is not None and name != folder]
            if len(open_ones) >= _OPEN_MAX:
                self._end(open_ones[0])
        part.flush(self._path(part.name))

    def _end(self, folder: str) -> None:
        self._flush(folder)
        part = self._parts.pop(folder)
        part.close()
        path = self._path(part.name)
        size = os.stat(path).st_size
        if self._store.is_local:
            sync_file(path)
        else:
            self._store.put_file(part.name, path)
        self.written.append(Written(part.name, folder, part.rows, size, tuple(sorted(part.sources))))


class _Part:
    """One file: rows that wait for their row group, and the writer once there is one."""

    def __init__(self, name: str, schema: pa.Schema) -> None:
        self.name = name
        self.rows = 0
        self.held_rows = 0
        self.held_bytes = 0
        self.sources: set[int] = set()
        self.writer: ParquetTable | None = None
        self._schema = schema
        self._held: list[pa.RecordBatch] = []

    def add(self, rows: pa.RecordBatch, size: int, source: int) -> None:
        self._held.append(rows.replace_schema_metadata(self._schema.metadata))
        self.rows += rows.num_rows
        self.held_rows += rows.num_rows
        self.held_bytes += size
        self.sources.add(source)

    def flush(self, path: str) -> None:
        if self.writer is None:
            self.writer = ParquetTable(path, self._schema)
        if self._held:
            self.writer.write(self._held)
        self._held, self.held_rows, self.held_bytes = [], 0, 0

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def columns_of(schema: pa.Schema) -> dict[str, str]:
    """The types of a table's columns, as a ledger keeps them: those that readers of its files see."""
    return {field.name: str(field.type) for field in shaped_schema(file_schema(schema), plain_type)}


def sync_file(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
