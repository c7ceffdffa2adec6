"""Decoded logs and the state of clusters as Arrow tables, without Python objects for each record.

A table of records is a table of events: one row for each time that something was written. The tables of the state (`state`) have each
thing once, as an image has it. There is a table for each record type, with all versions merged, and four that every log has: `records`
(all records, with JSON text), `control`, `batches` and `faults`. All share an envelope (`schemas.ENVELOPE`). A field that a version lacks
has its schema's default, as in objects.

Tables have two forms (`ReadOptions.columns`). Raw columns, which reports read, hold what the bytes hold: ids are 16 bytes, times are
numbers. Typed columns, which export, SQL and Spark show, hold what those mean (`columns.typed_tables`).

`input_files` finds files, `splits` cuts them, `columns` makes tables of a split, `state` makes tables of an image. `dictionary` has the
meaning of each column. `export` writes tables to files, `lake` adds them to a folder exactly once, `sql` and `reports` query them, and
`stores` are the places that output goes to.

Promises: columns, objects and JSON text of one log are equal, for any log; typed columns hold the value of raw ones, or null where no
type has it. Each record belongs to exactly one split. Memory is bounded by a chunk (`columns.chunks`), whatever the input. Secrets are
redacted in every table unless the caller wants them. Input files are only read.

Only this wing knows numpy, pyarrow and DuckDB, and nothing in the base install imports it. Names here are imported at first use, since
planning needs none of the three."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from typing import TYPE_CHECKING

from metashell.common.errors import MetashellError
from metashell.common.runtime import missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from metashell.tables.columns.reader import read_split
    from metashell.tables.read_options import ReadOptions
    from metashell.tables.schemas import tables
    from metashell.tables.splits import Piece, Split, plan_splits


__all__ = ["Piece", "ReadOptions", "Split", "plan_splits", "read_split", "tables"]

_HOMES = {
    "ReadOptions": "read_options",
    "read_split": "columns.reader",
    "tables": "schemas",
    "Piece": "splits",
    "Split": "splits",
    "plan_splits": "splits",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"metashell.tables.{_HOMES[name]}"), name)


def require_packages(extra: str, *names: str) -> None:
    """Errors: MetashellError that says what to install, for the first package that is missing."""
    for name in names:
        if find_spec(name) is None:
            raise MetashellError(missing(name, extra))


@contextmanager
def only_what_we_use() -> Iterator[None]:
    """A block in which numpy and pyarrow load nothing that nothing here uses.

    For commands only: a program that uses this package may need threads and pandas for its own work.

    - OpenBLAS, numpy's linear algebra, starts a thread for each core, which cost 0.1 s of CPU time. It reads this before numpy is imported.
    - pyarrow imports pandas, where it is installed, with the first array that it makes: 0.3 s of CPU time in each process.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    absent = _Absent()
    sys.meta_path.insert(0, absent)
    try:
        yield
    finally:
        sys.meta_path.remove(absent)


def keep_to_one_allocator() -> None:
    """Let Arrow take memory where Python and numpy do: what one has freed serves the others. For commands, before pyarrow is imported.

    Arrow's own allocator gives back what it has freed, and clears it anew: a tenth of the CPU time of an export, and a fifth of one to a
    store, where each upload takes 10 MB.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def do_without_pandas() -> None:
    """Let no module of this process import pandas, for as long as it lives. For processes of our own."""
    sys.meta_path.insert(0, _Absent())


class _Absent(MetaPathFinder):
    """An import of pandas fails as if it were not installed; if it has been imported already, it stays."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"{name}: is not used here", name=name)
