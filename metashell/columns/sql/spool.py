"""Tables on disk: written batch by batch into an unnamed file and mapped back, so that no table has to fit in memory."""

from __future__ import annotations

import mmap
import tempfile
from typing import Any, Self

import pyarrow as pa

from metashell.columns.decode.place import with_names_once


class Spool:
    """One table. Its file is in the system's folder for temporary files and is gone with the process."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open until the table is whole
        self._writer: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Write rows of one log file. Errors: OSError where the disk is full."""
        slim = with_names_once(batch)
        if self._writer is None:
            self._writer = pa.ipc.new_stream(self._file, slim.schema)
        self._writer.write_batch(slim)

    def table(self) -> pa.Table:
        """All rows. Their pages are the file's, so the system can drop them from memory and read them again."""
        assert self._writer is not None, "a table without rows has no schema"
        self._writer.close()
        self._file.flush()
        whole = mmap.mmap(self._file.fileno(), 0, prot=mmap.PROT_READ)
        self.close()
        return pa.ipc.open_stream(pa.py_buffer(whole)).read_all()

    def close(self) -> None:
        self._file.close()


class Spools:
    """Tables by name, those that have rows."""

    def __init__(self) -> None:
        self._spools: dict[str, Spool] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for spool in self._spools.values():
            spool.close()

    def add(self, name: str, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        if name not in self._spools:
            self._spools[name] = Spool()
        self._spools[name].add(batch)

    def tables(self) -> dict[str, pa.Table]:
        """What was added. Nothing can be added afterwards."""
        return {name: spool.table() for name, spool in self._spools.items()}
