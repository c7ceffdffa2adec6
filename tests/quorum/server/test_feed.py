"""What a state machine is given: pieces of the log, snapshots, and what happens when they go away meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from metashell.codec.batch_writer import write_batch
from metashell.codec.batches import Record, RecordBatch
from metashell.codec.framing import whole_frames
from metashell.codec.primitives import crc32c
from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft.ready import Committed, LeaderChanged, Ready, SnapshotToLoad
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.snapshots import SnapshotWriter
from metashell.quorum.raft.voters import SnapshotHeader
from metashell.quorum.server import records
from metashell.quorum.server.event_queue import LoopHold
from metashell.quorum.server.feed import RECORDS_AT_ONCE, Feed
from metashell.quorum.server.records import OwnBatches, SnapshotToMake, snapshot_batches
from tests.coroutines import eventually, run
from tests.quorum.raft.made import read_snapshot_controls
from tests.quorum.server.quorum import Values


class Core:
    """As much of a driver and its node as a feed needs."""

    def __init__(self, log: MemoryLog | None = None) -> None:
        self.node = self
        self.log = log
        self.consumed_to: list[int] = []
        self.stopped: list[BaseException] = []
        self.frozen: list[OffsetAndEpoch] = []
        self.downloading: OffsetAndEpoch | None = None
        self.held = LoopHold()
        self.own = OwnBatches("metadata log")

    def beside(self, call: Callable[[], None]) -> asyncio.Future[None]:
        return asyncio.get_running_loop().run_in_executor(None, call)

    def register(self, now_ms: int) -> tuple[int, Any]:
        return 7, None

    def consumed(self, listener: int, offset: int, now_ms: int) -> Any:
        assert listener == 7
        self.consumed_to.append(offset)

    def create_snapshot(self, id: OffsetAndEpoch, last_contained_log_timestamp: int) -> SnapshotWriter:
        assert self.log is not None
        return SnapshotWriter(self.log.create_snapshot(id), [SnapshotHeader(last_contained_log_timestamp)], 0)

    def snapshot_frozen(self, id: OffsetAndEpoch, now_ms: int) -> Any:
        self.frozen.append(id)

    def step(self, call: Callable[[int], Ready]) -> None:
        call(0)

    def stop(self, error: BaseException) -> None:
        self.stopped.append(error)


def batch(offset: int, value: bytes) -> bytes:
    return write_batch(offset, [Record(offset, 0, None, value)], leader_epoch=1)


def filled(count: int, size: int = 10) -> MemoryLog:
    log = MemoryLog()
    for offset in range(count):
        log.append(batch(offset, b"%d" % offset + bytes(size)), offset + 1)
    return log


def feeding(core: Core, log: MemoryLog, machine: Any) -> Feed:
    feed = Feed(core, log, machine)  # type: ignore[arg-type]
    feed.register()
    return feed


async def test_a_range_comes_in_pieces_and_is_consumed_as_a_whole() -> None:
    class Counting(Values):
        calls = 0

        async def handle_commit(self, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
            self.calls += 1
            return await super().handle_commit(batches)

    core, machine = Core(), Counting()
    feed = feeding(core, filled(50, size=records.PIECE_SIZE // 10), machine)
    feed.notice(LeaderChanged(8, 1, 1))
    feed.notice(LeaderChanged(7, 2, 3))
    feed.notice(Committed(7, 0, 48))
    await eventually(lambda: core.consumed_to == [48])
    assert (machine.end, machine.calls > 3, machine.leaders) == (48, True, [(2, 3)])
    await feed.close()
    assert machine.is_shut_down and not core.stopped


async def test_a_range_that_the_log_has_dropped_is_given_back() -> None:
    core, log = Core(), filled(10)
    part = log.create_snapshot(OffsetAndEpoch(8, 1))
    part.freeze()
    log.delete_before(OffsetAndEpoch(8, 1))
    feed = feeding(core, log, Values())
    feed.notice(Committed(7, 3, 10))
    await eventually(lambda: core.consumed_to == [3])
    await feed.close()


async def test_a_snapshot_that_goes_away_while_it_is_read_is_given_back_and_the_next_one_is_loaded() -> None:
    class Slow(Values):
        async def handle_load_snapshot(self, id: OffsetAndEpoch, batches: Iterable[RecordBatch]) -> None:
            first = next(iter(batches))
            reading.set()
            await go_on.wait()
            await super().handle_load_snapshot(id, [first, *batches])

    reading, go_on = asyncio.Event(), asyncio.Event()
    core, log = Core(), filled(20)
    for end in (5, 9):
        writer = SnapshotWriter(log.create_snapshot(OffsetAndEpoch(end, 1)), [SnapshotHeader(0)], 0)
        writer.append([bytes(records.PIECE_SIZE)] * end)
        writer.freeze()
    machine = Slow()
    feed = feeding(core, log, machine)
    feed.notice(SnapshotToLoad(7, OffsetAndEpoch(5, 1)))
    await reading.wait()
    log.delete_before(OffsetAndEpoch(9, 1))
    go_on.set()
    await eventually(lambda: core.consumed_to == [-1])
    feed.notice(SnapshotToLoad(7, OffsetAndEpoch(9, 1)))
    await eventually(lambda: core.consumed_to == [-1, 9])
    assert (machine.end, len(machine.values)) == (9, 9)
    await feed.close()
    assert not core.stopped


def test_the_batches_of_a_snapshot_are_summed_once_and_know_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "PIECE_SIZE", 100)
    log = MemoryLog()
    writer = SnapshotWriter(log.create_snapshot(OffsetAndEpoch(8, 1)), [SnapshotHeader(0)], 0)
    for value in (b"a" * 90, b"b", b"c" * 300):
        writer.append([value])
    writer.freeze()
    data = log.read_snapshot(OffsetAndEpoch(8, 1), 0, 1 << 20)
    sums: list[int] = []

    def counted(batch: bytes, start: int) -> int:
        sums.append(len(batch))
        return crc32c(batch, start)

    monkeypatch.setattr("metashell.quorum.raft.partition_state.crc32c", counted)
    monkeypatch.setattr("metashell.codec.batches.crc32c", counted)

    async def given_batches() -> list[RecordBatch]:
        return list(snapshot_batches(log, OffsetAndEpoch(8, 1)))

    batches = run(given_batches)
    frames = whole_frames(data)
    assert [(batch.position, len(batch.data)) for batch in batches] == frames
    assert b"".join(batch.data for batch in batches) == data and {batch.file for batch in batches} == {"snapshot 8-1"}
    assert sums == [size for _, size in frames]


async def test_a_snapshot_that_ends_within_a_batch_stops_the_replica() -> None:
    core, log = Core(), filled(3)
    part = log.create_snapshot(OffsetAndEpoch(2, 1))
    part.append(batch(0, b"x") + batch(1, b"y")[:-1])
    part.freeze()
    feed = feeding(core, log, Values())
    feed.notice(SnapshotToLoad(7, OffsetAndEpoch(2, 1)))
    await eventually(lambda: bool(core.stopped))
    assert "snapshot 2-1" in str(core.stopped[0])
    assert core.consumed_to == []
    await feed.close()


MADE = OffsetAndEpoch(5, 1)


class Making(Values):
    """Wants one snapshot; `turns` is how often others had their turn while it was written."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.turns = 0
        self.written = 0
        self.meanwhile = meanwhile

    async def handle_commit(self, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
        return SnapshotToMake(MADE, 0, self.values_of_it()) if batches[-1].header.last_offset == 4 else None

    def values_of_it(self) -> Iterable[bytes]:
        asyncio.get_running_loop().call_soon(self.turn)
        for number in range(10 * RECORDS_AT_ONCE):
            self.written = number + 1
            yield b"%d" % number

    def turn(self) -> None:
        self.turns += 1
        self.meanwhile()
        asyncio.get_running_loop().call_soon(self.turn)


async def test_a_snapshot_is_written_while_the_replica_goes_on() -> None:
    log = filled(7)
    core, machine = Core(log), Making()
    feed = feeding(core, log, machine)
    feed.notice(Committed(7, 0, 5))
    await eventually(lambda: core.consumed_to == [5])
    assert not core.frozen
    feed.notice(Committed(7, 5, 7))
    await eventually(lambda: core.consumed_to == [5, 7])
    assert not core.frozen and machine.written < 10 * RECORDS_AT_ONCE
    await eventually(lambda: core.frozen == [MADE])
    assert machine.turns >= 9
    assert read_snapshot_controls(log, MADE) == (None, None)
    await feed.close()


@pytest.mark.parametrize("overtaken_by", ["download", "snapshot", "start"])
async def test_a_snapshot_that_is_overtaken_while_it_is_written_is_given_up(overtaken_by: str) -> None:
    log = filled(9)
    core = Core(log)

    def meanwhile() -> None:
        if overtaken_by == "download":
            core.downloading = MADE
        elif overtaken_by == "snapshot":
            log.add_snapshot(MADE, b"theirs")
        else:
            log.add_snapshot(OffsetAndEpoch(8, 1), b"theirs")
            log.delete_before(OffsetAndEpoch(8, 1))

    machine = Making(meanwhile)
    feed = feeding(core, log, machine)
    feed.notice(Committed(7, 0, 5))
    await eventually(lambda: feed._maker.given_up == 1)
    assert core.consumed_to == [5] and not core.frozen and not core.stopped and machine.written < 10 * RECORDS_AT_ONCE
    assert [log.read_snapshot(id, 0, 99) for id in log.snapshots()] == ([] if overtaken_by == "download" else [b"theirs"])
    await feed.close()
