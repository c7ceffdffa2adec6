"""Blocks of producer ids for brokers.

Source: org.apache.kafka.controller.ProducerIdControlManager.
"""

from __future__ import annotations

from typing import Final

from metashell.codec import messages
from metashell.codec.error_codes import UNKNOWN_SERVER_ERROR
from metashell.controller.decision import ApiError, Decision
from metashell.controller.request import Request
from metashell.controller.senders import check_broker_epoch
from metashell.controller.state import State

BLOCK_SIZE: Final = 1000
_LONG_MAX: Final = (1 << 63) - 1


def allocate(state: State, request: Request, now_ms: int) -> Decision:
    """The next block of ids."""
    body = request.body
    check_broker_epoch(state, body)
    first = max(0, state.image.producer_ids.next_producer_id)
    if first > _LONG_MAX - BLOCK_SIZE:
        raise ApiError(
            UNKNOWN_SERVER_ERROR, "Exhausted all producerIds as the next block's end producerId has exceeded the int64 type limit"
        )
    record = messages.ProducerIdsRecord(broker_id=body.broker_id, broker_epoch=body.broker_epoch, next_producer_id=first + BLOCK_SIZE)
    answer = messages.AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK_SIZE)
    return Decision(answer, [(record, 0)])
