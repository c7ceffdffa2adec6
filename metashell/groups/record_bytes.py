"""Records of `__consumer_offsets` as the bytes of a log: a key begins with its type, a value with its version.

Source: org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde.
"""

from __future__ import annotations

from metashell.codec.coordinator import COORDINATOR_LOGS, PREFIX_SIZE, int16_at
from metashell.errors import DecodeError
from metashell.groups.record import Record

_LOG = COORDINATOR_LOGS["offsets"]


def key_bytes(record: Record) -> bytes:
    """The key of a record as it is written."""
    message = _LOG.key_message(record.type)
    assert message is not None, record.type
    return record.type.to_bytes(PREFIX_SIZE, "big") + message.write(record.key, message.versions[0])


def value_bytes(record: Record) -> bytes | None:
    """The value of a record as it is written, None for a tombstone."""
    if record.value is None:
        return None
    message = _LOG.value_message(record.type)
    assert message is not None, record.type
    return record.version.to_bytes(PREFIX_SIZE, "big") + message.write(record.value, record.version)


def read_record(key: bytes, value: bytes | None) -> Record | None:
    """The record that a key and a value hold, None for a type that is not known.

    Errors: DecodeError for bytes that do not fit, and for a version that is not known: a broker refuses both.
    """
    if len(key) < PREFIX_SIZE:
        raise DecodeError(f"a key of {len(key)} bytes has no type")
    type = int16_at(key, 0)
    key_message, value_message = _LOG.key_message(type), _LOG.value_message(type)
    if key_message is None or value_message is None:
        return None
    read_key = key_message.read(key, key_message.versions[0], PREFIX_SIZE, len(key))
    if value is None:
        return Record(type, read_key)
    if len(value) < PREFIX_SIZE:
        raise DecodeError(f"a value of {len(value)} bytes has no version")
    version = int16_at(value, 0)
    low, high = value_message.versions
    if not low <= version <= high:
        raise DecodeError(f"{value_message.name} has no version {version}, only {low} to {high}")
    return Record(type, read_key, value_message.read(value, version, PREFIX_SIZE, len(value)), version)
