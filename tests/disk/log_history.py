"""Histories of a metadata log on a recorded disk, with what each moment of them promises to survive a crash."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record
from metashell.common.values import OffsetAndEpoch
from metashell.disk.file_system import DeferredWork, FlushToken
from metashell.disk.metadata_log import MetadataLog
from metashell.disk.names import METADATA_DIRECTORY
from metashell.disk.state_files import QuorumState, read_quorum_state, write_quorum_state
from tests.disk.conftest import control
from tests.recording_files import RecordingDisk, Tree, UnsyncedDisk, write_tree

SETTINGS = {"segment_size": 700, "index_interval": 150, "index_size": 240}


class CrashError(AssertionError):
    """A state after a crash that the log does not come back from as it has promised."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What a crash at some moment leaves: one of these logs, at least to what was flushed, and these snapshots and states.

    `batches` are (base offset, epoch, bytes) of the log as written, from `base_offset` on; `start_offset` is the highest start that it may
    have. `durable` snapshots are there unless a newer one is, `possible` ones whole or not at all.
    """

    base_offset: int = 0
    start_offset: int = 0
    flushed_offset: int = 0
    batches: tuple[tuple[int, int, bytes], ...] = ()
    durable: frozenset[OffsetAndEpoch] = frozenset()
    possible: frozenset[OffsetAndEpoch] = frozenset()
    states: tuple[QuorumState, ...] = (QuorumState(),)

    @property
    def end_offset(self) -> int:
        return end_of(self.batches[-1][2]) if self.batches else self.base_offset


def end_of(batch: bytes) -> int:
    return int.from_bytes(batch[:8], "big") + int.from_bytes(batch[23:27], "big") + 1


def batches_of(log: MetadataLog) -> list[tuple[int, int, bytes]]:
    """All batches from the one that holds the log's start on."""
    found, offset = [], log.start_offset
    while data := log.read(offset, log.end_offset, 1):
        found.append((int.from_bytes(data[:8], "big"), int.from_bytes(data[12:16], "big"), data))
        offset = end_of(data)
    if offset != log.end_offset:
        raise CrashError(f"batches end at {offset}, the log at {log.end_offset}")
    return found


@dataclass(slots=True)
class History:
    """A log in `root`, driven by one operation after the other. `moments` has the promises for a crash after each recorded step."""

    root: Path
    disk: RecordingDisk
    log: MetadataLog
    now: Promise = field(default_factory=Promise)
    moments: list[list[Promise]] = field(default_factory=list)
    contents: dict[OffsetAndEpoch, bytes] = field(default_factory=dict)
    epoch: int = 1
    token: FlushToken | None = None
    clock: int = 0
    late: list[DeferredWork] = field(default_factory=list)
    """What the log left to be carried out and nothing rests on."""
    is_deferred: bool = False

    @classmethod
    def begin(cls, root: Path, *, is_deferred: bool = False) -> History:
        disk = RecordingDisk(root)
        log = MetadataLog.open(str(root), disk, lock=False, **SETTINGS)
        made = cls(root, disk, log, is_deferred=is_deferred)
        if is_deferred:
            log.defer()
        made.moments = [[made.now] for _ in disk.steps]
        return made

    def do(self, operation: Callable[[], object], after: Promise, *between: Promise) -> None:
        """Carry out an operation: while it runs, a crash may leave what was promised before it, or after.

        What the log left to be done is part of the operation where it is awaited; else it is done with the second operation after it.
        """
        if len(self.late) > 1:
            self.late.pop(0).carry_out()
        operation()
        work = self.log.take_work()
        if work is not None:
            self.late.append(work)
            while work.is_awaited and self.late:
                self.late.pop(0).carry_out()
        self.moments += [[self.now, *between, after]] * (len(self.disk.steps) - len(self.moments))
        self.now = after
        if self.moments:
            self.moments[-1] = [after]

    # Operations

    def append(self, count: int, size: int = 10) -> None:
        base = self.log.end_offset
        records = [Record(at, 1000 + at, None, f"{at}@{self.epoch}".encode().ljust(size)) for at in range(base, base + count)]
        data = write_batch(base, records, leader_epoch=self.epoch)
        self.do(lambda: self.log.append(data, base + count), replace(self.now, batches=(*self.now.batches, (base, self.epoch, data))))

    def flush(self) -> None:
        if self.token is None:
            self.do(self.log.flush, replace(self.now, flushed_offset=self.log.end_offset))

    def begin_flush(self) -> None:
        if self.token is None:
            self.token = self.log.begin_flush()

    def finish_flush(self) -> None:
        token, self.token = self.token, None
        if token is not None:
            self.log.sync(token)
            flushed = max(self.now.flushed_offset, token.end_offset)
            self.do(lambda: self.log.finish_flush(token), replace(self.now, flushed_offset=flushed))

    def truncate(self, offset: int) -> None:
        """Only followers do, and never below a snapshot."""
        self.epoch += 1
        kept = tuple(entry for entry in self.now.batches if entry[0] < offset)
        flushed = min(self.now.flushed_offset, offset)
        shortened = replace(self.now, batches=kept, flushed_offset=flushed)
        # While it runs nothing that is to go is promised, but it may be there.
        self.do(lambda: self.log.truncate_to(offset), shortened, replace(self.now, flushed_offset=flushed))

    def epochs(self) -> None:
        self.epoch += 1
        self.do(lambda: self.log.write_leader_epochs([*self.log.leader_epochs(), (self.epoch, self.log.end_offset)]), self.now)

    def freeze(self, id: OffsetAndEpoch) -> None:
        self._snapshot(id)
        self.do(lambda: None, replace(self.now, durable=self.now.durable | {id}))

    def _snapshot(self, id: OffsetAndEpoch) -> None:
        data = self.contents.setdefault(id, snapshot_of(id))

        def write() -> None:
            part = self.log.create_snapshot(id)
            part.append(data[:100])
            part.append(data[100:])
            part.freeze()

        self.do(write, replace(self.now, possible=self.now.possible | {id}))

    def leave_part(self, id: OffsetAndEpoch) -> None:
        self.do(lambda: self.log.create_snapshot(id).append(b"unfinished"), self.now)

    def install(self, id: OffsetAndEpoch) -> None:
        """A snapshot that was downloaded: from its last rename on the log may begin anew at it."""
        old = replace(self.now, possible=self.now.possible | {id})
        new = replace(
            old,
            base_offset=id.offset,
            start_offset=id.offset,
            flushed_offset=id.offset,
            batches=(),
            durable=frozenset(),
            possible=old.possible,
        )

        def both() -> None:
            data = self.contents.setdefault(id, snapshot_of(id))
            part = self.log.create_snapshot(id)
            part.append(data)
            part.freeze()
            self.log.start_at_snapshot(id)

        self.do(both, replace(new, durable=frozenset({id})), old, new)
        self.epoch = id.epoch + 1

    def delete_before(self, id: OffsetAndEpoch) -> None:
        kept = frozenset(other for other in self.now.durable if not other < id)
        after = replace(self.now, start_offset=id.offset, durable=kept)
        self.do(lambda: self.log.delete_before(id), after)

    def delete_due(self) -> None:
        self.clock += 50
        self.do(lambda: self.log.delete_due(self.clock, 60), self.now)

    def write_state(self, state: QuorumState) -> None:
        path = str(self.root / METADATA_DIRECTORY / "quorum-state")
        both = replace(self.now, states=(*self.now.states, state))
        self.do(lambda: write_quorum_state(path, state, self.disk), replace(self.now, states=(state,)), both)

    def reopen(self, end: Callable[[MetadataLog], None] = MetadataLog.close) -> None:
        """Close the log and open it again, with recovery under the eyes of the recorder."""
        self.finish_flush()

        def again() -> None:
            end(self.log)
            self.log = MetadataLog.open(str(self.root), self.disk, lock=False, **SETTINGS)
            if self.is_deferred:
                self.log.defer()

        self.late.clear()
        self.do(again, replace(self.now, flushed_offset=self.log.end_offset))


def kill(log: MetadataLog) -> None:
    """End a log as a killed process does: what it wrote is in the system's cache, and not synced."""
    log._release()


def snapshot_of(id: OffsetAndEpoch) -> bytes:
    """A whole checkpoint whose content tells its id."""
    head = write_batch(0, [control(0, 3, bytes(11))], leader_epoch=id.epoch, is_control=True)
    data = write_batch(1, [Record(1, 1000, None, f"{id}".encode())], leader_epoch=id.epoch)
    return head + data + write_batch(2, [control(2, 4, bytes(3))], leader_epoch=id.epoch, is_control=True)


def random_history(history: History, chance: random.Random, count: int) -> None:
    """Draw `count` operations, each as a replica may do it."""
    for _ in range(count):
        log, now = history.log, history.now
        snapshots = log.snapshots()
        committed = snapshots[-1].offset if snapshots else 0
        bases = [base for base, _, _ in now.batches] + [log.end_offset]
        match chance.choice("aaaaaffbetsdDqrpi"):
            case "a":
                history.append(chance.choice((1, 1, 2, 5)), chance.choice((0, 10, 60, 300)))
            case "f":
                history.flush()
            case "b":
                history.finish_flush() if history.token else history.begin_flush()
            case "e":
                history.epochs()
            case "t":
                possible = [base for base in bases if base >= max(committed, now.start_offset)]
                history.truncate(chance.choice(possible[-6:]))
            case "s":
                ends = [(end_of(data), epoch) for _, epoch, data in now.batches if committed < end_of(data) <= log.flushed_offset]
                if ends:
                    history.freeze(OffsetAndEpoch(*chance.choice(ends)))
            case "d" if snapshots:
                history.delete_before(chance.choice(snapshots))
            case "D":
                history.delete_due()
            case "q":
                version = chance.choice((0, 1))
                state = QuorumState(leader_epoch=history.epoch, leader_id=chance.randrange(4), data_version=version)
                history.write_state(replace(state, current_voters=(1, 2, 3) if version == 0 else ()))
            case "r" if chance.random() < 0.5:
                history.reopen(chance.choice((MetadataLog.close, kill)))
            case "p":
                history.leave_part(OffsetAndEpoch(log.end_offset + 9, history.epoch))
            case "i" if chance.random() < 0.5:
                # Ahead of the log, or of what its end contradicts.
                offset = max(committed + 1, log.end_offset + chance.choice((-3, 0, 5)))
                history.finish_flush()
                history.install(OffsetAndEpoch(offset, max(history.epoch + 1, 1)))
            case _:
                pass


def check(folder: Path, promises: list[Promise], contents: dict[OffsetAndEpoch, bytes]) -> tuple[object, ...]:
    """Open what a crash left, and hold it against what was promised; what was found."""
    log = MetadataLog.open(str(folder), UnsyncedDisk(), lock=False, **SETTINGS)
    try:
        batches = batches_of(log)
        directory = folder / METADATA_DIRECTORY
        state = read_quorum_state(str(directory / "quorum-state"))
        complaints = [_complaint(promise, log, batches, state) for promise in promises]
        if all(complaints):
            raise CrashError("; or ".join(filter(None, complaints)))
        _check_itself(log, batches, contents)
        left = [path.name for path in directory.iterdir() if path.suffix in (".part", ".tmp", ".deleted")]
        if left:
            raise CrashError(f"left behind: {left}")
        found = (log.start_offset, tuple(batches), tuple(log.snapshots()), state)
        _go_on(log)
    finally:
        log.close()
    return found


def _complaint(promise: Promise, log: MetadataLog, batches: list[tuple[int, int, bytes]], state: QuorumState) -> str | None:
    """Why what was found is not what one promise says, None where it is."""
    if state not in promise.states:
        return f"quorum-state is {state}, not of {promise.states}"
    if not promise.base_offset <= log.start_offset <= promise.start_offset:
        return f"start {log.start_offset} is not in {promise.base_offset} to {promise.start_offset}"
    if log.end_offset < promise.flushed_offset:
        return f"end {log.end_offset} is below {promise.flushed_offset}, which was flushed"
    expected = [entry for entry in promise.batches if end_of(entry[2]) > log.start_offset]
    if batches != expected[: len(batches)]:
        return f"batches {[entry[:2] for entry in batches]} are not the first of {[entry[:2] for entry in expected]}"
    snapshots = set(log.snapshots())
    missing = {id for id in promise.durable - snapshots if not any(id < other for other in snapshots)}
    if missing or not snapshots <= promise.durable | promise.possible:
        return f"snapshots {snapshots} are not {promise.durable}"
    return None


def _check_itself(log: MetadataLog, batches: list[tuple[int, int, bytes]], contents: dict[OffsetAndEpoch, bytes]) -> None:
    """What holds whatever was promised: epochs as in the batches, whole snapshots, one of them at a start that is not 0."""
    epochs: list[tuple[int, int]] = []
    for base, epoch, _ in batches:
        if not epochs or epochs[-1][0] != epoch:
            epochs.append((epoch, max(base, log.start_offset)))
    if list(log.leader_epochs()) != epochs or sorted(epochs) != epochs:
        raise CrashError(f"epochs {log.leader_epochs()} are not those of the batches, {epochs}")
    for id in log.snapshots():
        if log.read_snapshot(id, 0, 1 << 20) != contents[id]:
            raise CrashError(f"snapshot {id} is not whole")
    if log.start_offset and log.start_offset not in {id.offset for id in log.snapshots()}:
        raise CrashError(f"start {log.start_offset} without a snapshot")
    if log.flushed_offset != log.end_offset:
        raise CrashError(f"recovered to {log.end_offset}, and flushed only to {log.flushed_offset}")


def _go_on(log: MetadataLog) -> None:
    """The log that was recovered takes batches."""
    epoch = max([*(epoch for epoch, _ in log.leader_epochs()), *(id.epoch for id in log.snapshots()), 0]) + 1
    end = log.end_offset
    data = write_batch(end, [Record(end, 1000, None, b"after")], leader_epoch=epoch)
    log.append(data, end + 1)
    if log.read(end, end + 1, 1) != data or log.flush() != end + 1:
        raise CrashError(f"what is appended at {end} is not read")


def restore(tree: Tree, folder: Path) -> Path:
    """A new folder with a tree in it."""
    folder.mkdir()
    write_tree(tree, folder)
    return folder
