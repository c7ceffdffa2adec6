"""What an application of the core asks of its driver: appends of one epoch, commits, resignation, and its own records in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from metashell.codec.batches import RecordBatch
from metashell.codec.framing import checked_batches
from metashell.common.values import OffsetAndEpoch
from metashell.quorum.raft.accumulator import AppendedBatch
from metashell.quorum.raft.messages import NotLeaderError, VoteRequest
from metashell.quorum.raft.replicated_log import ReplicatedLog
from metashell.quorum.server import records
from metashell.quorum.server import records as own_batches
from metashell.quorum.server.event_queue import LONG_S, LoopHold
from metashell.quorum.server.records import OwnBatch, OwnBatches, SnapshotToMake
from tests.coroutines import eventually
from tests.quorum.raft.made import data_batch
from tests.quorum.server.quorum import CLUSTER_ID, LIMIT_S, Member, Quorum, Values


def values_in(member: Member) -> list[bytes]:
    return member.machine.values


async def test_what_is_prepared_has_its_offset_at_once_and_leaves_when_it_is_scheduled(tmp_path: Path) -> None:
    async with Quorum(tmp_path, 1) as quorum:
        leader = await quorum.leader()
        driver, node = leader.running.driver, leader.running.node
        end = node.log_end_offset
        assert driver.prepare(node.epoch, [b"a", b"b"]) == end + 1
        assert driver.prepare(node.epoch, [b"c"]) == end + 2
        driver.step(node.poll)
        assert node.log_end_offset == end
        driver.schedule()
        await driver.committed(end + 2, node.epoch)
        await eventually(lambda: values_in(leader) == [b"a", b"b", b"c"])


async def test_what_is_scheduled_in_one_turn_of_the_loop_leaves_as_one_batch_and_what_comes_later_as_another(tmp_path: Path) -> None:
    async with Quorum(tmp_path, 1) as quorum:
        leader = await quorum.leader()
        driver, node = leader.running.driver, leader.running.node
        end = node.log_end_offset
        for value in (b"a", b"b", b"c"):
            driver.prepare(node.epoch, [value])
            driver.schedule()
        assert node.log_end_offset == end
        await driver.committed(end + 2, node.epoch)
        await driver.append([b"d"])
        headers = [batch.header for batch in checked_batches(leader.log.read(end, end + 4, 1 << 20), "log")]
        assert [(header.base_offset, header.last_offset) for header in headers] == [(end, end + 2), (end + 3, end + 3)]
        await eventually(lambda: values_in(leader) == [b"a", b"b", b"c", b"d"])


async def test_nothing_is_prepared_in_an_epoch_that_is_not_led(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        driver, epoch = leader.running.driver, leader.running.node.epoch
        for other in (epoch - 1, epoch + 1):
            with pytest.raises(NotLeaderError):
                driver.prepare(other, [b"x"])
        follower = quorum.others(leader)[0].running
        with pytest.raises(NotLeaderError):
            follower.driver.prepare(follower.node.epoch, [b"x"])
        with pytest.raises(ValueError):
            driver.resign(epoch + 1)
        await leader.running.kill()
        with pytest.raises(NotLeaderError):
            driver.prepare(epoch, [b"x"])
        with pytest.raises(NotLeaderError):
            await driver.committed(leader.running.node.log_end_offset, epoch)


async def test_what_was_prepared_in_an_epoch_is_never_appended_in_a_later_one(tmp_path: Path) -> None:
    async with Quorum(tmp_path, 1) as quorum:
        leader = await quorum.leader()
        driver, node = leader.running.driver, leader.running.node
        epoch = node.epoch
        offset = driver.prepare(epoch, [b"decided in an earlier epoch"])
        committed = driver.committed(offset, epoch)
        driver.resign(epoch)
        with pytest.raises(NotLeaderError):
            driver.prepare(epoch, [b"after it was told to resign"])
        with pytest.raises(NotLeaderError, match=f"epoch {epoch} ended before offset {offset}"):
            await committed
        driver.schedule()
        await eventually(lambda: leader.is_leader and node.epoch > epoch and node.high_watermark is not None)
        driver.resign(epoch)
        assert await driver.append([b"y"]) >= offset
        assert leader.is_leader
        await eventually(lambda: values_in(leader) == [b"y"])
        with pytest.raises(NotLeaderError):
            await driver.committed(offset, epoch)


async def test_nothing_is_prepared_while_it_is_written_down_that_the_epoch_is_over(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        driver, node = leader.running.driver, leader.running.node
        epoch = node.epoch
        committed = driver.committed(node.log_end_offset + 5, epoch)
        leader.store.gate.shut()
        token = SimpleNamespace(cancelled=False, connection=("x", 1), request=SimpleNamespace(cancelled=True))
        other = next(voter.key for id, voter in node.voters.voters.items() if id != leader.id)
        asked = VoteRequest(CLUSTER_ID, leader.id, leader.key.directory_id, epoch + 3, other.id, other.directory_id, epoch, 1 << 40)
        driver.request(token, asked, "CONTROLLER")
        await eventually(lambda: leader.store.gate.waiting == 1)
        assert driver.durable.election.epoch == epoch
        for wrong in (epoch, epoch + 3):
            with pytest.raises(NotLeaderError):
                driver.prepare(wrong, [b"x"])
        leader.store.gate.open()
        with pytest.raises(NotLeaderError):
            await committed


async def test_commits_are_told_for_each_offset_in_whatever_order_they_are_asked_for(tmp_path: Path) -> None:
    async with Quorum(tmp_path) as quorum:
        leader = await quorum.leader()
        driver, node = leader.running.driver, leader.running.node
        offsets = [driver.prepare(node.epoch, [b"%d" % number]) for number in range(20)]
        waits = {offset: driver.committed(offset, node.epoch) for offset in (*offsets[10:], *reversed(offsets[:10]))}
        waits[offsets[3]].cancel()
        # Who asks for what an earlier epoch has left takes nothing from those who wait for this one.
        with pytest.raises(NotLeaderError):
            await driver.committed(offsets[0], node.epoch - 1)
        driver.schedule()
        await asyncio.wait(waits.values())
        assert node.high_watermark is not None and node.high_watermark > offsets[-1]
        assert all(wait.cancelled() or wait.exception() is None for wait in waits.values())
        assert all(wait.cancelled() == (offset == offsets[3]) for offset, wait in waits.items())
        assert driver.committed(offsets[0], node.epoch).done()


class Watching(Values):
    """Keeps the batches as they came."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[RecordBatch] = []

    async def handle_commit(self, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
        self.batches += batches
        return await super().handle_commit(batches)


async def test_a_leader_is_handed_its_own_records_and_reads_none_of_them_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[ReplicatedLog, int]] = []
    plain = records.log_batches

    def noted(log: ReplicatedLog, offset: int, end_offset: int) -> Sequence[RecordBatch]:
        read.append((log, offset))
        return plain(log, offset, end_offset)

    monkeypatch.setattr("metashell.quorum.server.records.log_batches", noted)
    async with Quorum(tmp_path) as quorum:
        for member in quorum.members.values():
            member.running.feed.machine = member.machine = Watching()
        leader = await quorum.leader()
        given = [[b"%d" % number, b"%d again" % number] for number in range(30)]
        for values in given:
            await leader.running.append(values)
        flat = [value for values in given for value in values]
        for member in quorum.members.values():
            await eventually(lambda member=member: member.machine.values == flat)
        machine = leader.machine
        assert isinstance(machine, Watching)
        own = [batch for batch in machine.batches if isinstance(batch, OwnBatch) and not batch.header.is_control]
        assert [id(value) for batch in own for value in batch.values] == [id(value) for value in flat]
        assert not [offset for log, offset in read if log is leader.log]
        assert leader.running.driver.own.read(0, 1 << 40, 1 << 40) == []
        for member in quorum.others(leader):
            assert isinstance(member.machine, Watching)
            assert not any(isinstance(batch, OwnBatch) for batch in member.machine.batches)
            assert [batch.data for batch in member.machine.batches] == [batch.data for batch in machine.batches]


def appended(base: int, *values: bytes) -> AppendedBatch:
    return AppendedBatch(base, base + len(values) - 1, data_batch(base, 1, 0, values), 0, False, values)


def offsets_of(batches: Sequence[OwnBatch]) -> list[int]:
    return [batch.header.base_offset for batch in batches]


def test_own_batches_are_the_end_of_the_log_as_it_was_written() -> None:
    own = OwnBatches("log")
    own.add([appended(5, b"a", b"b"), appended(7, b"c"), appended(8, b"d", b"e")])
    assert offsets_of(own.read(5, 10, 1 << 20)) == [5, 7, 8]
    assert offsets_of(own.read(7, 10, 1 << 20)) == [7, 8]
    assert offsets_of(own.read(5, 8, 1 << 20)) == [5, 7]
    assert offsets_of(own.read(5, 9, 1)) == [5]
    assert own.read(4, 10, 1 << 20) == own.read(6, 10, 1 << 20) == own.read(10, 11, 1 << 20) == []
    own.cut(8)
    assert offsets_of(own.read(5, 10, 1 << 20)) == [5, 7]
    own.add([appended(8, b"other")])
    assert [list(batch.values) for batch in own.read(7, 9, 1 << 20)] == [[b"c"], [b"other"]]
    own.drop_before(7)
    assert own.read(5, 9, 1 << 20) == [] and offsets_of(own.read(7, 9, 1 << 20)) == [7, 8]
    own.add([appended(20, b"after others led")])
    assert own.read(7, 9, 1 << 20) == [] and offsets_of(own.read(20, 21, 1 << 20)) == [20]


def test_own_batches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(appended(0, b"a").data)
    monkeypatch.setattr(own_batches, "SIZE_MAX", 3 * size)
    own = OwnBatches("log")
    own.add([appended(offset, b"a") for offset in range(10)])
    assert own.read(6, 10, 1 << 20) == [] and offsets_of(own.read(7, 10, 1 << 20)) == [7, 8, 9]


async def test_what_holds_the_loop_is_measured_also_in_coroutines_that_are_cancelled() -> None:
    held = LoopHold()

    async def slow() -> str:
        await asyncio.sleep(0)
        time.sleep(LONG_S)
        await asyncio.sleep(0)
        return "done"

    assert await held.watched(slow) == "done"
    assert held.longest_s >= LONG_S and held.long_count == 1
    ended: list[str] = []

    async def waiting() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    task = asyncio.ensure_future(held.watched(waiting))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["cancelled"]


async def test_a_machine_that_holds_the_loop_shows_in_the_counters(tmp_path: Path) -> None:
    class Slow(Values):
        async def handle_commit(self, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
            time.sleep(LONG_S)
            return await super().handle_commit(batches)

    async with Quorum(tmp_path, 1) as quorum:
        leader = await quorum.leader()
        await eventually(lambda: leader.machine.end == leader.running.node.log_end_offset)
        leader.running.feed.machine = leader.machine = Slow()
        leader.machine.end = leader.running.node.log_end_offset
        await leader.running.append([b"x"])
        await eventually(lambda: leader.machine.values == [b"x"])
        assert leader.running.counters["longest_hold_ms"] >= LONG_S * 1000
        assert leader.running.counters["long_holds"] >= 1


async def test_a_downloaded_snapshot_is_not_there_before_the_step_that_takes_it(tmp_path: Path) -> None:
    # A step that waits in line behind a slow disk must not find a snapshot that is ahead of the log. Seed 140 of the simulated controllers.
    happened: list[str] = []
    async with Quorum(tmp_path, 1) as quorum:
        leader = await quorum.leader()
        driver, node = leader.running.driver, leader.running.node
        id = OffsetAndEpoch(99, 1)
        part = SimpleNamespace(id=id, begin_freeze=lambda: lambda: happened.append("durable"), end_freeze=lambda: happened.append("there"))
        node.freezing = part  # type: ignore[assignment]
        driver._is_busy = True
        driver._freeze(id)
        driver.step(lambda now_ms: happened.append("step") or node.poll(now_ms))  # type: ignore[func-returns-value]
        await driver.drained(LIMIT_S)
        await asyncio.sleep(0.01)
        assert happened == ["durable"]
        driver._is_busy = False
        driver._run()
        await eventually(lambda: "there" in happened)
        assert happened.index("step") < happened.index("there")


async def test_who_watches_a_driver_hears_of_each_step_and_of_its_end(tmp_path: Path) -> None:
    async with Quorum(tmp_path, 1) as quorum:
        leader = await quorum.leader()
        driver = leader.running.driver
        await eventually(lambda: not driver._begun)
        heard: list[bool] = []
        end = driver.watch(lambda: heard.append(driver.is_stopped))
        forgotten = driver.watch(lambda: heard.append(True))
        forgotten()
        driver.step(driver.node.poll)
        assert heard == [False]
        error = OSError(5, "as the test wants it")
        timers = [driver._timer, driver._tidying]
        driver.stop(error)
        assert [timer is not None and timer.cancelled() for timer in timers] == [True, True]
        driver.stop(ValueError("a second reason"))
        driver.step(driver.node.poll)
        assert heard == [False, True] and driver.failure.result() is error
        end()
        assert await driver.drained(LIMIT_S)


async def test_what_is_held_back_leaves_once_it_is_released(tmp_path: Path) -> None:
    async with Quorum(tmp_path, 1) as quorum:
        leader = await quorum.leader()
        driver, node = leader.running.driver, leader.running.node
        end = node.log_end_offset
        driver.hold()
        driver.prepare(node.epoch, [b"a"])
        driver.schedule()
        for _ in range(3):
            await asyncio.sleep(0)
        assert node.log_end_offset == end
        driver.release()
        await driver.committed(end, node.epoch)
        await eventually(lambda: values_in(leader) == [b"a"])
