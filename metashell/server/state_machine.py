"""What a replica's application hears: what is committed, snapshots to begin with, who leads.

Source: org.apache.kafka.raft.RaftClient.Listener.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from metashell.codec.batches import RecordBatch
from metashell.codec.checked_batches import checked_batches
from metashell.ids import Epoch, NodeId
from metashell.values import OffsetAndEpoch


class SnapshotToMake(NamedTuple):
    """A snapshot that the application wants: `values` are its records, each as the bytes of one metadata record."""

    id: OffsetAndEpoch
    last_contained_log_timestamp: int
    values: Iterable[bytes]


class StateMachine(Protocol):
    """An application of the log. All calls come on the loop's thread, one at a time; an exception stops the replica.

    A coroutine may take its time: what follows is not read from the log before it is done.
    """

    async def handle_commit(self, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
        """Apply committed batches, in order and without gaps; control batches are among them. May ask for a snapshot.

        Those that this replica appended are `OwnBatch`, with the values as they were given. A snapshot is made beside what follows, so its
        `values` must stay as they are.
        """

    async def handle_load_snapshot(self, id: OffsetAndEpoch, batches: Iterable[RecordBatch]) -> None:
        """Forget everything, then load a snapshot; the log goes on at its end offset."""

    def handle_leader_change(self, leader_id: NodeId, epoch: Epoch) -> None:
        """Who leads, -1 for nobody known; the new leader itself hears it when it has all that was committed before."""

    def begin_shutdown(self) -> None:
        """Nothing follows."""


class NoMachine:
    """An application that does nothing."""

    async def handle_commit(self, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
        return None

    async def handle_load_snapshot(self, id: OffsetAndEpoch, batches: Iterable[RecordBatch]) -> None:
        return None

    def handle_leader_change(self, leader_id: NodeId, epoch: Epoch) -> None:
        return None

    def begin_shutdown(self) -> None:
        return None


def batches_in(data: bytes, name: str) -> list[RecordBatch]:
    """The batches that fill `data`, each checked; `name` is what faults name. Errors: LogCorruptError."""
    return list(checked_batches(data, name))
