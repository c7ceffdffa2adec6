"""What `records` tells of each record: its kind, type, version, JSON text and fault.

Records of one type and version share all but the text, which codec writes straight from the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from metashell.codec.control import read_control_record, value_layout
from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.codec.redaction import hex_text
from metashell.columns.decode.rows import Rows
from metashell.columns.decode.typed_rows import OTHER, RowText, TypedRows
from metashell.columns.decode.vectors import Array, Buffer, Mask
from metashell.errors import DecodeError

_NO_VERSION = 1 << 20
Told = tuple[str | None, int | None, str | None, str | None]
"""Type, version, payload and fault of one record."""


@dataclass(slots=True)
class _Columns:
    """The columns on their way: names as indexes of `names`, -1 for none."""

    codes: Array
    versions: Array
    payloads: list[str | None]
    faults: list[str | None]
    names: dict[str, int] = field(default_factory=dict)

    def code(self, name: str | None) -> int:
        return -1 if name is None else self.names.setdefault(name, len(self.names))

    def tell(self, row: int, told: Told) -> None:
        name, version, self.payloads[row], self.faults[row] = told
        self.codes[row] = self.code(name)
        self.versions[row] = _NO_VERSION if version is None else version

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


def told_columns(buffer: Buffer, rows: Rows, is_control: Mask, typed: TypedRows, texts: RowText, *, with_payloads: bool) -> list[pa.Array]:
    """The columns kind, type, version, payload and fault of all records; `typed` are those that are no control records.

    Without payloads the bodies of records are not looked into, so that only their frames can be at fault.
    """
    count = len(rows)
    columns = _Columns(np.full(count, -1, np.int32), np.full(count, _NO_VERSION, np.int32), [None] * count, [None] * count)
    numbers = np.flatnonzero(~is_control)
    for row in np.flatnonzero(is_control).tolist():
        control = control_text(buffer.data, *_places(rows, row), show_secrets=texts.show_secrets)
        columns.tell(row, (control.type_name, control.version, control.payload, control.fault))
    if texts.log in COORDINATOR_LOGS:
        for row in numbers.tolist():
            columns.tell(row, texts.coordinator(buffer.data, *_places(rows, row)))
        return columns.arrow(is_control, with_payloads=with_payloads)
    for (type_id, version), chosen in typed.groups():
        name, fault, write = texts.group(type_id, version)
        of_group = numbers[chosen]
        columns.codes[of_group] = columns.code(name)
        columns.versions[of_group] = version
        if fault is not None:
            for row in of_group.tolist():
                columns.faults[row] = fault
        if with_payloads:
            payloads, data = columns.payloads, buffer.data
            for row, start, end in zip(of_group.tolist(), typed.starts[chosen].tolist(), typed.ends[chosen].tolist(), strict=True):
                try:
                    payloads[row] = write(data, start, end)
                except DecodeError:
                    columns.tell(row, texts.metadata(data, *_places(rows, row)[2:]))
    for row in numbers[typed.types == OTHER].tolist():
        columns.tell(row, texts.metadata(buffer.data, *_places(rows, row)[2:]))
    return columns.arrow(is_control, with_payloads=with_payloads)


def _places(rows: Rows, row: int) -> tuple[int, int, int, int]:
    return int(rows.key_start[row]), int(rows.key_size[row]), int(rows.value_start[row]), int(rows.value_size[row])


class ControlText:
    """A control record as the tables show it."""

    __slots__ = ("fault", "leader_id", "payload", "type_name", "version")

    def __init__(self, type_name: str | None, version: int | None, payload: str | None, fault: str | None, leader_id: int | None) -> None:
        self.type_name = type_name
        self.version = version
        self.payload = payload
        self.fault = fault
        self.leader_id = leader_id


def control_text(data: bytes, key_start: int, key_size: int, start: int, size: int, *, show_secrets: bool) -> ControlText:
    """What a control record says; never raises for what it holds."""
    key = data[key_start : key_start + key_size] if key_size >= 0 else None
    value = data[start : start + size] if size >= 0 else None
    try:
        record = read_control_record(key, value)
    except DecodeError as error:
        return ControlText(None, None, None if value is None else hex_text(value, show_secrets=show_secrets), str(error), None)
    message = record.message
    if message is None:
        return ControlText(record.type_name, record.version, hex_text(record.body, show_secrets=show_secrets), record.fault, None)
    text = message.object_json(record.body, value_layout(message, record.version))
    return ControlText(record.type_name, record.version, text, record.fault, getattr(record.body, "leader_id", None))
