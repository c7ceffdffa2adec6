"""From one state to another: the only code that replaces a replica's role.

Every transition clears the bookkeeping of outbound requests, so a late answer is never counted in another round. Epochs never go down.
Source: org.apache.kafka.raft.QuorumState; kraft.md 4.2.
"""

from __future__ import annotations

from typing import assert_never

from metashell.codec.error_codes import NOT_LEADER_OR_FOLLOWER
from metashell.raft import epoch_start, progress, replies
from metashell.raft.accumulator import BatchAccumulator
from metashell.raft.connections import NEVER
from metashell.raft.messages import NO_LEADER, Endpoints
from metashell.raft.replica import Replica
from metashell.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Tally, Unattached
from metashell.values import ReplicaKey


def become_unattached(
    node: Replica, epoch: int, leader_id: int = NO_LEADER, voted: ReplicaKey | None = None, deadline_ms: int = -1
) -> None:
    """Know the epoch, but no leader to follow; a deadline below 0 lets the table of 4.2 choose it."""
    role = node.role
    assert epoch > role.epoch or isinstance(role, Unattached | Prospective | Candidate), "the epoch must grow"
    if deadline_ms < 0:
        deadline_ms = unattached_deadline(node, role)
    enter(node, Unattached(epoch, leader_id, voted, deadline_ms))


def unattached_deadline(node: Replica, role: Role) -> int:
    """When to stand after a higher epoch was met: the time that was left, or a new one; observers never do."""
    if not node.may_stand():
        return NEVER
    match role:
        case Candidate() | Resigned():
            return role.election_deadline_ms
        case Unattached() if role.election_deadline_ms != NEVER:
            return role.election_deadline_ms
        case Prospective() if not role.tally.is_lost():
            return role.election_deadline_ms
        case Unattached() | Prospective() | Leader() | Follower():
            return node.election_timeout()
        case _:
            assert_never(role)


def become_follower(node: Replica, epoch: int, leader_id: int, endpoints: Endpoints) -> None:
    """Follow a leader of a higher epoch, of this one where none was known, or the same one under more endpoints."""
    role = node.role
    assert leader_id != node.local_id and leader_id >= 0 and endpoints, "a follower needs a leader with endpoints"
    assert epoch > role.epoch or (epoch == role.epoch and role.leader_id in (NO_LEADER, leader_id)), "one leader an epoch"
    voted = role.voted if epoch == role.epoch else None
    now, config = node.now_ms, node.config
    enter(node, Follower(epoch, leader_id, endpoints, voted, now + config.fetch_timeout_ms, now + config.fetch_timeout_ms))


def become_prospective(node: Replica) -> None:
    """Ask whether an election would be won; a sole voter goes on to lead at once."""
    role = node.role
    assert (node.is_voter or node.is_leaving()) and role.__class__ is not Leader, "only voters stand, or who is leaving them"
    tally = Tally(node.voters, node.local_id)
    since_ms = node.now_ms
    enter(node, Prospective(role.epoch, role.leader_id, role.endpoints, role.voted, tally, node.election_timeout(), since_ms))
    if tally.is_won():
        become_candidate(node)


def add_vote_as_prospective(node: Replica, voted: ReplicaKey) -> None:
    """Vote for another, and ask anew."""
    role = node.role
    assert role.__class__ is Prospective and role.voted is None, "one vote an epoch"
    tally = Tally(node.voters, node.local_id)
    deadline_ms = node.election_timeout()
    enter(node, Prospective(role.epoch, role.leader_id, role.endpoints, voted, tally, deadline_ms, role.since_ms))


def become_candidate(node: Replica) -> None:
    """Vote for itself in the next epoch."""
    role = node.role
    assert role.__class__ is Prospective and node.local_key is not None, "only a prospective becomes a candidate"
    tally = Tally(node.voters, node.local_id)
    enter(node, Candidate(role.epoch + 1, node.local_key, tally, node.election_timeout(), role.since_ms))
    if tally.is_won():
        become_leader(node)


def become_leader(node: Replica) -> None:
    """Lead: the first batch of the epoch is appended in the next step, when it is durable that this replica leads."""
    role = node.role
    assert role.__class__ is Candidate and role.tally.is_won(), "only a candidate with a majority leads"
    epoch, now, config = role.epoch, node.now_ms, node.config
    granting = tuple(sorted(id for id, granted in role.tally.answers.items() if granted))
    accumulator = BatchAccumulator(epoch, node.log_end, config.append_linger_ms)
    leader = Leader(epoch, node.local_id, node.own_endpoints, node.log_end, granting, accumulator, node.step)
    progress.take_voters(node, leader)
    leader.check_deadline_ms = progress.check_quorum_deadline(node)
    leader.begin_deadline_ms = now
    enter(node, leader)
    # A leader knows nothing committed before it has committed a record of its own epoch.
    node.high_watermark = None
    if node.epochs.assign(epoch, node.log_end):
        node.log.write_leader_epochs(node.epochs.entries)
    epoch_start.prepare(node, leader)


def become_resigned(node: Replica) -> None:
    """Give up leadership: the voters that have most of the log are named first."""
    role = node.role
    assert role.__class__ is Leader, "only a leader resigns"
    successors = preferred_successors(node, role)
    node.high_watermark = None
    enter(node, Resigned(role.epoch, node.local_id, role.endpoints, successors, node.election_timeout()))


def preferred_successors(node: Replica, leader: Leader) -> tuple[ReplicaKey, ...]:
    """All voters but this one, by what they have fetched, the most first."""
    others = [entry for id, entry in leader.voters.items() if id != node.local_id]
    others.sort(key=lambda entry: (-entry.end_offset, entry.key.id, entry.key.directory_id))
    return tuple(entry.key for entry in others)


def enter(node: Replica, role: Role) -> None:
    """Take on a role, durably."""
    old = node.role
    assert role.epoch >= old.epoch, "epochs never go down"
    node.role = role
    if isinstance(old, Prospective | Candidate) and isinstance(role, Leader | Follower):
        node.stats.elected(node.now_ms - old.since_ms)
    node.connections.reset()
    node.persist(role)
    node.has_news = True
    if old.__class__ is Leader:
        for fetch in node.parked.take_all():
            node.reply(fetch.token, replies.fetch_error(node, NOT_LEADER_OR_FOLLOWER, fetch.listener))
        node.ended = old
    elif old.__class__ is Follower and old.download is not None and not old.download.is_complete:
        old.download.part.close()
