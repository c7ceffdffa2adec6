"""What a replica's application is told: what is committed, snapshots to begin with, who leads.

Source: org.apache.kafka.raft.RaftClient.Listener; kraft.md 16.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final, NamedTuple, Protocol

from metashell.codec.batches import HEADER_SIZE, LEAD_SIZE, RecordBatch, read_batch_header
from metashell.errors import DecodeError, LogCorruptError
from metashell.values import OffsetAndEpoch

_LENGTH: Final = Struct(">i")
_LENGTH_AT: Final = 8


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
        """Apply committed batches, in order and without gaps; control batches are among them. May ask for a snapshot."""

    async def handle_load_snapshot(self, id: OffsetAndEpoch, batches: Iterable[RecordBatch]) -> None:
        """Forget everything, then load a snapshot; the log goes on at its end offset."""

    def handle_leader_change(self, leader_id: int, epoch: int) -> None:
        """Who leads, -1 for nobody known; the new leader itself hears it when it has all that was committed before."""

    def begin_shutdown(self) -> None:
        """Nothing follows."""


class NoMachine:
    """An application that does nothing."""

    async def handle_commit(self, batches: Sequence[RecordBatch]) -> SnapshotToMake | None:
        return None

    async def handle_load_snapshot(self, id: OffsetAndEpoch, batches: Iterable[RecordBatch]) -> None:
        return None

    def handle_leader_change(self, leader_id: int, epoch: int) -> None:
        return None

    def begin_shutdown(self) -> None:
        return None


def batches_in(data: bytes, name: str) -> list[RecordBatch]:
    """The whole batches that lie in bytes of a log or snapshot; `name` is what faults name. Errors: LogCorruptError."""
    found: list[RecordBatch] = []
    position = 0
    while position < len(data):
        try:
            header = read_batch_header(data, position)
        except DecodeError as error:
            raise LogCorruptError(name, position, str(error)) from None
        end = position + header.size_bytes
        if header.size_bytes < HEADER_SIZE or end > len(data):
            raise LogCorruptError(name, position, f"a batch of {header.size_bytes} bytes, {len(data) - position} are left")
        found.append(RecordBatch(header, position, data[position:end], name))
        position = end
    return found


def whole_batches_size(data: bytes) -> int:
    """How many bytes at the start of `data` are whole batches, going by their lengths alone."""
    position = 0
    while position + LEAD_SIZE <= len(data):
        length = _LENGTH.unpack_from(data, position + _LENGTH_AT)[0]
        end = position + LEAD_SIZE + max(int(length), 0)
        if end > len(data):
            break
        position = end
    return position
