"""The tables that every kind of log has: `records`, `control`, `batches` and `faults`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa

from metashell.codec.batches import CODEC_MASK
from metashell.codec.compression import CODEC_NAMES
from metashell.codec.control import read_control_record
from metashell.codec.record_text import control_text
from metashell.columns.decode.chunk_records import ChunkRecords, envelope_arrays
from metashell.columns.decode.faults import Fault
from metashell.columns.decode.headers import Headers
from metashell.columns.decode.payloads import Texts, text_columns
from metashell.columns.decode.place import Place, spread
from metashell.columns.decode.rows import Rows
from metashell.columns.decode.vectors import Buffer
from metashell.columns.schemas import BATCHES, CONTROL, FAULTS, RECORDS, common_schema
from metashell.errors import DecodeError

_CODECS = [CODEC_NAMES[codec] if codec < len(CODEC_NAMES) else f"unknown({codec})" for codec in range(CODEC_MASK + 1)]


def _batch(name: str, arrays: list[Any]) -> pa.RecordBatch:
    schema = common_schema(name)
    typed = [array if isinstance(array, pa.Array) else pa.array(array, schema.field(index).type) for index, array in enumerate(arrays)]
    return pa.RecordBatch.from_arrays(typed, schema=schema)


def records_table(records: ChunkRecords, texts: Texts, payloads: bool, payload_types: Collection[str] | None) -> pa.RecordBatch:
    """All records of a chunk with their JSON text, or with that of some types."""
    rows = records.rows
    kind, name, version, payload, fault = text_columns(records, texts, with_payloads=payloads, payload_types=payload_types)
    size = pa.array(np.maximum(rows.value_size, 0).astype(np.int32))
    return _batch(
        RECORDS, [*records.envelope(rows), kind, name, version, size, payload, fault, *records.place.kind_arrays(len(rows), rows.batch)]
    )


def control_table(headers: Headers, buffer: Buffer, rows: Rows, place: Place, show_secrets: bool) -> list[pa.RecordBatch]:
    """The control records of a chunk, if it has any."""
    is_control = headers.is_control
    if not is_control.any():
        return []
    chosen = np.flatnonzero(is_control[rows.batch])
    if not len(chosen):
        return []
    records = [rows.record(buffer, row) for row in chosen.tolist()]
    texts = [control_text(key, value, show_secrets=show_secrets) for key, value in records]
    return [
        _batch(
            CONTROL,
            [
                *envelope_arrays(headers, rows, chosen, place),
                [text.type_name for text in texts],
                [text.version for text in texts],
                [_leader_id(key, value) for key, value in records],
                headers.producer_id[rows.batch[chosen]],
                [None if value is None else text.data for text, (_, value) in zip(texts, records, strict=True)],
                [text.fault for text in texts],
            ],
        )
    ]


def _leader_id(key: bytes | None, value: bytes | None) -> int | None:
    """The leader that a LEADER_CHANGE record names."""
    try:
        leader_id: int | None = getattr(read_control_record(key, value).body, "leader_id", None)
    except DecodeError:
        return None
    return leader_id


def batches_table(headers: Headers, place: Place) -> pa.RecordBatch:
    """One row a batch, from its header."""
    return _batch(
        BATCHES,
        [
            *place.arrays(len(headers), np.arange(len(headers))),
            headers.base_offset,
            headers.leader_epoch,
            headers.max_timestamp,
            headers.last_offset,
            headers.count,
            headers.position,
            headers.size,
            headers.magic,
            headers.crc,
            spread(_CODECS, headers.codec_id.astype(np.int64)),
            headers.base_timestamp,
            headers.is_log_append_time,
            headers.is_transactional,
            headers.is_control,
            headers.producer_id,
            headers.producer_epoch,
            headers.base_sequence,
        ],
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
    )
