"""Controllers register too, so that features are upgraded only when all of them can follow.

Source: org.apache.kafka.controller.ClusterControlManager.registerController; controller.md 14.
"""

from __future__ import annotations

from metashell.codec import messages
from metashell.codec.error_codes import UNSUPPORTED_VERSION
from metashell.codec.metadata_version import REGISTER_CONTROLLER_LEVEL
from metashell.controller.cluster.registration import check_listeners, endpoints_of, features_of
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
        end_points=endpoints_of(made.ControllerEndpoint, body.listeners),
        features=features_of(made.ControllerFeature, body.features),
    )
    return Decision(messages.ControllerRegistrationResponse(), [(record, 0)])
