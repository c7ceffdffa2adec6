"""Lists of key and value as maps, in which a key comes once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from metashell.columns.typed.shapes import lists_like, parents_of


def last_of_each_key(lists: pa.ListArray) -> pa.ListArray:
    """The lists without what a later entry of the same key replaces: DuckDB refuses a map whose key comes twice.

    The key is the first member of an entry.
    """
    entries = lists.values
    if len(entries) < 2:
        return lists
    keys = entries.field(0).dictionary_encode()
    places = parents_of(lists).astype(np.int64) * max(len(keys.dictionary), 1) + keys.indices.to_numpy()
    # Of equal places the first from the end is the last.
    _, kept = np.unique(places[::-1], return_index=True)
    if len(kept) == len(places):
        return lists
    chosen = np.sort(len(places) - 1 - kept)
    counts = np.bincount(parents_of(lists)[chosen], minlength=len(lists))
    return lists_like(lists, counts, entries.take(pa.array(chosen)))
