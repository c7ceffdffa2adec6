"""One task of an append: it writes the rows of its split, a file for each table and month, into the folders of the tables.

No reader sees such a file before a commit names it. What a task leaves that ends early goes with `metashell lake vacuum`."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import ParquetFile

from metashell.common.errors import LogCorruptError, MetashellError, PathError, UsageError
from metashell.common.runtime import sync_path
from metashell.disk.file_system import errors_naming
from metashell.tables.columns.chunk_records import names_once
from metashell.tables.columns.reader import joint_groups, read_split
from metashell.tables.columns.record_tables import marked_schema
from metashell.tables.columns.typed_arrays import EARLIEST_MS, LATEST_MS, binary_ids_type, shaped, shaped_type
from metashell.tables.columns.vectors import Ints
from metashell.tables.export.parquet import ParquetTable
from metashell.tables.lake.delta import DIVIDED, MONTH, Cut, LakeFile, file_schema
from metashell.tables.lake.input_conflicts import changed_input_error, shown_path
from metashell.tables.lake.log_state import LogKey
from metashell.tables.lake.plan import Task
from metashell.tables.read_options import ReadOptions
from metashell.tables.schemas import BATCHES, FAULTS
from metashell.tables.splits import Piece, Split
from metashell.tables.stores import Store, open_store

SPOOL: Final = "metashell-lake-"
"""The beginning of the names of folders for temporary files."""
FILES_MAX: Final = 100_000
"""Of one append: each is named in its commit."""
_GROUP_ROWS: Final = 1 << 17
_GROUP_BYTES: Final = 24 << 20
_HELD_BYTES_MAX: Final = 96 << 20
_OPEN_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Job:
    """The settings that the tasks of one append share: the store, a text that no other append has in its files' names, and the reading."""

    place: str
    append_id: str
    options: ReadOptions

    def store(self) -> Store:
        return open_store(self.place)


@dataclass(slots=True)
class TaskResult:
    """The result of a task: its files, or the error that ended it.

    `is_misguessed`: the error may come from positions that were guessed, and the task has to be planned again without guesses.
    """

    files: list[LakeFile] = field(default_factory=list)
    error: MetashellError | None = None
    is_misguessed: bool = False

    @property
    def rows(self) -> dict[str, int]:
        """Rows by table."""
        found: dict[str, int] = {}
        for file in self.files:
            found[file.table] = found.get(file.table, 0) + file.rows
        return found


def write_task(number: int, task: Task, job: Job) -> TaskResult:
    """Write the rows of a task; what files hold is no exception but the result's error."""
    store = job.store()
    with nullcontext("") if store.is_local else TemporaryDirectory(prefix=SPOOL) as spool:
        gathered = PartFiles(store, f"{job.append_id}-{number:05d}", spool, show_secrets=job.options.show_secrets)
        try:
            for table, batch in rows_of_task(task, job.options):
                for month, rows in by_month(batch) if table in DIVIDED else ((None, batch),):
                    gathered.add(table, month, rows)
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
    if changed is None:
        return TaskResult(gathered.files)
    gathered.drop()
    return TaskResult(error=changed)


def about_spool(error: MetashellError, spool: str) -> MetashellError:
    """Return the error of a task; one about a file of its own folder for temporary files names the folder that is full instead."""
    if not spool or not isinstance(error, PathError) or not error.argument.startswith(spool):
        return error
    folder = os.path.dirname(spool)
    if os.path.basename(folder).startswith(SPOOL):
        folder = os.path.dirname(folder)  # a worker's is in one that goes with it
    return PathError(f"{folder}: {str(error).rpartition(': ')[2]} (the folder for temporary files; TMPDIR names another)", folder)


def require_few_files(shown: str, count: int) -> None:
    """Errors: UsageError where an append has so many files that it cannot be committed; `shown` is what messages call the lake."""
    if count > FILES_MAX:
        raise UsageError(
            f"{shown}: what is new needs more than {FILES_MAX:,} files, one for each table and month, and nothing was added: give "
            "fewer logs at a time (the next export adds the rest), or begin a lake of fewer tables with --tables",
            "--out",
        )


def rows_of_task(task: Task, options: ReadOptions) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of a task by table, with the node and the log of each. Small files of one kind of log are read together."""
    options = replace(options, joins_files=True)
    logs = dict(zip(task.split.pieces, task.logs, strict=True))
    for pieces in joint_groups(sorted(task.split.pieces, key=lambda piece: piece.log or "")):
        by_file = {shown_path(piece.path): logs[piece] for piece in pieces}
        read = _proved(pieces[0], options) if pieces[0].is_guessed else read_split(Split(tuple(pieces)), options)
        for table, batch in read:
            yield table, with_logs(batch, by_file)


def with_logs(batch: pa.RecordBatch, logs: Mapping[str, LogKey]) -> pa.RecordBatch:
    """Return rows with the columns `node_id` and `log` behind their cluster, by the file of each. A fault may be about a file without."""
    files = names_once(batch.column("file"), batch.column("file"))
    only = next(iter(logs.values())) if len(set(logs.values())) == 1 else None
    found = [logs.get(name, only) for name in files.dictionary.to_pylist()]
    nodes = pa.array([None if key is None or not key.node.isdecimal() else int(key.node) for key in found], pa.int32())
    names = pa.array([None if key is None else key.log for key in found], pa.string())
    if "log" in batch.schema.names:
        batch = batch.rename_columns([{"log": "log_kind"}.get(name, name) for name in batch.schema.names])
    batch = batch.set_column(batch.schema.get_field_index("file"), "file", files)
    batch = batch.add_column(1, "node_id", nodes.take(files.indices))
    return batch.add_column(2, "log", pa.DictionaryArray.from_arrays(files.indices, names))


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


class PartFiles:
    """The files of a task. Rows are gathered to row groups; few files are open at a time: a hostile log has a month for each record."""

    def __init__(self, store: Store, name: str, spool: str, *, show_secrets: bool) -> None:
        self.files: list[LakeFile] = []
        self._store = store
        self._name = name
        self._spool = spool
        self._show_secrets = show_secrets
        self._parts: OrderedDict[tuple[str, str | None], _Part] = OrderedDict()
        self._open: dict[tuple[str, str | None], None] = {}
        self._held_bytes = 0
        self._count = 0

    def add(self, table: str, month: str | None, rows: pa.RecordBatch) -> None:
        key = table, month
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = _Part(table, self._new_name(table, month), month, show_secrets=self._show_secrets)
        self._parts.move_to_end(key)
        size = rows.nbytes
        part.add(rows, size)
        self._held_bytes += size
        if part.held_rows >= _GROUP_ROWS or part.held_bytes >= _GROUP_BYTES:
            self._flush(key)
        elif self._held_bytes >= _HELD_BYTES_MAX:
            for each in sorted(self._parts, key=lambda name: -self._parts[name].held_bytes)[:_OPEN_MAX]:
                self._flush(each)
            # Rows of many months share the memory of the batch that they came in.
            if self._held_bytes >= _HELD_BYTES_MAX // 2:
                self._end_all()

    def finish(self) -> None:
        """Write what is left. On this machine files and their names are on disk then."""
        self._end_all()
        self._store.sync_names([file.name for file in self.files])

    def drop(self) -> None:
        """Close what is open, and remove what was written."""
        for part in self._parts.values():
            with suppress(OSError, pa.ArrowException, MetashellError):
                part.close()
        with suppress(MetashellError):
            self._store.remove_all([*(file.name for file in self.files), *(part.name for part in self._parts.values())])

    def _new_name(self, table: str, month: str | None) -> str:
        self._count += 1
        require_few_files(self._store.shown, self._count)
        folder = f"{table}/{MONTH}={month or NO_MONTH}" if table in DIVIDED else table
        return f"{folder}/part-{self._name}-{self._count:05d}.parquet"

    def _path(self, name: str) -> str:
        if not self._store.is_local:
            return os.path.join(self._spool, name.rpartition("/")[2])
        path = self._store.sink(name)
        assert isinstance(path, str)
        return path

    def _flush(self, key: tuple[str, str | None]) -> None:
        part = self._parts.get(key)
        if part is None:
            return  # it was ended, so that another one could be opened
        self._held_bytes -= part.held_bytes
        if part.writer is None:
            if len(self._open) >= _OPEN_MAX:
                self._end(next(iter(self._open)))
            self._open[key] = None
        part.flush(self._path(part.name))

    def _end_all(self) -> None:
        # The first one to be opened may end another.
        while self._parts:
            self._end(next(iter(self._parts)))

    def _end(self, key: tuple[str, str | None]) -> None:
        self._flush(key)
        part = self._parts.pop(key)
        self._open.pop(key, None)
        part.close()
        path = self._path(part.name)
        with errors_naming(path):
            size = os.stat(path).st_size
            if self._store.is_local:
                sync_path(path)
        if not self._store.is_local:
            self._store.put_file(part.name, path)
        self.files.append(LakeFile(part.name, part.rows, size, part.month, part.bounds.text(part.rows)))


NO_MONTH: Final = "__HIVE_DEFAULT_PARTITION__"


# ---- files that are written anew


def without_cuts(
    store: Store, files: Sequence[LakeFile], cuts: Sequence[Cut], *, show_secrets: bool
) -> tuple[list[LakeFile], list[LakeFile]]:
    """Write anew the files that have rows which a cut removes; returns those files, and the new ones of the rows that stay."""
    replaced, made = [], []
    for file in files:
        own = [cut for cut in cuts if _may_have(file, cut)]
        if own:
            new = rewritten(store, [file], show_secrets=show_secrets, cuts=own)
            if new is None or new.rows < file.rows:
                replaced.append(file)
                made += [] if new is None else [new]
            else:
                store.remove(new.name)
    return replaced, made


def _may_have(file: LakeFile, cut: Cut) -> bool:
    """Return whether a file may have rows of a log, by its statistics."""
    bounds = file.bounds()
    wanted = (("cluster_id", cut.log.cluster), ("node_id", int(cut.log.node))) if cut.log.node else ()
    pairs = [(bounds.get(name), value) for name, value in (*wanted, ("log", cut.log.log))]
    return all(found is None or found[0] <= value <= found[1] for found, value in pairs)


def rewritten(store: Store, files: Sequence[LakeFile], *, show_secrets: bool, cuts: Sequence[Cut] = ()) -> LakeFile | None:
    """Write the rows of files of one folder to one file, without those that are cut; None where no row is left."""
    folder = files[0].name.rpartition("/")[0]
    part = _Part(files[0].table, f"{folder}/part-{uuid4().hex}.parquet", files[0].month, show_secrets=show_secrets)
    with nullcontext("") if store.is_local else TemporaryDirectory(prefix=SPOOL) as spool:
        path = str(store.sink(part.name)) if store.is_local else os.path.join(spool, "rows")
        for file in files:
            source = store.shown_name(file.name) if store.is_local else os.path.join(spool, "source")
            if not store.is_local:
                store.get_file(file.name, source)
            try:
                with ParquetFile(source) as opened:
                    for batch in opened.iter_batches(_GROUP_ROWS):
                        rows = _without(batch, cuts)
                        part.add(_as_written(rows, part.schema), rows.nbytes)
                        if part.held_rows >= _GROUP_ROWS or part.held_bytes >= _GROUP_BYTES:
                            part.flush(path)
            except (OSError, pa.ArrowException) as error:
                raise MetashellError(f"{store.shown_name(file.name)}: cannot be read: {(str(error).splitlines() or [''])[0]}") from error
            if not store.is_local:
                os.unlink(source)
        part.flush(path)
        part.close()
        with errors_naming(path):
            size = os.stat(path).st_size
            if not part.rows:
                os.unlink(path)
                return None
            if store.is_local:
                sync_path(path)
        if store.is_local:
            store.sync_names([part.name])
        else:
            store.put_file(part.name, path)
    return LakeFile(part.name, part.rows, size, part.month, part.bounds.text(part.rows))


def _without(rows: pa.RecordBatch, cuts: Sequence[Cut]) -> pa.RecordBatch:
    for cut in cuts:
        is_of_log = pc.equal(rows.column("log"), cut.log.log)
        if cut.log.node:
            for name, value in (("cluster_id", cut.log.cluster), ("node_id", int(cut.log.node))):
                is_of_log = pc.and_(is_of_log, pc.equal(rows.column(name), value))
        of_checkpoint = pc.match_substring(rows.column("file"), ".checkpoint")
        # Rows without an offset, as some faults have none, go with the log.
        goes = pc.and_not(pc.fill_null(pc.greater_equal(rows.column("offset"), cut.offset), True), of_checkpoint)
        for name in cut.checkpoints:
            goes = pc.or_(goes, pc.match_substring(rows.column("file"), name))
        rows = rows.filter(pc.invert(pc.fill_null(pc.and_(is_of_log, goes), False)))
    return rows


def _as_written(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows with all columns of a schema: what an older file lacks is null."""
    made = []
    for wanted in schema:
        at = rows.schema.get_field_index(wanted.name)
        column = pa.nulls(rows.num_rows, wanted.type) if at < 0 else rows.column(at)
        made.append(column.dictionary_encode() if wanted.name == "file" else column)
    return pa.RecordBatch.from_arrays(made, names=schema.names)


class _Part:
    """One file: rows that wait for their row group, and the writer once there is one."""

    def __init__(self, table: str, name: str, month: str | None, *, show_secrets: bool) -> None:
        self.name = name
        self.month = month
        self.rows = 0
        self.held_rows = 0
        self.held_bytes = 0
        self.bounds = Statistics()
        self.writer: ParquetTable | None = None
        self.schema = marked_schema(file_schema(table), show_secrets=show_secrets)
        self._held: list[pa.RecordBatch] = []

    def add(self, rows: pa.RecordBatch, size: int) -> None:
        self._held.append(with_binary_ids(rows).replace_schema_metadata(self.schema.metadata))
        self.rows += rows.num_rows
        self.held_rows += rows.num_rows
        self.held_bytes += size
        self.bounds.add(rows)

    def flush(self, path: str) -> None:
        if self.writer is None:
            self.writer = ParquetTable(path, self.schema)
        if self._held:
            self.writer.write(self._held)
        self._held, self.held_rows, self.held_bytes = [], 0, 0

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def with_binary_ids(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows in which ids within structs are bytes. The writer does that for other ids, and for lists of them."""
    for at, column in enumerate(rows.schema):
        kind = column.type
        element = kind.value_type if pa.types.is_list(kind) else kind
        if pa.types.is_nested(element) and (wanted := shaped_type(kind, binary_ids_type)) != kind:
            rows = rows.set_column(at, column.with_type(wanted), shaped(rows.column(at), wanted))
    return rows


class Statistics:
    """The least and the greatest value of the columns by which files are skipped."""

    COLUMNS: Final = ("cluster_id", "node_id", "log", "offset", "timestamp")

    def __init__(self) -> None:
        self._bounds: dict[str, tuple[Any, Any]] = {}
        self._nulls: dict[str, int] = {}

    def add(self, rows: pa.RecordBatch) -> None:
        for name in self.COLUMNS:
            at = rows.schema.get_field_index(name)
            if at < 0:
                continue
            column = rows.column(at)
            self._nulls[name] = self._nulls.get(name, 0) + column.null_count
            values = column.dictionary if pa.types.is_dictionary(column.type) else column
            if pa.types.is_timestamp(values.type):
                values = values.view(pa.int64())
            found = pc.min_max(values).as_py()
            if found["min"] is None:
                continue
            least, most = self._bounds.get(name, (found["min"], found["max"]))
            self._bounds[name] = min(least, found["min"]), max(most, found["max"])

    def text(self, rows: int) -> str:
        """Return the statistics in Delta's form, as JSON text."""
        bounds = {name: tuple(map(_time_text, found)) if name == "timestamp" else found for name, found in self._bounds.items()}
        return json.dumps(
            {
                "numRecords": rows,
                "minValues": {name: least for name, (least, _) in bounds.items()},
                "maxValues": {name: most for name, (_, most) in bounds.items()},
                "nullCount": self._nulls,
            },
            separators=(",", ":"),
        )


def _time_text(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{at_ms % 1000:03d}Z"


# ---- months

_NONE: Final = np.iinfo(np.int64).min


def by_month(batch: pa.RecordBatch) -> Iterator[tuple[str | None, pa.RecordBatch]]:
    """Yield the rows of a batch by their month in UTC, as `2026-11`; None for rows without a time."""
    if not batch.num_rows:
        return
    months = _months(batch.column("timestamp"))
    if months.min() == months.max():
        yield _text(int(months[0])), batch
        return
    if np.any(months[1:] < months[:-1]):
        order = np.argsort(months, kind="stable")
        months, batch = months[order], batch.take(pa.array(order))
    bounds = [0, *(np.flatnonzero(months[1:] != months[:-1]) + 1).tolist(), len(months)]
    for start, end in pairwise(bounds):
        yield _text(int(months[start])), batch.slice(start, end - start)


def _months(times: pa.Array) -> Ints:
    """Months since 1970 of timestamps; `_NONE` where there is none, or none that a calendar has."""
    ms: Ints = times.view(pa.int64()).fill_null(_NONE).to_numpy(zero_copy_only=False)
    is_none = (ms < EARLIEST_MS) | (ms > LATEST_MS)
    kept = np.where(is_none, 0, ms)
    # Most batches lie within one month.
    first, last = (int(np.datetime64(int(each), "ms").astype("datetime64[M]").astype(np.int64)) for each in (kept.min(), kept.max()))
    months: Ints = np.full(len(kept), first) if first == last else kept.astype("datetime64[ms]").astype("datetime64[M]").astype(np.int64)
    months[is_none] = _NONE
    return months


def _text(month: int) -> str | None:
    return None if month == _NONE else f"{1970 + month // 12:04d}-{month % 12 + 1:02d}"
