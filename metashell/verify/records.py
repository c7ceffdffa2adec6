"""What must hold inside one batch: its header's numbers, the boundaries of its records, and what they say they are.

The usual batch of a metadata log is gone over by the tight loop; whatever is not framed like it is read again with every
check, which then reports what is odd.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from metashell.codec.batches import HEADER_SIZE, BatchHeader, RecordBatch
from metashell.codec.control import (
    CONTROL_TYPE_NAMES,
    KRAFT_VERSION,
    KRAFT_VOTERS,
    LEADER_CHANGE,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    read_control_record,
)
from metashell.codec.coordinator import COORDINATOR_LOGS
from metashell.codec.frame import NO_VALUE, UnknownRecord, metadata_message, read_frame, read_metadata_record, version_fault
from metashell.codec.record_walk import RecordFields, walk_records
from metashell.codec.usual_records import make_loop
from metashell.errors import DecodeError
from metashell.image.newer import newer_levels, newer_line
from metashell.log.kinds import METADATA, LogKind
from metashell.verify.boundaries import FRAME_SIZE, BoundaryWalk, Loop, known_message, walk_plain
from metashell.verify.coordinator import CoordinatorCheck
from metashell.verify.finding import Report

FileKind = LogKind | Literal["checkpoint"]
"""What the batches are of: a log, or a checkpoint of the metadata log."""

_CONTROL_TYPES: dict[FileKind, set[int]] = {
    METADATA: {LEADER_CHANGE, KRAFT_VERSION, KRAFT_VOTERS},
    "checkpoint": {SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS},
}
_MARKERS = {0, 1}
_KNOWN_ATTRIBUTES = 0x7F
_FAST_COUNT_MAX = 1 << 20
_LEVEL_HEAD = b"\x01\x0c\x00"
"""The beginning of a feature level: whether it is known, only its bytes say."""
_RECORD_SIZE_MIN = 7


class RecordCheck:
    """Checks the batches of logs of one kind; `deep` decodes every record."""

    def __init__(self, report: Report, kind: FileKind, *, deep: bool, max_decompressed: int) -> None:
        self.report = report
        self.kind = kind
        self.is_metadata = kind in (METADATA, "checkpoint")
        self._deep = deep
        self._max_decompressed = max_decompressed
        self._control_types = _CONTROL_TYPES.get(kind, _MARKERS)
        self._loop = _metadata_loop(deep) if self.is_metadata else None
        self._coordinator = CoordinatorCheck(COORDINATOR_LOGS[kind], deep) if kind in COORDINATOR_LOGS else None
        self._walks_plainly = not self.is_metadata and self._coordinator is None

    def check(self, batch: RecordBatch) -> int:
        """Check a batch whose checksum holds; gives how many records it has."""
        header = batch.header
        count = header.count
        data = batch.data
        if (
            self._loop is not None
            and header.attributes == 0
            and 0 < count == header.last_offset_delta + 1
            and header.base_timestamp == header.max_timestamp
            and header.producer_id == -1
            and header.magic == 2
            and count <= min(_FAST_COUNT_MAX, len(data) // _RECORD_SIZE_MIN)
            and _LEVEL_HEAD not in data
            and self._loop(data, HEADER_SIZE, 0, count) == len(data)
        ):
            return count
        return self._check_with_care(batch)

    # ---- with every check

    def _check_with_care(self, batch: RecordBatch) -> int:
        if batch.header.magic < 2:
            return self._check_legacy(batch)
        self._check_header(batch)
        if batch.header.count <= 0:
            return 0
        counted = 0
        latest = -1
        before = -1
        header = batch.header
        try:
            buf, start, end = batch.records_area(self._max_decompressed)
        except DecodeError as error:
            self._error(batch, str(error))
            return 0
        if self._walks_plainly and not header.is_control and _is_plain(header, walk_plain(buf, start, end, header.count)):
            return header.count
        try:
            for fields in walk_records(buf, start, end, header.count):
                counted += 1
                self._check_place(batch, fields[0], before)
                before = fields[0]
                latest = max(latest, header.base_timestamp + fields[1])
                self._check_record(batch, buf, fields)
        except DecodeError as error:
            self._error(batch, f"record {counted} of the batch: {error}", before + 1)
            return counted
        if header.timestamp_type == "CreateTime" and latest != header.max_timestamp:
            self._error(batch, f"max timestamp {header.max_timestamp} is not that of the records, {latest}")
        return counted

    def _check_header(self, batch: RecordBatch) -> None:
        header = batch.header
        delta, count = header.last_offset_delta, header.count
        if count < 0:
            self._error(batch, f"record count {count} is negative")
        if delta < 0:
            self._error(batch, f"last offset delta {delta} is negative")
        elif count > delta + 1 or (self.is_metadata and count != delta + 1):
            self._error(batch, f"{count} records do not fit offsets 0 to {delta} of the batch")
        if header.attributes & ~_KNOWN_ATTRIBUTES:
            self._warn(batch, f"attributes {header.attributes & 0xFFFF:#06x} have undefined bits set")
        if self.is_metadata and (odd := _odd_in_metadata(header)):
            self._warn(batch, f"{odd}, which a metadata log never has")

    def _check_place(self, batch: RecordBatch, delta: int, before: int) -> None:
        if delta <= before or (self.is_metadata and delta != before + 1):
            self._error(batch, f"offset delta {delta} follows {before}", delta)
        elif delta > batch.header.last_offset_delta:
            self._error(batch, f"offset delta {delta} is above the batch's last, {batch.header.last_offset_delta}", delta)

    def _check_record(self, batch: RecordBatch, buf: bytes, fields: RecordFields) -> None:
        if batch.header.is_control:
            self._check_control(batch, buf, fields)
        elif self.is_metadata:
            self._check_metadata(batch, buf, fields)
        elif self._coordinator is not None:
            fault = self._coordinator.fault(_part(buf, fields[2], fields[3]), _part(buf, fields[4], fields[5]))
            if fault is not None:
                self._report(batch, fields[0], *fault)

    def _check_control(self, batch: RecordBatch, buf: bytes, fields: RecordFields) -> None:
        try:
            control = read_control_record(_part(buf, fields[2], fields[3]), _part(buf, fields[4], fields[5]))
        except DecodeError as error:
            self._error(batch, f"control record: {error}", fields[0])
            return
        if isinstance(control.body, bytes):
            self._warn(batch, f"unknown control record type {control.type}", fields[0])
        elif control.type not in self._control_types:
            name = CONTROL_TYPE_NAMES[control.type]
            place = "a checkpoint" if self.kind == "checkpoint" else "the metadata log" if self.is_metadata else "the log of a topic"
            self._error(batch, f"control record {name} does not belong in {place}", fields[0])

    def _check_metadata(self, batch: RecordBatch, buf: bytes, fields: RecordFields) -> None:
        delta, timestamp_delta, _, key_size, start, size, headers_start, _ = fields
        if key_size >= 0 or timestamp_delta or buf[headers_start]:
            odd = "a key" if key_size >= 0 else f"timestamp delta {timestamp_delta}" if timestamp_delta else "headers"
            self._error(batch, f"the record has {odd}, which Kafka refuses in a metadata log", delta)
        if size <= 0:
            self._error(batch, NO_VALUE, delta)
            return
        try:
            fault = _metadata_fault(buf, start, start + size, self._deep)
        except DecodeError as error:
            self._error(batch, str(error), delta)
            return
        if fault is not None:
            self._report(batch, delta, *fault)

    def _check_legacy(self, batch: RecordBatch) -> int:
        """A message of magic 0 or 1, and what it wraps."""
        if self.is_metadata:
            self._error(batch, f"a batch of magic {batch.header.magic} holds no metadata")
        counted = 0
        before = -1
        try:
            for record in batch.records(self._max_decompressed):
                counted += 1
                if record.offset <= before:
                    self._error(batch, f"offset {record.offset} follows {before}")
                before = record.offset
        except DecodeError as error:
            self._error(batch, str(error))
        return counted

    # ---- telling

    def _report(self, batch: RecordBatch, delta: int, is_error: bool, what: str) -> None:
        (self._error if is_error else self._warn)(batch, what, delta)

    def _error(self, batch: RecordBatch, what: str, delta: int = 0) -> None:
        self.report.error(batch.file, what, position=batch.position, offset=batch.header.base_offset + delta)

    def _warn(self, batch: RecordBatch, what: str, delta: int = 0) -> None:
        self.report.warn(batch.file, what, position=batch.position, offset=batch.header.base_offset + delta)


class UncheckedRecords(RecordCheck):
    """Lets every batch pass: where only what points at them is judged."""

    def __init__(self, report: Report, kind: FileKind) -> None:
        super().__init__(report, kind, deep=False, max_decompressed=0)

    def check(self, batch: RecordBatch) -> int:
        return max(0, batch.header.count)


def _is_plain(header: BatchHeader, found: tuple[int, int] | None) -> bool:
    """Whether the largest timestamp delta and the last offset delta that were found in a batch fit its header."""
    if found is None or found[1] > header.last_offset_delta:
        return False
    return header.timestamp_type == "LogAppendTime" or header.base_timestamp + found[0] == header.max_timestamp


def _odd_in_metadata(header: BatchHeader) -> str | None:
    if header.producer_id != -1 or header.producer_epoch != -1 or header.base_sequence != -1:
        return f"a producer ({header.producer_id}, epoch {header.producer_epoch}, sequence {header.base_sequence})"
    if header.is_transactional:
        return "a transactional batch"
    if header.timestamp_type != "CreateTime":
        return "timestamps of appending"
    if header.delete_horizon_ms is not None:
        return "a delete horizon"
    return None


def _metadata_fault(buf: bytes, start: int, end: int, deep: bool) -> tuple[bool, str] | None:
    """What is odd about a metadata record, and whether it is an error: a type or version that we do not know is none.

    Errors: FrameError for what is no metadata record at all.
    """
    frame = read_frame(buf, start, end)
    if frame.frame_version == 0:
        return False, "frame version 0 is that of KIP-631's text, which Kafka refuses"
    message = metadata_message(frame.type_id)
    if message is None:
        return False, f"unknown record type {frame.type_id}"
    if deep:
        record = read_metadata_record(buf, start, end)
        if record.message is None:
            return True, f"{record.type_name} version {record.version} does not decode: {record.fault}"
    if frame.type_id == _LEVEL_HEAD[1]:
        body = read_metadata_record(buf, start, end).body
        newer = "" if isinstance(body, UnknownRecord) else newer_line(newer_levels({body.name: body.feature_level}))
        if newer:
            return False, newer
    fault = version_fault(message, frame.version)
    return None if fault is None else (False, fault)


def _part(buf: bytes, start: int, size: int) -> bytes | None:
    return None if size < 0 else buf[start : start + size]


# ---- the tight loop


class _Readers(dict[bytes, Callable[[bytes, int, int], Any]]):
    """The first three bytes of a value (frame version, type, version) -> what decodes its body."""

    def __missing__(self, start: bytes) -> Callable[[bytes, int, int], Any]:
        reader = self[start] = known_message(start).reader(start[2])
        return reader


def _metadata_loop(deep: bool) -> Loop:
    if not deep:
        return BoundaryWalk().walk
    body = f"readers[buf[start : start + {FRAME_SIZE}]](buf, start + {FRAME_SIZE}, end)"
    return make_loop(body, names={"readers": _Readers()})  # type: ignore[no-any-return]
