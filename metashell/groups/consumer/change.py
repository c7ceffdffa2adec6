"""What a request changes of a group."""

from __future__ import annotations

from typing import NamedTuple

from metashell.groups.consumer.group import ConsumerGroup
from metashell.groups.consumer.member import Member


class Change(NamedTuple):
    """A request's change to a group: the member as it was and as it will be, and what has become of the group's epoch."""

    group: ConsumerGroup
    member: Member
    updated: Member
    epoch: int
    is_homogeneous: bool
