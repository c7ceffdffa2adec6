"""Messages that nobody of the quorum sent: well formed, for this cluster, and of an epoch that none can have reached.

A replica that believed one could never stand again, since epochs end with the highest int32 (r7 of the list of faults found by review).
Each must be refused, and no replica may take over its epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.quorum.raft.messages import BeginQuorumEpochRequest, EndQuorumEpochRequest, Request, VoteRequest
from tests.simulation.network import STRANGER, Flight, deliver_request

if TYPE_CHECKING:
    from tests.simulation.host import Host
    from tests.simulation.world import World

LAST_EPOCH = 0x7FFFFFFF
SANE_EPOCH = 1 << 24
"""No run comes near it."""


def speak(world: World) -> None:
    """One such message reaches a replica."""
    host = world.some_host()
    voters = sorted(world.history.tip.voters)
    if host is None or host.is_broker:
        return
    id, directory = voters[int(world.chance() * len(voters))]
    if id == host.id:
        return
    epoch = LAST_EPOCH - (0 if world.chance() < 0.5 else int(world.chance() * 1_000))
    request = wild(world, host, id, directory, epoch)
    world.counts["strange messages"] += 1
    world.note(f"a stranger tells {host.name}: {request}")
    world.push(world.now, deliver_request, Flight(None, 0, STRANGER, 0, request, host), None)


def wild(world: World, host: Host, id: int, directory: bytes, epoch: int) -> Request:
    from tests.simulation.world import CLUSTER_ID

    endpoints = {"CONTROLLER": world.by_id[id].endpoint}
    shape = int(world.chance() * 4)
    if shape == 0:
        return BeginQuorumEpochRequest(CLUSTER_ID, host.id, host.key[1], id, epoch, endpoints)
    if shape == 1:
        return EndQuorumEpochRequest(CLUSTER_ID, id, epoch, (), endpoints)
    return VoteRequest(CLUSTER_ID, host.id, host.key[1], epoch, id, directory, 1, 1 << 40, shape == 2)
