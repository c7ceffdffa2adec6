"""Partition records that lie beside the spans: what later records said, as bytes that nobody has looked at.

An entry is what is known of one partition: first its base (None if that is in the topic's spans), then the changes to
it in order. It is a list while a delta gathers and a tuple in an image. Changes are shared: after the 20 bytes that
name the partition, few records differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metashell.codec.metadata_version import NEWEST_LEVEL, record_versions
from metashell.codec.registry import message_type
from metashell.image.partitions import CLEAR_ELR, PartitionRegistration, fold_changes, partition_from_record, partition_record
from metashell.image.spans import partition_reader

PARTITION_KEY_SIZE = 20
"""Partition id and topic id: how PartitionRecord and PartitionChangeRecord begin."""

CHANGES_MAX = 128
"""An image keeps no more changes of one partition than this; more are folded into its base. Each costs a pointer."""

OBJECTS_MAX = 2
"""Nor more than this that are objects of their own, as a controller replays them: each costs 200 bytes and more."""

_NO_KEY = bytes(PARTITION_KEY_SIZE)
_DECODED_MAX = 4096
_decoded: dict[RawChange, Any] = {}


class _Raw:
    """A part of a record as bytes, checked to decode."""

    __slots__ = ("body", "version")

    def __init__(self, version: int, body: bytes) -> None:
        self.version = version
        self.body = body


class RawPartition(_Raw):
    """A PartitionRecord's body."""

    __slots__ = ()

    def decode(self) -> PartitionRegistration:
        return partition_from_record(partition_reader(self.version)(self.body, 0, len(self.body)))


class RawChange(_Raw):
    """What a PartitionChangeRecord says after the partition's name."""

    __slots__ = ()

    def decode(self) -> Any:
        """The change as a PartitionChangeRecord that names no partition."""
        record = _decoded.get(self)
        if record is None:
            if len(_decoded) >= _DECODED_MAX:
                _decoded.clear()
            body = _NO_KEY + self.body
            record = message_type("metadata", "PartitionChangeRecord").reader(self.version)(body, 0, len(body))
            _decoded[self] = record
        return record


def packed(partition: PartitionRegistration) -> RawPartition:
    """A partition as bytes, which take a third of the room and are decoded each time that it is read."""
    version = record_versions(NEWEST_LEVEL).partition
    record = partition_record(partition, _NO_KEY[4:], 0, NEWEST_LEVEL, lambda loss: None)
    return RawPartition(version, message_type("metadata", "PartitionRecord").write(record, version))


def is_full(entry: Entry) -> bool:
    """Whether an entry holds more changes than an image keeps."""
    return len(entry) > OBJECTS_MAX + 1 and (len(entry) > CHANGES_MAX or type(entry[-1]) is not RawChange)


Base = PartitionRegistration | RawPartition | None
Entry = Sequence[Any]
"""[Base, change, ...]; a change is a RawChange, a PartitionChangeRecord or CLEAR_ELR."""


def fold_entry(entry: Entry, in_spans: PartitionRegistration | None) -> PartitionRegistration:
    """The state that an entry comes to; `in_spans` is the base where the entry has none."""
    base = entry[0]
    if type(base) is RawPartition:
        base = base.decode()
    elif base is None:
        base = in_spans
    assert base is not None, "an entry without a base has its base in a span"
    if len(entry) == 1:
        return base  # type: ignore[no-any-return]
    return fold_changes(base, [change.decode() if type(change) is RawChange else change for change in entry[1:]])


__all__ = ["CLEAR_ELR", "Base", "Entry", "RawChange", "RawPartition", "fold_entry", "is_full", "packed"]
