"""A whole run in our own voice. A fault in one file does not keep the others from being dumped; it makes the status 1.

`--follow` continues as a file or directory grows. A log shrinks when its node truncates records that a new leader does not have: that is
a `truncated` line, and the records written in their place follow. Nothing is locked; the file's size is read a few times a second.

`--summary` prints numbers instead: batches, records, bytes, offsets, time span, epochs with their first offsets, gaps, compression,
producers, and records by type and version, for each file. It is the same walk with another writer, which reports the same faults."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from metashell.codec.batch_writer import CONTROL_TYPE_NAMES
from metashell.codec.batches import CONTROL, TRANSACTIONAL, BatchHeader, Record, RecordFields
from metashell.codec.coordinator import PREFIX_SIZE, int16_at
from metashell.codec.framing import Stop
from metashell.codec.metadata_records import FrameError, read_frame, record_type_name
from metashell.common.errors import UsageError
from metashell.common.forms import aligned, compact_json
from metashell.common.terminal import terminal_line
from metashell.common.values import duration_text
from metashell.disk.directory import ListedFile
from metashell.disk.files import WindowReader
from metashell.disk.names import DATA, METADATA, REMOTE_LOG, LogKind, other_file
from metashell.inspect.dump.inputs import Input, directory_input, inputs_of, shown_path, type_names
from metashell.inspect.dump.options import DumpOptions, Output, TextSink
from metashell.inspect.dump.own_lines import JsonWriter
from metashell.inspect.dump.own_session import Session, json_form
from metashell.inspect.dump.writer import Place, dump_in_turn, format_window


def run_own(options: DumpOptions, output: Output, err: TextSink) -> int:
    """Dump all inputs as JSON, in order, and follow the last one with `--follow`; return the exit status.

    The status is 1 if a fault was found. Errors: UsageError.
    """
    with json_form(options, output) as shaped:
        session = _session(options, shaped, err)
        for number, path in enumerate(options.files, 1):
            try:
                if other_file(path) is None:
                    _dump_inputs(session, path, is_followed=options.follow and number == len(options.files))
                elif options.summary:
                    raise UsageError(f"{path}: only logs and checkpoints are summed up", path)
                else:
                    from metashell.inspect.dump.own_index import OwnIndex

                    OwnIndex(session, path).dump()
            except UsageError as error:
                session.complain(str(error))
        return session.status


def _session(options: DumpOptions, output: Output, err: TextSink) -> Session:
    if not options.summary:
        return Session(options, output, err)

    return SummarySession(options, output, err)


def _dump_inputs(session: Session, path: str, is_followed: bool) -> None:
    """Dump the files of one argument."""
    inputs = list(inputs_of(path, session.wanted_logs, may_be_empty=is_followed))
    last: Place = None
    for before, entry in zip((None, *inputs), inputs, strict=False):
        if before is not None and before.directory is not entry.directory:
            last = None  # another log begins
        if entry is inputs[-1] and is_followed:
            follow_input(session, entry, last)
            return
        try:
            file = entry.open()
        except OSError as error:  # a running node has removed it since it was listed
            session.complain(f"{entry.label}: {error.strerror or error}")
            continue
        with file:
            try:
                last = session.dump(entry, file, last)
            except UsageError as error:  # it is of another log than was asked for
                session.complain(str(error))
                last = None


POLL_INTERVAL_S = 0.2


def follow_input(
    session: Session,
    entry: Input,
    last: Place,
    wait: Callable[[], bool] | None = None,
) -> None:
    """Dump `entry` and then everything that is added to it, until interrupted.

    `wait` pauses between two looks and returns whether to go on; the default sleeps for a moment and never ends.
    """
    wait = wait or _sleep
    following: Input | None = entry
    while following is not None:
        with following.open() as file:
            writer = session.writer(following, file, last, is_followed=file.size() is not None)
            reader = session.reader(file)
            stop = session.walk(writer, reader)
            session.report(following.label, writer.take_findings())
            if file.size() is None:
                return  # a stream has no end to wait at
            following = _Follower(session, following, writer, reader).follow(stop, wait)
            last = writer.last


def _sleep() -> bool:
    time.sleep(POLL_INTERVAL_S)
    return True


class _Follower:
    """Follows one file from the end of its dump."""

    def __init__(self, session: Session, entry: Input, writer: JsonWriter, reader: WindowReader) -> None:
        self.session = session
        self.entry = entry
        self.writer = writer
        self.reader = reader

    def follow(self, stop: Stop, wait: Callable[[], bool]) -> Input | None:
        """Write what is added; return the next segment, None if there is nothing to wait for."""
        position = stop.position
        while not self._is_hopeless(stop):
            # Look for a next segment before reading this one: then everything appended to this one before the next began is read too.
            next_segment = self._next_segment()
            self.reader.grow()
            size = self.reader.end or 0
            if size < position:
                position = self._shrank(position, size)
                continue
            window = self.reader.read(position)
            if window.stop is not None:
                stop = window.stop
                window.stop = None
            format_window(self.writer, window)
            self._flush()
            if window.next == position:
                if next_segment is not None:
                    return next_segment
                if not wait():
                    return None
            position = window.next
        return None

    def _flush(self) -> None:
        self.session.output.write_all(self.writer.take_text())
        self.session.report(self.entry.label, self.writer.take_findings())

    def _shrank(self, position: int, size: int) -> int:
        self.writer.shrank(position, size)
        self._flush()
        return size

    def _is_hopeless(self, stop: Stop) -> bool:
        """Return whether the bytes at the end can never become a batch. Zeros can: they are preallocated space."""
        if stop.kind not in ("bad-size", "too-large") or stop.length == 0:
            return False
        self.writer.is_followed = False
        self.writer.stop(stop)
        self._flush()
        return True

    def _next_segment(self) -> Input | None:
        directory = self.entry.directory
        if directory is None:
            return None
        names = [segment.name for segment in directory.list().segments]
        here = os.path.basename(self.entry.label)
        later = [name for name in names if name > here]
        return directory_input(directory, ListedFile(later[0], may_end_early=True), self.entry.log) if later else None


GAPS_SHOWN_MAX = 20
TypeCount = tuple[str, int | None]


class SummaryWriter(JsonWriter):
    """Counts batches and records and writes nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.loop = None
        self.shows_batches = self.shows_records = True
        self.is_plain = False
        self.offsets: list[int] = []
        self.times: list[int] = []
        self.batch_count = self.record_count = self.control_count = self.transactional_count = self.tombstone_count = 0
        self.gaps: list[tuple[int, int]] = []
        self.gap_count = 0
        self.missing_count = 0
        self.epochs: dict[int, int] = {}
        self.codecs: dict[str, list[int]] = {}
        self.magics: dict[int, int] = {}
        self.types: dict[TypeCount, list[int]] = {}
        self.producers: set[int] = set()
        decoder = self.options.decoder
        self.log: LogKind = DATA if decoder == "classes" else decoder
        self.type_names = type_names(self.log)

    def flush(self) -> None:
        """Drop the lines that the walk made."""
        self.lines.clear()

    def _batch_line(self, header: BatchHeader, position: int) -> None:
        self.batch_count += 1
        if self.offsets:
            if header.base_offset > self.offsets[1] + 1:
                self.gap_count += 1
                self.missing_count += header.base_offset - self.offsets[1] - 1
                if len(self.gaps) < GAPS_SHOWN_MAX:
                    self.gaps.append((self.offsets[1], header.base_offset))
            self.offsets = [min(self.offsets[0], header.base_offset), max(self.offsets[1], header.last_offset)]
        else:
            self.offsets = [header.base_offset, header.last_offset]
        first_time = header.base_timestamp if header.delete_horizon_ms is None else header.max_timestamp
        times = [time for time in (first_time, header.max_timestamp) if time >= 0]
        if times:
            self.times = [min(self.times[:1] + times), max(self.times[1:] + times)]
        if header.leader_epoch >= 0:
            self.epochs.setdefault(header.leader_epoch, header.base_offset)
        codec = self.codecs.setdefault(header.codec_name, [0, 0])
        codec[0] += 1
        codec[1] += header.size_bytes
        self.magics[header.magic] = self.magics.get(header.magic, 0) + 1
        if header.producer_id >= 0:
            self.producers.add(header.producer_id)
        if header.magic >= 2 and not header.attributes & CONTROL:
            self.missing_count += max(0, header.last_offset_delta + 1 - header.count)

    def record(self, header: BatchHeader, buf: bytes, fields: RecordFields) -> None:
        _, _, key_start, key_size, value_start, value_size, _, _ = fields
        key = buf[key_start : key_start + key_size] if key_size >= 0 else None
        value = buf[value_start : value_start + value_size] if value_size >= 0 else None
        self._count(header, key, value)

    def _legacy_record(self, header: BatchHeader, record: Record) -> None:
        self._count(header, record.key, record.value)

    def _count(self, header: BatchHeader, key: bytes | None, value: bytes | None) -> None:
        if header.attributes & CONTROL:
            self.control_count += 1
            type = int16_at(key, 2) if key is not None and len(key) >= 4 else -1
            counted: TypeCount = (CONTROL_TYPE_NAMES.get(type, f"UNKNOWN_CONTROL_{type}"), int16_at(value or b"\0\0", 0))
        else:
            self.record_count += 1
            self.transactional_count += bool(header.attributes & TRANSACTIONAL)
            self.tombstone_count += value is None and key is not None
            if self.log == DATA:
                return
            counted = self._type_of(key, value)
        count = self.types.setdefault(counted, [0, 0])
        count[0] += 1
        count[1] += len(key or b"") + len(value or b"")

    def _type_of(self, key: bytes | None, value: bytes | None) -> TypeCount:
        """The name of a record's type and the version of its value, None for a tombstone."""
        if self.log in (METADATA, REMOTE_LOG):
            try:
                frame = read_frame((value or b"")[:16], 0, min(len(value or b""), 16))
            except FrameError:
                return "UNKNOWN", None
            if self.log == METADATA:
                return record_type_name(frame.type_id, "kip631" if frame.frame_version == 0 else "metadata"), frame.version
            return self.type_names.get(frame.type_id, f"UNKNOWN_RECORD_{frame.type_id}"), frame.version
        if key is None or len(key) < PREFIX_SIZE:
            return "UNKNOWN", None
        type = int16_at(key, 0)
        name = self.type_names.get(type, f"UNKNOWN_RECORD_{type}")
        return name, None if value is None or len(value) < PREFIX_SIZE else int16_at(value, 0)

    def summary(self, size: int | None, fault_count: int) -> dict[str, Any]:
        """The numbers as JSON values."""
        types = sorted(self.types.items(), key=lambda item: (item[0][0], -1 if item[0][1] is None else item[0][1]))
        return {
            "bytes": size,
            "batches": self.batch_count,
            "records": self.record_count,
            "control_records": self.control_count,
            "transactional_records": self.transactional_count,
            "tombstones": self.tombstone_count,
            "offsets": {"first": self.offsets[0], "last": self.offsets[1]} if self.offsets else None,
            "timestamps": {"first": self.times[0], "last": self.times[1]} if self.times else None,
            "epochs": [{"epoch": epoch, "first_offset": offset} for epoch, offset in self.epochs.items()],
            "gaps": [{"after": after, "next": following} for after, following in self.gaps],
            "gap_count": self.gap_count,
            "missing_offsets": self.missing_count,
            "compression": [{"codec": name, "batches": count, "bytes": size} for name, (count, size) in sorted(self.codecs.items())],
            "magics": [{"magic": magic, "batches": count} for magic, count in sorted(self.magics.items())],
            "producers": len(self.producers),
            "types": [{"type": name, "version": version, "count": count, "bytes": size} for (name, version), (count, size) in types],
            "faults": fault_count,
        }


class SummarySession(Session):
    """Summarises every input instead of dumping it."""

    make_writer = SummaryWriter

    def walk(self, writer: JsonWriter, reader: WindowReader) -> Stop:
        return dump_in_turn(writer, reader, self.output)

    def finish(self, entry: Input, writer: JsonWriter, stop: Stop) -> None:
        assert isinstance(writer, SummaryWriter)
        size = writer.file.size()
        shown = writer.summary(stop.position if size is None else size, writer.findings.fault_count)
        self.report(entry.label, writer.take_findings())
        if self.options.output == "table":
            text = "".join(f"{line}\n" for line in table_lines(entry.label, shown))
        else:
            text = compact_json({"kind": "summary", "file": shown_path(entry.label), **shown}) + "\n"
        self.output.write(text.encode("utf-8", "surrogateescape"))


_WIDTH = 13
_TIME_MAX_MS = 253_402_300_799_999


def table_lines(label: str, shown: dict[str, Any]) -> Iterator[str]:
    """The lines of a summary: its figures, then the record types with their counts."""
    yield terminal_line(shown_path(label))
    for name, text in _facts(shown):
        yield f"  {name:<{_WIDTH}}{text}"
    if shown["types"]:
        yield ""
        yield from _types(shown["types"])
    yield ""


def _facts(shown: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "bytes", str(shown["bytes"])
    yield "batches", f"{shown['batches']}{_compression(shown['compression'])}"
    yield "records", _records(shown)
    if shown["offsets"]:
        yield "offsets", f"{shown['offsets']['first']} to {shown['offsets']['last']}"
    if shown["timestamps"]:
        first, last = shown["timestamps"]["first"], shown["timestamps"]["last"]
        yield "time", f"{_time(first)} to {_time(last)} ({duration_text(max(last - first, 0))})"
    if shown["epochs"]:
        yield "epochs", ", ".join(f"{entry['epoch']} from {entry['first_offset']}" for entry in shown["epochs"])
    if shown["gap_count"] or shown["missing_offsets"]:
        gaps = ", ".join(f"{gap['after']} to {gap['next']}" for gap in shown["gaps"])
        more = ", ..." if shown["gap_count"] > len(shown["gaps"]) else ""
        listed = f": {gaps}{more}" if gaps else ""
        yield "gaps", f"{shown['gap_count']} between batches, {shown['missing_offsets']} offsets missing{listed}"
    if shown["producers"]:
        yield "producers", str(shown["producers"])
    if any(entry["magic"] != 2 for entry in shown["magics"]):
        yield "magic", ", ".join(f"{entry['magic']} in {entry['batches']}" for entry in shown["magics"])
    if shown["faults"]:
        yield "faults", str(shown["faults"])


def _compression(codecs: list[dict[str, Any]]) -> str:
    if not codecs:
        return ""
    parts = [f"{entry['batches']} {_codec(entry['codec'])}, {entry['bytes']} bytes" for entry in codecs]
    return f" ({'; '.join(parts)})"


def _codec(name: str) -> str:
    return "not compressed" if name == "none" else name


def _records(shown: dict[str, Any]) -> str:
    parts = [
        f"{shown[name]} {text}"
        for name, text in (
            ("transactional_records", "transactional"),
            ("tombstones", "without a value"),
        )
        if shown[name]
    ]
    more = f" ({', '.join(parts)})" if parts else ""
    control = f", {shown['control_records']} control" if shown["control_records"] else ""
    return f"{shown['records']}{more}{control}"


def _time(time_ms: int) -> str:
    if not 0 <= time_ms <= _TIME_MAX_MS:
        return f"{time_ms} ms"
    seconds, fraction = divmod(time_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:03d}Z"


def _types(types: list[dict[str, Any]]) -> Iterator[str]:
    rows = [("TYPE", "VERSION", "COUNT", "BYTES")]
    rows += [(row["type"], "-" if row["version"] is None else str(row["version"]), str(row["count"]), str(row["bytes"])) for row in types]
    yield from (f"  {line}" for line in aligned(rows, right=(1, 2, 3)))
