"""The records of a controller as they lie in committed batches. What is no record that this controller knows stops it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from metashell.codec.batches import RecordBatch
from metashell.codec.frame import NO_VALUE, UnknownRecord, read_metadata_record
from metashell.errors import DecodeError, LogCorruptError
from metashell.image.loss import VersionedRecord
from metashell.server.own_batches import OwnBatch


def records_of(batch: RecordBatch) -> Iterator[VersionedRecord]:
    """The records of a committed data batch. Errors: LogCorruptError for what is no record that this controller knows."""
    if isinstance(batch, OwnBatch):
        values: Iterable[tuple[int, bytes]] = enumerate(batch.values, batch.header.base_offset)
    else:
        values = ((record.offset, record.value or b"") for record in batch.records())
    for offset, value in values:
        if not value:
            raise LogCorruptError(batch.file, offset, NO_VALUE)
        try:
            record = read_metadata_record(value)
        except DecodeError as error:
            raise LogCorruptError(batch.file, offset, str(error)) from None
        if record.fault is not None or isinstance(record.body, UnknownRecord) or record.family != "metadata":
            raise LogCorruptError(batch.file, offset, f"{record.type_name}: {record.fault or 'not a record of this family'}")
        yield record.body, record.version
