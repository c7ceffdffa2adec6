"""From a schema to a reader of columns: all rows of one version of a message at once.

This is the third product of a message's text, beside objects and JSON. A reader takes where the rows' bodies start and end in a buffer
and returns for each field where its values are. Rows that it does not understand (multi-byte lengths, unknown tags, nulls where none may
be, anything that does not end where the record does) are reported as odd, and the object reader takes them. It may give up on any row,
and must never accept one that the object reader reads differently. Bytes of variable size are copied once, when the good rows are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from metashell.codec.code_writer import default_of, is_compact, is_fixed
from metashell.codec.registry import MessageType
from metashell.codec.schema import FieldSchema, MessageSchema
from metashell.tables.columns.vectors import DTYPES, PAD, WIDTHS, Array, Buffer, Ints, Mask, bitmap, offsets_of, range_positions
from metashell.tables.schemas import ARROW_TYPES, arrow_type

_ONE_BYTE_MAX = 127


@dataclass(slots=True)
class Decoded:
    """The decoded cells by attribute, and which rows were not understood (None if all were)."""

    cells: dict[str, Cells]
    odd: Mask | None


class ColumnReader:
    """Reads the bodies of many records of one message at one version."""

    def __init__(self, message: MessageType, version: int) -> None:
        schema = message.schema
        self.message = message
        self.schema = schema
        self.version = version
        self.untagged = schema.untagged(version)
        self.tagged = {field.tag: field for field in schema.tagged(version)}
        self.is_flexible = version in schema.flexible
        self.absent = [field for field in schema.fields if version not in field.versions]
        self.defaults = {field.attribute: default_of(field, lambda name: name) for field in schema.fields}

    @property
    def is_possible(self) -> bool:
        """Return whether all fields can be read as columns; structs and arrays of strings are left to objects."""
        return all(self._is_plain(field) for field in self.schema.fields)

    def _is_plain(self, field: FieldSchema) -> bool:
        default = self.defaults[field.attribute]
        if field.type == "uuid" or field.is_array or field.type in ("string", "bytes"):
            has_plain_default = default is None or not default or default == bytes(16)
        else:
            has_plain_default = default is not None
        is_readable = (field.type in WIDTHS) if field.is_array else (field.type in WIDTHS or field.type in ("string", "bytes"))
        return has_plain_default and is_readable

    def read(self, buffer: Buffer, starts: Ints, ends: Ints) -> Decoded:
        """Return the columns of the bodies `buffer[starts[i]:ends[i]]`."""
        return _Reading(self, buffer, starts, ends).run()


class _Reading:
    """One pass over the rows: `at` is where each row is read next."""

    def __init__(self, reader: ColumnReader, buffer: Buffer, starts: Ints, ends: Ints) -> None:
        self.reader = reader
        self.buffer = buffer
        self.count = len(starts)
        self.at = starts.copy()
        self.ends = ends
        self.limit = buffer.size + 1  # no record ends there, so a row that runs past the end is never good
        self.odd = np.zeros(self.count, np.bool_)
        self.cells: dict[str, Cells] = {}

    def run(self) -> Decoded:
        reader = self.reader
        ahead = 0
        for field in reader.untagged:
            self._cells_of(field)
            self.at = self._field(field, None, self.at)
            ahead += self._advance_max(field)
            if ahead > PAD // 2:  # before that no row can have left the buffer's padding
                np.minimum(self.at, self.limit, out=self.at)
                ahead = 0
        np.minimum(self.at, self.limit, out=self.at)
        for field in (*reader.absent, *reader.tagged.values()):
            self._cells_of(field)
        if reader.is_flexible:
            self._tags()
        self.odd |= self.at != self.ends
        self._check_text()
        return Decoded(self.cells, self.odd if self.odd.any() else None)

    def _advance_max(self, field: FieldSchema) -> int:
        """Return the most bytes by which a field can move a row's place."""
        if is_fixed(field):
            return WIDTHS[field.type]
        if not is_compact(field, self.reader.schema, self.reader.version):
            return PAD
        return 1 + _ONE_BYTE_MAX * (WIDTHS[field.type] if field.is_array else 1)

    def _cells_of(self, field: FieldSchema) -> None:
        default = self.reader.defaults[field.attribute]
        cells = FixedCells if is_fixed(field) else RangeCells
        self.cells[field.attribute] = cells(field, default, self.count)

    def _field(self, field: FieldSchema, rows: Ints | None, at: Ints) -> Ints:
        """Read a field of some rows (None: of all) at their places; gives the places after it."""
        cells = self.cells[field.attribute]
        if isinstance(cells, FixedCells):
            cells.put(rows, self.buffer.take(field.type, at))
            return at + WIDTHS[field.type]
        counts, starts = self._counts(field, rows, at)
        cells.put(rows, starts, counts)
        following: Ints = starts + np.maximum(counts, 0) * cells.width
        return following

    def _counts(self, field: FieldSchema, rows: Ints | None, at: Ints) -> tuple[Ints, Ints]:
        """Return the counts of a string, bytes or array, -1 for null, and the places behind them."""
        version = self.reader.version
        if is_compact(field, self.reader.schema, version):
            raw = self.buffer.bytes[at]
            counts = raw.astype(np.int64) - 1
            odd = raw > _ONE_BYTE_MAX
            at = at + 1
        else:
            kind = "int16" if field.type == "string" and not field.is_array else "int32"
            counts = self.buffer.take(kind, at).astype(np.int64)
            odd = counts > self.buffer.size
            at = at + WIDTHS[kind]
        if version not in field.nullable:
            odd |= counts < 0
        if odd.any():
            counts = np.where(odd, 0, counts)
            self._mark(rows, odd)
        return counts, at

    def _mark(self, rows: Ints | None, odd: Mask) -> None:
        if rows is None:
            self.odd |= odd
        else:
            self.odd[rows[odd]] = True

    def _tags(self) -> None:
        """Read the tagged fields, one tag of each row at a time; a tag that the version does not know makes a row odd."""
        tagged = self.reader.tagged
        counts = self.buffer.bytes[self.at]
        self.at += 1
        self.odd |= counts > len(tagged)
        rows = np.flatnonzero((counts > 0) & ~self.odd)
        turn = 0
        while rows.size:
            at = self.at[rows]
            tags = self.buffer.bytes[at]
            understood = (tags <= _ONE_BYTE_MAX) & (self.buffer.bytes[at + 1] <= _ONE_BYTE_MAX)
            at += 2
            known = np.zeros(len(rows), np.bool_)
            for tag, field in tagged.items():
                mine = tags == tag
                if mine.all():
                    at = self._field(field, rows, at)
                    known[:] = True
                    break
                if mine.any():
                    at[mine] = self._field(field, rows[mine], at[mine])
                    known |= mine
            understood &= known
            self.odd[rows[~understood]] = True
            self.at[rows] = np.minimum(at, self.limit)
            turn += 1
            rows = rows[understood & (counts[rows] > turn)]

    def _check_text(self) -> None:
        """Rows whose text is not plain ASCII go to the object reader unless they decode."""
        good = ~self.odd
        for name, cells in self.cells.items():
            if isinstance(cells, RangeCells) and cells.type == "string" and cells.places is not None:
                starts, counts = cells.places
                cells.places = starts, np.where(good, counts, np.minimum(counts, 0))
                suspect = cells.malformed(self.buffer)
                if suspect is not None:
                    self._judge(name, cells, np.flatnonzero(suspect))

    def _judge(self, name: str, cells: RangeCells, rows: Ints) -> None:
        data = self.buffer.data
        assert cells.places is not None
        starts, counts = cells.places
        for row in rows.tolist():
            start = int(starts[row])
            try:
                data[start : start + int(counts[row])].decode()
            except UnicodeDecodeError:
                self.odd[row] = True


# ---- cells

_BLOCK_MAX = 12


class FixedCells:
    """Values of a fixed width, the field's default where none was read."""

    def __init__(self, field: FieldSchema, default: Any, count: int) -> None:
        self.type = field.type
        self.default = default
        self.count = count
        self._values: Array | None = None

    def put(self, rows: Ints | None, values: Array) -> None:
        if rows is None:
            self._values = values
            return
        if self._values is None:
            self._values = self._defaults(self.count)
        self._values[rows] = values

    def arrow(self, buffer: Buffer, rows: Ints | None) -> pa.Array:
        if self._values is None:
            return fixed_array(self.type, self._defaults(self.count if rows is None else len(rows)))
        return fixed_array(self.type, self._values if rows is None else self._values[rows])

    def _defaults(self, count: int) -> Array:
        code = DTYPES[self.type]
        return np.full(count, self.default, code) if code != "V16" else np.zeros(count, code)


class RangeCells:
    """Strings, bytes, and arrays of a fixed-width primitive: where each starts, and its count, -1 for null.

    They have no `places` while no row was read: all are at the field's default then.
    """

    def __init__(self, field: FieldSchema, default: Any, count: int) -> None:
        self.type = field.type
        self.is_array = field.is_array
        self.width = WIDTHS[field.type] if field.is_array else 1
        self.default_count = -1 if default is None else 0
        self.count = count
        self.places: tuple[Ints, Ints] | None = None

    def put(self, rows: Ints | None, starts: Ints, counts: Ints) -> None:
        if rows is None:
            self.places = starts, counts
            return
        if self.places is None:
            self.places = np.zeros(self.count, np.int64), np.full(self.count, self.default_count, np.int64)
        self.places[0][rows], self.places[1][rows] = starts, counts

    def take_null_for_none(self) -> None:
        """Make empty what is null."""
        self.default_count = 0
        if self.places is not None:
            self.places = self.places[0], np.maximum(self.places[1], 0)

    def arrow(self, buffer: Buffer, rows: Ints | None) -> pa.Array:
        kind = pa.list_(ARROW_TYPES[self.type]) if self.is_array else ARROW_TYPES[self.type]
        if self.places is None and self.default_count < 0:
            return pa.nulls(self.count if rows is None else len(rows), kind)
        if self.places is None:
            self.put(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
        assert self.places is not None
        starts, counts = self.places if rows is None else (self.places[0][rows], self.places[1][rows])
        row_count = len(counts)
        least, most = (int(counts.min()), int(counts.max())) if row_count else (0, 0)
        if most < 0:
            return pa.nulls(row_count, kind)
        validity = None
        null_count = 0
        if least < 0:
            absent = counts < 0
            null_count = int(absent.sum())
            counts = np.maximum(counts, 0)
            validity = pa.py_buffer(bitmap(~absent))
        is_even = least == most
        offsets = pa.py_buffer(np.arange(0, most * row_count + 1, most, dtype=np.int32) if is_even and most else offsets_of(counts))
        if self.is_array:
            values = fixed_array(self.type, self._elements(buffer, starts, counts, most, is_even))
            return pa.ListArray.from_buffers(kind, row_count, [validity, offsets], null_count, 0, [values])
        data = pa.py_buffer(buffer.ranges(starts, counts))
        return pa.Array.from_buffers(kind, row_count, [validity, offsets, data], null_count)

    def _elements(self, buffer: Buffer, starts: Ints, counts: Ints, most: int, is_even: bool) -> Array:
        """Return the elements of all arrays. Short arrays are read as blocks of the longest one's length, and the surplus is dropped."""
        if most > _BLOCK_MAX:
            return buffer.take(self.type, range_positions(starts, counts, self.width))
        if most == 0:
            return np.zeros(0, DTYPES[self.type])
        blocks = buffer.blocks(self.type, starts, most)
        return blocks.reshape(-1) if is_even else blocks[np.arange(most) < counts[:, None]]

    def malformed(self, buffer: Buffer) -> Mask | None:
        """Return the rows whose text may not be UTF-8: those with a byte that is not ASCII. None if there are none."""
        if self.places is None:
            return None
        starts, counts = self.places[0], np.maximum(self.places[1], 0)
        data = buffer.ranges(starts, counts)
        high = data > 127
        if not high.any():
            return None
        sums = np.zeros(len(data) + 1, np.int64)
        np.cumsum(high, out=sums[1:])
        ends = np.cumsum(counts)
        return np.asarray(sums[ends] - sums[ends - counts] > 0)


Cells = FixedCells | RangeCells


def fixed_array(kind: str, values: Array) -> pa.Array:
    """Return an Arrow array over fixed-width values, which are not copied unless Arrow's type is wider."""
    count = len(values)
    if kind == "uuid":
        offsets = pa.py_buffer(np.arange(0, 16 * count + 1, 16, dtype=np.int32))
        return pa.Array.from_buffers(pa.binary(), count, [None, offsets, pa.py_buffer(np.ascontiguousarray(values))], 0)
    if kind == "bool":
        return pa.Array.from_buffers(pa.bool_(), count, [None, pa.py_buffer(bitmap(values))], 0)
    if kind in ("uint16", "uint32"):
        values = values.astype("i4" if kind == "uint16" else "i8")
    return pa.Array.from_buffers(ARROW_TYPES[kind], count, [None, pa.py_buffer(np.ascontiguousarray(values))], 0)


# ---- columns from Python objects

Convert = Callable[[Any], Any]


def converter(field: FieldSchema, schema: MessageSchema) -> Convert:
    """Return a function that makes a field's value what pyarrow takes: structs become tuples, tuples of them lists."""
    if not field.is_struct:
        return (lambda value: None if value is None else list(value)) if field.is_array else _same
    element = _struct_converter(field, schema)
    if field.is_array:
        return lambda value: None if value is None else list(map(element, value))
    return lambda value: None if value is None else element(value)


def _same(value: Any) -> Any:
    return value


def _struct_converter(field: FieldSchema, schema: MessageSchema) -> Convert:
    fields = schema.structs[field.type].fields
    members = [(inner.attribute, converter(inner, schema)) for inner in fields]
    if len(members) > 1 and all(make is _same for _, make in members):
        return attrgetter(*(attribute for attribute, _ in members))
    return lambda value: tuple(make(getattr(value, attribute)) for attribute, make in members)


def column_of_objects(objects: Iterable[Any], field: FieldSchema, schema: MessageSchema) -> pa.Array:
    """Return one field of many objects; None among the objects is a null row."""
    make = converter(field, schema)
    attribute = field.attribute
    if make is _same:
        values = [None if item is None else getattr(item, attribute) for item in objects]
    else:
        values = [None if item is None else make(getattr(item, attribute)) for item in objects]
    return pa.array(values, arrow_type(field, schema))
