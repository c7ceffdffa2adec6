"""A record of `__consumer_offsets`, as it is decided, and where it came to lie in the log."""

from __future__ import annotations

from typing import Any, NamedTuple


class Record(NamedTuple):
    """Shape: `type` is the record type (key's first int16); `key` and `value` are objects of codec's family `offsets`; without a value it
    is a tombstone. `version` is the value's.
    """

    type: int
    key: Any
    value: Any = None
    version: int = 0


class Place(NamedTuple):
    """Where a record lies. `producer_id` is -1 outside of transactions. Units: `timestamp_ms` since the epoch."""

    offset: int
    timestamp_ms: int = -1
    producer_id: int = -1


class Finding(NamedTuple):
    """What is wrong with a log, by its place. `kind` is one word in capitals, as OWNERSHIP_OVERLAP.

    `group_id` is None for a record that names no group.
    """

    kind: str
    group_id: str | None
    text: str
    place: Place
