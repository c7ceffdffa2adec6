"""UpdateRaftVoter on both sides: a follower reports its endpoints and levels of kraft.version, and the leader takes them.

At level 1 and above the leader writes a voter set into the log, and answers when that is appended. At level 0 it remembers the voter in
memory only, so that the upgrade to level 1 can write who the voters are.

A voter reports itself, and an observer with auto-join asks to become a voter; both replace a fetch, once an update period.

Source: KIP-853, KIP-1186; org.apache.kafka.raft.internals.UpdateVoterHandler, KRaftVersionUpgrade;
org.apache.kafka.raft.KafkaRaftClient.pollFollowerAsVoter, pollFollowerAsObserver."""

from __future__ import annotations

from metashell.codec.error_codes import (
    DUPLICATE_VOTER,
    INCONSISTENT_CLUSTER_ID,
    INVALID_REQUEST,
    NONE,
    REQUEST_TIMED_OUT,
    UNSUPPORTED_VERSION,
    VOTER_NOT_FOUND,
)
from metashell.common.values import ZERO_UUID, ReplicaKey
from metashell.quorum.raft import reconfiguration, transitions
from metashell.quorum.raft.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ChangeVoterResponse,
    InvalidUpdateVersionError,
    NotLeaderError,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from metashell.quorum.raft.replica import Replica
from metashell.quorum.raft.roles import Follower, Leader
from metashell.quorum.raft.voters import KRaftVersion, Voter, VoterSet


def handle_update_request(node: Replica, token: object, request: UpdateRaftVoterRequest, listener: str) -> bool:
    """Take a voter's update; return whether it counts as a sign of life of that voter."""
    error = check_update_request(node, request)
    if error == NONE:
        error = _apply_update(node, request)
    leader_id, endpoint = transitions.named_leader(node, listener, request.voter_id)
    response = UpdateRaftVoterResponse(error, leader_id, node.role.epoch, endpoint)
    node.reply(token, response)
    return error == NONE


def check_update_request(node: Replica, request: UpdateRaftVoterRequest) -> int:
    """The error of a request, in Kafka's order, but for whether the voter is there."""
    if not node.is_cluster(request.cluster_id):
        return INCONSISTENT_CLUSTER_ID
    error = transitions.check_leader_request(node, request.epoch)
    if error != NONE:
        return error
    if (
        request.voter_id < 0
        or request.voter_id == node.local_id
        or request.directory_id == ZERO_UUID
        or node.config.default_listener not in request.endpoints
    ):
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


def _apply_update(node: Replica, request: UpdateRaftVoterRequest) -> int:
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
    """Return the entry that a voter set should have for this replica."""
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
            # Kafka's words, and which voter it is.
            refused = f"Invalid upgrade of kraft.version to KRAFT_VERSION_{version} because not all of the voters support it"
            raise InvalidUpdateVersionError(f"{refused}: voter {voter.key.id} does not support kraft.version {version}")
        if voter.key.directory_id == ZERO_UUID:
            raise InvalidUpdateVersionError(f"voter {voter.key.id} has not told its directory id yet")
    if validate_only:
        return None
    return leader.accumulator.append_control([KRaftVersion(version), voters], node.now_ms, node.wall_ms())


# At the voter


def maybe_send_update(node: Replica, follower: Follower) -> bool:
    """Send an update in place of a fetch, if one is due; return whether one left. Call it when `update_deadline_ms` has come."""
    if node.now_ms < follower.update_deadline_ms or node.local_key is None:
        return False
    request = update_to_send(node, follower)
    if request is None:
        restart_update_timer(node, follower)
        return False
    endpoint = follower.endpoints.get(node.config.default_listener)
    if endpoint is None or not node.connections.is_ready(follower.leader_id, node.now_ms):
        return False
    # Also where it will be refused: asking again at once would leave no time for fetches from this leader.
    restart_update_timer(node, follower)
    node.send(follower.leader_id, endpoint, request)
    return True


def update_to_send(node: Replica, follower: Follower) -> UpdateRaftVoterRequest | AddRaftVoterRequest | RemoveRaftVoterRequest | None:
    """Return the request to send to the leader now, None for none."""
    if node.is_voter:
        return _update_request(node, follower) if needs_update(node, follower) else None
    config = node.config
    # What it has not applied yet may be newer than its release, and end it: as a voter it would be missing then.
    if config.auto_join and config.is_controller and node.partition.kraft_version >= 1 and node.has_applied_all():
        return _join_request(node)
    return None


def needs_update(node: Replica, follower: Follower) -> bool:
    """Whether the voter set is wrong about this voter; without one in the log, whether this leader has not heard from it yet."""
    if node.partition.kraft_version < 1:
        return not follower.has_updated_leader
    return node.voters.voters.get(node.local_id) != own_voter(node)


def handle_update_response(node: Replica, response: UpdateRaftVoterResponse) -> bool:
    """The leader's answer to UpdateRaftVoter; whether its connection is fine."""
    is_fine = transitions.handle_response(node, response)
    if is_fine is not None:
        return is_fine
    follower = node.role
    if not isinstance(follower, Follower):
        return True
    # A leader before 4.1 does not know the request at level 0, and need not.
    if response.error == NONE or (response.error == UNSUPPORTED_VERSION and node.partition.kraft_version < 1):
        follower.has_updated_leader = True
        follower.fetch_deadline_ms = node.now_ms + follower.fetch_timeout_ms
        restart_update_timer(node, follower)
        return True
    return False


def handle_join_response(node: Replica, response: ChangeVoterResponse) -> bool:
    """The leader's answer to an auto-join's add or remove; whether its connection is fine."""
    follower = node.role
    if not isinstance(follower, Follower):
        return True
    done = DUPLICATE_VOTER if isinstance(response, AddRaftVoterResponse) else VOTER_NOT_FOUND
    if response.error not in (NONE, REQUEST_TIMED_OUT, done):
        return False
    restart_update_timer(node, follower)
    return True


def restart_update_timer(node: Replica, follower: Follower) -> None:
    follower.update_deadline_ms = node.now_ms + node.config.fetch_timeout_ms


def _update_request(node: Replica, follower: Follower) -> UpdateRaftVoterRequest:
    own = own_voter(node)
    return UpdateRaftVoterRequest(
        node.config.cluster_id, follower.epoch, own.key.id, own.key.directory_id, own.endpoints, own.min_version, own.max_version
    )


def _join_request(node: Replica) -> AddRaftVoterRequest | RemoveRaftVoterRequest:
    """Remove what an older disk of this node left among the voters, else add this one.

    It is answered before the commit, for which this replica itself may have to fetch.
    """
    config, own = node.config, own_voter(node)
    old = node.voters.voters.get(own.key.id)
    if old is not None:
        return RemoveRaftVoterRequest(config.cluster_id, old.key.id, old.key.directory_id)
    return AddRaftVoterRequest(config.cluster_id, own.key.id, own.key.directory_id, own.endpoints, config.request_timeout_ms, False)
