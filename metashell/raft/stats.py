"""Figures of one replica, and its metrics under Kafka's names (kraft.md 19)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from metashell.raft.roles import Candidate, Leader, Prospective, Resigned, Unattached
from metashell.values import ZERO_UUID, uuid_text

if TYPE_CHECKING:
    from metashell.raft.replica import Replica

Metrics: TypeAlias = dict[str, int | float | str]


class Stats:
    """Counts and sums since the replica started; who wants rates takes differences.

    Units: latencies are ms; a batch's commit latency is shared among its records, as Kafka's.
    """

    __slots__ = ("appended", "commit_count", "commit_max", "commit_sum", "election_count", "election_max", "election_sum", "fetched")

    def __init__(self) -> None:
        self.commit_count = 0
        self.commit_sum = 0.0
        self.commit_max = 0.0
        self.election_count = 0
        self.election_sum = 0.0
        self.election_max = 0.0
        self.appended = 0
        self.fetched = 0

    def committed(self, latency_ms: int, records: int) -> None:
        """A batch of `records` records was committed `latency_ms` after it was appended."""
        each = latency_ms / records
        self.commit_count += 1
        self.commit_sum += each
        self.commit_max = max(self.commit_max, each)

    def elected(self, latency_ms: int) -> None:
        """An election that this replica took part in ended, with it as leader or as follower."""
        self.election_count += 1
        self.election_sum += latency_ms
        self.election_max = max(self.election_max, latency_ms)


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
