"""How much each member of a group has, and who of them could still take something from whom. Source: groups.md 16.5."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from metashell.groups.assignors.client_group import Partition
from metashell.groups.assignors.errors import AssignorError

_NULL_POINTER: Final = "java.lang.NullPointerException"
_NO_LIST: Final = 'Cannot invoke "java.util.List.size()" because the return value of "java.util.Map.get(Object)" is null'


class Loads:
    """Members are numbers, in the order of their ids; `ring` has those that take part, least loaded first.

    Shape: `held` are the partitions of each member, in the order in which they came; `owner` is the member of each partition.
    """

    def __init__(self, topics_of: Sequence[Sequence[str]], counts: Mapping[str, int]) -> None:
        self.held: list[list[Partition]] = [[] for _ in topics_of]
        self.owner: dict[Partition, int] = {}
        self.topics_of = topics_of
        self._topic_sets = [frozenset(topics) for topics in topics_of]
        self._counts = counts
        self.limits = [sum(counts[topic] for topic in topics) for topics in topics_of]
        self.ring: list[tuple[int, int]] = []
        self._holders: dict[str, Counter[int]] = {topic: Counter() for topic in counts}
        self._could: tuple[int, str, int] | None = None
        self._aside: set[int] = set()

    def size(self, number: int) -> int:
        """How much a member has. Errors: AssignorError for one that takes no part: Kafka asks for it after claims that make no sense."""
        if number in self._aside:
            raise AssignorError(_NULL_POINTER, _NO_LIST)
        return len(self.held[number])

    def put(self, number: int, partition: Partition) -> None:
        self.held[number].append(partition)
        self.owner[partition] = number
        self._holders[partition[0]][number] += 1

    def start(self) -> None:
        """Let all members take part."""
        self.ring = sorted((len(held), number) for number, held in enumerate(self.held))

    def set_aside(self, number: int) -> None:
        """Let a member keep what it has, and get no more."""
        self._leave(number)
        self._aside.add(number)

    def _leave(self, number: int) -> None:
        del self.ring[bisect_left(self.ring, (self.size(number), number))]

    def give(self, number: int, partition: Partition) -> None:
        """Give a member that takes part a partition."""
        self._leave(number)
        self.put(number, partition)
        insort(self.ring, (self.size(number), number))

    def move(self, partition: Partition, taker: int) -> None:
        giver = self.owner[partition]
        self._leave(giver)
        self.held[giver].remove(partition)
        self._holders[partition[0]][giver] -= 1
        insort(self.ring, (self.size(giver), giver))
        self.give(taker, partition)

    def least_loaded(self, topic: str) -> int:
        """Of those who take part and are subscribed to a topic."""
        return next(number for _, number in self.ring if topic in self._topic_sets[number])

    def is_balanced_by(self, order: Iterable[int]) -> bool:
        """`is_balanced` where members hold a partition twice: then the last one in this order is asked. It looks at every partition."""
        if self.ring[0][0] >= self.ring[-1][0] - 1:
            return True
        holders = {partition: number for number in order if number not in self._aside for partition in self.held[number]}
        for size, number in self.ring:
            if size == self.limits[number]:
                continue
            own = set(self.held[number])
            for topic in self.topics_of[number]:
                for partition in ((topic, index) for index in range(self._counts[topic])):
                    if partition not in own and (partition not in holders or self.size(holders[partition]) > size + 1):
                        if partition not in holders:
                            raise AssignorError(_NULL_POINTER, _NO_LIST)
                        return False
        return True

    def is_balanced(self) -> bool:
        """Whether no partition could go to a subscriber that has less by two or more and does not have as much as it can have."""
        most = self.ring[-1][0]
        if self.ring[0][0] >= most - 1:
            return True
        if self._still_could():
            return False
        seen: set[str] = set()
        for size, number in self.ring:
            if size + 1 >= most:
                break
            if size == self.limits[number]:
                continue
            for topic in self.topics_of[number]:
                if topic in seen:
                    continue
                seen.add(topic)
                for holder, count in self._holders[topic].items():
                    if count and self.size(holder) > size + 1:
                        self._could = (number, topic, holder)
                        return False
        return True

    def _still_could(self) -> bool:
        """Whether what was found last still holds, so that nobody has to look again."""
        if self._could is None:
            return False
        number, topic, holder = self._could
        size = self.size(number)
        return size != self.limits[number] and self._holders[topic][holder] > 0 and self.size(holder) > size + 1

    def spread(self) -> int:
        """The sum of the differences between any two who take part."""
        sizes = [size for size, _ in self.ring]
        return sum(size * (2 * at - len(sizes) + 1) for at, size in enumerate(sizes))

    def snapshot(self) -> list[list[Partition]]:
        return [list(held) for held in self.held]

    def restore(self, held: list[list[Partition]]) -> None:
        """Have again what members had, with nobody taking part any more."""
        self.held = held
        self.ring = []
