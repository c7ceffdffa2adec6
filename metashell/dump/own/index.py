"""Indexes, producer snapshots and small text files as JSON lines.

| kind of line | file | members |
| --- | --- | --- |
| offset-entry | .index | offset, position |
| time-entry | .timeindex | timestamp, offset |
| aborted-transaction | .txnindex | version, producer_id, first_offset, last_offset, last_stable_offset |
| producer | .snapshot | producer_id, producer_epoch, ..., current_txn_first_offset (null for none) |
| leader-epoch | leader-epoch-checkpoint | epoch, start_offset |
| partition-offset | recovery-point-, replication-, log-start-, cleaner-offset-checkpoint | topic, partition, offset |
| partition-metadata, quorum-state, meta-properties | the file of that name | topic_id; data; data |

What does not hold is a line of kind `mismatch` or `corrupt` after the entry, is told on stderr, and makes the status 1. The
zeros of a preallocated index are told with -v only. A segment that is not beside its index is no fault: then only the entries
themselves are checked. Nothing is created or changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import TypeVar

from metashell.codec.json_forms import json_text, string_text
from metashell.codec.redaction import BROKER_RESOURCE, REDACTED, is_sensitive_config
from metashell.dump.index_walk import BATCH_SIZE_MAX, LogHeads, walk_offset_index, walk_time_index
from metashell.dump.options import MAX_MESSAGE_SIZE_DEFAULT
from metashell.dump.own.json_lines import for_terminal
from metashell.dump.own.session import Session
from metashell.dump.writer import Findings
from metashell.errors import DecodeError, LogCorruptError, PathError, UsageError
from metashell.log.files import RegularFile
from metashell.log.indexes import (
    ABORTED_TRANSACTION,
    OFFSET_ENTRY,
    PRODUCER_ENTRY,
    PRODUCER_HEADER,
    PRODUCER_SNAPSHOT_VERSION,
    TIME_ENTRY,
    TRANSACTION_INDEX_VERSION,
    aborted_transactions,
    producer_fields,
    read_offset_index,
    read_producer_header,
)

Item = TypeVar("Item")
SIZE_MAX = 1 << 30
"""No index is ever as large; Kafka's default is 10 MiB."""
_META_KEYS = frozenset(("version", "cluster.id", "node.id", "broker.id", "directory.id"))
"""What Kafka writes to meta.properties. What else stands there may be a server's configuration."""
_LINES_AT_A_TIME = 1 << 14


class OwnIndex:
    """Dumps one file of these kinds in the own voice."""

    def __init__(self, session: Session, path: str) -> None:
        self.session = session
        self.path = path
        self.label = string_text(os.fsencode(path).decode("utf-8", "replace"))
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
        name = os.path.basename(self.path)
        handler = NAME_HANDLERS.get(name) or SUFFIX_HANDLERS[os.path.splitext(name)[1]]
        handler(self, data if data.strip(b"\0") else self.unused(data))
        self.flush()
        self.session.tell(self.path, self.findings)

    def unused(self, data: bytes) -> bytes:
        """What an index holds that is nothing but zeros, as one is preallocated: no entries."""
        if data:
            self.note(f"nothing but {len(data)} zero bytes")
        return b""

    def flush(self) -> None:
        if self.lines:
            text = "".join(self.lines)
            if self.session.is_terminal:
                text = for_terminal(text)
            self.session.output.write(text.encode("utf-8", "surrogateescape"))
            self.lines.clear()

    def line(self, kind: str, members: str) -> None:
        if self.shows:
            self.lines.append(f'{{"kind":"{kind}","file":{self.label},{members}}}\n')
            if len(self.lines) >= _LINES_AT_A_TIME:
                self.flush()

    def fault(self, kind: str, place: str, reason: str) -> None:
        """Write a line about a fault, and tell it; `place` are members."""
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
            # Kafka's default is its tool's, not the log's: a larger batch is no fault.
            size_max = BATCH_SIZE_MAX if size_max == MAX_MESSAGE_SIZE_DEFAULT else size_max
            heads = LogHeads(log, size_max) if log is not None else None
            before: tuple[int, int] | None = None
            count = 0
            head = f'{{"kind":"offset-entry","file":{self.label},"offset":'
            entries = walk_offset_index(data, base_offset, heads)
            while batch := list(islice(entries, _LINES_AT_A_TIME)):
                count += len(batch)
                for offset, position, last_offset, trouble in batch:
                    if self.shows:
                        self.lines.append(f'{head}{offset},"position":{position}}}\n')
                    if trouble is not None:
                        self.fault("mismatch", f'"offset":{offset},"position":{position},', f"offset {offset}: {trouble}")
                    elif last_offset != offset:
                        reason = f"offset {offset}: the batch at position {position} ends with offset {last_offset}"
                        self.fault("mismatch", f'"offset":{offset},"position":{position},"found_offset":{last_offset},', reason)
                    if before is not None and (offset <= before[0] or position <= before[1]):
                        reason = f"offset {offset} at position {position} follows offset {before[0]} at position {before[1]}"
                        self.fault("mismatch", f'"offset":{offset},"position":{position},', reason)
                    before = (offset, position)
                self.flush()
        self.tail(data, count, OFFSET_ENTRY.size)

    def time_index(self, data: bytes) -> None:
        base_offset = self.base_offset()
        with ExitStack() as stack:
            log = self.open_log(stack)
            offsets = read_offset_index(self.beside(".index"), base_offset)
            entries = walk_time_index(data, base_offset, offsets, log, self.session.options.max_decompressed)
            before: tuple[int, int] | None = None
            count = 0
            for timestamp, offset, found, latest, trouble in entries:
                count += 1
                place = f'"timestamp":{timestamp},"offset":{offset},'
                self.line("time-entry", place[:-1])
                if trouble is not None:
                    self.fault("mismatch", place, f"offset {offset}: {trouble}")
                elif found < 0:
                    self.fault("mismatch", place, f"offset {offset} is not in the log")
                elif found != offset and latest != timestamp:
                    # Releases before 3.6 name the record with the latest timestamp, later ones the last of its batch.
                    self.fault("mismatch", f'{place}"found_offset":{found},', f"offset {offset}: its batch ends with offset {found}")
                elif latest != timestamp:
                    reason = f"offset {offset}: timestamp {timestamp} is not the latest of its batch, {latest}"
                    self.fault("mismatch", f'{place}"found_timestamp":{latest},', reason)
                if before is not None and (timestamp <= before[0] or offset <= before[1]):
                    reason = f"timestamp {timestamp} of offset {offset} follows timestamp {before[0]} of offset {before[1]}"
                    self.fault("mismatch", place, reason)
                before = (timestamp, offset)
        self.tail(data, count, TIME_ENTRY.size)

    def transaction_index(self, data: bytes) -> None:
        before = -1
        for entry in aborted_transactions(data):
            version, producer_id, first, last, stable = entry
            place = f'"version":{version},"producer_id":{producer_id},"first_offset":{first},"last_offset":{last},'
            self.line("aborted-transaction", f'{place}"last_stable_offset":{stable}')
            if version != TRANSACTION_INDEX_VERSION:
                self.fault("mismatch", place, f"last offset {last}: version {version} is not {TRANSACTION_INDEX_VERSION}")
            elif last < first or last <= before:
                self.fault("mismatch", place, f"last offset {last} is below its first offset {first} or follows last offset {before}")
            before = last
        self.tail(data, len(data) // ABORTED_TRANSACTION.size, ABORTED_TRANSACTION.size)

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
        count = 0
        head = f'{{"kind":"producer","file":{self.label},"producer_id":'
        for producer, epoch, sequence, last, delta, time, coordinator_epoch, first in producer_fields(data, header.entry_count):
            count += 1
            if self.shows:
                self.lines.append(
                    f'{head}{producer},"producer_epoch":{epoch},"coordinator_epoch":{coordinator_epoch},"last_sequence":{sequence},'
                    f'"last_offset":{last},"offset_delta":{delta},"timestamp":{time},'
                    f'"current_txn_first_offset":{"null" if first < 0 else first}}}\n'
                )
                if len(self.lines) >= _LINES_AT_A_TIME:
                    self.flush()
        if count != header.entry_count or PRODUCER_HEADER.size + count * PRODUCER_ENTRY.size != len(data):
            self.fault("truncated", "", f"{len(data)} bytes hold {count} producers, not the {header.entry_count} that are announced")

    def tail(self, data: bytes, count: int, size: int) -> None:
        """Judge what follows the last entry: nothing, the zeros of a preallocated index, or something else."""
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
        """The offset that the file's name says. Errors: UsageError."""
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
        """The segment beside an index; without one the index cannot be verified, only shown."""
        path = self.beside_path(".log")
        if self.session.options.index_sanity_check:
            return None
        try:
            return stack.enter_context(RegularFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC), path))
        except OSError as error:
            text = f"{path}: {error.strerror}: entries are not held against the log"
            if self.session.options.verify_index_only:
                self.fault("mismatch", "", text)
            else:
                self.note(text)
            return None

    # ---- text files ----------------------------------------------------------------------------------------------

    def leader_epochs(self, data: bytes) -> None:
        from metashell.log.text_checkpoints import read_leader_epochs

        before = (-1, -1)
        for entry in self.parsed(read_leader_epochs):
            self.line("leader-epoch", f'"epoch":{entry.epoch},"start_offset":{entry.start_offset}')
            if entry.epoch <= before[0] or entry.start_offset < before[1]:
                place = f'"epoch":{entry.epoch},"start_offset":{entry.start_offset},'
                self.fault("mismatch", place, f"epoch {entry.epoch} from {entry.start_offset} follows epoch {before[0]} from {before[1]}")
            before = (entry.epoch, entry.start_offset)

    def partition_offsets(self, data: bytes) -> None:
        from metashell.log.text_checkpoints import read_partition_offsets

        for entry in self.parsed(read_partition_offsets):
            self.line(
                "partition-offset",
                f'"topic":{string_text(entry.topic)},"partition":{entry.partition},"offset":{entry.offset}',
            )

    def partition_metadata(self, data: bytes) -> None:
        from metashell.log.text_checkpoints import read_topic_id
        from metashell.values import uuid_text

        for topic_id in self.parsed(lambda path: [read_topic_id(path)]):
            self.line("partition-metadata", f'"topic_id":"{uuid_text(topic_id)}"')

    def quorum_state(self, data: bytes) -> None:
        from json import JSONDecodeError, loads

        try:
            value = loads(data.decode())
        except (JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            self.fault("corrupt", "", f"is no JSON: {error}")
            return
        self.line("quorum-state", f'"data":{json_text(value)}')

    def meta_properties(self, data: bytes) -> None:
        from metashell.log.properties import parse_properties

        try:
            value = parse_properties(data)
        except ValueError as error:
            self.fault("corrupt", "", f"is no properties file: {error}")
            return
        if not self.session.options.show_secrets:
            hidden = {key for key in value if key not in _META_KEYS and is_sensitive_config(BROKER_RESOURCE, key)}
            value = {key: REDACTED if key in hidden else text for key, text in value.items()}
        self.line("meta-properties", f'"data":{json_text(dict(value))}')

    def parsed(self, read: Callable[[str], Iterable[Item]]) -> Iterator[Item]:
        """What a reader of text files gives, and a fault where it stops."""
        try:
            yield from read(self.path)
        except LogCorruptError as error:
            self.fault("corrupt", f'"position":{error.offset},', f"position {error.offset}: {error.reason}")


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
"""Name of a file -> what dumps it; the suffixes likewise."""
