"""The assignors that Kafka's clients bring along, as strategies of a member."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from metashell.codec.blobs.consumer_protocol import Assignment, Partition
from metashell.codec.java_hash import string_hash_order
from metashell.groups.assignors.client import assign
from metashell.groups.assignors.client_group import ClientMember
from metashell.groups.assignors.user_data import cooperative_user_data, sticky_user_data
from metashell.groups.members.strategy import Joined, Strategy
from metashell.groups.topics import Topics


class RangeStrategy:
    """Eager: range and roundrobin, which remember nothing."""

    name = "range"
    is_cooperative = False

    def user_data(self, topics: Collection[str]) -> bytes | None:
        return None

    def assign(self, topics: Topics, members: Mapping[str, Joined]) -> Mapping[str, Assignment]:
        """Members are seen in the order of java.util.HashMap, as a Java leader sees them."""
        wanted = {name: topics.named(name) for name in sorted({name for member in members.values() for name in member.subscription.topics})}
        racks = {name: topic.racks for name, topic in wanted.items() if topic is not None}
        given = assign(self.name, {member_id: client_member(members[member_id]) for member_id in string_hash_order(members)}, racks)
        return {member_id: Assignment(tuple(partitions)) for member_id, partitions in given.items()}

    def on_assignment(self, given: Assignment, generation: int) -> str | None:
        return None


class RoundRobinStrategy(RangeStrategy):
    name = "roundrobin"


class StickyStrategy(RangeStrategy):
    """Eager, so what it owned goes along as user data: at the time of joining the member owns nothing any more."""

    name = "sticky"

    def __init__(self) -> None:
        self._owned: tuple[Partition, ...] | None = None
        self._generation = -1

    def user_data(self, topics: Collection[str]) -> bytes | None:
        return None if self._owned is None else sticky_user_data(self._owned, self._generation)

    def on_assignment(self, given: Assignment, generation: int) -> str | None:
        self._owned, self._generation = given.partitions, generation
        return None


class CooperativeStickyStrategy(RangeStrategy):
    """What is owned stands in the subscription itself; the generation goes along for leaders that read no newer one."""

    name = "cooperative-sticky"
    is_cooperative = True

    def __init__(self) -> None:
        self._generation = -1

    def user_data(self, topics: Collection[str]) -> bytes | None:
        return cooperative_user_data(self._generation)

    def on_assignment(self, given: Assignment, generation: int) -> str | None:
        self._generation = generation
        return None


def strategies(names: Iterable[str]) -> list[Strategy]:
    """New strategies by their names, as a list of assignors in a configuration. Errors: KeyError for an unknown one."""
    known: dict[str, type[RangeStrategy]] = {
        made.name: made for made in (RangeStrategy, RoundRobinStrategy, StickyStrategy, CooperativeStickyStrategy)
    }
    return [known[name]() for name in names]


def client_member(joined: Joined) -> ClientMember:
    one = joined.subscription
    return ClientMember(
        topics=one.topics,
        owned=one.owned,
        generation=one.generation,
        user_data=one.user_data,
        instance_id=joined.instance_id,
        rack=one.rack,
    )
