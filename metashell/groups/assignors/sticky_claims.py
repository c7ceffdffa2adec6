"""Who owned what before, as members claim it. Source: groups.md 16.3."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from metashell.groups.assignors.client_group import Members, Partition


class Claim(NamedTuple):
    """What a member claims, and the generation in which it got that; None where it says none."""

    owned: Sequence[Partition]
    generation: int | None


class Claims(NamedTuple):
    """Shape: `owned` by member, in the order of the claims; `disputed` was claimed by two members of one generation, and is nobody's."""

    owned: dict[str, list[Partition]]
    disputed: set[Partition]
    newest_generation: int


def settle(members: Members, said: Mapping[str, Claim], topics: Collection[str]) -> Claims:
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
    return Claims(owned, disputed, newest)


def free_partitions(every: Sequence[Partition], kept: set[Partition], order: Callable[[Partition], Any]) -> list[Partition]:
    """Those of all partitions, which come sorted by `order`, that no member keeps.

    Kafka loses its way at a claim to a partition that does not exist: what comes after it counts as free, also where it is kept.
    """
    strange = kept.difference(every)
    if not strange:
        return [partition for partition in every if partition not in kept]
    end = min(map(order, strange))
    return [partition for partition in every if partition not in kept or order(partition) > end]
