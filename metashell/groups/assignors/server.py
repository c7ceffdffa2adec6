"""The broker's assignors by name: `uniform` and `range` of consumer groups, `simple` of share groups.

`range` gives consecutive partitions of each topic. `simple` may give a partition to several members, and gives each member as many as the
others: where all members have the same subscription over all partitions at once, else topic by topic. The iteration order of Java's hash
tables breaks ties; where Kafka's text left a tie open, the golden rows of 4.3.1 in tests/golden/groups decided.
Source: org.apache.kafka.coordinator.group.assignor.RangeAssignor, SimpleAssignor; KIP-932.

Those of clients: range, roundrobin, sticky, cooperative-sticky. `range` gives each member consecutive partitions of each topic; where
racks matter, those of the member's rack first (KIP-881). `roundrobin` deals all partitions to the members in turn.
Source: org.apache.kafka.clients.consumer.RangeAssignor, RoundRobinAssignor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from math import ceil
from typing import Final, NamedTuple, TypeVar

from metashell.codec.java import (
    bucket_count,
    hash_order,
    lazy_table_order,
    string_hash_order,
    string_order,
    table_order,
    uuid_hash,
    uuid_hash_order,
)
from metashell.groups.assignors import (
    ASSIGNOR_EXCEPTION,
    Assigned,
    AssignorError,
    Members,
    Partition,
    PartitionCount,
    PartitionRacks,
    ServerGroup,
    in_member_order,
    known_count,
    known_topics,
    member_order,
    partition_order,
    racks_matter,
    sorted_targets,
    sticky,
)
from metashell.groups.assignors.uniform import assign_heterogeneous, assign_homogeneous
from metashell.groups.topics import Topics


def assign_server_range(group: ServerGroup, partition_count: PartitionCount) -> Assigned:
    """Assign by `range`: members with an instance id first, sorted by it; then the others, by member id. Earlier targets do not matter."""
    order = sorted(group.members, key=lambda member_id: member_order(member_id, group.members[member_id].instance_id))
    topics_of = {member_id: group.members[order[0] if group.is_homogeneous else member_id].topic_ids for member_id in order}
    subscribers = Counter(topic_id for topic_ids in topics_of.values() for topic_id in topic_ids)
    ranges = {topic_id: _Ranges(partition_count(topic_id), count) for topic_id, count in subscribers.items()}
    assigned: Assigned = {}
    for member_id, topic_ids in topics_of.items():
        taken = ((topic_id, ranges[topic_id].next_partitions()) for topic_id in topic_ids)
        assigned[member_id] = {topic_id: partitions for topic_id, partitions in taken if partitions}
    return assigned


class _Ranges:
    """Deals the partitions of a topic in order."""

    def __init__(self, count: int | None, subscribers: int) -> None:
        if count is None:
            raise AssignorError(ASSIGNOR_EXCEPTION, "Member is subscribed to a non-existent topic")
        self._share, self._extras = divmod(count, subscribers)
        self._next = 0

    def next_partitions(self) -> tuple[int, ...]:
        first = self._next
        self._next += self._share + (self._extras > 0)
        self._extras -= 1
        return tuple(range(first, self._next))


TopicPartition = tuple[bytes, int]
Key = TypeVar("Key", bound=Hashable)
Targets = list[dict[bytes, set[int]]]


def assign_simple(group: ServerGroup, partition_count: PartitionCount) -> Assigned:
    """Assign by `simple`: each partition goes to as many members as are needed for every member to have one. Members keep partitions."""
    topic_ids = dict.fromkeys(topic_id for member in group.members.values() for topic_id in member.topic_ids)
    if not topic_ids:
        return {}
    wanted = {
        topic_id: [number for number in range(known_count(topic_id, partition_count)) if _may_be_given(group, topic_id, number)]
        for topic_id in (topic_ids if group.is_homogeneous else uuid_hash_order(topic_ids))
    }
    targets = _at_once(group, wanted) if group.is_homogeneous else _by_topic(group, wanted)
    return sorted_targets(dict(zip(group.members, targets, strict=True)))


def _may_be_given(group: ServerGroup, topic_id: bytes, partition: int) -> bool:
    return group.assignable is None or partition in group.assignable.get(topic_id, ())


def _at_once(group: ServerGroup, wanted: Mapping[bytes, Sequence[int]]) -> Targets:
    members = group.members.values()
    targets: Targets = [{topic_id: set() for topic_id in member.previous if topic_id in wanted} for member in members]
    held = {
        number: [(topic_id, partition) for topic_id in targets[number] for partition in member.previous[topic_id]]
        for number, member in enumerate(group.members.values())
    }
    keys = [(topic_id, partition) for topic_id, partitions in wanted.items() for partition in partitions]
    for number, given in _share(keys, range(len(targets)), held, _topic_partition_hash).items():
        for topic_id, partition in given:
            targets[number].setdefault(topic_id, set()).add(partition)
    return targets


def _topic_partition_hash(key: TopicPartition) -> int:
    return 31 * uuid_hash(key[0]) + key[1]


def _by_topic(group: ServerGroup, wanted: Mapping[bytes, Sequence[int]]) -> Targets:
    """Assign topic by topic. As in Kafka, members keep partitions of topics without any subscriber."""
    targets: Targets = [{topic_id: set(numbers) for topic_id, numbers in member.previous.items()} for member in group.members.values()]
    for topic_id, partitions in wanted.items():
        subscribers = [number for number, member in enumerate(group.members.values()) if topic_id in member.topic_ids]
        previous = enumerate(member.previous for member in group.members.values())
        held = {number: list(topics[topic_id]) for number, topics in previous if topic_id in topics}
        for number, given in _share(partitions, subscribers, held, int).items():
            if number in held or given:
                targets[number][topic_id] = given
    return targets


def _share(
    wanted: Sequence[Key], subscribers: Sequence[int], held: Mapping[int, Sequence[Key]], hash: Callable[[Key], int]
) -> dict[int, set[Key]]:
    """Share partitions among members, given as numbers. Shape: members in `held` that are not subscribed lose everything."""
    sharing, rooms = _fair(len(subscribers), len(wanted))
    room = dict(zip(subscribers, rooms, strict=True))
    given = {number: set(keys) for number, keys in held.items()}
    calls = [*(key for keys in held.values() for key in keys), *wanted]
    sharers: dict[Key, dict[int, None]] = {key: {} for key in calls}
    for number, keys in held.items():
        for key in keys:
            sharers[key][number] = None
    peaks = {key: len(members) for key, members in sharers.items()}

    def revoke(number: int, key: Key) -> None:
        given[number].discard(key)
        del sharers[key][number]

    for number, keys in held.items():
        for key in table_order(keys, hash, bucket_count(16, len(keys)))[: max(0, len(keys) - room.get(number, 0))]:
            revoke(number, key)
    for key, members in sharers.items():
        for number in hash_order(members, bucket_count(16, peaks[key]))[: max(0, len(members) - sharing)]:
            revoke(number, key)
    for number in subscribers:
        given.setdefault(number, set())
        room[number] -= len(given[number])
    order = lazy_table_order(calls, hash, _capacity(len(wanted))) if calls else []
    _fill([(key, sharing - len(sharers[key]), sharers[key]) for key in order], room, given)
    return given


def _fair(members: int, partitions: int) -> tuple[int, list[int]]:
    """Return the number of members for each partition, and the number of partitions that each member may have.

    Example: with 3 members and 2 partitions, each partition needs 2 members so that no member is idle. Of 4 places the members get 2, 1
    and 1.
    """
    if not partitions:
        return 0, [0] * members
    sharing = -(-members // partitions)
    each = sharing * partitions / members
    ends = [ceil(each * number) for number in range(members + 1)]
    return sharing, [end - begin for begin, end in pairwise(ends)]


def _capacity(size: int) -> int:
    """Return the capacity with which Kafka creates a hash table for `size` keys."""
    return int((size + 1) / 0.75 + 1)


def _fill(needs: Iterable[tuple[Key, int, Mapping[int, None]]], room: Mapping[int, int], given: dict[int, set[Key]]) -> None:
    """Give partitions with too few members to members with room, in turn; each partition continues where the last one stopped.

    Shape: `needs` are partitions, the number of members that each still needs, and its current members.
    """
    ring = _Ring({number: left for number, left in sorted(room.items()) if left > 0})
    for key, missing, sharers in needs:
        if ring.is_empty:
            return
        while missing > 0 and (number := ring.next_member()) is not None:
            if number not in sharers:
                missing -= 1
                # The turn may come back to a member of this partition. Kafka counts that as given, and nothing changes.
                ring.use_room(0 if key in given[number] else 1)
                given[number].add(key)


class _Ring:
    """Members with room for more, in a circle."""

    def __init__(self, room: dict[int, int]) -> None:
        self._room = Counter(room)
        self._members = list(room)
        self._next = 0
        self._took = False

    @property
    def is_empty(self) -> bool:
        return not self._members

    def next_member(self) -> int | None:
        """Return the next member; None from the end of the first round in which no member used room.

        Errors: AssignorError if the last member has just left.
        """
        if self._next == len(self._members):
            if not self._took:
                return None
            if not self._members:
                raise AssignorError("java.util.NoSuchElementException")
            self._next, self._took = 0, False
        self._next += 1
        return self._members[self._next - 1]

    def use_room(self, count: int) -> None:
        """Reduce the room of the member returned last; without room it leaves the circle."""
        self._took = True
        number = self._members[self._next - 1]
        self._room[number] -= count
        if self._room[number] <= 0:
            self._next -= 1
            del self._members[self._next]


def _uniform(group: ServerGroup, partition_count: PartitionCount) -> Assigned:
    return (assign_homogeneous if group.is_homogeneous else assign_heterogeneous)(group, partition_count)


SERVER_ASSIGNORS: Final[dict[str, Callable[[ServerGroup, PartitionCount], Assigned]]] = {
    "uniform": _uniform,
    "range": assign_server_range,
    "simple": assign_simple,
}


def run_server_assignor(name: str, group: ServerGroup, topics: Topics) -> Assigned:
    """Run the assignor of this name.

    Errors: AssignorError if Kafka's class throws; KeyError for a name that is not in `SERVER_ASSIGNORS`.
    """
    counts: dict[bytes, int | None] = {}

    def partition_count(topic_id: bytes) -> int | None:
        if topic_id not in counts:
            topic = topics.with_id(topic_id)
            counts[topic_id] = None if topic is None else topic.partition_count
        return counts[topic_id]

    return SERVER_ASSIGNORS[name](group, partition_count) if group.members else {}


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
