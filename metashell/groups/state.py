"""What one shard of the coordinator knows: its groups and the offsets that they committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from metashell.groups.group import Group
from metashell.groups.record import Finding
from metashell.groups.topics import KnownTopics, Topics


class Committed(NamedTuple):
    """An offset as it was committed. `record_offset` is where its record lies. Units: ms."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int
    topic_id: bytes
    record_offset: int


PartitionKey = tuple[str, int]
"""Topic and partition."""


class State:
    """Shape: `offsets` by group, then by topic and partition; `pending` by group, then producer, then topic and partition. A group may be
    in `offsets` and not in `groups`: a compacted log can hold the tombstone of a group behind its offsets.
    """

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}
        self.offsets: dict[str, dict[PartitionKey, Committed]] = {}
        self.pending: dict[str, dict[int, dict[PartitionKey, Committed]]] = {}
        self.topics: Topics = KnownTopics()
        self.findings: list[Finding] = []
        self.group_configs: dict[str, dict[str, Any]] = {}
        """Configs of resource type GROUP, by group."""
        self.make_simple: Callable[[str], Group] | None = None
        """Makes the group that a commit to an unknown group brings into being: a classic one without members and without a type."""
