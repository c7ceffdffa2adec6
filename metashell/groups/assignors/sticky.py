"""The clients' assignors `sticky` and `cooperative-sticky`: members keep what they own as far as shares allow.

Source: groups.md 16.3 to 16.6, KIP-54, KIP-429, KIP-792.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from metashell.codec.java_hash import string_hash_order
from metashell.groups.assignors.client_group import ClientMember, Members, Partition, PartitionRacks, known_topics
from metashell.groups.assignors.sticky_claims import Claim, settle
from metashell.groups.assignors.sticky_equal import EqualShares
from metashell.groups.assignors.sticky_racks import Racks
from metashell.groups.assignors.sticky_uneven import UnevenShares
from metashell.groups.assignors.user_data import read_cooperative, read_sticky


class Sticky(NamedTuple):
    """Shape: `moving` has the new owners of partitions that another member may still have; None where that was not noted."""

    given: dict[str, list[Partition]]
    moving: dict[Partition, str] | None
    newest_generation: int


def assign_eager(members: Members, topics: Mapping[str, PartitionRacks]) -> Sticky:
    """Members have given up everything, and say in their user data what they had."""
    return _assign(members, topics, {member_id: Claim(*read_sticky(member.user_data)) for member_id, member in members.items()})


def assign_cooperative(members: Members, topics: Mapping[str, PartitionRacks]) -> Sticky:
    """Members still have what they own: what has to go to another is nobody's until its owner has given it up."""
    found = _assign(members, topics, {member_id: Claim(member.owned, _generation(member)) for member_id, member in members.items()})
    withheld = _changing_hands(members, found.given) if found.moving is None else found.moving
    for partition, member_id in withheld.items():
        found.given[member_id].remove(partition)
    return found


def _generation(member: ClientMember) -> int | None:
    return member.generation if member.generation >= 0 else read_cooperative(member.user_data)


def _assign(members: Members, topics: Mapping[str, PartitionRacks], said: Mapping[str, Claim]) -> Sticky:
    known = known_topics(members, topics)
    claims = settle(members, said, known)
    racks = Racks(members, known)
    if _are_equal(members):
        equal = EqualShares(members, known, claims, racks)
        equal.build()
        return Sticky(equal.given, equal.moving, claims.newest_generation)
    return Sticky(UnevenShares(members, known, said, claims, racks).build(), None, claims.newest_generation)


def _are_equal(members: Members) -> bool:
    """Whether all are subscribed to the same topics. As in Kafka, members without topics that come first do not count."""
    topics: frozenset[str] = frozenset()
    for member in members.values():
        if not topics:
            topics = frozenset(member.topics)
        elif len(member.topics) != len(topics) or not topics.issuperset(member.topics):
            return False
    return True


def _changing_hands(members: Members, given: Mapping[str, list[Partition]]) -> dict[Partition, str]:
    """What one member gets that another loses, with its new owner."""
    added: dict[Partition, str] = {}
    lost: set[Partition] = set()
    for member_id in string_hash_order(members):
        owned, assigned = set(members[member_id].owned), set(given[member_id])
        added.update((partition, member_id) for partition in given[member_id] if partition not in owned)
        lost |= owned - assigned
    return {partition: member_id for partition, member_id in added.items() if partition in lost}
