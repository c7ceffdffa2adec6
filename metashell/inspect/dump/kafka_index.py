"""Prints indexes and producer snapshots as kafka-dump-log of 4.4.0 does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice

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
from metashell.inspect.dump.kafka_records import java_absolute, java_long, java_sequence_before
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
