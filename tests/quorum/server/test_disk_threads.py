"""Nothing that waits for the disk is called on the loop's thread, and nothing leaves before what it rests on is on the disk."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from random import Random
from typing import Any

from metashell.common.values import OffsetAndEpoch
from metashell.disk.file_system import Disk
from metashell.disk.metadata_log import MetadataLog
from metashell.quorum.raft import appending, transitions
from metashell.quorum.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Request,
    VoteRequest,
    VoteResponse,
)
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import Durable, Notice, Ready, Send, TruncatedTo
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.snapshots import SnapshotWriter
from metashell.quorum.raft.voters import SnapshotHeader
from metashell.quorum.server.config import ElectionStore
from metashell.quorum.server.driver import Driver
from tests.coroutines import eventually
from tests.quorum.raft.made import data_batch
from tests.quorum.raft.pump import LISTENER, endpoint, settings
from tests.quorum.raft.solo import begin, fetched
from tests.quorum.server.quorum import LIMIT_S, Gate

WAITING = ("sync_file", "sync_directory", "rename", "remove_file")


class NotingDisk(Disk):
    """Knows which calls came on which thread; syncs, but those of quorum-state, pass a gate. `loop_thread` is set when it matters."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.loop_thread = 0
        self.on_loop: list[str] = []
        self.elsewhere: set[str] = set()

    def _note(self, name: str) -> None:
        if threading.get_ident() == self.loop_thread:
            self.on_loop.append(name)
        else:
            self.elsewhere.add(name)

    def sync_file(self, fd: int) -> None:
        self._note("sync_file")
        if threading.current_thread().name.startswith("log-work"):
            self.gate.pass_through()
        super().sync_file(fd)

    def sync_directory(self, path: str) -> None:
        self._note("sync_directory")
        super().sync_directory(path)

    def rename(self, source: str, target: str) -> None:
        self._note("rename")
        super().rename(source, target)

    def remove_file(self, path: str) -> None:
        # What `create_file` removes first is not there, or an index of the log: neither waits for the disk.
        if not path.endswith("index"):
            self._note("remove_file")
        super().remove_file(path)

    def create_file(self, path: str, mode: int) -> int:
        import os

        if threading.get_ident() == self.loop_thread and not os.path.lexists(path):
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        return super().create_file(path, mode)


class Scripted:
    """Node 1 of three behind a real driver, on a real disk; the test speaks for the others."""

    def __init__(self, folder: Path, **others: Any) -> None:
        self.disk = NotingDisk()
        self.log = MetadataLog.open(str(folder), self.disk, segment_size=4096, lock=False)
        self.store = ElectionStore(self.log.directory, disk=self.disk)
        self.sent: list[Send] = []
        self.notices: list[Notice] = []
        self.replies = 0
        self.log.defer()
        election = self.store.read()
        loop = asyncio.get_running_loop()
        config = settings(1, election_timeout_ms=200, fetch_timeout_ms=60_000, **others)
        node = RaftNode(config, self.log, election, random=Random(1), now_ms=int(loop.time() * 1000))
        self.disk.loop_thread = threading.get_ident()
        self.driver = Driver(node, self.log, self.store, Durable(election, -1), lambda: int(time.time() * 1000))
        self.node = node
        self.driver.start(self, node.take_ready())

    def send(self, message: Send) -> None:
        self.sent.append(message)

    def reply(self, token: Any, message: Any) -> None:
        self.replies += 1

    def notice(self, notice: Notice) -> None:
        self.notices.append(notice)

    async def asked(self, kind: type[Request]) -> Send:
        """The next request of a kind."""
        await eventually(lambda: any(isinstance(send.message, kind) for send in self.sent))
        found = next(send for send in self.sent if isinstance(send.message, kind))
        self.sent = [send for send in self.sent if not isinstance(send.message, kind)]
        return found

    def answer(self, send: Send, response: Any) -> None:
        self.driver.response(send.destination, send.correlation_id, response)

    async def lead(self) -> int:
        """Be elected; the epoch."""
        while self.node.state_name != "leader":
            send = await self.asked(VoteRequest)
            self.answer(send, VoteResponse(0, 0, -1, self.node.epoch, granted=True))
        return self.node.epoch

    def follow(self, leader_id: int, epoch: int) -> None:
        self.sent.clear()
        request = begin(leader_id, epoch)
        self.driver.step(lambda now_ms: self.node.handle_request("token", request, LISTENER, now_ms))

    async def depose(self) -> tuple[int, Send]:
        """Lead, append what nobody else gets, and follow another leader; the first epoch, and the first fetch of the next one."""
        epoch = await self.lead()
        self.driver.prepare(epoch, [b"never committed"])
        self.driver.schedule()
        await eventually(lambda: self.log.flushed_offset == 2)
        self.follow(2, epoch + 1)
        return epoch, await self.asked(FetchRequest)

    async def end(self) -> None:
        self.disk.gate.open()
        self.driver.stop()
        await self.driver.drained(LIMIT_S)
        self.disk.loop_thread = 0
        self.log.close()


def snapshot_at(id: OffsetAndEpoch) -> bytes:
    log = MemoryLog()
    writer = SnapshotWriter(log.create_snapshot(id), [SnapshotHeader(0)], 0)
    writer.append([b"everything before %d" % id.offset])
    writer.freeze()
    return log.read_snapshot(id, 0, 1 << 20)


def divided(leader_id: int, epoch: int, offset: int, end_epoch: int) -> FetchResponse:
    return fetched(leader_id, epoch, diverging=OffsetAndEpoch(offset, end_epoch))


async def test_no_disk_is_waited_for_on_the_loops_thread_whatever_the_log_goes_through(tmp_path: Path) -> None:
    one = Scripted(tmp_path)
    # It leads, and appends more than a segment holds, which nobody fetches.
    epoch = await one.lead()
    for number in range(40):
        one.driver.prepare(epoch, [b"%d" % number + bytes(200)])
        one.driver.schedule()
    await eventually(lambda: one.log.flushed_offset == 41)
    assert len(one.driver.own.read(0, 41, 1 << 20)) > 1
    # Another leads, who knows nothing of it: cut to nothing, then appended to.
    one.follow(2, epoch + 1)
    one.answer(await one.asked(FetchRequest), divided(2, epoch + 1, 0, 0))
    send = await one.asked(FetchRequest)
    assert send.message.fetch_offset == 0  # type: ignore[union-attr]
    assert one.log.end_offset == 0 and any(isinstance(notice, TruncatedTo) for notice in one.notices)
    assert one.driver.own.read(0, 41, 1 << 20) == []
    theirs = b"".join(data_batch(offset, epoch + 1, 0, [b"theirs"]) for offset in range(5))
    one.answer(send, fetched(2, epoch + 1, theirs, 3))
    send = await one.asked(FetchRequest)
    assert send.message.fetch_offset == 5 and one.log.flushed_offset == 5  # type: ignore[union-attr]
    # Its log begins later by now: a snapshot, and what follows it.
    id = OffsetAndEpoch(900, epoch + 1)
    one.answer(send, fetched(2, epoch + 1, snapshot_id=id))
    send = await one.asked(FetchSnapshotRequest)
    data = snapshot_at(id)
    one.answer(send, FetchSnapshotResponse(0, 0, 2, epoch + 1, endpoint(2), id, len(data), 0, data))
    send = await one.asked(FetchRequest)
    assert send.message.fetch_offset == 900 and one.log.start_offset == 900  # type: ignore[union-attr]
    one.answer(send, fetched(2, epoch + 1, data_batch(900, epoch + 1, 0, [b"after it"]), 901))
    await one.asked(FetchRequest)
    one.driver._tidy()
    assert one.disk.on_loop == []
    assert {"sync_file", "sync_directory", "rename", "remove_file"} <= one.disk.elsewhere
    await one.end()
    assert one.driver.failure.result() is None
    again = MetadataLog.open(str(tmp_path))
    assert (again.start_offset, again.end_offset, again.leader_epochs()) == (900, 901, [(epoch + 1, 900)])
    again.close()


async def test_while_a_cut_waits_for_the_disk_nothing_leaves_and_nothing_else_happens(tmp_path: Path) -> None:
    one = Scripted(tmp_path)
    epoch, send = await one.depose()
    one.disk.gate.shut()
    one.answer(send, divided(2, epoch + 1, 0, 0))
    await eventually(lambda: one.disk.gate.waiting == 1)
    # A vote is asked for meanwhile: it waits in line, and the loop goes on.
    one.follow(3, epoch + 2)
    assert one.node.epoch == epoch + 1 and not one.sent and not any(isinstance(notice, TruncatedTo) for notice in one.notices)
    one.disk.gate.open()
    send = await one.asked(FetchRequest)
    assert one.log.end_offset == 0
    await eventually(lambda: one.node.epoch == epoch + 2)
    assert one.disk.on_loop == []
    await one.end()


async def test_an_error_while_the_log_is_cut_stops_the_replica(tmp_path: Path) -> None:
    one = Scripted(tmp_path)
    epoch, send = await one.depose()
    one.disk.gate.error = OSError(5, "Input/output error")
    one.answer(send, divided(2, epoch + 1, 0, 0))
    assert await one.driver.failure is one.disk.gate.error
    assert not one.sent and one.log.failure is one.disk.gate.error
    await one.end()


async def test_a_step_that_waits_for_both_quorum_state_and_a_cut_is_performed_once(tmp_path: Path) -> None:
    one = Scripted(tmp_path)
    epoch, _ = await one.depose()
    await eventually(lambda: one.driver.durable.election.epoch == epoch + 1)

    def cut_and_move_on(now_ms: int) -> Ready:
        ready = one.node.begin(now_ms)
        transitions.become_unattached(one.node, epoch + 2)
        appending.truncate(one.node, 0)
        return ready

    one.notices.clear()
    one.driver.step(cut_and_move_on)
    one.driver.step(one.node.poll)
    # Both are done before the loop has its turn again.
    time.sleep(0.2)
    await eventually(lambda: bool(one.notices))
    for _ in range(20):
        await asyncio.sleep(0)
    assert [notice for notice in one.notices if isinstance(notice, TruncatedTo)] == [TruncatedTo(0)]
    assert one.driver.durable.election.epoch == epoch + 2 and one.log.end_offset == 0
    await one.end()
    assert one.driver.failure.result() is None
