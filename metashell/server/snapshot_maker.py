"""Writes the snapshots that an application wants, one at a time, beside everything else that its replica does.

The image is a value, so it may be walked while newer ones are made: in slices that hold the loop for a few milliseconds, with as much time
for others between them, and the slow end, fsync and rename, in a thread. This module imports asyncio, so it is itself imported inside
functions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from metashell.server.state_machine import SnapshotToMake
from metashell.values import OffsetAndEpoch

if TYPE_CHECKING:
    from metashell.raft.protocols import ReplicatedLog
    from metashell.server.driver import Driver

SLICE_S: Final = 0.002
RECORDS_AT_ONCE: Final = 500
"""Records of a slice, at most: what the clock of a simulation does not end, this does."""
_RECORDS_BETWEEN_LOOKS: Final = 25


class SnapshotMaker:
    """One replica's; `made` counts the snapshots that became complete, `given_up` those that did not."""

    def __init__(self, driver: Driver, log: ReplicatedLog) -> None:
        self.made = 0
        self.given_up = 0
        self._driver = driver
        self._log = log
        self._next: SnapshotToMake | None = None
        self._task: asyncio.Task[None] | None = None

    def want(self, wanted: SnapshotToMake) -> None:
        """Make a snapshot soon; of those that are wanted while one is made, the last."""
        if self._next is not None:
            self.given_up += 1
        self._next = wanted
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._driver.held.watched(self._run))

    async def close(self) -> None:
        """Make no more; what is not complete is dropped."""
        self._next = None
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            while (wanted := self._next) is not None:
                self._next = None
                if await self._make(wanted):
                    self.made += 1
                else:
                    self.given_up += 1
        except Exception as error:
            self._driver.stop(error)
        finally:
            self._task = None

    async def _make(self, wanted: SnapshotToMake) -> bool:
        """Write a snapshot, unless the core has it already or cannot take it now; whether it is complete."""
        driver, id = self._driver, wanted.id
        writer = driver.node.create_snapshot(id, wanted.last_contained_log_timestamp)
        if writer is None:
            return False
        try:
            values = iter(wanted.values)
            while piece := self._slice(values):
                writer.append(piece)
                await asyncio.sleep(SLICE_S)
                if self._is_overtaken(id):
                    writer.close()
                    return False
            slow = writer.begin_freeze()
        except BaseException:
            writer.close()
            raise
        # Who ends this meanwhile must still wait for the thread: it writes in the directory.
        await asyncio.shield(driver.beside(slow))
        writer.end_freeze()
        driver.step(lambda now_ms: driver.node.snapshot_frozen(id, now_ms))
        return True

    def _slice(self, values: Iterator[bytes]) -> list[bytes]:
        """The next values, as many as there is time for."""
        clock = asyncio.get_running_loop().time
        ends_at = clock() + SLICE_S
        found: list[bytes] = []
        while len(found) < RECORDS_AT_ONCE:
            some = list(islice(values, _RECORDS_BETWEEN_LOOKS))
            found += some
            if len(some) < _RECORDS_BETWEEN_LOOKS or clock() >= ends_at:
                break
        return found

    def _is_overtaken(self, id: OffsetAndEpoch) -> bool:
        """Whether the leader's snapshot has come, or comes, in place of the one that is written."""
        log = self._log
        return id.offset < log.start_offset or id in log.snapshots() or self._driver.node.downloading == id
