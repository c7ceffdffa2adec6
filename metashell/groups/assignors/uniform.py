"""The broker's assignor `uniform`, for members with the same subscription and for members with different ones.

Ties between members with different subscriptions are broken as observed in Kafka 4.3.1.
Source: org.apache.kafka.coordinator.group.assignor.UniformHomogeneousAssignmentBuilder, UniformHeterogeneousAssignmentBuilder."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import Final

from metashell.codec.java import bucket_count, copy_capacity, table_order, uuid_hash_order
from metashell.groups.assignors import ASSIGNOR_EXCEPTION, Assigned, AssignorError, PartitionCount, ServerGroup, known_count


def assign_homogeneous(group: ServerGroup, partition_count: PartitionCount) -> Assigned:
    """Assign to members with equal subscriptions. Sizes differ by one at most, and a member keeps partitions up to its share."""
    topic_ids = next(iter(group.members.values())).topic_ids
    if not topic_ids:
        return {}
    counts = {topic_id: known_count(topic_id, partition_count) for topic_id in uuid_hash_order(topic_ids, copy_capacity(len(topic_ids)))}
    owned: dict[bytes, set[int]] = {topic_id: set() for topic_id in counts}
    for member in group.members.values():
        for topic_id, partitions in member.previous.items():
            if topic_id in owned:
                owned[topic_id].update(partitions)
    free: _Free = [(topic_id, sorted({*range(count)}.difference(owned[topic_id]))) for topic_id, count in counts.items()]
    targets, wanting = _keep(group, counts, free)
    _give(targets, wanting, free)
    return targets


_Free = list[tuple[bytes, Sequence[int]]]
"""Partitions without an owner, in the order in which they are given: some of a topic, then some of another, as slices are quick."""


def _keep(group: ServerGroup, counts: dict[bytes, int], free: _Free) -> tuple[Assigned, list[tuple[str, int]]]:
    """Return the partitions that each member keeps, and how many more each needs. Surplus partitions are added to the end of `free`."""
    share, extras = divmod(sum(counts.values()), len(group.members))
    targets: Assigned = {}
    wanting = []
    left = len(group.members)
    for member_id, member in group.members.items():
        takes_extra = extras > 0
        room = share + takes_extra
        kept = targets[member_id] = {}
        for topic_id, partitions in member.previous.items():
            if topic_id not in counts:
                continue
            count = len(partitions)
            if count <= room:
                kept[topic_id] = tuple(partitions)
                room -= count
                continue
            ordered = tuple(partitions)
            if room:
                kept[topic_id] = tuple(sorted(ordered[:room]))
            free.append((topic_id, ordered[room:]))
            room = 0
        if room and takes_extra and left > extras:
            # A later member may already have one more than its share, and then keeps it instead.
            room -= 1
            takes_extra = False
        if room:
            wanting.append((member_id, room))
        extras -= takes_extra
        left -= 1
    return targets, wanting


def _give(targets: Assigned, wanting: list[tuple[str, int]], free: _Free) -> None:
    parts = iter(free)
    topic_id: bytes = b""
    partitions: Sequence[int] = ()
    at = 0
    for member_id, room in wanting:
        kept = targets[member_id]
        while room:
            if at == len(partitions):
                (topic_id, partitions), at = next(parts), 0
                continue
            given = partitions[at : at + room]
            at += len(given)
            room -= len(given)
            kept[topic_id] = tuple(sorted((*kept.get(topic_id, ()), *given)))
    if at < len(partitions) or any(left for _, left in parts):
        raise AssignorError(ASSIGNOR_EXCEPTION, "Partitions were left unassigned")


SWEEPS: Final = 16
"""The most passes over all topics."""


def assign_heterogeneous(group: ServerGroup, partition_count: PartitionCount) -> Assigned:
    """Assign to members with different subscriptions: keep, give the rest to the least loaded, then balance each topic."""
    subscribers: dict[bytes, list[int]] = {}
    for number, member in enumerate(group.members.values()):
        for topic_id in member.topic_ids:
            known_count(topic_id, partition_count)
            subscribers.setdefault(topic_id, []).append(number)
    return _Builder(group, subscribers, partition_count).build() if subscribers else {}


class _Partitions:
    """A member's partitions of one topic, in the order of Kafka's hash set of this capacity.

    As observed in Kafka 4.3.1: a previous set is copied, and a new one has room for a subscriber's even share of the topic.
    """

    __slots__ = ("_capacity", "_items", "_peak")

    def __init__(self, partitions: Collection[int], capacity: int) -> None:
        self._items = dict.fromkeys(partitions)
        self._capacity = capacity
        self._peak = len(self._items)

    def add(self, partition: int) -> None:
        self._items[partition] = None
        self._peak = max(self._peak, len(self._items))

    def discard(self, partition: int) -> None:
        self._items.pop(partition, None)

    def __len__(self) -> int:
        return len(self._items)

    def in_order(self) -> tuple[int, ...]:
        return tuple(table_order(self._items, int, bucket_count(self._capacity, self._peak)))


class _Builder:
    """Shape: members are numbers, in their order. `owners` has the owner of each partition by topic, -1 for none."""

    def __init__(self, group: ServerGroup, subscribers: dict[bytes, list[int]], partition_count: PartitionCount) -> None:
        self.group = group
        self.subscribers = subscribers
        self.owners = {topic_id: [-1] * known_count(topic_id, partition_count) for topic_id in subscribers}
        self.sizes = [0] * len(group.members)
        self.targets: list[dict[bytes, _Partitions]] = []

    def build(self) -> Assigned:
        self._keep()
        free = {topic_id: [at for at, owner in enumerate(owners) if owner < 0] for topic_id, owners in self.owners.items()}
        for topic_id in self._by_pressure({topic_id for topic_id, partitions in free.items() if partitions}):
            takers = _Takers(self._by_size(topic_id))
            for partition in free[topic_id]:
                self._give(topic_id, partition, takers.next())
        self._balance(self._by_pressure({topic_id for topic_id, numbers in self.subscribers.items() if len(numbers) > 1}))
        return {
            member_id: {topic_id: partitions.in_order() for topic_id, partitions in target.items()}
            for member_id, target in zip(self.group.members, self.targets, strict=True)
        }

    def _keep(self) -> None:
        for number, member in enumerate(self.group.members.values()):
            subscribed = set(member.topic_ids)
            kept = {
                topic_id: _Partitions(partitions, copy_capacity(len(partitions)))
                for topic_id, partitions in member.previous.items()
                if topic_id in subscribed
            }
            self.targets.append(kept)
            for topic_id, partitions in kept.items():
                self.sizes[number] += len(partitions)
                owners = self.owners[topic_id]
                for partition in member.previous[topic_id]:
                    if not 0 <= partition < len(owners):
                        text = f"Index {partition} out of bounds for length {len(owners)}"
                        raise AssignorError("java.lang.ArrayIndexOutOfBoundsException", text)
                    owners[partition] = number

    def _by_pressure(self, topic_ids: set[bytes]) -> list[bytes]:
        """Sort topics by partitions per subscriber, the most first; then fewer subscribers first; then by id as signed numbers."""

        def key(topic_id: bytes) -> tuple[float, int, int, int]:
            subscribers = len(self.subscribers[topic_id])
            most, least = (int.from_bytes(half, "big", signed=True) for half in (topic_id[:8], topic_id[8:]))
            return -len(self.owners[topic_id]) / subscribers, subscribers, most, least

        return sorted(topic_ids, key=key)

    def _give(self, topic_id: bytes, partition: int, number: int) -> None:
        owner, target = self.owners[topic_id][partition], self.targets[number]
        if owner >= 0:
            held = self.targets[owner].get(topic_id)
            if held is not None:
                held.discard(partition)
                if not held:
                    del self.targets[owner][topic_id]
            self.sizes[owner] -= 1
        if topic_id not in target:
            share = -(-len(self.owners[topic_id]) // len(self.subscribers[topic_id]))
            target[topic_id] = _Partitions((), share * 4 // 3 + 1)
        target[topic_id].add(partition)
        self.owners[topic_id][partition] = number
        self.sizes[number] += 1

    def _balance(self, topic_ids: list[bytes]) -> None:
        last_moved = -1
        for _ in range(SWEEPS):
            for at, topic_id in enumerate(topic_ids):
                if at == last_moved:
                    # A whole pass since the last move has found nothing to balance.
                    return
                if self._balance_topic(topic_id) or last_moved < 0:
                    last_moved = at

    def _by_size(self, topic_id: bytes) -> list[tuple[int, int]]:
        """Return the subscribers of a topic with their numbers of partitions, the least loaded first."""
        return sorted((self.sizes[number], number) for number in self.subscribers[topic_id])

    def _balance_topic(self, topic_id: bytes) -> bool:
        """Move partitions of a topic from the most to the least loaded member until they differ by one. Returns whether one was moved."""
        ranked = self._by_size(topic_id)
        if ranked[-1][0] - ranked[0][0] < 2:
            return False
        held: dict[int, list[int]] = {}
        for partition, owner in enumerate(self.owners[topic_id]):
            held.setdefault(owner, []).append(partition)
        takers, givers = _Takers(ranked), _Givers(ranked)
        moved = False
        while (giver := givers.next_with(held)) is not None and givers.load - takers.load > 1:
            self._give(topic_id, held[giver].pop(), takers.next())
            givers.gave()
            moved = True
        return moved


class _Takers:
    """Members that get partitions. The next one is the least loaded; of equals, the first at the start."""

    def __init__(self, ranked: list[tuple[int, int]]) -> None:
        self._numbers = [number for _, number in ranked]
        self._heap = [(load, rank) for rank, (load, _) in enumerate(ranked)]

    @property
    def load(self) -> int:
        """The load of the next one."""
        return self._heap[0][0]

    def next(self) -> int:
        """Return the next one, and add one to its load."""
        load, rank = self._heap[0]
        heapreplace(self._heap, (load + 1, rank))
        return self._numbers[rank]


class _Givers:
    """Members that give partitions. The next one is the most loaded; of equals, the one of the highest rank.

    A member that has no partition of the topic leaves, and the member of the highest rank takes its rank, as observed in Kafka 4.3.1.
    """

    def __init__(self, ranked: list[tuple[int, int]]) -> None:
        self._numbers = [number for _, number in ranked]
        self._loads = [load for load, _ in ranked]
        self._heap = [(-load, -rank) for rank, load in enumerate(self._loads)]
        heapify(self._heap)

    @property
    def load(self) -> int:
        """The load of the next one."""
        return -self._heap[0][0]

    def next_with(self, held: Mapping[int, Sequence[int]]) -> int | None:
        """Return the next one that has a partition of the topic, None if there is none."""
        while self._heap:
            load, rank = -self._heap[0][0], -self._heap[0][1]
            if rank < len(self._loads) and load == self._loads[rank]:
                if held.get(self._numbers[rank]):
                    return self._numbers[rank]
                heappop(self._heap)
                self._leave(rank)
            else:
                heappop(self._heap)
        return None

    def _leave(self, rank: int) -> None:
        number, load = self._numbers.pop(), self._loads.pop()
        if rank < len(self._loads):
            self._numbers[rank], self._loads[rank] = number, load
            heappush(self._heap, (-load, -rank))

    def gave(self) -> None:
        """Subtract one from the load of the next one."""
        load, rank = -self._heap[0][0], -self._heap[0][1]
        self._loads[rank] = load - 1
        heapreplace(self._heap, (1 - load, -rank))
