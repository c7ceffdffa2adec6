"""The tables that a query can name: events of logs, rows of lakes, and the temporary files that hold them.

A scan of events reads no more of the logs than its condition leaves, into an unnamed file that is mapped back, so no table has to fit in
memory. A whole table is kept for all queries to come, a part of one until another is wanted. Where all of a table is wanted, all others
that the query names are read with it: one pass through the logs serves them all.

Of a lake only the files that the logs of its tables name are read, by pyarrow, here and in stores. Files whose statistics exclude the
condition are not opened, and of the others only the columns and row groups that may matter."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import FileType, LocalFileSystem

from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.terminal import update_progress
from metashell.common.uris import is_uri, shown_uri
from metashell.disk.file_system import temporary_files
from metashell.disk.names import METADATA, OFFSETS
from metashell.tables.columns.chunk_records import with_names_once
from metashell.tables.columns.reader import read_split
from metashell.tables.columns.typed_arrays import UUID, as_uuids, flat, stored, with_children
from metashell.tables.columns.typed_tables import schema_of, sql_batch
from metashell.tables.dictionary import CLUSTER_TABLES, GROUP_TABLES, STATE_TABLES, log_of_table
from metashell.tables.input_files import input_files, is_read_once
from metashell.tables.read_options import ANY, OF_BODIES, Bounds, Form, NewerNotes, ReadOptions, note_newer
from metashell.tables.schemas import FAULTS, RECORDS, tables
from metashell.tables.splits import TARGET_BYTES, Split, absent_log, has_log, kind_of, splits_of
from metashell.tables.sql.database import PARQUET_FORMAT, BatchScanner, FilterBounds, Scan
from metashell.tables.state.clusters import NoMetadataError, no_metadata
from metashell.tables.stores import open_store
from metashell.tables.stores.local import path_of_uri
from metashell.tables.stores.store import LAKE, retry

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from metashell.disk.inputs import InputFile
    from metashell.disk.names import LogKind
    from metashell.tables.lake.appends import LakeForm
    from metashell.tables.lake.delta import LakeFile
    from metashell.tables.read_options import OnError


_MAPPED_BYTES_MAX: Final = 4 << 20
"""So much of a spooled table is in memory while it is scanned."""
_WHOLE: Final = 1 << 62
"""So large is no file: each is one piece."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A part of a table: the rows within bounds; of `records` whether bodies are decoded, and of which types (None: all)."""

    only: Bounds = ANY
    payloads: bool = True
    payload_types: frozenset[str] | None = None

    def includes(self, other: Wanted) -> bool:
        return self == other or (self.only == ANY and self.payload_types is None and (self.payloads or not other.payloads))


class EventTables:
    """Tables of events by name, as `served` asks for them. `go_on` raises when nothing waits for them any more."""

    def __init__(
        self,
        paths: Sequence[str],
        *,
        log: LogKind | None,
        on_error: OnError,
        show_secrets: bool,
        columns: Form,
        go_on: Callable[[], None],
    ) -> None:
        self._paths = paths
        self._log = log
        self._on_error: OnError = on_error
        self._show_secrets = show_secrets
        self._columns: Form = columns
        self._go_on = go_on
        self.schemas: dict[str, pa.Schema] = {name: spooled_schema(name, columns) for name in tables()}
        self._files: list[InputFile] = []
        self._sizes: dict[str, int] = {}
        self._kept: dict[str, tuple[Wanted, SpooledTable]] = {}
        self._fault_counts: dict[str, int] = {}
        self._newer: dict[str, NewerNotes] = {}
        self._named: Collection[str] = ()
        self._reading = Lock()

    def find(self) -> Mapping[str, MetashellError]:
        """Find the logs; return the tables that they do not have, and why. Errors: UsageError if there is no log."""
        self._files = [file for path in self._paths for file in input_files(path, self._log)]
        logs = set(map(kind_of, self._files))
        absent: dict[str, MetashellError] = {name: absent_log(self._paths, name) for name in self.schemas if not has_log(logs, name)}
        if not {METADATA, None} & logs:
            absent.update(dict.fromkeys(CLUSTER_TABLES, no_metadata(self._paths)))
        if not {OFFSETS, None} & logs:
            absent.update(dict.fromkeys(GROUP_TABLES, absent_log(self._paths, GROUP_TABLES[0])))
        return absent

    def name(self, named: Collection[str]) -> None:
        """Say which tables the next question names."""
        self._named = named

    @property
    def fault_count(self) -> int:
        """The faults that were skipped on the way through what the question names: one way finds those of another."""
        return max((self._fault_counts.get(name, 0) for name in self._named), default=0)

    @property
    def newer(self) -> NewerNotes:
        """Notes of what a newer release wrote in the tables of the question; see `fault_count`."""
        return max((self._newer.get(name, {}) for name in self._named), key=len, default={})

    def serve(self, name: str, scan: Scan) -> Any:
        """Return the rows of a table that a scan wants. Errors: LogCorruptError or MetashellError at a fault, unless faults are skipped."""
        with self._reading:
            self._go_on()
            wanted = self._wanted(name, scan)
            if name not in self._kept or not self._kept[name][0].includes(wanted):
                self._read(name, wanted)
            return self._kept[name][1].scanned(scan)

    def _wanted(self, name: str, scan: Scan) -> Wanted:
        # Faults are those of all that is read, and what can be read only once is read as a whole.
        if FAULTS in self._named or any(is_read_once(file.path) for file in self._files):
            return Wanted()
        payloads = name != RECORDS or any(map(scan.names, OF_BODIES))
        if scan.condition is None:
            return Wanted(payloads=payloads)
        judge = FilterBounds(self.schemas[name], scan.condition)
        return Wanted(judge.bounds(), payloads, judge.types() if name == RECORDS and payloads else None)

    def _read(self, name: str, wanted: Wanted) -> None:
        together = {name}
        if wanted.only == ANY:
            together |= {other for other in self._named if other not in self._kept or self._kept[other][0].only != ANY}
        # Only who decodes a body knows whether it is at fault.
        read_for_faults = {name for name in self.schemas if name != RECORDS} if FAULTS in together else set()
        options = ReadOptions(
            tables=sorted(together | read_for_faults),
            on_error=self._on_error,
            show_secrets=self._show_secrets,
            columns=self._columns,
            only=None if wanted.only == ANY else wanted.only,
            payloads=wanted.payloads,
            payload_types=wanted.payload_types,
            joins_files=True,
        )
        # Cuts show how far the reading of all is; they cost a way through the log where it has no index.
        splits = list(splits_of(self._files, TARGET_BYTES if options.only is None else _WHOLE, only=options.only, sizes=self._sizes))

        def kept(table: str, batch: pa.RecordBatch) -> list[tuple[str, pa.RecordBatch]]:
            self._go_on()
            return [(table, batch)] if table in together else []

        newer: NewerNotes = {}
        read, fault_count = read_tables(splits, options, kept, newer)
        for each in together:
            # Of other tables no part is left out; of `records` bodies may be.
            part = wanted if each == RECORDS else Wanted(wanted.only)
            self._kept[each] = part, read.get(each, SpooledTable(self.schemas[each]))
            self._fault_counts[each] = fault_count
            self._newer[each] = newer


# ---- tables of a lake

_FILES_AHEAD: Final = 2
_BATCHES_AHEAD: Final = 4


def is_lake(place: str) -> bool:
    """Return whether a path or URI is that of a lake. Errors: PathError of a store that fails."""
    if not is_uri(place) or place.lower().startswith("file:"):
        return os.path.isdir(os.path.join(path_of_uri(place) if is_uri(place) else place, LAKE))
    from metashell.tables.stores.file_systems import errors_of, file_system

    system, top = file_system(place)
    with errors_of(place):
        return bool(retry(lambda: system.get_file_info(f"{top.rstrip('/')}/{LAKE}")).type == FileType.Directory)


class LakeTables:
    """Tables of events by name, as `served` asks for them. `go_on` raises when nothing waits for them any more."""

    fault_count = 0
    newer: Final[NewerNotes] = {}
    """Return the number of faults that were skipped when the lake was written: the rows of its table `faults`."""

    def __init__(self, place: str, *, show_secrets: bool, go_on: Callable[[], None]) -> None:
        from metashell.tables.lake.appends import LakeState, read_state
        from metashell.tables.lake.delta import row_schema
        from metashell.tables.stores.file_systems import file_system

        self._place = place
        self._store = open_store(place, only_reads=True)
        self._shown = shown_uri(place)
        self._system, self._top = file_system(place) if is_uri(place) else (LocalFileSystem(), os.path.abspath(place))
        self._go_on = go_on
        self._show_secrets = show_secrets
        self._state = LakeState()
        self._opened: dict[str, DeltaTable | None] = {}
        self._read_state = read_state
        self._is_new = False
        self.schemas: dict[str, pa.Schema] = {name: row_schema(name) for name in tables()}
        self._read()

    def find(self) -> Mapping[str, MetashellError]:
        """Return the tables that the lake does not have, and why."""
        self._is_new = True
        form = self._state.form
        wanted = (form and form.tables) or [name for name in tables() if name != "records"]
        logs = {log_of_table(name) for name, count in self._state.rows.items() if count}
        absent: dict[str, MetashellError] = {
            name: PathError(f"{self._shown}: this lake does not have the table {name}", name)
            for name in self.schemas
            if name not in wanted or log_of_table(name) not in {None, *logs}
        }
        stateless = NoMetadataError(f"{self._shown}: a lake, which has tables of events only; the state is made from logs", self._shown)
        return {**absent, **dict.fromkeys(STATE_TABLES, stateless)}

    def name(self, named: Collection[str]) -> None:
        """Say which tables the next question names: its scans all see what the lake holds now."""
        if named and not self._is_new:
            self._read()
        self._is_new = False

    def _read(self) -> None:
        """Read what the lake holds now. Errors: UsageError if it was written in another form; MetashellError for one that is damaged."""
        self._state = self._read_state(self._store, is_required=True)
        self._opened = {}
        if self._state.form is not None:
            _require_readable(self._shown, self._state.form, show_secrets=self._show_secrets)

    def _table(self, name: str) -> DeltaTable | None:
        from metashell.tables.lake.delta import open_table

        if name not in self._opened:
            self._opened[name] = open_table(self._store, name)
        return self._opened[name]

    def note(self, named: Collection[str]) -> str:
        """Notes of what a newer version wrote into these tables and this one does not know."""
        more = [f"{name}.{column}" for name in sorted(named) for column in self._unknown(name)]
        return f"{self._shown}: written by a newer version of metashell, and not shown: {', '.join(more)}" if more else ""

    def _unknown(self, name: str) -> list[str]:
        from metashell.tables.lake.delta import MONTH

        table = self._table(name) if name in self.schemas and self._state.rows.get(name) else None
        known = {MONTH, *(self.schemas[name].names if name in self.schemas else ())}
        return [] if table is None else [field.name for field in table.schema().fields if field.name not in known]

    def serve(self, name: str, scan: Scan) -> Any:
        """Return the rows of one table that a scan wants."""
        from metashell.tables.lake.delta import active_files, file_schema

        self._go_on()
        schema = self.schemas[name]
        table = self._table(name)
        files = [] if table is None else active_files(table, name)
        fragments = [
            PARQUET_FORMAT.make_fragment(self._path(file), self._system, partition_expression=_known_of(file, schema)) for file in files
        ]
        whole = ds.FileSystemDataset(fragments, file_schema(name), PARQUET_FORMAT, self._system)
        wanted = scan.schema_of(schema)
        return ds.Scanner.from_batches(self._rows(whole, scan, wanted, files), schema=wanted)

    def _rows(self, whole: ds.Dataset, scan: Scan, wanted: pa.Schema, files: Sequence[LakeFile]) -> Iterator[pa.RecordBatch]:
        from metashell.tables.stores.file_systems import TROUBLE

        try:
            found = whole.scanner(
                columns=wanted.names, filter=scan.condition, fragment_readahead=_FILES_AHEAD, batch_readahead=_BATCHES_AHEAD
            )
            for batch in found.to_batches():
                self._go_on()
                yield _with_ids(batch, wanted)
        except BaseException as error:
            scan.fail(self._reason(error, files) if isinstance(error, TROUBLE) else error)
            raise

    def _reason(self, error: Exception, files: Sequence[LakeFile]) -> MetashellError:
        """Return the reason why files cannot be read; it names one that is gone."""
        from metashell.tables.stores.file_systems import TROUBLE, store_error

        with suppress(*TROUBLE):
            for file in files:
                if self._system.get_file_info(self._path(file)).type != FileType.File:
                    more = "; ask again, if somebody has written to the lake meanwhile"
                    return MetashellError(f"{self._store.shown_name(file.name)}: is gone, and a commit of this lake names it{more}")
        return store_error(self._place, error)

    def _path(self, file: LakeFile) -> str:
        return f"{self._top.rstrip('/')}/{file.name}"


def _require_readable(shown: str, lake: LakeForm, *, show_secrets: bool) -> None:
    """Errors: UsageError for a lake whose rows have another form than the wanted one."""
    if lake.show_secrets and not show_secrets:
        raise UsageError(f"{shown}: this lake shows secrets: ask with --show-secrets", "--show-secrets")
    if show_secrets and not lake.show_secrets:
        raise UsageError(f"{shown}: this lake has no secrets: ask without --show-secrets", "--show-secrets")


def _known_of(file: LakeFile, schema: pa.Schema) -> pc.Expression:
    """Return the condition that all rows of a file meet by its statistics."""
    known = pc.scalar(True)
    for name, (least, most) in file.bounds().items():
        if name in schema.names:
            kind = schema.field(name).type
            known = known & (pc.field(name) >= pa.scalar(least, kind)) & (pc.field(name) <= pa.scalar(most, kind))
    return known


def _with_ids(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch of a file with the types that the table has: ids are bytes in files."""
    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        columns.append(_as_type(column, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _as_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array of a file in the type that the table has."""
    if array.type == kind:
        return array
    if kind == UUID:
        return as_uuids(stored(array))
    array = flat(array)
    if pa.types.is_struct(kind):
        return with_children(kind, array, [_as_type(array.field(at), kind.field(at).type) for at in range(kind.num_fields)])
    if pa.types.is_list(kind):
        return with_children(kind, array, [_as_type(array.values, kind.value_type)])
    return array.cast(kind)


# ---- temporary files

Kept = Callable[[str, pa.RecordBatch], Iterable[tuple[str, pa.RecordBatch]]]


@dataclass(frozen=True, slots=True)
class SpooledTable:
    """A table of this schema in a mapped file; without a file it has no rows."""

    schema: pa.Schema
    file: mmap.mmap | None = None

    def table(self) -> pa.Table:
        """Return all rows."""
        return pa.Table.from_batches([], self.schema) if self.file is None else pa.ipc.open_stream(pa.py_buffer(self.file)).read_all()

    def scanned(self, scan: Scan) -> Any:
        """Return the scanner of the rows that a scan wants.

        It gives pages of the file back to the system as it goes. A scanner of Arrow would go through the whole file ahead of its reader.
        """
        if self.file is None:
            return scan.of(self.table())
        return BatchScanner(scan.schema_of(self.schema), self._batches(self.file, scan))

    def _batches(self, file: mmap.mmap, scan: Scan) -> Iterator[pa.RecordBatch]:
        # Who still reads a page that was given back finds it again: the file cannot change.
        mapped_bytes = 0
        for batch in pa.ipc.open_stream(pa.py_buffer(file)):
            yield from scan.batches_of(batch)
            mapped_bytes += batch.get_total_buffer_size()
            if mapped_bytes > _MAPPED_BYTES_MAX:
                mapped_bytes = 0
                _give_back(file)
        _give_back(file)


def _give_back(file: mmap.mmap) -> None:
    if hasattr(mmap, "MADV_DONTNEED"):
        file.madvise(mmap.MADV_DONTNEED)


class Spool:
    """One table. Its file is in the system's folder for temporary files and is gone with the process."""

    def __init__(self) -> None:
        with temporary_files():
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open until the table is whole
        self._writer: Any = None
        self._schema: pa.Schema = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Write rows of one log file, whose names are stored once. Errors: PathError where the disk is full."""
        self.add_as_is(_slim(batch))

    def add_as_is(self, slim: pa.RecordBatch) -> None:
        """Write rows as they are. Errors: PathError where the disk is full."""
        with temporary_files():
            if self._writer is None:
                self._schema = slim.schema
                self._writer = pa.ipc.new_stream(self._file, self._schema)
            self._writer.write_batch(slim)

    def table(self) -> pa.Table:
        """Return all rows. Their pages are the file's, so the system can drop them from memory and read them again."""
        return self.spooled().table()

    def spooled(self) -> SpooledTable:
        """Return all rows, where they are."""
        assert self._writer is not None, "a table without rows has no schema"
        with temporary_files():
            self._writer.close()
            self._file.flush()
        whole = mmap.mmap(self._file.fileno(), 0, prot=mmap.PROT_READ)
        self.close()
        return SpooledTable(self._schema, whole)

    def close(self) -> None:
        # A table that is wanted is on disk by now; of another one the disk may have no room for the rest.
        with suppress(OSError):
            self._file.close()


def _slim(batch: pa.RecordBatch) -> pa.RecordBatch:
    return sql_batch(with_names_once(batch))


def spooled_schema(name: str, form: Form) -> pa.Schema:
    """Return the schema of a spooled table of events."""
    schema = schema_of(name, form)
    return _slim(pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)).schema


def read_tables(
    splits: Sequence[Split], options: ReadOptions, kept: Kept, newer: NewerNotes | None = None
) -> tuple[dict[str, SpooledTable], int]:
    """Return the tables of splits that have rows, and the number of faults; `kept` names the tables that a batch becomes rows of.

    What a newer release wrote goes to `newer`.

    Errors: those of `read_split`.
    """
    fault_count = 0
    with ExitStack() as unfinished:
        spools: dict[str, Spool] = {}
        done, total = 0, sum(split.bytes for split in splits)
        for split in splits:
            update_progress(f"reading the logs, {done * 100 // total if total else 0} % done")
            done += split.bytes
            for name, batch in read_split(split, options):
                fault_count += batch.num_rows if name == FAULTS else 0
                if newer is not None:
                    note_newer(newer, name, batch)
                for table, rows in kept(name, batch):
                    if rows.num_rows and table not in spools:
                        spools[table] = unfinished.enter_context(closing(Spool()))
                    if rows.num_rows:
                        spools[table].add(rows)
        # What decoding has used is not needed by who reads the tables.
        pa.default_memory_pool().release_unused()
        return {table: spool.spooled() for table, spool in spools.items()}, fault_count
