"""Snapshots made here: whether one may be, and its bytes.

A snapshot stands for all before its end offset, so that has to be committed, and to lie between two batches: a follower that loads one
which ends inside a batch could never append the next (KAFKA-19112 [4.0]).
Source: KIP-630; org.apache.kafka.snapshot.RecordsSnapshotWriter, KafkaRaftLog.createNewSnapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from metashell.raft.accumulator import HEADER_SIZE, encode_records, encoded_size, join_batch
from metashell.raft.config import BATCH_SIZE_MAX
from metashell.raft.control_batches import ControlValue, KRaftVersion, SnapshotFooter, SnapshotHeader, write_control_batch
from metashell.raft.errors import RecordBatchTooLargeError
from metashell.raft.partition_state import PartitionState
from metashell.raft.protocols import PartialSnapshot
from metashell.raft.replica import Replica
from metashell.values import OffsetAndEpoch

RECORDS_MAX: Final = 10_000
"""Records of one batch, so that no reader has to hold too many at once."""


class SnapshotWriter:
    """Writes one snapshot: header when made, then data, then the footer with `freeze`; `close` without it drops it.

    Records are encoded when they are given, so that no call takes much longer than its own values ask for.
    Units: `last_contained_log_timestamp` and `timestamp` are Unix ms.
    """

    __slots__ = ("_count", "_next_offset", "_part", "_records", "_size", "_timestamp", "id")

    def __init__(self, part: PartialSnapshot, head: Sequence[ControlValue], timestamp: int) -> None:
        self.id = part.id
        self._part = part
        self._timestamp = timestamp
        self._next_offset = 0
        self._records: list[bytes] = []
        self._count = 0
        self._size = HEADER_SIZE
        self._append_control(head)

    def append(self, values: Iterable[bytes]) -> None:
        """Add the values of data records. Errors: RecordBatchTooLargeError for one that fits in no batch; the rest before it is written."""
        fitting: list[bytes] = []
        for value in values:
            count = self._count + len(fitting)
            size = encoded_size(value, count)
            if self._size + size > BATCH_SIZE_MAX or count >= RECORDS_MAX:
                self._encode(fitting)
                self._flush()
                fitting = []
                size = encoded_size(value, 0)
                if HEADER_SIZE + size > BATCH_SIZE_MAX:
                    raise RecordBatchTooLargeError(f"snapshot {self.id}: a record of {len(value)} bytes fits in no batch")
            fitting.append(value)
            self._size += size
        self._encode(fitting)

    def freeze(self) -> None:
        """Write the footer and make the snapshot complete; durable on return."""
        self._finish()
        self._part.freeze()

    def begin_freeze(self) -> Callable[[], None]:
        """Write the footer; see PartialSnapshot for the rest."""
        self._finish()
        return self._part.begin_freeze()

    def end_freeze(self) -> None:
        """See PartialSnapshot."""
        self._part.end_freeze()

    def close(self) -> None:
        self._part.close()

    def _append_control(self, values: Sequence[ControlValue]) -> None:
        self._part.append(write_control_batch(self._next_offset, self.id.epoch, self._timestamp, values))
        self._next_offset += len(values)

    def _finish(self) -> None:
        self._flush()
        self._append_control([SnapshotFooter()])

    def _encode(self, values: Sequence[bytes]) -> None:
        if values:
            self._records.append(encode_records(values, self._count))
            self._count += len(values)

    def _flush(self) -> None:
        if self._count:
            self._part.append(join_batch(self._next_offset, self.id.epoch, self._timestamp, self._count, b"".join(self._records)))
            self._next_offset += self._count
            self._records.clear()
            self._count = 0
            self._size = HEADER_SIZE


def snapshot_head(partition: PartitionState, id: OffsetAndEpoch, last_contained_log_timestamp: int) -> list[ControlValue]:
    """The control records that a snapshot begins with: the level and voters in force at the last offset it stands for."""
    head: list[ControlValue] = [SnapshotHeader(last_contained_log_timestamp)]
    level = partition.kraft_version_at(id.offset - 1)
    if level > 0:
        head.append(KRaftVersion(level))
        voters = partition.voters_at(id.offset - 1)
        if voters is not None:
            head.append(voters)
    return head


def refusal(node: Replica, id: OffsetAndEpoch) -> str | None:
    """Why no snapshot of that id may be made, in one line."""
    log = node.log
    if id in log.snapshots():
        return f"snapshot {id} is there"
    if id.offset < log.start_offset:
        return f"snapshot {id} would end before the log, which starts at {log.start_offset}"
    if node.high_watermark is None or id.offset > node.high_watermark:
        return f"snapshot {id} would hold what is not committed"
    latest = node.latest_snapshot()
    if latest is not None and (id.epoch < latest.epoch or id.offset < latest.offset):
        # The voters and the level of that time are forgotten: `frozen` and a start keep those of the latest one.
        return f"snapshot {id} would be older than {latest}"
    if id.offset <= 0:
        return f"snapshot {id} would hold nothing"
    if node.epochs.epoch_at(id.offset - 1) != id.epoch:
        return f"snapshot {id} has another epoch than the last record before its end"
    if node.epochs.end_offset_for(id.epoch, node.log_end, node.last_epoch, node.earliest_snapshot())[0] != id.epoch:
        return f"snapshot {id} has an epoch that is not in the log"
    if not log.is_batch_boundary(id.offset):
        return f"snapshot {id} would end inside a batch"
    return None


def create(node: Replica, id: OffsetAndEpoch, last_contained_log_timestamp: int) -> SnapshotWriter | None:
    """A writer of a new snapshot, None where none may be made (`refusal` says why). Call `frozen` when it is complete."""
    if refusal(node, id) is not None:
        return None
    head = snapshot_head(node.partition, id, last_contained_log_timestamp)
    return SnapshotWriter(node.log.create_snapshot(id), head, node.wall_ms())


def frozen(node: Replica, id: OffsetAndEpoch) -> None:
    """A snapshot of the own log is complete: of the voters and levels before it only the last ones are needed."""
    node.partition.truncate_old(id.offset)
