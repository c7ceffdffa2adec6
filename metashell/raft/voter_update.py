"""UpdateRaftVoter at the leader: a voter's endpoints, and the levels of kraft.version that it supports.

At level 1 and above that is a voter set in the log, answered when appended. At level 0 the leader remembers it in memory only, so that
the upgrade to level 1 can write who the voters are. Source: KIP-853; org.apache.kafka.raft.internals.UpdateVoterHandler,
KRaftVersionUpgrade.
"""

from __future__ import annotations

from metashell.codec.error_codes import (
    INCONSISTENT_CLUSTER_ID,
    INVALID_REQUEST,
    NONE,
    REQUEST_TIMED_OUT,
    VOTER_NOT_FOUND,
)
from metashell.raft import common, reconfiguration, replies
from metashell.raft.control_batches import KRaftVersion
from metashell.raft.errors import InvalidUpdateVersionError, NotLeaderError
from metashell.raft.messages import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from metashell.raft.replica import Replica
from metashell.raft.roles import Leader
from metashell.raft.voter_set import Voter, VoterSet
from metashell.values import ZERO_UUID, ReplicaKey


def handle_request(node: Replica, token: object, request: UpdateRaftVoterRequest, listener: str) -> bool:
    """Take in what a voter says of itself; whether it counts as a sign of life of that voter."""
    error = check_request(node, request)
    if error == NONE:
        error = _update(node, request)
    leader_id, endpoint = replies.named_leader(node, listener, request.voter_id)
    response = UpdateRaftVoterResponse(error, leader_id, node.role.epoch, endpoint)
    node.reply(token, response)
    return error == NONE


def check_request(node: Replica, request: UpdateRaftVoterRequest) -> int:
    """The error of a request, in Kafka's order, but for whether the voter is there."""
    if not node.is_cluster(request.cluster_id):
        return INCONSISTENT_CLUSTER_ID
    error = common.check_leader_request(node, request.epoch)
    if error != NONE:
        return error
    if request.voter_id < 0 or request.directory_id == ZERO_UUID or node.config.default_listener not in request.endpoints:
        return INVALID_REQUEST
    if request.min_version < 0 or request.max_version < request.min_version or not reconfiguration.are_plausible(request.endpoints):
        return INVALID_REQUEST
    error, _ = reconfiguration.check_idle(node)
    if error != NONE:
        return error
    level = node.partition.kraft_version
    if level > 0 and not reconfiguration.voters_are_committed(node):
        return REQUEST_TIMED_OUT
    return NONE if request.min_version <= level <= request.max_version else INVALID_REQUEST


def _update(node: Replica, request: UpdateRaftVoterRequest) -> int:
    leader = node.role
    assert isinstance(leader, Leader), "the request was checked"
    voter = Voter(ReplicaKey(request.voter_id, request.directory_id), request.endpoints, request.min_version, request.max_version)
    if node.partition.kraft_version < 1:
        volatile = volatile_voters(node, leader).updated_by_id(voter)
        if volatile is None:
            return VOTER_NOT_FOUND
        leader.volatile_voters = volatile
        return NONE
    voters = node.voters.updated(voter)
    if voters is None:
        return VOTER_NOT_FOUND
    if voters != node.voters:  # what is known needs no record
        reconfiguration.append_voters(node, leader, voters)
    return NONE


def volatile_voters(node: Replica, leader: Leader) -> VoterSet:
    """The voters of kraft.version 0 as they described themselves to this leader, itself among them."""
    if leader.volatile_voters is None:
        own = own_voter(node)
        leader.volatile_voters = node.voters.updated_by_id(own) or node.voters
    return leader.volatile_voters


def own_voter(node: Replica) -> Voter:
    """What a voter set should say of this replica."""
    config = node.config
    assert node.local_key is not None, "an anonymous observer is no voter"
    return Voter(node.local_key, node.own_endpoints, config.min_kraft_version, config.max_kraft_version)


def upgrade_kraft_version(node: Replica, epoch: int, version: int, validate_only: bool) -> int | None:
    """Finalize a level of kraft.version: one batch with it and with the voters as they described themselves.

    Shape: the offset of the batch's last record, None where nothing is to be done or `validate_only`.
    Errors: NotLeaderError; InvalidUpdateVersionError for a lower or unknown level, a voter that does not support it, or one that did not
    tell its directory id yet.
    """
    leader = node.role
    if not isinstance(leader, Leader) or leader.epoch != epoch:
        raise NotLeaderError(f"upgrade of kraft.version in epoch {epoch}, which this node does not lead")
    level = node.partition.kraft_version
    if version == level:
        return None
    if version < level:
        raise InvalidUpdateVersionError(f"kraft.version is {level} and cannot become {version}")
    if leader.accumulator.voters_offset >= node.log_end:
        return None  # the same upgrade waits to be written
    voters = volatile_voters(node, leader)
    if voters.ids != node.voters.ids:
        raise InvalidUpdateVersionError(f"the voters are {node.voters.ids}, those who described themselves {voters.ids}")
    for voter in voters.voters.values():
        if not voter.supports(version):
            raise InvalidUpdateVersionError(f"voter {voter.key.id} does not support kraft.version {version}")
        if voter.key.directory_id == ZERO_UUID:
            raise InvalidUpdateVersionError(f"voter {voter.key.id} has not told its directory id yet")
    if validate_only:
        return None
    return leader.accumulator.append_control([KRaftVersion(version), voters], node.now_ms, node.wall_ms())
