"""Records put into batches, and a source made of batches: what image tests load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from metashell.codec.batch_writer import write_batch, write_control_record
from metashell.codec.batches import CRC_START, Record, RecordBatch, read_batch_header
from metashell.codec.metadata_records import write_metadata_record
from metashell.codec.primitives import crc32c
from metashell.codec.registry import message_type
from metashell.common.values import OffsetAndEpoch

EPOCH = 3
TIMESTAMP = 1_760_000_000_000


def record(record_name: str, /, **fields: Any) -> Any:
    """A metadata record's object."""
    return message_type("metadata", record_name).cls(**fields)


def newest(body: Any) -> int:
    """The newest version of a record."""
    return message_type("metadata", type(body).__name__).versions[1]


def value(body: Any, version: int | None = None) -> bytes:
    """The framed bytes of a record, at its newest version unless told."""
    return write_metadata_record(body, newest(body) if version is None else version)


def batch_of_values(
    values: Sequence[bytes | None], base_offset: int = 0, *, codec_id: int = 0, timestamp_deltas: Sequence[int] = (), **options: Any
) -> RecordBatch:
    """A batch whose records have these values; timestamps are those of KRaft (all equal) unless deltas are given."""
    deltas = [*timestamp_deltas, *[0] * len(values)]
    records = [Record(base_offset + i, TIMESTAMP + deltas[i], None, raw) for i, raw in enumerate(values)]
    last = {} if values else {"last_offset_delta": 0}
    data = write_batch(base_offset, records, leader_epoch=EPOCH, base_timestamp=TIMESTAMP, codec_id=codec_id, **last, **options)
    return RecordBatch(read_batch_header(data), 0, data, "a.log")


def batch(*bodies: Any, base_offset: int = 0, **options: Any) -> RecordBatch:
    """A batch of records at their newest versions."""
    return batch_of_values([value(body) for body in bodies], base_offset, **options)


def control_batch(*items: tuple[int, Any], base_offset: int = 0) -> RecordBatch:
    """A batch of control records, given as (type, body)."""
    records = [Record(base_offset + i, TIMESTAMP, *write_control_record(type, body)) for i, (type, body) in enumerate(items)]
    data = write_batch(base_offset, records, leader_epoch=EPOCH, is_control=True)
    return RecordBatch(read_batch_header(data), 0, data, "a.log")


def sealed(data: bytes, position: int = 0) -> RecordBatch:
    """A batch of spoilt bytes that has its checksum all the same, so that what is inside is looked at."""
    sealed = data[:17] + crc32c(data, CRC_START).to_bytes(4, "big") + data[CRC_START:]
    return RecordBatch(read_batch_header(sealed), position, sealed, "a.log")


class Trouble:
    """What a source could not read."""

    def __init__(self, reason: str, *, is_tail: bool = False) -> None:
        self.file = "a.log"
        self.offset = -1
        self.position = 0
        self.reason = reason
        self.is_tail = is_tail


class ListSource:
    """A source over lists of batches."""

    def __init__(
        self, *, snapshot: Sequence[RecordBatch] = (), log: Sequence[RecordBatch] = (), snapshot_id: OffsetAndEpoch | None = None
    ) -> None:
        self.kind = "directory"
        self.path = "a-directory"
        self.snapshot_id = snapshot_id
        self.certain_to = None if snapshot_id is None else snapshot_id.offset
        self.end_offset = log[-1].header.last_offset + 1 if log else self.certain_to
        self.faults: list[Trouble] = []
        self._snapshot = snapshot
        self._log = log

    def snapshot_batches(self) -> Iterator[RecordBatch]:
        return iter(self._snapshot)

    def log_batches(self, from_offset: int = 0) -> Iterator[RecordBatch]:
        return (item for item in self._log if item.header.last_offset >= from_offset)
