"""A share group: what the records say of it, and what it answers to the rest of the coordinator.

Source: groups.md 15.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from metashell.codec.error_codes import GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP
from metashell.groups.decision import GroupError
from metashell.groups.group import CommitClaim, Group
from metashell.groups.java_map import TimelineMap
from metashell.groups.record import Record
from metashell.groups.share.member import Member, Partitions
from metashell.groups.share.records import group_tombstones
from metashell.groups.share.share_state import ByTopic, ShareState
from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, GroupSummary, MemberDescription, named_parts

FIRST_EPOCH: Final = 1
"""Of a group that nobody has written yet."""


@dataclass(slots=True, eq=True)
class ShareGroup(Group):
    """Shape: `subscribers` counts the members that name a topic.

    Not from records alone: `checked_version` is that of the metadata with which the hash was last found to agree; `state_asked_ms` is when
    share state was asked for last, for a request that has no answer is repeated.
    """

    type: ClassVar[str] = "share"
    is_expiring: ClassVar[bool] = False

    group_id: str
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    assignment_epoch: int = FIRST_EPOCH
    assignment_ms: int = 0
    members: MutableMapping[str, Member] = field(default_factory=TimelineMap)
    targets: dict[str, Partitions] = field(default_factory=dict)
    share_state: ShareState | None = None
    subscribers: dict[str, int] = field(default_factory=dict)
    checked_version: int = field(default=-1, compare=False)
    state_asked_ms: int = field(default=0, compare=False)

    def put(self, member: Member) -> None:
        """Take a member as it is now."""
        known = self.members.get(member.member_id)
        self.members[member.member_id] = member
        if known is None or known.names != member.names:
            self.subscribers = counted(self.subscribers, () if known is None else known.names, member.names)

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self.subscribers = counted(self.subscribers, member.names, ())

    def state_name(self) -> str:
        return "Stable" if self.members else "Empty"

    @property
    def protocol_type(self) -> str:
        return "share"

    @property
    def is_empty(self) -> bool:
        return not self.members

    def check_commit(self, claim: CommitClaim, topic: str | None = None, topic_id: bytes = b"", partition: int = -1) -> None:
        raise self._no_offsets()

    def check_fetch(self, claim: CommitClaim) -> None:
        raise self._no_offsets()

    def check_delete_offsets(self) -> None:
        raise self._no_offsets()

    def check_delete(self) -> None:
        if self.members:
            raise GroupError(NON_EMPTY_GROUP)

    def is_subscribed(self, topic: str) -> bool:
        return topic in self.subscribers

    def expiry_base_ms(self, commit_ms: int) -> int | None:
        return None

    def tombstones(self) -> list[Record]:
        return group_tombstones(self.group_id, self.members)

    def summary(self) -> GroupSummary:
        return GroupSummary(
            group_id=self.group_id,
            kind=self.type,
            state=self.state_name(),
            protocol_type=self.protocol_type,
            epoch=self.epoch,
            members=len(self.members),
        )

    def description(self, topics: Topics) -> GroupDescription:
        members = tuple(
            MemberDescription(
                member_id=member.member_id,
                member_type="share",
                client_id=member.client_id,
                client_host=member.client_host,
                rack=member.rack_id,
                epoch=member.epoch,
                topics=tuple(sorted(member.names)),
                assigned=named_parts(member.assigned.items(), topics),
                target=named_parts(self.targets.get(member.member_id, {}).items(), topics),
            )
            for member in self.members.values()
        )
        state = self.share_state
        details = {} if state is None else {"initializing": _shown(state.initializing), "initialized": _shown(state.initialized)}
        return GroupDescription(summary=self.summary(), members=members, assignment_epoch=self.assignment_epoch, details=details)

    def _no_offsets(self) -> GroupError:
        return GroupError(GROUP_ID_NOT_FOUND)


def counted(subscribers: Mapping[str, int], before: tuple[str, ...], after: tuple[str, ...]) -> dict[str, int]:
    """How many members name each topic, once one of them has changed its mind."""
    counts = dict(subscribers)
    for name in before:
        counts[name] = counts.get(name, 0) - 1
        if counts[name] <= 0:
            del counts[name]
    for name in after:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _shown(topics: ByTopic) -> dict[str, list[int]]:
    return {topic.name: sorted(topic.partitions) for topic in topics.values()}
