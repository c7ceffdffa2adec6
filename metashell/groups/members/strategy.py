"""An assignor as a member has it: what it sends along, how it assigns when it leads, and what it learns when it is assigned."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple, Protocol

from metashell.codec.blobs.consumer_protocol import Assignment, Subscription
from metashell.groups.topics import Topics


class Joined(NamedTuple):
    """A member as its leader sees it."""

    subscription: Subscription
    instance_id: str | None = None


class Strategy(Protocol):
    """One entry of `partition.assignment.strategy`. It may keep what it learns."""

    @property
    def name(self) -> str: ...

    @property
    def is_cooperative(self) -> bool:
        """Whether members may keep their partitions while they rejoin."""
        ...

    def user_data(self, topics: Collection[str]) -> bytes | None:
        """What is sent along with a subscription."""
        ...

    def assign(self, topics: Topics, members: Mapping[str, Joined]) -> Mapping[str, Assignment]:
        """What the leader gives each member. Errors: MetashellError, which the application gets."""
        ...

    def on_assignment(self, given: Assignment, generation: int) -> str | None:
        """Take in what this member was given: why it has to rejoin at once, or None."""
        ...
