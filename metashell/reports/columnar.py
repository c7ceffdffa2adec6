"""An answer as CSV and JSON, made a column at a time: the same text as `metashell.forms` writes a row at a time, which a test holds.

An answer may have a million rows. Its texts and lists repeat, so each distinct one is written once by `forms` and then taken by number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute

from metashell.forms import Display, compact_json, write_rows
from metashell.reports.distinct import list_codes
from metashell.reports.words import time_text

SLICE_ROWS: Final = 1 << 15
"""Rows that are text at one time."""
_YEAR_1000_MS: Final = -30_610_224_000_000
CellText = Callable[[Any], str]


def json_parts(answer: pa.Table) -> Iterator[bytes]:
    """One array of objects, a row a line; times are Unix milliseconds, as in all JSON of ours."""
    if not answer.num_rows:
        yield b"[]\n"
        return
    keys = [f"{',' if number else '{'}{compact_json(name)}:" for number, name in enumerate(answer.column_names)]
    yield b"[\n"
    left = answer.num_rows
    for batch in _slices(answer):
        left -= batch.num_rows
        texts = _columns(batch, _json_text, "null", _ms_texts)
        rows = _joined([part for key, column in zip(keys, texts, strict=True) for part in (key, column)], "},\n")
        yield rows if left else rows[:-2] + b"\n]\n"


def csv_parts(answer: pa.Table) -> Iterator[bytes]:
    """A heading and a line a row; times are text in UTC."""
    yield _csv(answer.column_names, []).encode()
    for batch in _slices(answer):
        parts: list[Any] = []
        for column in _columns(batch, _csv_text, "", _time_texts):
            parts += [",", column] if parts else [column]
        yield _joined(parts, "\n")


def _slices(answer: pa.Table) -> Iterator[pa.RecordBatch]:
    for at in range(0, answer.num_rows, SLICE_ROWS):
        yield answer.slice(at, SLICE_ROWS).combine_chunks().to_batches()[0]


def _columns(batch: pa.RecordBatch, text: CellText, null: str, times: Callable[[pa.Array], pa.Array]) -> list[pa.Array]:
    """Each column as the texts of its cells."""
    return [_texts(column, text, times).fill_null(null) for column in batch.columns]


def _texts(column: pa.Array, text: CellText, times: Callable[[pa.Array], pa.Array]) -> pa.Array:
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    if pa.types.is_timestamp(kind):
        return times(column)
    if pa.types.is_list(kind):
        codes, distinct = list_codes(column)
        indices = pa.array(codes, mask=codes < 0)
    else:
        encoded = column.dictionary_encode()
        indices, distinct = encoded.indices, encoded.dictionary
    return pa.array([text(value) for value in distinct.to_pylist()], pa.string()).take(indices)


def _json_text(value: object) -> str:
    return Display(StringIO()).json(compact_json(value))


def _csv_text(value: object) -> str:
    """A value as a field of a line: what stands before the comma of a line of two."""
    return _csv(["", ""], [[value, 0]])[len(",\n") : -len(",0\n")]


def _csv(columns: list[str], rows: list[list[Any]]) -> str:
    out = StringIO()
    write_rows(Display(out), "csv", columns, rows)
    return out.getvalue()


def _ms_texts(times: pa.Array) -> pa.Array:
    return _as_ms(times).cast(pa.string())


def _time_texts(times: pa.Array) -> pa.Array:
    ms = _as_ms(times)
    if (compute.min(ms).as_py() or 0) < _YEAR_1000_MS:
        return pa.array([None if time is None else time_text(time) for time in times.to_pylist()], pa.string())
    texts = ms.cast(pa.timestamp("ms")).cast(pa.string())
    return compute.binary_join_element_wise(compute.replace_substring(texts, " ", "T"), "Z", "")


def _as_ms(times: pa.Array) -> pa.Array:
    # An answer's times are whole milliseconds: `answer.as_declared` makes them from those.
    return times.cast(pa.timestamp("ms", "UTC")).cast(pa.int64())


def _joined(parts: list[Any], end: str) -> bytes:
    """The parts of each row one after the other, and the rows likewise."""
    rows = compute.binary_join_element_wise(*parts, end, "")
    first, last = rows.offset, rows.offset + len(rows)
    offsets = np.frombuffer(rows.buffers()[1], np.int32, last + 1)
    data: bytes = rows.buffers()[2].slice(int(offsets[first]), int(offsets[last] - offsets[first])).to_pybytes()
    return data
