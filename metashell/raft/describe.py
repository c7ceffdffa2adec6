"""The answer to DescribeQuorum: the leader's view of all replicas that fetch.

Source: KIP-595, KIP-836, KIP-853; org.apache.kafka.raft.LeaderState.describeQuorum.
"""

from __future__ import annotations

from typing import Final

from metashell.codec.error_codes import NOT_LEADER_OR_FOLLOWER
from metashell.raft.messages import UNKNOWN_HIGH_WATERMARK, DescribeQuorumRequest, DescribeQuorumResponse, ReplicaState
from metashell.raft.replica import Replica
from metashell.raft.roles import Leader, Progress

OBSERVER_EXPIRY_MS: Final = 300_000
"""An observer that did not fetch for so long is forgotten."""

METADATA_PARTITION: Final = (("__cluster_metadata", 0),)


def answer(node: Replica, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """The answer of this replica: the state of all if it leads, an error otherwise. Timestamps are Unix ms."""
    if request.partitions != METADATA_PARTITION:
        return DescribeQuorumResponse(unknown=request.partitions)
    leader = node.role
    if not isinstance(leader, Leader):
        return DescribeQuorumResponse(error=NOT_LEADER_OR_FOLLOWER)
    forget_silent_observers(node, leader)
    observers = [replica_state(node, progress) for progress in leader.observers.values()]
    if node.local_id not in leader.voters and node.local_key is not None:
        observers.append(replica_state(node, Progress(node.local_key)))
    return DescribeQuorumResponse(
        0,
        0,
        leader.leader_id,
        leader.epoch,
        UNKNOWN_HIGH_WATERMARK if node.high_watermark is None else node.high_watermark,
        tuple(replica_state(node, progress) for progress in leader.voters.values()),
        tuple(observers),
        tuple((id, voter.endpoints) for id, voter in node.voters.voters.items()),
    )


def forget_silent_observers(node: Replica, leader: Leader) -> None:
    """Drop the observers that did not fetch for five minutes."""
    since = node.now_ms - OBSERVER_EXPIRY_MS
    for key in [key for key, progress in leader.observers.items() if progress.last_fetch_ms <= since]:
        del leader.observers[key]


def replica_state(node: Replica, progress: Progress) -> ReplicaState:
    """What is known of one replica; this one is at its log's end, now."""
    key = progress.key
    if key.id == node.local_id:
        now = node.wall_ms()
        return ReplicaState(key.id, key.directory_id, node.log_end, now, now)
    return ReplicaState(
        key.id,
        key.directory_id,
        progress.end_offset,
        _timestamp(node, progress.last_fetch_ms),
        _timestamp(node, progress.last_caught_up_ms),
    )


def _timestamp(node: Replica, monotonic_ms: int) -> int:
    return monotonic_ms + node.wall_offset_ms if monotonic_ms >= 0 else -1
