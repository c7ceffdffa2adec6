"""From one state to another: the only code that replaces a replica's role.

An epoch is the number of an election. Each has at most one leader, because a replica votes once an epoch, and two majorities share a
replica. The usual way round, with the replicas 1, 2 and 3 in epoch 5, whose leader 3 has died:

    1  follower     epoch 5     hears nothing of 3 for a fetch timeout
    1  prospective  epoch 5     asks 2 for a pre-vote: "would you vote for me?"; nothing is written, the epoch stays
    2               epoch 5     hears nothing of 3 either, and its log does not reach further: it grants
    1  candidate    epoch 6     votes for itself, writes that down, then asks 2 for its vote
    2  unattached   epoch 6     writes down that 1 has its vote, then grants
    1  leader       epoch 6     with two of three votes; its first batch says so, and then it can commit
    2  follower     epoch 6     hears of 1 by BeginQuorumEpoch, and fetches from it
    3  resigned     epoch 5     comes back: it led epoch 5, so it does not lead it again; it hears of epoch 6 and follows 1

Why the steps between are there:
- Pre-vote. Replica 2 is cut off for an hour. Without pre-votes it would stand again and again, come back in epoch 900, and the healthy
  leader of epoch 5 would have to give up to it. With them it stays prospective in epoch 5: nobody who hears from a leader grants.
- What is entered is durable before any message of the step leaves (`enter`, `Replica.persist`). Were 2 to grant its vote to 1, crash
  before that is on disk, and come back, it would grant epoch 6 to 3 as well: two leaders of one epoch, each with a majority.
- A vote is kept as long as its epoch lasts, also by a follower, and is forgotten with a higher one.
- A replica that meets a higher epoch takes it over at once, also from one that cannot win: the old epoch can commit nothing more there.
  The time that was left until it would stand is kept, so that a replica which asks for votes in vain does not hold up the others.
- A leader leaves its epoch only for a higher one, by way of resigned: two batches of one epoch never have the same offset.
- Every transition forgets the outbound requests: a late answer to a pre-vote is never counted as a vote.

Source: org.apache.kafka.raft.QuorumState; KIP-595, KIP-996.
"""

from __future__ import annotations

from typing import assert_never

from metashell.codec.error_codes import NOT_LEADER_OR_FOLLOWER
from metashell.ids import NO_LEADER
from metashell.raft import epoch_start, progress, replies
from metashell.raft.accumulator import BatchAccumulator
from metashell.raft.connections import NEVER
from metashell.raft.messages import Endpoints
from metashell.raft.replica import Replica
from metashell.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Tally, Unattached
from metashell.values import ReplicaKey


def become_unattached(
    node: Replica, epoch: int, leader_id: int = NO_LEADER, voted: ReplicaKey | None = None, deadline_ms: int = -1
) -> None:
    """Know the epoch, but no leader to follow; a deadline below 0 lets `unattached_deadline` choose it."""
    role = node.role
    assert epoch > role.epoch or isinstance(role, Unattached | Prospective | Candidate), "the epoch must grow"
    if deadline_ms < 0:
        deadline_ms = unattached_deadline(node, role)
    enter(node, Unattached(epoch, leader_id, voted, deadline_ms))


def unattached_deadline(node: Replica, role: Role) -> int:
    """When to stand after a higher epoch was met; observers never do.

    A replica that was going to stand keeps the time that was left: a candidate that met epoch 7 with 300 ms to go stands in 300 ms. One
    that was not (a leader, a follower, a prospective that has lost) takes a new random time, so that not all stand at once.
    """
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
    """Follow a leader of a higher epoch, of this one where none was known, or the same one under more endpoints.

    A vote of this epoch is kept: who voted for 1 in epoch 6 and hears that 3 leads it has still voted, and quorum-state says so.
    """
    role = node.role
    assert leader_id != node.local_id and leader_id >= 0 and endpoints, "a follower needs a leader with endpoints"
    assert epoch > role.epoch or (epoch == role.epoch and role.leader_id in (NO_LEADER, leader_id)), "one leader an epoch"
    voted = role.voted if epoch == role.epoch else None
    now, config = node.now_ms, node.config
    enter(node, Follower(epoch, leader_id, endpoints, voted, now + config.fetch_timeout_ms, now + config.fetch_timeout_ms))


def become_prospective(node: Replica) -> None:
    """Ask whether an election would be won; a sole voter goes on to lead at once.

    The epoch stays, and so does a leader that is known: if the round is lost because others still hear from it, this replica follows it
    again (`votes.lose_pre_vote`) as if nothing had happened.
    """
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
    """Lead: the first batch of the epoch is appended in the next step, when it is durable that this replica leads.

    The high watermark is unknown until a record of this epoch is committed. A majority may have a record of an earlier epoch and it is
    still not safe: of 1, 2, 3, leader 1 writes offset 9 in epoch 2 to itself alone and dies; 3 leads epoch 3, writes another offset 9 to
    itself alone and dies; 1 leads epoch 4 and copies its offset 9 to 2. Two of three have it, but 3, whose last epoch 3 is above 2, could
    win epoch 5 and replace it. Once 1 has a record of epoch 4 behind it on a majority, 3 cannot win any more (`progress.may_commit`).
    """
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
    node.high_watermark = None
    if node.epochs.assign(epoch, node.log_end):
        node.log.write_leader_epochs(node.epochs.entries)
    epoch_start.prepare(node, leader)


def become_resigned(node: Replica) -> None:
    """Give up leadership: the voters that have most of the log are named first, and stand first.

    It stays in its epoch, and grants no vote in it: after an election timeout it goes on to the next one, without a vote.
    """
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
