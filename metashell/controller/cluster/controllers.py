"""Controllers register too, so that features are upgraded only when all of them can follow; one that is gone for good is unregistered.

Source: org.apache.kafka.controller.ClusterControlManager.registerController, unregisterController.
"""

from __future__ import annotations

from metashell.codec import messages
from metashell.codec.error_codes import CONTROLLER_ID_NOT_REGISTERED, INVALID_REQUEST, UNSUPPORTED_VERSION
from metashell.codec.metadata_version import REGISTER_CONTROLLER_LEVEL, UNREGISTER_CONTROLLER_LEVEL
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


def unregister(state: State, request: Request, now_ms: int) -> Decision:
    """Forget a controller's registration: the quorum's voters stay as they are, and one that runs registers again."""
    controller_id = request.body.controller_id
    if controller_id == state.settings.node_id:
        raise ApiError(INVALID_REQUEST, "Controller cannot unregister itself while it is active.")
    if state.level < UNREGISTER_CONTROLLER_LEVEL:
        raise ApiError(UNSUPPORTED_VERSION, "The current MetadataVersion is too old to support controller unregistration.")
    if controller_id not in state.image.cluster.controllers:
        raise ApiError(CONTROLLER_ID_NOT_REGISTERED, f"Controller ID {controller_id} is not currently registered.")
    record = messages.UnregisterControllerRecord(controller_id=controller_id)
    return Decision(messages.UnregisterControllerResponse(error_message=""), [(record, 0)])
