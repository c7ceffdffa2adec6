"""The answers that say no more than an error, and who leads.

A leader is named only together with an endpoint on the listener that was asked: a Kafka peer that hears of a leader it cannot reach dies.
No answer says that its asker leads. It may have led and been restarted, and then it is resigned; in any other state it dies of that, too.
"""

from __future__ import annotations

from typing import TypeVar

from metashell.ids import NO_LEADER
from metashell.raft.messages import Endpoint, FetchResponse, PartitionResponse
from metashell.raft.replica import Replica

R = TypeVar("R", bound=PartitionResponse)


def named_leader(node: Replica, listener: str, asker: int = NO_LEADER) -> tuple[int, Endpoint | None]:
    """The leader that an answer may name, and its endpoint; (-1, None) for none."""
    role = node.role
    endpoint = role.endpoints.get(listener)
    if endpoint is None or role.leader_id == asker:
        return NO_LEADER, None
    return role.leader_id, endpoint


def answer(node: Replica, make: type[R], error: int, listener: str, asker: int = NO_LEADER) -> R:
    """An answer with an error, or none, this replica's epoch and the leader."""
    leader_id, endpoint = named_leader(node, listener, asker)
    return make(0, error, leader_id, node.role.epoch, endpoint)


def fetch_error(node: Replica, error: int, listener: str, replica_id: int = NO_LEADER) -> FetchResponse:
    """Kafka gives the start of its log also where it is not the leader that was asked for, but no high watermark."""
    response = answer(node, FetchResponse, error, listener, replica_id)
    response.log_start_offset = node.log.start_offset
    return response
