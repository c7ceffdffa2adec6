"""The quorum of controllers: who leads it, who follows and how far behind; voters come and go.

Source: KIP-595, KIP-836, KIP-853; org.apache.kafka.clients.admin.QuorumInfo.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from metashell.admin.errors import AdminError, check_answer
from metashell.codec.error_codes import DUPLICATE_VOTER, UNKNOWN_SERVER_ERROR, VOTER_NOT_FOUND
from metashell.codec.messages import AddRaftVoterRequest, DescribeQuorumRequest, RemoveRaftVoterRequest
from metashell.net.addresses import Address
from metashell.values import ZERO_UUID, ReplicaKey

if TYPE_CHECKING:
    from metashell.admin.admin import Admin

TOPIC: Final = "__cluster_metadata"
VOTER_TIMEOUT_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A listener of a controller, by its name."""

    name: str
    address: Address

    def __str__(self) -> str:
        return f"{self.name}://{self.address}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A voter or an observer as the leader sees it.

    `directory_id` is None where it is not known (static quorums, releases before 3.9). Units: Unix ms; None where the leader does not know.
    """

    id: int
    directory_id: bytes | None
    log_end_offset: int
    last_fetch_ms: int | None
    last_caught_up_ms: int | None
    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumDescription:
    """The metadata quorum, as its leader tells it; voters and observers in the order of the answer."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...]

    @property
    def leader(self) -> Replica | None:
        """The leader among the voters; None where it is none of them, while it is being removed."""
        return next((voter for voter in self.voters if voter.id == self.leader_id), None)

    def lag_of(self, replica: Replica) -> int | None:
        """How many records a replica is behind the leader."""
        return None if self.leader is None else self.leader.log_end_offset - replica.log_end_offset


def describe_quorum(admin: Admin) -> QuorumDescription:
    """The quorum as its leader tells it. Errors: AdminError; see `Admin`."""
    answer = describe_quorum_answer(admin)
    found = answer.topics[0].partitions[0]
    endpoints = {
        node.node_id: tuple(Endpoint(listener.name, Address(listener.host, listener.port)) for listener in node.listeners)
        for node in answer.nodes
    }
    return QuorumDescription(
        leader_id=found.leader_id,
        leader_epoch=found.leader_epoch,
        high_watermark=found.high_watermark,
        voters=tuple(_replica(state, endpoints) for state in found.current_voters),
        observers=tuple(_replica(state, endpoints) for state in found.observers),
    )


def describe_quorum_answer(admin: Admin) -> Any:
    """The leader's answer as it came, with its one partition. Errors: AdminError; see `Admin`."""
    make = DescribeQuorumRequest
    answer = admin.ask_active(make(topics=(make.TopicData(topic_name=TOPIC, partitions=(make.PartitionData(partition_index=0),)),)))
    check_answer(answer.error_code, answer.error_message, "DescribeQuorum")
    partitions = [partition for topic in answer.topics for partition in topic.partitions]
    if len(partitions) != 1 or answer.topics[0].topic_name != TOPIC:
        raise AdminError(UNKNOWN_SERVER_ERROR, f"the answer has {len(partitions)} partitions, not one", "DescribeQuorum")
    check_answer(partitions[0].error_code, partitions[0].error_message, "DescribeQuorum")
    return answer


def _replica(state: Any, endpoints: dict[int, tuple[Endpoint, ...]]) -> Replica:
    return Replica(
        id=state.replica_id,
        directory_id=None if state.replica_directory_id == ZERO_UUID else state.replica_directory_id,
        log_end_offset=state.log_end_offset,
        last_fetch_ms=_known(state.last_fetch_timestamp),
        last_caught_up_ms=_known(state.last_caught_up_timestamp),
        endpoints=endpoints.get(state.replica_id, ()),
    )


def _known(timestamp_ms: int) -> int | None:
    return None if timestamp_ms < 0 else timestamp_ms


def add_voter(admin: Admin, voter: ReplicaKey, endpoints: Sequence[Endpoint], *, cluster_id: str | None = None) -> None:
    """Make a controller that runs as an observer a voter. Errors: AdminError; see `Admin`."""
    listener = AddRaftVoterRequest.Listener
    answer = admin.ask_active(
        AddRaftVoterRequest(
            cluster_id=cluster_id,
            timeout_ms=VOTER_TIMEOUT_MS,
            voter_id=voter.id,
            voter_directory_id=voter.directory_id,
            listeners=tuple(listener(name=one.name, host=one.address.host, port=one.address.port) for one in endpoints),
        )
    )
    if admin.again and answer.error_code == DUPLICATE_VOTER:
        # It was asked twice: is it this one?
        known = {(one.id, one.directory_id) for one in describe_quorum(admin).voters}
        if (voter.id, voter.directory_id) in known:
            return
    check_answer(answer.error_code, answer.error_message, f"controller {voter.id}")


def remove_voter(admin: Admin, voter: ReplicaKey, *, cluster_id: str | None = None) -> None:
    """Take a voter's vote away; as long as it runs it is an observer. Errors: AdminError; see `Admin`."""
    answer = admin.ask_active(RemoveRaftVoterRequest(cluster_id=cluster_id, voter_id=voter.id, voter_directory_id=voter.directory_id))
    if admin.again and answer.error_code == VOTER_NOT_FOUND:
        # It was asked twice, and is none.
        return
    check_answer(answer.error_code, answer.error_message, f"controller {voter.id}")
