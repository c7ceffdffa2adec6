"""DescribeCluster on a controller's listener: how Kafka's tools find the leader through --bootstrap-controller.

Source: KIP-919; kafka.server.AuthHelper.computeDescribeClusterResponse.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from metashell.codec.error_codes import MISMATCHED_ENDPOINT_TYPE, UNSUPPORTED_ENDPOINT_TYPE
from metashell.codec.messages import DescribeClusterResponse
from metashell.raft.messages import Endpoint

VERSIONS: Final = (0, 2)
BROKERS: Final = 1
CONTROLLERS: Final = 2


def describe_cluster(request: Any, cluster_id: str, leader_id: int, controllers: Iterable[tuple[int, Endpoint]]) -> DescribeClusterResponse:
    """Who the controllers are, with their addresses on the listener that was asked, and which of them leads (-1: not known)."""
    if request.endpoint_type == BROKERS:
        text = "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER"
        return DescribeClusterResponse(error_code=MISMATCHED_ENDPOINT_TYPE, error_message=text)
    if request.endpoint_type != CONTROLLERS:
        return DescribeClusterResponse(
            error_code=UNSUPPORTED_ENDPOINT_TYPE, error_message=f"Unsupported endpoint type {request.endpoint_type}"
        )
    node = DescribeClusterResponse.DescribeClusterBroker
    return DescribeClusterResponse(
        endpoint_type=CONTROLLERS,
        cluster_id=cluster_id,
        controller_id=leader_id,
        brokers=tuple(node(broker_id=id, host=host, port=port) for id, (host, port) in controllers),
    )
