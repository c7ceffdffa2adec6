"""Kafka's assignors, of clients and of the broker: members and topics in, an assignment out. This module has their inputs and outputs.

Promises:
- The result of Kafka 4.3.1's classes for the same input, errors and order included, also where it follows from the iteration order of
  Java's hash sets.
- Only inputs decide: no chance, no state between two calls. Inputs are not changed.

`server` has the broker's `uniform`, `range` and `simple` (share groups). They take each member's previous target and know topics by id.
`client` has the clients' `range`, `roundrobin`, `sticky` and `cooperative-sticky`. They take the partitions that members claim to own and
know topics by name. `rows` has the JSON form of inputs and outputs that `metashell groups assign` reads and writes.

Of two claims to one partition the one of the newer generation counts; two of one generation leave it to nobody (KIP-792)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from metashell.codec.java import copy_capacity, hash_order, string_hash_order, string_order, uuid_hash_order
from metashell.common.errors import MetashellError
from metashell.common.values import uuid_text

Partition = tuple[str, int]
"""Topic and partition."""
PartitionRacks = Sequence[Collection[str]]
"""For each partition of a topic the racks of its replicas; none where they are not known."""


class ClientMember(NamedTuple):
    """What a member says of itself when it joins, and its instance id. `generation` is -1 where it says none."""

    topics: Sequence[str]
    owned: Sequence[Partition] = ()
    generation: int = -1
    user_data: bytes | None = None
    instance_id: str | None = None
    rack: str | None = None


Members = Mapping[str, ClientMember]
"""By id, in the order in which the leader's list has them."""


def member_order(member_id: str, instance_id: str | None) -> tuple[bool, bytes]:
    """A sort key: members with an instance id come first, by it; then the others, by member id."""
    return instance_id is None, string_order(member_id if instance_id is None else instance_id)


def in_member_order(members: Members) -> list[str]:
    """The ids, sorted so that a static member has its place also under another id."""
    return sorted(members, key=lambda member_id: member_order(member_id, members[member_id].instance_id))


def partition_order(partition: Partition) -> tuple[bytes, int]:
    """A sort key: by topic, then by number."""
    return string_order(partition[0]), partition[1]


def known_topics(members: Members, topics: Mapping[str, PartitionRacks]) -> dict[str, list[frozenset[str]]]:
    """Topics that somebody is subscribed to and that have partitions, as a hash set of all that are wanted has them; racks as sets."""
    wanted = string_hash_order(topic for member in members.values() for topic in member.topics)
    return {topic: [frozenset(racks) for racks in topics[topic]] for topic in wanted if topics.get(topic)}


def racks_matter(member_racks: Collection[str], partition_racks: Iterable[frozenset[str]]) -> bool:
    """Whether racks influence the assignment: some member's rack has replicas, and some partition is not in all racks.

    If all partitions are in all racks, every choice is equally good. Source: KIP-881; AbstractPartitionAssignor.useRackAwareAssignment.
    """
    racks = list(partition_racks)
    every = frozenset().union(*racks)
    return not every.isdisjoint(member_racks) and any(one != every for one in racks)


Assigned = dict[str, dict[bytes, tuple[int, ...]]]
"""By member, by topic id: partitions, sorted or in the order of Kafka's set.

A topic may have none, and a member that is missing has none of any topic.
"""
PartitionCount = Callable[[bytes], int | None]
"""How many partitions a topic has, None where it is not known."""


class ServerMember(NamedTuple):
    """A member as the broker's assignors see it. Orders of collections are those of Kafka's sets and maps: see `in_java_order`."""

    topic_ids: Collection[bytes] = ()
    """What it is subscribed to."""
    previous: Mapping[bytes, Collection[int]] = {}
    """Its target so far."""
    instance_id: str | None = None
    rack_id: str | None = None


class ServerGroup(NamedTuple):
    """Shape: `members` in the order of Kafka's map. `assignable` are the only partitions that may be given (share groups); None for all."""

    members: Mapping[str, ServerMember]
    is_homogeneous: bool
    assignable: Mapping[bytes, Collection[int]] | None = None


def in_java_order(target: Mapping[bytes, Iterable[int]]) -> dict[bytes, tuple[int, ...]]:
    """A member's target as the coordinator holds it that has read the record: topics in the order of a HashMap, partitions of a HashSet."""
    ordered = {}
    for topic_id in uuid_hash_order(target):
        partitions = tuple(target[topic_id])
        ordered[topic_id] = hash_order(partitions, copy_capacity(len(partitions)))
    return ordered


def are_homogeneous(members: Iterable[ServerMember]) -> bool:
    """Whether all are subscribed to the same topics."""
    return len({frozenset(member.topic_ids) for member in members}) < 2


def known_count(topic_id: bytes, partition_count: PartitionCount) -> int:
    """How many partitions a topic has. Errors: AssignorError where it is not known."""
    count = partition_count(topic_id)
    if count is None:
        text = f"Members are subscribed to topic {uuid_text(topic_id)} which doesn't exist in the topic metadata."
        raise AssignorError(ASSIGNOR_EXCEPTION, text)
    return count


def sorted_targets(targets: Mapping[str, Mapping[bytes, Iterable[int]]]) -> Assigned:
    """An assignment in the form of `Assigned`."""
    return {
        member_id: {topic_id: tuple(sorted(partitions)) for topic_id, partitions in target.items()} for member_id, target in targets.items()
    }


ASSIGNOR_EXCEPTION = "org.apache.kafka.coordinator.group.api.assignor.PartitionAssignorException"


class AssignorError(MetashellError):
    """What Kafka's class throws. Shape: `java_class` is the exception's name; `message` may be missing."""

    def __init__(self, java_class: str, message: str | None = None) -> None:
        super().__init__(message or java_class)
        self.java_class = java_class
        self.message = message


class OwnershipClaim(NamedTuple):
    """What a member claims, and the generation in which it got that; None where it says none."""

    owned: Sequence[Partition]
    generation: int | None


class SettledClaims(NamedTuple):
    """Shape: `owned` by member, in the order of the claims; `disputed` was claimed by two members of one generation, and is nobody's."""

    owned: dict[str, list[Partition]]
    disputed: set[Partition]
    newest_generation: int


def settle_claims(members: Members, said: Mapping[str, OwnershipClaim], topics: Collection[str]) -> SettledClaims:
    """Of two claims to a partition the newer one holds. Claims to topics that are not known are left out.

    A claim is compared by its own generation with the generation of the other member's subscription, which differs where the claim is
    in user data.
    """
    owned: dict[str, list[Partition]] = {member_id: [] for member_id in members}
    owners: dict[Partition, str] = {}
    disputed: set[Partition] = set()
    newest = -1
    for member_id, claim in said.items():
        generation = -1 if claim.generation is None else claim.generation
        newest = max(newest, generation)
        for partition in claim.owned:
            if partition[0] not in topics:
                continue
            other = owners.get(partition)
            if other is not None and generation < members[other].generation:
                continue
            if other is not None and generation == members[other].generation:
                disputed.add(partition)
            else:
                owned[member_id].append(partition)
            if other is not None and partition in owned[other]:
                owned[other].remove(partition)
            owners[partition] = member_id
    return SettledClaims(owned, disputed, newest)


def free_partitions(every: Sequence[Partition], kept: set[Partition], order: Callable[[Partition], Any]) -> list[Partition]:
    """Those of all partitions, which come sorted by `order`, that no member keeps.

    Kafka loses its way at a claim to a partition that does not exist: what comes after it counts as free, also where it is kept.
    """
    strange = kept.difference(every)
    if not strange:
        return [partition for partition in every if partition not in kept]
    end = min(map(order, strange))
    return [partition for partition in every if partition not in kept or order(partition) > end]


class Racks:
    """Shape: `matter` is False where racks are not looked at; then every member suits every partition."""

    def __init__(self, members: Members, topics: Mapping[str, Sequence[frozenset[str]]]) -> None:
        self._members_in = Counter(member.rack for member in members.values() if member.rack)
        self._topics = topics
        self._racks = {member_id: member.rack for member_id, member in members.items() if member.rack}
        self.matter = racks_matter(self._members_in, (racks for topic in topics.values() for racks in topic)) if self._racks else False

    def suits(self, member_id: str, partition: Partition) -> bool:
        """Whether a partition may go to a member: it has a replica in the member's rack, or the member has none."""
        if not self.matter:
            return True
        rack = self._racks.get(member_id)
        return rack is None or rack in self._of(partition)

    def is_near(self, member_id: str, partition: Partition) -> bool:
        """Whether a partition has a replica in the rack that the member names."""
        rack = self._racks.get(member_id)
        return rack is not None and rack in self._of(partition)

    def scarce_first(self, partitions: list[Partition]) -> list[Partition]:
        """Partitions that are near to few members first, the others in their order; done where a member names a rack at all."""
        if not self._racks:
            return partitions
        return sorted(partitions, key=lambda partition: sum(self._members_in[rack] for rack in self._of(partition)))

    def _of(self, partition: Partition) -> frozenset[str]:
        topic, number = partition
        racks = self._topics[topic]
        return racks[number] if 0 <= number < len(racks) else frozenset()
