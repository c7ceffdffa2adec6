"""The records of a chunk, each in the table of its type.

Rows are grouped by type and version. Each group is read by columns; rows that these do not understand are read as objects, which give
the same columns. Small groups are read as objects at once: columns cost the same for one row as for a thousand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.codec.redaction import shown_bytes
from metashell.columns.decode.common import envelope_arrays, records_table
from metashell.columns.decode.compiler import ColumnReader
from metashell.columns.decode.faults import Fault
from metashell.columns.decode.headers import Headers
from metashell.columns.decode.objects import column_of_objects
from metashell.columns.decode.options import ReadOptions
from metashell.columns.decode.payloads import texts_of_log
from metashell.columns.decode.place import Place
from metashell.columns.decode.redacting import redact_columns
from metashell.columns.decode.rows import NULL, Rows
from metashell.columns.decode.typed_rows import TypedRows, coordinator_rows, framed_rows
from metashell.columns.decode.vectors import Buffer, Ints
from metashell.columns.schemas import RECORDS, RecordTable, tables_of_log
from metashell.errors import DecodeError

if TYPE_CHECKING:
    from metashell.codec.registry import MessageType

VECTOR_ROWS_MIN = 24
"""Groups of fewer rows are read as objects: about 5 us a row, against 150 us a group by columns."""
_OWN_PART = 1 << 30


@dataclass(slots=True)
class _Side:
    """The key or value of a group: its message and version, and where the bodies lie (None: tombstones have none)."""

    message: MessageType
    version: int
    starts: Ints
    ends: Ints
    from_key: bool = False
    arrays: dict[str, pa.Array] = field(default_factory=dict)


class RecordTables:
    """Makes the record tables of one kind of log."""

    def __init__(self, log: str, options: ReadOptions) -> None:
        self.log = log
        self.options = options
        self.tables = tables_of_log(log)
        self.rows_min = VECTOR_ROWS_MIN
        self._readers: dict[tuple[str, int], ColumnReader | None] = {}
        self._texts = texts_of_log(log, show_secrets=options.show_secrets)

    def read(self, headers: Headers, buffer: Buffer, rows: Rows, place: Place) -> tuple[list[tuple[str, pa.RecordBatch]], list[Fault]]:
        """The tables of the data records, and the records that could not be read."""
        if not len(rows):
            return [], []
        is_control = headers.is_control[rows.batch]
        data = rows.part(~is_control) if is_control.any() else rows
        split = coordinator_rows if self.log in COORDINATOR_LOGS else framed_rows
        typed = split(self.log, buffer, data)
        found: list[tuple[str, pa.RecordBatch]] = []
        faults = [self._fault(headers, buffer, typed, row, reason, is_serious) for row, reason, is_serious in typed.odd]
        for (type_id, version), chosen in typed.groups():
            table = self.tables.get(type_id)
            if table is None:
                continue
            bad = self._read_group(table, version, headers, buffer, typed, chosen, place, found)
            faults += [self._fault(headers, buffer, typed, row, reason, True) for row, reason in bad]
        if self.options.wants(RECORDS):
            found.append((RECORDS, records_table(headers, buffer, rows, is_control, typed, place, self._texts, self.options.payloads)))
        return found, faults

    def _fault(self, headers: Headers, buffer: Buffer, typed: TypedRows, row: int, reason: str, is_serious: bool) -> Fault:
        rows = typed.rows
        start, size = int(rows.value_start[row]), int(rows.value_size[row])
        data = buffer.data[start : start + size] if size >= 0 else None
        return Fault(
            kind="bad-record" if is_serious else "unknown-record",
            offset=int(rows.offset[row]),
            position=int(headers.position[rows.batch[row]]),
            size=max(size, 0),
            reason=reason,
            harmless=None if data is None else shown_bytes(data),
            data=data,
            is_serious=is_serious,
        )

    def _read_group(
        self,
        table: RecordTable,
        version: int,
        headers: Headers,
        buffer: Buffer,
        typed: TypedRows,
        chosen: Ints,
        place: Place,
        found: list[tuple[str, pa.RecordBatch]],
    ) -> list[tuple[int, str]]:
        """Read one type at one version; returns the rows that do not decode, and why. Tables that nobody wants are not read."""
        if not self.options.wants(table.name):
            return []
        odd, sides = self._read_sides(table, version, buffer, typed, chosen)
        usual = chosen[~odd] if odd is not None else chosen
        parts = []
        if len(usual):
            arrays = [side.arrays[column.field.attribute] for column in table.columns for side in sides if side.from_key == column.from_key]
            parts.append(self._batch(table, version, headers, typed, usual, arrays, place))
        bad: list[tuple[int, str]] = []
        if odd is not None and (rest := self._by_objects(table, version, buffer, typed, chosen[odd], bad)) is not None:
            rows, arrays = rest
            parts.append(self._batch(table, version, headers, typed, rows, arrays, place))
        if len(parts) > 1:
            order = np.argsort(np.concatenate([usual, rows]), kind="stable")
            parts = [pa.Table.from_batches(parts).take(pa.array(order)).combine_chunks().to_batches()[0]]
        found += [(table.name, part if self.options.show_secrets else redact_columns(table, part)) for part in parts]
        return bad

    def _read_sides(self, table: RecordTable, version: int, buffer: Buffer, typed: TypedRows, chosen: Ints) -> tuple[Any, list[_Side]]:
        """Key and value by columns; the mask names the rows that are left to objects (None: no row is)."""
        all_odd = np.ones(len(chosen), np.bool_)
        sides = [_Side(table.value, version, typed.starts[chosen], typed.ends[chosen])]
        if table.key is not None:
            sides.insert(0, _Side(table.key, 0, typed.key_starts[chosen], typed.key_ends[chosen], from_key=True))
        if len(chosen) < self.rows_min or _is_tombstone(table, version):
            return all_odd, sides
        readers = [self._reader(side.message, side.version) for side in sides]
        decoded = []
        odd: Any = None
        for side, reader in zip(sides, readers, strict=True):
            if reader is None:
                return all_odd, sides
            one = reader.read(buffer, side.starts, side.ends)
            decoded.append(one)
            if one.odd is not None:
                odd = one.odd if odd is None else odd | one.odd
        good = None if odd is None else np.flatnonzero(~odd)
        for side, one in zip(sides, decoded, strict=True):
            side.arrays = {name: cells.arrow(buffer, good) for name, cells in one.cells.items()}
        return odd, sides

    def _reader(self, message: MessageType, version: int) -> ColumnReader | None:
        known = (message.name, version)
        if known not in self._readers:
            reader = ColumnReader(message, version)
            self._readers[known] = reader if reader.is_possible else None
        return self._readers[known]

    def _by_objects(
        self, table: RecordTable, version: int, buffer: Buffer, typed: TypedRows, chosen: Ints, bad: list[tuple[int, str]]
    ) -> tuple[Ints, list[pa.Array]] | None:
        """The same columns from objects; rows that do not decode are added to `bad`."""
        keys: list[Any] = []
        values: list[Any] = []
        kept: list[int] = []
        read = None if _is_tombstone(table, version) else table.value.reader(version)
        read_key = table.key.reader(0) if table.key is not None else None
        for row in chosen.tolist():
            try:
                key = read_key(buffer.data, int(typed.key_starts[row]), int(typed.key_ends[row])) if read_key is not None else None
                value = read(buffer.data, int(typed.starts[row]), int(typed.ends[row])) if read is not None else None
            except DecodeError as error:
                bad.append((row, str(error)))
                continue
            kept.append(row)
            keys.append(key)
            values.append(value)
        if not kept:
            return None
        arrays = []
        for column in table.columns:
            message = table.key if column.from_key else table.value
            assert message is not None
            arrays.append(column_of_objects(keys if column.from_key else values, column.field, message.schema))
        return np.array(kept, np.int64), arrays

    def _batch(
        self,
        table: RecordTable,
        version: int,
        headers: Headers,
        typed: TypedRows,
        rows: Ints,
        arrays: list[pa.Array],
        place: Place,
    ) -> pa.RecordBatch:
        count = len(rows)
        is_null = _is_tombstone(table, version)
        versions = pa.nulls(count, pa.int16()) if is_null else pa.array(np.full(count, version, np.int16))
        middle = [versions]
        if table.key is not None:
            middle.append(pa.array(np.full(count, is_null, np.bool_)))
        envelope = envelope_arrays(headers, typed.rows, rows, place)
        return pa.RecordBatch.from_arrays([*envelope, *middle, *arrays], schema=table.schema)


def _is_tombstone(table: RecordTable, version: int) -> bool:
    """Whether a group has no values. In logs without keys, -1 is a version like any other that is not known."""
    return version == NULL and table.key is not None
