"""Voters added and removed by a leader: one at a time, each by one record, in force when appended and answered when committed.

Every check stands in the order in which Kafka makes them, since each has an error of its own. `leader.change` is the operation in
progress. No change begins before the leader committed a record of its epoch, nor while a voter set is not committed: two sets that are
in force somewhere then never differ by more than one voter, and their majorities overlap.
Source: KIP-853; org.apache.kafka.raft.internals.AddVoterHandler, RemoveVoterHandler.

UpdateRaftVoter, on both sides: a follower reports its endpoints and levels of kraft.version, and the leader takes them. At level 1 and
above the leader writes a voter set into the log, and answers when that is appended. At level 0 it remembers the voter in memory only, so
that the upgrade to level 1 can write who the voters are. A voter reports itself, and an observer with auto-join asks to become a voter;
both replace a fetch, once an update period.

Source: KIP-853, KIP-1186; org.apache.kafka.raft.internals.UpdateVoterHandler, KRaftVersionUpgrade;
org.apache.kafka.raft.KafkaRaftClient.pollFollowerAsVoter, pollFollowerAsObserver."""

from __future__ import annotations

from typing import Final

from metashell.codec.error_codes import (
    DUPLICATE_VOTER,
    INCONSISTENT_CLUSTER_ID,
    INVALID_REQUEST,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    REQUEST_TIMED_OUT,
    UNSUPPORTED_VERSION,
    VOTER_NOT_FOUND,
)
from metashell.common.values import ZERO_UUID, ReplicaKey, uuid_text
from metashell.quorum.raft import reconfiguration, transitions
from metashell.quorum.raft.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    ChangeVoterResponse,
    Endpoints,
    InvalidUpdateVersionError,
    NotLeaderError,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from metashell.quorum.raft.ready import NEVER
from metashell.quorum.raft.replica import Replica
from metashell.quorum.raft.roles import Follower, Leader
from metashell.quorum.raft.voters import AddVoter, KRaftVersion, RemoveVoter, Voter, VoterSet

CAUGHT_UP_FETCH_MS: Final = 3_600_000
"""A replica that was at the leader's log end once and fetched within this time may become a voter."""

LISTENERS_MAX: Final = 64
NAME_MAX: Final = 255
"""Characters of a listener's name and of a host; DNS has no longer ones. The sets of all voters have to fit in one batch."""

Refusal = tuple[int, str]


def handle_add(node: Replica, token: object, request: AddRaftVoterRequest, listener: str) -> None:
    """Begin to add a voter, or say why not."""
    leader = node.role
    error, message = check_add(node, request)
    if error != NONE or not isinstance(leader, Leader):
        node.reply(token, AddRaftVoterResponse(error, message))
        return
    key = ReplicaKey(request.voter_id, request.directory_id)
    deadline_ms = node.now_ms + node.config.request_timeout_ms
    leader.change = AddVoter(token, key, request.endpoints, request.ack_when_committed, deadline_ms)
    node.send(key.id, request.endpoints[node.config.default_listener], ApiVersionsRequest())


def handle_remove(node: Replica, token: object, request: RemoveRaftVoterRequest, listener: str) -> None:
    """Remove a voter, or say why not."""
    leader = node.role
    error, message = check_remove(node, request)
    key = ReplicaKey(request.voter_id, request.directory_id)
    voters = None
    if error == NONE:
        voters = node.voters.without(key)
        if voters is None:
            error, message = VOTER_NOT_FOUND, f"Cannot remove voter {_name(key)} from the set of voters {_names(node)}"
    if voters is None or not isinstance(leader, Leader):
        node.reply(token, RemoveRaftVoterResponse(error, message))
        return
    offset = append_voters(node, leader, voters)
    leader.change = RemoveVoter(token, key, offset, node.now_ms + node.config.request_timeout_ms)


def check_asked(node: Replica, request: AddRaftVoterRequest | RemoveRaftVoterRequest) -> Refusal:
    """Return the error of a change for another cluster, for a replica that does not lead, or of a key that no voter has."""
    if not node.is_cluster(request.cluster_id):
        return INCONSISTENT_CLUSTER_ID, f'The given id "{request.cluster_id}" doesn\'t match the cluster id "{node.config.cluster_id}"'
    error = transitions.check_leader_request(node, node.role.epoch)
    if error != NONE:
        return error, "this node is not the leader"
    if request.voter_id < 0 or request.directory_id == ZERO_UUID:
        what = "Add" if isinstance(request, AddRaftVoterRequest) else "Remove"
        return INVALID_REQUEST, f"{what} voter request didn't include a valid voter"
    return NONE, ""


def check_add(node: Replica, request: AddRaftVoterRequest) -> Refusal:
    """Return the reason why a voter is not added; the checks are in Kafka's order."""
    refusal = check_asked(node, request)
    if refusal[0] != NONE:
        return refusal
    if node.config.default_listener not in request.endpoints:
        listed = ", ".join(f"ListenerName({name})={host}/<unresolved>:{port}" for name, (host, port) in request.endpoints.items())
        missing = f"for the default listener ListenerName({node.config.default_listener})"
        return INVALID_REQUEST, f"Add voter request didn't include the endpoint (Endpoints(endpoints={{{listed}}})) {missing}"
    if not are_plausible(request.endpoints):
        return INVALID_REQUEST, f"a voter has at most {LISTENERS_MAX} listeners, with names and hosts of at most {NAME_MAX} characters"
    refusal = check_change(node, "adding")
    if refusal[0] != NONE:
        return refusal
    if request.voter_id in node.voters:
        key = ReplicaKey(request.voter_id, request.directory_id)
        return DUPLICATE_VOTER, f"The voter id for {_name(key)} is already part of the set of voters {_names(node)}."
    if not node.connections.is_ready(request.voter_id, node.now_ms):
        name = _name(ReplicaKey(request.voter_id, request.directory_id))
        return REQUEST_TIMED_OUT, f"New voter {name} is not ready to receive requests"
    return NONE, ""


def are_plausible(endpoints: Endpoints) -> bool:
    """Whether a node can have these endpoints, so that they may be written into the log for good."""
    return len(endpoints) <= LISTENERS_MAX and all(
        len(name) <= NAME_MAX and 0 < len(host) <= NAME_MAX for name, (host, _) in endpoints.items()
    )


def check_remove(node: Replica, request: RemoveRaftVoterRequest) -> Refusal:
    """Return the reason why a voter is not removed, in Kafka's order; whether it is a voter is checked elsewhere."""
    refusal = check_asked(node, request)
    return refusal if refusal[0] != NONE else check_change(node, "removing")


def check_change(node: Replica, change: str) -> Refusal:
    """Return the reason why no voter at all may be added or removed now; `change` is `adding` or `removing`."""
    refusal = check_idle(node)
    if refusal[0] != NONE:
        return refusal
    if node.partition.kraft_version < 1:
        return UNSUPPORTED_VERSION, f"Cluster doesn't support {change} voter because the kraft.version feature is 0"
    if not voters_are_committed(node):
        return REQUEST_TIMED_OUT, "the last voter set is not committed yet"
    return NONE, ""


def check_idle(node: Replica) -> Refusal:
    """Return the reason why no voter may change: another change runs, or the leader has committed nothing of its epoch."""
    leader = node.role
    assert isinstance(leader, Leader), "only a leader changes voters"
    expire_change(node, leader)
    if leader.change is not None:
        return REQUEST_TIMED_OUT, "Request timed out waiting for leader to handle previous voter change request"
    if node.high_watermark is None:
        return REQUEST_TIMED_OUT, "Request timed out waiting for leader to establish HWM and fence previous voter changes"
    return NONE, ""


def voters_are_committed(node: Replica) -> bool:
    """Whether the last voter set, also one that is not written yet, is committed."""
    leader = node.role
    assert isinstance(leader, Leader), "only a leader changes voters"
    high_watermark = node.high_watermark
    return (
        high_watermark is not None
        and leader.accumulator.voters_offset < high_watermark
        and node.partition.voters_are_committed(high_watermark)
    )


def append_voters(node: Replica, leader: Leader, voters: VoterSet) -> int:
    """Put a voter set into the leader's log, and give the offset of its record."""
    return leader.accumulator.append_control([voters], node.now_ms, node.wall_ms())


def handle_api_versions(node: Replica, source: int, response: ApiVersionsResponse) -> bool:
    """A voter to be added says which levels it supports, or could not be asked; whether its connection is fine."""
    leader = node.role
    change = leader.change if isinstance(leader, Leader) else None
    if not isinstance(change, AddVoter) or not isinstance(leader, Leader) or change.offset is not None or change.key.id != source:
        return True
    if response.top_error != NONE:
        finish_change(node, leader, REQUEST_TIMED_OUT, f"{_name(change.key)} could not be asked for its versions")
        return False
    level = node.partition.kraft_version
    supported = response.kraft_versions
    # A range from below 0 would be written into the voters, and kill every Kafka replica that reads it.
    if supported is None or not 0 <= supported[0] <= level <= supported[1]:
        bounds = "(min: 0, max: 0)" if supported is None else f"(min: {supported[0]}, max: {supported[1]}"  # Kafka's words: no bracket
        why = f"since the kraft.version range {bounds} doesn't support the finalized version {level}"
        finish_change(node, leader, INVALID_REQUEST, f"Aborted add voter operation for {_name(change.key)} {why}")
    elif not is_caught_up(node, leader, change.key):
        finish_change(node, leader, REQUEST_TIMED_OUT, f"Aborted add voter operation for {_name(change.key)} since it is lagging behind")
    else:
        voters = node.voters.with_voter(Voter(change.key, change.endpoints, supported[0], supported[1]))
        assert voters is not None, "no other voter is added meanwhile"
        change.offset = append_voters(node, leader, voters)
        if not change.waits_for_commit:
            change.is_answered = True
            node.reply(change.token, change.make_response(NONE, None))
    return True


def is_caught_up(node: Replica, leader: Leader, key: ReplicaKey) -> bool:
    """Whether the leader knows an observer of exactly this key that was at its log end once, and still fetches."""
    progress = leader.observers.get((key.id, key.directory_id))
    return (
        progress is not None
        and progress.last_caught_up_ms >= 0
        and progress.last_fetch_ms >= 0
        and progress.last_fetch_ms > node.now_ms - CAUGHT_UP_FETCH_MS
    )


def watermark_advanced(node: Replica, leader: Leader) -> None:
    """More is committed: answer a change that now is, and ask to resign where the committed voters do without this leader.

    Kafka resigns only at the end of the removal it was asked for; one that timed out and commits later would leave it leading.
    """
    change, high_watermark = leader.change, node.high_watermark
    assert high_watermark is not None, "a high watermark that advanced is known"
    if change is not None and change.offset is not None and change.offset < high_watermark:
        finish_change(node, leader, NONE, None)
    if not node.is_voter and not node.partition.committed_voters(high_watermark).is_voter(node.local_key):
        leader.resign_requested = True


def expire_change(node: Replica, leader: Leader) -> int:
    """Give up a change whose time is over; when that will be. Its record stays in the log and may still be committed."""
    change = leader.change
    if change is None:
        return NEVER
    if change.deadline_ms > node.now_ms:
        return change.deadline_ms
    finish_change(node, leader, REQUEST_TIMED_OUT, "it took too long")
    return NEVER


def leadership_ended(node: Replica, leader: Leader) -> None:
    """Answer those who wait for a change: this replica is not the leader any more."""
    if leader.change is not None:
        finish_change(node, leader, NOT_LEADER_OR_FOLLOWER, "this node is not the leader any more")


def finish_change(node: Replica, leader: Leader, error: int, message: str | None) -> None:
    """Answer the change in progress, unless that was done, and let the next one begin."""
    change, leader.change = leader.change, None
    assert change is not None, "a change is in progress"
    if not change.is_answered:
        node.reply(change.token, change.make_response(error, message))


def _name(key: ReplicaKey) -> str:
    """A replica as Kafka prints it: tools show it to operators."""
    return f"ReplicaKey(id={key.id}, directoryId={'<undefined>' if key.directory_id == ZERO_UUID else uuid_text(key.directory_id)})"


def _names(node: Replica) -> str:
    return f"[{', '.join(map(_name, node.voters.keys))}]"


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
