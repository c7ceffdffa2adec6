"""Tables as people read them, made from the raw ones a batch at a time.

Raw columns hold what the bytes hold: times are numbers, ids 16 bytes, states codes. In typed columns

- times are timestamps in UTC. Null is what Kafka writes for "none" (-1), and what no calendar has (before year 1, after 9999);
- an id is a UUID, followed by its text, `NAME_text`, as Kafka prints it. So are the ids in lists and structs;
- a code is a number, followed by its word, `NAME_name`: UNKNOWN for a code without one, null where the code stands for "not said";
- lists of key and value are maps, whose last value counts where a key comes twice;
- subscriptions and assignments of the protocol type `consumer` are structs, null where the bytes do not decode. The bytes follow as
  `NAME_bytes`.

Promises: no value makes it fail, whatever a log holds. Rows keep their number and order. A value that no column has any more, such as a
time out of range, is in the raw form and in the JSON text. Work is done once for each distinct id and each distinct blob of a batch.

Columns of text that repeat, and words, are dictionaries in `typed_batch`, which Parquet and DuckDB take as they are; `plain_batch` has
the types of `typed_schema`. Spark knows neither UUIDs nor milliseconds: see `spark_schema`. A part makes one column, or two, of a raw
one, and works on whole arrays, also on the elements of all lists at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metashell.codec.consumer_protocol import read_consumer_blob
from metashell.codec.schema import NO_DEFAULT, FieldSchema, MessageSchema
from metashell.common.errors import DecodeError
from metashell.common.values import directory_text
from metashell.tables.columns import typed_arrays
from metashell.tables.columns.typed_arrays import (
    NO_TIME,
    TIME,
    flat,
    last_of_each_key,
    numbers_of,
    parents_of,
    plain_type,
    shaped,
    shaped_batch,
    shaped_field,
    shaped_schema,
    spark_type,
    times,
    with_children,
)
from metashell.tables.dictionary import BLOBS, CODES, COMMON_TABLES, MAPS, PROTOCOL_TYPE, Words, log_of_table
from metashell.tables.schemas import RecordTable, common_schema, tables, tables_of_log

_OWN_TIMES: Final = frozenset(("timestamp", "base_timestamp"))
"""Times of the columns that come from no field of a record: those of batches and their records."""
_DIRECTORIES: Final = frozenset(("directories", "log_dirs", "cordoned_log_dirs"))
"""Ids of log directories, of which some are words: MIGRATING, UNASSIGNED, LOST."""
_CONSUMER: Final = "consumer"


@cache
def typed_schema(table: str) -> pa.Schema:
    """Return the columns and types of a table's typed form."""
    return shaped_schema(stored_schema(table), plain_type)


@cache
def stored_schema(table: str) -> pa.Schema:
    """Return the schema of what `typed_batch` returns: columns of text that repeat are dictionaries."""
    return pa.schema([field for part in parts_of(table) for field in part.fields()])


def schema_of(table: str, form: str) -> pa.Schema:
    """Return the schema of the batches that a reader gives in a form, "raw" or "typed"."""
    return stored_schema(table) if form == "typed" else tables()[table]


@cache
def spark_schema(table: str) -> pa.Schema:
    """Return the schema of a table's typed form as Spark takes it: ids are 16 bytes, times have microseconds."""
    return shaped_schema(typed_schema(table), spark_type)


def typed_batch(table: str, batch: pa.RecordBatch, wanted: Collection[str] | None = None) -> pa.RecordBatch:
    """Return a raw batch of a table in its typed form, row by row; `wanted` names the columns that are looked for, others may be missing.

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
    """Return the raw columns that some columns of a table's typed form are made of."""
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
    """Return a typed batch without dictionaries: the types of `typed_schema`."""
    return shaped_batch(batch, shaped_schema(batch.schema, plain_type))


def sql_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a typed batch as DuckDB takes it: without dictionaries in lists, which stop it where 2 048 rows in a row are empty (2.0)."""
    for at, field in enumerate(batch.schema):
        if pa.types.is_list(field.type) and pa.types.is_dictionary(field.type.value_type):
            made = shaped_field(field, plain_type)
            batch = batch.set_column(at, made, shaped(batch.column(at), made.type))
    return batch


def spark_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a typed batch as Spark takes it."""
    return shaped_batch(batch, _for_spark(batch.schema))


@lru_cache(maxsize=256)
def _for_spark(schema: pa.Schema) -> pa.Schema:
    return shaped_schema(schema, spark_type)


@cache
def parts_of(table: str) -> list[Part]:
    """Return a part for each raw column, in order."""
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
    """Return whether a field is a moment. All of Kafka's are milliseconds and say so by their names; durations are called otherwise."""
    return field.type == "int64" and not field.is_array and "timestamp" in field.attribute


def _part(table: str, path: str, field: FieldSchema, raw: pa.Field, message: MessageSchema) -> Part:
    """Return the part for a field; `path` leads to it from the table, `raw` is its column."""
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


# ---- the parts that a table is made of

UNKNOWN: Final = "UNKNOWN"
_TEXT: Final = pa.string()
_REPEATED: Final = pa.dictionary(pa.int32(), _TEXT)


class Part(Protocol):
    """Makes arrays of a raw array. `fields` are theirs, `arrays` has one for each; `is_consumer` is about blobs."""

    def fields(self) -> list[pa.Field]: ...
    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]: ...


@dataclass(frozen=True, slots=True)
class Same:
    """A column that says what it is already."""

    field: pa.Field

    def fields(self) -> list[pa.Field]:
        return [self.field]

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        return [raw]


@dataclass(frozen=True, slots=True)
class Time:
    """A time; `none` is what else, besides NO_TIME, stands for none: the value that a field has where it was not written."""

    name: str
    none: int = NO_TIME

    def fields(self) -> list[pa.Field]:
        return [pa.field(self.name, TIME)]

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        return [times(raw, self.none)]


@dataclass(frozen=True, slots=True)
class Id:
    """An id and its text; `text_of` makes it where it is not only Kafka's text."""

    name: str
    text_of: typed_arrays.TextOf | None = None

    def fields(self) -> list[pa.Field]:
        return [pa.field(self.name, typed_arrays.UUID), pa.field(f"{self.name}_text", _REPEATED)]

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        stored = typed_arrays.stored(raw)
        return [typed_arrays.as_uuids(stored), typed_arrays.id_texts(stored, self.text_of)]


class Code:
    def __init__(self, field: pa.Field, words: Words) -> None:
        self.field = field
        # One place for each code of a byte, whatever its sign, and one for all that need more.
        known = sorted({*words.words.values(), UNKNOWN})
        places = np.full(1 << 8, known.index(UNKNOWN), np.int32)
        for code, word in words.words.items():
            places[code & 0xFF] = known.index(word)
        self._places = places
        self._unknown = known.index(UNKNOWN)
        self._words = pa.array(known, _TEXT)
        self._unsaid = words.unsaid

    @property
    def has_unsaid(self) -> bool:
        """Return whether some code stands for no statement, so that it has no word."""
        return self._unsaid is not None

    def fields(self) -> list[pa.Field]:
        return [self.field, pa.field(f"{self.field.name}_name", _REPEATED)]

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        codes = numbers_of(raw)
        found = self._places[codes.astype(np.uint8)]
        if codes.dtype.itemsize > 1:
            found = np.where((codes < -128) | (codes > 127), self._unknown, found)
        hidden = None if self._unsaid is None else codes == self._unsaid
        if raw.null_count:
            absent = np.asarray(raw.is_null())
            hidden = absent if hidden is None else hidden | absent
        return [raw, pa.DictionaryArray.from_arrays(pa.array(found, mask=hidden), self._words)]


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes of a classic member's protocol: decoded, and as they are."""

    name: str
    kind: str

    def fields(self) -> list[pa.Field]:
        return [pa.field(self.name, KINDS[self.kind][0]), pa.field(f"{self.name}_bytes", pa.binary())]

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        return [decoded_blobs(self.kind, raw, is_consumer), raw]


class Struct:
    """A struct whose members are parts. No dictionaries lie in it: little of what is nested repeats, and few readers know them there."""

    def __init__(self, name: str, members: Sequence[Part]) -> None:
        self.name = name
        self.members = members
        self.type = pa.struct([shaped_field(field, plain_type) for member in members for field in member.fields()])

    def fields(self) -> list[pa.Field]:
        return [pa.field(self.name, self.type)]

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        raw = flat(raw)
        found = [made for at, member in enumerate(self.members) for made in member.arrays(raw.field(at), is_consumer)]
        return [with_children(self.type, raw, [shaped(made, field.type) for made, field in zip(found, self.type, strict=True)])]


class ListOf:
    """A list whose elements are a part: it becomes as many lists as that has columns."""

    def __init__(self, name: str, element: Part) -> None:
        self.element = element
        first, *others = element.fields()
        self._fields = [pa.field(f"{name}{other.name.removeprefix(first.name)}", pa.list_(other.type)) for other in (first, *others)]

    def fields(self) -> list[pa.Field]:
        return self._fields

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        raw = flat(raw)
        inner = None if is_consumer is None else is_consumer.take(pa.array(parents_of(raw)))
        made = self.element.arrays(raw.values, inner)
        return [with_children(field.type, raw, [array]) for field, array in zip(self._fields, made, strict=True)]


class Map:
    """A map of a list of structs, whose first member is the key."""

    def __init__(self, name: str, members: Struct) -> None:
        self.name = name
        self.members = members
        key, *values = members.type
        self.has_one = len(values) == 1
        self.value = values[0].type if self.has_one else pa.struct(values)
        self.type = pa.map_(key.type, self.value)

    def fields(self) -> list[pa.Field]:
        return [pa.field(self.name, self.type)]

    def arrays(self, raw: pa.Array, is_consumer: pa.Array | None) -> list[pa.Array]:
        kept = last_of_each_key(flat(raw))
        (pairs,) = self.members.arrays(kept.values, None)
        key, *values = (pairs.field(at) for at in range(pairs.type.num_fields))
        value = values[0] if self.has_one else pa.StructArray.from_arrays(values, fields=list(self.value))
        entries = pa.StructArray.from_arrays([key, value], fields=[self.type.key_field, self.type.item_field])
        return [with_children(self.type, kept, [entries])]


# ---- subscriptions and assignments of classic members

Row = dict[str, Any]

_PARTITIONS: Final = pa.map_(pa.string(), pa.list_(pa.int32()))
SUBSCRIPTION: Final = pa.struct(
    [
        ("version", pa.int16()),
        ("topics", pa.list_(pa.string())),
        ("owned_partitions", _PARTITIONS),
        ("generation_id", pa.int32()),
        ("rack_id", pa.string()),
        ("user_data", pa.binary()),
    ]
)
ASSIGNMENT: Final = pa.struct([("version", pa.int16()), ("assigned_partitions", _PARTITIONS), ("user_data", pa.binary())])


def _subscription(blob: bytes) -> Row:
    version, body, _ = read_consumer_blob("ConsumerProtocolSubscription", blob)
    return {
        "version": version,
        "topics": body.topics,
        "owned_partitions": _by_topic(body.owned_partitions),
        "generation_id": body.generation_id,
        "rack_id": body.rack_id,
        "user_data": body.user_data,
    }


def _assignment(blob: bytes) -> Row:
    version, body, _ = read_consumer_blob("ConsumerProtocolAssignment", blob)
    return {"version": version, "assigned_partitions": _by_topic(body.assigned_partitions), "user_data": body.user_data}


def _by_topic(parts: Iterable[Any]) -> list[tuple[str, list[int]]]:
    """Partitions by topic; those of a topic that is named twice are together."""
    found: dict[str, list[int]] = {}
    for part in parts:
        found.setdefault(part.topic, []).extend(part.partitions)
    return list(found.items())


KINDS: Final[dict[str, tuple[pa.DataType, Callable[[bytes], Row]]]] = {
    "subscription": (SUBSCRIPTION, _subscription),
    "assignment": (ASSIGNMENT, _assignment),
}


def decoded_blobs(kind: str, blobs: pa.Array, is_consumer: pa.Array | None) -> pa.Array:
    """Blobs as structs: null for null, for none at all, for what does not decode, and where `is_consumer` does not hold.

    Each distinct blob is decoded once: a group's members mostly say what they said before.
    """
    type_, decode = KINDS[kind]
    if is_consumer is not None:
        blobs = pc.if_else(is_consumer, blobs, pa.scalar(None, pa.binary()))
    encoded = blobs.dictionary_encode()
    made = [_decoded(decode, blob) for blob in encoded.dictionary.to_pylist()]
    return pa.array(made, type_).take(encoded.indices)


def _decoded(decode: Callable[[bytes], Row], blob: bytes) -> Row | None:
    try:
        return decode(blob) if blob else None
    except DecodeError:
        return None
