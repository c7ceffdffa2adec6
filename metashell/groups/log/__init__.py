"""Groups and offsets from `__consumer_offsets` on disk, and how a group reached its state. This module decodes the records.

Promises: files are only read, but for the log of our own group server (`group_log`). Of several brokers' copies of a partition the newest
counts, and clusters are never mixed. Everything that can be read of a log is shown; the rest is a fault of the file (`load_logs`) or a
finding of the state, with its place. Commits are decoded only on request: `Fold` keeps the newest bytes of each, once a check of their
sizes has shown that they decode.

The replay in `coordinator.replay` decides the state of a group. The `timeline` modules follow its records in order and explain how it got
there, as far as records show it."""

from __future__ import annotations

import os
from typing import Any, Final

from metashell.codec.coordinator import COORDINATOR_LOGS, PREFIX_SIZE, CoordinatorTexts, int16_at
from metashell.codec.primitives import kafka_text
from metashell.common.errors import DecodeError
from metashell.common.terminal import unescape
from metashell.groups.decision import Record
from metashell.groups.state import LEGACY_OFFSET_COMMIT, OFFSET_COMMIT, Committed, PartitionKey, committed_of

COMMIT_TYPES: Final = (OFFSET_COMMIT, LEGACY_OFFSET_COMMIT)
"""The record types of committed offsets; only the oldest brokers write type 0."""
GROUP_METADATA: Final = 2


class UnknownTypeError(DecodeError):
    """A record type that no known release writes. A broker skips such a record too."""


class Decoder:
    """Reads keys and values. A value in an early dialect is returned as today's object, with the fields that both have."""

    def __init__(self) -> None:
        self._texts = CoordinatorTexts("offsets", show_secrets=False)
        self._log = self._texts.log
        self._commit_key = self._log.key_message(OFFSET_COMMIT)
        self._commit_value = self._log.value_message(OFFSET_COMMIT)

    def record(self, key: bytes | None, value: bytes | None) -> Record:
        """Errors: UnknownTypeError, DecodeError."""
        if key is None:
            raise DecodeError("the record has no key")
        try:
            found = read_record(key, value)
        except DecodeError:
            return self._in_dialect(key, value)
        return self._in_dialect(key, value) if found is None else found

    def _in_dialect(self, key: bytes, value: bytes | None) -> Record:
        """Read a record whose type or layout only some releases write. Errors: UnknownTypeError, DecodeError with the reason."""
        if len(key) < PREFIX_SIZE:
            raise DecodeError("the key has no type")
        type_id = int16_at(key, 0)
        if type_id not in self._texts.names:
            raise UnknownTypeError(f"record type {type_id} is not known")
        read_key = self._texts.key_message_of(type_id).read(key, 0, PREFIX_SIZE)
        if value is None:
            return Record(type_id, read_key)
        if len(value) < PREFIX_SIZE:
            raise DecodeError("the value has no version")
        version = int16_at(value, 0)
        message, dialect = self._texts.fitting(type_id, version, value)
        found = message.read(value, version, PREFIX_SIZE)
        newest = self._log.value_message(type_id)
        return Record(type_id, read_key, found if dialect is None or newest is None else _as_today(found, newest.cls), version)

    def committed_key(self, key: bytes) -> tuple[str, PartitionKey]:
        """Return group, topic and partition of an offset's key. Errors: DecodeError."""
        assert self._commit_key is not None, "its schema is packaged"
        read = self._commit_key.reader(0)(key, PREFIX_SIZE, len(key))
        return read.group, (read.topic, read.partition)

    def plain_key(self, key: bytes) -> bytes:
        """Return one key for all keys that a coordinator reads as this one. Errors: DecodeError.

        Bytes that are not UTF-8 become U+FFFD in Java, and bytes after the last field are ignored: two keys may name the same partition.
        """
        if is_plain_key(key):
            return key
        assert self._commit_key is not None, "its schema is packaged"
        group, (topic, partition) = self.committed_key(key)
        return key[:PREFIX_SIZE] + self._commit_key.write(self._commit_key.cls(group=group, topic=topic, partition=partition), 0)

    def committed(self, value: bytes, record_offset: int) -> Committed:
        """Return the offset that a value commits. Errors: DecodeError."""
        assert self._commit_value is not None, "its schema is packaged"
        version = int16_at(value, 0)
        low, high = self._commit_value.versions
        if len(value) < PREFIX_SIZE or not low <= version <= high:
            raise DecodeError("the value has no version" if len(value) < PREFIX_SIZE else f"version {version} is not known")
        read = self._commit_value.reader(version)(value, PREFIX_SIZE, len(value))
        return committed_of(Record(OFFSET_COMMIT, None, read, version), record_offset)


def _as_today(found: Any, cls: type[Any]) -> Any:
    """Return an object of today's class with the fields that it shares with an early one."""
    made = cls()
    for name in made.__slots__:
        if hasattr(found, name):
            setattr(made, name, getattr(found, name))
    return made


def is_plain_key(key: bytes) -> bool:
    """Return whether a commit's key is ASCII and ends with its last field. Then no other key names the same partition."""
    if not key[:-4].isascii() or len(key) < 10:
        return False
    at = 4 + (key[2] << 8 | key[3])
    return at + 6 <= len(key) == at + 6 + (key[at] << 8 | key[at + 1])


def is_plain_commit(value: bytes) -> bool:
    """Return whether a value has exactly the size of a committed offset of version 3, or of version 4 with at most a topic id as a tag.

    Then it decodes, since all its other fields have fixed widths. Anything else is decoded to find out.
    """
    size = len(value)
    if size < 23 or value[0]:
        return False
    if value[1] == 3:
        return size == 24 + (value[14] << 8 | value[15])
    if value[1] != 4 or not 0 < value[14] < 128:
        return False
    left = size - 22 - value[14]
    return (left == 1 and not value[-1]) or (left == 19 and value[-19:-16] == _ONLY_TOPIC_ID)


_ONLY_TOPIC_ID: Final = b"\1\0\x10"
"""Tagged fields: one, of tag 0 and 16 bytes."""


def group_of_key(key: bytes) -> bytes:
    """Return the group id with which every key begins, as UTF-8; empty for a key that is too short."""
    size = int16_at(key, PREFIX_SIZE)
    raw = key[4 : 4 + size] if size > 0 else b""
    return raw if raw.isascii() else kafka_text(raw).encode()


def shown_id(group_id: str) -> str:
    """Return a group id of the command line as a coordinator reads it: bytes that are not UTF-8 become U+FFFD."""
    try:
        group_id.encode()
    except UnicodeEncodeError:
        return kafka_text(os.fsencode(group_id))
    return group_id


def ids_meant(group_id: str) -> tuple[str, ...]:
    """Return the ids that a text of the command line may mean: the text itself, and the id that a list shows escaped as this text."""
    meant = unescape(group_id)
    return (group_id,) if meant == group_id else (group_id, meant)


class KeysOf:
    """Recognizes the keys of a group's records."""

    def __init__(self, group_id: str) -> None:
        self._raw = group_id.encode()
        self._prefix = len(self._raw).to_bytes(2, "big") + self._raw
        self._may_differ = "\ufffd" in group_id

    @property
    def mark(self) -> bytes | None:
        """Bytes that all these keys contain, None if the group id may be written in several ways."""
        return None if self._may_differ else self._prefix

    def has(self, key: bytes) -> bool:
        """Return whether a key belongs to the group."""
        return key.startswith(self._prefix, PREFIX_SIZE) or (self._may_differ and group_of_key(key) == self._raw)


_LOG = COORDINATOR_LOGS["offsets"]


def key_bytes(record: Record) -> bytes:
    """Return the bytes of a record's key."""
    message = _LOG.key_message(record.type)
    assert message is not None, record.type
    return record.type.to_bytes(PREFIX_SIZE, "big") + message.write(record.key, message.versions[0])


def value_bytes(record: Record) -> bytes | None:
    """Return the bytes of a record's value, None for a tombstone."""
    if record.value is None:
        return None
    message = _LOG.value_message(record.type)
    assert message is not None, record.type
    return record.version.to_bytes(PREFIX_SIZE, "big") + message.write(record.value, record.version)


def read_record(key: bytes, value: bytes | None) -> Record | None:
    """Return the record in a key and a value, None for an unknown type.

    Errors: DecodeError for bytes that do not fit the schema and for an unknown version. A broker refuses both.
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
