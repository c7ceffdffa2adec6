"""What all requests for a leader and all responses are checked for before their own rules apply.

Every message names an epoch, and many a leader. With 5 as our own epoch and 1 as its leader:

    epoch 4, any leader         the sender is behind: a request gets FENCED_LEADER_EPOCH, an answer is not used
    epoch 5, leader 1 or none   nothing new: the message's own rules apply
    epoch 5, leader 2           cannot be: an epoch has one leader. A complaint, and the message is ignored (Kafka's replica would die)
    epoch 6, no leader          there was another election: unattached in epoch 6, and 1 is no longer believed
    epoch 6, leader 2           follow 2, if it is known where 2 listens; else remember it, and look for its endpoints
    epoch 6, leader is us       cannot be, or we lost what we wrote: a complaint

Requests that only a leader answers never move the epoch, however high theirs is (`check_leader_request`): the asker will hear of its
leader by other ways, and a stray replica with a large number must not unseat a leader by fetching. Votes, BeginQuorumEpoch,
EndQuorumEpoch and all answers do move it.

Source: org.apache.kafka.raft.KafkaRaftClient.maybeHandleCommonResponse, maybeTransition, validateLeaderOnlyRequest.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from metashell.codec.error_codes import (
    BROKER_NOT_AVAILABLE,
    FENCED_LEADER_EPOCH,
    INCONSISTENT_CLUSTER_ID,
    INVALID_REQUEST,
    INVALID_VOTER_KEY,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_LEADER_EPOCH,
)
from metashell.ids import NO_LEADER
from metashell.raft import transitions
from metashell.raft.messages import AboutPartition, Endpoint, Endpoints, PartitionResponse, UpdateRaftVoterResponse
from metashell.raft.replica import Replica
from metashell.raft.roles import NO_ENDPOINTS, Leader

Answer: TypeAlias = PartitionResponse | UpdateRaftVoterResponse


def check_addressed(node: Replica, request: AboutPartition) -> int:
    """The error, or none, of a request for another cluster, or for anything but exactly the metadata partition."""
    if not node.is_cluster(request.cluster_id):
        return INCONSISTENT_CLUSTER_ID
    return NONE if request.shape_ok else INVALID_REQUEST


def check_leader_request(node: Replica, epoch: int) -> int:
    """The error of a request that only a leader of `epoch` answers. The epoch is never adopted from one."""
    role = node.role
    if epoch != role.epoch:
        return FENCED_LEADER_EPOCH if epoch < role.epoch else UNKNOWN_LEADER_EPOCH
    if role.__class__ is not Leader:
        return NOT_LEADER_OR_FOLLOWER
    return BROKER_NOT_AVAILABLE if node.is_shutting_down else NONE


def is_consistent(node: Replica, leader_id: int, epoch: int) -> bool:
    """Whether a message that names a leader (-1: none) of an epoch can be true."""
    role = node.role
    if leader_id == NO_LEADER or epoch < role.epoch:
        return True
    if leader_id < 0:
        return False
    if leader_id == node.local_id:
        # Leader or Resigned; any other state means that what this replica wrote was lost.
        return epoch == role.epoch and role.leader_id == leader_id
    return epoch > role.epoch or role.leader_id in (NO_LEADER, leader_id)


EPOCHS_PLENTY: Final = 1 << 30
EPOCH_STEP_MAX: Final = 1 << 16
"""How far a peer may move the epoch on once half of all epochs is used up, where elections alone get in thirty years."""


def is_plausible_epoch(node: Replica, epoch: int) -> bool:
    """Whether there may be such an epoch; one that is not is counted as a complaint and never adopted.

    Epochs are int32, and after the last one nobody stands. While most of them are left any step is taken, because a replica may have been
    away for long. From `EPOCHS_PLENTY` on only small steps are, so that no single message takes them all.
    """
    if epoch <= max(node.role.epoch, EPOCHS_PLENTY) + EPOCH_STEP_MAX:
        return True
    node.complain(f"a peer speaks of epoch {epoch}, here it is {node.role.epoch}")
    return False


def handle_leader(node: Replica, leader_id: int, epoch: int, endpoints: Endpoints) -> bool:
    """Move to the epoch and leader that a consistent message names; whether the state changed.

    A leader that is named without endpoints is remembered, and followed when they become known: a Vote answer of an old version may say
    "epoch 6, leader 2" and no more, and the next Fetch answer of a bootstrap server "epoch 6, leader 2, at host2:9093".
    """
    role = node.role
    if epoch > role.epoch:
        if leader_id >= 0 and endpoints:
            transitions.become_follower(node, epoch, leader_id, endpoints)
        else:
            transitions.become_unattached(node, epoch, leader_id)
        return True
    if epoch == role.epoch and leader_id >= 0 and leader_id != node.local_id and len(endpoints) > len(role.endpoints):
        transitions.become_follower(node, epoch, leader_id, endpoints)
        return True
    return False


def response_endpoints(node: Replica, leader_id: int, endpoint: Endpoint | None) -> Endpoints:
    """Where a leader that a response names listens: as it says, else as the voter set has it."""
    if leader_id < 0:
        return NO_ENDPOINTS
    if endpoint is not None:
        return {node.config.default_listener: endpoint}
    return node.endpoints_of(leader_id)


def handle_response(node: Replica, response: Answer) -> bool | None:
    """The common rule of all responses: whether the connection is fine, None where the answer's own rules apply."""
    role, error, leader_id, epoch = node.role, response.error, response.leader_id, response.epoch
    if epoch < role.epoch or error == UNKNOWN_LEADER_EPOCH:
        # Who is behind will say the same until it has caught up: Kafka asks again at once, here it is after the pause.
        return False
    if not is_plausible_epoch(node, epoch):
        return False
    if not is_consistent(node, leader_id, epoch):
        node.complain("a response names another leader of an epoch than the one that is known")
        return False
    if epoch > role.epoch or error in (FENCED_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER):
        # Without anything new the same question would have the same answer: better to wait than to ask at the speed of the network.
        moved = handle_leader(node, leader_id, epoch, response_endpoints(node, leader_id, response.leader_endpoint))
        return moved
    if leader_id >= 0 and not role.endpoints and leader_id != node.local_id:
        moved = handle_leader(node, leader_id, epoch, response_endpoints(node, leader_id, response.leader_endpoint))
        if moved and error != NONE:
            return True
    if error in (BROKER_NOT_AVAILABLE, INVALID_VOTER_KEY):
        return False
    if error == INVALID_REQUEST:
        node.complain("a response says that a request was malformed")
        return False
    return None


def handle_plain_response(node: Replica, response: Answer, what: str) -> bool | None:
    """As `handle_response`, for a response that has no other error: one that has is a complaint."""
    is_fine = handle_response(node, response)
    if is_fine is None and response.error != NONE:
        node.complain(f"{what} was answered by an error that it cannot have")
        return False
    return is_fine
