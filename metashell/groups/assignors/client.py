"""The assignors of clients by name: range, roundrobin, sticky, cooperative-sticky.

`range` gives each member consecutive partitions of each topic; where racks matter, those of the member's rack first (KIP-881). `roundrobin`
deals all partitions to the members in turn.
Source: org.apache.kafka.clients.consumer.RangeAssignor, RoundRobinAssignor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from metashell.codec.java import string_hash_order, string_order
from metashell.groups.assignors import (
    AssignorError,
    Members,
    Partition,
    PartitionRacks,
    in_member_order,
    known_topics,
    partition_order,
    racks_matter,
    sticky,
)


class ClientAssignment(NamedTuple):
    """An assignment: partitions by member, in the order of Kafka's lists.

    The sticky assignors also return the new owners of partitions that move from one member to another, if they track them
    (`transferring`), and the newest generation that a member claims. For the others both are None.
    """

    partitions: dict[str, list[Partition]]
    transferring: dict[Partition, str] | None = None
    newest_generation: int | None = None


CLIENT_ASSIGNORS: Final[dict[str, Callable[[Members, Mapping[str, PartitionRacks]], ClientAssignment]]] = {
    "range": lambda members, topics: ClientAssignment(assign_client_range(members, topics)),
    "roundrobin": lambda members, topics: ClientAssignment(assign_client_roundrobin(members, topics)),
    "sticky": lambda members, topics: ClientAssignment(*sticky.assign_eager(members, topics)),
    "cooperative-sticky": lambda members, topics: ClientAssignment(*sticky.assign_cooperative(members, topics)),
}


def run_client_assignor(name: str, members: Members, topics: Mapping[str, PartitionRacks]) -> dict[str, list[Partition]]:
    """Assign partitions to members. Shape: members in the leader's order; topics with the racks of each partition's replicas.

    Errors: AssignorError if Kafka's class throws; KeyError for a name that is not in `CLIENT_ASSIGNORS`.
    """
    return run_client_assignor_in_full(name, members, topics).partitions


def run_client_assignor_in_full(name: str, members: Members, topics: Mapping[str, PartitionRacks]) -> ClientAssignment:
    """Assign partitions to members, and return all results of the assignor. Errors: as above."""
    return CLIENT_ASSIGNORS[name](members, topics)


def assign_client_range(members: Members, topics: Mapping[str, PartitionRacks]) -> dict[str, list[Partition]]:
    """Assign by `range`. Partitions are in Kafka's order: topics in that of a hash table, or sorted if racks mattered."""
    given: dict[str, list[Partition]] = {member_id: [] for member_id in members}
    known = known_topics(members, topics)
    order = in_member_order(members)
    dealt = [
        _RangeTopic(topic, known[topic], {one: members[one].rack or None for one in order if topic in members[one].topics}, given)
        for topic in string_hash_order(known)
    ]
    has_racks = any(topic.has_racks for topic in dealt)
    if has_racks:
        alike: dict[tuple[object, ...], list[_RangeTopic]] = {}
        for topic in dealt:
            alike.setdefault((tuple(topic.subscribers.items()), len(topic.racks)), []).append(topic)
        for group in alike.values():
            if len(group) > 1:
                _deal_together(group)
            elif group[0].has_racks:
                group[0].deal_matching()
    for topic in dealt:
        topic.deal()
    if has_racks:
        for partitions in given.values():
            partitions.sort(key=partition_order)
    return given


class _RangeTopic:
    """A topic during `range`. Shape: `subscribers` are the racks of its members, in their order; `left` the unassigned partitions."""

    def __init__(
        self, name: str, racks: list[frozenset[str]], subscribers: dict[str, str | None], given: dict[str, list[Partition]]
    ) -> None:
        self.name = name
        self.racks = racks
        self.subscribers = subscribers
        self.has_racks = racks_matter({rack for rack in subscribers.values() if rack is not None}, racks)
        self.left = dict.fromkeys(range(len(racks)))
        self._given = given
        self._share, self._extras = divmod(len(racks), len(subscribers))
        self._counts = dict.fromkeys(subscribers, 0)

    def room(self, member_id: str) -> int:
        return max(0, self._share + (self._extras > 0) - self._counts[member_id])

    def suits(self, member_id: str, partition: int) -> bool:
        rack = self.subscribers[member_id]
        return rack is None or rack in self.racks[partition]

    def give(self, member_id: str, partitions: list[int]) -> None:
        self._given[member_id] += [(self.name, partition) for partition in partitions]
        self._counts[member_id] += len(partitions)
        self._extras -= self._counts[member_id] > self._share
        for partition in partitions:
            del self.left[partition]

    def deal_matching(self) -> None:
        for member_id in self.subscribers:
            self._deal_to(member_id, (partition for partition in self.left if self.suits(member_id, partition)))

    def deal(self) -> None:
        for member_id in self.subscribers:
            self._deal_to(member_id, iter(self.left))

    def _deal_to(self, member_id: str, partitions: Iterator[int]) -> None:
        if taken := list(islice(partitions, self.room(member_id))):
            self.give(member_id, taken)


def _deal_together(topics: list[_RangeTopic]) -> None:
    """Assign topics with equal subscribers and counts together: a member gets the same partition of all if its rack suits all of them."""
    waiting = list(topics[0].subscribers)
    for partition in range(len(topics[0].racks)):
        for member_id in waiting:
            if all(topic.suits(member_id, partition) and topic.room(member_id) for topic in topics):
                for topic in topics:
                    topic.give(member_id, [partition])
                if not any(topic.room(member_id) for topic in topics):
                    waiting.remove(member_id)
                break


def assign_client_roundrobin(members: Members, topics: Mapping[str, PartitionRacks]) -> dict[str, list[Partition]]:
    """Assign by `roundrobin`. Members that are not subscribed to a topic are skipped."""
    if not members:
        raise AssignorError("java.lang.IllegalArgumentException", "CircularIterator can only be used on non-empty lists")
    given: dict[str, list[Partition]] = {member_id: [] for member_id in members}
    known = known_topics(members, topics)
    order = in_member_order(members)
    subscribed = {member_id: frozenset(member.topics) for member_id, member in members.items()}
    at = 0
    for topic in sorted(known, key=string_order):
        for partition in range(len(known[topic])):
            while topic not in subscribed[order[at]]:
                at = (at + 1) % len(order)
            given[order[at]].append((topic, partition))
            at = (at + 1) % len(order)
    return given
