"""The sticky assignors for members that are subscribed to different topics.

With equal subscriptions the fair share of each member is known beforehand, and one pass suffices (`sticky`). Here it is not: a member of a
topic of 2 partitions cannot have the 10 that another has. So partitions are first given to the least loaded subscriber, and then moved one
by one, while a move brings two members closer together. A result that moved partitions without improving the balance is dropped.

Moves are recorded by topic. If t-0 moved from a to b and t-1 shall move from b to a, t-0 goes back instead, and neither has moved.
Source: org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor: GeneralAssignmentBuilder and PartitionMovements."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from metashell.codec.java import bucket_count, string_hash, string_hash_order, string_order, table_order
from metashell.groups.assignors import AssignorError, Members, OwnershipClaim, Partition, Racks, SettledClaims, free_partitions


class UnequalSubscriptionsBuilder:
    """Builds an assignment. Members are numbers, in the order of their ids."""

    def __init__(
        self,
        members: Members,
        topics: Mapping[str, Sequence[frozenset[str]]],
        said: Mapping[str, OwnershipClaim],
        claims: SettledClaims,
        racks: Racks,
    ) -> None:
        self._ids = sorted(members, key=string_order)
        self._numbers = {member_id: number for number, member_id in enumerate(self._ids)}
        self._claims = claims
        self._racks = racks
        counts = {topic: len(partitions) for topic, partitions in topics.items()}
        topics_of = [[topic for topic in members[member_id].topics if topic in counts] for member_id in self._ids]
        self._loads = Loads(topics_of, counts)
        self._subscribed: dict[str, list[int]] = {topic: [] for topic in counts}
        """The subscribers of each topic, in the leader's order."""
        for member_id, member in members.items():
            for topic in filter(counts.__contains__, member.topics):
                self._subscribed[topic].append(self._numbers[member_id])
        self._subscribers = {topic: len(numbers) for topic, numbers in self._subscribed.items()}
        few_first = sorted(counts, key=self._topic_order)
        self._every = [(topic, number) for topic in few_first for number in range(counts[topic])]
        self._before = self._older_owners(said)
        self._moves = Moves()
        self._is_strange = False
        """Whether a nonexistent partition is kept, because of which Kafka may assign others twice."""
        self._hash_order = [self._numbers[member_id] for member_id in string_hash_order(members)]

    def _topic_order(self, topic: str) -> tuple[int, bytes]:
        return self._subscribers[topic], string_order(topic)

    def _partition_order(self, partition: Partition) -> tuple[int, bytes, int]:
        return *self._topic_order(partition[0]), partition[1]

    def _older_owners(self, said: Mapping[str, OwnershipClaim]) -> dict[Partition, int]:
        """Return the previous owners of partitions, by the newest claims that are older than the newest generation."""
        older: dict[Partition, tuple[int, int]] = {}
        for member_id, claim in said.items():
            generation = -1 if claim.generation is None else claim.generation
            if generation >= self._claims.newest_generation:
                continue
            for partition in claim.owned:
                if partition not in older or generation > older[partition][1]:
                    older[partition] = self._numbers[member_id], generation
        return {partition: number for partition, (number, _) in older.items()}

    def build(self) -> dict[str, list[Partition]]:
        loads = self._loads
        must_revoke = self._keep()
        self._is_strange = not set(loads.owner).issubset(self._every)
        free = free_partitions(self._every, set(loads.owner), self._partition_order)
        is_fresh = not any(loads.held)
        self._deal(free)
        self._set_aside()
        dealt = loads.snapshot()
        spread = loads.spread()
        if not must_revoke:
            # New partitions move first. If that suffices, no member loses one.
            self._balance([partition for partition in free if self._subscribers[partition[0]] > 1])
        has_moved = self._balance([partition for partition in self._every if self._subscribers[partition[0]] > 1])
        if not is_fresh and has_moved and loads.spread() >= spread:
            loads.restore(dealt)
        return dict(zip(self._ids, loads.held, strict=True))

    def _keep(self) -> bool:
        """Let members keep subscribed partitions in their racks. Returns whether others must be taken from them."""
        must_revoke = False
        for member_id, owned in self._claims.owned.items():
            number = self._numbers[member_id]
            for partition in owned:
                if partition[0] in self._loads.topics_of[number] and self._racks.suits(member_id, partition):
                    self._loads.put(number, partition)
                else:
                    must_revoke = True
        return must_revoke

    def _deal(self, free: list[Partition]) -> None:
        """Give each partition to its least loaded subscriber. If racks matter, those with a member in their rack come first."""
        loads = self._loads
        loads.start()
        if self._racks.matter:
            free = [partition for partition in free if not self._deal_near(partition)]
        for partition in free:
            loads.give(loads.least_loaded(partition[0]), partition)

    def _deal_near(self, partition: Partition) -> bool:
        for _, number in self._loads.ring:
            if partition[0] in self._loads.topics_of[number] and self._racks.suits(self._ids[number], partition):
                self._loads.give(number, partition)
                return True
        return False

    def _set_aside(self) -> None:
        """Exclude members whose partitions cannot change: they have all that they can have, and share no topic with others."""
        loads = self._loads
        for number, held in enumerate(loads.held):
            if len(held) >= loads.limits[number] and all(self._subscribers[topic] < 2 for topic, _ in held):
                loads.set_aside(number)

    def _balance(self, movable: list[Partition]) -> bool:
        """Move partitions until no move improves the balance. Returns whether one was moved."""
        loads = self._loads
        has_moved = False
        moved = True
        while moved:
            moved = False
            for partition in movable:
                if self._is_balanced():
                    break
                taker = self._taker(partition)
                if taker is not None:
                    instead = self._moves.instead(partition, loads.owner[partition], taker)
                    self._moves.add(instead, loads.owner[instead], taker)
                    loads.move(instead, taker)
                    moved = has_moved = True
        return has_moved

    def _is_balanced(self) -> bool:
        return self._loads.is_balanced_by(self._hash_order) if self._is_strange else self._loads.is_balanced()

    def _taker(self, partition: Partition) -> int | None:
        """Return a member with at least two partitions fewer than the owner: the previous owner, else the least loaded one."""
        loads = self._loads
        size = loads.size(loads.owner[partition])
        before = self._before.get(partition)
        if before is not None and size > loads.size(before) + 1:
            return before
        # As in Kafka, ask each subscriber, even an excluded one.
        if self._is_strange and not any(size > loads.size(number) + 1 for number in self._subscribed[partition[0]]):
            return None
        taker = loads.least_loaded(partition[0])
        return taker if size > loads.size(taker) + 1 else None


_NULL_POINTER: Final = "java.lang.NullPointerException"
_NO_LIST: Final = 'Cannot invoke "java.util.List.size()" because the return value of "java.util.Map.get(Object)" is null'


class Loads:
    """The partitions of members. Members are numbers, in the order of their ids; `ring` has the included ones, the least loaded first.

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
        """Return a member's number of partitions. Errors: AssignorError for an excluded one: Kafka fails so after contradictory claims."""
        if number in self._aside:
            raise AssignorError(_NULL_POINTER, _NO_LIST)
        return len(self.held[number])

    def put(self, number: int, partition: Partition) -> None:
        self.held[number].append(partition)
        self.owner[partition] = number
        self._holders[partition[0]][number] += 1

    def start(self) -> None:
        """Include all members."""
        self.ring = sorted((len(held), number) for number, held in enumerate(self.held))

    def set_aside(self, number: int) -> None:
        """Exclude a member: it keeps its partitions and gets no more."""
        self._leave(number)
        self._aside.add(number)

    def _leave(self, number: int) -> None:
        del self.ring[bisect_left(self.ring, (self.size(number), number))]

    def give(self, number: int, partition: Partition) -> None:
        """Give an included member a partition."""
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
        """Return the least loaded included subscriber of a topic."""
        return next(number for _, number in self.ring if topic in self._topic_sets[number])

    def is_balanced_by(self, order: Iterable[int]) -> bool:
        """`is_balanced` for partitions with two owners, of which the last in this order counts. It checks every partition."""
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
        """Return whether no partition could move to a subscriber with at least two fewer partitions that could have more."""
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
        """Return whether the last result still holds, so that it need not be computed again."""
        if self._could is None:
            return False
        number, topic, holder = self._could
        size = self.size(number)
        return size != self.limits[number] and self._holders[topic][holder] > 0 and self.size(holder) > size + 1

    def spread(self) -> int:
        """Return the sum of the differences between any two included members."""
        sizes = [size for size, _ in self.ring]
        return sum(size * (2 * at - len(sizes) + 1) for at, size in enumerate(sizes))

    def snapshot(self) -> list[list[Partition]]:
        return [list(held) for held in self.held]

    def restore(self, held: list[list[Partition]]) -> None:
        """Restore earlier partitions, with all members excluded."""
        self.held = held
        self.ring = []


Pair = tuple[int, int]
"""The member before and the member after a move."""


class _Moved:
    """Partitions of one topic that went from one member to another."""

    def __init__(self) -> None:
        self.partitions: dict[Partition, None] = {}
        self._peak = 0

    def add(self, partition: Partition) -> None:
        self.partitions[partition] = None
        self._peak = max(self._peak, len(self.partitions))

    def first(self) -> Partition:
        """Return the first one in the order of Java's hash set."""
        return table_order(self.partitions, _hash, bucket_count(16, self._peak))[0]


def _hash(partition: Partition) -> int:
    """Return TopicPartition.hashCode."""
    return 31 * (31 + partition[1]) + string_hash(partition[0])


class Moves:
    """The moves so far, each partition as if it had moved from its first owner to its last directly."""

    def __init__(self) -> None:
        self._moved: dict[tuple[str, Pair], _Moved] = {}
        self._pairs: dict[Partition, Pair] = {}

    def instead(self, partition: Partition, owner: int, taker: int) -> Partition:
        """Return the partition to move instead if one of this topic moved in the opposite direction before: that one goes back."""
        giver = self._pairs.get(partition, (owner, taker))[0]
        back = self._moved.get((partition[0], (taker, giver)))
        return partition if back is None else back.first()

    def add(self, partition: Partition, owner: int, taker: int) -> None:
        before = self._pairs.pop(partition, None)
        if before is not None:
            self._forget(partition, before)
            owner = before[0]
            if owner == taker:
                return
        pair = (owner, taker)
        self._pairs[partition] = pair
        self._moved.setdefault((partition[0], pair), _Moved()).add(partition)

    def _forget(self, partition: Partition, pair: Pair) -> None:
        key = (partition[0], pair)
        del self._moved[key].partitions[partition]
        if not self._moved[key].partitions:
            del self._moved[key]
