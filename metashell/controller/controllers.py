"""Controllers register too, so that features are upgraded only when all of them can follow.

Source: org.apache.kafka.controller.ClusterControlManager.registerController; controller.md 14.
"""

from __future__ import annotations

from metashell.codec import messages
from metashell.codec.error_codes import UNSUPPORTED_VERSION
from metashell.codec.metadata_version import REGISTER_CONTROLLER_LEVEL
from metashell.controller.brokers import check_listeners
from metashell.controller.decision import ApiError, Decision
from metashell.controller.request import Request
from metashell.controller.state import State


def register(state: State, request: Request, now_ms: int) -> Decision:
    """Take a controller's registration, whoever it is."""
    if state.level < REGISTER_CONTROLLER_LEVEL:
        raise ApiError(UNSUPPORTED_VERSION, "The version of API is not supported.")
    body = request.body
    check_listeners(body.listeners)
    made = messages.RegisterControllerRecord
    record = made(
        controller_id=body.controller_id,
        incarnation_id=body.incarnation_id,
        zk_migration_ready=False,
        end_points=tuple(
            made.ControllerEndpoint(name=one.name, host=one.host, port=one.port, security_protocol=one.security_protocol)
            for one in {one.name: one for one in body.listeners}.values()
        ),
        features=tuple(
            made.ControllerFeature(
                name=one.name, min_supported_version=one.min_supported_version, max_supported_version=one.max_supported_version
            )
            for one in body.features
        ),
    )
    return Decision(messages.ControllerRegistrationResponse(), [(record, 0)])
