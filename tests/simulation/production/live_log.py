"""metashell's log on a simulated disk, with the one in memory beside it, as the server's Driver uses it: over all lives of a replica."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.common.values import OffsetAndEpoch
from metashell.disk.metadata_log import MetadataLog
from tests.simulation.disk_log import RULE, DiskLog, DiskPartial
from tests.simulation.history import History
from tests.simulation.production.disk import Platters, SimDisk
from tests.simulation.sim_log import SimLog
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Callable

INDEX_INTERVAL = 512
INDEX_SIZE = 2_400


class LivePartial(DiskPartial):
    """A snapshot whose content is looked at once it is complete."""

    def freeze(self) -> None:
        self.begin_freeze()()
        self.end_freeze()

    def begin_freeze(self) -> Callable[[], None]:
        return self._real.begin_freeze()

    def end_freeze(self) -> None:
        log, id, data = self._disk_log, self.id, bytes(self.data)
        self._real.end_freeze()
        log.parts.pop((id.offset, id.epoch), None)
        if id in log.real.snapshots():
            SimLog.add_snapshot(log, id, data)
        log.agree()
        log.on_snapshot(id, data)


class LiveWork:
    """What a change of the log has left to a thread; until it is done, a crash may leave the log as it was before."""

    def __init__(self, log: LiveLog, work: Any) -> None:
        self.is_awaited = work.is_awaited
        self._log = log
        self._work = work

    def carry_out(self) -> None:
        self._work.carry_out()
        self._log.is_cutting = self._log.is_waiting


class LiveLog(DiskLog):
    """Both logs as one. `on_snapshot` hears of each snapshot that is complete."""

    def __init__(self, history: History, platters: Platters, segment_size: int) -> None:
        SimLog.__init__(self, history)
        self.platters = platters
        self.segment_size = segment_size
        self.is_cutting = self.is_adding = False
        self.is_deferred = self.is_waiting = False
        """Whether changes leave work to a thread, and whether some was not taken yet."""
        self.is_rotten = False
        """Whether a fault damaged what was durable, and a replica did not get it all back yet."""
        self.on_snapshot: Callable[[OffsetAndEpoch, bytes], None] = lambda id, data: None

    def reopen(self, disk: SimDisk) -> None:
        """The real log of what the disk holds, in a new process; memory takes over what it found."""
        before, start, flushed, ids = self.entries, self.start_offset, self.flushed_offset, self.snapshot_ids
        self.disk = disk  # type: ignore[assignment]
        self.real = MetadataLog.open(
            str(self.platters.place),
            disk,
            segment_size=self.segment_size,
            index_interval=INDEX_INTERVAL,
            index_size=INDEX_SIZE,
            lock=False,
        )
        self.is_deferred = self.is_waiting = False
        self.recover()
        self.recovering = self.real.recovering
        if not self.is_rotten:
            if self.recovering is not None:
                raise Violation(RULE, f"believes that it lost something, and did not: {self.recovering.reason}")
            self.check_recovered(before, start, flushed, ids)
        elif self.recovering is None:
            if self.end_offset < flushed:
                raise Violation(RULE, f"ends at {self.end_offset} after it was damaged, {flushed} was durable, and it is taken for whole")
            self.is_rotten = False
        self.is_cutting = self.is_adding = False

    def abandon(self) -> None:
        """The process has died, and its disk with it: give back what the system would."""
        real = getattr(self, "real", None)
        if real is not None:
            real._snapshots.close()

    def create_snapshot(self, id: OffsetAndEpoch) -> LivePartial:
        partial = LivePartial(self, id)
        self.parts[id.offset, id.epoch] = partial
        return partial

    def end_recovery(self) -> None:
        super().end_recovery()
        self.is_rotten = False

    # What the Driver asks for beyond the core

    def defer(self) -> None:
        self.is_deferred = True
        self.real.defer()

    def take_work(self) -> LiveWork | None:
        work = self.real.take_work()
        self.is_waiting = False
        return None if work is None else LiveWork(self, work)

    def truncate_to(self, offset: int) -> None:
        super().truncate_to(offset)
        self.is_cutting = self.is_waiting = self.is_deferred

    def start_at_snapshot(self, id: OffsetAndEpoch) -> None:
        super().start_at_snapshot(id)
        self.is_cutting = self.is_waiting = self.is_deferred

    def delete_before(self, id: OffsetAndEpoch) -> None:
        super().delete_before(id)
        self.is_cutting = self.is_waiting = self.is_deferred

    def note_committed(self, offset: int) -> None:
        self.real.note_committed(offset)

    def begin_flush(self) -> Any:
        return self.real.begin_flush()

    def sync(self, token: Any) -> None:
        self.real.sync(token)

    def finish_flush(self, token: Any) -> int:
        self.flushed_offset = self.real.finish_flush(token)
        return self.flushed_offset

    def delete_due(self, now_ms: int) -> int | None:
        return self.real.delete_due(now_ms)

    def close(self) -> None:
        """A process that ends in order closes its log."""
        self.real.close()
