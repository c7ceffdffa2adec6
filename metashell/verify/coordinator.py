"""Records of the coordinators' logs: a key of a known type, and a value that fits it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from metashell.codec.coordinator import PREFIX_SIZE, CoordinatorLog, int16_at
from metashell.codec.frame import unknown_version
from metashell.codec.registry import MessageType
from metashell.errors import DecodeError

Fault = tuple[bool, str]
"""Whether it is an error, and what is wrong."""

Reader = Callable[[bytes, int, int], Any]


class CoordinatorCheck:
    """Judges keys and values of one of these logs; `deep` decodes them, else only types and versions are looked at."""

    def __init__(self, log: CoordinatorLog, deep: bool) -> None:
        self._log = log
        self._deep = deep
        self._judged: dict[tuple[bytes, bytes | None], Fault | None] = {}

    def fault(self, key: bytes | None, value: bytes | None) -> Fault | None:
        """What is odd about a record, None for nothing."""
        if key is None or len(key) < PREFIX_SIZE:
            return True, "the record has no key"
        kind = key[:PREFIX_SIZE], None if value is None else value[:PREFIX_SIZE]
        if kind not in self._judged:
            self._judged[kind] = self._judge(*kind)
        fault = self._judged[kind]
        if not self._deep or (fault is not None and not fault[1].endswith("read as the newest")):
            return fault
        type = int16_at(key, 0)
        return _decoding_fault(self._log.key_message(type), 0, key, "key") or (
            fault if value is None else _decoding_fault(self._log.value_message(type), int16_at(value, 0), value, "value") or fault
        )

    def _judge(self, key: bytes, value: bytes | None) -> Fault | None:
        type = int16_at(key, 0)
        message = self._log.value_message(type)
        if self._log.key_message(type) is None or message is None:
            return False, f"unknown record type {type}"
        if value is None:
            return None
        if len(value) < PREFIX_SIZE:
            return True, "the record's value has no version"
        version = int16_at(value, 0)
        low, high = message.versions
        return None if low <= version <= high else (False, f"{unknown_version(message, version)}, read as the newest")


def _decoding_fault(message: MessageType | None, version: int, data: bytes, part: str) -> Fault | None:
    assert message is not None, "types were judged before"
    low, high = message.versions
    try:
        message.reader(min(max(version, low), high))(data, PREFIX_SIZE, len(data))
    except DecodeError as error:
        return True, f"{message.name} version {version} does not decode as the record's {part}: {error}"
    return None
