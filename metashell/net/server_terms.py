"""What all connections that one listener accepts have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from metashell.codec.api_keys import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from metashell.net.api_versions import KRAFT_FEATURES, ApiRanges, NodeFeatures, NodeIdentity, supported_ranges
from metashell.net.limits import ConnectionLimits, Counters

if TYPE_CHECKING:
    from metashell.net.sasl import SaslServer

SASL_RANGES: Final[ApiRanges] = {SASL_HANDSHAKE: (0, 1), SASL_AUTHENTICATE: (0, 2)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTerms:
    """What all connections of a listener have in common; made by `server_terms`.

    `mechanisms` makes the server's side of a SASL mechanism by name; None is a listener without SASL.
    `identity` is who a broker's clients have to mean; None compares nothing.
    `session_ms` is connections.max.reauth.ms by mechanism: what it does not have is not limited. `clock` gives seconds.
    """

    ranges: ApiRanges
    mechanisms: Mapping[str, Callable[[], SaslServer]] | None = None
    features: Callable[[], NodeFeatures] = lambda: KRAFT_FEATURES
    identity: NodeIdentity | None = None
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    counters: Counters = field(default_factory=Counters)
    session_ms: Mapping[str, int] = field(default_factory=dict)
    clock: Callable[[], float] = lambda: 0.0

    def judge(self, key: int, version: int, size: int) -> str:
        """What is wrong with a large request of which only the beginning is there; empty for one that may come."""
        low, high = self.ranges.get(key, (0, -1))
        if not low <= version <= high:
            return f"a request of {size} bytes of api key {key} version {version}, which is not served here"
        limit = self.limits.frame_limits.get(key, size)
        return f"a request of {size} bytes of api key {key}, the limit is {limit}" if size > limit else ""


def server_terms(ranges: ApiRanges, **terms: Any) -> ServerTerms:
    """The terms of a listener that serves `ranges` and the APIs of the handshake (without SASL they are answered with
    ILLEGAL_SASL_STATE, as Kafka does)."""
    return ServerTerms(ranges={**supported_ranges((API_VERSIONS,)), **ranges, **SASL_RANGES}, **terms)
