"""What may leave a replica, and what an answer may be to the one who gets it (C3, C4, C5): looked at for every message.

C4: what a message says must be in the sender's crash-surviving image when it leaves. C5: nothing that kills a real Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.codec.error_codes import INVALID_REQUEST, NONE
from metashell.quorum.raft.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    VoteRequest,
    VoteResponse,
)
from metashell.quorum.raft.roles import Leader
from tests.simulation.checkers.durable import check_asked_vote, check_fetch_position, check_granted_vote
from tests.simulation.checkers.election import on_grant, resolve
from tests.simulation.checkers.leadership import on_asked
from tests.simulation.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.simulation.host import Host
    from tests.simulation.network import Flight
    from tests.simulation.world import World


def check_request(world: World, host: Host, request: Any, flight: Flight) -> None:
    """A request is about to leave."""
    check = REQUESTS[request.__class__]
    if check is not None:
        if request.epoch > host.election.epoch:
            raise Violation("C4", f"{host.name} sends epoch {request.epoch}, and {host.election.epoch} is durable")
        check(world, host, request, flight)


def check_fetch(world: World, host: Host, request: FetchRequest, flight: Flight) -> None:
    check_fetch_position(host, request.fetch_offset)
    if request.last_epoch > request.epoch:
        raise Violation("C5", f"{host.name} fetches with last epoch {request.last_epoch} in epoch {request.epoch}")
    check_only_fetch(world, host, request, flight)


def check_only_fetch(world: World, host: Host, request: Any, flight: Flight) -> None:
    """Two at once could append the same offsets twice (C3); an inquiry (`raft.epoch_guard`) appends nothing."""
    if request.__class__ is FetchRequest and request.replica_id < 0 and request.epoch == 0:
        world.counts["inquiries"] += 1
        return
    now = host.replica.now_ms
    sent = host.fetch_sent
    if sent is not None and sent[1] == host.transitions and now - sent[2] < world.request_timeout_ms:
        raise Violation("C3", f"{host.name} fetches while its fetch of {now - sent[2]} ms ago is not answered")
    host.fetch_sent = (flight.correlation_id, host.transitions, now)


def check_vote(world: World, host: Host, request: VoteRequest, flight: Flight) -> None:
    check_asked_vote(host, request)
    if request.pre_vote:
        return
    durable = host.election
    if durable.epoch != request.epoch or durable.voted is None or durable.voted.id != host.id:
        raise Violation("C4", f"{host.name} asks for votes in epoch {request.epoch}, and {durable} is durable")


def check_begin(world: World, host: Host, request: BeginQuorumEpochRequest, flight: Flight) -> None:
    if host.election.epoch == request.epoch and host.election.leader_id != host.id:
        raise Violation("C4", f"{host.name} leads epoch {request.epoch}, and {host.election} is durable")
    check_leader(world, host, request)


def check_end(world: World, host: Host, request: EndQuorumEpochRequest, flight: Flight) -> None:
    check_leader(world, host, request)


def check_update(world: World, host: Host, request: UpdateRaftVoterRequest, flight: Flight) -> None:
    if not request.endpoints:
        raise Violation("C5", f"{host.name} sends an UpdateRaftVoter without endpoints")


REQUESTS: dict[type, Callable[..., None] | None] = {
    FetchRequest: check_fetch,
    FetchSnapshotRequest: check_only_fetch,
    VoteRequest: check_vote,
    BeginQuorumEpochRequest: check_begin,
    EndQuorumEpochRequest: check_end,
    UpdateRaftVoterRequest: check_update,
    AddRaftVoterRequest: None,
    RemoveRaftVoterRequest: None,
    DescribeQuorumRequest: None,
    ApiVersionsRequest: None,
}
BARE_RESPONSES = frozenset((AddRaftVoterResponse, RemoveRaftVoterResponse, ApiVersionsResponse))


def check_leader(world: World, host: Host, message: Any) -> None:
    """Whoever is named as leader of an epoch is the one that was elected in it (C5, I1)."""
    if message.leader_id >= 0 and (message.epoch, message.leader_id) not in world.lies:
        leader = world.elections.leaders.get(message.epoch)
        if leader is None or leader.id != message.leader_id:
            raise Violation(
                "C5", f"{host.name} names {message.leader_id} leader of epoch {message.epoch}, which is {leader and leader.name}"
            )


def check_response(world: World, host: Host, flight: Flight, response: Any) -> None:
    """An answer is about to leave."""
    if response.__class__ in BARE_RESPONSES:
        return
    if response.epoch > host.election.epoch:
        raise Violation("C4", f"{host.name} answers with epoch {response.epoch}, and {host.election.epoch} is durable")
    check_leader(world, host, response)
    if INVALID_REQUEST in (response.error, response.top_error if hasattr(response, "top_error") else 0):
        raise Violation("C5", f"{host.name} calls {flight.request} invalid")
    check = RESPONSES.get(response.__class__)
    if check is not None:
        check(world, host, flight.request, response)
    if response.__class__ is FetchResponse and host.replica.role.__class__ is Leader and response.epoch == host.replica.role.epoch:
        on_asked(host, flight, response)


def check_vote_answer(world: World, host: Host, request: VoteRequest, response: VoteResponse) -> None:
    if not response.granted:
        return
    check_granted_vote(host, request)
    if request.pre_vote:
        return
    durable = host.election
    candidate = resolve(world, request.candidate_id, request.candidate_directory_id)
    on_grant(world, host, request.epoch, candidate)
    if durable.epoch == request.epoch and (durable.voted is None or durable.voted.id != request.candidate_id):
        raise Violation("C4", f"{host.name} grants its vote of epoch {request.epoch} to {candidate[0]}, and {durable} is durable")


def check_fetch_answer(world: World, host: Host, request: FetchRequest, response: FetchResponse) -> None:
    if response.error != NONE or response.top_error != NONE:
        return
    if request.epoch != response.epoch or response.leader_id != host.id:
        raise Violation(
            "C5", f"{host.name} answers a fetch of epoch {request.epoch} in epoch {response.epoch}, led by {response.leader_id}"
        )
    role = host.role if host.began is None or host.role.name == "leader" else host.began
    if role.name != "leader" or role.epoch != response.epoch:
        raise Violation("C5", f"{host.name} answers a fetch of epoch {response.epoch} as {role.name} of epoch {role.epoch}")
    if response.high_watermark >= 0 and not host.epoch_start < response.high_watermark <= world.history.tip.end:
        raise Violation(
            "H4", f"{host.name} tells the high watermark {response.high_watermark} in an epoch that began at {host.epoch_start}"
        )
    records = response.records
    if records and int.from_bytes(records[:8], "big") != request.fetch_offset:
        raise Violation("C5", f"{host.name} answers a fetch from {request.fetch_offset} with {int.from_bytes(records[:8], 'big')}")


def check_snapshot_answer(world: World, host: Host, request: FetchSnapshotRequest, response: FetchSnapshotResponse) -> None:
    if response.error != NONE or response.top_error != NONE:
        return
    if response.snapshot_id != request.snapshot_id or response.position != request.position:
        raise Violation("C5", f"{host.name} answers {request} with {response.snapshot_id} at {response.position}")


RESPONSES: dict[type, Callable[..., None]] = {
    VoteResponse: check_vote_answer,
    FetchResponse: check_fetch_answer,
    FetchSnapshotResponse: check_snapshot_answer,
}


def check_delivery(world: World, host: Host, flight: Flight, response: Any) -> None:
    """An answer reaches who asked: what it counts for, and whether a real Kafka would survive it."""
    if host.fetch_sent is not None and host.fetch_sent[0] == flight.correlation_id:
        host.fetch_sent = None
    kind = response.__class__
    if kind in BARE_RESPONSES:
        return
    role = host.replica.role
    if kind is VoteResponse:
        request: Any = flight.request
        if response.granted and request.epoch == role.epoch:
            if request.pre_vote:
                host.pre_grants.add(flight.receiver.id)
            else:
                host.grants.add(flight.receiver.id)
    awaited = host.replica.connections.entries.get(flight.destination)
    if awaited is None or awaited.backing_off or awaited.correlation_id != flight.correlation_id:
        return
    if response.leader_id >= 0 and response.leader_endpoint is None and world.versions is None:
        is_new = response.epoch > role.epoch or (response.epoch == role.epoch and role.leader_id < 0)
        if is_new and response.leader_id not in host.replica.voters:
            raise Violation("C5", f"{flight.receiver.name} tells {host.name} of leader {response.leader_id} and not where it is")
    if kind is FetchResponse and response.error == NONE and response.epoch == role.epoch and host.high_watermark is not None:
        check_watermark_told(world, host, flight, response)


def check_watermark_told(world: World, host: Host, flight: Flight, response: FetchResponse) -> None:
    known = host.high_watermark
    assert known is not None
    if response.diverging is not None:
        if response.diverging.offset < known:
            raise Violation("C5", f"{flight.receiver.name} tells {host.name} to truncate to {response.diverging}, below {known}")
    elif response.snapshot_id is None and 0 <= response.high_watermark < known and host.log.end_offset > response.high_watermark:
        raise Violation("C5", f"{flight.receiver.name} tells {host.name} the high watermark {response.high_watermark}, after {known}")
