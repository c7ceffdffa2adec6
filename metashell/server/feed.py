"""Gives a state machine what is committed, at the machine's own pace.

One range or snapshot at a time: the core hands out the next one when this one is consumed, and a range is read in pieces. What the replica
itself appended comes from memory, as `OwnBatch`. This module imports asyncio, so it is itself imported inside functions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from metashell.codec.batches import RecordBatch
from metashell.raft.listener import ListenerId
from metashell.raft.ready import Committed, LeaderChanged, Notice, Ready, SnapshotToLoad, TruncatedTo
from metashell.server.records import PIECE_SIZE, SnapshotGoneError, log_batches, snapshot_batches
from metashell.server.snapshot_maker import SnapshotMaker
from metashell.server.state_machine import StateMachine
from metashell.values import OffsetAndEpoch

if TYPE_CHECKING:
    from metashell.raft.protocols import ReplicatedLog
    from metashell.server.driver import Driver


class Feed:
    """One registered listener of the core and its machine."""

    def __init__(self, driver: Driver, log: ReplicatedLog, machine: StateMachine) -> None:
        self.machine = machine
        self.consumed_to = -1
        self._driver = driver
        self._log = log
        self._notices: asyncio.Queue[Notice] = asyncio.Queue()
        self._id = ListenerId(-1)
        self._maker = SnapshotMaker(driver, log)
        self._task = asyncio.get_running_loop().create_task(driver.held.watched(self._run))

    def register(self) -> None:
        """Begin; the core hands out what is committed already."""

        def call(now_ms: int) -> Ready:
            ready: Ready
            self._id, ready = self._driver.node.register(now_ms)
            return ready

        self._driver.step(call)

    def notice(self, notice: Notice) -> None:
        """The core has something for a listener; others' notices are left alone."""
        if getattr(notice, "listener", None) == self._id:
            self._notices.put_nowait(notice)

    @property
    def snapshots_made(self) -> int:
        """How many snapshots of this application became complete."""
        return self._maker.made

    async def close(self) -> None:
        """Nothing follows."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._maker.close()
        self.machine.begin_shutdown()

    async def _run(self) -> None:
        try:
            while True:
                match notice := await self._notices.get():
                    case Committed(_, base_offset, end_offset):
                        await self._commit(base_offset, end_offset)
                    case SnapshotToLoad(_, id):
                        await self._load(id)
                    case LeaderChanged(_, leader_id, epoch):
                        self.machine.handle_leader_change(leader_id, epoch)
                    case TruncatedTo():
                        raise AssertionError("a cut of the log is no listener's")
                    case _:
                        assert_never(notice)
        except Exception as error:
            # An application that cannot apply what is committed must not go on.
            self._driver.stop(error)

    async def _load(self, id: OffsetAndEpoch) -> None:
        try:
            await self.machine.handle_load_snapshot(id, snapshot_batches(self._log, id))
        except SnapshotGoneError:
            # A newer one took its place meanwhile: as far as before, and the core hands out that one.
            self._consumed(self.consumed_to)
        else:
            self._consumed(id.offset)

    async def _commit(self, base_offset: int, end_offset: int) -> None:
        offset, own = base_offset, self._driver.own
        while offset < end_offset:
            batches: Sequence[RecordBatch] = own.read(offset, end_offset, PIECE_SIZE) or log_batches(self._log, offset, end_offset)
            if not batches:
                break  # The log begins later by now: the core will say where to go on.
            wanted = await self.machine.handle_commit(batches)
            offset = batches[-1].header.last_offset + 1
            own.drop_before(offset)
            if wanted is not None:
                self._maker.want(wanted)
            await asyncio.sleep(0)
        self._consumed(offset)

    def _consumed(self, offset: int) -> None:
        self.consumed_to = offset
        self._driver.step(lambda now_ms: self._driver.node.consumed(self._id, offset, now_ms))
