"""BeginQuorumEpoch and EndQuorumEpoch: a leader says that it leads, or that it gives up.

A replica that fetches finds its leader anyway; BeginQuorumEpoch reaches a voter that looks at the wrong place. EndQuorumEpoch names the
voters in the order in which they should stand: the first stands at once, so that two do not split the votes.

Source: KIP-595, KIP-853; KafkaRaftClient.handleBeginQuorumEpochRequest, handleEndQuorumEpochRequest, LeaderState, ResignedState.
"""

from __future__ import annotations

from metashell.codec.error_codes import (
    FENCED_LEADER_EPOCH,
    INVALID_REQUEST,
    INVALID_VOTER_KEY,
    NONE,
    UNKNOWN_LEADER_EPOCH,
    UNKNOWN_SERVER_ERROR,
)
from metashell.ids import NO_LEADER
from metashell.raft import common, replies
from metashell.raft.messages import BeginQuorumEpochRequest, BeginQuorumEpochResponse, EndQuorumEpochRequest, EndQuorumEpochResponse
from metashell.raft.replica import Replica
from metashell.raft.roles import Follower, Leader, Resigned
from metashell.values import ReplicaKey


def handle_begin(node: Replica, token: object, request: BeginQuorumEpochRequest, listener: str) -> None:
    """Follow a leader that says it is one. It does not count as hearing from the leader: only fetches do."""
    if error := common.check_addressed(node, request):
        node.reply(token, BeginQuorumEpochResponse(error))
        return
    error = take_leader(node, request)
    if error == NONE and not node.is_local(request.voter_id, request.voter_directory_id):
        error = INVALID_VOTER_KEY
    reply(node, token, replies.answer(node, BeginQuorumEpochResponse, error, listener))


def handle_end(node: Replica, token: object, request: EndQuorumEpochRequest, listener: str) -> None:
    """A leader gives up: stand at once or after others, by the order in which it names the voters."""
    if error := common.check_addressed(node, request):
        node.reply(token, EndQuorumEpochResponse(error))
        return
    error = take_leader(node, request)
    role = node.role
    if error == NONE and isinstance(role, Follower) and role.leader_id == request.leader_id:
        role.fetch_deadline_ms = node.now_ms + successor_backoff(node, request.candidates)
    reply(node, token, replies.answer(node, EndQuorumEpochResponse, error, listener))


def take_leader(node: Replica, request: BeginQuorumEpochRequest | EndQuorumEpochRequest) -> int:
    """Believe a leader's own word, or say why not."""
    leader_id, epoch, endpoints = request.leader_id, request.epoch, request.endpoints
    if epoch < node.role.epoch:
        return FENCED_LEADER_EPOCH
    if leader_id < 0:
        return INVALID_REQUEST
    if not common.is_plausible_epoch(node, epoch):
        return UNKNOWN_LEADER_EPOCH
    if not common.is_consistent(node, leader_id, epoch):
        # The sender may be confused, but is not to be killed: an error that it logs and forgets.
        node.complain("a request names another leader of an epoch than the one that is known")
        return UNKNOWN_SERVER_ERROR
    if node.config.default_listener not in endpoints:
        endpoints = node.endpoints_of(leader_id) or endpoints
    common.handle_leader(node, leader_id, epoch, endpoints)
    return NONE


def reply(node: Replica, token: object, response: BeginQuorumEpochResponse | EndQuorumEpochResponse) -> None:
    """Answer. Where two disagree on who leads an epoch nobody is named: naming one of them would kill a Kafka peer."""
    if response.error == UNKNOWN_SERVER_ERROR:
        response.leader_id, response.leader_endpoint = NO_LEADER, None
    node.reply(token, response)


def successor_backoff(node: Replica, candidates: tuple[ReplicaKey, ...]) -> int:
    """How many ms to wait before standing: none for the first of the list, longer further down, the most if not in it.

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


def send_begin(node: Replica, leader: Leader) -> int:
    """The time has come: announce this leader to the voters that do not fetch; when to do it again."""
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
    """A voter heard that this replica leads; whether the connection is fine."""
    is_fine = common.handle_plain_response(node, response, "BeginQuorumEpoch")
    return True if is_fine is None else is_fine


def send_end(node: Replica, role: Resigned) -> int:
    """Tell the voters that did not hear it that leadership is given up; when to look again.

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
    """A voter heard that this replica resigned; whether the connection is fine."""
    is_fine = common.handle_plain_response(node, response, "EndQuorumEpoch")
    if is_fine is not None:
        return is_fine
    if isinstance(node.role, Resigned):
        node.role.acknowledged.add(source)
    return True
