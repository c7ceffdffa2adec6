"""What a follower reports to the leader about itself: a voter its endpoints and levels, an observer with auto-join its wish to vote.

Both replace a fetch, once an update period. Source: KIP-853, KIP-1186; org.apache.kafka.raft.KafkaRaftClient.pollFollowerAsVoter,
pollFollowerAsObserver.
"""

from __future__ import annotations

from metashell.codec.error_codes import DUPLICATE_VOTER, NONE, REQUEST_TIMED_OUT, UNSUPPORTED_VERSION, VOTER_NOT_FOUND
from metashell.raft import common
from metashell.raft.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ChangeVoterResponse,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from metashell.raft.replica import Replica
from metashell.raft.roles import Follower
from metashell.raft.voter_update import own_voter


def maybe_send(node: Replica, follower: Follower) -> bool:
    """Whether a request to the leader left in place of a fetch. It is asked when `update_deadline_ms` has come."""
    if node.now_ms < follower.update_deadline_ms or node.local_key is None:
        return False
    request = request_to_send(node, follower)
    if request is None:
        restart_timer(node, follower)
        return False
    endpoint = follower.endpoints.get(node.config.default_listener)
    if endpoint is None or not node.connections.is_ready(follower.leader_id, node.now_ms):
        return False
    # Also where it will be refused: asking again at once would leave no time for fetches from this leader.
    restart_timer(node, follower)
    node.send(follower.leader_id, endpoint, request)
    return True


def request_to_send(node: Replica, follower: Follower) -> UpdateRaftVoterRequest | AddRaftVoterRequest | RemoveRaftVoterRequest | None:
    """What to send to the leader now, None for nothing."""
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
    is_fine = common.handle_response(node, response)
    if is_fine is not None:
        return is_fine
    follower = node.role
    if not isinstance(follower, Follower):
        return True
    # A leader before 4.1 does not know the request at level 0, and need not.
    if response.error == NONE or (response.error == UNSUPPORTED_VERSION and node.partition.kraft_version < 1):
        follower.has_updated_leader = True
        follower.fetch_deadline_ms = node.now_ms + node.config.fetch_timeout_ms
        restart_timer(node, follower)
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
    restart_timer(node, follower)
    return True


def restart_timer(node: Replica, follower: Follower) -> None:
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
