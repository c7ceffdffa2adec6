"""Share groups' assignor `simple`: a partition may be given to several members, and each member to as many partitions as the others.

Where all members are subscribed to the same topics, all partitions are shared out at once; else those of each topic for themselves. What
decides among equals is the order in which Java's hash tables iterate.

Source: groups.md 15, KIP-932; the rest was watched: what 4.3.1 gives for the golden rows and for random ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import TypeVar

from metashell.codec.java_hash import bucket_count, hash_order, lazy_table_order, table_order, uuid_hash, uuid_hash_order
from metashell.groups.assignors.errors import AssignorError
from metashell.groups.assignors.server_group import Assigned, PartitionCount, ServerGroup, known_count, sorted_targets

TopicPartition = tuple[bytes, int]
Key = TypeVar("Key", bound=Hashable)
Targets = list[dict[bytes, set[int]]]


def assign_simple(group: ServerGroup, partition_count: PartitionCount) -> Assigned:
    """Each partition goes to as many members as it takes for all of them to have one, and members keep what they have."""
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
    """What is held of topics to which nobody is subscribed any more stays where it is, as in Kafka."""
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
    """Share partitions out among members, who are numbers. Shape: `held` may have members that are not subscribed: they lose everything."""
    sharing, rooms = _fair(len(subscribers), len(wanted))
    room = dict(zip(subscribers, rooms, strict=True))
    given = {number: set(keys) for number, keys in held.items()}
    calls = [*(key for keys in held.values() for key in keys), *wanted]
    sharers: dict[Key, dict[int, None]] = {key: {} for key in calls}
    for number, keys in held.items():
        for key in keys:
            sharers[key][number] = None
    peaks = {key: len(members) for key, members in sharers.items()}

    def take(number: int, key: Key) -> None:
        given[number].discard(key)
        del sharers[key][number]

    for number, keys in held.items():
        for key in table_order(keys, hash, bucket_count(16, len(keys)))[: max(0, len(keys) - room.get(number, 0))]:
            take(number, key)
    for key, members in sharers.items():
        for number in hash_order(members, bucket_count(16, peaks[key]))[: max(0, len(members) - sharing)]:
            take(number, key)
    for number in subscribers:
        given.setdefault(number, set())
        room[number] -= len(given[number])
    order = lazy_table_order(calls, hash, _capacity(len(wanted))) if calls else []
    _fill([(key, sharing - len(sharers[key]), sharers[key]) for key in order], room, given)
    return given


def _fair(members: int, partitions: int) -> tuple[int, list[int]]:
    """How many members each partition is for, and how many partitions each of the members may have."""
    if not partitions:
        return 0, [0] * members
    sharing = -(-members // partitions)
    each = sharing * partitions / members
    ends = [ceil(each * number) for number in range(members + 1)]
    return sharing, [end - begin for begin, end in pairwise(ends)]


def _capacity(size: int) -> int:
    """For how many keys Kafka makes a table that shall hold so many."""
    return int((size + 1) / 0.75 + 1)


def _fill(needs: Iterable[tuple[Key, int, Mapping[int, None]]], room: Mapping[int, int], given: dict[int, set[Key]]) -> None:
    """Let members with room have the partitions that too few have: each is asked in turn, and the next partition goes on from there.

    Shape: `needs` are partitions, how many members each still needs, and who has it already.
    """
    ring = _Ring({number: left for number, left in sorted(room.items()) if left > 0})
    for key, missing, sharers in needs:
        if ring.is_empty:
            return
        while missing > 0 and (number := ring.ask()) is not None:
            if number not in sharers:
                missing -= 1
                # The same member may be asked again for a partition: then it counts as given, and nothing changes.
                ring.take(0 if key in given[number] else 1)
                given[number].add(key)


class _Ring:
    """Members with room for more, asked one after the other, round and round."""

    def __init__(self, room: dict[int, int]) -> None:
        self._room = Counter(room)
        self._members = list(room)
        self._next = 0
        self._took = False

    @property
    def is_empty(self) -> bool:
        return not self._members

    def ask(self) -> int | None:
        """The next member; None after a round in which nobody took anything, and from then on.

        Errors: AssignorError where the last member has just left.
        """
        if self._next == len(self._members):
            if not self._took:
                return None
            if not self._members:
                raise AssignorError("java.util.NoSuchElementException")
            self._next, self._took = 0, False
        self._next += 1
        return self._members[self._next - 1]

    def take(self, count: int) -> None:
        """The member that was asked last takes so many; without room it leaves."""
        self._took = True
        number = self._members[self._next - 1]
        self._room[number] -= count
        if self._room[number] <= 0:
            self._next -= 1
            del self._members[self._next]
