"""What is newer than known in the tables that are read: gathered batch by batch, in a form that a manifest can keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from metashell.image.newer import ANYTHING, Newer, newer_levels

if TYPE_CHECKING:
    import pyarrow as pa

NewerNotes = dict[str, list[Any]]
"""By what is newer: how many records have it, the first offset and its file, and what an answer may lack."""
_LEVELS = "feature_level"


def note_newer(notes: NewerNotes, table: str, batch: pa.RecordBatch) -> None:
    """Note what a batch of a raw table says."""
    # Who only plans an export has not loaded pyarrow, and its workers are forks as long as that is so.
    from metashell.columns.decode.faults import UNKNOWN_RECORD
    from metashell.columns.schemas import FAULTS

    if table == FAULTS:
        kinds, reasons, offsets, files = (batch.column(name).to_pylist() for name in ("kind", "reason", "offset", "file"))
        for kind, reason, offset, file in zip(kinds, reasons, offsets, files, strict=True):
            if kind == UNKNOWN_RECORD:
                add_notes(notes, {reason: [1, offset, file, ANYTHING]})
    elif table == _LEVELS:
        for name, level in set(zip(batch.column("name").to_pylist(), batch.column(_LEVELS).to_pylist(), strict=True)):
            add_notes(notes, {part.what: [0, -1, "", ""] for part in newer_levels({name: level})})


def add_notes(notes: NewerNotes, others: Mapping[str, list[Any]]) -> None:
    """Add other notes, of what was read later."""
    for what, (count, *place) in others.items():
        known = notes.setdefault(what, [0, *place])
        known[0] += count


def parts_of(notes: NewerNotes) -> list[Newer]:
    """The same as the parts that every command words alike."""
    return [Newer(what, *values) for what, values in notes.items()]
