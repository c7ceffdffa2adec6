"""Bugs of the production path that its worlds must find: each as a person might write it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from metashell.codec.batches import RecordBatch
from metashell.codec.metadata_records import write_metadata_record
from metashell.common.values import ReplicaKey
from metashell.disk import opening, properties, state_files
from metashell.disk.file_system import FlushToken
from metashell.disk.metadata_log import MetadataLog
from metashell.disk.opening import Opening
from metashell.disk.snapshot_files import SnapshotPart
from metashell.metadata.image.writer import write_image
from metashell.quorum.raft import elections, polling
from metashell.quorum.raft.ready import Durable, DurableEnd, ElectionState
from metashell.quorum.raft.replica import Replica
from metashell.quorum.raft.roles import Candidate, Prospective, Role, Tally, Unattached
from metashell.quorum.server.config import ElectionStore
from metashell.quorum.server.event_queue import CommitWaits
from metashell.quorum.server.feed import Feed, ImageMachine
from metashell.quorum.server.records import SnapshotToMake, batches_in
from tests.simulation.bugs import Patch, table_of


def a_candidacy_outlives_the_power() -> list[Patch]:
    """Votes are asked for with a log that is not durable, and asked for again after a restart, with what is left of it.

    A voter keeps to its vote, so the shorter log wins, and what was committed with the longer one is truncated.
    """

    def resume(node: Replica, election: ElectionState) -> Role:
        role = original(node, election)
        voted = election.voted
        if voted is None or node.local_key is None or voted.id != node.local_id or election.leader_id >= 0 or not node.is_voter:
            return role
        if election.epoch < node.last_epoch or node.last_epoch == election.epoch:
            return role
        return Candidate(election.epoch, node.local_key, Tally(node.voters, node.local_key.id), node.election_timeout(), node.now_ms)

    def durable_log_end(node: Replica) -> DurableEnd | None:
        is_asking = isinstance(node.role, Prospective | Candidate)
        return DurableEnd(node.log_end, node.last_epoch) if is_asking else durable(node)

    def grants_vote(role: Role, candidate: ReplicaKey, up_to_date: bool) -> bool:
        voted = role.voted if isinstance(role, Unattached | Prospective) else None
        return voted == candidate if voted is not None else grants(role, candidate, up_to_date)

    original, durable, grants = polling.first_role, Replica.durable_log_end, elections.grants_vote
    return [(polling, "first_role", resume), (Replica, "durable_log_end", durable_log_end), (elections, "grants_vote", grants_vote)]


def an_image_lacks_what_was_not_understood() -> list[Patch]:
    """A committed record that cannot be decoded is left out, and the machine goes on."""

    async def handle_commit(machine: ImageMachine, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
        for batch in batches:
            machine._loader.load_batch(batch)
            machine._size += len(batch.data)
        return None if machine._size < machine._snapshot_after_size else machine._snapshot(batches[-1])

    return [(ImageMachine, "handle_commit", handle_commit)]


def only_votes_are_written() -> list[Patch]:
    """quorum-state is left alone where there is no vote to keep, though messages rest on the epoch."""

    def write(store: ElectionStore, election: ElectionState, kraft_version: int) -> Durable:
        return Durable(election, kraft_version) if election.voted is None else original(store, election, kraft_version)

    original = ElectionStore.write
    return [(ElectionStore, "write", write)]


def a_sync_is_taken_for_done() -> list[Patch]:
    """Nobody waits for the disk."""
    return [(MetadataLog, "sync", lambda log, token: None)]


def names_of_segments_are_not_synced() -> list[Patch]:
    """A flush does not sync the directory of a new segment."""

    def begin(log: MetadataLog) -> FlushToken:
        token = original(log)
        token.has_new_names = False
        return token

    original = MetadataLog.begin_flush
    return [(MetadataLog, "begin_flush", begin)]


def quorum_state_is_not_synced() -> list[Patch]:
    """quorum-state is replaced, and left to the system's cache."""

    def replace(disk: Any, path: str, data: bytes) -> None:
        fd = disk.create_file(path + ".tmp", 0o666)
        disk.append(fd, data)
        disk.close_file(fd)
        disk.rename(path + ".tmp", path)

    return [(state_files, "replace_file", replace)]


def snapshots_are_not_synced() -> list[Patch]:
    """A snapshot gets its name before its bytes are durable."""
    return [(SnapshotPart, "sync", lambda part: None)]


def what_is_found_is_believed() -> list[Patch]:
    """A recovery does not sync what a process that was killed has left in the system's cache."""
    return [(Opening, "_sync", lambda opening, run: None)]


def a_piece_is_skipped() -> list[Patch]:
    """Where a range is read in several pieces, the second one is taken for read."""

    async def commit(feeding: Feed, base_offset: int, end_offset: int) -> None:
        data = feeding._log.read(base_offset, end_offset, 1)
        if data and base_offset >= feeding._log.start_offset:
            await feeding.machine.handle_commit(batches_in(data, "metadata log"))
        await asyncio.sleep(0)
        feeding._consumed(end_offset)

    return [(Feed, "_commit", commit)]


def damage_is_taken_for_a_torn_tail() -> list[Patch]:
    """A log is cut at its first bad batch, and nobody hears of it."""
    return [(opening, "find_loss", lambda *found, **named: None)]


def who_lost_something_votes() -> list[Patch]:
    """A replica whose log lost what was durable has its vote all the same."""
    return [(polling, "is_recovery_over", lambda node: node.recovering is not None)]


def who_lost_the_directory_votes() -> list[Patch]:
    """Nobody looks at the proof beside meta.properties: an empty directory is that of a new node."""
    return [(properties, "find_loss", lambda *found: None)]


def epochs_are_not_proven() -> list[Patch]:
    """The proof says that there were records, and not in which epochs."""
    return [(properties.AcknowledgedFile, "reach_epoch", lambda proof, epoch: None)]


def a_notice_during_another_wakes_nobody() -> list[Patch]:
    """What is committed while the application is at work is handed to nobody."""

    def run(feeding: Feed) -> Any:
        async def consumed(base_offset: int, end_offset: int) -> None:
            await commit(feeding, base_offset, end_offset)
            while not feeding._notices.empty():
                feeding._notices.get_nowait()

        feeding._commit = consumed  # type: ignore[method-assign]
        return original(feeding)

    original, commit = Feed._run, Feed._commit
    return [(Feed, "_run", run)]


def who_waits_is_told_before_the_commit() -> list[Patch]:
    """An append is acknowledged with the next step of the core."""
    original = CommitWaits.settle
    return [(CommitWaits, "settle", lambda waits, led_epoch, high_watermark: original(waits, led_epoch, 1 << 62))]


def who_waited_in_an_earlier_epoch_is_told_of_a_later_commit() -> list[Patch]:
    """A wait outlives the leadership: whatever is committed at its offset is taken for what it waited for."""
    original = CommitWaits.settle
    return [(CommitWaits, "settle", lambda waits, led_epoch, high_watermark: original(waits, waits._epoch, high_watermark))]


def a_snapshot_takes_the_image_of_when_it_is_written() -> list[Patch]:
    """What is applied between the wish for a snapshot and its first slice is in it, too."""

    def snapshot(machine: ImageMachine, last: RecordBatch) -> SnapshotToMake | None:
        def values() -> Iterator[bytes]:
            for body, version in write_image(machine._loader.image()):
                yield write_metadata_record(body, version)

        wanted = original(machine, last)
        return None if wanted is None else wanted._replace(values=values())

    original = ImageMachine._snapshot
    return [(ImageMachine, "_snapshot", snapshot)]


BUGS = table_of(
    a_candidacy_outlives_the_power,
    an_image_lacks_what_was_not_understood,
    only_votes_are_written,
    a_sync_is_taken_for_done,
    names_of_segments_are_not_synced,
    quorum_state_is_not_synced,
    snapshots_are_not_synced,
    what_is_found_is_believed,
    a_piece_is_skipped,
    damage_is_taken_for_a_torn_tail,
    who_lost_something_votes,
    who_lost_the_directory_votes,
    epochs_are_not_proven,
    a_notice_during_another_wakes_nobody,
    who_waits_is_told_before_the_commit,
    who_waited_in_an_earlier_epoch_is_told_of_a_later_commit,
    a_snapshot_takes_the_image_of_when_it_is_written,
)
