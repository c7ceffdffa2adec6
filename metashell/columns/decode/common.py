"""The tables that every kind of log has: `records`, `control`, `batches` and `faults`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from metashell.codec.compression import CODEC_NAMES
from metashell.columns.decode.faults import Fault
from metashell.columns.decode.headers import Headers
from metashell.columns.decode.payloads import control_text, told_columns
from metashell.columns.decode.place import Place
from metashell.columns.decode.rows import Rows
from metashell.columns.decode.vectors import Buffer, Ints, Mask
from metashell.columns.schemas import BATCHES, CONTROL, FAULTS, RECORDS, common_schema

if TYPE_CHECKING:
    from metashell.columns.decode.typed_rows import RowText, TypedRows


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
    kind, name, version, payload, fault = told_columns(buffer, rows, is_control, typed, texts, with_payloads=payloads)
    size = pa.array(np.maximum(rows.value_size, 0).astype(np.int32))
    envelope = envelope_arrays(headers, rows, np.arange(len(rows)), place)
    return _batch(RECORDS, [*envelope, kind, name, version, size, payload, fault, *place.kind_arrays(len(rows))], place)


def control_table(headers: Headers, buffer: Buffer, rows: Rows, place: Place, show_secrets: bool) -> list[pa.RecordBatch]:
    """The control records of a chunk, if it has any."""
    is_control = headers.is_control
    if not is_control.any():
        return []
    chosen = np.flatnonzero(is_control[rows.batch])
    if not len(chosen):
        return []
    part = rows.part(chosen)
    columns = (part.key_start, part.key_size, part.value_start, part.value_size)
    places = zip(*(column.tolist() for column in columns), strict=True)
    texts = [control_text(buffer.data, *row, show_secrets=show_secrets) for row in places]
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


def faults_table(faults: list[Fault], place: Place, *, show_secrets: bool) -> pa.RecordBatch:
    """One row a fault. Only bytes that can hold no secret are shown, unless secrets are asked for."""
    return _batch(
        FAULTS,
        [
            *place.arrays(len(faults)),
            [fault.offset for fault in faults],
            [fault.position for fault in faults],
            [fault.size for fault in faults],
            [fault.kind for fault in faults],
            [fault.reason for fault in faults],
            [fault.data if show_secrets else fault.harmless for fault in faults],
        ],
        place,
    )
