"""Elections: votes and pre-votes, and a leader's BeginQuorumEpoch and EndQuorumEpoch.

A vote goes to the first that asks in an epoch whose leader is not known, if its log holds all that ours does. "All" is decided by the
epoch of the last batch before the length: a log that ends at offset 7 with a batch of epoch 4 beats one that ends at 90 with epoch 3,
because whoever led epoch 4 had every committed record, and what lies beyond that in epoch 3 was never committed. So a majority that
stored a record votes for nobody without it.

A vote is on disk before it is granted, so after a restart it is still known. Asked again by the same candidate, say because the answer was
lost, it is granted again if its log is still long enough; any other candidate of that epoch is refused. A pre-vote binds nobody, is not
written down, and may be granted to any number; only a replica that leads, or still hears from its leader, refuses it whatever the log is.

A replica that fetches finds its leader anyway; BeginQuorumEpoch reaches a voter that looks at the wrong place. EndQuorumEpoch names the
voters in the order in which they should stand: the first stands at once, so that two do not split the votes.

Source: KIP-595, KIP-853, KIP-996; KafkaRaftClient.handleVoteRequest, handleVoteResponse, handleBeginQuorumEpochRequest,
handleEndQuorumEpochRequest, LeaderState, ResignedState."""

from __future__ import annotations

from typing import assert_never

from metashell.codec.error_codes import (
    FENCED_LEADER_EPOCH,
    INVALID_REQUEST,
    INVALID_VOTER_KEY,
    NONE,
    UNKNOWN_LEADER_EPOCH,
    UNKNOWN_SERVER_ERROR,
)
from metashell.common.values import NO_LEADER, ZERO_UUID, ReplicaKey
from metashell.quorum.raft import epoch_guard, transitions
from metashell.quorum.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from metashell.quorum.raft.ready import NEVER
from metashell.quorum.raft.replica import Replica
from metashell.quorum.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached


def handle_vote_request(node: Replica, token: object, request: VoteRequest, listener: str) -> None:
    """Answer a Vote request, in the order of the checks that Kafka makes."""
    if error := transitions.check_addressed(node, request):
        node.reply(token, VoteResponse(error))
        return
    is_addressee = node.is_local(request.voter_id, request.voter_directory_id)
    error = check_vote_request(node, request)
    granted = False
    if error == UNKNOWN_LEADER_EPOCH and not is_addressee:
        # The sender looks for another one, which is not here.
        error = INVALID_VOTER_KEY
    if error == NONE:
        if request.epoch > node.role.epoch:
            # Before the addressee is looked at: the epoch exists.
            transitions.become_unattached(node, request.epoch)
        if not is_addressee:
            error = INVALID_VOTER_KEY
        else:
            granted = decide_vote(node, request)
    response = transitions.response_with_leader(node, VoteResponse, error, listener, request.candidate_id)
    response.granted = granted
    node.reply(token, response)


def check_vote_request(node: Replica, request: VoteRequest) -> int:
    """Return the error of a request whose fields cannot be right, or NONE."""
    last_epoch, epoch = request.last_epoch, request.epoch
    if request.last_offset < 0 or last_epoch < 0 or (last_epoch > epoch if request.pre_vote else last_epoch >= epoch):
        return INVALID_REQUEST
    if epoch < node.role.epoch:
        return FENCED_LEADER_EPOCH
    candidate_id, binds = request.candidate_id, not request.pre_vote
    if error := epoch_guard.check_request_epoch(node, candidate_id, request.candidate_directory_id, epoch, binds=binds):
        return error
    return INVALID_REQUEST if candidate_id < 0 else NONE


def handle_inquiry_response(node: Replica, source: int, response: FetchResponse) -> bool:
    """Take over the epoch and leader that an asked voter told; return whether that was news, for else it is not asked again soon."""
    known = node.role.epoch
    transitions.handle_response(node, response)
    if node.role.epoch > known:
        return True
    # Perhaps it was another one that answered: an inquiry does not name its addressee.
    node.miss(source)
    return False


def decide_vote(node: Replica, request: VoteRequest) -> bool:
    """Grant or reject, and note a vote that binds."""
    if request.candidate_id == node.local_id:
        node.complain("a vote was asked for by the own id")
        return False
    if node.recovering is not None:
        # Its log does not say any more what it may have acknowledged (`polling`).
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
    """Ask each voter that has not answered and is ready; return when the next one will be.

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
        ready_at = connections.ready_at(id, now)
        if ready_at > now:
            due = min(due, ready_at)
            continue
        if connections.has_timed_out(id, now):
            node.miss(id)
        endpoint = node.address_of(id, node.misses.get(id, 0))
        if voter is None or endpoint is None:
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


def handle_vote_response(node: Replica, source: int, response: VoteResponse) -> bool:
    """Count an answer; return whether its connection is fine."""
    asking = node.role
    if isinstance(asking, Prospective) and response.granted and response.error == NONE and response.epoch == asking.epoch:
        # Whoever it takes for the leader: it does not hear from that one. Two voters may each have been told of another leader by somebody
        # who is gone, and would else never believe each other.
        return count_vote_answer(node, asking, source, granted=True)
    is_fine = transitions.handle_plain_response(node, response, "a vote")
    if response.error == INVALID_VOTER_KEY:
        node.miss(source)
    else:
        node.misses.pop(source, None)
    if is_fine is not None:
        return is_fine
    role = node.role
    if isinstance(role, Prospective | Candidate):
        return count_vote_answer(node, role, source, response.granted)
    return True


def count_vote_answer(node: Replica, role: Prospective | Candidate, source: int, granted: bool) -> bool:
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
    """Lose a pre-vote (no majority granted it, or none in time): follow the known leader again, else stay unattached."""
    if role.leader_id >= 0 and role.endpoints:
        transitions.become_follower(node, role.epoch, role.leader_id, role.endpoints)
    else:
        transitions.become_unattached(node, role.epoch, role.leader_id, role.voted, deadline_ms)


def without_pre_vote(node: Replica) -> None:
    """Stand at once, as before KIP-996: a voter does not know pre-votes."""
    if node.role.__class__ is Prospective:
        transitions.become_candidate(node)


# BeginQuorumEpoch and EndQuorumEpoch


def handle_begin_request(node: Replica, token: object, request: BeginQuorumEpochRequest, listener: str) -> None:
    """Follow a leader that says it is one. It does not count as hearing from the leader: only fetches do."""
    if error := transitions.check_addressed(node, request):
        node.reply(token, BeginQuorumEpochResponse(error))
        return
    error = follow_sender(node, request)
    if error == NONE and not node.is_local(request.voter_id, request.voter_directory_id):
        error = INVALID_VOTER_KEY
    reply_to_leader(node, token, transitions.response_with_leader(node, BeginQuorumEpochResponse, error, listener))


def handle_end_request(node: Replica, token: object, request: EndQuorumEpochRequest, listener: str) -> None:
    """Take a leader's resignation: stand at once or after others, in the order in which it names the voters."""
    if error := transitions.check_addressed(node, request):
        node.reply(token, EndQuorumEpochResponse(error))
        return
    error = follow_sender(node, request)
    role = node.role
    if error == NONE and isinstance(role, Follower) and role.leader_id == request.leader_id:
        role.fetch_deadline_ms = node.now_ms + successor_backoff(node, request.candidates)
    reply_to_leader(node, token, transitions.response_with_leader(node, EndQuorumEpochResponse, error, listener))


def follow_sender(node: Replica, request: BeginQuorumEpochRequest | EndQuorumEpochRequest) -> int:
    """Follow the leader that sent the request, or return the error."""
    leader_id, epoch, endpoints = request.leader_id, request.epoch, request.endpoints
    if epoch < node.role.epoch:
        return FENCED_LEADER_EPOCH
    if leader_id < 0:
        return INVALID_REQUEST
    if error := epoch_guard.check_request_epoch(node, leader_id, ZERO_UUID, epoch, binds=True):
        return error
    if node.role.leader_id != leader_id and not epoch_guard.knows_voter(node, leader_id):
        node.complain(f"{leader_id}, which is no voter here, says that it leads epoch {epoch}")
        return UNKNOWN_LEADER_EPOCH
    if not transitions.is_consistent(node, leader_id, epoch):
        # The sender may be confused, but is not to be killed: an error that it logs and forgets.
        node.complain("a request names another leader of an epoch than the one that is known")
        return UNKNOWN_SERVER_ERROR
    if node.config.default_listener not in endpoints:
        endpoints = node.endpoints_of(leader_id) or endpoints
    transitions.handle_leader(node, leader_id, epoch, endpoints)
    return NONE


def reply_to_leader(node: Replica, token: object, response: BeginQuorumEpochResponse | EndQuorumEpochResponse) -> None:
    """Answer. Where two disagree on who leads an epoch nobody is named: naming one of them would kill a Kafka peer."""
    if response.error == UNKNOWN_SERVER_ERROR:
        response.leader_id, response.leader_endpoint = NO_LEADER, None
    node.reply(token, response)


def successor_backoff(node: Replica, candidates: tuple[ReplicaKey, ...]) -> int:
    """Return the ms to wait before standing: 0 for the first of the list, longer further down, the most if not in it.

    Source: KafkaRaftClient.endEpochElectionBackoff, strictExponentialElectionBackoffMs.
    """
    longest = node.config.election_backoff_max_ms
    count = len(candidates)
    if not candidates:
        return 0
    for position, key in enumerate(candidates):
        if key.id == node.local_id and node.is_local(key.id, key.directory_id):
            if position == 0:
                return 0
            return min(longest, (longest >> min(count - 1, 62)) << min(position - 1, 62))
    return longest


def send_begin_requests(node: Replica, leader: Leader) -> int:
    """Announce this leader to the voters that do not fetch; return when to do it again."""
    now, config = node.now_ms, node.config
    period = config.fetch_timeout_ms // 2
    leader.begin_deadline_ms = now + period
    for id, voter in node.voters.voters.items():
        if id == node.local_id:
            continue
        last_fetch_ms = leader.voters[id].last_fetch_ms
        endpoint = voter.endpoints.get(config.default_listener)
        if endpoint is None or (last_fetch_ms >= 0 and now - last_fetch_ms < period) or not node.connections.is_ready(id, now):
            continue
        request = BeginQuorumEpochRequest(config.cluster_id, id, voter.key.directory_id, leader.leader_id, leader.epoch, leader.endpoints)
        node.send(id, endpoint, request)
    return leader.begin_deadline_ms


def handle_begin_response(node: Replica, source: int, response: BeginQuorumEpochResponse) -> bool:
    """Take a voter's answer to BeginQuorumEpoch; return whether the connection is fine."""
    is_fine = transitions.handle_plain_response(node, response, "BeginQuorumEpoch")
    return True if is_fine is None else is_fine


def send_end_requests(node: Replica, role: Resigned) -> int:
    """Send EndQuorumEpoch to the voters that have not acknowledged it; return when to look again.

    Kafka sends no endpoints here. A Kafka voter whose log does not have the record yet by which this replica became one cannot find out
    where it is, and dies; with endpoints it goes on.
    """
    now, config, connections = node.now_ms, node.config, node.connections
    due = role.election_deadline_ms
    for id, voter in node.voters.voters.items():
        endpoint = voter.endpoints.get(config.default_listener)
        if id in role.acknowledged or endpoint is None:
            continue
        if connections.is_ready(id, now):
            request = EndQuorumEpochRequest(config.cluster_id, role.leader_id, role.epoch, role.successors, role.endpoints)
            node.send(id, endpoint, request)
        due = min(due, connections.ready_at(id, now))
    return due


def handle_end_response(node: Replica, source: int, response: EndQuorumEpochResponse) -> bool:
    """Take a voter's answer to EndQuorumEpoch; return whether the connection is fine."""
    is_fine = transitions.handle_plain_response(node, response, "EndQuorumEpoch")
    if is_fine is not None:
        return is_fine
    if isinstance(node.role, Resigned):
        node.role.acknowledged.add(source)
    return True
