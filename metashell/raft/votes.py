"""Elections: who gets a vote or pre-vote, and what the answer does to the replica that asked.

A vote goes to the first that asks in an epoch whose leader is not known, if its log holds all that ours does. "All" is decided by the
epoch of the last batch before the length: a log that ends at offset 7 with a batch of epoch 4 beats one that ends at 90 with epoch 3,
because whoever led epoch 4 had every committed record, and what lies beyond that in epoch 3 was never committed. So a majority that
stored a record votes for nobody without it.

A vote is on disk before it is granted, so after a restart it is still known. Asked again by the same candidate, say because the answer was
lost, it is granted again if its log is still long enough; any other candidate of that epoch is refused. A pre-vote binds nobody, is not
written down, and may be granted to any number; only a replica that leads, or still hears from its leader, refuses it whatever the log is.

Source: KIP-595, KIP-996; KafkaRaftClient.handleVoteRequest, handleVoteResponse.
"""

from __future__ import annotations

from typing import assert_never

from metashell.codec.error_codes import (
    FENCED_LEADER_EPOCH,
    INVALID_REQUEST,
    INVALID_VOTER_KEY,
    NONE,
    UNKNOWN_LEADER_EPOCH,
)
from metashell.ids import NO_LEADER
from metashell.raft import common, replies, transitions
from metashell.raft.connections import NEVER
from metashell.raft.messages import VoteRequest, VoteResponse
from metashell.raft.replica import Replica
from metashell.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from metashell.values import ReplicaKey


def handle_request(node: Replica, token: object, request: VoteRequest, listener: str) -> None:
    """Answer a Vote request, in the order of the checks that Kafka makes."""
    if error := common.check_addressed(node, request):
        node.reply(token, VoteResponse(error))
        return
    error = check_request(node, request)
    granted = False
    if error == NONE:
        if request.epoch > node.role.epoch:
            # Also for a pre-vote, and before the addressee is looked at: the epoch exists.
            transitions.become_unattached(node, request.epoch)
        if not node.is_local(request.voter_id, request.voter_directory_id):
            error = INVALID_VOTER_KEY
        else:
            granted = decide(node, request)
    response = replies.answer(node, VoteResponse, error, listener, request.candidate_id)
    response.granted = granted
    node.reply(token, response)


def check_request(node: Replica, request: VoteRequest) -> int:
    """Whether the fields of a request can be meant."""
    last_epoch, epoch = request.last_epoch, request.epoch
    if request.last_offset < 0 or last_epoch < 0 or (last_epoch > epoch if request.pre_vote else last_epoch >= epoch):
        return INVALID_REQUEST
    if epoch < node.role.epoch:
        return FENCED_LEADER_EPOCH
    if not common.is_plausible_epoch(node, epoch):
        return UNKNOWN_LEADER_EPOCH
    return INVALID_REQUEST if request.candidate_id < 0 else NONE


def decide(node: Replica, request: VoteRequest) -> bool:
    """Grant or reject, and note a vote that binds."""
    if request.candidate_id == node.local_id:
        node.complain("a vote was asked for by the own id")
        return False
    if node.recovering is not None:
        # Its log does not say any more what it may have acknowledged (`recovering`).
        return False
    candidate = ReplicaKey(request.candidate_id, request.candidate_directory_id)
    up_to_date = is_up_to_date(request.last_epoch, request.last_offset, node.last_epoch, node.log_end)
    role = node.role
    if request.pre_vote:
        return grants_pre_vote(role, up_to_date)
    if not grants_vote(role, candidate, up_to_date):
        return False
    if role.voted is None:
        add_vote(node, candidate)
    return True


def is_up_to_date(last_epoch: int, last_offset: int, own_last_epoch: int, own_end: int) -> bool:
    """Whether a log that ends so holds all that this one may have to keep: the epoch decides first."""
    return last_epoch > own_last_epoch or (last_epoch == own_last_epoch and last_offset >= own_end)


def grants_vote(role: Role, candidate: ReplicaKey, up_to_date: bool) -> bool:
    """Whether a binding vote is granted: once an epoch, and only where no leader is known."""
    match role:
        case Unattached() | Prospective():
            if role.voted is not None:
                # Kafka grants it again whatever the log is. A candidate that now has less than it had has lost what its voters counted on.
                return is_voted_key(role.voted, candidate) and up_to_date
            return role.leader_id == NO_LEADER and up_to_date
        case Candidate() | Leader() | Follower() | Resigned():
            return False
        case _:
            assert_never(role)


def grants_pre_vote(role: Role, up_to_date: bool) -> bool:
    """Whether a pre-vote is granted: not by a leader, nor by a replica that hears from one."""
    match role:
        case Leader():
            return False
        case Follower():
            return up_to_date and not role.has_fetched
        case Unattached() | Prospective() | Candidate() | Resigned():
            return up_to_date
        case _:
            assert_never(role)


def is_voted_key(voted: ReplicaKey, candidate: ReplicaKey) -> bool:
    """Whether a candidate is the one that got the vote; the directory id counts where it was known."""
    return voted.id == candidate.id and (not any(voted.directory_id) or voted.directory_id == candidate.directory_id)


def add_vote(node: Replica, candidate: ReplicaKey) -> None:
    """Record a vote in this epoch, and give the candidate time."""
    role = node.role
    assert candidate.id != node.local_id and role.voted is None, "one vote an epoch, and not for itself on request"
    if role.__class__ is Prospective:
        transitions.add_vote_as_prospective(node, candidate)
    else:
        deadline_ms = node.election_timeout() if node.may_stand() else NEVER
        transitions.become_unattached(node, role.epoch, role.leader_id, candidate, deadline_ms)


def request_votes(node: Replica, role: Prospective | Candidate) -> int:
    """Ask every voter that did not answer yet and may be asked; when the next one may be.

    Nobody is asked before the whole log is durable. Were a vote won with a tail that a power cut then takes away, two of three voters could
    elect a shorter log next, although that tail was committed by this replica's fetches.
    """
    pre_vote = role.__class__ is Prospective
    now, config, connections = node.now_ms, node.config, node.connections
    due = role.election_deadline_ms
    local = node.local_key
    assert local is not None, "only voters ask for votes"
    end = node.durable_log_end()
    if end is None:
        return due
    for id in role.tally.unrecorded():
        voter = node.voters.voters.get(id)
        endpoint = None if voter is None else voter.endpoints.get(config.default_listener)
        if voter is None or endpoint is None:
            continue
        ready_at = connections.ready_at(id, now)
        if ready_at > now:
            due = min(due, ready_at)
            continue
        request = VoteRequest(
            config.cluster_id,
            id,
            voter.key.directory_id,
            role.epoch,
            local.id,
            local.directory_id,
            end.epoch,
            end.offset,
            pre_vote,
        )
        node.send_claim(id, endpoint, request, end)
        due = min(due, connections.ready_at(id, now))
    return due


def handle_response(node: Replica, source: int, response: VoteResponse) -> bool:
    """Count an answer; whether its connection is fine."""
    is_fine = common.handle_plain_response(node, response, "a vote")
    if is_fine is not None:
        return is_fine
    role = node.role
    if isinstance(role, Prospective | Candidate):
        return count_answer(node, role, source, response.granted)
    return True


def count_answer(node: Replica, role: Prospective | Candidate, source: int, granted: bool) -> bool:
    """Record one voter's answer, and go on if the round is decided."""
    tally = role.tally
    if source not in tally.voters:
        node.complain("a vote came from outside the voters")
        return False
    if role.__class__ is Candidate and tally.answers.get(source, granted) != granted:
        node.complain("a voter both granted and rejected")
        return False
    tally.record(source, granted)
    if tally.is_won():
        if role.__class__ is Prospective:
            transitions.become_candidate(node)
        else:
            transitions.become_leader(node)
    elif tally.is_lost() and role.__class__ is Prospective:
        lose_pre_vote(node, role, node.election_timeout())
    return True


def lose_pre_vote(node: Replica, role: Prospective, deadline_ms: int) -> None:
    """No majority would vote for it, or none answered in time: back to the leader where one is known."""
    if role.leader_id >= 0 and role.endpoints:
        transitions.become_follower(node, role.epoch, role.leader_id, role.endpoints)
    else:
        transitions.become_unattached(node, role.epoch, role.leader_id, role.voted, deadline_ms)


def without_pre_vote(node: Replica) -> None:
    """A voter does not know pre-votes: stand at once, as before KIP-996."""
    if node.role.__class__ is Prospective:
        transitions.become_candidate(node)
