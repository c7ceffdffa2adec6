"""Records of `__consumer_offsets` from their bytes, in every dialect, as the objects that the coordinator replays."""

from __future__ import annotations

from typing import Any, Final

from metashell.codec.coordinator import PREFIX_SIZE, int16_at
from metashell.codec.coordinator_text import CoordinatorTexts
from metashell.errors import DecodeError
from metashell.groups.offsets.records import LEGACY_OFFSET_COMMIT, OFFSET_COMMIT, committed_of
from metashell.groups.record import Record
from metashell.groups.record_bytes import read_record
from metashell.groups.state import Committed, PartitionKey

COMMIT_TYPES: Final = (OFFSET_COMMIT, LEGACY_OFFSET_COMMIT)
"""Records of committed offsets; type 0 is that of the oldest brokers."""
GROUP_METADATA: Final = 2


class UnknownTypeError(DecodeError):
    """A record type that no release we know writes: a broker skips it too."""


class Decoder:
    """Reads keys and values. An early dialect's value comes as the object of today, with what both have in common."""

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
        """A record whose type or layout only some releases write, or which is what is wrong with it."""
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
        """Group, topic and partition of an offset's key. Errors: DecodeError."""
        assert self._commit_key is not None, "its schema is packaged"
        read = self._commit_key.reader(0)(key, PREFIX_SIZE, len(key))
        return read.group, (read.topic, read.partition)

    def committed(self, value: bytes, record_offset: int) -> Committed:
        """The offset that a value commits. Errors: DecodeError."""
        assert self._commit_value is not None, "its schema is packaged"
        version = int16_at(value, 0)
        low, high = self._commit_value.versions
        if len(value) < PREFIX_SIZE or not low <= version <= high:
            raise DecodeError("the value has no version" if len(value) < PREFIX_SIZE else f"version {version} is not known")
        read = self._commit_value.reader(version)(value, PREFIX_SIZE, len(value))
        return committed_of(Record(OFFSET_COMMIT, None, read, version), record_offset)


def _as_today(found: Any, cls: type[Any]) -> Any:
    """An object of today's class with the fields that an early one shares with it."""
    made = cls()
    for name in made.__slots__:
        if hasattr(found, name):
            setattr(made, name, getattr(found, name))
    return made


def group_of_key(key: bytes) -> bytes:
    """The bytes of the group id with which every key begins; empty for a key that is too short."""
    size = int16_at(key, PREFIX_SIZE)
    return key[4 : 4 + size] if size > 0 else b""


def key_prefix(group_id: str) -> bytes:
    """What follows the type in the keys of a group."""
    raw = group_id.encode("utf-8", "surrogatepass")
    return len(raw).to_bytes(2, "big") + raw
