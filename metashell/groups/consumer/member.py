"""A member of a consumer group, as its records say it is.

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from metashell.codec import messages
from metashell.codec.java_hash import string_hash_order
from metashell.groups.consumer.partitions import NOTHING, Held, held_of_record

STABLE: Final = 0
UNREVOKED: Final = 1
UNRELEASED: Final = 2
STATE_NAMES: Final = {STABLE: "STABLE", UNREVOKED: "UNREVOKED_PARTITIONS", UNRELEASED: "UNRELEASED_PARTITIONS"}
"""Any other number is a state of a newer Kafka."""

LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2
"""The epoch of a static member that left and is expected back."""


class ClassicProtocols(NamedTuple):
    """What a member that speaks the classic protocol joined with. Shape: protocols in the member's order, name and metadata."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]

    @property
    def name(self) -> str:
        """The protocol that its joins are answered with."""
        return self.protocols[0][0]

    @property
    def metadata(self) -> bytes:
        """Its subscription; all protocols have the same."""
        return self.protocols[0][1]


class Member(NamedTuple):
    """Shape: `names` are in the order of Kafka's set. `assigned` and `revoking` (told to give up, not confirmed) share no partition."""

    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: int = STABLE
    assigned: Held = NOTHING
    revoking: Held = NOTHING
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    names: tuple[str, ...] = ()
    regex: str | None = ""
    server_assignor: str | None = None
    classic: ClassicProtocols | None = None

    @property
    def subscription(self) -> tuple[object, ...]:
        """What counts of subscribers are made from."""
        return self.names, self.regex, self.classic

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state == STABLE and self.epoch == assignment_epoch

    def same_as(self, other: Member) -> bool:
        """Whether both are equal; the order of names does not count."""
        return self == other or (self._replace(names=()) == other._replace(names=()) and set(self.names) == set(other.names))


def names_in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names as the java.util.HashSet has them that is made from them."""
    names = tuple(names)
    return string_hash_order(names, max(int(len(names) / 0.75) + 1, 16))


def with_metadata(member: Member, value: messages.ConsumerGroupMemberMetadataValue) -> Member:
    """The member with the subscription that a record of type 5 has."""
    classic = value.classic_member_metadata
    return member._replace(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        client_id=value.client_id,
        client_host=value.client_host,
        names=names_in_order(value.subscribed_topic_names),
        regex=value.subscribed_topic_regex,
        server_assignor=value.server_assignor,
        classic=None
        if classic is None
        else ClassicProtocols(
            classic.session_timeout_ms, tuple((protocol.name, protocol.metadata) for protocol in classic.supported_protocols)
        ),
    )


def with_assignment(member: Member, value: messages.ConsumerGroupCurrentMemberAssignmentValue) -> Member:
    """The member with the epochs and partitions that a record of type 8 has."""
    return member._replace(
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=value.state,
        assigned=held_of_record(value.assigned_partitions, value.member_epoch),
        revoking=held_of_record(value.partitions_pending_revocation, value.member_epoch),
    )
