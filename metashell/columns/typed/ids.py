"""Ids: UUIDs of their 16 bytes, and their text as Kafka prints it."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

UUID: Final = pa.uuid()
SIZE: Final = 16
TEXT_SIZE: Final = 22
TextOf = Callable[[bytes], str]
_STORAGE: Final = pa.binary(SIZE)
_WHOLE_TRIPLES: Final = 18
_ENCODED: Final = 24


def stored(raw: pa.Array) -> pa.Array:
    """Ids of variable size, all of 16 bytes, as fixed ones; bytes are copied only where some are null."""
    count = len(raw)
    if raw.null_count:
        return raw.cast(_STORAGE)
    offsets = np.frombuffer(raw.buffers()[1], np.int32, 1, 4 * raw.offset) if count else (0,)
    data = raw.buffers()[2]
    if not count or data is None:
        return pa.array([], _STORAGE)
    return pa.Array.from_buffers(_STORAGE, count, [None, data.slice(int(offsets[0]), SIZE * count)], 0)


def as_uuids(fixed: pa.Array) -> pa.Array:
    """The same as UUIDs."""
    return pa.ExtensionArray.from_storage(UUID, fixed)


def texts(fixed: pa.Array, text_of: TextOf | None = None) -> pa.DictionaryArray:
    """The texts of ids, null for null; each distinct one is made once, by `text_of` where they are not only Kafka's text."""
    encoded = fixed.dictionary_encode()
    found = encoded.dictionary
    made = _distinct_texts(found) if text_of is None else pa.array(map(text_of, found.to_pylist()), pa.string())
    return pa.DictionaryArray.from_arrays(encoded.indices, made)


def _distinct_texts(fixed: pa.Array) -> pa.Array:
    """All at once: zeros complete three bytes, which base64 writes as four characters, so that the texts lie at equal distances."""
    count = len(fixed)
    if not count:
        return pa.array([], pa.string())
    data = np.frombuffer(fixed.buffers()[1], np.uint8, SIZE * count, SIZE * fixed.offset)
    padded = np.zeros((count, _WHOLE_TRIPLES), np.uint8)
    padded[:, :SIZE] = data.reshape(count, SIZE)
    encoded = np.frombuffer(urlsafe_b64encode(padded.tobytes()), np.uint8).reshape(count, _ENCODED)
    characters = np.ascontiguousarray(encoded[:, :TEXT_SIZE])
    offsets = np.arange(0, TEXT_SIZE * count + 1, TEXT_SIZE, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(characters)], 0)
