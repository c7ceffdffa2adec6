"""Voters added and removed by a leader: one at a time, each by one record, in force when appended and answered when committed.

Every check stands in the order in which Kafka makes them, since each has an error of its own. `leader.change` is the operation in
progress. No change begins before the leader committed a record of its epoch, nor while a voter set is not committed: two sets that are
in force somewhere then never differ by more than one voter, and their majorities overlap.
Source: KIP-853; org.apache.kafka.raft.internals.AddVoterHandler, RemoveVoterHandler.
"""

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
from metashell.quorum.raft import transitions
from metashell.quorum.raft.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    Endpoints,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from metashell.quorum.raft.ready import NEVER
from metashell.quorum.raft.replica import Replica
from metashell.quorum.raft.roles import Leader
from metashell.quorum.raft.voters import AddVoter, RemoveVoter, Voter, VoterSet

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
