"""One file as a source: a checkpoint, a bootstrap checkpoint or a segment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Literal

from metashell.codec.batches import RecordBatch
from metashell.log.file_kinds import Closable
from metashell.log.files import STREAM_NAMES, OpenFile, open_file
from metashell.log.names import classify, parse_name
from metashell.log.order import OrderCheck
from metashell.log.segment import BatchFault, read_batches
from metashell.log.snapshot import checked_snapshot
from metashell.log.source_fault import SourceFault, fault_of
from metashell.log.tail import empty_tail
from metashell.values import BOOTSTRAP_SNAPSHOT_ID, OffsetAndEpoch

if TYPE_CHECKING:
    from metashell.log.kinds import LogKind

SourceKind = Literal["checkpoint", "bootstrap", "segment", "directory"]


class FileSource(Closable):
    """One checkpoint, bootstrap checkpoint or segment; its name says what it is, or else its first record.

    A pipe can be read once only: one of `snapshot_batches` and `log_batches`, to the end.
    """

    kind: SourceKind

    def __init__(self, path: str) -> None:
        self.path = path
        self.faults: list[SourceFault] = []
        self.end_offset: int | None = None
        self._file: OpenFile = open_file(path)
        items = read_batches(self._file)
        first = next(items, None)
        self._unread: Iterator[RecordBatch | BatchFault] | None = chain(() if first is None else (first,), items)
        name = os.path.basename(path)
        self.kind = classify(name, first.batch if isinstance(first, BatchFault) else first)
        parsed = parse_name(name)
        self.snapshot_id: OffsetAndEpoch | None = parsed.snapshot_id if parsed is not None else None
        self.certain_to: int | None = None
        if self.snapshot_id is not None:
            self.end_offset = self.snapshot_id.offset
            self.certain_to = self.end_offset if self.snapshot_id != BOOTSTRAP_SNAPSHOT_ID else None

    def log_kind(self) -> tuple[LogKind | None, bool]:
        """The log that the file belongs to by content and place, and whether there is no doubt; asked before anything is read."""
        from metashell.log.identity import content_of, kind_of
        from metashell.log.inputs import place_of
        from metashell.log.kinds import DATA, METADATA

        assert self._unread is not None, "nothing was read yet"
        content, self._unread = content_of(self._unread)
        if self.kind != "segment":
            return METADATA, True
        place = None if self.path in STREAM_NAMES else place_of(os.path.dirname(self.path) or ".", ())
        return kind_of(place, content), content.is_sure or place == DATA

    def snapshot_batches(self) -> Iterator[RecordBatch]:
        """The batches of a checkpoint, numbered from 0; none if this is a segment.

        A checkpoint that does not start with its header, or end with its footer, is a fault in `faults` once it is read,
        and nothing of a faulty one is certain. One whose name has no end offset is numbered by itself.
        """
        if self.kind == "segment":
            return
        end_offset = 0
        for batch in checked_snapshot(self._items(), self._file.name, self.faults):
            end_offset = batch.header.last_offset + 1
            yield batch
        if self.snapshot_id is None:
            self.end_offset = end_offset
        is_state = self.kind == "checkpoint" and self.snapshot_id != BOOTSTRAP_SNAPSHOT_ID
        self.certain_to = self.end_offset if is_state and not self.faults else None

    def log_batches(self, from_offset: int = 0) -> Iterator[RecordBatch]:
        """The batches of a segment that hold offsets from `from_offset` on; none if this is a checkpoint."""
        if self.kind != "segment":
            return
        order = OrderCheck(None)
        is_empty = True
        for item in self._items():
            is_empty = False
            if isinstance(item, BatchFault):
                self.faults.append(fault_of(item))
                order.forget()
                continue
            if fault := order.check(item):
                self.faults.append(fault)
            self.end_offset = item.header.last_offset + 1
            if self.end_offset > from_offset:
                yield item
        if is_empty:
            self.faults.append(fault_of(empty_tail(self._file.name)))

    def _items(self) -> Iterator[RecordBatch | BatchFault]:
        items, self._unread = self._unread, None
        if items is None:
            self.faults.clear()
            if self.kind == "segment":
                self.end_offset = None
            items = read_batches(self._file)
        return items

    def close(self) -> None:
        self._file.close()
