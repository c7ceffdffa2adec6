"""The columns that all rows of a file share: its cluster, its name without credentials, its kind of log and its checkpoint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from metashell.codec.uris import shown_uri
from metashell.columns.decode.vectors import Ints, offsets_of, range_positions
from metashell.columns.inputs.splits import Piece
from metashell.escape import writable

_FILE = "file"
SAME_IN_A_FILE = ("cluster_id", _FILE)


class Place:
    """Makes `cluster_id` and `file` for any number of rows, and `log` and `checkpoint` for the table that has them."""

    def __init__(self, piece: Piece) -> None:
        self.file = shown_uri(piece.path)
        self.log = piece.log
        self.cluster_id = shown_uri(piece.cluster_id)

        self._made = [_repeated(self.cluster_id, 0), _repeated(self.file, 0)]
        self._checkpoint = piece.checkpoint

    def arrays(self, count: int, batches: Ints | None = None) -> list[pa.Array]:
        """Cluster and file for `count` rows: slices of the longest arrays made so far. `batches` are those that the rows lie in."""
        if len(self._made[0]) < count:
            count_made = max(count, 2 * len(self._made[0]))
            self._made = [_repeated(self.cluster_id, count_made), _repeated(self.file, count_made)]
        return [made.slice(0, count) for made in self._made]

    def kind_arrays(self, count: int, batches: Ints | None = None) -> list[pa.Array]:
        """The kind of log and the name of the checkpoint, for `count` rows."""
        return [_repeated(self.log or "", count), _repeated(self._checkpoint, count)]


class Places(Place):
    """The same for rows of several files of one kind of log; `file_of_batch` says for each batch whose it is."""

    def __init__(self, pieces: Sequence[Piece], file_of_batch: Ints) -> None:
        super().__init__(pieces[0])
        self._pieces = pieces
        self._file_of_batch = file_of_batch

    def arrays(self, count: int, batches: Ints | None = None) -> list[pa.Array]:
        assert batches is not None, "the rows of several files are told apart by their batches"
        files = self._file_of_batch[batches]
        return [spread([shown_uri(text) for text in texts], files) for texts in self._names()]

    def kind_arrays(self, count: int, batches: Ints | None = None) -> list[pa.Array]:
        assert batches is not None, "the rows of several files are told apart by their batches"
        return [_repeated(self.log or "", count), spread([piece.checkpoint for piece in self._pieces], self._file_of_batch[batches])]

    def _names(self) -> tuple[list[str], list[str]]:
        return [piece.cluster_id for piece in self._pieces], [piece.path for piece in self._pieces]


def spread(texts: list[str], numbers: Ints) -> pa.Array:
    """The text of each number, in order."""
    raw = [writable(text).encode() for text in texts]
    sizes = np.array([len(each) for each in raw], np.int64)
    starts = np.cumsum(sizes) - sizes
    counts = sizes[numbers]
    data = np.frombuffer(b"".join(raw), np.uint8)[range_positions(starts[numbers], counts, 1)]
    return pa.Array.from_buffers(pa.string(), len(numbers), [None, pa.py_buffer(offsets_of(counts)), pa.py_buffer(data)], 0)


def _repeated(text: str, count: int) -> pa.Array:
    raw = writable(text).encode()
    offsets = np.arange(0, len(raw) * count + 1, len(raw), dtype=np.int32) if raw else np.zeros(count + 1, np.int32)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(raw * count)], 0)


def with_names_once(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with the texts that its rows share stored once."""
    files = batch.column(_FILE) if _FILE in batch.schema.names else None
    for name in SAME_IN_A_FILE:
        at = batch.schema.get_field_index(name)
        if at >= 0:
            batch = batch.set_column(at, name, names_once(batch.column(at), files))
    return batch


def names_once(names: pa.Array, files: pa.Array | None) -> pa.DictionaryArray:
    """The names of rows, each stored once; `files` are the rows' log files."""
    if pa.types.is_dictionary(names.type):
        return names
    if only_name(names, files) is None:
        return names.dictionary_encode()
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(names), np.int32)), names.slice(0, 1))


def only_name(names: pa.Array, files: pa.Array | None) -> str | None:
    """The name that all rows have; None if they differ, or there are none. `files` are the rows' log files, in any order."""
    text: str | None = None
    if pa.types.is_dictionary(names.type):
        if len(names.dictionary) == 1 and not names.null_count:
            text = names.dictionary[0].as_py()
    elif len(names) and files is not None and _are_alike(files):
        text = names[0].as_py()
    return text


def _are_alike(values: pa.Array) -> bool:
    """Whether all are equal: one file may come back after another, where batches of several were put together."""
    rest = len(values) - 1
    # To compare each with the next takes 2 ns a row; to look for different ones takes 20.
    return bool(values[0] == values[rest] and values.slice(1).equals(values.slice(0, rest)))
