"""The typed form of each table of events: its schema, and what makes it of raw batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from metashell.codec.schema import NO_DEFAULT, FieldSchema, MessageSchema
from metashell.columns.names import COMMON_TABLES, log_of_table
from metashell.columns.schemas import RecordTable, common_schema, tables, tables_of_log
from metashell.columns.typed.parts import Blob, Code, Id, ListOf, Map, Part, Same, Struct, Time
from metashell.columns.typed.shapes import plain_type, shaped, shaped_batch, shaped_field, shaped_schema, spark_type
from metashell.columns.typed.times import NO_TIME
from metashell.columns.typed.words import BLOBS, CODES, MAPS, PROTOCOL_TYPE
from metashell.values import directory_text

_OWN_TIMES: Final = frozenset(("timestamp", "base_timestamp"))
"""Times of the columns that come from no field of a record: those of batches and their records."""
_DIRECTORIES: Final = frozenset(("directories", "log_dirs", "cordoned_log_dirs"))
"""Ids of log directories, of which some are words: MIGRATING, UNASSIGNED, LOST."""
_CONSUMER: Final = "consumer"


@cache
def typed_schema(table: str) -> pa.Schema:
    """The columns and types of a table's typed form."""
    return shaped_schema(stored_schema(table), plain_type)


@cache
def stored_schema(table: str) -> pa.Schema:
    """The same as `typed_batch` gives it: columns of text that repeat are dictionaries."""
    return pa.schema([field for part in parts_of(table) for field in part.fields()])


def schema_of(table: str, form: str) -> pa.Schema:
    """The schema of the batches that a reader gives in a form, "raw" or "typed"."""
    return stored_schema(table) if form == "typed" else tables()[table]


@cache
def spark_schema(table: str) -> pa.Schema:
    """The same as Spark takes it: ids are 16 bytes, times have microseconds."""
    return shaped_schema(typed_schema(table), spark_type)


def typed_batch(table: str, batch: pa.RecordBatch, wanted: Collection[str] | None = None) -> pa.RecordBatch:
    """A raw batch of a table in its typed form, row by row; `wanted` names the columns that are looked for, others may be missing.

    Shape: `batch` has all columns of the raw table, in order; the answer has the types of `stored_schema`.
    """
    is_consumer = None
    if table in BLOBS and (at := batch.schema.get_field_index(PROTOCOL_TYPE)) >= 0:
        is_consumer = pc.fill_null(pc.equal(batch.column(at), _CONSUMER), False)
    parts = zip(parts_of(table), batch.columns, strict=True)
    if wanted is None:
        arrays = [array for part, raw in parts for array in part.arrays(raw, is_consumer)]
        return pa.RecordBatch.from_arrays(arrays, schema=stored_schema(table))
    chosen = [(part, raw) for part, raw in parts if any(field.name in wanted for field in part.fields())]
    arrays = [array for part, raw in chosen for array in part.arrays(raw, is_consumer)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([field for part, _ in chosen for field in part.fields()]))


@cache
def raw_columns(table: str, wanted: frozenset[str]) -> frozenset[str]:
    """The raw columns that some columns of a table's typed form are made of."""
    raw = common_schema(table) if table in COMMON_TABLES else tables()[table]
    found = {field.name for part, field in zip(parts_of(table), raw, strict=True) if any(made.name in wanted for made in part.fields())}
    return frozenset(found | {PROTOCOL_TYPE}) if table in BLOBS else frozenset(found)


def typed_table(table: str, batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """Raw batches of a table in its typed form, as one table: ids get their texts once for all batches.

    Shape: a column has a chunk for each batch, or one for all.
    """
    if table in BLOBS:
        return pa.Table.from_batches([typed_batch(table, batch) for batch in batches])
    columns = []
    for part, *raws in zip(parts_of(table), *(batch.columns for batch in batches), strict=True):
        if isinstance(part, Id) and len(raws) > 1:
            raws = [pa.concat_arrays(raws)]
        columns += [pa.chunked_array(arrays) for arrays in zip(*(part.arrays(raw, None) for raw in raws), strict=True)]
    return pa.Table.from_arrays(columns, schema=stored_schema(table))


def plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A typed batch without dictionaries: the types of `typed_schema`."""
    return shaped_batch(batch, shaped_schema(batch.schema, plain_type))


def sql_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A typed batch as DuckDB takes it: without dictionaries in lists, which stop it where 2 048 rows in a row are empty (2.0)."""
    for at, field in enumerate(batch.schema):
        if pa.types.is_list(field.type) and pa.types.is_dictionary(field.type.value_type):
            made = shaped_field(field, plain_type)
            batch = batch.set_column(at, made, shaped(batch.column(at), made.type))
    return batch


def spark_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A typed batch as Spark takes it."""
    return shaped_batch(batch, _for_spark(batch.schema))


@lru_cache(maxsize=256)
def _for_spark(schema: pa.Schema) -> pa.Schema:
    return shaped_schema(schema, spark_type)


@cache
def parts_of(table: str) -> list[Part]:
    """A part for each raw column, in order."""
    if table in COMMON_TABLES:
        return [_own_part(field) for field in common_schema(table)]
    log = log_of_table(table)
    assert log is not None, f"{table} is no table of events"
    (found,) = (each for each in tables_of_log(log).values() if each.name == table)
    return list(_parts_of_record(found))


def _own_part(field: pa.Field) -> Part:
    return Time(field.name) if field.name in _OWN_TIMES else Same(field)


def _parts_of_record(table: RecordTable) -> Iterator[Part]:
    own = len(table.schema) - len(table.columns)
    yield from map(_own_part, list(table.schema)[:own])
    for column, field in zip(table.columns, list(table.schema)[own:], strict=True):
        message = table.key if column.from_key else table.value
        assert message is not None
        yield _part(table.name, column.name, column.field, field, message.schema)


def is_time(field: FieldSchema) -> bool:
    """Whether a field is a moment. All of Kafka's are milliseconds and say so by their names; durations are called otherwise."""
    return field.type == "int64" and not field.is_array and "timestamp" in field.attribute


def _part(table: str, path: str, field: FieldSchema, raw: pa.Field, message: MessageSchema) -> Part:
    """The part for a field; `path` leads to it from the table, `raw` is its column."""
    name = raw.name
    if field.is_array:
        element = _element(table, path, field, pa.field(name, raw.type.value_type), message)
        if path in MAPS.get(table, ()):
            assert isinstance(element, Struct)
            return Map(name, element)
        return Same(raw) if isinstance(element, Same) else ListOf(name, element)
    return _element(table, path, field, raw, message)


def _element(table: str, path: str, field: FieldSchema, raw: pa.Field, message: MessageSchema) -> Part:
    name = raw.name
    if field.is_struct:
        inner = zip(message.structs[field.type].fields, raw.type, strict=True)
        members = [_part(table, f"{path}.{found.name}", member, found, message) for member, found in inner]
        is_as_before = all(isinstance(member, Same) for member in members) and path not in MAPS.get(table, ())
        return Same(raw) if is_as_before else Struct(name, members)
    if field.type == "uuid":
        return Id(name, directory_text if name in _DIRECTORIES else None)
    if is_time(field):
        return Time(name, none=NO_TIME if field.default is NO_DEFAULT else int(str(field.default)))
    if path in CODES.get(table, {}):
        return Code(raw.with_metadata(None), CODES[table][path])
    if path in BLOBS.get(table, {}):
        return Blob(name, BLOBS[table][path])
    return Same(raw)
