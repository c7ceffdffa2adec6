"""The broker's assignor `uniform` for groups whose members are subscribed to different topics.

Source: org.apache.kafka.coordinator.group.assignor.UniformHeterogeneousAssignmentBuilder.
"""

from __future__ import annotations

from typing import Final

from metashell.groups.assignors.errors import AssignorError
from metashell.groups.assignors.server_group import Assigned, PartitionCount, ServerGroup, known_count, sorted_targets

SWEEPS: Final = 16
"""How often all topics are gone through at most."""


def assign(group: ServerGroup, partition_count: PartitionCount) -> Assigned:
    """Members keep what they are subscribed to; the rest goes to who has least; then each topic is balanced among its subscribers."""
    subscribers: dict[bytes, list[int]] = {}
    for number, member in enumerate(group.members.values()):
        for topic_id in member.topic_ids:
            known_count(topic_id, partition_count)
            subscribers.setdefault(topic_id, []).append(number)
    return _Builder(group, subscribers, partition_count).build() if subscribers else {}


class _Builder:
    """Shape: members are numbers, in their order. `owners` has the owner of each partition of each topic, -1 for none."""

    def __init__(self, group: ServerGroup, subscribers: dict[bytes, list[int]], partition_count: PartitionCount) -> None:
        self.group = group
        self.subscribers = subscribers
        self.owners = {topic_id: [-1] * known_count(topic_id, partition_count) for topic_id in subscribers}
        self.sizes = [0] * len(group.members)
        self.targets: list[dict[bytes, set[int]]] = []

    def build(self) -> Assigned:
        self._keep()
        free = {topic_id: [at for at, owner in enumerate(owners) if owner < 0] for topic_id, owners in self.owners.items()}
        for topic_id in self._by_pressure({topic_id for topic_id, partitions in free.items() if partitions}):
            ranks = _Ranks(self.subscribers[topic_id], self.sizes)
            for partition in free[topic_id]:
                self._give(topic_id, partition, ranks.lowest())
        self._balance(self._by_pressure({topic_id for topic_id, numbers in self.subscribers.items() if len(numbers) > 1}))
        return sorted_targets(dict(zip(self.group.members, self.targets, strict=True)))

    def _keep(self) -> None:
        for number, member in enumerate(self.group.members.values()):
            subscribed = set(member.topic_ids)
            kept = {topic_id: set(partitions) for topic_id, partitions in member.previous.items() if topic_id in subscribed}
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
        """Topics with most partitions for each subscriber first, then those with fewer subscribers, then by id as signed numbers."""

        def key(topic_id: bytes) -> tuple[float, int, int, int]:
            subscribers = len(self.subscribers[topic_id])
            most, least = (int.from_bytes(half, "big", signed=True) for half in (topic_id[:8], topic_id[8:]))
            return -len(self.owners[topic_id]) / subscribers, subscribers, most, least

        return sorted(topic_ids, key=key)

    def _give(self, topic_id: bytes, partition: int, number: int) -> None:
        owner = self.owners[topic_id][partition]
        if owner >= 0:
            held = self.targets[owner].get(topic_id, set())
            held.discard(partition)
            if not held:
                self.targets[owner].pop(topic_id, None)
            self.sizes[owner] -= 1
        self.targets[number].setdefault(topic_id, set()).add(partition)
        self.owners[topic_id][partition] = number
        self.sizes[number] += 1

    def _balance(self, topic_ids: list[bytes]) -> None:
        last_moved = -1
        for _ in range(SWEEPS):
            for at, topic_id in enumerate(topic_ids):
                if at == last_moved:
                    # Since then no topic could be balanced better.
                    return
                if self._balance_topic(topic_id) or last_moved < 0:
                    last_moved = at

    def _balance_topic(self, topic_id: bytes) -> bool:
        """Move partitions from who has most to who has least; whether any was moved."""
        ranks = _Ranks(self.subscribers[topic_id], self.sizes)
        if ranks.spread() <= 1:
            return False
        held: dict[int, list[int]] = {}
        for partition, owner in enumerate(self.owners[topic_id]):
            held.setdefault(owner, []).append(partition)
        moved = False
        while not ranks.is_level():
            giver = ranks.highest()
            while giver >= 0 and not held.get(giver):
                ranks.leave_out()
                giver = ranks.highest()
            if giver < 0:
                break
            partition = held[giver].pop()
            taker = ranks.lowest()
            if ranks.is_level():
                break
            self._give(topic_id, partition, taker)
            moved = True
        return moved


class _Ranks:
    """The subscribers of a topic by how much they have: those at the low end get partitions, those at the high end give some away.

    At each end is a range of members that are equal. One round gives each of them one partition, or takes one; then the range's level has
    changed by one, and it takes in those members who are at this level from the start. The sizes that are looked at are those of members
    outside of the range, whose partitions did not change.
    """

    def __init__(self, numbers: list[int], sizes: list[int]) -> None:
        self._sizes = sizes
        self._sorted = sorted(numbers, key=lambda number: (sizes[number], number))
        self._low_end = 0
        self._low_level = sizes[self._sorted[0]] - 1
        self._low_next = 0
        self._high_start = self._high_end = len(self._sorted)
        self._high_level = sizes[self._sorted[-1]] + 1
        self._high_next = len(self._sorted) - 1

    def spread(self) -> int:
        return self._sizes[self._sorted[-1]] - self._sizes[self._sorted[0]]

    def is_level(self) -> bool:
        return self._high_level - self._low_level <= 1

    def lowest(self) -> int:
        """Who gets the next partition."""
        if self._low_next >= self._low_end:
            self._low_level += 1
            while self._low_end < len(self._sorted) and self._sizes[self._sorted[self._low_end]] == self._low_level:
                self._low_end += 1
            self._low_next = 0
        self._low_next += 1
        return self._sorted[self._low_next - 1]

    def highest(self) -> int:
        """Who gives the next partition away, -1 for nobody."""
        if self._high_next < self._high_start:
            if self._high_end <= self._high_start and self._high_start > 0:
                self._high_level = self._sizes[self._sorted[self._high_start - 1]]
            else:
                self._high_level -= 1
            while self._high_start > 0 and self._sizes[self._sorted[self._high_start - 1]] == self._high_level:
                self._high_start -= 1
            self._high_next = self._high_end - 1
        if self._high_next < 0:
            return -1
        self._high_next -= 1
        return self._sorted[self._high_next + 1]

    def leave_out(self) -> None:
        """Take the member out of the range that `highest` gave last: it has nothing to give."""
        self._high_end -= 1
        at = self._high_next + 1
        self._sorted[at], self._sorted[self._high_end] = self._sorted[self._high_end], self._sorted[at]
