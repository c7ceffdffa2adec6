"""Lists of integers by number: the distinct ones once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

Numbers = np.ndarray[Any, np.dtype[Any]]


def list_codes(lists: pa.ListArray) -> tuple[Numbers, pa.ListArray]:
    """The number of each list among the distinct ones, -1 for null, and these. Items are integers of one width, and never null."""
    offsets = lists.offsets.to_numpy()
    first, last = int(offsets[0]), int(offsets[-1])
    width = lists.type.value_type.bit_width // 8
    assert (last - first) * width < 1 << 31, "a batch is smaller"
    items = lists.values.slice(first, last - first)
    bytes_of_items = items.buffers()[1].slice(items.offset * width, len(items) * width) if len(items) else pa.py_buffer(b"")
    places = ((offsets - first) * width).astype(np.int32)
    blobs = pa.Array.from_buffers(pa.binary(), len(lists), [None, pa.py_buffer(places), bytes_of_items])
    if lists.null_count:
        blobs = compute.if_else(lists.is_valid(), blobs, pa.scalar(None, pa.binary()))
    found = blobs.dictionary_encode()
    return found.indices.fill_null(-1).to_numpy(zero_copy_only=False), _lists_of(found.dictionary, lists.type)


def _lists_of(blobs: pa.BinaryArray, kind: pa.DataType) -> pa.ListArray:
    """The lists whose items' bytes these are."""
    width = kind.value_type.bit_width // 8
    offsets = np.frombuffer(blobs.buffers()[1], np.int32, len(blobs) + 1, blobs.offset * 4) // width
    items = blobs.buffers()[2] or pa.py_buffer(b"")
    values = pa.Array.from_buffers(kind.value_type, items.size // width, [None, items])
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, type=kind)
