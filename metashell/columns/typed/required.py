"""Which columns of a table can have no null: who knows that need not look, which a reader of rows does for each value.

A field is null where some version of the message allows it; where a record of a log with keys has no value, all of the value's are.
A time is null where there was none. What is said here of a column holds for every row of every log.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

import pyarrow as pa

from metashell.codec.schema import NONE, FieldSchema
from metashell.columns.names import COMMON_TABLES, log_of_table
from metashell.columns.schemas import BATCHES, CONTROL, PLACE, RECORDS, RecordTable, tables_of_log
from metashell.columns.typed.parts import Blob, Code, Part, Time
from metashell.columns.typed.tables import parts_of

_OF_ALL: Final = frozenset(name for name, _ in PLACE)
_OF_RECORDS: Final = _OF_ALL | {"offset", "epoch"}
_OF_COMMON: Final = {
    RECORDS: _OF_RECORDS | {"size", "log", "checkpoint"},
    CONTROL: _OF_RECORDS | {"producer_id"},
    BATCHES: _OF_RECORDS
    | {"last_offset", "count", "position", "size", "magic", "crc", "codec", "is_log_append_time", "is_transactional", "is_control"}
    | {"producer_id", "producer_epoch", "base_sequence"},
}


def required(table: str, schema: pa.Schema) -> pa.Schema:
    """The schema of a typed table, in whatever form, with what cannot be null marked so, elements of lists too.

    Structs, maps and what lies in them stay as they are.
    """
    known = never_null(table)
    return pa.schema([_marked(field, field.name in known) for field in schema], schema.metadata)


@cache
def never_null(table: str) -> frozenset[str]:
    """The columns of a typed table that are null in no row."""
    if table in COMMON_TABLES:
        return _OF_COMMON.get(table, _OF_ALL)
    log = log_of_table(table)
    assert log is not None, f"{table} is no table of events"
    (found,) = (each for each in tables_of_log(log).values() if each.name == table)
    parts = parts_of(table)[-len(found.columns) :] if found.columns else []
    own = _OF_RECORDS | ({"version"} if found.key is None else {"tombstone"})
    return own.union(*(_of_part(part) for part in _never_null_raw(found, parts)))


def _never_null_raw(table: RecordTable, parts: list[Part]) -> Iterator[Part]:
    """The parts whose raw column cannot be null."""
    for column, part in zip(table.columns, parts, strict=True):
        has_value = column.from_key or table.key is None
        if has_value and not _may_be_null(column.field):
            yield part


def _may_be_null(field: FieldSchema) -> bool:
    return field.nullable != NONE or field.default is None


def _of_part(part: Part) -> Iterator[str]:
    """Which columns of a part have a value wherever the raw one has."""
    if isinstance(part, Time):
        return
    names = [field.name for field in part.fields()]
    if isinstance(part, Blob):
        yield names[1]
    elif isinstance(part, Code) and part.has_unsaid:
        yield names[0]
    else:
        yield from names


def _marked(field: pa.Field, is_required: bool) -> pa.Field:
    kind = field.type
    if pa.types.is_list(kind) and not pa.types.is_nested(kind.value_type):
        kind = pa.list_(kind.value_field.with_nullable(False))
    return field.with_type(kind).with_nullable(not is_required)
