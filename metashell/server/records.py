"""The records of batches as a server may apply them: what is newer than this release stops it, before it votes and while it follows.

As Kafka: an unknown type, frame version or control record, and a field that does not belong there, stop a replica; so does a level of a
feature outside the table of `metashell.codec.releases`, also one that a later record changes or a transaction takes back. A newer version
of a record that reads as the newest known one is applied, and tagged fields that are not known are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from metashell.codec.batches import CODEC_MASK, CONTROL
from metashell.codec.compression import MAX_DECOMPRESSED
from metashell.codec.control import KRAFT_VERSION, read_control_record
from metashell.codec.dispatch import METADATA_TYPES
from metashell.codec.frame import FRAME_VERSION, NO_VALUE, MetadataRecord, metadata_message, read_metadata_record, refuse_newer_structs
from metashell.codec.metadata_version import KRAFT_VERSION as KRAFT_VERSION_FEATURE
from metashell.codec.record_walk import walk_records
from metashell.codec.registry import message_type
from metashell.codec.releases import unsupported_features
from metashell.codec.usual_records import GAVE_UP, make_loop
from metashell.errors import DecodeError, LogCorruptError, UnknownRecordError
from metashell.raft.snapshot_check import SnapshotCheck
from metashell.server.own_batches import OwnBatch
from metashell.server.state_machine import batches_in

if TYPE_CHECKING:
    from metashell.codec.batches import RecordBatch
    from metashell.image.loss import VersionedRecord
    from metashell.raft.protocols import ReplicatedLog
    from metashell.values import OffsetAndEpoch

PIECE_SIZE: Final = 1024 * 1024
"""Bytes of the log or of a snapshot that are read at once, unless one batch is larger."""
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
    """Errors: LogCorruptError for a batch in which a record is newer than this release, by its type, version or what it finalizes."""
    if batch.header.is_control:
        for record in batch.records():
            _refuse_control(batch.file, record.offset, record.key, record.value)
        return
    base_offset, count = batch.header.base_offset, batch.header.count
    buf, start, end = batch.records_area(MAX_DECOMPRESSED)
    found: list[tuple[int, int, int]] = []
    if _walk()(buf if end == len(buf) else buf[:end], start, 0, count, found.append) == GAVE_UP:
        found = [(fields[0], fields[4], fields[4] + max(fields[5], 0)) for fields in walk_records(buf, start, end, count)]
    for delta, value, stop in found:
        _record_of(batch.file, base_offset + delta, buf[value:stop])


def may_finalize(batch: RecordBatch) -> bool:
    """Whether a batch may hold a level of a feature, without a look at each record."""
    header = batch.header
    return bool(header.attributes & (CONTROL | CODEC_MASK)) or _LEVEL in batch.data


def check_log(log: ReplicatedLog) -> None:
    """Errors: LogCorruptError for a log or newest snapshot that holds what this release must not run on, committed or not.

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
        raise LogCorruptError(LOG_NAME, offset, f"the batch at offset {batches[0].header.base_offset} is in its place")
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
    if control.type == KRAFT_VERSION:
        _refuse_level(file, offset, KRAFT_VERSION_FEATURE, control.body.k_raft_version)


def _refuse_level(file: str, offset: int, feature: str, level: int) -> None:
    for unsupported in unsupported_features({feature: level}):
        if unsupported.supported is not None and level < unsupported.supported[0]:
            raise LogCorruptError(file, offset, f"{unsupported.text}. Start one of these on this directory and upgrade the feature first")
        raise UnknownRecordError(file, offset, unsupported.text)


@cache
def _walk() -> Any:
    """The loop over the usual records of a batch that gives those that have to be decoded to see whether they are known."""
    plain = set()
    for type_id, name in METADATA_TYPES.items():
        message = metadata_message(type_id)
        assert message is not None
        if name != "FeatureLevelRecord":
            plain |= {bytes((FRAME_VERSION, type_id, version)) for version in range(message.versions[0], message.versions[1] + 1)}
    body = "if buf[start : start + 3] not in plain: add((index, start, end))"
    return make_loop(body, parameters="add", each={"index": "range(count)"}, names={"plain": frozenset(plain)})
