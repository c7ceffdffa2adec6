"""The assignors of clients by name: range, roundrobin, sticky, cooperative-sticky."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from metashell.groups.assignors import sticky
from metashell.groups.assignors.client_group import Members, Partition, PartitionRacks
from metashell.groups.assignors.client_range import assign_range
from metashell.groups.assignors.client_roundrobin import assign_roundrobin


class ClientAssignment(NamedTuple):
    """What an assignor gives: partitions by member, in the order of Kafka's lists.

    The sticky ones also say which partitions go from one member to another, as far as they kept track (`transferring`: the new owners),
    and which is the newest generation that a member claims; others say None.
    """

    partitions: dict[str, list[Partition]]
    transferring: dict[Partition, str] | None = None
    newest_generation: int | None = None


def _range(members: Members, topics: Mapping[str, PartitionRacks]) -> ClientAssignment:
    return ClientAssignment(assign_range(members, topics))


def _roundrobin(members: Members, topics: Mapping[str, PartitionRacks]) -> ClientAssignment:
    return ClientAssignment(assign_roundrobin(members, topics))


def _sticky(members: Members, topics: Mapping[str, PartitionRacks]) -> ClientAssignment:
    return ClientAssignment(*sticky.assign_eager(members, topics))


def _cooperative_sticky(members: Members, topics: Mapping[str, PartitionRacks]) -> ClientAssignment:
    return ClientAssignment(*sticky.assign_cooperative(members, topics))


CLIENT_ASSIGNORS: Final[dict[str, Callable[[Members, Mapping[str, PartitionRacks]], ClientAssignment]]] = {
    "range": _range,
    "roundrobin": _roundrobin,
    "sticky": _sticky,
    "cooperative-sticky": _cooperative_sticky,
}


def assign(name: str, members: Members, topics: Mapping[str, PartitionRacks]) -> dict[str, list[Partition]]:
    """The partitions of each member. Shape: members in the order of the leader's list; topics with the racks of each partition's replicas.

    Errors: AssignorError where Kafka's class throws; KeyError for a name that is none of `CLIENT_ASSIGNORS`.
    """
    return assign_in_full(name, members, topics).partitions


def assign_in_full(name: str, members: Members, topics: Mapping[str, PartitionRacks]) -> ClientAssignment:
    """The same with what else the assignor knows."""
    return CLIENT_ASSIGNORS[name](members, topics)
