"""The metrics of a replica under Kafka's names. Source: org.apache.kafka.raft.internals.KafkaRaftMetrics."""

from __future__ import annotations

from typing import TypeAlias

from metashell.raft.replica import Replica
from metashell.raft.roles import Candidate, Leader, Prospective, Resigned, Unattached
from metashell.values import ZERO_UUID, uuid_text

Metrics: TypeAlias = dict[str, int | float | str]


def state_text(node: Replica) -> str:
    """The state as the metric `current-state` has it."""
    role = node.role
    if isinstance(role, Resigned):
        return "unattached"
    if not node.is_voter and not isinstance(role, Leader):
        return "unattached" if isinstance(role, Unattached) else "observer"
    if isinstance(role, Unattached | Prospective) and role.voted is not None:
        return f"{role.name}-voted"
    return role.name


def metrics(node: Replica) -> Metrics:
    """The group raft-metrics; -1 where a number is not known. Totals take the place of rates."""
    role, stats = node.role, node.stats
    voted = node.local_key if isinstance(role, Candidate) else role.voted
    found: Metrics = {
        "current-state": state_text(node),
        "current-leader": role.leader_id,
        "current-vote": -1 if voted is None else voted.id,
        "current-vote-directory-id": uuid_text(ZERO_UUID if voted is None else voted.directory_id),
        "current-epoch": role.epoch,
        "high-watermark": -1 if node.high_watermark is None else node.high_watermark,
        "log-end-offset": node.log_end,
        "log-end-epoch": node.last_epoch,
        "number-unknown-voter-connections": 0,
        "number-of-voters": len(node.voters),
        "commit-latency-avg": stats.commit_sum / stats.commit_count if stats.commit_count else 0.0,
        "commit-latency-max": stats.commit_max,
        "election-latency-avg": stats.election_sum / stats.election_count if stats.election_count else 0.0,
        "election-latency-max": stats.election_max,
        "fetch-records-total": stats.fetched,
        "append-records-total": stats.appended,
        "ignored-static-voters": int(node.partition.static_is_ignored),
        "complaints": node.complaints,
    }
    if isinstance(role, Leader):
        found["number-of-observers"] = len(role.observers)
        found["uncommitted-voter-change"] = int(role.change is not None)
    return found
