"""The columns that all rows of a file share: its cluster, its name without credentials, its kind of log and its checkpoint."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from metashell.codec.uris import shown_uri
from metashell.columns.inputs.splits import Piece
from metashell.escape import writable

SAME_IN_A_FILE = ("cluster_id", "file")


class Place:
    """Makes `cluster_id` and `file` for any number of rows, and `log` and `checkpoint` for the table that has them."""

    def __init__(self, piece: Piece) -> None:
        self.file = shown_uri(piece.path)
        self.log = piece.log
        self.cluster_id = shown_uri(piece.cluster_id)

        self._made = [_repeated(self.cluster_id, 0), _repeated(self.file, 0)]
        self._checkpoint = piece.checkpoint

    def arrays(self, count: int) -> list[pa.Array]:
        """Cluster and file for `count` rows: slices of the longest arrays made so far."""
        if len(self._made[0]) < count:
            self._made = [_repeated(self.cluster_id, count), _repeated(self.file, count)]
        return [made.slice(0, count) for made in self._made]

    def kind_arrays(self, count: int) -> list[pa.Array]:
        """The kind of log and the name of the checkpoint, for `count` rows."""
        return [_repeated(self.log or "", count), _repeated(self._checkpoint, count)]


def _repeated(text: str, count: int) -> pa.Array:
    raw = writable(text).encode()
    offsets = np.arange(0, len(raw) * count + 1, len(raw), dtype=np.int32) if raw else np.zeros(count + 1, np.int32)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(raw * count)], 0)


def with_names_once(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with the texts that its rows share stored once; the rows must be of one log file."""
    for name in SAME_IN_A_FILE:
        at = batch.schema.get_field_index(name)
        if at >= 0 and not pa.types.is_dictionary(batch.schema.types[at]):
            indices = pa.array(np.zeros(batch.num_rows, np.int32))
            batch = batch.set_column(at, name, pa.DictionaryArray.from_arrays(indices, batch.column(at).slice(0, 1)))
    return batch
