"""The answers that say no more than an error, and who leads.

A leader is named only together with an endpoint on the listener that was asked: a Kafka peer that is told of a leader it cannot reach
dies (kraft.md 22.3). An asker is never told that it leads: it does not, or it would not ask (22.2).
"""

from __future__ import annotations

from metashell.raft.messages import (
    NO_LEADER,
    BeginQuorumEpochResponse,
    Endpoint,
    EndQuorumEpochResponse,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    VoteResponse,
)
from metashell.raft.replica import Replica


def named_leader(node: Replica, listener: str, asker: int = NO_LEADER) -> tuple[int, Endpoint | None]:
    """The leader that an answer may name, and its endpoint; (-1, None) for none."""
    role = node.role
    endpoint = role.endpoints.get(listener)
    if endpoint is None or role.leader_id == asker:
        return NO_LEADER, None
    return role.leader_id, endpoint


def vote(node: Replica, error: int, listener: str, candidate_id: int, granted: bool = False) -> VoteResponse:
    leader_id, endpoint = named_leader(node, listener, candidate_id)
    return VoteResponse(0, error, leader_id, node.role.epoch, granted, endpoint)


def begin_epoch(node: Replica, error: int, listener: str) -> BeginQuorumEpochResponse:
    leader_id, endpoint = named_leader(node, listener)
    return BeginQuorumEpochResponse(0, error, leader_id, node.role.epoch, endpoint)


def end_epoch(node: Replica, error: int, listener: str) -> EndQuorumEpochResponse:
    leader_id, endpoint = named_leader(node, listener)
    return EndQuorumEpochResponse(0, error, leader_id, node.role.epoch, endpoint)


def fetch_error(node: Replica, error: int, listener: str, replica_id: int = NO_LEADER) -> FetchResponse:
    """Kafka tells the start of its log also where it is not the leader that was asked for, but no high watermark."""
    leader_id, endpoint = named_leader(node, listener, replica_id)
    return FetchResponse(0, error, leader_id, node.role.epoch, endpoint, log_start_offset=node.log.start_offset)


def fetch_snapshot_error(node: Replica, error: int, listener: str, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
    leader_id, endpoint = named_leader(node, listener, request.replica_id)
    return FetchSnapshotResponse(0, error, leader_id, node.role.epoch, endpoint, request.snapshot_id)
