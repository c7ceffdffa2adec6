"""What one process of an export does: it writes the tables of a split, each to a file."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from metashell.columns.decode.options import ReadOptions
from metashell.columns.decode.reader import read_split
from metashell.columns.decode.redacting import marked_schema
from metashell.columns.export.options import ExportOptions, part_path
from metashell.columns.export.writers import PartFile
from metashell.columns.inputs.splits import Split
from metashell.columns.meanings.comments import commented
from metashell.columns.schemas import FAULTS
from metashell.columns.typed.tables import schema_of
from metashell.errors import LogCorruptError, MetashellError, UsageError

_HELD_BYTES_MAX = 128 << 20
_STORE_THREADS = 8


@dataclass(slots=True)
class SplitResult:
    """The result of a split: rows by table, or the error that ended it; in a store also its files and their sizes."""

    rows: dict[str, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    error: MetashellError | None = None


def prepare_worker(*, is_local: bool) -> None:
    """In a process of its own: one thread, since there is a process for each core; more where they wait for a store."""
    pa.set_cpu_count(1)
    # It keeps memory that was used before; pyarrow's own gives it back and gets it anew, a twentieth of the time of an export.
    pa.set_memory_pool(pa.system_memory_pool())
    pa.set_io_thread_count(1 if is_local else _STORE_THREADS)


def export_split(number: int, split: Split, options: ExportOptions, folder: str) -> SplitResult:
    """Write the tables of a split below `folder`; never raises for what files hold."""
    result = SplitResult()
    parts: dict[str, PartFile] = {}
    reading = ReadOptions(
        tables=options.tables, on_error=options.on_error, show_secrets=options.show_secrets, columns=options.columns, joins_files=True
    )
    try:
        for table, batch in read_split(split, reading):
            part = parts.get(table)
            if part is None:
                schema = marked_schema(commented(table, batch.schema), show_secrets=options.show_secrets)
                part = parts[table] = PartFile(part_path(folder, table, number, options.form), schema, options.form)
            part.add(batch.replace_schema_metadata(marked_schema(batch.schema, show_secrets=options.show_secrets).metadata))
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


def write_empty(folder: str, table: str, options: ExportOptions) -> str:
    """Write a table without rows below `folder`, so that its columns can be found; returns its path."""
    path = part_path(folder, table, 0, options.form)
    schema = marked_schema(commented(table, schema_of(table, options.columns)), show_secrets=options.show_secrets)
    PartFile(path, schema, options.form).finish()
    return path
