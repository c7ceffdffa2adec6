"""Kafka's own text of a log or checkpoint, byte for byte as dump-log of 4.4.0 prints it.

What 4.4.0 does on damaged files is part of it: where it ends with a stack trace, `Halt` is raised at the same place
in the text. Source: org.apache.kafka.tools.DumpLogSegments; tools.md 1.3 to 1.5, 11, 12.
"""

from __future__ import annotations

from metashell.codec.batches import (
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC_END,
    TRANSACTIONAL,
    BatchHeader,
    RecordBatch,
    unpack_header,
)
from metashell.codec.crc32c import crc32c
from metashell.codec.framing import Stop
from metashell.codec.record_walk import RecordFields, read_headers, walk_records
from metashell.dump.fast_loop import make_loop
from metashell.dump.kafka.control import control_text
from metashell.dump.kafka.java import int64, java_sequence
from metashell.dump.kafka.lines import KafkaLines
from metashell.dump.kafka.payload import payload_texts, shows_secrets
from metashell.dump.options import MAX_BYTES_DEFAULT, DumpOptions
from metashell.dump.writer import FLUSH_LINES, Halt
from metashell.errors import DecodeError
from metashell.log.files import OpenFile

_INT64_LIMIT = 1 << 63
_PLAIN_LIMIT = 1 << 62
_LINE = "f'| offset: {offset}{middle}{value_size >> 1}{before}{body(buf, start + 3, end)}}}\\n'"
_LINE_WITHOUT_METADATA = "f'| payload: {before}{body(buf, start + 3, end)}}}\\n'"
_KEYED_HEAD = "| offset: {offset}{middle}{key_size} valueSize: "
_KEYED_LINE = f"f'{_KEYED_HEAD}{{value_size}}{{key_text}}{{before}}{{body(buf, start + 2, at)}}}}}}\\n'"
_KEYED_TOMBSTONE = f"f'{_KEYED_HEAD}-1{{key_text}} payload: <DELETE>\\n'"
_KEYED_TOMBSTONE_WITHOUT_METADATA = "f'{key_text} payload: <DELETE>\\n'"
_KEYED_LINE_WITHOUT_METADATA = "f'{key_text}{before}{body(buf, start + 2, at)}}}\\n'"


class KafkaWriter(KafkaLines):
    """Kafka's lines for one file."""

    def __init__(self, options: DumpOptions, file: OpenFile, path: str, name: str) -> None:
        super().__init__(options, file, path, name)
        self.append_time: int | None = None
        self.middle_end = "-1 valueSize: "
        if options.decoder == "metadata":
            self.loop = make_loop(_LINE_WITHOUT_METADATA if options.skip_record_metadata else _LINE)
            prefix = "" if options.skip_record_metadata else " sequence: -1 headerKeys: [] payload: "
            self.texts = payload_texts(prefix, shows_secrets(options))
        elif options.decoder in ("offsets", "transactions", "share"):
            from metashell.dump.kafka.coordinator import CoordinatorPayloads
            from metashell.dump.keyed_loop import make_keyed_loop

            assert isinstance(self.payloads, CoordinatorPayloads)
            self.middle_end = ""
            without = options.skip_record_metadata
            lines = (_KEYED_LINE_WITHOUT_METADATA, _KEYED_TOMBSTONE_WITHOUT_METADATA) if without else (_KEYED_LINE, _KEYED_TOMBSTONE)
            self.loop = make_keyed_loop(*lines)
            self.texts = self.payloads.loop_texts("| key: " if without else " sequence: -1 headerKeys: [] key: ")

    # ---- batches -------------------------------------------------------------------------------------------------

    def batch(self, buf: bytes, start: int, size: int, position: int) -> None:
        self.position = position
        magic = buf[start + MAGIC_END - 1]
        if not 2 <= magic < 128:
            from metashell.dump.kafka.legacy import legacy_batch

            legacy_batch(self, buf[start : start + size], position)
            return
        if size < HEADER_SIZE:
            self._short_batch(buf[start : start + size], position)
            return
        fields = unpack_header(buf, start)
        is_valid = crc32c(buf[start + 21 : start + size]) == fields[4]
        if is_valid and magic == 2 and fields[5] == 0 and fields[11] == -1 and 0 <= fields[0] < _PLAIN_LIMIT:
            self._plain_batch(fields, buf, start, size)
            return
        header = BatchHeader(*fields)
        self._batch_line(header, position, is_valid)
        if self.iterates_deep:
            self._deep(header, buf, start, size)

    def _plain_batch(self, fields: tuple[int, ...], buf: bytes, start: int, size: int) -> None:
        """A batch as most are (no attributes, no sequence): the same as below, without looking for what is not there."""
        base, _, epoch, _, crc, _, delta, base_time, max_time, producer, producer_epoch, _, count = fields
        lines = self.lines
        lines.append(
            f"baseOffset: {base} lastOffset: {base + delta} count: {count} baseSequence: -1 lastSequence: -1 "
            f"producerId: {producer} producerEpoch: {producer_epoch} partitionLeaderEpoch: {epoch} "
            f"isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: {self.position} "
            f"CreateTime: {max_time} size: {size} magic: 2 compresscodec: none crc: {crc} isvalid: true\n"
        )
        if not self.iterates_deep:
            return
        self.is_control, self.timestamp_type = False, "CreateTime"
        self.append_time = None
        at, middle, loop, mark = start + HEADER_SIZE, f" CreateTime: {base_time} keySize: {self.middle_end}", self.loop, len(lines)
        if loop is not None and count == 1 and loop(buf, at, 0, 1, base, middle, self.texts, lines.append) == start + size:
            # A batch of its own for each record, as coordinators write states: here every call would count.
            self.saw(base)
            if mark >= FLUSH_LINES:
                self.flush()
            return
        del lines[mark:]
        try:
            self.records(BatchHeader(*fields), buf, at, start + size, middle)
        except DecodeError as error:
            raise Halt(f"{self.path}: batch at position {self.position}: {error}") from error

    def _batch_line(self, header: BatchHeader, position: int, is_valid: bool) -> None:
        attributes = header.attributes
        sequence = header.base_sequence
        last_sequence = -1 if sequence == -1 else java_sequence(sequence, header.last_offset_delta)
        horizon = f"OptionalLong[{header.base_timestamp}]" if attributes & DELETE_HORIZON else "OptionalLong.empty"
        self.lines.append(
            f"baseOffset: {header.base_offset} lastOffset: {int64(header.last_offset)} count: {header.count} "
            f"baseSequence: {sequence} lastSequence: {last_sequence} producerId: {header.producer_id} "
            f"producerEpoch: {header.producer_epoch} partitionLeaderEpoch: {header.leader_epoch} "
            f"isTransactional: {'true' if attributes & TRANSACTIONAL else 'false'} "
            f"isControl: {'true' if attributes & CONTROL else 'false'} deleteHorizonMs: {horizon}"
        )
        self.second_half(header, position, is_valid)

    def _short_batch(self, data: bytes, position: int) -> None:
        """A batch that is shorter than its header: Kafka reads on into what follows it, if there is as much."""
        lead = self.file.read_at(position, HEADER_SIZE)
        if len(lead) < HEADER_SIZE:
            raise Halt(f"{self.path}: position {position}: the file ends inside a record batch header")
        self._batch_line(BatchHeader(*unpack_header(lead)), position, False)
        if self.options.iterates_deep:
            raise Halt(f"{self.path}: position {position}: batch of {len(data)} bytes is shorter than its header")

    # ---- records -------------------------------------------------------------------------------------------------

    def _deep(self, header: BatchHeader, buf: bytes, start: int, size: int) -> None:
        self.is_control = header.attributes & CONTROL != 0
        is_append_time = header.attributes & LOG_APPEND_TIME
        self.append_time = header.max_timestamp if is_append_time else None
        self.timestamp_type = header.timestamp_type
        try:
            if header.attributes & CODEC_MASK:
                self._compressed(header, buf[start : start + size])
                return
            middle = None
            if not self.is_control and header.base_sequence == -1 and header.base_offset < _INT64_LIMIT - header.count:
                timestamp = header.max_timestamp if is_append_time else header.base_timestamp
                middle = f" {self.timestamp_type}: {timestamp} keySize: {self.middle_end}"
            self.records(header, buf, start + HEADER_SIZE, start + size, middle)
        except DecodeError as error:
            raise Halt(f"{self.path}: batch at position {self.position}: {error}") from error

    def _compressed(self, header: BatchHeader, data: bytes) -> None:
        """The records of a compressed batch, of which Kafka prints none unless it can read all."""
        if header.count == 0:
            return
        area, start, end = RecordBatch(header, self.position, data).records_area(self.options.max_decompressed)
        for _ in walk_records(area, start, end, header.count):
            pass
        self.records(header, area, start, end, None)

    def record(self, header: BatchHeader, buf: bytes, fields: RecordFields) -> None:
        offset_delta, timestamp_delta, key_start, key_size, value_start, value_size, headers_start, following = fields
        offset = int64(header.base_offset + offset_delta)
        self.saw(offset)
        options = self.options
        key = buf[key_start : key_start + key_size] if key_size >= 0 else None
        value = buf[value_start : value_start + value_size] if value_size >= 0 else None
        if not options.skip_record_metadata:
            timestamp = self.append_time
            if timestamp is None:
                timestamp = int64(header.base_timestamp + timestamp_delta)
            sequence = -1 if header.base_sequence < 0 else java_sequence(header.base_sequence, offset_delta)
            names = ",".join(name for name, _ in read_headers(buf, headers_start, following)) if buf[headers_start] else ""
            self.lines.append(
                f"| offset: {offset} {self.timestamp_type}: {timestamp} keySize: {key_size} valueSize: {value_size} "
                f"sequence: {sequence} headerKeys: [{names}]"
            )
            if self.is_control:
                self.lines.append(self._control(offset, key, value))
        self.contents(offset, key, value)

    def _control(self, offset: int, key: bytes | None, value: bytes | None) -> str:
        try:
            return control_text(key, value)
        except DecodeError as error:
            raise Halt(f"{self.path}: offset {offset}: {error}") from error

    # ---- the end -------------------------------------------------------------------------------------------------

    def stop(self, stop: Stop) -> None:
        if stop.kind == "bad-size":
            raise Halt(
                f"{self.path}: position {stop.position}: "
                f"Found record size {stop.length} smaller than minimum record overhead (14) in file {self.path}."
            )
        if self.file.trouble is not None:
            raise Halt(f"{self.path}: position {stop.position}: {self.file.trouble}")
        if stop.left > 0 and self.options.max_bytes == MAX_BYTES_DEFAULT:
            self.lines.append(f"Found {stop.left} invalid bytes at the end of {self.name}\n")
            from metashell.log.tail import judge_tail

            tail = judge_tail(self.file, stop)
            if tail is not None:
                self.findings.fault(stop.position, f"position {stop.position}: {tail.reason}")
