"""The work of one process of an export: it writes the tables of a split, each to a file."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from metashell.common.errors import LogCorruptError, MetashellError, PathError, UsageError
from metashell.common.forms import compact_json, csv_cell
from metashell.common.options import RawCsv
from metashell.common.terminal import spreadsheet_text
from metashell.disk.file_system import errors_naming
from metashell.tables import do_without_pandas
from metashell.tables.columns.reader import read_split
from metashell.tables.columns.record_tables import marked_schema
from metashell.tables.columns.typed_arrays import file_batch, file_schema, plain_type, row_values, shaped_batch, shaped_schema
from metashell.tables.columns.typed_tables import schema_of, typed_table
from metashell.tables.export.parquet import ParquetTable, table_of
from metashell.tables.export.plan import ExportOptions, part_path
from metashell.tables.read_options import NewerNotes, ReadOptions, note_newer
from metashell.tables.schemas import FAULTS, PLACE, commented
from metashell.tables.splits import Split

if TYPE_CHECKING:
    pass


_HELD_BYTES_MAX = 128 << 20
_STORE_THREADS = 8
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""Numbers of malloc.h."""


@dataclass(slots=True)
class SplitResult:
    """The result of a split: rows by table, or the error that ended it; in a store also its files and their sizes.

    `newer` is what a newer release wrote.
    """

    rows: dict[str, int] = field(default_factory=dict)
    newer: NewerNotes = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    error: MetashellError | None = None


def prepare_worker(*, is_local: bool) -> None:
    """In a process of its own: one thread, since there is a process for each core; more where they wait for a store."""
    do_without_pandas()
    pa.set_cpu_count(1)
    # It keeps memory that was used before; pyarrow's own gives it back and gets it anew, a twentieth of the time of an export.
    pa.set_memory_pool(pa.system_memory_pool())
    keep_memory()
    pa.set_io_thread_count(1 if is_local else _STORE_THREADS)


def keep_memory() -> None:
    """Let glibc keep what is freed, which each chunk needs anew: to get it from the system, page by page, takes a thirtieth of the time."""
    import ctypes

    with suppress(AttributeError, OSError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        mallopt(_M_TRIM_THRESHOLD, 256 << 20)
        # Threads that upload take what the one that writes has freed.
        mallopt(_M_ARENA_MAX, 1)


def export_split(number: int, split: Split, options: ExportOptions, folder: str) -> SplitResult:
    """Write the tables of a split below `folder`; never raises for what files hold."""
    result = SplitResult()
    parts: dict[str, PartFile] = {}
    reading = ReadOptions(tables=options.tables, on_error=options.on_error, show_secrets=options.show_secrets, joins_files=True)
    try:
        for table, batch in read_split(split, reading):
            note_newer(result.newer, table, batch)
            part = parts.get(table)
            if part is None:
                schema = marked_schema(commented(table, schema_of(table, options.columns)), show_secrets=options.show_secrets)
                made = partial(typed_rows, table) if options.columns == "typed" else table_of
                part = parts[table] = PartFile(part_path(folder, table, number, options.form), schema, options.form, made)
            part.add(batch)
            if sum(one.held_bytes for one in parts.values()) > _HELD_BYTES_MAX:
                for one in parts.values():
                    one.flush()
        for part in parts.values():
            part.finish()
    except (LogCorruptError, UsageError) as error:
        for part in parts.values():
            part.drop()
        result.error = error
    result.rows = {table: part.rows for table, part in parts.items()}
    result.rows.setdefault(FAULTS, 0)
    return result


def typed_rows(table: str, batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """Return the typed form of raw batches."""
    return typed_table(table, table_of(batches).to_batches())


def write_empty(folder: str, table: str, options: ExportOptions) -> str:
    """Write a table without rows below `folder`, so that its columns can be found; returns its path."""
    path = part_path(folder, table, 0, options.form)
    schema = marked_schema(commented(table, schema_of(table, options.columns)), show_secrets=options.show_secrets)
    PartFile(path, schema, options.form).finish()
    return path


# ---- files of a table

_GROUP_ROWS = 1 << 18
_GROUP_BYTES = 48 << 20
"""The size at which a row group is written. Twice that saves 2 % of the output and costs a process 40 MiB; half costs 5 % of the time."""


_PLACE = [name for name, _ in PLACE]
Made = Callable[[Sequence[pa.RecordBatch]], pa.Table]


class TableWriter(Protocol):
    """Takes the rows of one row group after another; `close` completes the file."""

    def write(self, rows: pa.Table) -> None: ...
    def close(self) -> None: ...


class PartFile:
    """One table of one split: gathers batches to row groups, and writes them under another name first.

    `made` makes of the batches of a row group what is written.
    """

    def __init__(self, path: str, schema: pa.Schema, form: str, made: Made = table_of) -> None:
        self.path = path
        self._made = made
        self.rows = 0
        # With the process id: a process of a killed export may live for a moment longer.
        self._unfinished = f"{path}.{os.getpid()}.part"
        with errors_naming(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            writer = partial(_Csv, safe=str) if isinstance(form, RawCsv) else FORMATS[form]
            self._writer = writer(self._unfinished, schema)
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0
        self.held_bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        self._held.append(batch)
        self._held_rows += batch.num_rows
        # The texts of place are parts of what all batches of a file share.
        self.held_bytes += batch.drop_columns(_PLACE).get_total_buffer_size()
        if self._held_rows >= _GROUP_ROWS or self.held_bytes >= _GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._held:
            with errors_naming(self.path):
                self._writer.write(self._made(self._held))
            self._held, self._held_rows, self.held_bytes = [], 0, 0

    def finish(self) -> None:
        """Write what is left, and give the file its name."""
        self.flush()
        with errors_naming(self.path):
            self._writer.close()
            os.replace(self._unfinished, self.path)

    def drop(self) -> None:
        """Close and remove an unfinished file; on a full disk closing fails, too."""
        with suppress(OSError, PathError):
            self._writer.close()
        with suppress(OSError):
            os.unlink(self._unfinished)


class _Arrow:
    def __init__(self, path: str, schema: pa.Schema) -> None:
        from pyarrow.ipc import new_file

        # In such a file a column has one dictionary for all batches.
        self._schema = file_schema(shaped_schema(schema, plain_type))
        self._writer = new_file(path, self._schema)

    def write(self, rows: pa.Table) -> None:
        for batch in rows.combine_chunks().to_batches():
            self._writer.write_batch(shaped_batch(file_batch(batch), self._schema))

    def close(self) -> None:
        self._writer.close()


class _JsonLines:
    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115 - open until close
        self._names = schema.names

    def write(self, rows: pa.Table) -> None:
        for batch in rows.to_batches():
            self._file.writelines(f"{compact_json(dict(zip(self._names, row, strict=True)))}\n" for row in row_values(batch))

    def close(self) -> None:
        self._file.close()


class _Csv:
    """CSV by RFC 4180: lists and structs as JSON text, null as an empty field."""

    def __init__(self, path: str, schema: pa.Schema, safe: Callable[[str], str] = spreadsheet_text) -> None:
        self._file = open(path, "w", encoding="utf-8", newline="")  # noqa: SIM115 - open until close
        self._cell = partial(csv_cell, safe=safe)
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(map(safe, schema.names))

    def write(self, rows: pa.Table) -> None:
        for batch in rows.to_batches():
            self._writer.writerows(map(self._cell, row) for row in row_values(batch))

    def close(self) -> None:
        self._file.close()


def _parquet(path: str, schema: pa.Schema) -> TableWriter:
    return ParquetTable(path, schema)


FORMATS: dict[str, Callable[[str, pa.Schema], TableWriter]] = {
    "parquet": _parquet,
    "arrow": _Arrow,
    "csv": _Csv,
    "jsonl": _JsonLines,
}
