"""What the small files beside a log say of its end: epochs and offsets that it has to reach, or something of it was lost.

An epoch's entry in leader-epoch-checkpoint is written when a leader begins, with the log's end then, or when a follower has the first batch
of it; quorum-state names the newest epoch that the node knows, of which it may have nothing yet; the state of producers is kept for
an offset that the log had reached. Controllers of ours also keep how far the log was durable, and what they know to have lost.
Source: LeaderEpochFileCache, ProducerStateManager.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

from metashell.errors import LogCorruptError
from metashell.log.damage import read_note
from metashell.log.names import DAMAGED, LEADER_EPOCH_CHECKPOINT, QUORUM_STATE, RECOVERY_POINT
from metashell.log.quorum_state import NO_NODE, QuorumState, read_quorum_state
from metashell.log.recovery_point import DurableTo, read_recovery_point
from metashell.log.text_checkpoints import EpochEntry, read_leader_epochs
from metashell.verify.finding import Report
from metashell.verify.walk import LogState

_PRODUCER_SUFFIX = ".snapshot"


class Promises(NamedTuple):
    """What was said before the log was read; what cannot be read is reported when the file itself is checked."""

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
    stems = [name.removesuffix(_PRODUCER_SUFFIX) for name in names if name.endswith(_PRODUCER_SUFFIX)]
    producers = sorted(int(stem) for stem in stems if len(stem) == 20 and stem.isascii() and stem.isdigit())
    return Promises(path, entries, election, tuple(producers), is_metadata, read_recovery_point(path) if is_metadata else None)


def check_promises(promises: Promises, state: LogState, end_offset: int, report: Report) -> None:
    """Hold them against the log, which ends at `end_offset`: -1 where there is none, not even a checkpoint."""
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
            # Of a user's topic an epoch may well have no record.
            what = f"epoch {entry.epoch} has no record: it ended before its first was written, or what was written is lost"
            report.warn(cache, what, offset=entry.start_offset)
    for offset in promises.producers:
        if offset > end and state.first_offset is not None:
            place = os.path.join(promises.path, f"{offset:020d}{_PRODUCER_SUFFIX}")
            report.error(place, f"was written when the log had reached offset {offset}, but it ends at {end}", offset=offset)
    if promises.election is not None and newest is not None:
        _check_election(promises, promises.election, newest, report)


def _check_election(promises: Promises, election: QuorumState, newest: int, report: Report) -> None:
    """A leader's first record follows its election at once; who stops before that, or before it was fetched, has none."""
    if election.leader_id == NO_NODE or election.leader_epoch <= newest:
        return
    if any(entry.epoch == election.leader_epoch for entry in promises.entries):
        return  # reported for the entry
    place = os.path.join(promises.path, QUORUM_STATE)
    what = f"node {election.leader_id} leads epoch {election.leader_epoch}, of which the log has nothing: its last epoch is {newest}"
    report.warn(place, what)


def _check_recovery_point(promises: Promises, durable_to: DurableTo, end: int, report: Report) -> None:
    """Kafka may have cut the log since at the word of a later leader, without knowing this file."""
    if durable_to.offset <= end:
        return
    what = f"all before offset {durable_to.offset} was on disk, but the log ends at {end}"
    is_later = promises.election is not None and promises.election.leader_epoch > durable_to.epoch
    add = report.warn if is_later else report.error
    add(os.path.join(promises.path, RECOVERY_POINT), what, offset=durable_to.offset)


def _check_note(path: str, report: Report) -> None:
    try:
        note = read_note(path)
    except LogCorruptError as error:
        report.error(error.file, error.reason)
    except OSError as error:
        report.error(os.path.join(path, DAMAGED), error.strerror or str(error))
    else:
        if note is not None:
            report.error(os.path.join(path, DAMAGED), f"this replica has no vote until it has from a leader what it lost: {note.reason}")
