"""Tables on disk: written batch by batch into an unnamed file and mapped back, so that no table has to fit in memory."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from typing import Any

import pyarrow as pa

from metashell.columns.decode.newer import NewerNotes, note_newer
from metashell.columns.decode.options import Form, ReadOptions
from metashell.columns.decode.place import with_names_once
from metashell.columns.decode.reader import read_split
from metashell.columns.inputs.splits import Split
from metashell.columns.schemas import FAULTS
from metashell.columns.typed.tables import schema_of, sql_batch
from metashell.log.outputs import temporary_files
from metashell.progress import tell

Kept = Callable[[str, pa.RecordBatch], Iterable[tuple[str, pa.RecordBatch]]]


class Spool:
    """One table. Its file is in the system's folder for temporary files and is gone with the process."""

    def __init__(self) -> None:
        with temporary_files():
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open until the table is whole
        self._writer: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Write rows of one log file, whose names are stored once. Errors: PathError where the disk is full."""
        self.add_as_is(_slim(batch))

    def add_as_is(self, slim: pa.RecordBatch) -> None:
        """Write rows as they are. Errors: PathError where the disk is full."""
        with temporary_files():
            if self._writer is None:
                self._writer = pa.ipc.new_stream(self._file, slim.schema)
            self._writer.write_batch(slim)

    def table(self) -> pa.Table:
        """All rows. Their pages are the file's, so the system can drop them from memory and read them again."""
        assert self._writer is not None, "a table without rows has no schema"
        with temporary_files():
            self._writer.close()
            self._file.flush()
        whole = mmap.mmap(self._file.fileno(), 0, prot=mmap.PROT_READ)
        self.close()
        return pa.ipc.open_stream(pa.py_buffer(whole)).read_all()

    def close(self) -> None:
        # A table that is wanted is on disk by now; of another one the disk may have no room for the rest.
        with suppress(OSError):
            self._file.close()


def _slim(batch: pa.RecordBatch) -> pa.RecordBatch:
    return sql_batch(with_names_once(batch))


def spooled_schema(name: str, form: Form) -> pa.Schema:
    """The schema of a spooled table of events."""
    schema = schema_of(name, form)
    return _slim(pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)).schema


def read_tables(
    splits: Sequence[Split], options: ReadOptions, kept: Kept, newer: NewerNotes | None = None
) -> tuple[dict[str, pa.Table], int]:
    """The tables of splits that have rows, and the number of faults; `kept` names the tables that a batch becomes rows of.

    What a newer release wrote goes to `newer`.

    Errors: those of `read_split`.
    """
    fault_count = 0
    with ExitStack() as unfinished:
        spools: dict[str, Spool] = {}
        done, total = 0, sum(split.bytes for split in splits)
        for split in splits:
            tell(f"reading the logs, {done * 100 // total if total else 0} % done")
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
        return {table: spool.table() for table, spool in spools.items()}, fault_count
