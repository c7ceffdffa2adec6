"""What brokers and controllers have in common when they register: listeners and the features that they support."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from metashell.codec.error_codes import INVALID_REQUEST
from metashell.controller.decision import ApiError

PROTOCOLS: Final = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}


def check_listeners(listeners: Any) -> None:
    """Listeners that a record can hold and every reader of the log takes.

    Kafka writes a nameless one and halts over it, and gives up its leadership over a protocol that it does not know, no host and port 0.
    """
    for listener in listeners:
        if not listener.name:
            raise ApiError(INVALID_REQUEST, "A listener has no name.")
        if listener.security_protocol not in PROTOCOLS:
            raise ApiError(INVALID_REQUEST, f"Listener {listener.name} has the unknown security protocol {listener.security_protocol}.")
        if not listener.host or not listener.port:
            raise ApiError(INVALID_REQUEST, f"Listener {listener.name} has no {'port' if listener.host else 'host'}.")


def endpoints_of(make: Callable[..., Any], listeners: Iterable[Any]) -> tuple[Any, ...]:
    """Listeners as a record has them; of a name that comes twice, the later one counts."""
    by_name = {one.name: one for one in listeners}
    return tuple(make(name=one.name, host=one.host, port=one.port, security_protocol=one.security_protocol) for one in by_name.values())


def features_of(make: Callable[..., Any], features: Iterable[Any]) -> tuple[Any, ...]:
    """Supported features as a record has them, also where a name comes twice."""
    return tuple(
        make(name=one.name, min_supported_version=one.min_supported_version, max_supported_version=one.max_supported_version)
        for one in features
    )
