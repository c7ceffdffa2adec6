"""Kafka's assignors, of clients and of the broker: they turn members and topics into an assignment. This module has inputs and outputs.

Promises:
- The result of Kafka 4.3.1's classes for the same input, errors and order included, also where it follows from the iteration order of
  Java's hash sets.
- Only inputs decide: no chance, no state between two calls. Inputs are not changed.

`server` has the broker's `uniform`, `range` and `simple` (share groups). They take each member's previous target and know topics by id.
`client` has the clients' `range`, `roundrobin`, `sticky` and `cooperative-sticky`. They take the partitions that members claim to own and
know topics by name. `rows` has the JSON form of inputs and outputs that `metashell groups assign` reads and writes.

Of two claims to a partition the one with the newer generation counts; two claims of one generation leave it without owner (KIP-792)."""

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
"""The racks of the replicas of each partition of a topic; empty if not known."""


class ClientMember(NamedTuple):
    """The subscription of a client's member, and its instance id. `generation` is -1 if the member reports none."""

    topics: Sequence[str]
    owned: Sequence[Partition] = ()
    generation: int = -1
    user_data: bytes | None = None
    instance_id: str | None = None
    rack: str | None = None


Members = Mapping[str, ClientMember]
"""Members by id, in the order of the leader's JoinGroup response."""


def member_order(member_id: str, instance_id: str | None) -> tuple[bool, bytes]:
    """Return a sort key: members with an instance id first, sorted by it; then the others, by member id."""
    return instance_id is None, string_order(member_id if instance_id is None else instance_id)


def in_member_order(members: Members) -> list[str]:
    """Sort the ids so that a static member keeps its place when its member id changes."""
    return sorted(members, key=lambda member_id: member_order(member_id, members[member_id].instance_id))


def partition_order(partition: Partition) -> tuple[bytes, int]:
    """Return a sort key: by topic, then by number."""
    return string_order(partition[0]), partition[1]


def known_topics(members: Members, topics: Mapping[str, PartitionRacks]) -> dict[str, list[frozenset[str]]]:
    """Return existing topics with subscribers, in the order of Java's hash set of all subscribed topics; racks as sets."""
    wanted = string_hash_order(topic for member in members.values() for topic in member.topics)
    return {topic: [frozenset(racks) for racks in topics[topic]] for topic in wanted if topics.get(topic)}


def racks_matter(member_racks: Collection[str], partition_racks: Iterable[frozenset[str]]) -> bool:
    """Return whether racks influence the assignment: some member's rack has replicas, and some partition is not in all racks.

    If all partitions are in all racks, every choice is equally good. Source: KIP-881; AbstractPartitionAssignor.useRackAwareAssignment.
    """
    racks = list(partition_racks)
    every = frozenset().union(*racks)
    return not every.isdisjoint(member_racks) and any(one != every for one in racks)


Assigned = dict[str, dict[bytes, tuple[int, ...]]]
"""Partitions by member and topic id, sorted or in the order of Kafka's set.

A topic may have none, and a member that is missing has none of any topic.
"""
PartitionCount = Callable[[bytes], int | None]
"""Returns the number of partitions of a topic, None if it does not exist."""


class ServerMember(NamedTuple):
    """A member, for the broker's assignors. Collections are in the order of Kafka's sets and maps: see `in_java_order`."""

    topic_ids: Collection[bytes] = ()
    """The topics that it is subscribed to."""
    previous: Mapping[bytes, Collection[int]] = {}
    """Its current target."""
    instance_id: str | None = None
    rack_id: str | None = None


class ServerGroup(NamedTuple):
    """Shape: `members` in the order of Kafka's map. `assignable` limits the partitions to assign (share groups); None for all."""

    members: Mapping[str, ServerMember]
    is_homogeneous: bool
    assignable: Mapping[bytes, Collection[int]] | None = None


def in_java_order(target: Mapping[bytes, Iterable[int]]) -> dict[bytes, tuple[int, ...]]:
    """Return a target in the order in which a coordinator has it after reading the record: topics of a HashMap, partitions of a HashSet."""
    ordered = {}
    for topic_id in uuid_hash_order(target):
        partitions = tuple(target[topic_id])
        ordered[topic_id] = hash_order(partitions, copy_capacity(len(partitions)))
    return ordered


def are_homogeneous(members: Iterable[ServerMember]) -> bool:
    """Return whether all members are subscribed to the same topics."""
    return len({frozenset(member.topic_ids) for member in members}) < 2


def known_count(topic_id: bytes, partition_count: PartitionCount) -> int:
    """Return the number of partitions of a topic. Errors: AssignorError if it does not exist."""
    count = partition_count(topic_id)
    if count is None:
        text = f"Members are subscribed to topic {uuid_text(topic_id)} which doesn't exist in the topic metadata."
        raise AssignorError(ASSIGNOR_EXCEPTION, text)
    return count


def sorted_targets(targets: Mapping[str, Mapping[bytes, Iterable[int]]]) -> Assigned:
    """Return an assignment in the form of `Assigned`."""
    return {
        member_id: {topic_id: tuple(sorted(partitions)) for topic_id, partitions in target.items()} for member_id, target in targets.items()
    }


ASSIGNOR_EXCEPTION = "org.apache.kafka.coordinator.group.api.assignor.PartitionAssignorException"


class AssignorError(MetashellError):
    """An exception that Kafka's class throws. Shape: `java_class` is the exception's name; `message` may be missing."""

    def __init__(self, java_class: str, message: str | None = None) -> None:
        super().__init__(message or java_class)
        self.java_class = java_class
        self.message = message


class OwnershipClaim(NamedTuple):
    """The partitions that a member claims, and the generation in which it got them; None if it reports none."""

    owned: Sequence[Partition]
    generation: int | None


class SettledClaims(NamedTuple):
    """Shape: `owned` by member, in the order of the claims; `disputed` partitions have two claims of one generation, and no owner."""

    owned: dict[str, list[Partition]]
    disputed: set[Partition]
    newest_generation: int


def settle_claims(members: Members, said: Mapping[str, OwnershipClaim], topics: Collection[str]) -> SettledClaims:
    """Settle who owns what. Of two claims to a partition the newer one wins. Claims to unknown topics are ignored.

    Example: a missed generation 8, in which its p0 went to b. When both join for generation 9, both claim p0, a since generation 7 and b
    since 8: b keeps it.

    As in Kafka, a claim's own generation is compared with the generation in the other member's subscription. The two differ for members
    that report their claims in user data.
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
    """Return the partitions, sorted by `order`, that no member keeps.

    Kafka's merge of two sorted lists stops at a kept partition that does not exist: all later ones count as free, even if they are kept.
    """
    strange = kept.difference(every)
    if not strange:
        return [partition for partition in every if partition not in kept]
    end = min(map(order, strange))
    return [partition for partition in every if partition not in kept or order(partition) > end]


class Racks:
    """Shape: if `matter` is False, racks are ignored and every member suits every partition."""

    def __init__(self, members: Members, topics: Mapping[str, Sequence[frozenset[str]]]) -> None:
        self._members_in = Counter(member.rack for member in members.values() if member.rack)
        self._topics = topics
        self._racks = {member_id: member.rack for member_id, member in members.items() if member.rack}
        self.matter = racks_matter(self._members_in, (racks for topic in topics.values() for racks in topic)) if self._racks else False

    def suits(self, member_id: str, partition: Partition) -> bool:
        """Return whether a partition suits a member: it has a replica in the member's rack, or the member has no rack."""
        if not self.matter:
            return True
        rack = self._racks.get(member_id)
        return rack is None or rack in self._of(partition)

    def is_near(self, member_id: str, partition: Partition) -> bool:
        """Return whether a partition has a replica in the member's rack."""
        rack = self._racks.get(member_id)
        return rack is not None and rack in self._of(partition)

    def scarce_first(self, partitions: list[Partition]) -> list[Partition]:
        """Sort partitions by the number of members in their racks, the fewest first. Without racks of members the order stays."""
        if not self._racks:
            return partitions
        return sorted(partitions, key=lambda partition: sum(self._members_in[rack] for rack in self._of(partition)))

    def _of(self, partition: Partition) -> frozenset[str]:
        topic, number = partition
        racks = self._topics[topic]
        return racks[number] if 0 <= number < len(racks) else frozenset()
