"""What a listener allows its connections, and what it counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from metashell.net.frames import FRAME_LIMIT, UNAUTHENTICATED_LIMIT

KIB: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Bounds of one connection. Sizes are bytes.

    Reading pauses while `requests_max` requests, or `requests_size_max` bytes of requests, wait for their answer, or `output_max` bytes
    of answers wait to be sent; one request, and one answer, may be larger.
    `frame_limit` is for authenticated peers; those of a listener without authentication count as such.
    """

    requests_max: int = 32
    requests_size_max: int = 16 * KIB * KIB
    output_max: int = 16 * KIB * KIB
    frame_limit: int = FRAME_LIMIT
    unauthenticated_limit: int = UNAUTHENTICATED_LIMIT
    sasl_rounds_max: int = 8


@dataclass(slots=True)
class Counters:
    """What a listener has seen, for all its connections together."""

    accepted: int = 0
    dropped: int = 0
    """Connections that were closed at once because there were too many."""
    open: int = 0
    closed: int = 0
    requests: int = 0
    responses: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    authenticated: int = 0
    authentication_failures: int = 0
    tls_failures: int = 0
    protocol_errors: int = 0
    idle_closed: int = 0
    crowded_out: int = 0
    """Connections that were closed because they held the most while all together held too much."""
    handshake_timeouts: int = 0
    reading_paused: int = 0
