"""What a listener allows its connections, and what it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from metashell.codec import api_keys
from metashell.net.frames import FRAME_LIMIT

KIB: Final = 1024
SMALL_LIMIT: Final = 64 * KIB
"""Bytes of a frame from a peer that has not said who it is, and of a request that is known to be small."""
VALUE_SIZE: Final = 64
"""Bytes of memory that one value of a decoded request takes at most, beside the bytes of its frame."""

SMALL_APIS: Final = (
    api_keys.FETCH,
    api_keys.SASL_HANDSHAKE,
    api_keys.API_VERSIONS,
    api_keys.VOTE,
    api_keys.BEGIN_QUORUM_EPOCH,
    api_keys.END_QUORUM_EPOCH,
    api_keys.DESCRIBE_QUORUM,
    api_keys.FETCH_SNAPSHOT,
    api_keys.DESCRIBE_CLUSTER,
    api_keys.BROKER_HEARTBEAT,
    api_keys.UNREGISTER_BROKER,
    api_keys.ALLOCATE_PRODUCER_IDS,
    api_keys.CONTROLLER_REGISTRATION,
    api_keys.ADD_RAFT_VOTER,
    api_keys.REMOVE_RAFT_VOTER,
    api_keys.UPDATE_RAFT_VOTER,
)
"""Requests about one node, or to a quorum with one partition: the longest of them are lists of endpoints or of directories.

Kafka's brokers take larger ones of Fetch, but not from a quorum's members, which is who asks here.
"""
ENVELOPE_LIMIT: Final = 32 * KIB * KIB
"""What a broker hands on for a client is copied once more, and a controller writes at most 8 MiB at once."""
FRAME_LIMITS: Final[Mapping[int, int]] = {**dict.fromkeys(SMALL_APIS, SMALL_LIMIT), api_keys.ENVELOPE: ENVELOPE_LIMIT}
VALUES_MAX_OF: Final[Mapping[int, int]] = {api_keys.ALTER_PARTITION: 2_000_000}
"""Values of a request that one broker sends about all that it leads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Bounds of one connection. Sizes are bytes.

    Reading pauses while `requests_max` requests, or `requests_size_max` bytes of requests, wait for their answer, or `output_max` bytes
    of answers wait to be sent; one request, and one answer, may be larger.
    `frame_limit` (socket.request.max.bytes) is for authenticated peers; those of a listener without authentication count as such.
    `frame_limits` has the APIs whose requests are known to be smaller, `unauthenticated_limit` is for everybody before authentication.

    Entries without a byte of content take 25 times their bytes in memory, and 100 MiB of them would keep a loop for a minute. So a frame
    above `inline_size` is not decoded at once: the owner is told (`Undecoded`), and decodes it in a thread, with at most `values_max`
    values (of an API in `values_max_of`: that many): 32 MB, and some 0.2 s of that thread. 10 000 topics with 8 configs each are half of
    that, and more than 10 000 records are refused anyway; an AlterPartition of 100 000 partitions has 1.6 million. A request
    with more ends its connection, as one that cannot be parsed.
    `turn_max` and `turn_size` bound what one connection hands over before others have their turn.
    With `notices_end`, a connection whose requests wait is read until bytes come, so that a peer that goes while it waits is noticed.
    What it sent before it went is still taken, after what waits.
    """

    requests_max: int = 32
    requests_size_max: int = 16 * KIB * KIB
    output_max: int = 16 * KIB * KIB
    frame_limit: int = FRAME_LIMIT
    frame_limits: Mapping[int, int] = field(default_factory=lambda: FRAME_LIMITS)
    unauthenticated_limit: int = SMALL_LIMIT
    inline_size: int = 8 * KIB
    values_max: int = 500_000
    values_max_of: Mapping[int, int] = field(default_factory=lambda: VALUES_MAX_OF)
    turn_max: int = 8
    turn_size: int = 16 * KIB
    sasl_rounds_max: int = 8
    notices_end: bool = False


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
    reauthenticated: int = 0
    sessions_expired: int = 0
    tls_failures: int = 0
    protocol_errors: int = 0
    idle_closed: int = 0
    crowded_out: int = 0
    """Connections that were closed because they held the most while all together held too much."""
    handshake_timeouts: int = 0
    reading_paused: int = 0
    decoded_aside: int = 0
    """Requests that were decoded in a thread because of their size."""
