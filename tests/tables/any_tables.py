"""Typed batches of any content, of each shape that a column of ours can have; and their columns as Python has them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from metashell.tables.columns import typed_arrays
from metashell.tables.columns.typed_arrays import TIME

Make = Callable[[random.Random, int], Sequence[Any]]
WORDS = ["", "RECOVERED", "RECOVERING", "zwölf", "x" * 300]
IDS = [bytes([number]) * 16 for number in range(40)]


def any_numbers(least: int, most: int, nulls: float = 0.0) -> Make:
    return lambda rng, count: [None if rng.random() < nulls else rng.randint(least, most) for _ in range(count)]


def any_of(values: Sequence[Any], nulls: float = 0.0) -> Make:
    return lambda rng, count: [None if rng.random() < nulls else rng.choice(values) for _ in range(count)]


def any_lists(values: Sequence[Any], empty: float = 0.0, nulls: float = 0.0, inner: float = 0.0) -> Make:
    def one(rng: random.Random) -> Any:
        if rng.random() < nulls:
            return None
        if rng.random() < empty:
            return []
        return [None if rng.random() < inner else rng.choice(values) for _ in range(rng.randint(1, 4))]

    return lambda rng, count: [one(rng) for _ in range(count)]


REPEATED = pa.dictionary(pa.int32(), pa.string())
COLUMNS: dict[str, tuple[pa.DataType, Make]] = {
    "cluster_id": (pa.string(), any_of(["one"])),
    "offset": (pa.int64(), lambda rng, count: range(count)),
    "timestamp": (TIME, any_numbers(1 << 40, (1 << 40) + 9000)),
    "maybe_time": (TIME, any_numbers(0, 5, nulls=0.3)),
    "one_time": (TIME, any_of([1 << 40])),
    "epoch": (pa.int32(), any_of([7])),
    "least_byte": (pa.int8(), any_of([-128])),
    "bytes": (pa.int8(), any_numbers(-128, 127)),
    "node": (pa.int32(), any_numbers(-1, 9)),
    "maybe_node": (pa.int32(), any_numbers(-1, 9, nulls=0.2)),
    "far": (pa.int32(), any_of([-(1 << 31), (1 << 31) - 1])),
    "partition": (pa.int32(), any_numbers(0, 400)),
    "spread": (pa.int32(), any_of(range(0, 60_000, 600))),
    "many": (pa.int32(), any_numbers(0, 1 << 30)),
    "long": (pa.int64(), any_numbers((1 << 62) - 5, 1 << 62)),
    "largest": (pa.int64(), any_of([(1 << 63) - 1, (1 << 63) - 2])),
    "flag": (pa.bool_(), any_of([True, False])),
    "one_flag": (pa.bool_(), any_of([True])),
    "share": (pa.float64(), any_of([0.5, -0.0])),
    "nothing": (pa.int16(), any_of([None])),
    "no_text": (pa.string(), any_of([None])),
    "no_flag": (pa.bool_(), any_of([None])),
    "no_share": (pa.float64(), any_of([None])),
    "no_bytes": (pa.binary(), any_of([None])),
    "no_id": (typed_arrays.UUID, any_of([None])),
    "text": (pa.string(), any_of(WORDS, nulls=0.1)),
    "word": (REPEATED, any_of(WORDS)),
    "one_word": (REPEATED, any_of(["zwölf"])),
    "maybe_word": (REPEATED, any_of(WORDS[2:], nulls=0.5)),
    "id": (typed_arrays.UUID, any_of(IDS)),
    "one_id": (typed_arrays.UUID, any_of(IDS[:1])),
    "maybe_id": (typed_arrays.UUID, any_of(IDS, nulls=0.4)),
    "replicas": (pa.list_(pa.int32()), any_lists(range(9))),
    "isr": (pa.list_(pa.int32()), any_lists(range(300), empty=0.2, nulls=0.2)),
    "gaps": (pa.list_(pa.int32()), any_lists(range(9), inner=0.2)),
    "no_lists": (pa.list_(pa.int32()), any_of([None])),
    "empty_lists": (pa.list_(pa.int32()), any_of([[]])),
    "empty_or_null": (pa.list_(pa.int32()), any_of([[], None])),
    "empty_ids": (pa.list_(typed_arrays.UUID), any_of([[]])),
    "directories": (pa.list_(typed_arrays.UUID), any_lists(IDS, empty=0.1, nulls=0.1)),
    "words": (pa.list_(REPEATED), any_lists(WORDS, empty=0.1)),
    "pair": (pa.struct([("a", pa.int32()), ("b", pa.string())]), any_of([{"a": 1, "b": "x"}, None])),
    "entries": (pa.map_(pa.string(), pa.int32()), any_of([[("k", 1)], []])),
}
"""Each column's type and what makes its values; an id is followed by its text."""


def any_batch(rng: random.Random, count: int, columns: Sequence[str] = tuple(COLUMNS)) -> pa.RecordBatch:
    """A batch of so many rows, as `typed_batch` gives them."""
    arrays: dict[str, pa.Array] = {}
    for name in columns:
        kind, make = COLUMNS[name]
        array = as_array(list(make(rng, count)), kind)
        arrays[name] = array
        if kind == typed_arrays.UUID:
            arrays[f"{name}_text"] = typed_arrays.id_texts(array.storage)
        elif pa.types.is_list(kind) and kind.value_type == typed_arrays.UUID:
            texts = typed_arrays.id_texts(array.values.storage)
            buffers = array.buffers()[:2]
            arrays[f"{name}_text"] = pa.Array.from_buffers(pa.list_(REPEATED), count, buffers, array.null_count, 0, [texts])
    return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def as_array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values as an array of a type; of nested extension and dictionary types, too."""
    if pa.types.is_list(kind):
        counts = [len(value or ()) for value in values]
        inner = as_array([item for value in values for item in value or ()], kind.value_type)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        valid = np.packbits(np.array([value is not None for value in values], np.bool_), bitorder="little")
        return pa.Array.from_buffers(kind, len(values), [pa.py_buffer(valid), pa.py_buffer(offsets)], values.count(None), 0, [inner])
    if kind == typed_arrays.UUID:
        return typed_arrays.as_uuids(pa.array(values, pa.binary(typed_arrays.SIZE)))
    if pa.types.is_dictionary(kind):
        # The words of each batch come in another order.
        return pa.array(values, pa.string()).dictionary_encode()
    return pa.array(values, kind)
