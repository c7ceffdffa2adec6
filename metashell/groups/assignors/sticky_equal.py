"""The sticky assignors where all members are subscribed to the same topics. Source: groups.md 16.4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from metashell.codec.java_hash import string_hash_order, string_order
from metashell.groups.assignors.client_group import Members, Partition, partition_order
from metashell.groups.assignors.errors import AssignorError
from metashell.groups.assignors.sticky_claims import Claims, free_partitions
from metashell.groups.assignors.sticky_racks import Racks

_ILLEGAL_STATE = "java.lang.IllegalStateException"


class EqualShares:
    """Shape: `given` by member; `moving` are partitions that another member may still have, with their new owners."""

    def __init__(self, members: Members, topics: Mapping[str, Sequence[frozenset[str]]], claims: Claims, racks: Racks) -> None:
        count = sum(map(len, topics.values()))
        if not members:
            raise AssignorError("java.lang.ArithmeticException", "/ by zero")
        self._share, self._extras = divmod(count, len(members))
        self._topics = topics
        self._claims = claims
        self._racks = racks
        self.given: dict[str, list[Partition]] = {member_id: [] for member_id in members}
        self.moving: dict[Partition, str] = {}
        self._given_up: dict[Partition, str] = {}
        self._with_extra = 0
        self._short: list[str] = []
        """Who has less than its share."""
        self._spare: list[str] = []
        """Who has its share, and may get one more."""

    @property
    def _most(self) -> int:
        return self._share + (self._extras > 0)

    def build(self) -> None:
        for member_id in string_hash_order(self.given):
            self._keep(member_id)
        self._short.sort(key=string_order)
        self._spare.sort(key=string_order)
        kept = {partition for partitions in self.given.values() for partition in partitions}
        every = [(topic, number) for topic in sorted(self._topics, key=string_order) for number in range(len(self._topics[topic]))]
        free = self._racks.scarce_first(free_partitions(every, kept, partition_order))
        if self._racks.matter:
            free = self._deal_near(free)
        self._deal(free)

    def _keep(self, member_id: str) -> None:
        """Let a member keep what it owned, up to its share; one more while there are members who may have that."""
        owned = []
        for partition in sorted(self._claims.owned[member_id], key=lambda partition: (partition[1], string_order(partition[0]))):
            if not self._racks.suits(member_id, partition):
                self._given_up[partition] = member_id
            elif partition not in self._claims.disputed:
                owned.append(partition)
        kept = self._share
        if len(owned) < self._share:
            self._short.append(member_id)
        elif len(owned) >= self._most and self._with_extra < self._extras:
            kept = self._most
            self._count_extra()
        elif self._with_extra < self._extras:
            self._spare.append(member_id)
        self.given[member_id] += owned[:kept]
        self._given_up.update(dict.fromkeys(owned[kept:], member_id))

    def _count_extra(self) -> None:
        self._with_extra += 1
        if self._with_extra == self._extras:
            self._spare.clear()

    def _deal_near(self, free: list[Partition]) -> list[Partition]:
        """Give partitions to members of their racks, round and round those who are short; what is left."""
        left = []
        at = 0
        for partition in free:
            round_from = chain(range(at, len(self._short)), range(at))
            near = next((number for number in round_from if self._racks.is_near(self._short[number], partition)), None)
            if near is not None:
                at = near
                member_id = self._short[at]
                if self._give(partition, member_id) >= self._share:
                    del self._short[at]
                    if self._share < self._most and self._with_extra < self._extras:
                        self._spare.append(member_id)
                else:
                    at += 1
                at = at % len(self._short) if self._short else 0
                continue
            chosen = next((member_id for member_id in self._spare if self._racks.is_near(member_id, partition)), None)
            if chosen is None:
                left.append(partition)
            elif self._give(partition, chosen) == self._most:
                self._spare.remove(chosen)
                self._count_extra()
        return left

    def _deal(self, free: list[Partition]) -> None:
        """Round and round those who are short; who has its share goes to the end of those who may get one more."""
        at = 0
        for partition in free:
            if self._short:
                at = at % len(self._short)
                member_id = self._short[at]
                if self._give(partition, member_id) == self._share:
                    self._spare.append(self._short.pop(at))
                else:
                    at += 1
            elif self._spare:
                self._with_extra += self._give(partition, self._spare.pop(0)) == self._most
            else:
                raise AssignorError(_ILLEGAL_STATE, "No more unfilled consumers to be assigned.")

    def _give(self, partition: Partition, member_id: str) -> int:
        """How much the member has then."""
        if partition in self._claims.disputed or self._given_up.get(partition, member_id) != member_id:
            self.moving[partition] = member_id
        self.given[member_id].append(partition)
        return len(self.given[member_id])
