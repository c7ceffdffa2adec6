"""What a controller says of itself and of the other controllers: versions, features, endpoints.

Source: kafka.server.ControllerApis, SimpleApiVersionManager.
"""

from __future__ import annotations

from typing import Any, Final

from metashell.codec import messages
from metashell.codec.api_versions import is_valid_api_versions
from metashell.codec.error_codes import (
    INVALID_REQUEST,
    MISMATCHED_ENDPOINT_TYPE,
    NONE,
    UNSUPPORTED_ENDPOINT_TYPE,
    UNSUPPORTED_VERSION,
)
from metashell.codec.metadata_version import KRAFT_VERSION, METADATA_VERSION, REGISTER_CONTROLLER_LEVEL
from metashell.controller.access.authorizer import Operation
from metashell.controller.apis import APIS
from metashell.controller.decision import ApiError, Decision
from metashell.controller.records import SUPPORTED_FEATURES
from metashell.controller.request import Request
from metashell.controller.state import State
from metashell.image import MetadataImage

_FEATURES_FROM_ZERO_SINCE = 4
_BROKER_ENDPOINT: Final = 1
_CONTROLLER_ENDPOINT: Final = 2
_NOT_ASKED: Final = -(1 << 31)
_CLUSTER_OPERATIONS: Final = (
    Operation.CREATE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.CLUSTER_ACTION,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
    Operation.IDEMPOTENT_WRITE,
)


def api_versions(state: State, request: Request, now_ms: int) -> Decision:
    """The APIs, and the features that this node supports and the cluster has."""
    response = messages.ApiVersionsResponse
    if not is_valid_api_versions(request.body, request.version):
        raise ApiError(INVALID_REQUEST)
    # A client that does not know ranges from 0 is better off without them.
    supported = [
        response.SupportedFeatureKey(name=name, min_version=low, max_version=high)
        for name, (low, high) in SUPPORTED_FEATURES.items()
        if low > 0 or request.version >= _FEATURES_FROM_ZERO_SINCE
    ]
    return Decision(
        response(
            error_code=NONE,
            api_keys=_api_keys(),
            supported_features=tuple(supported),
            finalized_features_epoch=state.stable_offset,
            finalized_features=tuple(
                response.FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
                for name, level in published_features(state.stable).items()
            ),
        )
    )


def published_features(image: MetadataImage) -> dict[str, int]:
    """What a cluster says that it has finalized: every feature with a level above 0, nothing before its first metadata is there."""
    if image.features.metadata_version is None:
        return {}
    finalized = dict(image.features.levels.items())
    finalized[METADATA_VERSION] = image.features.metadata_version
    if image.features.kraft_version:
        finalized[KRAFT_VERSION] = image.features.kraft_version
    return finalized


def _api_keys() -> tuple[Any, ...]:
    made = messages.ApiVersionsResponse.ApiVersion
    return tuple(made(api_key=key, min_version=api.low, max_version=api.high) for key, api in APIS.items())


def refuse_api_versions(request: Request, code: int, message: str | None) -> messages.ApiVersionsResponse:
    return messages.ApiVersionsResponse(error_code=code)


def describe_cluster(state: State, request: Request, now_ms: int) -> Decision:
    """The controllers that have registered, for clients that ask controllers directly."""
    body = request.body
    if (state.stable.features.metadata_version or 0) < REGISTER_CONTROLLER_LEVEL:
        why = "Direct-to-controller communication is not supported with the current MetadataVersion."
        raise ApiError(UNSUPPORTED_VERSION, why)
    if body.endpoint_type == _BROKER_ENDPOINT:
        code = INVALID_REQUEST if request.version == 0 else MISMATCHED_ENDPOINT_TYPE
        why = "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER"
        raise ApiError(code, why)
    if body.endpoint_type != _CONTROLLER_ENDPOINT:
        raise ApiError(UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {body.endpoint_type}")
    response = messages.DescribeClusterResponse
    brokers = []
    for id, controller in sorted(state.stable.cluster.controllers.items()):
        for listener in controller.listeners:
            if listener.name == request.listener:
                brokers.append(response.DescribeClusterBroker(broker_id=id, host=listener.host, port=listener.port, rack=None))
    leader = state.leader_id
    return Decision(
        response(
            error_code=NONE,
            error_message=None,
            endpoint_type=_CONTROLLER_ENDPOINT,
            cluster_id=state.settings.cluster_id,
            controller_id=leader if any(broker.broker_id == leader for broker in brokers) else -1,
            brokers=tuple(brokers),
            cluster_authorized_operations=_allowed(state, request) if body.include_cluster_authorized_operations else _NOT_ASKED,
        )
    )


def _allowed(state: State, request: Request) -> int:
    """What the sender may do to the cluster, a bit for each operation."""
    allows = state.authorizer.allows_cluster
    if not allows(request, Operation.DESCRIBE):
        return 0
    return sum(1 << operation for operation in _CLUSTER_OPERATIONS if allows(request, operation))


def refuse_describe_cluster(request: Request, code: int, message: str | None) -> messages.DescribeClusterResponse:
    return messages.DescribeClusterResponse(error_code=code, error_message=message)
