"""FindCoordinator: who coordinates a group, a transaction or a share partition.

Here one node coordinates all of its kind. Source: kafka.server.KafkaApis.handleFindCoordinatorRequest.
"""

from __future__ import annotations

from typing import Final

from metashell.codec import messages
from metashell.codec.error_codes import COORDINATOR_NOT_AVAILABLE, INVALID_REQUEST, NONE
from metashell.groups.context import Context
from metashell.groups.decision import Decision, GroupError
from metashell.groups.error_answers import coordinator_error, refused
from metashell.groups.request import Answer, Request
from metashell.groups.settings import Settings
from metashell.values import uuid_from_text

GROUP, TRANSACTION, SHARE = 0, 1, 2
_SHARE_FROM: Final = 6
_MANY_KEYS_FROM: Final = 4


def find_coordinator(context: Context, request: Request, now_ms: int) -> Decision:
    """Name this node, or say why not."""
    body = request.body
    if body.key_type not in (GROUP, TRANSACTION, SHARE):
        return Decision(answers=[refused(request, GroupError(INVALID_REQUEST))])
    if request.version < _MANY_KEYS_FROM:
        code = _code(context.settings, body.key_type, body.key, request.version)
        if code != NONE:
            return Decision(answers=[refused(request, GroupError(code))])
        settings = context.settings
        found = messages.FindCoordinatorResponse(error_message="NONE", node_id=settings.node_id, host=settings.host, port=settings.port)
        return Decision(answers=[Answer(request.ticket, found)])
    coordinators = tuple(_coordinator(context.settings, body.key_type, key, request.version) for key in body.coordinator_keys)
    return Decision(answers=[Answer(request.ticket, messages.FindCoordinatorResponse(coordinators=coordinators))])


def _coordinator(settings: Settings, key_type: int, key: str, version: int) -> messages.FindCoordinatorResponse.Coordinator:
    code = _code(settings, key_type, key, version)
    if code != NONE:
        return coordinator_error(key, code, "")
    return messages.FindCoordinatorResponse.Coordinator(
        key=key, node_id=settings.node_id, host=settings.host, port=settings.port, error_message=""
    )


def _code(settings: Settings, key_type: int, key: str, version: int) -> int:
    match key_type:
        case 0:
            return NONE
        case 1:
            return NONE if settings.has_transactions else COORDINATOR_NOT_AVAILABLE
        case _:
            # The state of share partitions is nobody's here; a key that names none is the client's fault.
            return COORDINATOR_NOT_AVAILABLE if version >= _SHARE_FROM and _names_share_partition(key) else INVALID_REQUEST


def _names_share_partition(key: str) -> bool:
    """Whether a key is `group:topic id:partition`; the group may hold colons no more than in Kafka."""
    parts = key.split(":")
    if len(parts) != 3 or not parts[0].strip():
        return False
    try:
        uuid_from_text(parts[1])
        return int(parts[2]) >= 0
    except ValueError:
        return False
