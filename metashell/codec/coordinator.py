"""Records of the coordinators' logs: `__consumer_offsets`, `__transaction_state` and `__share_group_state`.

A key begins with an int16, the record type; a value, where there is one, with an int16, the version of its message. Keys are
never flexible and have one version. A record without a value deletes what its key names.
Source: org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde.
"""

from typing import NamedTuple

from metashell.codec.dispatch import (
    OFFSETS_KEYS,
    OFFSETS_VALUES,
    SHARE_KEYS,
    SHARE_VALUES,
    TRANSACTION_KEYS,
    TRANSACTION_VALUES,
)
from metashell.codec.java_hash import string_hash
from metashell.codec.registry import MessageType, message_type

PREFIX_SIZE = 2
"""Bytes of the type before a key's fields, and of the version before a value's."""


class CoordinatorLog(NamedTuple):
    """One of these logs: the family of its messages, and those of its keys and values by record type."""

    family: str
    keys: dict[int, str]
    values: dict[int, str]

    def type_name(self, type: int) -> str | None:
        """The name of a type of record, `OffsetCommit`; None for an unknown type."""
        name = self.keys.get(type)
        return None if name is None else name.removesuffix("Key")

    def key_message(self, type: int) -> MessageType | None:
        """The message of a key, None for a type that is not known."""
        name = self.keys.get(type)
        return None if name is None else message_type(self.family, name)

    def value_message(self, type: int) -> MessageType | None:
        """The message of the value that belongs to a key's type, None for a type that is not known."""
        name = self.values.get(type)
        return None if name is None else message_type(self.family, name)


COORDINATOR_LOGS = {
    "offsets": CoordinatorLog("offsets", OFFSETS_KEYS, OFFSETS_VALUES),
    "transactions": CoordinatorLog("transactions", TRANSACTION_KEYS, TRANSACTION_VALUES),
    "share": CoordinatorLog("share", SHARE_KEYS, SHARE_VALUES),
}


def int16_at(buf: bytes, at: int) -> int:
    """The int16 at `buf[at]`, as types and versions are written."""
    return int.from_bytes(buf[at : at + PREFIX_SIZE], "big", signed=True)


def partition_of(id: str, partition_count: int) -> int:
    """The partition of a coordinator's log in which the records of a group or transaction lie.

    Source: org.apache.kafka.common.utils.Utils.abs: of the least number, which has no absolute value, it is 0.
    """
    number = string_hash(id) & 0xFFFFFFFF
    number = number - (1 << 32) if number >= 1 << 31 else number
    return 0 if number == -(1 << 31) else abs(number) % partition_count
