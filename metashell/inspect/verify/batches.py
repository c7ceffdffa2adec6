"""Checks one batch: the numbers of its header, the boundaries of its records, and the type of each record.

A tight loop (`codec/metadata_records.py`) checks the usual batch of a metadata log. It judges a record by its first twelve bytes (size,
attributes, timestamp and offset delta, null key, size of the value, frame) and by its last one. Few such beginnings occur in a log, so the
loop remembers its answer for each beginning and place in a batch, which halves the time. A batch that the loop gives up is read again with
every check, and each fault is reported. Users' records have a loop of their own. A coordinator's record needs a key of a known type, and a
value that fits it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

from metashell.codec.batch_writer import (
    CONTROL_TYPE_NAMES,
    KRAFT_VERSION_RECORD,
    KRAFT_VOTERS,
    LEADER_CHANGE,
    SNAPSHOT_FOOTER,
    SNAPSHOT_HEADER,
    read_control_record,
)
from metashell.codec.batches import HEADER_SIZE, BatchHeader, RecordBatch, RecordFields, walk_records
from metashell.codec.coordinator import COORDINATOR_LOGS, PREFIX_SIZE, CoordinatorLog, int16_at
from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.metadata_records import (
    FRAME_VERSION,
    GAVE_UP,
    NO_VALUE,
    UnknownRecord,
    make_loop,
    metadata_message,
    read_frame,
    read_metadata_record,
    unknown_version,
    version_fault,
)
from metashell.codec.registry import MessageType, message_type
from metashell.common.errors import DecodeError
from metashell.disk.names import METADATA, LogKind
from metashell.inspect.verify import Report
from metashell.metadata.image.image import newer_levels, newer_line

FileKind = LogKind | Literal["checkpoint"]
"""The file that the batches are in: a log, or a checkpoint of the metadata log."""

_CONTROL_TYPES: dict[FileKind, set[int]] = {
    METADATA: {LEADER_CHANGE, KRAFT_VERSION_RECORD, KRAFT_VOTERS},
    "checkpoint": {SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION_RECORD, KRAFT_VOTERS},
}
_MARKERS = {0, 1}
_KNOWN_ATTRIBUTES = 0x7F
_FAST_COUNT_MAX = 1 << 20
_LEVEL_HEAD = b"\x01\x0c\x00"
"""The first bytes of a FeatureLevelRecord. Its type and version do not show whether we know the level; its fields do."""
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
        """Check a batch whose checksum is right; return the number of its records."""
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
        """Check a message of magic 0 or 1, and the messages in it."""
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

    # ---- reports

    def _report(self, batch: RecordBatch, delta: int, is_error: bool, what: str) -> None:
        (self._error if is_error else self._warn)(batch, what, delta)

    def _error(self, batch: RecordBatch, what: str, delta: int = 0) -> None:
        self.report.error(batch.file, what, position=batch.position, offset=batch.header.base_offset + delta)

    def _warn(self, batch: RecordBatch, what: str, delta: int = 0) -> None:
        self.report.warn(batch.file, what, position=batch.position, offset=batch.header.base_offset + delta)


class UncheckedRecords(RecordCheck):
    """Checks no records: for a run that judges only an index, which points into a log."""

    def __init__(self, report: Report, kind: FileKind) -> None:
        super().__init__(report, kind, deep=False, max_decompressed=0)

    def check(self, batch: RecordBatch) -> int:
        return max(0, batch.header.count)


def _is_plain(header: BatchHeader, found: tuple[int, int] | None) -> bool:
    """Return whether the largest timestamp delta and the last offset delta of a batch's records fit its header."""
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
    """Return what is wrong with a metadata record, and whether that is an error. An unknown type or version is none.

    Errors: FrameError for bytes that are no metadata record at all.
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
    """The first three bytes of a value (frame version, type, version) -> the reader of its body."""

    def __missing__(self, start: bytes) -> Callable[[bytes, int, int], Any]:
        reader = self[start] = known_message(start).reader(start[2])
        return reader


def _metadata_loop(deep: bool) -> Loop:
    if not deep:
        return BoundaryWalk().walk
    body = f"readers[buf[start : start + {FRAME_SIZE}]](buf, start + {FRAME_SIZE}, end)"
    return make_loop(body, names={"readers": _Readers()})  # type: ignore[no-any-return]


FRAME_SIZE: Final = 3
_WINDOW: Final = 12
"""Two bytes of size, two zeros, two bytes of offset delta, the null key, two bytes of the value's size, three of its frame."""
_PLACES_MAX: Final = 1 << 12
"""Past this place in a batch, a beginning does not recur often enough. An offset delta of three bytes would not fit the window."""
_KEPT_MAX: Final = 1 << 16

Loop = Callable[[bytes, int, int, int], int]


class BoundaryWalk:
    """Walks the records of batches, and remembers the size of a record by its first bytes and its place in a batch."""

    def __init__(self) -> None:
        self._loop: Loop = make_loop(_BODY, names={"known": _Known()})
        self._strides: list[dict[bytes, int]] = []
        self._kept = 0

    def walk(self, buf: bytes, at: int, first: int, count: int) -> int:
        """The index after `count` records, which start at index `at`; GAVE_UP if one is unusual or unknown."""
        if count > _PLACES_MAX or first:
            return self._loop(buf, at, first, count)
        strides = self._strides
        while len(strides) < count:
            strides.append({})
        place = 0
        try:
            for known in strides if len(strides) == count else strides[:count]:
                stride = known.get(buf[at : at + _WINDOW])
                if stride is None:
                    after = self._learn(buf, at, place)
                    if after == GAVE_UP:
                        return GAVE_UP
                    at = after
                else:
                    at += stride
                    if buf[at - 1]:  # the number of headers
                        return GAVE_UP
                place += 1
        except IndexError:
            return GAVE_UP
        return at

    def _learn(self, buf: bytes, at: int, place: int) -> int:
        """Read one record with the loop, and remember its beginning; return the index after it."""
        after = self._loop(buf, at, place, 1)
        if after != GAVE_UP:
            if self._kept >= _KEPT_MAX:
                for known in self._strides:
                    known.clear()
                self._kept = 0
            self._strides[place][buf[at : at + _WINDOW]] = after - at
            self._kept += 1
        return after


_BODY = f"""
known[buf[start : start + {FRAME_SIZE}]]
if value_size < {2 * FRAME_SIZE}: return GAVE_UP
"""


class _Known(dict[bytes, bool]):
    """The first three bytes of a value (frame version, type, version) -> True. Errors: DecodeError for those of no known record."""

    def __missing__(self, start: bytes) -> bool:
        known_message(start)
        self[start] = True
        return True


def known_message(start: bytes) -> MessageType:
    """The message type of a value that starts with these three bytes. Errors: DecodeError for an unknown type or version."""
    name = METADATA_TYPES.get(start[1]) if len(start) == FRAME_SIZE and start[0] == FRAME_VERSION else None
    if name is None:
        raise DecodeError("not a record that is known")
    message = message_type("metadata", name)
    if not message.versions[0] <= start[2] <= message.versions[1]:
        raise DecodeError("not a version that is known")
    return message


def walk_plain(buf: bytes, at: int, end: int, count: int) -> tuple[int, int] | None:
    """The largest timestamp delta and the last offset delta of `count` records that fill `buf[at:end]`.

    None for records that need every check: it reads only records without headers, in ascending order, whose sizes and deltas are not
    negative and have at most three bytes.
    """
    latest = 0
    before = -1
    numbers = [0, 0, 0, 0, 0]
    try:
        for _ in range(count):
            for field in _FIELDS:
                number = buf[at]
                at += 1
                if number > 127:
                    more = buf[at]
                    at += 1
                    number = number & 127 | (more & 127) << 7
                    if more > 127:
                        more = buf[at]
                        at += 1
                        if more > 127:
                            return None
                        number |= more << 14
                numbers[field] = number
                if field == _SIZE:
                    stop = at + (number >> 1)
                    at += 1  # attributes
                elif field >= _KEY and number != _NULL:
                    at += number >> 1
            size, timestamp, offset, key, value = numbers
            if (size | timestamp | offset) & 1 or (key & 1 and key != _NULL) or (value & 1 and value != _NULL):
                return None
            at += 1
            if at != stop or buf[at - 1] or offset >> 1 <= before:
                return None
            before = offset >> 1
            if timestamp > latest:
                latest = timestamp
    except IndexError:
        return None
    return (latest >> 1, before) if at == end else None


_SIZE, _TIMESTAMP, _OFFSET, _KEY, _VALUE = _FIELDS = tuple(range(5))
_NULL = 1
"""The varint of -1."""


Fault = tuple[bool, str]
"""Whether it is an error, and what is wrong."""

Reader = Callable[[bytes, int, int], Any]


class CoordinatorCheck:
    """Checks the keys and values of a coordinator's log: types and versions, and with `deep` all fields."""

    def __init__(self, log: CoordinatorLog, deep: bool) -> None:
        self._log = log
        self._deep = deep
        self._judged: dict[tuple[bytes, bytes | None], Fault | None] = {}

    def fault(self, key: bytes | None, value: bytes | None) -> Fault | None:
        """Return what is wrong with a record, None for nothing."""
        if key is None or len(key) < PREFIX_SIZE:
            return True, "the record has no key"
        kind = key[:PREFIX_SIZE], None if value is None else value[:PREFIX_SIZE]
        if kind not in self._judged:
            self._judged[kind] = self._judge(*kind)
        fault = self._judged[kind]
        if not self._deep or (fault is not None and not fault[1].endswith("read as the newest")):
            return fault
        type = int16_at(key, 0)
        return _decoding_fault(self._log.key_message(type), 0, key, "key") or (
            fault if value is None else _decoding_fault(self._log.value_message(type), int16_at(value, 0), value, "value") or fault
        )

    def _judge(self, key: bytes, value: bytes | None) -> Fault | None:
        type = int16_at(key, 0)
        message = self._log.value_message(type)
        if self._log.key_message(type) is None or message is None:
            return False, f"unknown record type {type}"
        if value is None:
            return None
        if len(value) < PREFIX_SIZE:
            return True, "the record's value has no version"
        version = int16_at(value, 0)
        low, high = message.versions
        return None if low <= version <= high else (False, f"{unknown_version(message, version)}, read as the newest")


def _decoding_fault(message: MessageType | None, version: int, data: bytes, part: str) -> Fault | None:
    assert message is not None, "types were judged before"
    low, high = message.versions
    try:
        message.reader(min(max(version, low), high))(data, PREFIX_SIZE, len(data))
    except DecodeError as error:
        return True, f"{message.name} version {version} does not decode as the record's {part}: {error}"
    return None
