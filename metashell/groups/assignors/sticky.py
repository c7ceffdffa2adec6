"""The clients' assignors `sticky` and `cooperative-sticky`: members keep the partitions that they own, up to a fair share.

With the cooperative assignor a partition that changes hands is withheld until its owner has revoked it (KIP-429). Members send what they
own, and since which generation, in their user data. `sticky_uneven` handles members with different subscriptions.
Source: org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor; KIP-54, KIP-429, KIP-792."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from struct import Struct
from typing import Final, NamedTuple

from metashell.codec.java import lazy_table_order, string_hash, string_hash_order, string_order
from metashell.groups.assignors import (
    AssignorError,
    ClientMember,
    Members,
    OwnershipClaim,
    Partition,
    PartitionRacks,
    Racks,
    SettledClaims,
    free_partitions,
    known_topics,
    partition_order,
    settle_claims,
)
from metashell.groups.assignors.sticky_uneven import UnequalSubscriptionsBuilder


class Sticky(NamedTuple):
    """Shape: `moving` has the new owners of partitions that another member may still own; None if they were not tracked."""

    given: dict[str, list[Partition]]
    moving: dict[Partition, str] | None
    newest_generation: int


def assign_eager(members: Members, topics: Mapping[str, PartitionRacks]) -> Sticky:
    """Assign by `sticky`. Members have revoked everything, and report in their user data what they had."""
    return _assign(members, topics, {member_id: OwnershipClaim(*read_sticky(member.user_data)) for member_id, member in members.items()})


def assign_cooperative(members: Members, topics: Mapping[str, PartitionRacks]) -> Sticky:
    """Assign by `cooperative-sticky`. Members still own their partitions: one that changes hands stays unassigned until it is revoked.

    Example: a owns p0 to p3 and b joins. The balanced assignment gives b p2 and p3, which a may still be reading. So the first generation
    assigns p0 and p1 to a, and nothing to b. a revokes p2 and p3 and joins again; the second generation gives them to b.
    """
    found = _assign(
        members, topics, {member_id: OwnershipClaim(member.owned, _generation(member)) for member_id, member in members.items()}
    )
    withheld = _changing_hands(members, found.given) if found.moving is None else found.moving
    for partition, member_id in withheld.items():
        found.given[member_id].remove(partition)
    return found


def _generation(member: ClientMember) -> int | None:
    return member.generation if member.generation >= 0 else read_cooperative(member.user_data)


def _assign(members: Members, topics: Mapping[str, PartitionRacks], said: Mapping[str, OwnershipClaim]) -> Sticky:
    known = known_topics(members, topics)
    claims = settle_claims(members, said, known)
    racks = Racks(members, known)
    if _are_equal(members):
        equal = EqualSubscriptionsBuilder(members, known, claims, racks)
        equal.build()
        return Sticky(equal.given, equal.moving, claims.newest_generation)
    return Sticky(UnequalSubscriptionsBuilder(members, known, said, claims, racks).build(), None, claims.newest_generation)


def _are_equal(members: Members) -> bool:
    """Return whether all are subscribed to the same topics. As in Kafka, leading members without topics do not count."""
    topics: frozenset[str] = frozenset()
    for member in members.values():
        if not topics:
            topics = frozenset(member.topics)
        elif len(member.topics) != len(topics) or not topics.issuperset(member.topics):
            return False
    return True


def _changing_hands(members: Members, given: Mapping[str, list[Partition]]) -> dict[Partition, str]:
    """Return partitions that one member gets and another loses, with their new owners."""
    added: dict[Partition, str] = {}
    lost: set[Partition] = set()
    for member_id in string_hash_order(members):
        owned, assigned = set(members[member_id].owned), set(given[member_id])
        added.update((partition, member_id) for partition in given[member_id] if partition not in owned)
        lost |= owned - assigned
    return {partition: member_id for partition, member_id in added.items() if partition in lost}


_ILLEGAL_STATE = "java.lang.IllegalStateException"


class EqualSubscriptionsBuilder:
    """Builds an assignment. Shape: `given` by member; `moving` are partitions that another member may still own, with their new owners."""

    def __init__(self, members: Members, topics: Mapping[str, Sequence[frozenset[str]]], claims: SettledClaims, racks: Racks) -> None:
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
        """Members with less than their share."""
        self._spare: list[str] = []
        """Members with their share that may get one more."""

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
        """Let a member keep its partitions up to its share, or one more while the number of such members is not reached."""
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
        """Give partitions to members in their racks, in a circle of those below their share. Returns the rest."""
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
        """Give partitions in a circle of the members below their share. A member that reaches its share may later get one more."""
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
        """Give a partition to a member. Returns the member's number of partitions."""
        if partition in self._claims.disputed or self._given_up.get(partition, member_id) != member_id:
            self.moving[partition] = member_id
        self.given[member_id].append(partition)
        return len(self.given[member_id])


_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")


def sticky_user_data(owned: Iterable[Partition], generation: int) -> bytes:
    """Return the user data of a member of `sticky` that had an assignment; topics in the order of a hash table."""
    by_topic: dict[str, list[int]] = {}
    topics = []
    for topic, partition in owned:
        topics.append(topic)
        by_topic.setdefault(topic, []).append(partition)
    order = lazy_table_order(topics, string_hash) if topics else []
    pieces = [_INT32.pack(len(order))]
    for topic in order:
        name, partitions = topic.encode("utf-8", "replace"), by_topic[topic]
        pieces += (_INT16.pack(len(name)), name, _INT32.pack(len(partitions)), *(_INT32.pack(partition) for partition in partitions))
    pieces.append(_INT32.pack(generation))
    return b"".join(pieces)


def cooperative_user_data(generation: int) -> bytes:
    """Return the user data of a member of `cooperative-sticky`: its generation, -1 before its first assignment."""
    return _INT32.pack(generation)


def read_sticky(raw: bytes | None) -> tuple[list[Partition], int | None]:
    """Read a member's earlier partitions and generation. Unreadable data mean no partitions, and generation -1.

    Older members report no generation (None). Bytes after it are ignored.
    """
    if not raw:
        return [], None
    reader = _Reader(raw)
    try:
        owned = reader.owned()
    except _ShortError:
        return [], -1
    try:
        return owned, reader.int32()
    except _ShortError:
        return owned, None


def read_cooperative(raw: bytes | None) -> int | None:
    """Return the generation in which a member got its partitions; None if it reports none, -1 if it cannot be read."""
    if raw is None:
        return None
    try:
        return _Reader(raw).int32()
    except _ShortError:
        return -1


class _ShortError(Exception):
    """Reports bytes that end too early, or a wrong length."""


class _Reader:
    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def owned(self) -> list[Partition]:
        owned: list[Partition] = []
        for _ in range(self._count()):
            topic = self._read(self._length()).decode("utf-8", "replace")
            owned += [(topic, self.int32()) for _ in range(self._count())]
        return owned

    def int32(self) -> int:
        (number,) = _INT32.unpack(self._read(_INT32.size))
        assert isinstance(number, int)
        return number

    def _length(self) -> int:
        (length,) = _INT16.unpack(self._read(_INT16.size))
        assert isinstance(length, int)
        return length

    def _count(self) -> int:
        """Read the length of an array. Errors for more elements than bytes left."""
        count = self.int32()
        if not 0 <= count <= len(self._raw) - self._at:
            raise _ShortError
        return count

    def _read(self, size: int) -> bytes:
        taken = self._raw[self._at : self._at + size]
        if size < 0 or len(taken) < size:
            raise _ShortError
        self._at += size
        return taken
