"""The options of a listener: what it serves, on which address, how it is secured and bounded, and who may reach it when anybody can.

`ConnectionLimits` bounds its connections and `Counters` counts them; `ServerTerms` is what all its connections have in common. The
Events (`Decoded`, `Authenticated`, `Closed`, ...) are what the core of an accepted connection (`server_connection`) tells its owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from metashell.codec import codes
from metashell.codec.codes import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from metashell.common.errors import DecodeError, UsageError
from metashell.net.addresses import host_text
from metashell.net.api_versions import KRAFT_FEATURES, ApiRanges, NodeFeatures, NodeIdentity, api_entries, supported_ranges
from metashell.net.frames import FRAME_LIMIT
from metashell.net.principal import PrincipalRules, subject_of
from metashell.net.sasl import PLAIN, StaticCredentials, sasl_server_mechanisms
from metashell.net.security import ListenerSecurity, for_listener, java_number, listener_security

if TYPE_CHECKING:
    import ssl

    from metashell.codec.compiler import BoundedReader
    from metashell.net.frames import RequestHeader
    from metashell.net.sasl import Credentials, SaslServer


KIB: Final = 1024
SMALL_LIMIT: Final = 64 * KIB
"""Bytes of a frame from a peer that has not said who it is, and of a request that is known to be small."""
VALUE_SIZE: Final = 64
"""Bytes of memory that one value of a decoded request takes at most, beside the bytes of its frame."""

SMALL_APIS: Final = (
    codes.FETCH,
    codes.SASL_HANDSHAKE,
    codes.API_VERSIONS,
    codes.VOTE,
    codes.BEGIN_QUORUM_EPOCH,
    codes.END_QUORUM_EPOCH,
    codes.DESCRIBE_QUORUM,
    codes.FETCH_SNAPSHOT,
    codes.DESCRIBE_CLUSTER,
    codes.BROKER_HEARTBEAT,
    codes.UNREGISTER_BROKER,
    codes.ALLOCATE_PRODUCER_IDS,
    codes.CONTROLLER_REGISTRATION,
    codes.ADD_RAFT_VOTER,
    codes.REMOVE_RAFT_VOTER,
    codes.UPDATE_RAFT_VOTER,
)
"""Requests about one node, or to a quorum with one partition: the longest of them are lists of endpoints or of directories.

Kafka's brokers take larger ones of Fetch, but not from a quorum's members, which is who asks here.
"""
ENVELOPE_LIMIT: Final = 32 * KIB * KIB
"""What a broker hands on for a client is copied once more, and a controller writes at most 8 MiB at once."""
FRAME_LIMITS: Final[Mapping[int, int]] = {**dict.fromkeys(SMALL_APIS, SMALL_LIMIT), codes.ENVELOPE: ENVELOPE_LIMIT}
VALUES_MAX_OF: Final[Mapping[int, int]] = {codes.ALTER_PARTITION: 2_000_000}
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
    """Counters of a listener, summed over all its connections."""

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
    """Connections that were closed because all together held too much, this sender's the most."""
    evicted: int = 0
    """Connections that were closed to make room for others."""
    table_full: int = 0
    """Times when the process had no descriptor for a connection."""
    handshake_timeouts: int = 0
    reading_paused: int = 0
    decoded_aside: int = 0
    """Requests that were decoded in a thread because of their size."""
    refused_aside: int = 0
    """Of these, those that were refused whole in that thread."""


LOOPBACK: Final = "127.0.0.1"
HELD_MAX: Final = 256 * 1024 * 1024
UNBOUNDED: Final = (1 << 31) - 1


def subject_principal(certificate: bytes, rules: PrincipalRules = PrincipalRules()) -> str:  # noqa: B008 (it is a value)
    """Kafka's principal for a client's certificate (DER). Errors: ValueError, where no rule matches its name."""
    return f"User:{rules.name_of(subject_of(certificate))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerOptions:
    """The options of one listener; `options_of` reads them from a server's properties.

    `ranges` are the APIs that are served. `tls` and `mechanisms` (SASL mechanism to its server side) are the security; a listener
    with a `weakness` on an address that is not loopback needs `allow_plaintext`. `port` 0 lets the system choose.
    `identity` is the broker that clients have to mean, None where that is not compared.
    `principal_of` names who has a certificate; `session_ms` is connections.max.reauth.ms by mechanism.
    `connections_max` bounds the listener, `metashell.net.shares` the process; `connections_max_of` has the bounds of single hosts.
    `held_max` bounds the bytes of unfinished requests and unsent answers of all connections of the loop: see `metashell.net.shares`.
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
    """Read a listener's options from a server's properties; `credentials` know the users of SCRAM and the delegation tokens.

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
    """Parse `address:count` entries. Errors: UsageError."""
    found = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        host, _, count = entry.rpartition(":")
        try:
            found[host_text(str(ip_address(host.strip("[]"))))] = int(count)
        except ValueError:
            raise UsageError(f"{_OVERRIDES}: {entry} is not ADDRESS:COUNT", _OVERRIDES) from None
    return found


def secured_options(security: ListenerSecurity, credentials: Credentials | None = None) -> dict[str, Any]:
    """Return the security of a listener as options; `credentials` know the users of SCRAM and the delegation tokens.

    Errors: UsageError for a store that cannot be used, and for rules that are none.
    """

    tls = None
    if security.tls is not None:
        from metashell.net.tls import server_context

        tls = server_context(security.tls)
    users = StaticCredentials(security.plain_users, credentials or StaticCredentials({}))
    return {
        "tls": tls,
        "mechanisms": sasl_server_mechanisms(security.mechanisms, users) if security.mechanisms else None,
        "principal_of": partial(subject_principal, rules=PrincipalRules(security.principal_rules)),
        "session_ms": security.session_ms,
    }


def weakness(options: ListenerOptions) -> str | None:
    """Describe a listener that lets anybody ask, or sends passwords in the clear; None for a listener that is secured.

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


SASL_RANGES: Final[ApiRanges] = {SASL_HANDSHAKE: (0, 1), SASL_AUTHENTICATE: (0, 2)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTerms:
    """The settings that all connections of a listener share; made by `server_terms`.

    `mechanisms` makes the server's side of a SASL mechanism by name; None is a listener without SASL.
    `identity` is who a broker's clients have to mean; None compares nothing.
    `session_ms` is connections.max.reauth.ms by mechanism: what it does not have is not limited. `clock` gives seconds.
    """

    ranges: ApiRanges
    entries: tuple[Any, ...] = ()
    mechanisms: Mapping[str, Callable[[], SaslServer]] | None = None
    features: Callable[[], NodeFeatures] = lambda: KRAFT_FEATURES
    identity: NodeIdentity | None = None
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    counters: Counters = field(default_factory=Counters)
    session_ms: Mapping[str, int] = field(default_factory=dict)
    clock: Callable[[], float] = lambda: 0.0

    def judge(self, key: int, version: int, size: int) -> str:
        """Return the fault of a large request whose beginning has arrived; empty where it may go on."""
        low, high = self.ranges.get(key, (0, -1))
        if not low <= version <= high:
            return f"a request of {size} bytes of api key {key} version {version}, which is not served here"
        limit = self.limits.frame_limits.get(key, size)
        return f"a request of {size} bytes of api key {key}, the limit is {limit}" if size > limit else ""


def server_terms(ranges: ApiRanges, **terms: Any) -> ServerTerms:
    """The terms of a listener that serves `ranges` and the APIs of the handshake (without SASL they are answered with
    ILLEGAL_SASL_STATE, as Kafka does)."""
    ranges = {**supported_ranges((API_VERSIONS,)), **ranges, **SASL_RANGES}
    return ServerTerms(ranges=ranges, entries=api_entries(ranges), **terms)


@dataclass(frozen=True, slots=True)
class Received:
    """A request to answer with `respond(request_id, ...)`. `size` is that of its frame, in bytes."""

    request_id: int
    header: RequestHeader
    message: Any
    size: int


Refuse = Callable[[Any], bytes]
"""Makes the body of the answer that refuses a request, from its message, in any thread."""


@dataclass(frozen=True, slots=True)
class Undecoded:
    """A request that is too large to be decoded between two others: give `decoded` what `decode` returns, which may run in a thread.

    `refuse` makes the body of the answer where that is known to refuse all that the message says.
    """

    request_id: int
    header: RequestHeader
    frame: bytes
    position: int
    values_max: int
    reader: BoundedReader
    refuse: Refuse | None = None

    def decode(self) -> Decoded:
        """The message; never raises."""
        left = [self.values_max]
        try:
            message, _ = self.reader(self.frame, self.position, len(self.frame), left)
        except DecodeError as error:
            return Decoded(self, None, 0, str(error))
        if self.refuse is not None:
            return Decoded(self, None, 0, "", self.refuse(message))
        return Decoded(self, message, self.values_max - left[0], "")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A large request's message, with the number of its values; or why there is none; or the body of the answer that refuses it."""

    request: Undecoded
    message: Any
    values: int
    fault: str
    refusal: bytes | None = None


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The peer has proved that it is `principal` (`User:alice`), for the first time or again."""

    principal: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The connection is over, why in one line; what `take_output` still gives is sent before it is closed. The last event.

    `authentication_failed`: the owner may wait before it sends and closes, so that passwords are not tried quickly.
    """

    reason: str
    authentication_failed: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """What a peer did wrong, for which its connection was closed; `asked_key` is the API that is not served, -1 for other faults.

    ApiVersions is that of a client that asked for nothing else, and went: it has seen that what it wants is not served.
    """

    principal: str
    host: str
    reason: str
    asked_key: int
    is_login: bool


Event = Received | Undecoded | Authenticated | Closed
