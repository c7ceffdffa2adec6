"""Prints indexes, producer snapshots and small text files as JSON lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import Any, NamedTuple

from metashell.codec.codes import BROKER_RESOURCE
from metashell.codec.framing import FRAME_SIZE_MAX
from metashell.codec.java import json_text, string_text
from metashell.codec.redaction import REDACTED, is_sensitive_config
from metashell.common.errors import DecodeError, LogCorruptError, PathError, UsageError
from metashell.common.values import uuid_text
from metashell.disk.files import RegularFile
from metashell.disk.indexes import (
    ABORTED_TRANSACTION,
    OFFSET_ENTRY,
    PRODUCER_SNAPSHOT_VERSION,
    TIME_ENTRY,
    TRANSACTION_INDEX_VERSION,
    AbortedTransaction,
    aborted_transactions,
    offset_entry_ascends,
    producer_fields,
    read_offset_index,
    read_producer_header,
    time_entry_ascends,
)
from metashell.disk.properties import parse_properties
from metashell.disk.state_files import quorum_state_fields, read_leader_epochs, read_partition_offsets, read_topic_id
from metashell.inspect.dump.index_walk import LogHeads, OffsetEntry, TimeEntry, walk_offset_index, walk_time_index
from metashell.inspect.dump.inputs import shown_path
from metashell.inspect.dump.options import MAX_MESSAGE_SIZE_DEFAULT
from metashell.inspect.dump.own_session import Session
from metashell.inspect.dump.writer import FLUSH_LINES, Findings

SIZE_MAX = 1 << 30
"""No index is so large; Kafka's default is 10 MiB."""
_META_KEYS = frozenset(("version", "cluster.id", "node.id", "broker.id", "directory.id"))
"""Keys that Kafka writes to meta.properties. Others may be a server's configuration, which can hold secrets."""
_NUMBER_MAX = 1 << 64
Faults = Iterator[tuple[str, str]]
"""The fault of an entry: further members of the fault's line, each with a comma after it, and the reason."""


def _no_faults(entry: Any, before: Any) -> Faults:
    yield from ()


class EntryKind(NamedTuple):
    """A kind of entry: the kind of its lines, its members, and its faults, given the entry before (or None)."""

    name: str
    members: Callable[[Any], str]
    faults: Callable[[Any, Any], Faults] = _no_faults


class OwnIndex:
    """Dumps one index, snapshot or text file as JSON lines."""

    def __init__(self, session: Session, path: str) -> None:
        self.session = session
        self.path = path
        self.label = string_text(shown_path(path))
        self.lines: list[str] = []
        self.findings = Findings()
        self.shows = not session.options.verify_index_only and not session.options.index_sanity_check

    def dump(self) -> None:
        """Read the file and write its lines. Errors: UsageError for a file that cannot be read."""
        try:
            with open(self.path, "rb") as file:
                data = file.read(SIZE_MAX + 1)
        except OSError as error:
            raise PathError.of(self.path, error) from error
        if len(data) > SIZE_MAX:
            raise UsageError(f"{self.path}: is larger than {SIZE_MAX} bytes", self.path)
        if data and not data.strip(b"\0"):
            self.note(f"nothing but {len(data)} zero bytes")
            data = b""
        name = os.path.basename(self.path)
        handler = NAME_HANDLERS.get(name) or SUFFIX_HANDLERS[os.path.splitext(name)[1]]
        handler(self, data)
        self.flush()
        self.session.report(self.path, self.findings)

    def flush(self) -> None:
        if self.lines:
            self.session.output.write("".join(self.lines).encode("utf-8", "surrogateescape"))
            self.lines.clear()

    def entries(self, kind: EntryKind, entries: Iterable[Any]) -> int:
        """Write the lines of entries and of their faults; returns the number of entries."""
        head = f'{{"kind":"{kind.name}","file":{self.label},'
        lines, members, faults, shows = self.lines, kind.members, kind.faults, self.shows
        before: Any = None
        count = 0
        for entry in entries:
            count += 1
            place = members(entry)
            if shows:
                lines.append(f"{head}{place}}}\n")
            for more, reason in faults(entry, before):
                self.fault("mismatch", f"{place},{more}", reason)
            if not count % FLUSH_LINES:
                self.flush()
            before = entry
        return count

    def offset_entries(self, entries: Iterator[OffsetEntry]) -> int:
        """As `entries(OFFSET, entries)`; written out for speed, since an index may have a million entries."""
        head = f'{{"kind":"offset-entry","file":{self.label},"offset":'
        lines, shows = self.lines, self.shows
        before: OffsetEntry | None = None
        before_offset = before_position = -_NUMBER_MAX
        count = 0
        while batch := list(islice(entries, FLUSH_LINES)):
            count += len(batch)
            for entry in batch:
                offset, position, last_offset, trouble = entry
                if shows:
                    lines.append(f'{head}{offset},"position":{position}}}\n')
                if last_offset != offset or trouble is not None or offset <= before_offset or position <= before_position:
                    for more, reason in _offset_faults(entry, before):
                        self.fault("mismatch", f"{_offset_members(entry)},{more}", reason)
                before, before_offset, before_position = entry, offset, position
            self.flush()
        return count

    def fault(self, kind: str, place: str, reason: str) -> None:
        """Write a line about a fault, and keep it for stderr; `place` are members, each with a comma after it."""
        self.findings.fault(0, reason)
        self.lines.append(f'{{"kind":"{kind}","file":{self.label},{place}"reason":{string_text(reason)}}}\n')

    def note(self, text: str) -> None:
        self.findings.notes.append(text)

    # ---- indexes -------------------------------------------------------------------------------------------------

    def offset_index(self, data: bytes) -> None:
        base_offset = self.base_offset()
        with ExitStack() as stack:
            log = self.open_log(stack)
            size_max = self.session.options.max_message_size
            # --max-message-size is a limit of Kafka's tool, not of the log: a larger batch is no fault here.
            size_max = FRAME_SIZE_MAX if size_max == MAX_MESSAGE_SIZE_DEFAULT else size_max
            heads = LogHeads(log, size_max) if log is not None else None
            count = self.offset_entries(walk_offset_index(data, base_offset, heads))
        self.tail(data, count, OFFSET_ENTRY.size)

    def time_index(self, data: bytes) -> None:
        base_offset = self.base_offset()
        with ExitStack() as stack:
            log = self.open_log(stack)
            offsets = read_offset_index(self.beside(".index"), base_offset)
            count = self.entries(TIME, walk_time_index(data, base_offset, offsets, log, self.session.options.max_decompressed))
        self.tail(data, count, TIME_ENTRY.size)

    def transaction_index(self, data: bytes) -> None:
        count = self.entries(ABORTED, aborted_transactions(data))
        self.tail(data, count, ABORTED_TRANSACTION.size)

    def producer_snapshot(self, data: bytes) -> None:
        try:
            header = read_producer_header(data)
        except DecodeError as error:
            self.fault("corrupt", "", str(error))
            return
        if header.version != PRODUCER_SNAPSHOT_VERSION:
            self.fault("corrupt", "", f"version {header.version} of a producer snapshot is not known")
            return
        if header.crc != header.computed_crc:
            self.fault("corrupt", "", f"CRC-32C {header.computed_crc:#x} is not {header.crc:#x}")
        count = self.entries(PRODUCER, producer_fields(data, header.entry_count))
        if header.size_bytes != len(data):
            self.fault("truncated", "", f"{len(data)} bytes hold {count} producers, not the {header.entry_count} that are announced")

    def tail(self, data: bytes, count: int, size: int) -> None:
        """Check the bytes after the last entry: none, the zeros of a preallocated index, or a fault."""
        rest = data[count * size :]
        if not rest:
            return
        if not rest.strip(b"\0"):
            self.note(f"{len(rest)} zero bytes follow the last entry")
        if len(data) % size:
            self.fault("corrupt", f'"position":{len(data) - len(data) % size},', f"{len(data)} bytes are no multiple of {size}")
        elif rest.strip(b"\0"):
            self.fault("corrupt", f'"position":{count * size},', f"entries follow the zeros at position {count * size}")

    def base_offset(self) -> int:
        """The base offset in the file's name. Errors: UsageError."""
        stem = os.path.basename(self.path).partition(".")[0]
        if not (stem.isascii() and stem.isdigit()):
            raise UsageError(f"{self.path}: the name of an index begins with the segment's base offset", self.path)
        return int(stem)

    def beside_path(self, suffix: str) -> str:
        return os.path.join(os.path.dirname(self.path), os.path.basename(self.path).partition(".")[0] + suffix)

    def beside(self, suffix: str) -> bytes:
        try:
            with open(self.beside_path(suffix), "rb") as file:
                return file.read()
        except OSError:
            return b""

    def open_log(self, stack: ExitStack) -> RegularFile | None:
        """Open the segment beside an index. Without it the index is shown and not checked."""
        path = self.beside_path(".log")
        if self.session.options.index_sanity_check:
            return None
        try:
            return stack.enter_context(RegularFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC), path))
        except OSError as error:
            text = f"{path}: {error.strerror}: entries are not compared with the log"
            if self.session.options.verify_index_only:
                self.fault("mismatch", "", text)
            else:
                self.note(text)
            return None

    # ---- text files ----------------------------------------------------------------------------------------------

    def leader_epochs(self, data: bytes) -> None:
        self.parsed(LEADER_EPOCH, read_leader_epochs)

    def partition_offsets(self, data: bytes) -> None:
        self.parsed(PARTITION_OFFSET, read_partition_offsets)

    def partition_metadata(self, data: bytes) -> None:
        self.parsed(PARTITION_METADATA, lambda path: [read_topic_id(path)])

    def parsed(self, kind: EntryKind, read: Callable[[str], Iterable[Any]]) -> None:
        """Write the entries that `read` finds in the file, and a fault where it stops."""
        try:
            self.entries(kind, read(self.path))
        except LogCorruptError as error:
            self.fault("corrupt", f'"position":{error.offset},', f"position {error.offset}: {error.reason}")

    def quorum_state(self, data: bytes) -> None:
        try:
            value = quorum_state_fields(data)
        except ValueError as error:
            self.fault("corrupt", "", str(error))
            return
        self.entries(EntryKind("quorum-state", _data), [value])

    def meta_properties(self, data: bytes) -> None:
        try:
            value = parse_properties(data)
        except ValueError as error:
            self.fault("corrupt", "", f"is not a properties file: {error}")
            return
        if not self.session.options.show_secrets:
            hidden = {key for key in value if key not in _META_KEYS and is_sensitive_config(BROKER_RESOURCE, key)}
            value = {key: REDACTED if key in hidden else text for key, text in value.items()}
        self.entries(EntryKind("meta-properties", _data), [dict(value)])


# ---- entries ---------------------------------------------------------------------------------------------------------


def _offset_members(entry: OffsetEntry) -> str:
    return f'"offset":{entry[0]},"position":{entry[1]}'


def _offset_faults(entry: OffsetEntry, before: OffsetEntry | None) -> Faults:
    offset, position, last_offset, trouble = entry
    if trouble is not None:
        yield "", f"offset {offset}: {trouble}"
    elif last_offset != offset:
        yield f'"found_offset":{last_offset},', f"offset {offset}: the batch at position {position} ends with offset {last_offset}"
    if before is not None and not offset_entry_ascends(before, entry):
        yield "", f"offset {offset} at position {position} follows offset {before.offset} at position {before.position}"


def _time_faults(entry: TimeEntry, before: TimeEntry | None) -> Faults:
    timestamp, offset, found, latest, trouble = entry
    if trouble is not None:
        yield "", f"offset {offset}: {trouble}"
    elif found < 0:
        yield "", f"offset {offset} is not in the log"
    elif found != offset and latest != timestamp:
        # Releases before 3.6 name the record with the latest timestamp, later ones the last of its batch.
        yield f'"found_offset":{found},', f"offset {offset}: its batch ends with offset {found}"
    elif latest != timestamp:
        yield f'"found_timestamp":{latest},', f"offset {offset}: timestamp {timestamp} is not the latest of its batch, {latest}"
    if before is not None and not time_entry_ascends(before, entry):
        yield "", f"timestamp {timestamp} of offset {offset} follows timestamp {before.timestamp} of offset {before.offset}"


def _aborted_members(entry: AbortedTransaction) -> str:
    version, producer_id, first, last, stable = entry
    return f'"version":{version},"producer_id":{producer_id},"first_offset":{first},"last_offset":{last},"last_stable_offset":{stable}'


def _aborted_faults(entry: AbortedTransaction, before: AbortedTransaction | None) -> Faults:
    last, last_before = entry.last_offset, -1 if before is None else before.last_offset
    if entry.version != TRANSACTION_INDEX_VERSION:
        yield "", f"last offset {last}: version {entry.version} is not {TRANSACTION_INDEX_VERSION}"
    elif not entry.can_follow(last_before):
        yield "", f"last offset {last} is below its first offset {entry.first_offset} or follows last offset {last_before}"


def _producer_members(entry: tuple[int, ...]) -> str:
    producer, epoch, sequence, last, delta, time, coordinator_epoch, first = entry
    return (
        f'"producer_id":{producer},"producer_epoch":{epoch},"coordinator_epoch":{coordinator_epoch},"last_sequence":{sequence},'
        f'"last_offset":{last},"offset_delta":{delta},"timestamp":{time},"current_txn_first_offset":{"null" if first < 0 else first}'
    )


def _epoch_faults(entry: Any, before: Any) -> Faults:
    if before is not None and (entry.epoch <= before.epoch or entry.start_offset < before.start_offset):
        yield "", f"epoch {entry.epoch} from {entry.start_offset} follows epoch {before.epoch} from {before.start_offset}"


def _data(value: Any) -> str:
    return f'"data":{json_text(value)}'


OFFSET = EntryKind("offset-entry", _offset_members, _offset_faults)
TIME = EntryKind("time-entry", lambda entry: f'"timestamp":{entry[0]},"offset":{entry[1]}', _time_faults)
ABORTED = EntryKind("aborted-transaction", _aborted_members, _aborted_faults)
PRODUCER = EntryKind("producer", _producer_members)
LEADER_EPOCH = EntryKind("leader-epoch", lambda entry: f'"epoch":{entry.epoch},"start_offset":{entry.start_offset}', _epoch_faults)
PARTITION_OFFSET = EntryKind(
    "partition-offset", lambda entry: f'"topic":{string_text(entry.topic)},"partition":{entry.partition},"offset":{entry.offset}'
)
PARTITION_METADATA = EntryKind("partition-metadata", lambda topic_id: f'"topic_id":"{uuid_text(topic_id)}"')

SUFFIX_HANDLERS: dict[str, Callable[[OwnIndex, bytes], None]] = {
    ".index": OwnIndex.offset_index,
    ".timeindex": OwnIndex.time_index,
    ".txnindex": OwnIndex.transaction_index,
    ".snapshot": OwnIndex.producer_snapshot,
}
NAME_HANDLERS: dict[str, Callable[[OwnIndex, bytes], None]] = {
    "leader-epoch-checkpoint": OwnIndex.leader_epochs,
    "recovery-point-offset-checkpoint": OwnIndex.partition_offsets,
    "replication-offset-checkpoint": OwnIndex.partition_offsets,
    "log-start-offset-checkpoint": OwnIndex.partition_offsets,
    "cleaner-offset-checkpoint": OwnIndex.partition_offsets,
    "partition.metadata": OwnIndex.partition_metadata,
    "quorum-state": OwnIndex.quorum_state,
    "meta.properties": OwnIndex.meta_properties,
}
"""Name of a file -> the method that dumps it; then the same by suffix."""
