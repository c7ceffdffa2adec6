"""The tables of a chunk: each record in the table of its type, and `records`, `control`, `batches` and `faults`, which every log has.

Rows are grouped by type and version. Each group is read by columns; rows that the column reader does not understand are read as objects,
which give the same columns. Small groups are read as objects at once, since columns cost the same for one row as for a thousand.

Secrets are redacted here, by the table of codec's redaction, before any row leaves this package."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.codec.batch_writer import read_control_record
from metashell.codec.batches import CODEC_MASK
from metashell.codec.codes import TOPIC_RESOURCE
from metashell.codec.metadata_records import unknown_tags
from metashell.codec.primitives import CODEC_NAMES
from metashell.codec.record_text import control_text
from metashell.codec.redaction import is_sensitive_config, secrets_of, shown_bytes
from metashell.codec.registry import MessageType
from metashell.common.errors import DecodeError
from metashell.common.runtime import PausedCollector
from metashell.common.values import REDACTED
from metashell.tables.columns.chunk_records import (
    ChunkRecords,
    OddRow,
    Outcomes,
    Place,
    Texts,
    envelope_arrays,
    spread,
    text_columns,
    texts_of_log,
)
from metashell.tables.columns.column_reader import ColumnReader, column_of_objects
from metashell.tables.columns.record_walk import NULL, Rows
from metashell.tables.columns.vectors import UNKNOWN_RECORD, Buffer, Fault, Headers, Ints, Mask
from metashell.tables.read_options import ReadOptions
from metashell.tables.schemas import BATCHES, CONTROL, FAULTS, RECORDS, RecordTable, common_schema, tables_of_log

VECTOR_ROWS_MIN = 24
"""Groups of fewer rows are read as objects: about 5 us a row, against 150 us a group by columns."""


@dataclass(frozen=True, slots=True)
class _Group:
    """The rows of one type and version in a chunk; `chosen` are their places among the typed rows."""

    table: RecordTable
    version: int
    records: ChunkRecords
    chosen: Ints

    @property
    def is_tombstone(self) -> bool:
        """Return whether there are no values. In logs without keys, -1 is a version like any other that is not known."""
        return self.version == NULL and self.table.key is not None

    def sides(self) -> Iterator[tuple[MessageType, int, Ints, Ints]]:
        """Key and value: the message, its version, and where the bodies start and end."""
        typed = self.records.typed
        if self.table.key is not None:
            yield self.table.key, 0, typed.key_starts, typed.key_ends
        if not self.is_tombstone:
            yield self.table.value, self.version, typed.starts, typed.ends

    def batch(self, rows: Ints, arrays: list[pa.Array], fields: Collection[str] | None) -> pa.RecordBatch:
        """Return some of the rows, whose fields are in `arrays`; `fields` names the columns that are wanted."""
        count = len(rows)
        middle = [pa.nulls(count, pa.int16()) if self.is_tombstone else pa.array(np.full(count, self.version, np.int16))]
        if self.table.key is not None:
            middle.append(pa.array(np.full(count, self.is_tombstone, np.bool_)))
        if self.table.has_outcome:
            middle += self.records.outcome_arrays(rows)
        envelope = self.records.envelope(self.records.typed.rows, rows, fields)
        return pa.RecordBatch.from_arrays([*envelope, *middle, *arrays], schema=self.table.schema)


class RecordTables:
    """Makes the record tables of one kind of log."""

    def __init__(self, log: str, options: ReadOptions) -> None:
        self.log = log
        self.options = options
        self.tables = tables_of_log(log)
        self.rows_min = VECTOR_ROWS_MIN
        self._readers: dict[tuple[str, int], ColumnReader | None] = {}
        self._texts = texts_of_log(log, show_secrets=options.show_secrets)

    @property
    def need_outcomes(self) -> bool:
        """Return whether rows of a wanted table say how their transactions ended."""
        return any(table.has_outcome and self.options.wants(table.name) for table in self.tables.values())

    def read(
        self, headers: Headers, buffer: Buffer, rows: Rows, place: Place, outcomes: Outcomes = None
    ) -> tuple[list[tuple[str, pa.RecordBatch]], list[Fault]]:
        """Return the tables of the data records, and the records that could not be read. `outcomes` are those of `batch_outcomes`."""
        if not len(rows):
            return [], []
        records = ChunkRecords(self.log, headers, buffer, rows, place, outcomes)
        found: list[tuple[str, pa.RecordBatch]] = []
        faults = [_fault(records, row, reason, is_serious) for row, reason, is_serious in records.typed.odd]
        for (type_id, version), chosen in records.typed.groups():
            table = self.tables.get(type_id)
            if table is not None and self.options.wants(table.name):
                part, bad = self._read_group(_Group(table, version, records, chosen))
                if part is not None:
                    found.append((table.name, part if self.options.show_secrets else redact_columns(table, part)))
                faults += [_fault(records, row, reason, is_serious) for row, reason, is_serious in bad]
        if self.options.wants(RECORDS):
            found.append((RECORDS, records_table(records, self._texts, self.options.payloads, self.options.payload_types)))
        return found, faults

    def _read_group(self, group: _Group) -> tuple[pa.RecordBatch | None, list[OddRow]]:
        """Return the rows of a group that decode, in order, and the findings about these and the others."""
        odd, arrays = self._by_columns(group)
        usual = group.chosen if odd is None else group.chosen[~odd]
        parts = [group.batch(usual, arrays, self.options.fields)] if len(usual) else []
        if odd is None:
            return parts[0], []
        with PausedCollector():  # until the objects are gone
            rest, arrays, bad = _by_objects(group, group.chosen[odd])
        if len(rest):
            parts.append(group.batch(rest, arrays, self.options.fields))
        if len(parts) < 2:
            return parts[0] if parts else None, bad
        order = np.argsort(np.concatenate([usual, rest]), kind="stable")
        return pa.Table.from_batches(parts).take(pa.array(order)).combine_chunks().to_batches()[0], bad

    def _by_columns(self, group: _Group) -> tuple[Mask | None, list[pa.Array]]:
        """Return the rows that are left to objects (None: no row is), and the columns of the others."""
        all_odd = np.ones(len(group.chosen), np.bool_)
        if len(group.chosen) < self.rows_min or group.is_tombstone:
            return all_odd, []
        decoded = []
        for message, version, starts, ends in group.sides():
            reader = self._reader(message, version)
            if reader is None:
                return all_odd, []
            decoded.append(reader.read(group.records.buffer, starts[group.chosen], ends[group.chosen]))
        masks = [side.odd for side in decoded if side.odd is not None]
        odd: Mask | None = np.logical_or.reduce(masks) if masks else None
        good = None if odd is None else np.flatnonzero(~odd)
        # Keys come first, as in `sides`.
        cells = [decoded[0 if column.from_key else -1].cells[column.field.attribute] for column in group.table.columns]
        count = len(group.chosen) if good is None else len(good)
        return odd, [
            cell.arrow(group.records.buffer, good) if self._is_wanted(group.table, field.name) else pa.nulls(count, field.type)
            for cell, field in zip(cells, list(group.table.schema)[len(group.table.schema) - len(cells) :], strict=True)
        ]

    def _is_wanted(self, table: RecordTable, column: str) -> bool:
        fields = self.options.fields
        return fields is None or column in fields or secrets_of(table.value).has_configs

    def _reader(self, message: MessageType, version: int) -> ColumnReader | None:
        known = (message.name, version)
        if known not in self._readers:
            reader = ColumnReader(message, version)
            self._readers[known] = reader if reader.is_possible else None
        return self._readers[known]


def _by_objects(group: _Group, chosen: Ints) -> tuple[Ints, list[pa.Array], list[OddRow]]:
    """Return the rows that decode, their columns made from objects, and the other rows, and those with fields that no column has.

    What has the same bytes is decoded once: each node of a cluster has a copy of its log, and brokers register with what they had before.
    """
    data = group.records.buffer.data
    sides = [(message.reader(version), starts[chosen].tolist(), ends[chosen].tolist()) for message, version, starts, ends in group.sides()]
    no_value = [None] if group.is_tombstone else []
    objects: list[list[Any]] = []
    known: dict[tuple[bytes, ...], int] = {}
    places: list[int] = []
    kept: list[int] = []
    bad: list[OddRow] = []
    unread: dict[int, str] = {}
    is_newer = any(version > message.versions[1] for message, version, _, _ in group.sides())
    for at, row in enumerate(chosen.tolist()):
        record = tuple([bytes(data[starts[at] : ends[at]]) for _, starts, ends in sides])
        place = known.get(record)
        if place is None:
            try:
                made_of = [read(data, starts[at], ends[at]) for read, starts, ends in sides]
            except DecodeError as error:
                bad.append((row, str(error), not is_newer))
                continue
            objects.append(made_of + no_value)
            place = known[record] = len(known)
            tag = next((tag for body in made_of for tag in unknown_tags(body)), None)
            if tag is not None:
                unread[place] = f"{group.table.value.name} tag {tag} is not known"
        if place in unread:
            bad.append((row, unread[place], False))
        places.append(place)
        kept.append(row)
    arrays = []
    spread = pa.array(np.array(places, np.int64)) if len(objects) < len(kept) else None
    for column in group.table.columns:
        message = group.table.key if column.from_key else group.table.value
        assert message is not None
        made = column_of_objects([each[0 if column.from_key else -1] for each in objects], column.field, message.schema)
        arrays.append(made if spread is None else made.take(spread))
    return np.array(kept, np.int64), arrays, bad


def _fault(records: ChunkRecords, row: int, reason: str, is_serious: bool) -> Fault:
    """Return a record that is at fault; `row` is its place among the typed rows."""
    rows = records.typed.rows
    _, value = rows.record(records.buffer, row)
    return Fault(
        kind="bad-record" if is_serious else UNKNOWN_RECORD,
        offset=int(rows.offset[row]),
        position=int(records.headers.position[rows.batch[row]]),
        size=len(value or b""),
        reason=reason,
        harmless=None if value is None else shown_bytes(value),
        data=value,
        is_serious=is_serious,
    )


# ---- secrets

_MARK = "metashell.show_secrets"


def marked_schema(schema: pa.Schema, *, show_secrets: bool) -> pa.Schema:
    """Return a file's schema that says whether secrets are shown."""
    return schema.with_metadata({_MARK: str(show_secrets).lower()})


def redact_columns(table: RecordTable, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with their secrets replaced by `[redacted]`; null stays null."""
    secrets = secrets_of(table.value)
    if secrets.has_configs:
        return _redact_configs(batch)
    if secrets.has_topic_configs:
        return _redact_topic_configs(batch)
    for column in table.columns:
        if column.field.json_name in secrets.fields:
            name = column.name
            batch = _replaced(batch, name, pc.is_valid(batch.column(name)))
    return batch


def _redact_configs(batch: pa.RecordBatch) -> pa.RecordBatch:
    pairs = list(zip(batch.column("resource_type").to_pylist(), batch.column("name").to_pylist(), strict=True))
    judged = {pair: is_sensitive_config(*pair) for pair in set(pairs)}
    if not any(judged.values()):
        return batch
    hidden = pc.and_(pa.array([judged[pair] for pair in pairs]), pc.is_valid(batch.column("value")))
    return _replaced(batch, "value", hidden)


def _redact_topic_configs(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Hide settings of topics at any depth of a column. Few records have any."""
    for index, field in enumerate(batch.schema):
        if TOPIC_CONFIGS in str(field.type):
            values = batch.column(index).to_pylist()
            shown = [_without_secret_settings(value) for value in values]
            if shown != values:
                batch = batch.set_column(index, field, pa.array(shown, field.type))
    return batch


TOPIC_CONFIGS = "topic_configs"


def _without_secret_settings(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_secret_settings(one) for one in value]
    if not isinstance(value, dict):
        return value
    shown = {name: _without_secret_settings(one) for name, one in value.items()}
    for pair in shown.get(TOPIC_CONFIGS) or ():
        if is_sensitive_config(TOPIC_RESOURCE, pair.get("key") or ""):
            pair["value"] = REDACTED
    return shown


def _replaced(batch: pa.RecordBatch, name: str, hidden: pa.Array) -> pa.RecordBatch:
    kind = batch.schema.field(name).type
    word = pa.scalar(REDACTED.encode() if pa.types.is_binary(kind) else REDACTED, kind)
    index = batch.schema.get_field_index(name)
    return batch.set_column(index, batch.schema.field(name), pc.if_else(hidden, word, batch.column(name)))


# ---- the tables that every log has

_CODECS = [CODEC_NAMES[codec] if codec < len(CODEC_NAMES) else f"unknown({codec})" for codec in range(CODEC_MASK + 1)]


def _batch(name: str, arrays: list[Any]) -> pa.RecordBatch:
    schema = common_schema(name)
    typed = [array if isinstance(array, pa.Array) else pa.array(array, schema.field(index).type) for index, array in enumerate(arrays)]
    return pa.RecordBatch.from_arrays(typed, schema=schema)


def records_table(records: ChunkRecords, texts: Texts, payloads: bool, payload_types: Collection[str] | None) -> pa.RecordBatch:
    """Return all records of a chunk with their JSON text, or with that of some types."""
    rows = records.rows
    kind, name, version, payload, fault = text_columns(records, texts, with_payloads=payloads, payload_types=payload_types)
    size = pa.array(np.maximum(rows.value_size, 0).astype(np.int32))
    return _batch(
        RECORDS, [*records.envelope(rows), kind, name, version, size, payload, fault, *records.place.kind_arrays(len(rows), rows.batch)]
    )


def control_table(headers: Headers, buffer: Buffer, rows: Rows, place: Place, show_secrets: bool) -> list[pa.RecordBatch]:
    """Return the control records of a chunk, if it has any."""
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
    """Return the leader that a LEADER_CHANGE record names."""
    try:
        leader_id: int | None = getattr(read_control_record(key, value).body, "leader_id", None)
    except DecodeError:
        return None
    return leader_id


def batches_table(headers: Headers, place: Place) -> pa.RecordBatch:
    """Return one row a batch, from its header."""
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
    """Return one row for each fault. Only bytes that can hold no secret are shown, unless secrets are wanted."""
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
