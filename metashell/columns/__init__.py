"""Decoded logs as Arrow tables: record batches to columns, without Python objects for each record.

One table for each record type, all its versions merged, in the envelope that all have (`cluster_id`, `file`, `offset`, `epoch`,
`timestamp` in Unix ms), and four that every log has: `records` (all records, with JSON text), `control`, `batches`, `faults`. A
field that a version does not have is at its schema's default, as in objects; uuids are 16 bytes.

Promises: columns, objects and JSON text of one log are equal, for any log. Each record belongs to exactly one split. Memory is
bounded by a chunk (64 Ki records or 8 MiB, or one batch where that is larger), whatever the input. Secrets are redacted in every
table unless they are asked for. Files are only read.

This is the one place that knows numpy and pyarrow, and nothing in the base install imports it. Its names are imported when they are
used: planning needs neither.
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
