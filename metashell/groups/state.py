"""What one shard of the coordinator knows: its groups and the offsets that they committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from metashell.groups.group import Group
from metashell.groups.record import Finding, Place
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


FINDINGS_MAX: Final = 1_000


class State:
    """What the log says, and nothing else. `make_simple` makes the classic group that a commit without a group belongs to.

    Shape: `offsets` by group, then by topic and partition; `pending` by group, then producer, then topic and partition. A group id may
    be in `offsets` and not in `groups`: a compacted log can hold only the group's tombstone.
    """

    def __init__(self, make_simple: Callable[[str], Group]) -> None:
        self.groups: dict[str, Group] = {}
        self.offsets: dict[str, dict[PartitionKey, Committed]] = {}
        self.pending: dict[str, dict[int, dict[PartitionKey, Committed]]] = {}
        self.pending_groups: dict[int, set[str]] = {}
        """The groups with pending offsets, by producer."""
        self.topics: Topics = KnownTopics()
        self.findings: list[Finding] = []
        """The first of them; `finding_counts` has them all, by kind."""
        self.finding_counts: Counter[str] = Counter()
        self.group_configs: dict[str, dict[str, Any]] = {}
        """Configs of resource type GROUP, by group."""
        self.make_simple = make_simple

    def find_other_kind(self, group: Group, kind: str, place: Place) -> None:
        """Note a record of one kind of group where there is a group of another."""
        self.find("WRONG_GROUP_TYPE", group.group_id, f"a record of a {kind} group, but the group is of type {group.type}", place)

    def find(self, kind: str, group_id: str | None, text: str, place: Place) -> None:
        """Note what is wrong with a log."""
        self.finding_counts[kind] += 1
        if len(self.findings) < FINDINGS_MAX:
            self.findings.append(Finding(kind, group_id, text, place))
