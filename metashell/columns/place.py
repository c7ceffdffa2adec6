"""The columns that all rows of a file share: whose cluster it is, and the file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from metashell.columns.splits import Piece

_VARIABLE = pa.string()


class Place:
    """Makes `cluster_id` and `file` for any number of rows."""

    def __init__(self, piece: Piece, dictionary: bool = False) -> None:
        self.file = piece.path
        self.log = piece.log
        self.cluster_id = piece.cluster_id
        self.dictionary = dictionary

    def arrays(self, count: int) -> list[pa.Array]:
        return [self._repeated(self.cluster_id, count), self._repeated(self.file, count)]

    def _repeated(self, text: str, count: int) -> pa.Array:
        raw = text.encode("utf-8", "backslashreplace")
        if self.dictionary:
            indices = pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(bytes(4 * count))])
            return pa.DictionaryArray.from_arrays(indices, pa.array([raw.decode()]))
        offsets = np.arange(0, len(raw) * count + 1, len(raw) or 1, dtype=np.int32) if raw else np.zeros(count + 1, np.int32)
        return pa.Array.from_buffers(_VARIABLE, count, [None, pa.py_buffer(offsets), pa.py_buffer(raw * count)], 0)

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """A table's schema with the types of these columns."""
        if not self.dictionary:
            return schema
        shared = pa.dictionary(pa.int32(), pa.string())
        return schema.set(0, pa.field("cluster_id", shared)).set(1, pa.field("file", shared))
