"""One task of an append: it writes the rows of its split below `_metashell/work`, a file for each table, cluster and day."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import ParquetFile

from metashell.common import runtime
from metashell.common.errors import LogCorruptError, MetashellError, PathError, UsageError
from metashell.tables.columns.reader import joint_groups, read_split
from metashell.tables.columns.record_tables import marked_schema
from metashell.tables.columns.typed_arrays import DAY_MS, file_schema, plain_type, shaped_schema
from metashell.tables.columns.vectors import Ints
from metashell.tables.export.parquet import ParquetTable
from metashell.tables.lake.input_conflicts import changed_input_error, shown_path
from metashell.tables.lake.layout import SPOOL, Rewrite, folder_of, require_few_files, sources_of_files
from metashell.tables.lake.plan import Task
from metashell.tables.read_options import ReadOptions
from metashell.tables.schemas import BATCHES, FAULTS, commented
from metashell.tables.splits import Piece, Split
from metashell.tables.stores import Store, open_store

_GROUP_ROWS: Final = 1 << 17
_GROUP_BYTES: Final = 24 << 20
_HELD_BYTES_MAX: Final = 96 << 20
_OPEN_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Job:
    """The settings that the tasks of one append share: the store, the folder of work below it, and the options of reading.

    Without `divides` a table's rows stay together, with their cluster and day as columns, and are divided later.
    """

    place: str
    work: str
    options: ReadOptions
    divides: bool = True

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
    """The result of a task: its files, the columns of its tables, or the error that ended it.

    `is_misguessed`: the error may come from positions that were guessed, and the task has to be planned again without guesses.
    """

    written: list[Written] = field(default_factory=list)
    schemas: dict[str, dict[str, str]] = field(default_factory=dict)
    error: MetashellError | None = None
    is_misguessed: bool = False

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
    with nullcontext("") if store.is_local else TemporaryDirectory(prefix=SPOOL) as spool:
        gathered = PartFiles(store, f"{job.work}/{number:05d}", spool, show_secrets=job.options.show_secrets)
        try:
            for table, batch, sources in rows_of_task(task, job.options):
                for folder, rows in _by_folder(table, batch) if job.divides else [(f"table={table}", with_day(batch))]:
                    gathered.add(table, folder, rows, sources_of_rows(rows, sources))
            gathered.finish()
        except (LogCorruptError, UsageError) as error:
            gathered.drop()
            if changed := changed_input_error(task.split.pieces):
                return TaskResult(error=changed)
            is_misguessed = isinstance(error, LogCorruptError) and any(piece.is_guessed for piece in task.split.pieces)
            return TaskResult(error=about_spool(error, spool), is_misguessed=is_misguessed)
        except BaseException:
            gathered.drop()
            raise
    changed = changed_input_error(task.split.pieces)
    return TaskResult(gathered.written, gathered.schemas) if changed is None else TaskResult(error=changed)


def about_spool(error: MetashellError, spool: str) -> MetashellError:
    """Return the error of a task; one about a file of its own folder for temporary files names the folder that is full instead."""
    if not spool or not isinstance(error, PathError) or not error.argument.startswith(spool):
        return error
    folder = os.path.dirname(spool)
    if os.path.basename(folder).startswith(SPOOL):
        folder = os.path.dirname(folder)  # a worker's is in one that goes with it
    return PathError(f"{folder}: {str(error).rpartition(': ')[2]} (the folder for temporary files; TMPDIR names another)", folder)


def rows_of_task(task: Task, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch, Mapping[str, int]]]:
    """Yield the rows of a task by table, and the sources that they may be of: numbers by what the column `file` says.

    Small files of one kind of log are read together.
    """
    options = replace(options, joins_files=True)
    numbers = dict(zip(task.split.pieces, task.sources, strict=True))
    for pieces in joint_groups(sorted(task.split.pieces, key=lambda piece: piece.log or "")):
        sources = {shown_path(piece.path): numbers[piece] for piece in pieces}
        read = _proved(pieces[0], options) if pieces[0].is_guessed else read_split(Split(tuple(pieces)), options)
        for table, batch in read:
            yield table, batch, sources


def _proved(piece: Piece, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of a range that was guessed.

    Errors: LogCorruptError where its batches do not begin and end where it does, or the last one of a file is not where it was guessed.
    """
    wanted = options if options.wants(BATCHES) else replace(options, tables=frozenset((*(options.tables or ()), BATCHES)))
    begin, last, end = -1, -1, -1
    for table, batch in read_split(Split((piece,)), wanted):
        if table == BATCHES and batch.num_rows:
            position, size = (batch.column(name) for name in ("position", "size"))
            begin = position[0].as_py() if begin < 0 else begin
            last = position[-1].as_py()
            end = last + size[-1].as_py()
        if options.wants(table) or table == FAULTS:
            yield table, batch
    batches = piece.seal[1]
    # A batch within the last record may end where the batch around it does.
    is_last_known = not batches or piece.end != piece.size or last == batches[-1][0]
    if (begin, end) != (piece.start, piece.end) or not is_last_known:
        raise LogCorruptError(shown_path(piece.path), piece.start, f"not {piece.end - piece.start} bytes of whole batches")


def sources_of_rows(rows: pa.RecordBatch, sources: Mapping[str, int]) -> Collection[int]:
    """Return the numbers of the sources that rows are of. A fault may be about a file that has none: then it is of all."""
    if len(sources) == 1:
        return sources.values()
    names = rows.column("file").unique().to_pylist()
    return [sources[name] for name in names] if all(name in sources for name in names) else sources.values()


def _by_folder(table: str, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    for cluster_id, of_cluster in by_cluster(batch):
        for day, rows in by_day(of_cluster):
            yield folder_of(table, cluster_id, day), rows


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
        self._open: dict[str, None] = {}
        self._held_bytes = 0
        self._count = 0

    def add(self, table: str, folder: str, rows: pa.RecordBatch, sources: Iterable[int]) -> None:
        if table not in self.schemas:
            self.schemas[table] = columns_of(rows.schema)
        part = self._parts.get(folder)
        if part is None:
            schema = marked_schema(commented(table, rows.schema), show_secrets=self._show_secrets)
            part = self._parts[folder] = _Part(self._new_name(), schema)
        self._parts.move_to_end(folder)
        size = rows.nbytes
        part.add(rows, size, sources)
        self._held_bytes += size
        if part.held_rows >= _GROUP_ROWS or part.held_bytes >= _GROUP_BYTES:
            self._flush(folder)
        elif self._held_bytes >= _HELD_BYTES_MAX:
            for each in sorted(self._parts, key=lambda name: -self._parts[name].held_bytes)[:_OPEN_MAX]:
                self._flush(each)
            # Rows of many days share the memory of the batch that they came in.
            if self._held_bytes >= _HELD_BYTES_MAX // 2:
                self._end_all()

    def finish(self) -> None:
        """Write what is left."""
        self._end_all()
        if self._store.is_local and self.written:
            sync_file(os.path.dirname(self._path(self.written[0].staged)))

    def drop(self) -> None:
        """Close what is open: it stays, incomplete, among what the next run removes."""
        for part in self._parts.values():
            with suppress(OSError, pa.ArrowException, MetashellError):
                part.close()

    def _new_name(self) -> str:
        self._count += 1
        require_few_files(self._store.shown, self._count)
        return f"{self._folder}/{self._count:06d}.part"

    def _path(self, name: str) -> str:
        if not self._store.is_local:
            return os.path.join(self._spool, name.rpartition("/")[2])
        path = self._store.sink(name)
        assert isinstance(path, str)
        return path

    def _flush(self, folder: str) -> None:
        part = self._parts.get(folder)
        if part is None:
            return  # it was ended, so that another one could be opened
        self._held_bytes -= part.held_bytes
        if part.writer is None:
            if len(self._open) >= _OPEN_MAX:
                self._end(next(iter(self._open)))
            self._open[folder] = None
        part.flush(self._path(part.name))

    def _end_all(self) -> None:
        # The first one to be opened may end another.
        while self._parts:
            self._end(next(iter(self._parts)))

    def _end(self, folder: str) -> None:
        self._flush(folder)
        part = self._parts.pop(folder)
        self._open.pop(folder, None)
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

    def add(self, rows: pa.RecordBatch, size: int, sources: Iterable[int]) -> None:
        self._held.append(rows.replace_schema_metadata(self._schema.metadata))
        self.rows += rows.num_rows
        self.held_rows += rows.num_rows
        self.held_bytes += size
        self.sources.update(sources)

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
    """Return the types of a table's columns, as a ledger keeps them: those that readers of its files see."""
    return {field.name: str(field.type) for field in shaped_schema(file_schema(schema), plain_type)}


def sync_file(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        runtime.sync_file(descriptor)
    finally:
        os.close(descriptor)


# ---- tasks that rewrite files

_ROWS = 1 << 17


def rewrite_task(number: int, task: Rewrite, place: str, work: str) -> Written | None:
    """Write the rows of a task's files to one; None where no row was left out of a single file, which then stays. No rows: no name."""
    store = open_store(place)
    staged = f"{work}/{number:06d}.part"
    with nullcontext("") if store.is_local else TemporaryDirectory(prefix=SPOOL) as spool:
        try:
            return _rewrite(store, task, staged, spool)
        except PathError as error:
            raise about_spool(error, spool) from None


def _rewrite(store: Store, task: Rewrite, staged: str, spool: str) -> Written | None:
    path = str(store.sink(staged)) if store.is_local else os.path.join(spool, "rows")
    files: list[ParquetFile] = []
    try:
        for at, file in enumerate(task.files):
            with _reading(store, file.name):
                files.append(ParquetFile(_copy(store, file.name, spool, at)))
        before = sum(file.metadata.num_rows for file in files)
        rows = _write(files, path, task, store)
    finally:
        for opened in files:
            opened.close()
    folder = task.files[0].folder
    if task.left_out and rows == before:
        return None
    if rows == 0:
        return Written("", folder, 0, 0, ())
    size = os.stat(path).st_size
    if store.is_local:
        sync_file(path)
    else:
        store.put_file(staged, path)
    return Written(staged, folder, rows, size, sources_of_files(task.files))


def _copy(store: Store, name: str, spool: str, number: int) -> str:
    """Return the path of a file on this machine; those of stores are copied, which may be tried again, unlike reads in their middle."""
    if store.is_local:
        return str(store.sink(name))
    path = os.path.join(spool, f"{number}.source")
    store.get_file(name, path)
    return path


@contextmanager
def _reading(store: Store, name: str) -> Iterator[None]:
    """Errors: MetashellError with the name of the file that cannot be read."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise MetashellError(f"{store.shown_name(name)}: cannot be read: {said}") from None


def _write(files: list[ParquetFile], path: str, task: Rewrite, store: Store) -> int:
    # A comment of an older release is replaced by today's.
    schema = commented(task.files[0].table, _merged([file.schema_arrow for file in files]))
    writer = ParquetTable(path, schema)
    count = 0
    try:
        for file, source in zip(files, task.files, strict=True):
            with _reading(store, source.name):
                for batch in file.iter_batches(_ROWS):
                    kept = _without(batch, task.left_out)
                    if kept.num_rows:
                        count += kept.num_rows
                        writer.write([_as(kept, schema)])
    finally:
        writer.close()
    return count


def _merged(schemas: list[pa.Schema]) -> pa.Schema:
    """Return the columns of the newest file, and those that only older ones have."""
    merged = schemas[-1]
    for schema in reversed(schemas[:-1]):
        for column in schema:
            if column.name not in merged.names:
                merged = merged.append(column)
    return merged


def _as(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows with all columns of a schema: what they lack is null. The names of files are stored once for each."""
    made = []
    fields = []
    for wanted in schema:
        at = batch.schema.get_field_index(wanted.name)
        column = pa.nulls(batch.num_rows, wanted.type) if at < 0 else batch.column(at)
        if wanted.name == "file" and not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        made.append(column)
        fields.append(wanted.with_type(column.type))
    return pa.RecordBatch.from_arrays(made, schema=pa.schema(fields, schema.metadata))


def _without(batch: pa.RecordBatch, left_out: tuple[tuple[str, int], ...]) -> pa.RecordBatch:
    """Return the rows without those of some files from an offset on; rows without an offset go with them."""
    if not left_out:
        return batch
    goes = pa.array([False] * batch.num_rows)
    for path, offset in left_out:
        is_late = pc.fill_null(pc.greater_equal(batch.column("offset"), offset), True)
        goes = pc.or_(goes, pc.and_(pc.fill_null(pc.equal(batch.column("file"), path), False), is_late))
    return batch.filter(pc.invert(goes))


# ---- clusters and days

_NONE = np.iinfo(np.int64).min
_FIRST, _LAST = date.min.toordinal() - 719_163, date.max.toordinal() - 719_163
"""The days that a calendar has, counted from 1970."""


def by_cluster(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of a batch by their cluster, each without that column, in their order."""
    clusters = batch.column("cluster_id")
    found = clusters.unique().to_pylist()
    rows = batch.drop_columns(["cluster_id"])
    if len(found) == 1:
        yield found[0], rows
        return
    numbers = (clusters if pa.types.is_dictionary(clusters.type) else clusters.dictionary_encode()).indices.to_numpy()
    order = np.argsort(numbers, kind="stable")
    sorted_clusters, rows = clusters.take(pa.array(order)), rows.take(pa.array(order))
    bounds = [0, *(np.flatnonzero(np.diff(numbers[order])) + 1).tolist(), len(order)]
    for start, end in pairwise(bounds):
        yield sorted_clusters[start].as_py(), rows.slice(start, end - start)


def by_day(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of a batch by their day in UTC, as `2026-11-20`; empty for rows without a time, and for times that no calendar has."""
    at = batch.schema.get_field_index("timestamp")
    if at < 0 or not batch.num_rows:
        yield "", batch
        return
    days = _days(batch.column(at))
    if days.min() == days.max():
        yield _text(int(days[0])), batch
        return
    if np.any(days[1:] < days[:-1]):
        order = np.argsort(days, kind="stable")
        days, batch = days[order], batch.take(pa.array(order))
    bounds = [0, *(np.flatnonzero(days[1:] != days[:-1]) + 1).tolist(), len(days)]
    for start, end in pairwise(bounds):
        yield _text(int(days[start])), batch.slice(start, end - start)


def with_day(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with the column `date`: their day in UTC, null where `by_day` has none."""
    at = batch.schema.get_field_index("timestamp")
    if at < 0:
        return batch.append_column("date", pa.nulls(batch.num_rows, pa.date32()))
    days = _days(batch.column(at))
    is_none = days == _NONE
    numbers = pa.array(np.where(is_none, 0, days).astype(np.int32), mask=is_none)
    return batch.append_column("date", numbers.cast(pa.date32()))


def _days(times: pa.Array) -> Ints:
    """Days since 1970 of times in ms, as numbers or as timestamps; `_NONE` where there is none."""
    if pa.types.is_timestamp(times.type):
        times = times.cast(pa.timestamp("ms", times.type.tz), safe=False).cast(pa.int64())
    ms: Ints = times.fill_null(-1).to_numpy(zero_copy_only=False)
    days: Ints = np.floor_divide(ms, DAY_MS)
    days[(ms == -1) | (days < _FIRST) | (days > _LAST)] = _NONE
    return days


def _text(day: int) -> str:
    return "" if day == _NONE else date.fromordinal(day + 719_163).isoformat()
