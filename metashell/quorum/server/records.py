"""The records of batches as a server may apply them, and the `StateMachine` that they are for.

What is newer than this release stops a replica, before it votes and while it follows. As in Kafka: an unknown type, frame version or
control record, and a field that does not belong there, stop it; so does a level of a feature outside the table of
`metashell.codec.releases`, also one that a later record changes or a transaction takes back. A newer version of a record that reads as the
newest known one is applied, and tagged fields that are not known are ignored.

`OwnBatches` keeps what a leader appended in memory until its own application has it: nothing is read back from the disk, checked and
decoded for that. It is the end of the log as the core wrote it, cut when the log is cut; so what is committed of it is what the log has at
these offsets, whichever replica leads by then. A gap, or more than `SIZE_MAX` bytes, drops the older ones: they are read from the log like
anyone's.

Source: org.apache.kafka.raft.RaftClient.Listener."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from metashell.codec.batch_writer import KRAFT_VERSION_RECORD, read_control_record
from metashell.codec.batches import CODEC_MASK, CONTROL, CheckedBatch, RecordBatch, RecordFields, read_batch_header, walk_records
from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.framing import checked_batches
from metashell.codec.metadata_records import (
    FRAME_VERSION,
    GAVE_UP,
    NO_VALUE,
    MetadataRecord,
    make_loop,
    metadata_message,
    read_metadata_record,
    refuse_newer_structs,
    write_metadata_record,
)
from metashell.codec.primitives import MAX_DECOMPRESSED
from metashell.codec.registry import message_type
from metashell.codec.releases import KRAFT_VERSION, unsupported_features
from metashell.common.errors import DecodeError, LogCorruptError, UnknownRecordError
from metashell.common.values import Epoch, NodeId, OffsetAndEpoch
from metashell.metadata.image.writer import write_image_steps
from metashell.quorum.raft.accumulator import AppendedBatch
from metashell.quorum.raft.partition_state import SnapshotCheck

if TYPE_CHECKING:
    from metashell.metadata.image import MetadataImage
    from metashell.metadata.image.provenance import VersionedRecord
    from metashell.quorum.raft.replicated_log import ReplicatedLog


PIECE_SIZE: Final = 1024 * 1024
"""Bytes of the log or of a snapshot that are read at once, unless one batch is larger."""
RECORDS_AT_ONCE: Final = 500
"""Records of a step, at most: what the clock of a simulation does not end, this does. Each takes some microseconds, decoded some 20."""
LOG_NAME: Final = "metadata log"

_LEVEL: Final = bytes((FRAME_VERSION, message_type("metadata", "FeatureLevelRecord").key or 0, 0))
"""How the value of a FeatureLevelRecord begins."""


class SnapshotGoneError(Exception):
    """The snapshot that is being read was removed."""


def records_of(batch: RecordBatch) -> Iterator[VersionedRecord]:
    """The records of a committed data batch. Errors: LogCorruptError for what a server must not apply."""
    if isinstance(batch, OwnBatch):
        values: Iterable[tuple[int, bytes]] = enumerate(batch.values, batch.header.base_offset)
    else:
        values = ((record.offset, record.value or b"") for record in batch.records())
    for offset, value in values:
        record = _record_of(batch.file, offset, value)
        yield record.body, record.version


def refuse_unknown(batch: RecordBatch) -> None:
    """Raise LogCorruptError for a batch with a record newer than this release, by its type, version or finalized level."""
    deque(refuse_unknown_steps(batch), 0)


def refuse_unknown_steps(batch: RecordBatch) -> Iterator[None]:
    """`refuse_unknown`, at most `RECORDS_AT_ONCE` records a step."""
    if batch.header.is_control:
        for record in batch.records():
            _refuse_control(batch.file, record.offset, record.key, record.value)
        return
    base_offset, count = batch.header.base_offset, batch.header.count
    buf, at, end = batch.records_area(MAX_DECOMPRESSED)
    data = buf if end == len(buf) else buf[:end]
    for first in range(0, count, RECORDS_AT_ONCE):
        if first:
            yield
        found: list[tuple[int, int, int]] = []
        after = _unusual_records_loop()(data, at, first, min(count - first, RECORDS_AT_ONCE), found.append)
        if after == GAVE_UP:
            yield from _refuse_each(batch.file, base_offset, data, walk_records(data, at, end, count - first))
            return
        at = after
        for index, value, stop in found:
            _record_of(batch.file, base_offset + first + index, data[value:stop])


def _refuse_each(file: str, base_offset: int, data: bytes, walked: Iterator[RecordFields]) -> Iterator[None]:
    """Decode each record to see whether it is known: of a batch that is framed in an unusual way."""
    while piece := list(islice(walked, RECORDS_AT_ONCE)):
        for fields in piece:
            _record_of(file, base_offset + fields[0], data[fields[4] : fields[4] + max(fields[5], 0)])
        yield


def may_finalize(batch: RecordBatch) -> bool:
    """Whether a batch may hold a feature level, without decoding each record."""
    header = batch.header
    return bool(header.attributes & (CONTROL | CODEC_MASK)) or _LEVEL in batch.data


def check_log(log: ReplicatedLog) -> None:
    """Raise LogCorruptError for a log or newest snapshot with records that this release must not run on, committed or not.

    A replica that asks this before it takes part neither votes nor leads where it would end over the log.
    """
    snapshots = log.snapshots()
    position = log.start_offset
    if snapshots:
        position = max(position, snapshots[-1].offset)
        for batch in snapshot_batches(log, snapshots[-1]):
            refuse_unknown(batch)
    while position < log.end_offset:
        batches = log_batches(log, position, log.end_offset)
        for batch in batches:
            refuse_unknown(batch)
        position = batches[-1].header.last_offset + 1


def log_batches(log: ReplicatedLog, offset: int, end_offset: int) -> list[RecordBatch]:
    """The next piece of a log, checked; empty where it begins later by now. Errors: LogCorruptError."""
    data = b"" if offset < log.start_offset else log.read(offset, end_offset, PIECE_SIZE)
    batches = batches_in(data, LOG_NAME)
    if batches and not batches[0].header.base_offset <= offset <= batches[0].header.last_offset:
        raise LogCorruptError(LOG_NAME, offset, f"the batch at offset {batches[0].header.base_offset} was found instead")
    return batches


def snapshot_batches(log: ReplicatedLog, id: OffsetAndEpoch) -> Iterator[RecordBatch]:
    """A snapshot's batches, read piece by piece, each checked; the last one must be its footer.

    Errors: LogCorruptError, SnapshotGoneError.
    """
    name = f"snapshot {id.offset}-{id.epoch}"
    check = SnapshotCheck(name)
    size, position = 1, 0
    while position < size:
        if id not in log.snapshots():
            raise SnapshotGoneError
        size = log.snapshot_size(id)
        piece = log.read_snapshot(id, position, PIECE_SIZE)
        batches = check.feed(piece)
        if check.fault is not None and check.is_newer:
            raise UnknownRecordError(name, check.next_offset, check.fault)
        if check.fault is not None or not piece:
            raise LogCorruptError(name, check.next_offset, check.fault or f"ends at byte {position}, {size} bytes were expected")
        position += len(piece)
        yield from batches
    if not check.is_complete:
        raise LogCorruptError(name, check.next_offset, "ends without its footer")


def _record_of(file: str, offset: int, value: bytes) -> MetadataRecord:
    if not value:
        raise LogCorruptError(file, offset, NO_VALUE)
    try:
        record = read_metadata_record(value)
    except DecodeError as error:
        raise UnknownRecordError(file, offset, str(error)) from None
    if record.family != "metadata":
        raise LogCorruptError(file, offset, f"{record.type_name}: not a record of this family")
    if record.message is None:
        raise UnknownRecordError(file, offset, f"{record.type_name}: {record.fault}")
    try:
        refuse_newer_structs(record.message, record.version, record.body)
    except DecodeError as error:
        raise UnknownRecordError(file, offset, f"{record.type_name}: {error}") from None
    if type(record.body).__name__ == "FeatureLevelRecord":
        _refuse_level(file, offset, record.body.name, record.body.feature_level)
    return record


def _refuse_control(file: str, offset: int, key: bytes | None, value: bytes | None) -> None:
    try:
        control = read_control_record(key, value)
    except DecodeError as error:
        raise LogCorruptError(file, offset, str(error)) from None
    if control.fault is not None:
        raise UnknownRecordError(file, offset, control.fault)
    if control.type == KRAFT_VERSION_RECORD:
        _refuse_level(file, offset, KRAFT_VERSION, control.body.k_raft_version)


def _refuse_level(file: str, offset: int, feature: str, level: int) -> None:
    for unsupported in unsupported_features({feature: level}):
        if unsupported.supported is not None and level < unsupported.supported[0]:
            raise LogCorruptError(file, offset, f"{unsupported.text}. Start one of these on this directory and upgrade the feature first")
        raise UnknownRecordError(file, offset, unsupported.text)


@cache
def _unusual_records_loop() -> Any:
    """The loop over the usual records of a batch that gives those that have to be decoded to see whether they are known."""
    plain = set()
    for type_id, name in METADATA_TYPES.items():
        message = metadata_message(type_id)
        assert message is not None
        if name != "FeatureLevelRecord":
            plain |= {bytes((FRAME_VERSION, type_id, version)) for version in range(message.versions[0], message.versions[1] + 1)}
    body = "if buf[start : start + 3] not in plain: add((index, start, end))"
    return make_loop(body, parameters="add", each={"index": "range(count)"}, names={"plain": frozenset(plain)})


def image_values(image: MetadataImage) -> Iterator[bytes | None]:
    """The records of an image as the values of a snapshot."""
    for record in write_image_steps(image):
        yield None if record is None else write_metadata_record(*record)


class SnapshotToMake(NamedTuple):
    """A snapshot that the application wants: `values` are its records, each as the bytes of one metadata record; None is a rest."""

    id: OffsetAndEpoch
    last_contained_log_timestamp: int
    values: Iterable[bytes | None]


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
        """Take the leader's id, -1 for none known; the new leader itself gets this call when it has all that was committed before."""

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


SIZE_MAX: Final = 32 * 1024 * 1024


class OwnBatch(CheckedBatch):
    """A batch that this replica wrote; `values` are its data records as given. These bytes were never read from a disk."""

    __slots__ = ("values",)

    def __init__(self, batch: AppendedBatch, file: str) -> None:
        super().__init__(read_batch_header(batch.data), 0, batch.data, file)
        self.values: Sequence[bytes] = batch.values


class OwnBatches:
    """Batches without gaps, the oldest first."""

    __slots__ = ("_batches", "_file", "_size")

    def __init__(self, file: str) -> None:
        self._batches: deque[AppendedBatch] = deque()
        self._file = file
        self._size = 0

    def add(self, batches: Iterable[AppendedBatch]) -> None:
        """Add the batches that continue the log."""
        for batch in batches:
            if self._batches and self._batches[-1].last_offset + 1 != batch.base_offset:
                self.clear()
            self._batches.append(batch)
            self._size += len(batch.data)
            while self._size > SIZE_MAX:
                self._size -= len(self._batches.popleft().data)

    def clear(self) -> None:
        """Keep nothing."""
        self._batches.clear()
        self._size = 0

    def cut(self, offset: int) -> None:
        """Drop all from `offset` on, a batch boundary: the log was truncated."""
        while self._batches and self._batches[-1].last_offset >= offset:
            self._size -= len(self._batches.pop().data)

    def drop_before(self, offset: int) -> None:
        """Drop all before `offset`: the application has it."""
        while self._batches and self._batches[0].last_offset < offset:
            self._size -= len(self._batches.popleft().data)

    def read(self, start_offset: int, end_offset: int, max_size: int) -> list[OwnBatch]:
        """The batches from the one at `start_offset` on that end by `end_offset`.

        Shape: up to `max_size` bytes, but at least one batch; empty where the one at `start_offset` is not kept.
        """
        found: list[OwnBatch] = []
        size = 0
        for batch in self._batches:
            if batch.base_offset < start_offset:
                continue
            if batch.base_offset != start_offset or batch.last_offset >= end_offset:
                break
            size += len(batch.data)
            if found and size > max_size:
                break
            found.append(OwnBatch(batch, self._file))
            start_offset = batch.last_offset + 1
        return found
