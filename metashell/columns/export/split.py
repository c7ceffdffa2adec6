"""What one process of an export does: it writes the tables of a split, each to a file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from metashell.columns.decode.newer import NewerNotes, note_newer
from metashell.columns.decode.options import ReadOptions
from metashell.columns.decode.reader import read_split
from metashell.columns.decode.redacting import marked_schema
from metashell.columns.export.options import ExportOptions, part_path
from metashell.columns.export.row_group import table_of
from metashell.columns.export.writers import PartFile
from metashell.columns.inputs.splits import Split
from metashell.columns.meanings.comments import commented
from metashell.columns.packages import do_without_pandas
from metashell.columns.schemas import FAULTS
from metashell.columns.typed.tables import schema_of, typed_table
from metashell.errors import LogCorruptError, MetashellError, UsageError

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
    _keep_memory()
    pa.set_io_thread_count(1 if is_local else _STORE_THREADS)


def _keep_memory() -> None:
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
    """The typed form of raw batches."""
    return typed_table(table, table_of(batches).to_batches())


def write_empty(folder: str, table: str, options: ExportOptions) -> str:
    """Write a table without rows below `folder`, so that its columns can be found; returns its path."""
    path = part_path(folder, table, 0, options.form)
    schema = marked_schema(commented(table, schema_of(table, options.columns)), show_secrets=options.show_secrets)
    PartFile(path, schema, options.form).finish()
    return path
