"""Prints indexes, producer snapshots, and messages of magic 0 and 1 as kafka-dump-log of 4.4.0 does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from struct import Struct
from struct import error as struct_error

from metashell.codec.batches import CODEC_MASK, LEAD_SIZE, LOG_APPEND_TIME, MAGIC_END
from metashell.codec.framing import LENGTH_MIN, message_crc, read_message_header, with_lz4_header_checksum
from metashell.codec.primitives import LZ4, ZSTD, decompress
from metashell.codec.record_text import java_read_error
from metashell.codec.registry import message_type
from metashell.common.errors import DecodeError
from metashell.disk.files import RegularFile
from metashell.disk.indexes import (
    OFFSET_ENTRY,
    PRODUCER_SNAPSHOT_VERSION,
    TIME_ENTRY,
    TRANSACTION_INDEX_VERSION,
    aborted_transactions,
    producer_fields,
    read_offset_index,
    read_producer_header,
)
from metashell.inspect.dump.index_walk import LogHeads, TimeEntry, walk_offset_index, walk_time_index
from metashell.inspect.dump.kafka_records import KafkaLines, java_absolute, java_long, java_sequence_before
from metashell.inspect.dump.options import DumpOptions, Output, TextSink
from metashell.inspect.dump.writer import FLUSH_LINES, Halt

_NO_TIMESTAMP = -1


class IndexDiagnostics:
    """Faults of indexes by absolute path, which Kafka's tool reports after the last file."""

    def __init__(self) -> None:
        self.mismatches: dict[str, dict[int, int]] = {}
        self.timestamps: dict[str, list[tuple[int, int]]] = {}
        self.out_of_order: dict[str, list[tuple[int, int]]] = {}
        self.not_found: dict[str, list[tuple[int, int]]] = {}

    def report(self, err: TextSink) -> None:
        """Write all of it in Kafka's order and words."""
        for path, pairs in self.mismatches.items():
            err.write(f"Mismatches in :{path}\n")
            for index_offset in sorted(pairs, reverse=True):
                err.write(f"  Index offset: {index_offset}, log offset: {pairs[index_offset]}\n")
        for heading, first, second, found in (
            ("Found timestamp mismatch in :", "  Index timestamp", "log timestamp", self.timestamps),
            ("Found out of order timestamp in :", "  Index timestamp", "Previously indexed timestamp", self.out_of_order),
            ("The following indexed offsets are not found in :", "Indexed offset", "found log offset", self.not_found),
        ):
            for path, listed in found.items():
                err.write(f"{heading}{path}\n")
                for index_value, log_value in listed:
                    err.write(f"{first}: {index_value}, {second}: {log_value}\n")


class _TimeCheck:
    """Checks the entries of a time index in Kafka's way, and notes the faults."""

    def __init__(self, path: str, diagnostics: IndexDiagnostics) -> None:
        self.where = java_absolute(path)
        self.diagnostics = diagnostics
        self.before = _NO_TIMESTAMP

    def check_entry(self, entry: TimeEntry) -> None:
        before, self.before = self.before, entry.timestamp
        if entry.offset != entry.found_offset:
            self.diagnostics.not_found.setdefault(self.where, []).append((entry.offset, entry.found_offset))
            return
        if entry.max_timestamp != entry.timestamp:
            self.diagnostics.timestamps.setdefault(self.where, []).append((entry.timestamp, entry.max_timestamp))
        if before >= entry.timestamp:
            self.diagnostics.out_of_order.setdefault(self.where, []).append((entry.timestamp, before))


class IndexDump:
    """Dumps indexes in Kafka's voice, and keeps their faults. Raises Halt."""

    def __init__(self, options: DumpOptions, output: Output, err: TextSink) -> None:
        self.options = options
        self.output = output
        self.err = err
        self.diagnostics = IndexDiagnostics()

    def dump(self, path: str, name: str) -> None:
        """Dump one file, by the suffix of its name."""
        _HANDLERS[name[name.rfind(".") :]](self, path, name)

    def offset_index(self, path: str, name: str) -> None:
        base_offset = java_long(path, name.partition(".")[0])
        with ExitStack() as stack:
            log = _open_log(path, name, stack)
            data = _read(path)
            if len(data) < OFFSET_ENTRY.size:
                self._write([f"{path} is empty.\n"])
            elif self.options.index_sanity_check:
                self._offset_sanity(path, data, base_offset)
            else:
                self._offset_entries(path, data, base_offset, log)

    def _offset_sanity(self, path: str, data: bytes, base_offset: int) -> None:
        last = base_offset + OFFSET_ENTRY.unpack_from(data, len(data) // OFFSET_ENTRY.size * OFFSET_ENTRY.size - OFFSET_ENTRY.size)[0]
        if last < base_offset:
            raise Halt(
                f"Corrupt index found, index file {java_absolute(path)} has non-zero size but the last offset is {last} "
                f"which is less than the base offset {base_offset}"
            )
        if len(data) % OFFSET_ENTRY.size:
            raise Halt(
                f"Index file {java_absolute(path)} is corrupt, found {len(data)} bytes which is neither positive nor "
                f"a multiple of {OFFSET_ENTRY.size}"
            )
        self._write([f"{path} passed sanity check.\n"])

    def _offset_entries(self, path: str, data: bytes, base_offset: int, log: RegularFile) -> None:
        entries = walk_offset_index(data, base_offset, LogHeads(log, self.options.max_message_size))
        shows = not self.options.verify_index_only
        while batch := list(islice(entries, FLUSH_LINES)):
            lines: list[str] = []
            for offset, position, last_offset, trouble in batch:
                if trouble is not None:
                    self._write(lines)
                    raise Halt(f"{path}: entry of offset {offset}: {trouble}")
                if last_offset != offset:
                    self.diagnostics.mismatches.setdefault(java_absolute(path), {})[offset] = last_offset
                if shows:
                    lines.append(f"offset: {offset} position: {position}\n")
            self._write(lines)

    def time_index(self, path: str, name: str) -> None:
        base_offset = java_long(path, name.partition(".")[0])
        with ExitStack() as stack:
            log = _open_log(path, name, stack)
            offsets = read_offset_index(_read(_beside(path, name, ".index")), base_offset)
            data = _read(path)
            if self.options.index_sanity_check:
                self._time_sanity(path, data, base_offset)
                return
            entries = walk_time_index(data, base_offset, offsets, log, self.options.max_decompressed)
            self._time_entries(path, entries)

    def _time_entries(self, path: str, entries: Iterator[TimeEntry]) -> None:
        check = _TimeCheck(path, self.diagnostics)
        while batch := list(islice(entries, FLUSH_LINES)):
            lines: list[str] = []
            for entry in batch:
                if entry.trouble is not None:
                    self._write(lines)
                    raise Halt(f"{path}: entry of offset {entry.offset}: {entry.trouble}")
                check.check_entry(entry)
                if not self.options.verify_index_only:
                    lines.append(f"timestamp: {entry.timestamp} offset: {entry.offset}\n")
            self._write(lines)

    def _time_sanity(self, path: str, data: bytes, base_offset: int) -> None:
        count = len(data) // TIME_ENTRY.size
        where = java_absolute(path)
        if count:
            (first, _), (last, relative) = TIME_ENTRY.unpack_from(data), TIME_ENTRY.unpack_from(data, (count - 1) * TIME_ENTRY.size)
            begin = f"Corrupt time index found, time index file ({where}) has non-zero size but the last "
            if last < first:
                raise Halt(f"{begin}timestamp is {last} which is less than the first timestamp {first}")
            if relative < 0:
                raise Halt(f"{begin}offset is {base_offset + relative} which is less than the first offset {base_offset}")
        if len(data) % TIME_ENTRY.size:
            raise Halt(
                f"Time index file {where} is corrupt, found {len(data)} bytes which is neither positive nor a multiple of {TIME_ENTRY.size}"
            )
        self._write([f"{path} passed sanity check.\n"])

    def transaction_index(self, path: str, name: str) -> None:
        java_long(path, name.partition(".")[0])
        if not os.path.exists(path):
            return
        entries = list(aborted_transactions(_read(path)))
        for entry in entries:
            if entry.version != TRANSACTION_INDEX_VERSION:
                raise Halt(
                    f"Unexpected aborted transaction version {entry.version} in transaction index {java_absolute(path)}, "
                    f"supported version range is {TRANSACTION_INDEX_VERSION} to {TRANSACTION_INDEX_VERSION}"
                )
        self._write(
            f"version: {version} producerId: {producer_id} firstOffset: {first} lastOffset: {last} lastStableOffset: {stable}\n"
            for version, producer_id, first, last, stable in entries
        )

    def producer_snapshot(self, path: str, name: str) -> None:
        data = _read(path)
        trouble = _snapshot_trouble(data)
        if trouble is not None:
            self.err.write(f"{trouble}\n")
            return
        lines: list[str] = []
        append = lines.append
        entries = producer_fields(data, read_producer_header(data).entry_count)
        for producer, epoch, sequence, last, delta, time, coordinator_epoch, first in entries:
            transaction = f"OptionalLong[{first}]" if first >= 0 else "OptionalLong.empty"
            begin = (
                f"producerId: {producer} producerEpoch: {epoch} coordinatorEpoch: {coordinator_epoch} currentTxnFirstOffset: {transaction}"
            )
            if last < 0:
                append(f"{begin} lastTimestamp: {time}\n")
            else:
                # A sequence number wraps at 2^31, but the quick form serves nearly all.
                first_sequence = sequence - delta if sequence >= delta else java_sequence_before(sequence, delta)
                append(
                    f"{begin} lastTimestamp: {time} firstSequence: {first_sequence} lastSequence: {sequence} "
                    f"lastOffset: {last} offsetDelta: {delta} timestamp: {time}\n"
                )
            if len(lines) >= FLUSH_LINES:
                self._write(lines)
                lines.clear()
        self._write(lines)

    def _write(self, lines: Iterable[str]) -> None:
        self.output.write("".join(lines).encode("utf-8", "surrogateescape"))


_HANDLERS: dict[str, Callable[[IndexDump, str, str], None]] = {
    ".index": IndexDump.offset_index,
    ".timeindex": IndexDump.time_index,
    ".txnindex": IndexDump.transaction_index,
    ".snapshot": IndexDump.producer_snapshot,
}


def _snapshot_trouble(data: bytes) -> str | None:
    """Kafka's message for a producer snapshot that it does not accept."""
    begin = "Snapshot failed schema validation: "
    if len(data) < 2:
        return f"{begin}null"
    version = int.from_bytes(data[:2], "big", signed=True)
    if version != PRODUCER_SNAPSHOT_VERSION:
        return f"{begin}Snapshot contained an unknown file version {version}"
    try:
        header = read_producer_header(data)
    except DecodeError:
        return f"{begin}null"
    if header.entry_count < 0 or header.size_bytes > len(data):
        return f"{begin}{java_read_error(message_type('data', 'ProducerSnapshot'), data, version, 2, len(data))}"
    if header.crc != header.computed_crc:
        return f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {header.crc}. Computed crc: {header.computed_crc}"
    return None


def _beside(path: str, name: str, suffix: str) -> str:
    return os.path.join(os.path.dirname(path), name.partition(".")[0] + suffix)


def _open_log(path: str, name: str, stack: ExitStack) -> RegularFile:
    """The log that an index belongs to, opened until the stack is left. Raises Halt."""
    log = _beside(path, name, ".log")
    try:
        return stack.enter_context(RegularFile(os.open(log, os.O_RDONLY | os.O_CLOEXEC), log))
    except OSError as error:
        raise Halt(f"{log}: {error.strerror}") from error


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Halt(f"{path}: {error.strerror}") from error


_HEADER_SIZE = 26
_INT32 = Struct(">i").unpack_from
_INT64 = Struct(">q").unpack_from


class KafkaMessage:
    """One message with its offset and size. Its fields are read on demand, since Kafka fails only over those that it prints.

    Errors: struct.error if a size field lies past the message's end, DecodeError if the bytes that it counts do.
    """

    def __init__(self, data: bytes, offset: int) -> None:
        self.data = data
        self.offset = offset
        self.magic = data[MAGIC_END - 1]
        self.attributes = data[MAGIC_END]
        self.crc = int.from_bytes(data[12:16], "big")
        self.key_size_index = 18 if self.magic == 0 else 26

    @property
    def key_size(self) -> int:
        return int(_INT32(self.data, self.key_size_index)[0])

    @property
    def value_size_index(self) -> int:
        return self.key_size_index + 4 + max(self.key_size, 0)

    @property
    def value_size(self) -> int:
        return int(_INT32(self.data, self.value_size_index)[0])

    @property
    def timestamp(self) -> int:
        return -1 if self.magic == 0 else int(_INT64(self.data, 18)[0])

    def key(self) -> bytes | None:
        return self._field(self.key_size_index)

    def value(self) -> bytes | None:
        return self._field(self.value_size_index)

    def _field(self, index: int) -> bytes | None:
        (size,) = _INT32(self.data, index)
        if size < 0:
            return None
        room = len(self.data) - index - 4
        if size > room:
            raise DecodeError(f"newLimit > capacity: ({size} > {room})", offset=index)
        return self.data[index + 4 : index + 4 + size]


def legacy_batch(writer: KafkaLines, data: bytes, position: int) -> None:
    """Write one message, and with deep iteration the messages in it. Raises Halt."""
    header = read_message_header(data[:_HEADER_SIZE])
    writer.lines.append(f"offset: {header.base_offset}")
    if header.magic > 1:
        raise Halt(f"{writer.path}: position {position}: Invalid magic used in LegacyRecord: {header.magic - 256}")
    writer.second_half(header, position, message_crc(data) == header.crc)
    if not writer.options.iterates_deep:
        return
    writer.is_control = False
    outer = KafkaMessage(data, header.base_offset)
    try:
        if header.attributes & CODEC_MASK == 0:
            _line(writer, header.timestamp_type, outer, outer.timestamp)
            return
        append_time = header.max_timestamp if outer.magic == 1 and outer.attributes & LOG_APPEND_TIME else None
        for message in unwrapped(outer, writer.options.max_decompressed):
            if message.attributes & CODEC_MASK:
                raise DecodeError("Inner messages must not be compressed")
            timestamp = message.timestamp if append_time is None or message.magic != 1 else append_time
            _line(writer, header.timestamp_type, message, timestamp)
    except (DecodeError, struct_error) as error:
        raise Halt(f"{writer.path}: message at position {position}: {error}") from error


def _line(writer: KafkaLines, timestamp_type: str, message: KafkaMessage, timestamp: int) -> None:
    writer.note_records(message.offset)
    if not writer.options.skip_record_metadata:
        is_valid = message_crc(message.data) == message.crc
        writer.lines.append(
            f"| offset: {message.offset} {timestamp_type}: {timestamp} keySize: {message.key_size} "
            f"valueSize: {message.value_size} isValid: {'true' if is_valid else 'false'} crc: {message.crc}"
        )
    if not writer.options.prints_contents:
        writer.contents(message.offset, None, None)
    elif writer.options.decoder == "metadata":
        try:
            writer.contents(message.offset, None, message.value())
        except (DecodeError, struct_error) as error:
            # Kafka's decoder prints an error and goes on; Java's BufferUnderflowException has no message.
            reason = error if isinstance(error, DecodeError) else "null"
            writer.payload(None, f"Error at {message.offset}, skipping. {reason}")
    else:
        writer.contents(message.offset, message.key(), message.value())


def unwrapped(outer: KafkaMessage, max_size: int) -> list[KafkaMessage]:
    """The messages in a compressed one, with absolute offsets.

    A message that is cut off at the end is left out, as Kafka does. Errors: DecodeError.
    """
    codec_id = outer.attributes & CODEC_MASK
    packed = outer.value()
    if codec_id == ZSTD or packed is None:
        raise DecodeError(f"Invalid wrapper in legacy deep record iterator {outer.magic}")
    if codec_id == LZ4 and outer.magic == 0:
        packed = with_lz4_header_checksum(packed)
    area = decompress(codec_id, packed, max_size)
    found: list[KafkaMessage] = []
    at = 0
    while at + LEAD_SIZE <= len(area):
        offset = int(_INT64(area, at)[0])
        (length,) = _INT32(area, at + 8)
        if length < LENGTH_MIN:
            raise DecodeError(f"Record size {length} is less than the minimum record overhead (14)")
        if at + LEAD_SIZE + length > len(area):
            break
        found.append(KafkaMessage(area[at : at + LEAD_SIZE + length], offset))
        at += LEAD_SIZE + length
    if not found:
        raise DecodeError("Found invalid compressed record set with no inner records")
    if outer.magic == 1:
        _make_absolute(found, outer.offset)
    return found


def _make_absolute(messages: list[KafkaMessage], wrapper_offset: int) -> None:
    last = messages[-1].offset
    # Some versions of librdkafka leave the wrapper's offset at 0.
    if wrapper_offset == 0:
        return
    if wrapper_offset < last:
        raise DecodeError(f"wrapper offset {wrapper_offset} is less than the last inner message offset {last}")
    for message in messages:
        message.offset += wrapper_offset - last
