"""How to listen: what is served, on which address, how it is secured and bounded, and who may reach a listener that anybody can use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from metashell.errors import UsageError
from metashell.net.addresses import host_text
from metashell.net.api_versions import KRAFT_FEATURES, ApiRanges, NodeFeatures, NodeIdentity
from metashell.net.frames import FRAME_LIMIT
from metashell.net.limits import SMALL_LIMIT, ConnectionLimits
from metashell.net.principal import subject_of
from metashell.net.principal_rules import PrincipalRules
from metashell.net.sasl import PLAIN
from metashell.net.security import ListenerSecurity, for_listener, java_number, listener_security

if TYPE_CHECKING:
    import ssl

    from metashell.net.sasl import Credentials, SaslServer

LOOPBACK: Final = "127.0.0.1"
HELD_MAX: Final = 256 * 1024 * 1024
UNBOUNDED: Final = (1 << 31) - 1


def subject_principal(certificate: bytes, rules: PrincipalRules = PrincipalRules()) -> str:  # noqa: B008 (it is a value)
    """Kafka's principal for a client's certificate (DER). Errors: ValueError, where no rule matches its name."""
    return f"User:{rules.name_of(subject_of(certificate))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerOptions:
    """How to listen; `options_of` reads them from a server's properties.

    `ranges` are the APIs that are served. `tls` and `mechanisms` (SASL mechanism to its server side) are the security; a listener
    with a `weakness` on an address that is not loopback needs `allow_plaintext`. `port` 0 lets the system choose.
    `identity` is the broker that clients have to mean, None where that is not compared.
    `principal_of` names who has a certificate; `session_ms` is connections.max.reauth.ms by mechanism.
    `connections_max` is lower where the process may have fewer descriptors; `connections_max_of` has the bounds of single hosts.
    `held_max` bounds the bytes of unfinished requests and unsent answers of all connections: above it the one that holds most goes.
    A connection is idle when no whole request came for `idle_timeout_s` (None: never), whatever else it sent.
    """

    ranges: ApiRanges
    name: str = "PLAINTEXT"
    host: str = LOOPBACK
    port: int = 0
    tls: ssl.SSLContext | None = None
    mechanisms: Mapping[str, Callable[[], SaslServer]] | None = None
    principal_of: Callable[[bytes], str] = subject_principal
    session_ms: Mapping[str, int] = field(default_factory=dict)
    features: Callable[[], NodeFeatures] = lambda: KRAFT_FEATURES
    identity: NodeIdentity | None = None
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    connections_max: int = UNBOUNDED
    connections_max_per_host: int = UNBOUNDED
    connections_max_of: Mapping[str, int] = field(default_factory=dict)
    held_max: int = HELD_MAX
    handshake_timeout_s: float = 10.0
    idle_timeout_s: float | None = 600.0
    failed_authentication_delay_s: float = 0.1
    backlog: int = 128
    allow_plaintext: bool = False

    @property
    def security_protocol(self) -> int:
        """Kafka's number: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""
        return (self.tls is not None) + 2 * (self.mechanisms is not None)


def options_of(
    properties: Mapping[str, str],
    name: str,
    *,
    ranges: ApiRanges,
    host: str = LOOPBACK,
    port: int = 0,
    credentials: Credentials | None = None,
    features: Callable[[], NodeFeatures] = lambda: KRAFT_FEATURES,
    allow_plaintext: bool = False,
) -> ListenerOptions:
    """How a server's properties want a listener; `credentials` know the users of SCRAM and the delegation tokens.

    Queued requests are bounded by queued.max.request.bytes, or else by `HELD_MAX`, but a single one may always come. Before authentication
    a frame has at most 64 KiB, where sasl.server.max.receive.size is not set. Errors: UsageError with the key at fault.
    """
    values = for_listener(properties, name)
    frame_limit = java_number(properties, "socket.request.max.bytes", FRAME_LIMIT)
    held_max = java_number(properties, "queued.max.request.bytes", -1, "LONG")
    idle_ms = java_number(properties, "connections.max.idle.ms", 600_000, "LONG")
    limits = ConnectionLimits(
        frame_limit=frame_limit, unauthenticated_limit=java_number(values, "sasl.server.max.receive.size", SMALL_LIMIT)
    )
    return ListenerOptions(
        ranges=ranges,
        name=name,
        host=host,
        port=port,
        **secured_options(listener_security(properties, name), credentials),
        features=features,
        limits=limits,
        connections_max=min(java_number(each, "max.connections", UNBOUNDED) for each in (values, properties)),
        connections_max_per_host=java_number(properties, "max.connections.per.ip", UNBOUNDED),
        connections_max_of=_bounds_of_hosts(properties.get(_OVERRIDES, "")),
        held_max=max(held_max if held_max > 0 else HELD_MAX, frame_limit),
        idle_timeout_s=None if idle_ms < 0 else idle_ms / 1000,
        failed_authentication_delay_s=java_number(properties, "connection.failed.authentication.delay.ms", 100) / 1000,
        backlog=java_number(properties, "socket.listen.backlog.size", 50),
        allow_plaintext=allow_plaintext,
    )


_OVERRIDES: Final = "max.connections.per.ip.overrides"


def _bounds_of_hosts(text: str) -> dict[str, int]:
    """Errors: UsageError for what is not `address:count`."""
    found = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        host, _, count = entry.rpartition(":")
        try:
            found[host_text(str(ip_address(host.strip("[]"))))] = int(count)
        except ValueError:
            raise UsageError(f"{_OVERRIDES}: {entry} is not ADDRESS:COUNT", _OVERRIDES) from None
    return found


def secured_options(security: ListenerSecurity, credentials: Credentials | None = None) -> dict[str, Any]:
    """What a listener's properties say about security, as options; `credentials` know the users of SCRAM and the delegation tokens.

    Errors: UsageError for a store that cannot be used, and for rules that are none.
    """
    from metashell.net.mechanisms import StaticCredentials, server_mechanisms

    tls = None
    if security.tls is not None:
        from metashell.net.tls import server_context

        tls = server_context(security.tls)
    users = StaticCredentials(security.plain_users, credentials or StaticCredentials({}))
    return {
        "tls": tls,
        "mechanisms": server_mechanisms(security.mechanisms, users) if security.mechanisms else None,
        "principal_of": partial(subject_principal, rules=PrincipalRules(security.principal_rules)),
        "session_ms": security.session_ms,
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
