"""Whether a request comes from the life of a broker that is registered.

Source: org.apache.kafka.controller.ClusterControlManager.checkBrokerEpoch.
"""

from __future__ import annotations

from typing import Any

from metashell.codec.error_codes import STALE_BROKER_EPOCH
from metashell.controller.decision import ApiError
from metashell.controller.state import State


def check_broker_epoch(state: State, body: Any) -> None:
    """Errors: ApiError STALE_BROKER_EPOCH unless the request comes from the broker's registered life."""
    broker = state.image.cluster.brokers.get(body.broker_id)
    if broker is None:
        raise ApiError(STALE_BROKER_EPOCH, f"Expected broker epoch {body.broker_epoch}, but broker {body.broker_id} is not registered.")
    if broker.epoch != body.broker_epoch:
        raise ApiError(STALE_BROKER_EPOCH, f"Expected broker epoch {body.broker_epoch}, but got broker epoch {broker.epoch}")
