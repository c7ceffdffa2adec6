"""The Arrow schemas of the tables, made from the schema texts of the messages, with the meaning of each column as its `comment`.

A table of a record type has the columns of its envelope, then one for each field that any version has, under the name that objects give
it. Types are those that Spark's Arrow path takes: no fixed-size binary, no unsigned numbers, no dictionaries.

Spark refuses Parquet's UUID annotation (4.3: `PARQUET_TYPE_ILLEGAL`) unless the footer says in Spark's own words what type a column has.
Spark also finds comments there, which DESCRIBE shows. Its vectorized reader, the default, then takes it; the other one refuses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import pyarrow as pa

from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.codec.dispatch import METADATA_TYPES, REMOTE_LOG_TYPES
from metashell.codec.registry import MessageType, message_type
from metashell.codec.schema import FieldSchema, MessageSchema, StructSchema
from metashell.disk.names import KNOWN_LOGS, METADATA
from metashell.tables.dictionary import COMMON_TABLES, OUTCOME_TABLES, meaning_of, record_tables

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
OUTCOME: Final = (("producer_id", pa.int64()), ("transactional", pa.bool_()), ("outcome", pa.string()))
"""Behind `tombstone`, in the tables of records that a transaction may hold back or undo."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column that comes from a field; `from_key` where the field is the key's, `name` is the column's."""

    name: str
    field: FieldSchema
    from_key: bool = False


@dataclass(frozen=True, slots=True)
class RecordTable:
    """The table of one record type: the log it lies in, its number there, its messages and its columns.

    `has_outcome`: its rows may be those of transactions, and say how these ended. `key` is None in logs whose records have no keys; the
    others have tombstones, whose columns of the value are null.
    """

    name: str
    log: str
    type_id: int
    value: MessageType
    key: MessageType | None
    columns: tuple[Column, ...]
    schema: pa.Schema
    has_outcome: bool = False


def tables() -> dict[str, pa.Schema]:
    """Return the schema of every table by name."""
    found = {name: common_schema(name) for name in COMMON_TABLES}
    for log in KNOWN_LOGS:
        found.update({table.name: table.schema for table in tables_of_log(log).values()})
    return found


@cache
def tables_of_log(log: str) -> dict[int, RecordTable]:
    """Return the tables of one kind of log by record type."""
    return {type_id: _table(log, type_id, name) for type_id, name in record_tables(log).items()}


def _table(log: str, type_id: int, name: str) -> RecordTable:
    fields = [*ENVELOPE, ("version", pa.int16())]
    key, of_key = None, []
    if log in COORDINATOR_LOGS:
        coordinator = COORDINATOR_LOGS[log]
        key, value = message_type(log, coordinator.keys[type_id]), message_type(log, coordinator.values[type_id])
        fields.append(("tombstone", pa.bool_()))
        fields += OUTCOME if name in OUTCOME_TABLES else ()
        of_key = _columns(key, {name for name, _ in fields}, "key")
    else:
        value = message_type(log, (METADATA_TYPES if log == METADATA else REMOTE_LOG_TYPES)[type_id])
    of_value = _columns(value, {*(name for name, _ in fields), *(column.name for column in of_key)}, "value")
    arrow = [_named(column.name, column.field, key.schema) for column in of_key] if key is not None else []
    arrow += [_named(column.name, column.field, value.schema) for column in of_value]
    schema = pa.schema([*(pa.field(*field) for field in fields), *arrow])
    return RecordTable(name, log, type_id, value, key, (*of_key, *of_value), schema, name in OUTCOME_TABLES)


def _columns(message: MessageType, taken: set[str], side: str) -> list[Column]:
    """Return a column for each field: its name, or `key_NAME` or `value_NAME` where that is taken."""
    names = [field.attribute.rstrip("_") for field in message.schema.fields]
    return [
        Column(f"{side}_{name}" if name in taken else name, field, side == "key")
        for name, field in zip(names, message.schema.fields, strict=True)
    ]


def _named(name: str, field: FieldSchema, schema: MessageSchema) -> pa.Field:
    """Return a field that says of its bytes when they are uuids."""
    return pa.field(name, arrow_type(field, schema), metadata=UUID_MARK if field.type == "uuid" else None)


def arrow_type(field: FieldSchema, schema: MessageSchema) -> pa.DataType:
    """Arrow's type of a field; structs are structs, arrays lists."""
    element = struct_type(schema.structs[field.type], schema) if field.is_struct else ARROW_TYPES[field.type]
    return pa.list_(element) if field.is_array else element


def struct_type(struct: StructSchema, schema: MessageSchema) -> pa.DataType:
    return pa.struct([_named(field.attribute.rstrip("_"), field, schema) for field in struct.fields])


@cache
def common_schema(name: str) -> pa.Schema:
    """Return the schema of `records`, `control`, `batches` or `faults`."""
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


# ---- meanings as comments

SPARK_ROW_METADATA: Final = "org.apache.spark.sql.parquet.row.metadata"
"""The key in the footer of a Parquet file; its value is `spark_row_metadata`."""
_COMMENT: Final = b"comment"
_SPARK_TYPES: Final[dict[pa.DataType, str]] = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.uuid(): "binary",
}


def commented(table: str, schema: pa.Schema) -> pa.Schema:
    """Return the schema with the meaning of each column, and of each field of its structs, as `comment`.

    Columns that the dictionary lacks stay as they are. Two schemas that differ in comments only are equal for Arrow's writers.
    """
    return _with_all_comments(table, schema).with_metadata(schema.metadata)


@cache
def _with_all_comments(table: str, schema: pa.Schema) -> pa.Schema:
    # Schemas that differ in metadata only are one key of the cache, so what it gives says nothing of the schema's own.
    names = frozenset(schema.names)
    return pa.schema([_commented(table, field, field.name, names) for field in schema])


def _commented(table: str, field: pa.Field, path: str, siblings: frozenset[str]) -> pa.Field:
    field = field.with_type(_with_comments(table, field.type, path))
    meaning = meaning_of(table, path, siblings)
    return field if meaning is None else field.with_metadata({**(field.metadata or {}), _COMMENT: meaning.comment.encode()})


def _with_comments(table: str, kind: pa.DataType, path: str) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_with_comments(table, kind.value_type, path)))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_field, kind.item_field.with_type(_with_comments(table, kind.item_type, path)))
    if pa.types.is_struct(kind):
        names = frozenset(field.name for field in kind)
        return pa.struct([_commented(table, field, f"{path}.{field.name}", names) for field in kind])
    return kind


def with_spark_metadata(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a Parquet file with what Spark looks for in its footer."""
    return schema.with_metadata({**(schema.metadata or {}), SPARK_ROW_METADATA: spark_row_metadata(schema)})


def spark_row_metadata(schema: pa.Schema) -> str:
    """Return the schema as Spark writes it into a Parquet footer, in JSON: uuids are binary; comments are those of the fields."""
    return json.dumps({"type": "struct", "fields": [_spark_field(field) for field in schema]}, separators=(",", ":"), ensure_ascii=False)


def _spark_field(field: pa.Field) -> dict[str, Any]:
    comment = (field.metadata or {}).get(_COMMENT)
    metadata = {} if comment is None else {"comment": comment.decode()}
    return {"name": field.name, "type": _spark_type(field.type), "nullable": field.nullable, "metadata": metadata}


def _spark_type(kind: pa.DataType) -> Any:
    """Spark's name of an Arrow type that our tables have. Errors: KeyError for any other."""
    if pa.types.is_dictionary(kind):
        return _spark_type(kind.value_type)
    if pa.types.is_list(kind):
        return {"type": "array", "elementType": _spark_type(kind.value_type), "containsNull": kind.value_field.nullable}
    if pa.types.is_struct(kind):
        return {"type": "struct", "fields": [_spark_field(field) for field in kind]}
    if pa.types.is_map(kind):
        values = _spark_type(kind.item_type)
        return {"type": "map", "keyType": _spark_type(kind.key_type), "valueType": values, "valueContainsNull": True}
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return _SPARK_TYPES[kind]
