"""From a schema to a reader of columns: all rows of one version of a message at once.

The third product of a message's text, beside objects and JSON. A made reader takes where the rows' bodies start and end in a
buffer and returns for each field where its values are; rows that it does not understand (multi-byte lengths, unknown tags, nulls
where none may be, anything that does not end where the record does) are reported as odd, and the object reader takes them. It may give
up on any row, and must never accept one that the object reader reads differently.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metashell.codec.registry import MessageType
from metashell.codec.schema import FieldSchema
from metashell.codec.source import default_of, is_compact, is_fixed
from metashell.columns.decode.cells import Cells, FixedCells, RangeCells
from metashell.columns.decode.vectors import PAD, WIDTHS, Buffer, Ints, Mask

_ONE_BYTE_MAX = 127


@dataclass(slots=True)
class Decoded:
    """What was read: cells by attribute, and which rows were not understood (None if all were)."""

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
        """Whether all fields can be read as columns; structs and arrays of strings are left to objects."""
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
        """The columns of the bodies `buffer[starts[i]:ends[i]]`."""
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
        """How far a field can move a row's place."""
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
        """The counts of a string, bytes or array, -1 for null, and the places behind them."""
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
        """The tagged fields, one tag of each row at a time; a tag that the version does not know makes a row odd."""
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
