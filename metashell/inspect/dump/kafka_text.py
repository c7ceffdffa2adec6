"""Prints a log or checkpoint byte for byte as kafka-dump-log of 4.4.0 does, and runs that tool.

That includes damaged files: where 4.4.0 exits with a stack trace, `Halt` is raised at the same place in the text. Later files and the
diagnostics at the end are not printed then, and one line on stderr replaces the stack trace.

`dump-log -o kafka` prints the same text by our own rules: a fault in one file does not stop the run; secrets are redacted unless
--show-secrets is given; faults are reported on stderr and make the status 1. Kafka's text has no form for a part of a log, so the options
that choose one are refused.

Source: org.apache.kafka.tools.DumpLogSegments."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

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
    RecordFields,
    read_headers,
    unpack_header,
    walk_records,
)
from metashell.codec.framing import FRAME_SIZE_MAX, Stop
from metashell.codec.primitives import crc32c
from metashell.common.errors import DecodeError, UsageError
from metashell.disk.files import OpenFile, WindowReader, open_file, open_regular
from metashell.disk.names import BOOTSTRAP_CHECKPOINT, COMPRESSED_SUFFIXES, other_file
from metashell.inspect.dump.kafka_records import (
    INT64_LIMIT,
    KafkaLines,
    control_text,
    int64,
    java_absolute,
    java_long,
    java_path,
    java_sequence,
    payload_texts,
    payloads_of,
    shows_secrets,
)
from metashell.inspect.dump.options import MAX_BYTES_DEFAULT, DumpOptions, Output, TextSink
from metashell.inspect.dump.parallel import dump_file
from metashell.inspect.dump.writer import FLUSH_LINES, Halt, make_keyed_loop, make_loop

if TYPE_CHECKING:
    from metashell.inspect.dump.inputs import Input
    from metashell.inspect.dump.kafka_index import IndexDump


_OFFSET_WIDTH = 20
_EPOCH_WIDTH = 10


class KafkaRun:
    """The state of one run. `pairs` are the offsets that do not follow one another, by absolute path.

    `is_honest` is true under our own name: a fault is reported and makes the status 1. `may_end_early` marks the last segment of a
    directory.
    """

    def __init__(self, options: DumpOptions, output: Output, err: TextSink) -> None:
        self.options = options
        self.output = output
        self.err = err
        self.status = 0
        self.pairs: dict[str, dict[int, int]] = {}
        self.indexes: IndexDump | None = None
        self.is_honest = options.voice == "own"
        self.may_end_early = False

    def complain(self, text: str) -> None:
        """Report a fault on stderr."""
        self.err.write(f"{self.options.program}: {text}\n")
        self.status = 1

    def file(self, path: str) -> None:
        """Dump one file. Raises Halt."""
        path = java_path(path)
        self.output.write(f"Dumping {path}\n".encode("utf-8", "surrogateescape"))
        name = os.path.basename(path)
        if self.is_honest:
            # Kafka's tool does not know compressed files; under our own name they are expanded.
            name = name.removesuffix(next((f".{suffix}" for suffix in COMPRESSED_SUFFIXES if name.endswith(f".{suffix}")), ""))
        suffix = name[name.rfind(".") :] if "." in name else ""
        handler = _HANDLERS.get(suffix)
        if handler is None:
            self.err.write(f"Ignoring unknown file {path}\n")
            self.status = int(self.is_honest)
        else:
            handler(self, path, name)

    def log(self, path: str, name: str) -> None:
        """Dump a segment or a checkpoint. Raises Halt."""
        options = self.options
        try:
            payloads_of(options)
        except DecodeError as error:
            raise Halt(str(error)) from error
        heading = _heading(path, name)
        self.output.write(f"{heading}\n".encode())
        if options.max_bytes < 0:
            raise Halt(f"{path}: Invalid size: {options.max_bytes}")
        try:
            file = open_file(path) if self.is_honest else open_regular(path)
        except OSError as error:
            raise Halt(f"{path}: {error.strerror}") from error
        except UsageError as error:
            raise Halt(str(error)) from error
        with file:
            writer = KafkaWriter(options, file, path, name)
            # Kafka compares the first record with offset -1, so it reports every segment but the first of a log.
            writer.last = None if self.is_honest else (-1, 0)
            reader = WindowReader(file, options.max_bytes, FRAME_SIZE_MAX)
            dump_file(writer, reader, self.output, options.jobs)
        findings = writer.findings
        if self.is_honest and not self.may_end_early:
            for fault in findings.fault_lines():
                self.complain(f"{path}: {fault}")
        if findings.pairs:
            # Of two pairs that begin with one offset, Kafka reports the later one.
            found = self.pairs.setdefault(java_absolute(path), {})
            found.update({offset: following for _, offset, following in findings.pairs})

    def diagnostics(self) -> None:
        """Print the faults that Kafka reports after the last file."""
        if self.indexes is not None:
            self.indexes.diagnostics.report(self.err)
        for path, pairs in self.pairs.items():
            self.err.write(f"Non-consecutive offsets in {path}\n")
            for offset in sorted(pairs):
                self.err.write(f"  {offset} is followed by {pairs[offset]}\n")

    def index(self, path: str, name: str) -> None:
        """Dump an index or a producer snapshot. Raises Halt."""
        from metashell.inspect.dump.kafka_index import IndexDump

        if self.indexes is None:
            self.indexes = IndexDump(self.options, self.output, self.err)
        self.indexes.dump(path, name)


_HANDLERS: dict[str, Callable[[KafkaRun, str, str], None]] = {
    ".log": KafkaRun.log,
    ".checkpoint": KafkaRun.log,
    **dict.fromkeys((".index", ".timeindex", ".txnindex", ".snapshot"), KafkaRun.index),
}
"""Suffix of a file's name, from its last dot -> the method that dumps it."""


def run_kafka(options: DumpOptions, output: Output, err: TextSink) -> int:
    """Dump all files in Kafka's voice; returns the exit status."""
    run = KafkaRun(options, output, err)
    try:
        for path in options.files:
            run.file(path)
    except Halt as halt:
        run.complain(str(halt))
    else:
        run.diagnostics()
    return run.status


def _heading(path: str, name: str) -> str:
    """The line before the first batch. Raises Halt for a name that does not fit its suffix."""
    if name == BOOTSTRAP_CHECKPOINT:
        return "KRaft bootstrap snapshot"
    if name.endswith(".checkpoint"):
        end = _OFFSET_WIDTH + 1 + _EPOCH_WIDTH
        if len(name) < end:
            raise Halt(f"{path}: the name of a checkpoint begins with 20 digits, a dash and 10 digits")
        offset = java_long(path, name[:_OFFSET_WIDTH])
        return f"Snapshot end offset: {offset}, epoch: {java_long(path, name[_OFFSET_WIDTH + 1 : end], 32)}"
    return f"Log starting offset: {java_long(path, name.partition('.')[0])}"


def run_kafka_text(options: DumpOptions, output: Output, err: TextSink) -> int:
    """Dump all files as Kafka's text; returns the exit status: 1 if a fault was found. Errors: UsageError."""
    _refuse(options)
    run = KafkaRun(options, output, err)
    for path in options.files:
        _dump(run, path)
    run.diagnostics()
    return run.status


def _dump(run: KafkaRun, path: str) -> None:
    """Dump a file, or the files that a directory stands for."""
    # kafka-dump-log has no directories and does not need this import, which would delay its start.
    from metashell.inspect.dump.inputs import inputs_of, wanted_logs

    try:
        for entry in inputs_of(path, wanted_logs(run.options)):
            run.may_end_early = entry.may_end_early
            try:
                _check(run, entry)
                run.file(entry.label)
            except (Halt, UsageError) as trouble:
                run.complain(str(trouble))
    except UsageError as error:
        run.complain(str(error))


def _check(run: KafkaRun, entry: Input) -> None:
    """Check an input. Errors: UsageError if it is no file, or if the decoder is that of another log, which would fail at each record."""
    from metashell.inspect.dump.inputs import options_for

    try:
        os.stat(entry.label)
    except OSError as error:
        raise UsageError(f"{entry.label}: {error.strerror}", entry.label) from error
    if run.options.decoder != "classes" and other_file(entry.label) is None and os.path.isfile(entry.label):
        with open_file(entry.label) as file:
            options_for(run.options, entry.label, entry.log, file)


def _refuse(options: DumpOptions) -> None:
    given = {
        "--type": options.types,
        "--offset": options.offsets != (None, None),
        "--since": options.since_ms is not None,
        "--until": options.until_ms is not None,
        "--key": options.key_pattern,
        "--value": options.value_pattern,
        "--batches": options.batches != "no",
        "--follow": options.follow,
        "standard input": "-" in options.files,
    }
    for name, is_given in given.items():
        if is_given:
            raise UsageError(f"{name} does not go with -o kafka: Kafka's text is that of whole files", name)


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
            from metashell.inspect.dump.kafka_topics import CoordinatorPayloads

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
            from metashell.inspect.dump.kafka_index import legacy_batch

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
        """Write a batch without attributes and sequences, as most are. It is `_batch_line` without their parts."""
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
            # Coordinators write many batches of one record, so this path is as short as it can be.
            self.note_records(base)
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
        """A batch that is shorter than its header: Kafka reads on into the bytes after it, if there are enough."""
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
            if not self.is_control and header.base_sequence == -1 and header.base_offset < INT64_LIMIT - header.count:
                timestamp = header.max_timestamp if is_append_time else header.base_timestamp
                middle = f" {self.timestamp_type}: {timestamp} keySize: {self.middle_end}"
            self.records(header, buf, start + HEADER_SIZE, start + size, middle)
        except DecodeError as error:
            raise Halt(f"{self.path}: batch at position {self.position}: {error}") from error

    def _compressed(self, header: BatchHeader, data: bytes) -> None:
        """The records of a compressed batch. Kafka prints none of them unless it can read all."""
        if header.count == 0:
            return
        area, start, end = RecordBatch(header, self.position, data).records_area(self.options.max_decompressed)
        for _ in walk_records(area, start, end, header.count):
            pass
        self.records(header, area, start, end, None)

    def record(self, header: BatchHeader, buf: bytes, fields: RecordFields) -> None:
        offset_delta, timestamp_delta, key_start, key_size, value_start, value_size, headers_start, following = fields
        offset = int64(header.base_offset + offset_delta)
        self.note_records(offset)
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
            from metashell.disk.segment import judge_tail

            tail = judge_tail(self.file, stop)
            if tail is not None:
                self.findings.fault(stop.position, f"position {stop.position}: {tail.reason}")
