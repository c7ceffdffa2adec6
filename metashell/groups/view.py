"""Groups, members and offsets as an operator sees them, whether they come from logs, a live cluster or a coordinator in memory.

`as_object` returns the JSON object of each, which commands, nodes and reports print; the keys are a contract. None means that the source
cannot know a value; it is never a guess. Topics are shown by name, or by their id as text where no name is known.

`classic_member` decodes the two blobs of a member of the classic protocol. It never raises: a blob that does not decode is a finding.

/groups: the groups of a log directory or a live cluster, with their members and offsets, as nodes beside the image. A walk from `/` leaves
them out: there may be a million, and a live cluster needs a request for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from metashell.codec.consumer_protocol import CONNECT, decode_assignment, decode_subscription
from metashell.common.forms import compact_json
from metashell.common.uris import shown_uri
from metashell.common.values import REDACTED, time_text, uuid_text
from metashell.groups.topics import Topics
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
    from metashell.metadata.nodes.names import NameStyle


Parts = tuple[tuple[str, tuple[int, ...]], ...]
"""Topics (for streams groups: subtopologies) with partitions, both sorted."""

KINDS = ("classic", "consumer", "share", "streams")
"""The types of groups, as ListGroups names them."""


def parts_of(partitions: Iterable[tuple[str, int]]) -> Parts:
    """Group single partitions by topic."""
    found: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        found.setdefault(topic, []).append(partition)
    return tuple((topic, tuple(numbers)) for topic, numbers in found.items())


def named_parts(by_id: Iterable[tuple[bytes, Iterable[int]]], topics: Topics) -> Parts:
    """Return partitions by topic name, or by topic id as text if the name is not known."""
    return tuple(sorted((topic_text(id, topics), tuple(sorted(partitions))) for id, partitions in by_id if partitions))


def topic_text(id: bytes, topics: Topics) -> str:
    """Return a topic's name, or its id as text if the name is not known."""
    topic = topics.with_id(id)
    return uuid_text(id) if topic is None else topic.name


def parts_text(parts: Parts) -> str:
    """Return `orders:0-2,5 audit:0`; empty for no partitions."""
    return " ".join(f"{topic}:{ranges_text(partitions)}" for topic, partitions in parts)


def ranges_text(numbers: Iterable[int]) -> str:
    """Return `0-2,5` for sorted numbers."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def part_count(parts: Parts) -> int:
    """Count the partitions."""
    return sum(len(partitions) for _, partitions in parts)


def _parts_object(parts: Parts) -> dict[str, list[int]]:
    return {topic: list(partitions) for topic, partitions in parts}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSummary:
    """A row of a list of groups.

    `epoch` is the generation of a classic group and the group epoch of the others; `offsets` and `pending` count partitions. `partition`
    is that of `__consumer_offsets`, `coordinator` the node that leads it, `findings` the number of problems in what was read.
    """

    group_id: str
    kind: str
    state: str
    protocol_type: str = ""
    epoch: int | None = None
    members: int | None = None
    offsets: int | None = None
    pending: int | None = None
    partition: int | None = None
    coordinator: int | None = None
    findings: int = 0

    def as_object(self) -> dict[str, Any]:
        return {
            "type": "group",
            "group": self.group_id,
            "group_type": self.kind,
            "state": self.state,
            "protocol_type": self.protocol_type,
            "epoch": self.epoch,
            "members": self.members,
            "offsets": self.offsets,
            "pending": self.pending,
            "partition": self.partition,
            "coordinator": self.coordinator,
            "findings": self.findings,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberDescription:
    """A member. `member_type` is the protocol it speaks; `state` is empty where its kind of group has none.

    `target` is None for a member of a classic group; `revoking` are the partitions that it was told to give up and still has; `details` are
    the other contents of its blobs or records, as JSON values; `findings` name what could not be read.
    """

    member_id: str
    member_type: str
    client_id: str = ""
    client_host: str = ""
    instance_id: str | None = None
    rack: str | None = None
    epoch: int | None = None
    state: str = ""
    topics: tuple[str, ...] = ()
    regex: str | None = None
    assigned: Parts = ()
    target: Parts | None = None
    revoking: Parts = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[str, ...] = ()

    def as_object(self, group_id: str) -> dict[str, Any]:
        return {
            "type": "member",
            "group": group_id,
            "member": self.member_id,
            "instance": self.instance_id,
            "client": self.client_id,
            "host": self.client_host,
            "rack": self.rack,
            "member_type": self.member_type,
            "epoch": self.epoch,
            "state": self.state,
            "topics": list(self.topics),
            "regex": self.regex,
            "assigned": _parts_object(self.assigned),
            "target": None if self.target is None else _parts_object(self.target),
            "revoking": _parts_object(self.revoking),
            "details": dict(self.details),
            "findings": list(self.findings),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDescription:
    """A group with its members. `assignor` is the protocol of a classic group; `leader` its leader's member id.

    `details` are the facts that only its kind of group has, as JSON values; `notes` are no faults (module `notes`), as JSON objects.
    """

    summary: GroupSummary
    members: tuple[MemberDescription, ...] = ()
    assignor: str | None = None
    leader: str | None = None
    assignment_epoch: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    notes: tuple[Mapping[str, str], ...] = ()

    def as_object(self) -> dict[str, Any]:
        return {
            **self.summary.as_object(),
            "assignor": self.assignor,
            "leader": self.leader,
            "assignment_epoch": self.assignment_epoch,
            "details": dict(self.details),
            "members": [member.as_object(self.summary.group_id) for member in self.members],
            "findings": list(self.findings),
            "notes": [dict(note) for note in self.notes],
        }


class Holder(NamedTuple):
    """An open transaction in a partition: no consumer of committed records reads from its start on.

    `transactional_id` and `state` are what its coordinator says, or its log; empty if they do not know it. Units: Unix ms; `since_ms` is
    None if not known.
    """

    producer_id: int
    producer_epoch: int
    start_offset: int
    since_ms: int | None
    transactional_id: str = ""
    state: str = ""

    def text(self, topic: str, partition: int) -> str:
        """Return `producer 1000 (hung-1) holds tx-0 open from offset 4 since 2026-11-27T00:23:13.332Z`."""
        whose = f"producer {self.producer_id}, epoch {self.producer_epoch}"
        if self.transactional_id:
            whose = f"producer {self.producer_id} ({self.transactional_id}), epoch {self.producer_epoch}"
        since = "" if self.since_ms is None else f" since {time_text(self.since_ms)}"
        return f"{whose} holds {topic}-{partition} open from offset {self.start_offset}{since}"

    def as_object(self) -> dict[str, Any]:
        return {
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
            "transactional": self.transactional_id or None,
            "state": self.state or None,
            "start_offset": self.start_offset,
            "since": self.since_ms,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetRow:
    """A committed offset. `pending_producer` is the producer whose open transaction holds it back; None for a committed offset.

    `end_offset` is the end of the partition's log, `stable_offset` its last stable offset: behind it are open transactions, of which
    `held_by` is the first; with `has_only_markers` only markers of transactions lie between the commit and that offset. If
    `is_of_old_topic`, the offset belongs to a deleted topic of the same name, and the lag is not known. `member_id` and `client_id` are the
    partition's current owner. Units: ms.
    """

    group_id: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_ms: int | None = None
    expire_ms: int | None = None
    topic_id: bytes = bytes(16)
    pending_producer: int | None = None
    end_offset: int | None = None
    stable_offset: int | None = None
    held_by: Holder | None = None
    has_only_markers: bool = False
    is_of_old_topic: bool = False
    member_id: str | None = None
    client_id: str | None = None

    @property
    def lag(self) -> int | None:
        """Records left to read, None if not known. As in Kafka's tools, it is negative for a commit past the end."""
        if self.end_offset is None or self.offset < 0 or self.is_of_old_topic:
            return None
        return self.end_offset - self.offset

    @property
    def readable_lag(self) -> int | None:
        """The part of the lag that consumers with isolation.level=read_committed can read now, None if not known.

        It has markers and aborted records, as the lag has; where there are only markers, it is 0.
        """
        if self.lag is None or self.lag <= 0:
            return self.lag
        if self.has_only_markers:
            return 0
        return None if self.stable_offset is None else min(self.lag, max(self.stable_offset - self.offset, 0))

    def as_object(self) -> dict[str, Any]:
        return {
            "type": "offset",
            "group": self.group_id,
            "topic": self.topic,
            "partition": self.partition,
            "offset": None if self.offset < 0 else self.offset,
            "leader_epoch": None if self.leader_epoch < 0 else self.leader_epoch,
            "metadata": self.metadata,
            "committed_at": self.commit_ms,
            "expires_at": self.expire_ms,
            "topic_id": None if self.topic_id == bytes(16) else uuid_text(self.topic_id),
            "pending_producer": self.pending_producer,
            "log_end_offset": self.end_offset,
            "lag": self.lag,
            "last_stable_offset": self.stable_offset,
            "readable_lag": self.readable_lag,
            "held_by": None if self.held_by is None else self.held_by.as_object(),
            "member": self.member_id,
            "client": self.client_id,
        }


_URLS: Final = frozenset(("url", "leaderUrl"))
_ALLOCATION: Final = "allocation"
"""The field in which a Connect worker that joins reports its earlier assignment."""


def classic_member(
    protocol_type: str,
    protocol_name: str | None,
    *,
    member_id: str,
    instance_id: str | None,
    client_id: str,
    client_host: str,
    subscription: bytes,
    assignment: bytes,
    details: Mapping[str, Any] | None = None,
) -> MemberDescription:
    """Describe a member; its blobs are added to `details`. Never raises: a blob that does not decode is a finding."""
    told = decode_subscription(protocol_type, protocol_name, subscription)
    given = decode_assignment(protocol_type, protocol_name, assignment)
    said = told.value if isinstance(told.value, dict) else {}
    return MemberDescription(
        member_id=member_id,
        instance_id=instance_id,
        client_id=client_id,
        client_host=client_host,
        rack=said.get("rackId"),
        member_type="classic",
        topics=tuple(said.get("topics", ())),
        assigned=_assigned(given.value),
        details={**(details or {}), "subscription": _shown(protocol_type, told.value), "assignment": _shown(protocol_type, given.value)},
        findings=told.findings + given.findings,
    )


def _shown(protocol_type: str, value: Any) -> Any:
    """Return a blob's content without the users and passwords that the urls of Connect's workers may hold."""
    if protocol_type != CONNECT:
        return value
    # A blob that does not decode is bytes as text, and may have a url anywhere.
    return _without_users(value) if isinstance(value, dict) else None if value is None else REDACTED


def _without_users(value: dict[str, Any]) -> dict[str, Any]:
    shown = {name: shown_uri(url) if isinstance(url, str) and name in _URLS else url for name, url in value.items()}
    if (allocation := value.get(_ALLOCATION)) is not None:
        shown[_ALLOCATION] = _without_users(allocation) if isinstance(allocation, dict) else REDACTED
    return shown


def _assigned(value: object) -> Parts:
    """Return the partitions of a consumer's assignment."""
    topics = value.get("assignedPartitions", ()) if isinstance(value, dict) else ()
    return parts_of((topic["topic"], partition) for topic in topics for partition in topic["partitions"])


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
