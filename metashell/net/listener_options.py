"""How to listen: what is served, on which address, how it is secured and bounded, and who may reach a listener that anybody can use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from metashell.net.api_versions import KRAFT_FEATURES, ApiRanges, NodeFeatures
from metashell.net.limits import ConnectionLimits
from metashell.net.sasl import PLAIN

if TYPE_CHECKING:
    import ssl

    from metashell.net.sasl import Credentials, SaslServer
    from metashell.net.security import ListenerSecurity

LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerOptions:
    """How to listen.

    `ranges` are the APIs that are served. `tls` and `mechanisms` (SASL mechanism to its server side) are the security; a listener
    with a `weakness` on an address that is not loopback needs `allow_plaintext`. `port` 0 lets the system choose.
    `held_max` bounds the bytes of unfinished requests and unsent answers of all connections: above it the one that holds most goes.
    A connection is idle when no whole request came for `idle_timeout_s`, whatever else it sent.
    """

    ranges: ApiRanges
    name: str = "PLAINTEXT"
    host: str = LOOPBACK
    port: int = 0
    tls: ssl.SSLContext | None = None
    mechanisms: Mapping[str, Callable[[], SaslServer]] | None = None
    features: Callable[[], NodeFeatures] = lambda: KRAFT_FEATURES
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    connections_max: int = 2000
    held_max: int = 256 * 1024 * 1024
    handshake_timeout_s: float = 10.0
    idle_timeout_s: float = 600.0
    backlog: int = 128
    allow_plaintext: bool = False


def secured_options(security: ListenerSecurity, credentials: Credentials | None = None) -> dict[str, Any]:
    """`tls` and `mechanisms` of ListenerOptions as a listener's properties say; `credentials` know the users of SCRAM.

    Errors: UsageError for a store that cannot be used.
    """
    from metashell.net.mechanisms import StaticCredentials, server_mechanisms
    from metashell.net.tls import server_context

    users = StaticCredentials(security.plain_users, credentials or StaticCredentials({}))
    return {
        "tls": None if security.tls is None else server_context(security.tls),
        "mechanisms": server_mechanisms(security.mechanisms, users) if security.mechanisms else None,
    }


def weakness(options: ListenerOptions) -> str | None:
    """Why anybody may ask, or read passwords on the way: in words what kind of listener it is, None for one that knows who asks.

    A certificate that is only requested need not be shown: a peer without one is ANONYMOUS, as with PLAINTEXT.
    """
    if options.tls is None:
        if options.mechanisms is None:
            return "a PLAINTEXT listener"
        return "PLAIN on a SASL_PLAINTEXT listener" if PLAIN in options.mechanisms else None
    if options.mechanisms is None and options.tls.verify_mode.name != "CERT_REQUIRED":
        return "an SSL listener that requires no certificate of its clients (ssl.client.auth)"
    return None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
