"""Open transactions of a partition, found in its log, and the transactional ids of their producers, found in `__transaction_state`.

A transaction is open from its first batch to the marker of its producer. The last stable offset is where the first open one starts: behind
it, consumers with isolation.level=read_committed read nothing. A broker writes the state of producers beside each segment that it begins
(`OFFSET.snapshot`), so that only the log from the newest usable one on is walked, and of it only the heads of batches and markers are
looked at. The walk ends where the log ends, though that end may not be committed.
Source: org.apache.kafka.storage.internals.log.ProducerStateManager, org.apache.kafka.coordinator.transaction.TransactionLog; KIP-98."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from metashell.codec.batch_writer import ABORT, COMMIT, control_type
from metashell.codec.batches import CONTROL, HEADER_SIZE, TRANSACTIONAL, RecordBatch, unpack_header
from metashell.codec.coordinator import COORDINATOR_LOGS, PREFIX_SIZE, TRANSACTION_STATES, int16_at
from metashell.codec.framing import MAGIC_MAX, BatchFrame
from metashell.common.errors import DecodeError, UsageError
from metashell.disk.directory import listing_of
from metashell.disk.files import OpenFile, open_file
from metashell.disk.indexes import PRODUCER_SNAPSHOT_VERSION, producer_entries, read_producer_header, seek_offset
from metashell.disk.names import index_name
from metashell.disk.segment import BadBatch, Tail, read_batches

_ATTRIBUTES_AT: Final = 21
_MAGIC_AT: Final = 16
_SNAPSHOT_SUFFIX: Final = ".snapshot"
_NEAR_BYTES: Final = 1 << 20


@dataclass(slots=True, kw_only=True)
class OpenTransaction:
    """An open transaction in a partition's log. `since_ms` is the time of its first batch, None if the log no longer has that batch."""

    producer_id: int
    producer_epoch: int
    start_offset: int
    since_ms: int | None


class StableEnd(NamedTuple):
    """Where a log ends, and its open transactions, ordered by start. `last_ms` is the newest timestamp that was seen, -1 for none."""

    end_offset: int
    last_ms: int
    open: tuple[OpenTransaction, ...]

    @property
    def last_stable_offset(self) -> int:
        return self.open[0].start_offset if self.open else self.end_offset


class TransactionState(NamedTuple):
    """The newest state of a transactional id. Units: Unix ms; `started_ms` is -1 if it has none."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    started_ms: int


def read_stable_end(folder: str) -> StableEnd:
    """Return the end and the open transactions of a partition's directory. A segment that cannot be read counts as far as it can."""
    names = os.listdir(folder)
    segments = listing_of(names).segments
    found: dict[int, OpenTransaction] = {}
    start = 0
    if segments:
        ends_before = segments[-1].base_offset
        for offset, name in sorted(_snapshots(names), reverse=True):
            # A snapshot behind the newest segment is one of a clean stop: it has all that the log has, unless the log was cut since.
            if segments[0].base_offset <= offset <= ends_before and (entries := _snapshot(os.path.join(folder, name))) is not None:
                start, found = offset, entries
                break
    end, last_ms = start, -1
    for number, segment in enumerate(segments):
        if number + 1 < len(segments) and segments[number + 1].base_offset <= start:
            continue
        end, last_ms = _walk(os.path.join(folder, segment.name), start, max(end, segment.base_offset), last_ms, found)
    for one in found.values():
        if one.since_ms is None:
            one.since_ms = _time_at(folder, one.start_offset)
    return StableEnd(end, last_ms, tuple(sorted(found.values(), key=lambda one: one.start_offset)))


def _snapshots(names: Iterable[str]) -> Iterator[tuple[int, str]]:
    for name in names:
        stem = name.removesuffix(_SNAPSHOT_SUFFIX)
        if stem != name and stem.isascii() and stem.isdigit():
            yield int(stem), name


def _snapshot(path: str) -> dict[int, OpenTransaction] | None:
    """Return the open transactions of a snapshot of producers, None if it is damaged."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        header = read_producer_header(data)
    except (OSError, DecodeError):
        return None
    if header.version != PRODUCER_SNAPSHOT_VERSION or header.crc != header.computed_crc or header.size_bytes != len(data):
        return None
    return {
        one.producer_id: OpenTransaction(
            producer_id=one.producer_id, producer_epoch=one.producer_epoch, start_offset=one.current_txn_first_offset, since_ms=None
        )
        for one in producer_entries(data, header.entry_count)
        if one.current_txn_first_offset >= 0
    }


def _walk(path: str, start: int, end: int, last_ms: int, found: dict[int, OpenTransaction]) -> tuple[int, int]:
    """Follow the transactions of a segment from an offset on; return where it ends, and the newest time so far."""

    def skips_plain(buf: bytes, frames: list[BatchFrame], first: int) -> int:
        nonlocal end, last_ms
        for done, (at, size) in enumerate(frames[first:] if first else frames, start=first):
            if size < HEADER_SIZE or buf[at + _MAGIC_AT] != MAGIC_MAX or buf[at + _ATTRIBUTES_AT + 1] & (TRANSACTIONAL | CONTROL):
                return done
            fields = unpack_header(buf, at)
            end, last_ms = fields[0] + fields[6] + 1, max(last_ms, fields[8])
        return len(frames)

    try:
        with open_file(path) as file:
            for item in read_batches(file, takes=skips_plain):
                if isinstance(item, BadBatch | Tail):
                    continue
                end, last_ms = item.header.last_offset + 1, max(last_ms, item.header.max_timestamp)
                if item.header.last_offset >= start and item.header.is_transactional:
                    _follow(item, found)
    except UsageError:
        pass
    return end, last_ms


def _follow(batch: RecordBatch, found: dict[int, OpenTransaction]) -> None:
    header = batch.header
    if header.is_control:
        if _is_end(batch):
            found.pop(header.producer_id, None)
    elif header.producer_id not in found:
        found[header.producer_id] = OpenTransaction(
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            start_offset=header.base_offset,
            since_ms=header.base_timestamp,
        )


def _is_end(batch: RecordBatch) -> bool:
    try:
        return any(control_type(record.key) in (ABORT, COMMIT) for record in batch.records())
    except DecodeError:
        return False


class BatchHead(NamedTuple):
    """The head of a batch: its offsets, the time of its first record, and whether it is a marker."""

    base_offset: int
    last_offset: int
    base_ms: int
    is_control: bool


def _time_at(folder: str, offset: int) -> int | None:
    head = heads_at(folder, (offset,)).get(offset)
    return None if head is None or head.base_offset > offset else head.base_ms


def heads_at(folder: str, offsets: Iterable[int]) -> dict[int, BatchHead]:
    """Return for each offset the head of the first batch of a partition's directory that ends at or behind it, if there is one.

    Offsets that lie near each other are found in one walk, from where the offset index leads.
    """
    found: dict[int, BatchHead] = {}
    left = sorted(set(offsets), reverse=True)
    segments = listing_of(os.listdir(folder)).segments
    for number, segment in enumerate(segments):
        here = []
        end = segments[number + 1].base_offset if number + 1 < len(segments) else None
        while left and (end is None or left[-1] < end):
            here.append(left.pop())
        if not here:
            continue
        with suppress(UsageError), open_file(os.path.join(folder, segment.name)) as file:
            for position, some in _runs(here, folder, file, segment.base_offset):
                _find_heads(file, position, some, found)
        # Compaction and damage may have taken what lay behind an offset in its segment: the next one has the first batch behind it.
        left += [offset for offset in reversed(here) if offset not in found]
    return found


def _runs(offsets: list[int], folder: str, file: OpenFile, base_offset: int) -> Iterator[tuple[int, list[int]]]:
    run: list[int] = []
    start = last = 0
    for offset in offsets:
        position = _position(folder, file, base_offset, offset)
        if run and position - last > _NEAR_BYTES:
            yield start, run
            run = []
        if not run:
            start = position
        run.append(offset)
        last = position
    yield start, run


def _find_heads(file: OpenFile, position: int, offsets: list[int], found: dict[int, BatchHead]) -> None:
    at_index = 0

    def note(buf: bytes, frames: list[BatchFrame], first: int) -> int:
        nonlocal at_index
        for done, (at, size) in enumerate(frames[first:] if first else frames, start=first):
            if size < HEADER_SIZE or buf[at + _MAGIC_AT] != MAGIC_MAX or at_index == len(offsets):
                return done
            fields = unpack_header(buf, at)
            last = fields[0] + fields[6]
            while at_index < len(offsets) and offsets[at_index] <= last:
                found[offsets[at_index]] = BatchHead(fields[0], last, fields[7], bool(fields[5] & CONTROL))
                at_index += 1
        return len(frames)

    for _ in read_batches(file, start=position, takes=note):
        if at_index == len(offsets):
            return


def _position(folder: str, file: OpenFile, base_offset: int, offset: int) -> int:
    path = os.path.join(folder, index_name(base_offset))
    if not os.path.exists(path):
        return 0
    try:
        with open_file(path) as index:
            return seek_offset(index, file, base_offset, offset)
    except UsageError:
        return 0


def read_transaction_states(folders: Iterable[str]) -> dict[str, TransactionState]:
    """Return the newest state of each transactional id in directories of `__transaction_state`. Records that do not decode are left out."""
    found: dict[str, TransactionState] = {}
    log = COORDINATOR_LOGS["transactions"]
    key_message, value_message = log.key_message(0), log.value_message(0)
    assert key_message is not None and value_message is not None, "its schemas are packaged"
    low, high = value_message.versions
    for folder in folders:
        for segment in listing_of(os.listdir(folder)).segments:
            for key, value in _records(os.path.join(folder, segment.name)):
                try:
                    if int16_at(key, 0) != 0:
                        continue
                    id = key_message.read(key, 0, PREFIX_SIZE).transactional_id
                    if value is None:
                        found.pop(id, None)
                        continue
                    if not low <= (version := int16_at(value, 0)) <= high:
                        continue
                    read = value_message.read(value, version, PREFIX_SIZE)
                except (DecodeError, IndexError):
                    continue
                states = TRANSACTION_STATES
                state = states[read.transaction_status] if 0 <= read.transaction_status < len(states) else str(read.transaction_status)
                found[id] = TransactionState(
                    id, read.producer_id, read.producer_epoch, state, read.transaction_timeout_ms, read.transaction_start_timestamp_ms
                )
    return found


def _records(path: str) -> Iterator[tuple[bytes, bytes | None]]:
    try:
        with open_file(path) as file:
            for item in read_batches(file):
                if isinstance(item, BadBatch | Tail) or item.header.is_control:
                    continue
                try:
                    for record in item.records():
                        if record.key is not None and len(record.key) > PREFIX_SIZE:
                            yield record.key, record.value
                except DecodeError:
                    continue
    except UsageError:
        return
