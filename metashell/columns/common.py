"""The tables that every kind of log has: `records`, `control`, `batches` and `faults`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from metashell.codec.compression import CODEC_NAMES
from metashell.codec.control import read_control_record, value_layout
from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.codec.jsontext import object_json
from metashell.columns.faults import Fault
from metashell.columns.headers import Headers
from metashell.columns.place import Place
from metashell.columns.rows import Rows
from metashell.columns.schemas import BATCHES, CONTROL, FAULTS, RECORDS, common_schema
from metashell.columns.vectors import Buffer, Ints, Mask
from metashell.errors import DecodeError

if TYPE_CHECKING:
    from metashell.columns.typed_rows import RowText, TypedRows


def envelope_arrays(headers: Headers, rows: Rows, chosen: Ints, place: Place) -> list[pa.Array]:
    """The columns that every record has: cluster, file, offset, epoch and timestamp."""
    return [
        *place.arrays(len(chosen)),
        pa.array(rows.offset[chosen]),
        pa.array(headers.leader_epoch[rows.batch[chosen]]),
        pa.array(rows.timestamp[chosen]),
    ]


def _batch(name: str, arrays: list[Any], place: Place) -> pa.RecordBatch:
    schema = common_schema(name)
    typed = [array if isinstance(array, pa.Array) else pa.array(array, schema.field(index).type) for index, array in enumerate(arrays)]
    return pa.RecordBatch.from_arrays(typed, schema=schema)


def records_table(
    headers: Headers, buffer: Buffer, rows: Rows, is_control: Mask, typed: TypedRows, place: Place, texts: RowText, payloads: bool
) -> pa.RecordBatch:
    """Every record of a chunk, whatever it is, with its JSON text."""
    told: list[tuple[str | None, int | None, str | None, str | None]] = []
    kinds: list[str] = []
    data = buffer.data
    is_coordinator = texts.log in COORDINATOR_LOGS
    columns = (rows.key_start, rows.key_size, rows.value_start, rows.value_size, is_control)
    for key_start, key_size, start, size, control in zip(*(column.tolist() for column in columns), strict=True):
        kinds.append("control" if control else "record")
        if control:
            one = control_text(data, key_start, key_size, start, size)
            told.append((one.type_name, one.version, one.payload, one.fault))
        elif is_coordinator:
            told.append(texts.coordinator(data, key_start, key_size, start, size))
        else:
            told.append(texts.metadata(data, start, size))
    names, versions, payload, faults = zip(*told, strict=True)
    everything = np.arange(len(rows))
    return _batch(
        RECORDS,
        [
            *envelope_arrays(headers, rows, everything, place),
            kinds,
            names,
            versions,
            pa.array(np.maximum(rows.value_size, 0).astype(np.int32)),
            payload if payloads else pa.nulls(len(rows), pa.string()),
            faults,
        ],
        place,
    )


class ControlText:
    """A control record as the tables show it."""

    __slots__ = ("fault", "leader_id", "payload", "producer_id", "type_name", "version")

    def __init__(self, type_name: str | None, version: int | None, payload: str | None, fault: str | None, leader_id: int | None) -> None:
        self.type_name = type_name
        self.version = version
        self.payload = payload
        self.fault = fault
        self.leader_id = leader_id


def control_text(data: bytes, key_start: int, key_size: int, start: int, size: int) -> ControlText:
    """What a control record says; never raises for what it holds."""
    key = data[key_start : key_start + key_size] if key_size >= 0 else None
    value = data[start : start + size] if size >= 0 else None
    try:
        record = read_control_record(key, value)
    except DecodeError as error:
        return ControlText(None, None, None if value is None else f'"{value.hex()}"', str(error), None)
    message = record.message
    if message is None:
        return ControlText(record.type_name, record.version, f'"{record.body.hex()}"', record.fault, None)
    text = object_json(message, record.body, value_layout(message, record.version))
    return ControlText(record.type_name, record.version, text, record.fault, getattr(record.body, "leader_id", None))


def control_table(headers: Headers, buffer: Buffer, rows: Rows, place: Place) -> list[pa.RecordBatch]:
    """The control records of a chunk, if it has any."""
    is_control = headers.is_control
    if not is_control.any():
        return []
    chosen = np.flatnonzero(is_control[rows.batch])
    if not len(chosen):
        return []
    part = rows.part(chosen)
    columns = (part.key_start, part.key_size, part.value_start, part.value_size)
    texts = [control_text(buffer.data, *row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    return [
        _batch(
            CONTROL,
            [
                *envelope_arrays(headers, rows, chosen, place),
                [text.type_name for text in texts],
                [text.version for text in texts],
                [text.leader_id for text in texts],
                headers.producer_id[part.batch],
                [text.payload for text in texts],
                [text.fault for text in texts],
            ],
            place,
        )
    ]


def batches_table(headers: Headers, place: Place) -> pa.RecordBatch:
    """One row a batch, from its header."""
    codecs = headers.codec_id.tolist()
    return _batch(
        BATCHES,
        [
            *place.arrays(len(headers)),
            headers.base_offset,
            headers.leader_epoch,
            headers.max_timestamp,
            headers.last_offset,
            headers.count,
            headers.position,
            headers.size,
            headers.magic,
            headers.crc,
            [CODEC_NAMES[codec] if codec < len(CODEC_NAMES) else f"unknown({codec})" for codec in codecs],
            headers.base_timestamp,
            headers.is_log_append_time,
            headers.is_transactional,
            headers.is_control,
            headers.producer_id,
            headers.producer_epoch,
            headers.base_sequence,
        ],
        place,
    )


def faults_table(faults: list[Fault], place: Place, *, with_bytes: bool) -> pa.RecordBatch:
    """One row a fault. Of a metadata log only the bytes that can hold no secret are shown, unless secrets are asked for."""
    return _batch(
        FAULTS,
        [
            *place.arrays(len(faults)),
            [fault.offset for fault in faults],
            [fault.position for fault in faults],
            [fault.size for fault in faults],
            [fault.kind for fault in faults],
            [fault.reason for fault in faults],
            [fault.data if with_bytes else fault.head for fault in faults],
        ],
        place,
    )
