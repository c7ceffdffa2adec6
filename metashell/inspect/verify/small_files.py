"""Checks the small files beside a log: each must be readable and agree with the log, and the log must reach the offsets that they name.

- leader-epoch-checkpoint: each entry is an epoch and the offset at which it starts. A leader writes its entry when it is elected, with
  the log's end at that time; a follower writes it with the first batch of the epoch. So an epoch without records can have an entry.
  Entries that end before the log starts are dropped, and the first one left starts where the log does.
- quorum-state names the newest epoch that the node knows. The log may have no record of it yet.
- A producer snapshot is named by an offset that the log had reached.
- Our own controllers also record how far the log was durable, and what they know to have lost.

Source: LeaderEpochFileCache, ProducerStateManager."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple, TypeVar

from metashell.common.errors import DecodeError, LogCorruptError
from metashell.common.values import METADATA_TOPIC_ID, uuid_text
from metashell.disk.indexes import PRODUCER_ENTRY, PRODUCER_HEADER, PRODUCER_SNAPSHOT_VERSION, producer_entries, read_producer_header
from metashell.disk.names import DAMAGED, LEADER_EPOCH_CHECKPOINT, QUORUM_STATE, RECOVERY_POINT
from metashell.disk.properties import read_meta_properties
from metashell.disk.recovery import read_damage_note
from metashell.disk.state_files import (
    NO_NODE,
    DurableTo,
    EpochEntry,
    PartitionOffset,
    QuorumState,
    read_leader_epochs,
    read_partition_offsets,
    read_quorum_state,
    read_recovery_point,
    read_topic_id,
)
from metashell.inspect.verify import Report
from metashell.inspect.verify.walk import LogState

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
T = TypeVar("T")

_PRODUCERS_SIZE_MAX = 1 << 28
"""Room for five million producers; a larger file counts as cut off."""
OFFSET_CHECKPOINTS = (RECOVERY_POINTS, HIGH_WATERMARKS, LOG_STARTS, CLEANER_OFFSETS)


def read_small(path: str, report: Report, read: Callable[[str], T]) -> T | None:
    """Read a small file with `read`; None if it cannot be read or does not parse, which is reported.

    The error's offset is a byte of the file.
    """
    report.counts["files"] += 1
    if os.path.exists(path) and not os.path.isfile(path):  # Opening a pipe would wait until somebody writes to it.
        report.error(path, "is not a regular file")
        return None
    try:
        return read(path)
    except LogCorruptError as error:
        report.error(error.file, error.reason, position=error.offset)
    except OSError as error:
        report.error(path, error.strerror or str(error))
    return None


def check_producer_snapshot(path: str, report: Report) -> None:
    """Check a producer snapshot: its checksum, its size, and that no offset in it is past the offset of its name."""
    data = read_small(path, report, _read_producers)
    if data is None:
        return
    try:
        header = read_producer_header(data)
    except DecodeError as error:
        report.error(path, str(error), position=0)
        return
    if header.version != PRODUCER_SNAPSHOT_VERSION:
        report.error(path, f"version {header.version} is not known", position=0)
        return
    if header.crc != header.computed_crc:
        report.error(path, f"CRC-32C {header.computed_crc:#x} is not {header.crc:#x}", position=2)
        return
    if header.size_bytes != len(data):
        report.error(path, f"{header.entry_count} entries are not what {len(data)} bytes hold", position=6)
        return
    _check_producers(path, data, header.entry_count, report)


def _read_producers(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(_PRODUCERS_SIZE_MAX + 1)


def _check_producers(path: str, data: bytes, count: int, report: Report) -> None:
    stem = os.path.basename(path).split(".")[0]
    end = int(stem) if stem.isascii() and stem.isdigit() else None
    seen: set[int] = set()
    for number, entry in enumerate(producer_entries(data, count)):
        position = PRODUCER_HEADER.size + number * PRODUCER_ENTRY.size
        report.counts["index_entries"] += 1
        if entry.producer_id in seen:
            report.error(path, f"producer {entry.producer_id} occurs twice", position=position)
        seen.add(entry.producer_id)
        latest = max(entry.last_offset, entry.current_txn_first_offset)
        if end is not None and latest >= end:
            what = f"producer {entry.producer_id} has offset {latest}, past the snapshot's own, {end}"
            report.error(path, what, position=position, offset=latest)


def check_quorum_state(path: str, report: Report) -> None:
    """Check that a quorum-state can be read and that its fields fit each other. The checks of disks compare it with the log."""
    state = read_small(path, report, read_quorum_state)
    if state is None:
        return
    if state.leader_epoch < 0 or state.leader_id < -1 or state.voted_id < -1:
        report.error(path, f"leader {state.leader_id}, epoch {state.leader_epoch}, vote {state.voted_id} are an impossible combination")


def check_topic_id(path: str, report: Report, *, is_metadata: bool) -> bytes | None:
    """Return the topic id in a partition.metadata, None if it cannot be read."""
    topic_id = read_small(path, report, read_topic_id)
    if is_metadata and topic_id is not None and topic_id != METADATA_TOPIC_ID:
        report.error(path, f"topic id {uuid_text(topic_id)} is not that of the metadata log, {uuid_text(METADATA_TOPIC_ID)}")
    return topic_id


def check_meta_properties(path: str, report: Report) -> None:
    """Check that a meta.properties that was named by itself has a cluster and a node. `metadata.checks` judges those of directories."""
    meta = read_small(path, report, read_meta_properties)
    if meta is not None and None in (meta.cluster_id, meta.node_id):
        report.error(path, "does not say of which cluster and node it is")


def check_partition_offsets(path: str, report: Report) -> tuple[PartitionOffset, ...]:
    """Check an offset checkpoint, in which a partition stands once; return its entries, none if it cannot be read."""
    entries = read_small(path, report, read_partition_offsets) or ()
    seen: set[tuple[str, int]] = set()
    for entry in entries:
        if (entry.topic, entry.partition) in seen:
            report.error(path, f"{entry.topic}-{entry.partition} occurs twice")
        seen.add((entry.topic, entry.partition))
        if entry.offset < 0:
            report.error(path, f"{entry.topic}-{entry.partition} has offset {entry.offset}")
    return entries


def check_epoch_cache(path: str, state: LogState, report: Report) -> None:
    """Check a leader-epoch-checkpoint against the log beside it."""
    entries = read_small(path, report, read_leader_epochs)
    if entries is None:
        return
    _check_order(path, entries, report)
    if state.first_offset is None or not state.is_certain:
        return
    end = state.end_offset
    for run in _runs(state, end):
        _check_run(path, entries, run, report)


def _check_order(path: str, entries: tuple[EpochEntry, ...], report: Report) -> None:
    for before, entry in pairwise(entries):
        if entry.epoch <= before.epoch or entry.start_offset < before.start_offset:
            what = f"entry {entry.epoch} {entry.start_offset} does not ascend after {before.epoch} {before.start_offset}"
            report.error(path, what, offset=entry.start_offset)


class _Run(NamedTuple):
    """One epoch in the log: its batches lie in [first_offset, end_offset), and it began between `start_min` and `first_offset`.

    The two differ in the log of a topic, since compaction can have removed the first batches of the epoch.
    """

    epoch: int
    start_min: int
    first_offset: int
    end_offset: int


def _runs(state: LogState, end_offset: int) -> Iterator[_Run]:
    ends = [*state.epoch_start_mins[1:], end_offset]
    for (epoch, first_offset), start_min, run_end in zip(state.epochs, state.epoch_start_mins, ends, strict=True):
        yield _Run(epoch, start_min, first_offset, run_end)


def _check_run(path: str, entries: tuple[EpochEntry, ...], run: _Run, report: Report) -> None:
    """Compare one epoch of the log with its entry. The log may have records below its start offset, where the first entry begins."""
    log_start = entries[0].start_offset if entries else -1
    if log_start >= run.end_offset:
        return
    entry = next((entry for entry in entries if entry.epoch == run.epoch), None)
    if entry is None:
        what = f"epoch {run.epoch}, which starts in the log at offset {run.first_offset}, has no entry"
        report.error(path, what, offset=run.first_offset)
    elif not run.start_min <= entry.start_offset <= run.first_offset and entry is not entries[0]:
        what = f"epoch {run.epoch} starts at offset {entry.start_offset}, but in the log at {run.first_offset}"
        report.error(path, what, offset=run.first_offset)


PRODUCER_SUFFIX = ".snapshot"


class Promises(NamedTuple):
    """Offsets and epochs that the small files named before the log was read. Unreadable files are reported when they are checked."""

    path: str
    entries: tuple[EpochEntry, ...]
    election: QuorumState | None
    producers: tuple[int, ...]
    is_metadata: bool
    durable_to: DurableTo | None


def read_promises(path: str, names: set[str], *, is_metadata: bool) -> Promises:
    """The promises in a partition's directory that holds `names`."""
    entries: tuple[EpochEntry, ...] = ()
    election = None
    epochs, quorum = os.path.join(path, LEADER_EPOCH_CHECKPOINT), os.path.join(path, QUORUM_STATE)
    with suppress(OSError, LogCorruptError):
        if os.path.isfile(epochs):
            entries = read_leader_epochs(epochs)
    with suppress(OSError, LogCorruptError):
        if is_metadata and os.path.isfile(quorum):
            election = read_quorum_state(quorum)
    stems = [name.removesuffix(PRODUCER_SUFFIX) for name in names if name.endswith(PRODUCER_SUFFIX)]
    producers = sorted(int(stem) for stem in stems if len(stem) == 20 and stem.isascii() and stem.isdigit())
    return Promises(path, entries, election, tuple(producers), is_metadata, read_recovery_point(path) if is_metadata else None)


def check_promises(promises: Promises, state: LogState, end_offset: int, report: Report) -> None:
    """Compare the promises with the log, which ends at `end_offset`: -1 if there is no log and no checkpoint."""
    if promises.is_metadata:
        _check_note(promises.path, report)
    if not state.is_certain:
        return
    end = max(end_offset, 0)
    if promises.durable_to is not None:
        _check_recovery_point(promises, promises.durable_to, end, report)
    cache = os.path.join(promises.path, LEADER_EPOCH_CHECKPOINT)
    newest = max((epoch for epoch, _ in state.epochs), default=None)
    for entry in promises.entries:
        if entry.start_offset > end:
            what = f"epoch {entry.epoch} starts at offset {entry.start_offset}, past the log's end, {end}: what lay between is lost"
            report.error(cache, what, offset=entry.start_offset)
        elif promises.is_metadata and entry.start_offset == end and newest is not None and entry.epoch > newest:
            # In a user's topic an epoch without records is common.
            what = f"epoch {entry.epoch} has no record: it ended before its first was written, or what was written is lost"
            report.warn(cache, what, offset=entry.start_offset)
    for offset in promises.producers:
        if offset > end and state.first_offset is not None:
            place = os.path.join(promises.path, f"{offset:020d}{PRODUCER_SUFFIX}")
            report.error(place, f"was written when the log had reached offset {offset}, but it ends at {end}", offset=offset)
    if promises.election is not None and newest is not None:
        _check_election(promises, promises.election, newest, report)


def _check_election(promises: Promises, election: QuorumState, newest: int, report: Report) -> None:
    """Warn if the elected leader has no record. It writes one at once, but may have stopped before that, or before it was fetched."""
    if election.leader_id == NO_NODE or election.leader_epoch <= newest:
        return
    if any(entry.epoch == election.leader_epoch for entry in promises.entries):
        return  # The missing record of that epoch was reported with its entry.
    place = os.path.join(promises.path, QUORUM_STATE)
    what = f"node {election.leader_id} leads epoch {election.leader_epoch}, of which the log has nothing: its last epoch is {newest}"
    report.warn(place, what)


def _check_recovery_point(promises: Promises, durable_to: DurableTo, end: int, report: Report) -> None:
    """Only a warning after a later epoch: Kafka, which does not know this file, may have truncated the log for a later leader."""
    if durable_to.offset <= end:
        return
    what = f"all before offset {durable_to.offset} was on disk, but the log ends at {end}"
    is_later = promises.election is not None and promises.election.leader_epoch > durable_to.epoch
    add = report.warn if is_later else report.error
    add(os.path.join(promises.path, RECOVERY_POINT), what, offset=durable_to.offset)


def _check_note(path: str, report: Report) -> None:
    try:
        note = read_damage_note(path)
    except LogCorruptError as error:
        report.error(error.file, error.reason)
    except OSError as error:
        report.error(os.path.join(path, DAMAGED), error.strerror or str(error))
    else:
        if note is not None:
            report.error(os.path.join(path, DAMAGED), f"this replica has no vote until it has from a leader what it lost: {note.reason}")
