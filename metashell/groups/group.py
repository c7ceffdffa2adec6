"""What every kind of group is to the rest of the coordinator.

Source: org.apache.kafka.coordinator.group.Group.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from metashell.groups.record import Record
from metashell.groups.timers import Timers
from metashell.groups.topics import Topics
from metashell.groups.view import GroupDescription, GroupSummary


class CommitClaim(NamedTuple):
    """Who says to commit or to fetch offsets. `epoch` is a generation in classic groups; -1 and "" where nothing is claimed."""

    member_id: str = ""
    instance_id: str | None = None
    epoch: int = -1
    is_transactional: bool = False
    version: int = 9
    """That of the OffsetCommit request."""


class Group(ABC):
    """A group of one kind. Everything here but `committed` only reads."""

    type: ClassVar[str]
    """`classic`, `consumer`, `share` or `streams`, as ListGroups names it."""
    group_id: str
    is_expiring: ClassVar[bool] = True
    """Whether the group itself goes when it is empty and has no offsets."""

    @abstractmethod
    def state_name(self) -> str:
        """The state as ListGroups shows it."""

    @property
    @abstractmethod
    def protocol_type(self) -> str:
        """`consumer` and the like; "" where a classic group has none."""

    @property
    @abstractmethod
    def is_empty(self) -> bool: ...

    @abstractmethod
    def check_commit(self, claim: CommitClaim, topic: str | None = None, topic_id: bytes = b"", partition: int = -1) -> None:
        """Errors: GroupError for a commit that is refused. With a topic, for that partition (epochs that are behind)."""

    def looks_at_partitions(self, claim: CommitClaim) -> bool:
        """Whether a commit that was accepted as a whole is checked for each partition as well: it may be of an epoch that is over."""
        return True

    def committed(self, member_id: str, timers: Timers, now_ms: int) -> None:
        """A member's commit was accepted: what a session is kept alive by, where commits do that."""
        return None

    @abstractmethod
    def check_fetch(self, claim: CommitClaim) -> None:
        """Errors: GroupError for a fetch of offsets that is refused."""

    @abstractmethod
    def check_delete(self) -> None:
        """Errors: GroupError for a group that DeleteGroups may not delete."""

    @abstractmethod
    def check_delete_offsets(self) -> None:
        """Errors: GroupError for a group whose offsets OffsetDelete may not touch at all."""

    @abstractmethod
    def is_subscribed(self, topic: str) -> bool:
        """Whether offsets of this topic are kept from expiry and OffsetDelete."""

    @abstractmethod
    def expiry_base_ms(self, commit_ms: int) -> int | None:
        """From when on the retention of an offset that was committed then counts; None for offsets that do not expire now."""

    @abstractmethod
    def tombstones(self) -> list[Record]:
        """The records that delete the group, in Kafka's order, without those of its offsets."""

    def summary(self) -> GroupSummary:
        """The group as a row of a list; its kind adds what it knows (epoch, number of members). Offsets are not in it."""
        return GroupSummary(group_id=self.group_id, kind=self.type, state=self.state_name(), protocol_type=self.protocol_type)

    def description(self, topics: Topics) -> GroupDescription:
        """The group with its members, as its kind describes them; what a blob or record holds never raises here."""
        return GroupDescription(summary=self.summary())
