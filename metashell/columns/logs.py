"""Which log a file belongs to, whose cluster it is, and which files a path stands for.

A log is known by the name of its directory (`__cluster_metadata-0`, `__consumer_offsets-12`), else by its first record: records
of the metadata log have no key, a coordinator's key is exactly one of its log's keys.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from metashell.codec.batches import RecordBatch
from metashell.codec.coordinator import COORDINATOR_LOGS, PREFIX_SIZE, int16_at
from metashell.codec.frame import FrameError, read_metadata_record
from metashell.errors import DecodeError, LogCorruptError
from metashell.log.meta_properties import META_PROPERTIES, read_meta_properties

METADATA: Final = "metadata"
REMOTE_LOG: Final = "remote_log"
TOPICS: Final = {
    "__cluster_metadata": METADATA,
    "__remote_log_metadata": REMOTE_LOG,
    **{coordinator.topic: name for name, coordinator in COORDINATOR_LOGS.items()},
}
LOGS: Final = (METADATA, *COORDINATOR_LOGS, REMOTE_LOG)
_LOOKED_AT_MAX = 16


def log_of_directory(path: str) -> str | None:
    """The kind of log that a partition's directory holds, None where its name does not tell."""
    topic, dash, number = os.path.basename(path).rpartition("-")
    return TOPICS.get(topic) if dash and number.isdigit() else None


def log_of_records(batches: Iterator[RecordBatch]) -> str | None:
    """The kind of log by its first data record; None where that is of no log that we know, the metadata log where none is."""
    for _, batch in zip(range(_LOOKED_AT_MAX), batches, strict=False):
        if batch.header.is_control:
            continue
        try:
            record = next(batch.records(), None)
        except DecodeError:
            continue
        if record is not None:
            return _log_of_value(record.value) if record.key is None else _log_of_key(record.key)
    return METADATA


def _log_of_value(value: bytes | None) -> str | None:
    try:
        record = read_metadata_record(value or b"")
    except FrameError:
        return None
    return METADATA if record.message is not None else None


def _log_of_key(key: bytes) -> str | None:
    for name, coordinator in COORDINATOR_LOGS.items():
        message = coordinator.key_message(int16_at(key, 0)) if len(key) >= PREFIX_SIZE else None
        try:
            if message is not None:
                message.read(key, 0, PREFIX_SIZE)
                return name
        except DecodeError:
            continue
    return None


def cluster_of(directory: str) -> str:
    """The id of the cluster that a log's directory belongs to; without a meta.properties that tells, the directory's path."""
    for place in (directory, os.path.dirname(os.path.abspath(directory))):
        try:
            cluster_id = read_meta_properties(os.path.join(place, META_PROPERTIES)).cluster_id
        except (OSError, LogCorruptError):
            continue
        if cluster_id:
            return cluster_id
    return directory
