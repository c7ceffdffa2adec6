"""What `records` shows of each record: its kind, type, version, JSON text and fault.

Records of one type and version share all but the text, which codec writes straight from the bytes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.codec.coordinator_text import CoordinatorText, CoordinatorTexts
from metashell.codec.record_text import FramedTexts, RecordText, control_text
from metashell.columns.decode.chunk_records import ChunkRecords
from metashell.columns.decode.rows import NULL
from metashell.columns.decode.typed_rows import OTHER, TypedRows
from metashell.columns.decode.vectors import Array, Ints, Mask
from metashell.errors import DecodeError

_NO_VERSION = 1 << 20
Texts = FramedTexts | CoordinatorTexts


def texts_of_log(log: str, *, show_secrets: bool) -> Texts:
    """What writes the text of a log's records."""
    return (CoordinatorTexts if log in COORDINATOR_LOGS else FramedTexts)(log, show_secrets=show_secrets)


@dataclass(slots=True)
class _Columns:
    """The columns on their way: names as indexes of `names`, -1 for none."""

    codes: Array
    versions: Array
    payloads: list[str | None]
    faults: list[str | None]
    names: dict[str, int] = field(default_factory=dict)

    def put_all(self, rows: Ints, name: str, version: int, fault: str | None) -> None:
        """What the records of one type and version share."""
        self.codes[rows] = self._code(name)
        self.versions[rows] = version
        if fault is not None:
            for row in rows.tolist():
                self.faults[row] = fault

    def put(self, row: int, text: RecordText | CoordinatorText, payload: str | None) -> None:
        self.codes[row] = self._code(text.type_name)
        self.versions[row] = _NO_VERSION if text.version is None else text.version
        self.payloads[row] = payload
        self.faults[row] = text.fault

    def _code(self, name: str | None) -> int:
        return -1 if name is None else self.names.setdefault(name, len(self.names))

    def arrow(self, is_control: Mask, *, with_payloads: bool) -> list[pa.Array]:
        count = len(self.codes)
        kinds = pa.DictionaryArray.from_arrays(pa.array(is_control.astype(np.int8)), ["record", "control"])
        names = pa.DictionaryArray.from_arrays(pa.array(self.codes, mask=self.codes < 0), pa.array(list(self.names), pa.string()))
        return [
            kinds.cast(pa.string()),
            names.cast(pa.string()),
            pa.array(self.versions.astype(np.int16), mask=self.versions == _NO_VERSION),
            pa.array(self.payloads, pa.string()) if with_payloads else pa.nulls(count, pa.string()),
            pa.array(self.faults, pa.string()),
        ]


def text_columns(
    records: ChunkRecords, texts: Texts, *, with_payloads: bool, payload_types: Collection[str] | None = None
) -> list[pa.Array]:
    """The columns kind, type, version, payload and fault of all records; the payload only of those types, None for all.

    Without payloads the bodies of records are not looked into, so that only what stands before them can be at fault.
    """
    rows, typed, buffer, is_control = records.rows, records.typed, records.buffer, records.is_control
    count = len(rows)
    columns = _Columns(np.full(count, -1, np.int32), np.full(count, _NO_VERSION, np.int32), [None] * count, [None] * count)
    for row in np.flatnonzero(is_control).tolist():
        key, value = rows.record(buffer, row)
        text = control_text(key, value, show_secrets=texts.show_secrets)
        columns.put(row, text, None if value is None else text.data)
    numbers = np.flatnonzero(~is_control)
    careful = numbers[typed.types == OTHER].tolist()
    for (type_id, version), chosen in typed.groups():
        of_group = numbers[chosen]
        if isinstance(texts, CoordinatorTexts):
            columns.put_all(of_group, texts.names[type_id], _NO_VERSION if version == NULL else version, None)
            if with_payloads and (payload_types is None or texts.names[type_id] in payload_types):
                careful += _write_pairs(columns.payloads, buffer.data, texts, typed, type_id, version, chosen, of_group)
            continue
        name, fault, write = texts.usual(type_id, version)
        columns.put_all(of_group, name, version, fault)
        if with_payloads and (payload_types is None or name in payload_types):
            payloads, data = columns.payloads, buffer.data
            for row, start, end in zip(of_group.tolist(), typed.starts[chosen].tolist(), typed.ends[chosen].tolist(), strict=True):
                try:
                    payloads[row] = write(data, start, end)
                except DecodeError:
                    careful.append(row)
    for row in careful:
        _put_one(columns, row, texts, *rows.record(buffer, row))
    return columns.arrow(is_control, with_payloads=with_payloads)


def _write_pairs(
    payloads: list[str | None],
    data: bytes,
    texts: CoordinatorTexts,
    typed: TypedRows,
    type_id: int,
    version: int,
    chosen: Ints,
    of_group: Ints,
) -> list[int]:
    """Write the payloads of a coordinator's records of one type and version; gives the rows that are of another layout."""
    key_message, value_message = texts.log.key_message(type_id), texts.log.value_message(type_id)
    assert key_message is not None and value_message is not None, "rows are in no group unless both are known"
    write_key = texts.writer(key_message, 0)
    write = None if version == NULL else texts.writer(value_message, version)
    places = (typed.key_starts[chosen], typed.key_ends[chosen], typed.starts[chosen], typed.ends[chosen])
    careful = []
    for row, key_start, key_end, start, end in zip(of_group.tolist(), *(place.tolist() for place in places), strict=True):
        try:
            value = "null" if write is None else write(data, start, end)
            payloads[row] = f'{{"key":{write_key(data, key_start, key_end)},"value":{value}}}'
        except DecodeError:
            careful.append(row)
    return careful


def _put_one(columns: _Columns, row: int, texts: Texts, key: bytes | None, value: bytes | None) -> None:
    """A record that is not as usual."""
    if isinstance(texts, CoordinatorTexts):
        text = texts.text(key, value)
        columns.put(row, text, f'{{"key":{text.key},"value":{text.data}}}')
    else:
        framed = texts.text(value)
        columns.put(row, framed, None if value is None else framed.data)
