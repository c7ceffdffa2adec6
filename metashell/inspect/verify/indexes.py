"""Compares the entries of a segment's three indexes with the log, while the log is walked."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Any, Final

from metashell.codec.batch_writer import ABORT, control_type
from metashell.codec.batches import RecordBatch
from metashell.common.errors import DecodeError
from metashell.disk.files import OpenFile
from metashell.disk.indexes import (
    ABORTED_TRANSACTION,
    OFFSET_ENTRY,
    TIME_ENTRY,
    TRANSACTION_INDEX_VERSION,
    AbortedTransaction,
    offset_entry_ascends,
    time_entry_ascends,
)
from metashell.inspect.verify import Report

NEVER: Final = 1 << 63
_PIECE_ENTRIES = 4096
_EARLY_SIZE_MAX = 1 << 24
"""More than a node preallocates by default, so the whole index is read before the log."""


class _Entries:
    """Iterates over the entries of an index file up to its zero tail, each with its position, and reports faults of the file's form.

    A running node adds entries to a preallocated index while the log is walked. It writes an entry after the batch that the entry points
    at. So the index is read first: then the log, which is read later, has every batch that an entry names.
    """

    def __init__(self, report: Report, file: OpenFile, form: Struct, *, may_be_preallocated: bool) -> None:
        self.report = report
        self.file = file
        self._form = form
        self._may_be_preallocated = may_be_preallocated
        self._early = file.read_at(0, _EARLY_SIZE_MAX - _EARLY_SIZE_MAX % form.size).rstrip(b"\0") if may_be_preallocated else b""
        self._size = file.size() if may_be_preallocated else None

    def _read(self, position: int, size: int) -> bytes:
        """A piece of the file, as it was when it was opened if it may change."""
        if self._size is None:
            return self.file.read_at(position, size)
        if position + size > _EARLY_SIZE_MAX:
            return self.file.read_at(position, min(size, max(0, self._size - position)))
        return self._early[position : position + size].ljust(min(size, max(0, self._size - position)), b"\0")

    def __iter__(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        size = self._form.size
        empty = bytes(size)
        position = 0
        zeros_from = -1
        while data := self._read(position, size * _PIECE_ENTRIES):
            if not data.strip(b"\0"):
                zeros_from = position if zeros_from < 0 else zeros_from
                position += len(data)
                continue
            for index in range(0, len(data) - size + 1, size):
                entry = data[index : index + size]
                # Zeros are preallocated space. The first entry of an index may be zero too, if others follow it.
                if entry == empty and (position + index or data[size : 2 * size] == empty):
                    zeros_from = position + index if zeros_from < 0 else zeros_from
                    continue
                if zeros_from >= 0:
                    size_of_hole = position + index - zeros_from
                    self.report.error(self.file.name, f"{size_of_hole} bytes are zero in the middle of the index", position=zeros_from)
                    zeros_from = -1
                self.report.counts["index_entries"] += 1
                yield position + index, self._form.unpack(entry)
            position += len(data)
        if position % size:
            self.report.error(
                self.file.name, f"{position} bytes are not a multiple of an entry's {size}", position=position - position % size
            )
        if zeros_from >= 0 and not self._may_be_preallocated:
            self.report.error(self.file.name, f"{position - zeros_from} bytes at the end are zero", position=zeros_from)


class IndexCheck:
    """One index. `next_place` is the byte or offset of the log that the next entry names, NEVER after the last entry."""

    def __init__(self, report: Report, entries: _Entries) -> None:
        self._report = report
        self._name = entries.file.name
        self._entries = iter(entries)
        self._at = 0
        self._offset = -1
        self.next_place = NEVER
        self._advance()

    def _advance(self) -> None:
        """Go on to the next entry that is not wrong in itself."""
        for at, fields in self._entries:
            place = self._checked_place(at, *fields)
            if place is not None:
                self._at = at
                self.next_place = place
                return
        self.next_place = NEVER

    def _checked_place(self, at: int, *fields: int) -> int | None:
        """Return the place that the entry at byte `at` names; None if the entry was reported as wrong."""
        raise NotImplementedError

    def _refuse(self, at: int, entry: tuple[int, ...], before: tuple[int, ...], offset: int) -> None:
        what = f"entry ({', '.join(map(str, entry))}) does not ascend after ({', '.join(map(str, before))})"
        self._report.error(self._name, what, position=at, offset=offset)

    def drain(self) -> None:
        """Read all entries without comparing them with a log."""
        while self.next_place != NEVER:
            self._advance()

    def end(self, log_end: int) -> None:
        """Report the entries that point past the end of the log, which is the byte or offset `log_end`."""
        while self.next_place != NEVER:
            self._error(self._beyond(log_end))
            self._advance()

    def _beyond(self, log_end: int) -> str:
        return f"is not in the log, which ends at offset {log_end}"

    def _error(self, what: str) -> None:
        self._report.error(self._name, what, position=self._at, offset=self._offset)


class OffsetIndexCheck(IndexCheck):
    """An offset index: entries ascend, and each names the last offset of the batch that starts at its position.

    Up to 3.x an append of several batches made one entry with the last offset of them all. So the last offset of a later batch is right
    too: with batches 0-4 at byte 0 and 5-9 at byte 300 from one append, the entry (9, 0) is right.
    """

    def __init__(self, report: Report, file: OpenFile, base_offset: int, *, is_active: bool) -> None:
        self._base_offset = base_offset
        self._before = (-1, -1)
        self._awaited = -1
        self._awaited_at = -1
        super().__init__(report, _Entries(report, file, OFFSET_ENTRY, may_be_preallocated=is_active))

    def _checked_place(self, at: int, *fields: int) -> int | None:
        relative, position = fields
        offset = self._base_offset + relative
        if not offset_entry_ascends(self._before, (relative, position)):
            self._refuse(at, fields, self._before, offset)
            return None
        self._before = relative, position
        self._offset = offset
        return position

    def compare_batch(self, position: int, first_offset: int, last_offset: int | None) -> int:
        """Compare the batch at `position` with the entries up to there; return the position of the next batch to compare.

        `last_offset` is None for a batch that is not to be trusted.
        """
        if self._awaited >= 0 and last_offset is not None:
            self._await(last_offset)
        while self.next_place < position:
            self._error(f"byte {self.next_place} of the log is not where a batch starts")
            self._advance()
        if self.next_place == position:
            if last_offset is not None and self._offset > last_offset:
                self._awaited, self._awaited_at = self._offset, self._at
            elif last_offset is not None and self._offset != last_offset:
                self._error(f"the batch at byte {position} of the log has offsets {first_offset} to {last_offset}")
            self._advance()
        return position if self._awaited >= 0 else self.next_place

    def _await(self, last_offset: int) -> None:
        """Compare the last offset of a later batch with an entry whose own batch ends before the entry's offset."""
        if last_offset > self._awaited:
            self._report.error(self._name, "is not the last offset of a batch of the log", position=self._awaited_at, offset=self._awaited)
        if last_offset >= self._awaited:
            self._awaited = -1

    def end(self, log_end: int) -> None:
        super().end(log_end)
        if self._awaited >= 0:
            self._await(NEVER)

    def _beyond(self, log_end: int) -> str:
        return f"byte {self.next_place} of the log has no batch: it ends at byte {log_end}"


class TimeIndexCheck(IndexCheck):
    """A time index: entries ascend, and each names an offset of the batch with the largest timestamp up to there.

    With `names_last` it has to be the batch's last offset. That holds for the metadata log; in the logs of topics some releases name the
    very record with the largest timestamp.
    """

    def __init__(self, report: Report, file: OpenFile, base_offset: int, *, is_active: bool, names_last: bool) -> None:
        self._base_offset = base_offset
        self._before = (-1, -1)
        self._timestamp = -1
        self._names_last = names_last
        self.forgives = False
        super().__init__(report, _Entries(report, file, TIME_ENTRY, may_be_preallocated=is_active))

    def _checked_place(self, at: int, *fields: int) -> int | None:
        timestamp, relative = fields
        offset = self._base_offset + relative
        if relative < 0 or not time_entry_ascends(self._before, (timestamp, relative)):
            self._refuse(at, fields, self._before, offset)
            return None
        self._before = timestamp, relative
        self._timestamp = timestamp
        self._offset = offset
        return offset

    def compare_batch(self, first_offset: int, last_offset: int, max_timestamp: int, max_before: int) -> None:
        """Compare a batch with the entries up to its last offset; `max_before` is the largest timestamp before it."""
        while self.next_place <= last_offset:
            if self.next_place < first_offset:
                if not self.forgives:
                    self._error("is in no batch of the log")
            elif self._names_last and self.next_place != last_offset:
                self._error(f"is not the last offset of its batch, {last_offset}")
            elif self._timestamp != max_timestamp:
                self._error(f"timestamp {self._timestamp} is not that of its batch, {max_timestamp}")
            elif max_before > max_timestamp:
                self._error(f"timestamp {self._timestamp} is not the largest up to there, {max_before}")
            self._advance()
        self.forgives = False


class TransactionIndexCheck(IndexCheck):
    """A transaction index: each entry is an aborted transaction, whose marker is at its last offset."""

    def __init__(self, report: Report, file: OpenFile) -> None:
        self._producer_id = -1
        self._before = -1
        self.forgives = False
        super().__init__(report, _Entries(report, file, ABORTED_TRANSACTION, may_be_preallocated=False))

    def _checked_place(self, at: int, *fields: int) -> int | None:
        entry = AbortedTransaction._make(fields)
        last = entry.last_offset
        if entry.version != TRANSACTION_INDEX_VERSION:
            self._report.warn(self._name, f"entry of version {entry.version}, which is not known", position=at, offset=last)
            return None
        if not entry.can_follow(self._before):
            what = f"entry ({', '.join(map(str, fields[1:]))}) does not ascend, or ends before it begins"
            self._report.error(self._name, what, position=at, offset=last)
            return None
        self._before = self._offset = last
        self._producer_id = entry.producer_id
        return last

    def compare_batch(self, batch: RecordBatch) -> None:
        """Compare a batch with the entries up to its last offset."""
        header = batch.header
        while self.next_place <= header.last_offset:
            is_missed = self.forgives and self.next_place < header.base_offset
            if not is_missed and (self.next_place < header.base_offset or not _is_abort_of(batch, self._producer_id)):
                self._error(f"the log has no marker here that aborts a transaction of producer {self._producer_id}")
            self._advance()
        self.forgives = False


def _is_abort_of(batch: RecordBatch, producer_id: int) -> bool:
    if not batch.header.is_control or batch.header.producer_id != producer_id:
        return False
    try:
        return any(control_type(record.key) == ABORT for record in batch.records())
    except DecodeError:
        return False
