"""Gives a state machine what is committed, at the machine's own pace.

One range or snapshot at a time: the core hands out the next one when this one is consumed, and a range is read in pieces. This module
imports asyncio, so it is itself imported inside functions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from metashell.codec.batches import RecordBatch
from metashell.codec.checked_batches import whole_batches_size
from metashell.errors import LogCorruptError
from metashell.raft.ready import Committed, LeaderChanged, Notice, Ready, SnapshotToLoad
from metashell.raft.snapshot_check import SnapshotCheck
from metashell.server.state_machine import SnapshotToMake, StateMachine, batches_in
from metashell.values import OffsetAndEpoch

if TYPE_CHECKING:
    from metashell.raft.protocols import ReplicatedLog
    from metashell.server.driver import Driver

LOG_NAME: Final = "metadata log"
PIECE_SIZE: Final = 1024 * 1024
"""Bytes of the log that a machine is given at once, unless one batch is larger."""
RECORDS_AT_ONCE: Final = 500
"""Records of a snapshot that are written before the replica has its turn again, some 10 ms."""


class _SnapshotGoneError(Exception):
    """The snapshot that is being read was removed."""


class Feed:
    """One registered listener of the core and its machine."""

    def __init__(self, driver: Driver, log: ReplicatedLog, machine: StateMachine) -> None:
        self.machine = machine
        self.consumed_to = -1
        self._driver = driver
        self._log = log
        self._notices: asyncio.Queue[Notice] = asyncio.Queue()
        self._id = -1
        self._task = asyncio.get_running_loop().create_task(self._run())

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

    async def close(self) -> None:
        """Nothing follows."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self.machine.begin_shutdown()

    async def _run(self) -> None:
        try:
            while True:
                match await self._notices.get():
                    case Committed(_, base_offset, end_offset):
                        await self._commit(base_offset, end_offset)
                    case SnapshotToLoad(_, id):
                        await self._load(id)
                    case LeaderChanged(_, leader_id, epoch):
                        self.machine.handle_leader_change(leader_id, epoch)
        except Exception as error:
            # An application that cannot apply what is committed must not go on.
            self._driver.stop(error)

    async def _load(self, id: OffsetAndEpoch) -> None:
        try:
            await self.machine.handle_load_snapshot(id, self._snapshot(id))
        except _SnapshotGoneError:
            # A newer one took its place meanwhile: as far as before, and the core hands out that one.
            self._consumed(self.consumed_to)
        else:
            self._consumed(id.offset)

    async def _commit(self, base_offset: int, end_offset: int) -> None:
        offset = base_offset
        while offset < end_offset:
            data = b"" if offset < self._log.start_offset else self._log.read(offset, end_offset, PIECE_SIZE)
            if not data:
                break  # The log begins later by now: the core will say where to go on.
            batches = batches_in(data, LOG_NAME)
            if not batches[0].header.base_offset <= offset <= batches[0].header.last_offset:
                raise LogCorruptError(LOG_NAME, offset, f"the batch at offset {batches[0].header.base_offset} is in its place")
            wanted = await self.machine.handle_commit(batches)
            offset = batches[-1].header.last_offset + 1
            if wanted is not None:
                await self._make(wanted)
            await asyncio.sleep(0)
        self._consumed(offset)

    async def _make(self, wanted: SnapshotToMake) -> None:
        """Write the snapshot, unless the core has it already or cannot take it now. The replica goes on meanwhile: it may lead."""
        writer = self._driver.node.create_snapshot(wanted.id, wanted.last_contained_log_timestamp)
        if writer is None:
            return
        try:
            values = iter(wanted.values)
            while piece := list(islice(values, RECORDS_AT_ONCE)):
                writer.append(piece)
                await asyncio.sleep(0)
                if self._is_overtaken(wanted.id):
                    writer.close()
                    return
            writer.freeze()
        except BaseException:
            writer.close()
            raise
        self._driver.step(lambda now_ms: self._driver.node.snapshot_frozen(wanted.id, now_ms))

    def _is_overtaken(self, id: OffsetAndEpoch) -> bool:
        """Whether the leader's snapshot has come, or comes, in place of the one that is written."""
        log = self._log
        return id.offset < log.start_offset or id in log.snapshots() or self._driver.node.downloading == id

    def _snapshot(self, id: OffsetAndEpoch) -> Iterator[RecordBatch]:
        """The snapshot's batches, read piece by piece, each checked; the last one must be its footer. Errors: LogCorruptError."""
        name = f"snapshot {id.offset}-{id.epoch}"
        check = SnapshotCheck()
        size, position, rest = 1, 0, b""
        while position < size:
            if id not in self._log.snapshots():
                raise _SnapshotGoneError
            size = self._log.snapshot_size(id)
            piece = self._log.read_snapshot(id, position, PIECE_SIZE)
            check.feed(piece)
            if check.fault is not None or not piece:
                raise LogCorruptError(name, check.next_offset, check.fault or f"ends at byte {position}, {size} bytes were expected")
            position += len(piece)
            rest += piece
            whole = whole_batches_size(rest)
            yield from batches_in(rest[:whole], name)
            rest = rest[whole:]
        if not check.is_complete:
            raise LogCorruptError(name, check.next_offset, "ends without its footer")

    def _consumed(self, offset: int) -> None:
        self.consumed_to = offset
        self._driver.step(lambda now_ms: self._driver.node.consumed(self._id, offset, now_ms))
