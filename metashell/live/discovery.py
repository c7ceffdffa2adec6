"""Where the controllers are, as a broker knows it.

Source: KIP-853: DescribeQuorum version 2 names the listeners of every voter.
"""

from __future__ import annotations

from typing import Any, Final

from metashell.codec.api_keys import DESCRIBE_QUORUM
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED, error_text
from metashell.codec.messages import DescribeQuorumRequest
from metashell.errors import MetashellError
from metashell.live.controllers import CONTROLLERS_MAX, Link, refused
from metashell.live.failures import Refused
from metashell.net.addresses import PORT_MAX, Address

NODES_FROM: Final = 2
TOPIC: Final = "__cluster_metadata"


def describe_quorum_request() -> Any:
    """Asks for the metadata partition."""
    make = DescribeQuorumRequest
    return make(topics=(make.TopicData(topic_name=TOPIC, partitions=(make.PartitionData(partition_index=0),)),))


async def controllers_of(broker: Link, timeout_s: float) -> tuple[Address, ...]:
    """The controllers that a broker names, the leader first, each by its first listener. Errors: Refused."""
    if broker.versions.get(DESCRIBE_QUORUM, 0) < NODES_FROM:
        raise Refused("is older than 3.9 and does not say where the controllers are: name them with --bootstrap-controller", final=True)
    try:
        answer = await broker.request(describe_quorum_request(), timeout_s=timeout_s)
    except MetashellError as error:
        if getattr(error, "timed_out", False):
            # The broker has to ask the controllers itself.
            raise Refused(f"does not say within {timeout_s:g} s where the controllers are: it may have lost them itself") from None
        raise refused(error) from None
    found = controllers_in(answer)
    if not found:
        raise Refused("names no controllers")
    return found


async def voters_of(leader: Link, timeout_s: float) -> tuple[int, ...]:
    """The ids of the voters, ordered, as their leader names them; empty where it does not answer."""
    try:
        answer = await leader.request(describe_quorum_request(), timeout_s=timeout_s)
    except MetashellError:
        return ()
    partitions = answer.topics[0].partitions if answer.topics else ()
    return tuple(sorted({voter.replica_id for voter in partitions[0].current_voters[:CONTROLLERS_MAX]})) if partitions else ()


def controllers_in(answer: Any) -> tuple[Address, ...]:
    """The same from an answer. Errors: Refused where it is an error."""
    partition = answer.topics[0].partitions[0] if answer.topics and answer.topics[0].partitions else None
    code = answer.error_code or (partition.error_code if partition is not None else 0)
    if code == CLUSTER_AUTHORIZATION_FAILED:
        raise Refused("not authorized: to ask for the quorum needs the right DESCRIBE on the cluster", final=True)
    if code:
        raise Refused(f"answers DescribeQuorum with {error_text(code)}")
    leader = -1 if partition is None else partition.leader_id
    nodes = sorted(answer.nodes[:CONTROLLERS_MAX], key=lambda node: node.node_id != leader)
    addresses = [Address(node.listeners[0].host, node.listeners[0].port) for node in nodes if node.listeners]
    return tuple(dict.fromkeys(address for address in addresses if address.host and 0 < address.port <= PORT_MAX))
