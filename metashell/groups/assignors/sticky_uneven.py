"""The sticky assignors where members are subscribed to different topics. Source: groups.md 16.5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metashell.codec.java_hash import string_hash_order, string_order
from metashell.groups.assignors.client_group import Members, Partition
from metashell.groups.assignors.sticky_claims import Claim, Claims, free_partitions
from metashell.groups.assignors.sticky_loads import Loads
from metashell.groups.assignors.sticky_moves import Moves
from metashell.groups.assignors.sticky_racks import Racks


class UnevenShares:
    """Members are numbers, in the order of their ids."""

    def __init__(
        self, members: Members, topics: Mapping[str, Sequence[frozenset[str]]], said: Mapping[str, Claim], claims: Claims, racks: Racks
    ) -> None:
        self._ids = sorted(members, key=string_order)
        self._numbers = {member_id: number for number, member_id in enumerate(self._ids)}
        self._claims = claims
        self._racks = racks
        counts = {topic: len(partitions) for topic, partitions in topics.items()}
        topics_of = [[topic for topic in members[member_id].topics if topic in counts] for member_id in self._ids]
        self._loads = Loads(topics_of, counts)
        self._subscribed: dict[str, list[int]] = {topic: [] for topic in counts}
        """The subscribers of each topic, in the order in which the leader has them."""
        for member_id, member in members.items():
            for topic in filter(counts.__contains__, member.topics):
                self._subscribed[topic].append(self._numbers[member_id])
        self._subscribers = {topic: len(numbers) for topic, numbers in self._subscribed.items()}
        few_first = sorted(counts, key=self._topic_order)
        self._every = [(topic, number) for topic in few_first for number in range(counts[topic])]
        self._before = self._older_owners(said)
        self._moves = Moves()
        self._is_strange = False
        """Whether a partition is kept that does not exist, so that others may be given twice."""
        self._hash_order = [self._numbers[member_id] for member_id in string_hash_order(members)]

    def _topic_order(self, topic: str) -> tuple[int, bytes]:
        return self._subscribers[topic], string_order(topic)

    def _partition_order(self, partition: Partition) -> tuple[int, bytes, int]:
        return *self._topic_order(partition[0]), partition[1]

    def _older_owners(self, said: Mapping[str, Claim]) -> dict[Partition, int]:
        """Who had a partition before, by the newest of the claims that are not of the newest generation."""
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
            # What is new moves first, so that nobody loses anything where that suffices.
            self._balance([partition for partition in free if self._subscribers[partition[0]] > 1])
        has_moved = self._balance([partition for partition in self._every if self._subscribers[partition[0]] > 1])
        if not is_fresh and has_moved and loads.spread() >= spread:
            loads.restore(dealt)
        return dict(zip(self._ids, loads.held, strict=True))

    def _keep(self) -> bool:
        """Let members keep what they are subscribed to and what has their rack; whether something else has to be taken from them."""
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
        """Each to the least loaded of those that are subscribed; where racks matter first those that find a member of their rack."""
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
        """Members for whom nothing can change take part no more: they have all that they can have, and share no topic with others."""
        loads = self._loads
        for number, held in enumerate(loads.held):
            if len(held) >= loads.limits[number] and all(self._subscribers[topic] < 2 for topic, _ in held):
                loads.set_aside(number)

    def _balance(self, movable: list[Partition]) -> bool:
        """Go through partitions until none of them can be moved to good effect; whether one was moved."""
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
        """Who has less by two or more: the member that had the partition before, else the least loaded."""
        loads = self._loads
        size = loads.size(loads.owner[partition])
        before = self._before.get(partition)
        if before is not None and size > loads.size(before) + 1:
            return before
        # As Kafka does, ask each subscriber, though it may take no part.
        if self._is_strange and not any(size > loads.size(number) + 1 for number in self._subscribed[partition[0]]):
            return None
        taker = loads.least_loaded(partition[0])
        return taker if size > loads.size(taker) + 1 else None
