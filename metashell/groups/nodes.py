"""/groups: the groups of a log directory or a live cluster, with their members and offsets, as nodes beside the image.

A walk from `/` leaves them out: there may be a million, and a live cluster needs a request for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from metashell.common.forms import compact_json
from metashell.metadata.nodes.names import sorted_names
from metashell.metadata.nodes.node import (
    Directory,
    KeyedDirectory,
    LeafKind,
    Node,
    SubjectLeaf,
    ValueLeaf,
    number_directory,
    text_directory,
)

if TYPE_CHECKING:
    from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription, OffsetRow
    from metashell.metadata.nodes.names import NameStyle


class GroupSource(Protocol):
    """A source of groups. It reads nothing before the first call, and may cache what it has read."""

    def summaries(self) -> Sequence[GroupSummary]:
        """Return all groups."""
        ...

    def description(self, group_id: str) -> GroupDescription:
        """Return a group with its members. Errors: MetashellError if the source cannot read it."""
        ...

    def offsets(self, group_id: str) -> Sequence[OffsetRow]:
        """Return the offsets that a group has committed. Errors: MetashellError if the source cannot read them."""
        ...


class GroupsNode(Directory):
    """/groups: a directory for each group."""

    __slots__ = ("_groups", "_inner", "_style")

    def __init__(self, name: str, groups: GroupSource, style: NameStyle) -> None:
        super().__init__(name, is_view=True)
        self._groups = groups
        self._style = style
        self._inner: KeyedDirectory | None = None

    @property
    def _directory(self) -> KeyedDirectory:
        if self._inner is None:
            found = {summary.group_id: summary for summary in self._groups.summaries()}
            make = partial(_group_node, groups=self._groups, style=self._style)
            self._inner = text_directory(self.name, found, make, self._style)
        return self._inner

    def child_names(self) -> Sequence[str]:
        return self._directory.child_names()

    def child(self, name: str) -> Node | None:
        return self._directory.child(name)

    def child_count(self) -> int:
        return self._directory.child_count()


def _group_node(name: str, _: str, summary: GroupSummary, *, groups: GroupSource, style: NameStyle) -> GroupNode:
    return GroupNode(name, summary, groups, style)


class GroupNode(Directory):
    """A group: a leaf for each fact, its members, and its offsets by topic and partition."""

    __slots__ = ("_facts", "_groups", "_style", "_summary")

    def __init__(self, name: str, summary: GroupSummary, groups: GroupSource, style: NameStyle) -> None:
        super().__init__(name, "group")
        self._summary = summary
        self._groups = groups
        self._style = style
        self._facts: GroupDescription | None = None

    @property
    def envelope_info(self) -> dict[str, Any]:
        return {"group": self._summary.group_id, "group_type": self._summary.kind, "state": self._summary.state}

    @property
    def _description(self) -> GroupDescription:
        if self._facts is None:
            self._facts = self._groups.description(self._summary.group_id)
        return self._facts

    def _leaves(self) -> dict[str, Any]:
        """Return the facts about the group as a whole, by leaf name."""
        group = self._description
        known = {
            "assignmentEpoch": group.assignment_epoch,
            "assignor": group.assignor,
            "epoch": group.summary.epoch,
            "leader": group.leader,
            "protocolType": group.summary.protocol_type or None,
        }
        facts = {name: value for name, value in known.items() if value is not None}
        return {**facts, "details": dict(group.details), "findings": list(group.findings), "state": group.summary.state}

    def child_names(self) -> Sequence[str]:
        return sorted_names([*self._leaves(), "members", "offsets", "pending", "type"])

    def child(self, name: str) -> Node | None:
        group_id = self._summary.group_id
        if name == "type":
            return ValueLeaf(name, self._summary.kind)
        if name == "members":
            members = {member.member_id: member for member in self._description.members}
            return text_directory(name, members, lambda shown, _, member: SubjectLeaf(shown, MEMBER, (group_id, member)), self._style)
        if name in ("offsets", "pending"):
            rows = [row for row in self._groups.offsets(group_id) if (row.pending_producer is not None) == (name == "pending")]
            return text_directory(name, by_topic(rows), _topic_node, self._style)
        leaves = self._leaves()
        if name not in leaves:
            return None
        value = leaves[name]
        return ValueLeaf(name, value, compact_json(value) if isinstance(value, dict | list) else None)


def by_topic(rows: Sequence[OffsetRow]) -> dict[str, dict[int, OffsetRow]]:
    """Offsets by topic and partition."""
    found: dict[str, dict[int, OffsetRow]] = {}
    for row in rows:
        found.setdefault(row.topic, {})[row.partition] = row
    return found


def _topic_node(name: str, _: str, rows: Mapping[int, OffsetRow]) -> Node:
    return number_directory(name, rows, lambda shown, _, row: SubjectLeaf(shown, OFFSET, row))


def _member_value(subject: tuple[str, MemberDescription]) -> dict[str, Any]:
    group_id, member = subject
    return member.as_object(group_id)


# Kafka's shell has no such leaves, so there is no text of Kafka's to agree with: they print JSON.
MEMBER = LeafKind("member", lambda subject: compact_json(_member_value(subject)), _member_value)
OFFSET = LeafKind("offset", lambda row: compact_json(row.as_object()), lambda row: row.as_object())
