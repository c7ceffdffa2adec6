"""What a cluster consists of, and how a broker or a controller is taken off its books."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metashell.admin.errors import check_answer
from metashell.admin.nodes import BROKER_ENDPOINTS, CONTROLLER_ENDPOINTS, Kind, Node
from metashell.codec.error_codes import BROKER_ID_NOT_REGISTERED, CONTROLLER_ID_NOT_REGISTERED
from metashell.codec.messages import DescribeClusterRequest, UnregisterBrokerRequest, UnregisterControllerRequest
from metashell.net.addresses import Address

if TYPE_CHECKING:
    from metashell.admin.admin import Admin


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDescription:
    """A cluster: its id, and its brokers or controllers in the order of the answer.

    `active_id` is the active controller, as controllers say it; None through brokers, which name any broker for it.
    """

    cluster_id: str
    kind: Kind
    nodes: tuple[Node, ...]
    active_id: int | None


def describe_cluster(admin: Admin, *, fenced: bool = False) -> ClusterDescription:
    """The cluster as a node of the kind that was asked sees it; `fenced`: with fenced brokers, which 4.0 and later can name.

    Errors: AdminError; UnsupportedError where fenced brokers cannot be named; see `Admin`.
    """
    is_controllers = admin.kind is Kind.CONTROLLERS
    wanted = CONTROLLER_ENDPOINTS if is_controllers else BROKER_ENDPOINTS
    answer = admin.ask(DescribeClusterRequest(endpoint_type=wanted, include_fenced_brokers=fenced))
    check_answer(answer.error_code, answer.error_message)
    nodes = tuple(Node(node.broker_id, Address(node.host, node.port), node.rack, node.is_fenced) for node in answer.brokers)
    leads = answer.controller_id if is_controllers and answer.controller_id >= 0 else None
    return ClusterDescription(cluster_id=answer.cluster_id, kind=admin.kind, nodes=nodes, active_id=leads)


def unregister_broker(admin: Admin, broker_id: int) -> None:
    """Remove a broker's registration; partitions keep naming it as a replica. Errors: AdminError; see `Admin`."""
    _unregister(admin, UnregisterBrokerRequest(broker_id=broker_id), BROKER_ID_NOT_REGISTERED, f"broker {broker_id}")


def unregister_controller(admin: Admin, controller_id: int) -> None:
    """Remove a controller's registration: a voter still votes, and one that runs registers again. Errors: AdminError; see `Admin`."""
    request = UnregisterControllerRequest(controller_id=controller_id)
    _unregister(admin, request, CONTROLLER_ID_NOT_REGISTERED, f"controller {controller_id}")


def _unregister(admin: Admin, request: Any, not_registered: int, thing: str) -> None:
    answer = admin.ask_active(request)
    if admin.again and answer.error_code == not_registered:
        # It was asked twice, and is gone.
        return
    check_answer(answer.error_code, answer.error_message, thing)
