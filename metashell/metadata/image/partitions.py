"""The state of one partition, the function that folds changes into it, and the spans of bytes that hold many of them.

Why are partitions kept as bytes? An object takes 450 bytes and some microseconds to make, its record 110 bytes that are in memory anyway,
and of a million partitions most commands read a few. An object and bytes get their state from the same function, `partition_from_record`,
so that they cannot differ.

A span is a piece of a batch that holds only PartitionRecords of one topic. Each record was checked when the batch was opened, and has the
form that Kafka writes: attributes 0, timestamp delta 0, null key, no headers, sizes of at most two bytes, frame and version of one byte
each. So walking a span takes little work and never fails. A record that decodes but has another form is kept by itself, in the topic's
overlay (`topics.py`)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Any, NamedTuple

from metashell.codec.registry import message_type
from metashell.codec.releases import DIRECTORY_ASSIGNMENT_LEVEL, ELR_LEVEL
from metashell.common.values import MIGRATING_DIRECTORY
from metashell.metadata.image.provenance import LossHandler, ReplayError

NO_LEADER_CHANGE = -2
NO_RECOVERY_CHANGE = -1
_RECOVERY_STATES = (0, 1)


class PartitionRegistration(NamedTuple):
    """The state of a partition as the controller knows it.

    Shape: replica ids in order of preference; `directories` has one 16-byte id for each replica; `leader` is -1 for
    none; `leader_recovery_state` is 0 (recovered) or 1 (recovering). It is a tuple and no dataclass because a million of
    them are made.
    Source: org.apache.kafka.metadata.PartitionRegistration.
    """

    replicas: tuple[int, ...]
    directories: tuple[bytes, ...]
    isr: tuple[int, ...]
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    leader: int = -1
    leader_recovery_state: int = 0
    leader_epoch: int = 0
    partition_epoch: int = 0


class ClearElr:
    """The change that a ClearElrRecord makes to each partition; its only instance is `CLEAR_ELR`."""

    def __repr__(self) -> str:
        return "CLEAR_ELR"


CLEAR_ELR = ClearElr()


def partition_from_record(record: Any) -> PartitionRegistration:
    """The state that a PartitionRecord gives.

    Errors: ReplayError if directories do not fit the replicas, or the recovery state means nothing.
    """
    replicas = record.replicas
    directories = record.directories
    if directories and len(directories) != len(replicas):
        raise ReplayError(f"{len(directories)} directories for {len(replicas)} replicas")
    if record.leader_recovery_state not in _RECOVERY_STATES:
        raise ReplayError(f"leaderRecoveryState is {record.leader_recovery_state}, not 0 or 1")
    return PartitionRegistration(
        replicas,
        directories or (MIGRATING_DIRECTORY,) * len(replicas),
        record.isr,
        record.removing_replicas,
        record.adding_replicas,
        record.eligible_leader_replicas or (),
        record.last_known_elr or (),
        record.leader,
        record.leader_recovery_state,
        record.leader_epoch,
        record.partition_epoch,
    )


def check_change(record: Any) -> bool:
    """Return whether a PartitionChangeRecord fits every partition, so that it can be kept without folding it.

    Shape: False for a change that sets replicas or directories: whether it fits depends on the partition's other one of the two, so the
    caller folds it at once.
    Errors: ReplayError if it fits no partition.
    """
    replicas, directories = record.replicas, record.directories
    if record.leader_recovery_state not in (NO_RECOVERY_CHANGE, *_RECOVERY_STATES):
        raise ReplayError(f"leaderRecoveryState is {record.leader_recovery_state}, not -1, 0 or 1")
    if replicas is not None and directories and len(directories) != len(replicas):
        raise ReplayError(f"{len(directories)} directories for {len(replicas)} replicas")
    return replicas is None and directories is None


def fold_changes(base: PartitionRegistration, changes: Iterable[Any]) -> PartitionRegistration:
    """The state after PartitionChangeRecords (and CLEAR_ELR) have been merged, in order.

    Every change raises the partition epoch. A change that names a leader raises the leader epoch, even if it names the same leader: the
    controller does so on purpose when a reassignment removes replicas, to fence them. Take leader 1, leader epoch 4, partition epoch 9:

        isr=(1, 2)          leader 1, leader epoch 4, partition epoch 10
        leader=1            leader 1, leader epoch 5, partition epoch 11
        CLEAR_ELR, no ELR   the same: nothing to clear is no change

    Directories keep their positions; if all are MIGRATING there is one for each of the new replicas.
    Errors: ReplayError if directories do not fit the replicas.
    Source: org.apache.kafka.metadata.PartitionRegistration.merge, TopicDelta.replay.
    """
    replicas, directories, isr, removing, adding, elr, last_known_elr, leader, recovery, leader_epoch, epoch = base
    for change in changes:
        if change is CLEAR_ELR:
            if elr or last_known_elr:
                elr = last_known_elr = ()
                epoch += 1
            continue
        if change.replicas is not None or change.directories is not None:
            replicas, directories = _placement(replicas, directories, change)
        if change.isr is not None:
            isr = change.isr
        if change.removing_replicas is not None:
            removing = change.removing_replicas
        if change.adding_replicas is not None:
            adding = change.adding_replicas
        if change.eligible_leader_replicas is not None:
            elr = change.eligible_leader_replicas
        if change.last_known_elr is not None:
            last_known_elr = change.last_known_elr
        if change.leader != NO_LEADER_CHANGE:
            leader = change.leader
            leader_epoch += 1
        if change.leader_recovery_state != NO_RECOVERY_CHANGE:
            recovery = change.leader_recovery_state
        epoch += 1
    return PartitionRegistration(replicas, directories, isr, removing, adding, elr, last_known_elr, leader, recovery, leader_epoch, epoch)


def _placement(replicas: tuple[int, ...], directories: tuple[bytes, ...], change: Any) -> tuple[tuple[int, ...], tuple[bytes, ...]]:
    """Replicas and directories after a change that sets one of them, or both.

    MIGRATING stands for the unknown directory of a partition from before metadata.version 3.7-IV2. Changes of that time set replicas and no
    directories, so their number follows the replicas.
    """
    replicas = replicas if change.replicas is None else change.replicas
    directories = directories if change.directories is None else change.directories
    if all(directory == MIGRATING_DIRECTORY for directory in directories):
        return replicas, (MIGRATING_DIRECTORY,) * len(replicas)
    if len(directories) != len(replicas):
        raise ReplayError(f"{len(directories)} directories for {len(replicas)} replicas")
    return replicas, directories


def partition_record(partition: PartitionRegistration, topic_id: bytes, partition_id: int, level: int, loss: LossHandler) -> Any:
    """The PartitionRecord of a partition, as far as the metadata.version `level` can express it.

    Source: org.apache.kafka.metadata.PartitionRegistration.toRecord.
    """
    has_directories = level >= DIRECTORY_ASSIGNMENT_LEVEL
    if not has_directories and any(directory != MIGRATING_DIRECTORY for directory in partition.directories):
        loss("the directory assignment state of one or more replicas")
    has_elr = level >= ELR_LEVEL
    if not has_elr and (partition.elr or partition.last_known_elr):
        loss("the eligible leader replicas of one or more partitions")
    return message_type("metadata", "PartitionRecord").cls(
        partition_id=partition_id,
        topic_id=topic_id,
        replicas=partition.replicas,
        isr=partition.isr,
        removing_replicas=partition.removing_replicas,
        adding_replicas=partition.adding_replicas,
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=partition.directories if has_directories else (),
        eligible_leader_replicas=(partition.elr or None) if has_elr else None,
        last_known_elr=(partition.last_known_elr or None) if has_elr else None,
    )


# ---- spans


_INT32 = Struct(">i").unpack_from


class Span(NamedTuple):
    """`record_count` partition records in `buf[start:end]`; a span keeps the bytes of its whole batch alive."""

    buf: bytes
    start: int
    end: int
    record_count: int


class SpanIndex:
    """An index of the partitions in the spans of a topic; the last record of a repeated partition counts.

    Shape: places are ordinals over all spans; `_ordinals` is None when the partitions are 0, 1, 2, ... in order, as in
    every snapshot, so that an index costs 8 bytes a partition.
    """

    __slots__ = ("_ends", "_ordinals", "_spans", "_starts")

    def __init__(self, spans: tuple[Span, ...]) -> None:
        self._spans = spans
        self._starts = array("I")
        self._ends = array("I")
        partition_ids: list[int] = []
        for span in spans:
            ids, starts, ends = walk_span(span)
            partition_ids += ids
            self._starts.extend(starts)
            self._ends.extend(ends)
        self._ordinals: dict[int, int] | None = None
        if partition_ids != list(range(len(partition_ids))):
            self._ordinals = {id: ordinal for ordinal, id in enumerate(partition_ids)}

    def __len__(self) -> int:
        return len(self._starts) if self._ordinals is None else len(self._ordinals)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._starts)) if self._ordinals is None else self._ordinals)

    def __contains__(self, partition_id: object) -> bool:
        if self._ordinals is not None:
            return partition_id in self._ordinals
        return isinstance(partition_id, int) and 0 <= partition_id < len(self._starts)

    def read(self, partition_id: int) -> PartitionRegistration:
        """The partition of a record. Errors: KeyError for one that is in no span."""
        return read_partition(*self.place(partition_id))

    def place(self, partition_id: int) -> tuple[bytes, int, int]:
        """The buffer that holds a partition's record, and where in it. Errors: KeyError for one that is in no span."""
        if partition_id not in self:
            raise KeyError(partition_id)
        ordinal = partition_id if self._ordinals is None else self._ordinals[partition_id]
        return self._buffer(ordinal), self._starts[ordinal], self._ends[ordinal]

    def _buffer(self, ordinal: int) -> bytes:
        for span in self._spans:
            if ordinal < span.record_count:
                return span.buf
            ordinal -= span.record_count
        raise AssertionError("an ordinal lies in one of the spans")


def walk_span(span: Span) -> tuple[list[int], list[int], list[int]]:
    """The partition id of each record, and where its value starts and ends."""
    buf, at, _, count = span
    partition_ids: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    for _ in range(count):
        first = buf[at]
        if first < 128:
            at += 1
            end = at + (first >> 1)
        else:
            end = at + 2 + ((first & 127 | buf[at + 1] << 7) >> 1)
            at += 2
        at += 2  # attributes and timestamp delta
        while buf[at] > 127:  # offset delta
            at += 1
        at += 2 if buf[at + 2] < 128 else 3  # null key; then the size of the value
        partition_ids.append(_INT32(buf, at + 4)[0])
        starts.append(at + 1)
        ends.append(end - 1)
        at = end
    return partition_ids, starts, ends


def walk_ids(span: Span) -> list[int]:
    """The partition ids alone. Counting and listing need no more, and this takes half the time of `walk_span`."""
    buf, at, _, count = span
    partition_ids: list[int] = []
    for _ in range(count):
        first = buf[at]
        if first < 128:
            at += 1
            end = at + (first >> 1)
        else:
            end = at + 2 + ((first & 127 | buf[at + 1] << 7) >> 1)
            at += 2
        at += 2
        while buf[at] > 127:
            at += 1
        partition_ids.append(_INT32(buf, at + (6 if buf[at + 2] < 128 else 7))[0])
        at = end
    return partition_ids


def read_partition(buf: bytes, start: int, end: int) -> PartitionRegistration:
    """The partition whose PartitionRecord, frame included, is `buf[start:end]`."""
    return partition_from_record(partition_reader(buf[start + 2])(buf, start + 3, end))


def partition_reader(version: int) -> Callable[[bytes, int, int], Any]:
    """`(buf, start, end) -> PartitionRecord`."""
    reader = _readers.get(version)
    if reader is None:
        reader = _readers[version] = message_type("metadata", "PartitionRecord").reader(version)
    return reader


_readers: dict[int, Callable[[bytes, int, int], Any]] = {}


def merge_spans(spans: tuple[Span, ...], span: Span) -> tuple[Span, ...]:
    """`spans` and one more, joined to the last if it continues that."""
    if spans:
        last = spans[-1]
        if last.buf is span.buf and last.end == span.start:
            return (*spans[:-1], Span(last.buf, last.start, span.end, last.record_count + span.record_count))
    return (*spans, span)
