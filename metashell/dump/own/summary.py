"""`dump-log --summary`: what a log, checkpoint or directory holds, in numbers.

Per file: batches, records, bytes, offsets, time span, epochs with their first offsets, gaps, compression, producers, and records
by type and version. It is the walk of the own voice with another writer, which reports the same faults. Without a decoder option, the
decoder is that of the log that a file belongs to.
"""

from __future__ import annotations

from typing import Any

from metashell.codec.batches import CONTROL, TRANSACTIONAL, BatchHeader, Record
from metashell.codec.control import CONTROL_TYPE_NAMES
from metashell.codec.coordinator import PREFIX_SIZE, int16_at
from metashell.codec.frame import FrameError, read_frame, record_type_name
from metashell.codec.framing import Stop
from metashell.codec.record_walk import RecordFields
from metashell.dump.inputs import Input, shown_path
from metashell.dump.own.json_lines import JsonWriter
from metashell.dump.own.session import Session
from metashell.dump.record_types import type_names
from metashell.dump.windows import dump_in_turn
from metashell.forms import compact_json
from metashell.log.kinds import DATA, METADATA, REMOTE_LOG, LogKind
from metashell.log.window_reader import WindowReader

GAPS_SHOWN_MAX = 20
TypeCount = tuple[str, int | None]


class SummaryWriter(JsonWriter):
    """Counts instead of writing."""

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
        """Nothing is written of what is read."""
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
    """Sums up every input instead of dumping it."""

    make_writer = SummaryWriter

    def walk(self, writer: JsonWriter, reader: WindowReader) -> Stop:
        return dump_in_turn(writer, reader, self.output)

    def finish(self, entry: Input, writer: JsonWriter, stop: Stop) -> None:
        assert isinstance(writer, SummaryWriter)
        size = writer.file.size()
        shown = writer.summary(stop.position if size is None else size, writer.findings.fault_count)
        self.report(entry.label, writer.take_findings())
        if self.options.output == "table":
            from metashell.dump.own.summary_text import table_lines

            text = "".join(f"{line}\n" for line in table_lines(entry.label, shown))
        else:
            text = compact_json({"kind": "summary", "file": shown_path(entry.label), **shown}) + "\n"
        self.output.write(text.encode("utf-8", "surrogateescape"))
