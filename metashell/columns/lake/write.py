"""What one task of an append does: it writes the rows of its split below `_metashell/work`, a file for each table, cluster and day."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory
from typing import Final

import pyarrow as pa

from metashell import system
from metashell.columns.decode.joint import groups
from metashell.columns.decode.options import ReadOptions
from metashell.columns.decode.reader import read_split
from metashell.columns.decode.redacting import marked_schema
from metashell.columns.export.parquet import ParquetTable
from metashell.columns.inputs.splits import Piece, Split
from metashell.columns.lake.days import by_cluster, by_day, with_day
from metashell.columns.lake.identity import shown_path
from metashell.columns.lake.names import SPOOL, folder_of, require_few_files
from metashell.columns.lake.plan import Task
from metashell.columns.lake.seals import change_of
from metashell.columns.meanings.comments import commented
from metashell.columns.schemas import BATCHES, FAULTS
from metashell.columns.typed.shapes import file_schema, plain_type, shaped_schema
from metashell.errors import LogCorruptError, MetashellError, PathError, UsageError
from metashell.stores import Store, open_store

_GROUP_ROWS: Final = 1 << 17
_GROUP_BYTES: Final = 24 << 20
_HELD_BYTES_MAX: Final = 96 << 20
_OPEN_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Job:
    """How the tasks of one append write: into which store, below which folder of work, and what they read.

    Without `divides` a table's rows stay together, with their cluster and day as columns, for who divides them later.
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
    """What came of a task: its files, the columns of its tables, or the error that ended it.

    `is_misguessed`: the error may come of places that were guessed, and the task has to be planned again without guesses.
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
                    gathered.add(table, folder, rows, sources_of(rows, sources))
            gathered.finish()
        except (LogCorruptError, UsageError) as error:
            gathered.drop()
            if changed := change_of(task.split.pieces):
                return TaskResult(error=changed)
            is_misguessed = isinstance(error, LogCorruptError) and any(piece.is_guessed for piece in task.split.pieces)
            return TaskResult(error=about_spool(error, spool), is_misguessed=is_misguessed)
        except BaseException:
            gathered.drop()
            raise
    changed = change_of(task.split.pieces)
    return TaskResult(gathered.written, gathered.schemas) if changed is None else TaskResult(error=changed)


def about_spool(error: MetashellError, spool: str) -> MetashellError:
    """The error of a task; one about a file of its own folder for temporary files names the folder that is full instead."""
    if not spool or not isinstance(error, PathError) or not error.argument.startswith(spool):
        return error
    folder = os.path.dirname(spool)
    if os.path.basename(folder).startswith(SPOOL):
        folder = os.path.dirname(folder)  # a worker's is in one that goes with it
    return PathError(f"{folder}: {str(error).rpartition(': ')[2]} (the folder for temporary files; TMPDIR names another)", folder)


def rows_of_task(task: Task, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch, Mapping[str, int]]]:
    """The rows of a task by table, and the sources that they may be of: numbers by what the column `file` says.

    Small files of one kind of log are read together.
    """
    options = replace(options, joins_files=True)
    numbers = dict(zip(task.split.pieces, task.sources, strict=True))
    for pieces in groups(sorted(task.split.pieces, key=lambda piece: piece.log or "")):
        sources = {shown_path(piece.path): numbers[piece] for piece in pieces}
        read = _proved(pieces[0], options) if pieces[0].is_guessed else read_split(Split(tuple(pieces)), options)
        for table, batch in read:
            yield table, batch, sources


def _proved(piece: Piece, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of a range that was guessed.

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


def sources_of(rows: pa.RecordBatch, sources: Mapping[str, int]) -> Collection[int]:
    """The numbers of the sources that rows are of. A fault may be about a file that has none: then it is of all."""
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
    """The types of a table's columns, as a ledger keeps them: those that readers of its files see."""
    return {field.name: str(field.type) for field in shaped_schema(file_schema(schema), plain_type)}


def sync_file(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        system.sync_file(descriptor)
    finally:
        os.close(descriptor)
