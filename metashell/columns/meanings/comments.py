"""Meanings in schemas: `comment` in Arrow's field metadata, and Spark's schema in the footer of Parquet files.

Spark refuses Parquet's UUID annotation (4.3: `PARQUET_TYPE_ILLEGAL`) unless the footer says in Spark's own words what type a column has.
There it also finds comments, which DESCRIBE shows. Seen with its vectorized reader, which is the default; the other one refuses still.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Final

import pyarrow as pa

from metashell.columns.meanings.companions import meaning_of

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
    """The schema with the meaning of each column, and of each field of its structs, as `comment`.

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
    """The schema of a Parquet file with what Spark looks for in its footer."""
    return schema.with_metadata({**(schema.metadata or {}), SPARK_ROW_METADATA: spark_row_metadata(schema)})


def spark_row_metadata(schema: pa.Schema) -> str:
    """The schema as Spark writes it into the footer of a Parquet file, in JSON: uuids are binary; comments are those of the fields."""
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
