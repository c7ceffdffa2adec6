"""Decoded logs as Arrow tables: record batches to columns, without Python objects for each record; and the state that they come to.

Tables of records are tables of events: a row for each time that something was written. The tables of the state (`state/schemas`) have
each thing once, as an image has it.

There is a table for each record type, with all its versions merged, and four that every log has: `records` (all records, with JSON
text), `control`, `batches` and `faults`. All share an envelope (`schemas.ENVELOPE`). A field that a version does not have is at its
schema's default, as in objects.

Tables have two forms (`ReadOptions.columns`). In the raw one, which reports read, values are what bytes hold: ids are 16 bytes, times
numbers. In the typed one, which export, SQL and Spark show, they are what those mean: see `typed`.

Rooms: `inputs` finds files and cuts them into splits, `decode` makes tables of a split, `typed` gives them columns that say what they
are, `meanings` says what each means, `state` makes tables of an image, `export` writes tables to files, and `sql` asks them questions.
`inputs`, `decode` and `state` import neither `export` nor `sql`, which do not import each other.

Promises: columns, objects and JSON text of one log are equal, for any log; typed columns say what raw ones hold, or null where no type
has it. Each record belongs to exactly one split. Memory is bounded by a chunk (`decode/chunks.py`), whatever the input. Secrets are
redacted in every table unless they are asked for. Files are only read.

Only this package knows numpy, pyarrow and DuckDB (reports knows Arrow's tables too), and nothing in the base install imports it. Its names
are imported when they are used: planning needs none of the three.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.columns.decode.options import ReadOptions
    from metashell.columns.decode.reader import read_split
    from metashell.columns.inputs.splits import Piece, Split, plan_splits
    from metashell.columns.schemas import tables

__all__ = ["Piece", "ReadOptions", "Split", "plan_splits", "read_split", "tables"]

_HOMES = {
    "ReadOptions": "decode.options",
    "read_split": "decode.reader",
    "tables": "schemas",
    "Piece": "inputs.splits",
    "Split": "inputs.splits",
    "plan_splits": "inputs.splits",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"metashell.columns.{_HOMES[name]}"), name)
