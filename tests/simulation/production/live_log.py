"""metashell's log on a simulated disk, with the one in memory beside it, as the server's Driver uses it: over all lives of a replica."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.log.metadata_log import MetadataLog
from metashell.values import OffsetAndEpoch
from tests.simulation.disk_log import DiskLog, DiskPartial
from tests.simulation.history import History
from tests.simulation.production.disk import Platters, SimDisk
from tests.simulation.sim_log import SimLog

if TYPE_CHECKING:
    from collections.abc import Callable

INDEX_INTERVAL = 512
INDEX_SIZE = 2_400


class LivePartial(DiskPartial):
    """A snapshot whose content is looked at once it is complete."""

    def freeze(self) -> None:
        super().freeze()
        self._disk_log.on_snapshot(self.id, bytes(self.data))


class LiveLog(DiskLog):
    """Both logs as one. `on_snapshot` hears of each snapshot that is complete."""

    __slots__ = ("on_snapshot", "platters")

    def __init__(self, history: History, platters: Platters, segment_size: int) -> None:
        SimLog.__init__(self, history)
        self.platters = platters
        self.segment_size = segment_size
        self.is_cutting = self.is_adding = False
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
        self.recover()
        self.check_recovered(before, start, flushed, ids)

    def abandon(self) -> None:
        """The process has died, and its disk with it: give back what the system would."""
        real = getattr(self, "real", None)
        if real is not None:
            real._snapshots.close()

    def create_snapshot(self, id: OffsetAndEpoch) -> LivePartial:
        partial = LivePartial(self, id)
        self.parts[id.offset, id.epoch] = partial
        return partial

    # What the Driver asks for beyond the core

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
