"""The tables and their Arrow schemas, from the schema texts of the messages.

A table of a record type has the columns of its envelope, then one for each field that any version has, under the name that
objects give it. Types are those that Spark's Arrow path takes: no fixed-size binary, no unsigned numbers, no dictionaries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.codec.dispatch import METADATA_TYPES, REMOTE_LOG_TYPES
from metashell.codec.registry import MessageType, message_type
from metashell.codec.schema import FieldSchema, MessageSchema, StructSchema
from metashell.columns.names import COMMON_TABLES, key_table_name, record_table_name

ARROW_TYPES = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "uint16": pa.int32(),
    "int32": pa.int32(),
    "uint32": pa.int64(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "uuid": pa.binary(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "records": pa.binary(),
}
"""Arrow's type of each primitive. A uuid is its 16 bytes; wider signed types stand in for unsigned ones."""

UUID_MARK = {"kafka": "uuid"}
"""Metadata of the fields whose bytes are uuids."""

PLACE = (("cluster_id", pa.string()), ("file", pa.string()))
ENVELOPE = (*PLACE, ("offset", pa.int64()), ("epoch", pa.int32()), ("timestamp", pa.int64()))
"""Before the fields of every row. Units: `timestamp` is Unix milliseconds, as in all JSON of ours."""
RECORDS, CONTROL, BATCHES, FAULTS = "records", "control", "batches", "faults"


@dataclass(frozen=True, slots=True)
class Column:
    """A column that comes from a field; `from_key` where the field is the key's, `name` is the column's."""

    name: str
    field: FieldSchema
    from_key: bool = False


@dataclass(frozen=True, slots=True)
class RecordTable:
    """The table of one record type: the log it lies in, its number there, its messages and its columns.

    `key` is None in logs whose records have no keys; the others have tombstones, whose columns of the value are null.
    """

    name: str
    log: str
    type_id: int
    value: MessageType
    key: MessageType | None
    columns: tuple[Column, ...]
    schema: pa.Schema


def tables() -> dict[str, pa.Schema]:
    """The schema of every table by name."""
    found = {name: _common_schema(name) for name in COMMON_TABLES}
    for log in ("metadata", *COORDINATOR_LOGS, "remote_log"):
        found.update({table.name: table.schema for table in tables_of_log(log).values()})
    return found


@cache
def tables_of_log(log: str) -> dict[int, RecordTable]:
    """The tables of one kind of log by record type."""
    if log in COORDINATOR_LOGS:
        coordinator = COORDINATOR_LOGS[log]
        return {
            key: _coordinator_table(log, key, coordinator.keys[key], coordinator.values[key])
            for key in coordinator.keys
            if key in coordinator.values
        }
    names = METADATA_TYPES if log == "metadata" else REMOTE_LOG_TYPES
    return {key: _record_table(log, key, message_type(log, name)) for key, name in names.items()}


def _record_table(log: str, type_id: int, message: MessageType) -> RecordTable:
    taken = {name for name, _ in ENVELOPE} | {"version"}
    columns = tuple(Column(_free(field, taken), field) for field in message.schema.fields)
    fields = [*ENVELOPE, ("version", pa.int16())]
    schema = pa.schema([pa.field(*field) for field in fields] + [_arrow_field(column, message.schema) for column in columns])
    return RecordTable(record_table_name(message.name), log, type_id, message, None, columns, schema)


def _coordinator_table(log: str, type_id: int, key_name: str, value_name: str) -> RecordTable:
    key, value = message_type(log, key_name), message_type(log, value_name)
    fields = [*ENVELOPE, ("version", pa.int16()), ("tombstone", pa.bool_())]
    taken = {name for name, _ in fields}
    of_key = [Column(_free(field, taken, "key"), field, from_key=True) for field in key.schema.fields]
    taken |= {column.name for column in of_key}
    of_value = [Column(_free(field, taken), field) for field in value.schema.fields]
    arrow = [_arrow_field(column, key.schema) for column in of_key] + [_arrow_field(column, value.schema) for column in of_value]
    schema = pa.schema([pa.field(*field) for field in fields] + arrow)
    return RecordTable(key_table_name(key_name), log, type_id, value, key, (*of_key, *of_value), schema)


def _free(field: FieldSchema, taken: set[str], prefix: str = "value") -> str:
    """A field's name, `value_NAME` where the envelope or the key has a column of that name already."""
    name = field.attribute.rstrip("_")
    return f"{prefix}_{name}" if name in taken else name


def _arrow_field(column: Column, schema: MessageSchema) -> pa.Field:
    return _named(column.name, column.field, schema)


def _named(name: str, field: FieldSchema, schema: MessageSchema) -> pa.Field:
    """A field that says of its bytes when they are uuids."""
    return pa.field(name, arrow_type(field, schema), metadata=UUID_MARK if field.type == "uuid" else None)


def arrow_type(field: FieldSchema, schema: MessageSchema) -> pa.DataType:
    """Arrow's type of a field; structs are structs, arrays lists."""
    element = struct_type(schema.structs[field.type], schema) if field.is_struct else ARROW_TYPES[field.type]
    return pa.list_(element) if field.is_array else element


def struct_type(struct: StructSchema, schema: MessageSchema) -> pa.DataType:
    return pa.struct([_named(field.attribute.rstrip("_"), field, schema) for field in struct.fields])


@cache
def _common_schema(name: str) -> pa.Schema:
    fields: dict[str, tuple[tuple[str, pa.DataType], ...]] = {
        RECORDS: (
            *ENVELOPE,
            ("kind", pa.string()),
            ("type", pa.string()),
            ("version", pa.int16()),
            ("size", pa.int32()),
            ("payload", pa.string()),
            ("fault", pa.string()),
            ("log", pa.string()),
            ("checkpoint", pa.string()),
        ),
        CONTROL: (
            *ENVELOPE,
            ("type", pa.string()),
            ("version", pa.int16()),
            ("leader_id", pa.int32()),
            ("producer_id", pa.int64()),
            ("payload", pa.string()),
            ("fault", pa.string()),
        ),
        BATCHES: (
            *ENVELOPE,
            ("last_offset", pa.int64()),
            ("count", pa.int32()),
            ("position", pa.int64()),
            ("size", pa.int32()),
            ("magic", pa.int8()),
            ("crc", pa.int64()),
            ("codec", pa.string()),
            ("base_timestamp", pa.int64()),
            ("is_log_append_time", pa.bool_()),
            ("is_transactional", pa.bool_()),
            ("is_control", pa.bool_()),
            ("producer_id", pa.int64()),
            ("producer_epoch", pa.int16()),
            ("base_sequence", pa.int32()),
        ),
        FAULTS: (
            *PLACE,
            ("offset", pa.int64()),
            ("position", pa.int64()),
            ("size", pa.int64()),
            ("kind", pa.string()),
            ("reason", pa.string()),
            ("bytes", pa.binary()),
        ),
    }
    return pa.schema([pa.field(*field) for field in fields[name]])


def common_schema(name: str) -> pa.Schema:
    """The schema of `records`, `control`, `batches` or `faults`."""
    return _common_schema(name)
