"""The records of a chunk with all that their tables are made from."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.columns.decode.headers import Headers
from metashell.columns.decode.place import SAME_IN_A_FILE, Place
from metashell.columns.decode.rows import Rows
from metashell.columns.decode.typed_rows import TypedRows, coordinator_rows, framed_rows
from metashell.columns.decode.vectors import Buffer, Ints, Mask


class ChunkRecords:
    """The records of a chunk: `rows` are all, `typed` those that are no control records."""

    def __init__(self, log: str, headers: Headers, buffer: Buffer, rows: Rows, place: Place) -> None:
        self.headers = headers
        self.buffer = buffer
        self.rows = rows
        self.place = place
        self.is_control: Mask = headers.is_control[rows.batch]
        data = rows.part(~self.is_control) if self.is_control.any() else rows
        self.typed: TypedRows = (coordinator_rows if log in COORDINATOR_LOGS else framed_rows)(log, buffer, data)

    def envelope(self, rows: Rows, chosen: Ints | None = None, fields: Collection[str] | None = None) -> list[pa.Array]:
        """The columns that every record has: cluster, file, offset, epoch and timestamp.

        `fields` names the columns that are wanted: without any name of a place there are nulls instead of those.
        """
        has_names = fields is None or any(name in fields for name in SAME_IN_A_FILE)
        return envelope_arrays(self.headers, rows, np.arange(len(rows)) if chosen is None else chosen, self.place if has_names else None)


def envelope_arrays(headers: Headers, rows: Rows, chosen: Ints, place: Place | None) -> list[pa.Array]:
    """The same of some rows."""
    batches = rows.batch[chosen]
    names = [pa.nulls(len(chosen), pa.string())] * len(SAME_IN_A_FILE) if place is None else place.arrays(len(chosen), batches)
    return [
        *names,
        pa.array(rows.offset[chosen]),
        pa.array(headers.leader_epoch[batches]),
        pa.array(rows.timestamp[chosen]),
    ]
