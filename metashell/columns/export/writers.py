"""Tables as files: Parquet, Arrow IPC, CSV and JSON lines. A file gets its name only when it is complete."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

import pyarrow as pa

from metashell.columns.export.row_group import table_of
from metashell.columns.schemas import PLACE
from metashell.columns.texts import row_values
from metashell.columns.typed.shapes import file_batch, file_schema, plain_type, shaped_batch, shaped_schema
from metashell.errors import PathError
from metashell.forms import compact_json, csv_cell
from metashell.log.outputs import naming

_GROUP_ROWS = 1 << 18
_GROUP_BYTES = 48 << 20
"""When a row group is written: twice as large is 2 % smaller and costs a process 40 MiB; half as large costs 5 % of an export's time."""


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
        with naming(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self._writer = FORMATS[form](self._unfinished, schema)
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
            with naming(self.path):
                self._writer.write(self._made(self._held))
            self._held, self._held_rows, self.held_bytes = [], 0, 0

    def finish(self) -> None:
        """Write what is left, and give the file its name."""
        self.flush()
        with naming(self.path):
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

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._file = open(path, "w", encoding="utf-8", newline="")  # noqa: SIM115 - open until close
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(schema.names)

    def write(self, rows: pa.Table) -> None:
        for batch in rows.to_batches():
            self._writer.writerows(map(csv_cell, row) for row in row_values(batch))

    def close(self) -> None:
        self._file.close()


def _parquet(path: str, schema: pa.Schema) -> TableWriter:
    from metashell.columns.export.parquet import ParquetTable

    return ParquetTable(path, schema)


FORMATS: dict[str, Callable[[str, pa.Schema], TableWriter]] = {
    "parquet": _parquet,
    "arrow": _Arrow,
    "csv": _Csv,
    "jsonl": _JsonLines,
}
