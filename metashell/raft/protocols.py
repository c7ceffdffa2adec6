"""What the core needs of a log, as a Protocol: `metashell.log.metadata_log` fulfils it on disk, `memory_log` in memory.

All calls return at once, with what they wrote in the system's cache; what must be durable when it returns says so. A driver may have the
log leave such work to a thread, if it lets nobody see anything of the step, and makes no other one, before that is done. The core checks
batches before it appends them; the log trusts it. Errors: OSError and LogCorruptError are the driver's: the replica stops.
Source: org.apache.kafka.raft.ReplicatedLog.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from metashell.values import OffsetAndEpoch, Recovering


class PartialSnapshot(Protocol):
    """A snapshot that is written or downloaded, `*.checkpoint.part` until it is frozen."""

    @property
    def id(self) -> OffsetAndEpoch: ...

    @property
    def size(self) -> int:
        """Bytes so far."""

    def append(self, data: bytes) -> None: ...

    def freeze(self) -> None:
        """Make it complete: fsync, atomic rename, fsync of the directory; durable on return. It is then among the log's `snapshots`."""

    def begin_freeze(self) -> Callable[[], None]:
        """The same in three steps, for a caller that cannot wait: this, then the slow part it returns, in any thread, then `end_freeze`."""

    def end_freeze(self) -> None:
        """The slow part is done: it is among the log's `snapshots` now."""

    def close(self) -> None:
        """Drop it, unless it is frozen."""


class ReplicatedLog(Protocol):
    """The one raft log and its snapshots. Offsets are of the log; `end_offset` is exclusive."""

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def flushed_offset(self) -> int:
        """All before it is durable. After `truncate_to` it is at most the new end."""

    @property
    def size(self) -> int:
        """Bytes of all batches, without snapshots."""

    @property
    def recovering(self) -> Recovering | None:
        """Why this log is not all that its replica may have acknowledged, None where it is. As found when it was opened."""

    def end_recovery(self) -> None:
        """The log is whole again; durable on return."""

    def leader_epochs(self) -> Sequence[tuple[int, int]]:
        """(epoch, start offset) of each epoch that has batches, or that this replica began, ascending; as recovered or last written."""

    def write_leader_epochs(self, entries: Sequence[tuple[int, int]]) -> None:
        """Replace leader-epoch-checkpoint; durable some time later, since nothing depends on it: it can be derived from the batches."""

    def append(self, data: bytes, end_offset: int) -> None:
        """Add whole batches whose first base offset is the log's end; `end_offset` is the end after them."""

    def read(self, start_offset: int, end_offset: int, max_size: int) -> bytes:
        """Whole batches from the one that holds `start_offset` on, none that begins at or after `end_offset`.

        Shape: at most `max_size` bytes, but at least one batch; empty where nothing is in the range. It may end early, at a segment's end.
        """

    def is_batch_boundary(self, offset: int) -> bool:
        """Whether a batch begins at `offset`, or the log ends there."""

    def truncate_to(self, offset: int) -> None:
        """Drop all batches that begin at or after `offset`, a batch boundary; durable on return."""

    def snapshots(self) -> Sequence[OffsetAndEpoch]:
        """The complete ones, ascending; the bootstrap snapshot (0, 0) included where there is one."""

    def snapshot_size(self, id: OffsetAndEpoch) -> int:
        """In bytes. Errors: KeyError for one that is not there."""

    def read_snapshot(self, id: OffsetAndEpoch, position: int, max_size: int) -> bytes: ...

    def create_snapshot(self, id: OffsetAndEpoch) -> PartialSnapshot:
        """A new `.part`; an older one of that id is gone."""

    def start_at_snapshot(self, id: OffsetAndEpoch) -> None:
        """Drop the whole log and begin at the snapshot's end offset; older snapshots may go. Durable on return."""

    def delete_before(self, id: OffsetAndEpoch) -> None:
        """Make a snapshot's end offset the log's start: segments wholly below it and older snapshots go, files after a delay."""
