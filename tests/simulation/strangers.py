"""Messages that nobody of the quorum sent, from whoever has a right to send them: well formed, for this cluster, and lies.

`RIGHTS` has what reaches the core for each right; `test_scenarios` holds it to the server's own table. Who may ALTER the cluster may remove
its voters, and is not among them, nor is a super user; whoever has no right reaches the core with nothing. A sender speaks for a while,
under any id and of any epoch, and is gone when the faults end; then a leader must come again in time, also after a restart of all (V1,
`raft.epoch_guard` has the law).

What a lie makes others say is no fault of theirs: `world.lies` has the leaders that were never elected. One thing no sender does here: to
fetch as a voter in the present epoch, by which a leader counts what that voter does not have. Who may send that may undo any commit, in
Kafka's quorums too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.common.values import BOOTSTRAP_SNAPSHOT_ID
from metashell.quorum.raft.messages import (
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    Request,
    UpdateRaftVoterRequest,
    VoteRequest,
)
from tests.simulation.history import Key
from tests.simulation.network import STRANGER, Flight, deliver_request

if TYPE_CHECKING:
    from tests.simulation.host import Host
    from tests.simulation.world import World

LAST_EPOCH: Final = 0x7FFFFFFF
PLENTY: Final = 1 << 30
UNKNOWN_ID: Final = 99
BURST_MAX: Final = 12
RIGHTS: Final[dict[str, tuple[type, ...]]] = {
    "DESCRIBE": (DescribeQuorumRequest,),
    "CLUSTER_ACTION": (
        VoteRequest,
        BeginQuorumEpochRequest,
        EndQuorumEpochRequest,
        FetchRequest,
        FetchSnapshotRequest,
        UpdateRaftVoterRequest,
    ),
}


def speak(world: World) -> None:
    """A sender says up to so many things at once, to all or to a few."""
    right = "DESCRIBE" if world.chance() < 0.1 else "CLUSTER_ACTION"
    kinds = RIGHTS[right]
    hosts = [host for host in world.hosts if host.up and not host.is_broker]
    for _ in range(1 + int(world.chance() * BURST_MAX)):
        if not hosts:
            return
        host = hosts[int(world.chance() * len(hosts))]
        request = lie(world, host, kinds[int(world.chance() * len(kinds))])
        if request is None:
            continue
        world.counts["strange messages"] += 1
        world.note(f"a stranger tells {host.name}: {request}")
        world.push(world.now, deliver_request, Flight(None, 0, STRANGER, 0, request, host), None)


def somebody(world: World) -> Key:
    """A voter, a replica that is none, or nobody that there is."""
    voters = sorted(world.history.tip.voters)
    if world.chance() < 0.25:
        return UNKNOWN_ID, bytes(15) + b"\x63"
    if world.chance() < 0.2:
        return world.hosts[int(world.chance() * len(world.hosts))].key
    return voters[int(world.chance() * len(voters))]


def some_epoch(world: World, host: Host) -> int:
    """The present epoch or one near it, as often as one that nobody can have reached."""
    chance = world.chance()
    own = host.role.epoch
    if chance < 0.5:
        return int(own) + int(world.chance() * 3)
    if chance < 0.6:
        return int(own) + int(world.chance() * 100_000)
    if chance < 0.7:
        return PLENTY - int(world.chance() * 3)
    if chance < 0.9:
        return PLENTY + int(world.chance() * 9) * 65_536
    return LAST_EPOCH - int(world.chance() * 2)


def lie(world: World, host: Host, kind: type) -> Request | None:
    """A message of a class that says something about somebody; None where nobody may say it."""
    from tests.simulation.world import CLUSTER_ID

    id, directory = somebody(world)
    epoch = min(some_epoch(world, host), LAST_EPOCH)
    at = world.by_id[id].endpoint if id in world.by_id and world.chance() < 0.7 else ("nowhere", 1)
    endpoints = {"CONTROLLER": at}
    if kind is DescribeQuorumRequest:
        return DescribeQuorumRequest()
    if kind is VoteRequest:
        last_epoch = 1 if world.chance() < 0.5 else max(1, epoch - 1)
        return VoteRequest(CLUSTER_ID, host.id, host.key[1], epoch, id, directory, last_epoch, 1 << 40, world.chance() < 0.5)
    if kind is UpdateRaftVoterRequest:
        return UpdateRaftVoterRequest(CLUSTER_ID, epoch, id, directory, endpoints, 0, 1)
    if kind is FetchSnapshotRequest:
        return FetchSnapshotRequest(CLUSTER_ID, id, directory, epoch, BOOTSTRAP_SNAPSHOT_ID, 0, 1_000)
    if kind is FetchRequest:
        # A right that would undo commits; see the module.
        return None if id != UNKNOWN_ID else FetchRequest(CLUSTER_ID, id, directory, epoch, 0, 0, 500, 1_000)
    leader = world.elections.leaders.get(epoch)
    if id == host.id or (leader is not None and leader.id != id):
        return None
    world.lies.add((epoch, id))
    if kind is BeginQuorumEpochRequest:
        return BeginQuorumEpochRequest(CLUSTER_ID, host.id, host.key[1], id, epoch, endpoints)
    return EndQuorumEpochRequest(CLUSTER_ID, id, epoch, (), endpoints)
