"""The batch that begins a leader's epoch. Source: org.apache.kafka.raft.LeaderState.appendStartOfEpochControlRecords."""

from __future__ import annotations

from metashell.raft.control_batches import ControlValue, KRaftVersion, LeaderChange
from metashell.raft.replica import Replica
from metashell.raft.roles import Leader
from metashell.raft.voter_set import Voter, VoterSet


def prepare(node: Replica, leader: Leader) -> None:
    """Put the first batch of the epoch into the accumulator."""
    change = LeaderChange(leader_id=leader.leader_id, voters=node.voters.ids, granting=leader.granting)
    values: list[ControlValue] = [change]
    voters = voters_to_write(node)
    if voters is not None:
        values += [KRaftVersion(node.partition.kraft_version), voters]
    leader.accumulator.append_control(values, node.now_ms, node.wall_ms())


def voters_to_write(node: Replica) -> VoterSet | None:
    """The set that a new leader has to write: one from the bootstrap snapshot, which is not in the log, or one whose own entry is old."""
    if node.partition.kraft_version < 1:
        return None
    config, voters = node.config, node.voters
    if node.local_key is None or node.partition.voters_offset is None:
        # Kafka's leader dies of a level without voters in the log; the static ones go on.
        return None
    own = Voter(node.local_key, node.own_endpoints, config.min_kraft_version, config.max_kraft_version)
    updated = voters.updated(own)
    if updated is None:
        return None  # it is leaving the voters, or learnt while it stood that it had left: it resigns when this batch is committed
    return updated if node.partition.voters_offset < 0 or updated != voters else None
