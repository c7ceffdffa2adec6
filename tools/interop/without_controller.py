"""What a replica without a controller answers beside raft: DescribeCluster, by which Kafka's tools find the leader.

Source: KIP-919; kafka.server.AuthHelper.computeDescribeClusterResponse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from metashell.codec.codes import DESCRIBE_CLUSTER
from metashell.codec.error_codes import MISMATCHED_ENDPOINT_TYPE
from metashell.codec.messages import DescribeClusterResponse
from metashell.net.accepted_connection import ServerRequest
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.server.links import SERVED, Inbound

CONTROLLERS: Final = 2


class WithoutController:
    """An `Application` of metashell.quorum.server.links; `node` is to be set before the first request."""

    def __init__(self, cluster_id: str) -> None:
        self.ranges: Mapping[int, tuple[int, int]] = {**SERVED, DESCRIBE_CLUSTER: (0, 2)}
        self.node: RaftNode | None = None
        self._cluster_id = cluster_id
        self._inbound: Inbound | None = None

    def begin(self, inbound: Inbound) -> None:
        """See Application."""
        self._inbound = inbound

    def take(self, request: ServerRequest) -> None:
        """See Application."""
        inbound, header = self._inbound, request.header
        assert inbound is not None, "begun"
        if header.api_key == DESCRIBE_CLUSTER:
            inbound.respond(request, self._describe(request))
        else:
            inbound.ask(request, header.api_key, header.api_version, request.message)

    def closed(self, listener: str, connection_id: int) -> None:
        """See Application."""

    def _describe(self, request: ServerRequest) -> Any:
        node = self.node
        assert node is not None, "set"
        if request.message.endpoint_type != CONTROLLERS:
            return DescribeClusterResponse(error_code=MISMATCHED_ENDPOINT_TYPE)
        found = [(id, voter.endpoints[request.listener]) for id, voter in node.voters.voters.items() if request.listener in voter.endpoints]
        return DescribeClusterResponse(
            endpoint_type=CONTROLLERS,
            cluster_id=self._cluster_id,
            controller_id=node.leader_id,
            brokers=tuple(DescribeClusterResponse.DescribeClusterBroker(broker_id=id, host=host, port=port) for id, (host, port) in found),
        )
