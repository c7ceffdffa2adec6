"""A broker without data, for tests: it serves groups, and topics without records. This module has its settings.

Promises:
- It answers what consumers send from start to end as Kafka 4.4.0 does: versions, metadata, coordinator, joins, heartbeats, commits, fetches
  of offsets, positions in logs. `metashell.groups` decides, on one loop, one request at a time.
- Each API is answered in every version that ApiVersions offers. A client that means another node or cluster is told so (ApiVersions v5).
- Streams groups are those of a broker without a plug-in for topology descriptions: it requests none and does not serve their API (93).
  Rack tags are ignored, as Kafka's assignor ignores them.
- Groups and offsets are in `groups.log.group_log`, and an answer leaves when all that it says is durable. A server that starts again goes
  on where it was killed. The offsets topic holds the decided records, compacted, and can be fetched.
- Topics are those of the metadata image. No partition has a record: a log ends at the largest offset that a group has committed for it, so
  that a consumer continues there. Who wants to produce, or to read outside of any group, gets a final error (`topic_requests` says which).
- The active controller creates and changes topics. Such requests are forwarded in an envelope (KIP-590): the controller decides as for the
  client that asked, not as for this process.
- Its listener is as secure as the controller's: a name in `listener.security.protocol.map`, with SASL and TLS. Where the controller has
  an authorizer, each request needs the rights on groups, topics and the cluster that Kafka's brokers require. A configuration that would
  let more people in than the controller does is refused.
- It listens on loopback unless its listener says otherwise. Frames, connections and waiting requests are bounded
  (`metashell.net`); a waiting request ends with its connection. Groups are not bounded, but memory is in proportion to what groups,
  members and offsets there are, however many commits there were.

Modules: `server` has `GroupServer` (`await open()` binds, `look()` takes the newest image, `await close()` ends it) and imports asyncio, so
it is imported inside functions, as is `machine`, which drives the coordinator and its log; `topic_requests` has the answers that need no
coordinator; `request_rights` has the rights that requests need, and this module who sends them: nothing here grants a right, `Allows` asks
the authorizer of the controller in the same process.
Source: org.apache.kafka.coordinator.group.GroupCoordinatorConfig; `group.coordinator` and its listener are ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from metashell.codec.codes import ACL_OPERATIONS, ACL_RESOURCE_TYPES, code_of
from metashell.codec.error_codes import error_message
from metashell.common.errors import UsageError
from metashell.common.values import ZERO_UUID
from metashell.groups.decision import Request, error_body
from metashell.groups.state import KindSettings, Settings
from metashell.net.addresses import Address, parse_address
from metashell.net.frames import RequestHeader
from metashell.net.security import ListenerSecurity, listener_security

if TYPE_CHECKING:
    from metashell.groups.server.topic_requests import Cluster


COORDINATOR: Final = "group.coordinator"
EMBEDDED: Final = "embedded"
LISTENER: Final = "group.coordinator.listener"
BROKER_ID: Final = "group.coordinator.broker.id"
DURABLE: Final = "group.coordinator.durable"
NODE_ID: Final = 100
"""The broker id, far from the ids of controllers and below those of fake brokers."""
PORT: Final = 9092
PLAINTEXT: Final = "PLAINTEXT"
AUTHORIZER: Final = "authorizer.class.name"


class Values(Protocol):
    """Reads the checked values of a server's configuration."""

    @property
    def originals(self) -> Mapping[str, str]: ...
    def number(self, name: str) -> int: ...
    def words(self, name: str) -> tuple[str, ...]: ...
    def text(self, name: str) -> str | None: ...
    def value(self, name: str) -> object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupServerConfig:
    """The configuration of a group server. Its address and broker id are in `settings`."""

    settings: Settings = field(default_factory=Settings)
    listener: str = PLAINTEXT
    """The name of its listener in `listener.security.protocol.map` and in `listener.name.NAME.*`."""
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The server's properties, which have the security of the listener."""
    allow_plaintext: bool = False
    """Whether it may listen on addresses that other machines reach, although it authenticates nobody."""
    creates_topics: bool = True
    """auto.create.topics.enable."""
    partitions: int = 1
    """num.partitions, for topics that a client's request creates."""
    is_durable: bool = True
    """Whether the log of groups is kept in the controller's directory, and synced before an answer leaves."""
    offsets_segment_bytes: int = 100 << 20
    delete_retention_ms: int = 86_400_000
    """offsets.topic.segment.bytes and log.cleaner.delete.retention.ms."""

    @property
    def node_id(self) -> int:
        return self.settings.node_id

    @property
    def address(self) -> Address:
        return Address(self.settings.host, self.settings.port)


def is_wanted(properties: Mapping[str, str]) -> bool:
    """Return whether a server's properties enable a coordinator. Errors: UsageError for an unknown value."""
    kind = properties.get(COORDINATOR)
    if kind not in (None, EMBEDDED):
        raise UsageError(f"{COORDINATOR}={kind}: must be {EMBEDDED}", COORDINATOR)
    return kind == EMBEDDED


def read_config(values: Values, port: int = PORT) -> GroupServerConfig:
    """Read the configuration; `port` is the default port. Errors: UsageError, also for a listener that is weaker than the controller's."""
    text = values.originals.get(LISTENER)
    try:
        address = Address("localhost", port) if text is None else parse_address(text)
    except UsageError as error:
        raise UsageError(f"{LISTENER}: {error}", LISTENER) from None
    if address.host in ("0.0.0.0", "::"):
        raise UsageError(f"{LISTENER}={text}: must name a host that clients can connect to", LISTENER)
    id = values.originals.get(BROKER_ID, str(NODE_ID))
    if not id.isdecimal() or int(id) >= 1 << 31:
        raise UsageError(f"{BROKER_ID}={id}: must be a number from 0 to {(1 << 31) - 1}", BROKER_ID)
    durable = values.originals.get(DURABLE, "true").lower()
    if durable not in ("true", "false"):
        raise UsageError(f"{DURABLE}={durable}: must be true or false", DURABLE)
    name, separator, _ = (text or "").partition("://")
    listener = name.strip() if separator else PLAINTEXT
    check_listener(values.originals, listener)
    return GroupServerConfig(
        listener=listener,
        properties=values.originals,
        settings=replace(read_settings(values), node_id=int(id), host=address.host, port=address.port, has_transactions=True),
        creates_topics=bool(values.value("auto.create.topics.enable")),
        partitions=values.number("num.partitions"),
        is_durable=durable == "true",
        offsets_segment_bytes=values.number("offsets.topic.segment.bytes"),
        delete_retention_ms=values.number("log.cleaner.delete.retention.ms"),
    )


def check_listener(properties: Mapping[str, str], listener: str) -> None:
    """Refuse a listener for groups that lets in whom a listener of the controller would not.

    What comes in here is forwarded to the controller, so the weaker of the two listeners would decide who may ask it. An authorizer needs
    no rule of its own: it decides here as it does there. Errors: UsageError.
    """
    own = listener_security(properties, listener)
    names = properties.get("controller.listener.names", "")
    for name in filter(None, map(str.strip, names.split(","))):
        other = listener_security(properties, name)
        lacking = _lacking(own, other)
        if lacking:
            raise UsageError(
                f"{LISTENER}: its listener {listener} is {own.protocol}, but {name} is {other.protocol}: groups need {lacking} too; "
                f"put the name of a listener that is {other.protocol} in listener.security.protocol.map before the address (NAME://)",
                LISTENER,
            )


def _lacking(own: ListenerSecurity, other: ListenerSecurity) -> str:
    if other.mechanisms and not own.mechanisms:
        return "SASL"
    if other.tls is not None and own.tls is None:
        return "TLS"
    if _needs_certificate(other) and not (own.mechanisms or _needs_certificate(own)):
        return "ssl.client.auth=required"
    return ""


def _needs_certificate(security: ListenerSecurity) -> bool:
    return security.tls is not None and not security.mechanisms and security.tls.client_auth == "required"


def access_line(config: GroupServerConfig) -> str:
    """Describe in one line who may connect to the listener for groups, and what they may do there."""
    security = listener_security(config.properties, config.listener)
    if security.mechanisms:
        who = f"whoever logs in by {' or '.join(security.mechanisms)}"
    elif _needs_certificate(security):
        who = "whoever has a certificate that ssl.truststore knows"
    else:
        who = "anybody who can connect (User:ANONYMOUS)"
    if not config.properties.get(AUTHORIZER):
        return f"{who} may join and delete all groups, and create, change and delete topics and configs: no {AUTHORIZER} is set"
    users = config.properties.get("super.users", "").strip()
    all_of_it = f"; {users} may do everything" if users else ""
    return f"{who} may do what ACLs allow on groups, topics and the cluster{all_of_it}"


def read_settings(values: Values) -> Settings:
    """Read the coordinator's settings."""
    number = values.number
    return Settings(
        min_session_timeout_ms=number("group.min.session.timeout.ms"),
        max_session_timeout_ms=number("group.max.session.timeout.ms"),
        initial_rebalance_delay_ms=number("group.initial.rebalance.delay.ms"),
        max_size=number("group.max.size"),
        migration_policy=(values.text("group.consumer.migration.policy") or "").lower(),
        consumer=_kind(values, "consumer", values.words("group.consumer.assignors")),
        streams=_kind(values, "streams", ("sticky",)),
        regex_refresh_max_ms=number("group.consumer.regex.refresh.interval.ms"),
        offset_metadata_max_bytes=number("offset.metadata.max.bytes"),
        offsets_retention_ms=number("offsets.retention.minutes") * 60_000,
        offsets_retention_check_interval_ms=number("offsets.retention.check.interval.ms"),
        partitions=values.number("offsets.topic.num.partitions"),
    )


def _kind(values: Values, kind: str, assignors: tuple[str, ...]) -> KindSettings:
    prefix = f"group.{kind}."
    is_streams = kind == "streams"
    return KindSettings(
        session_timeout_ms=values.number(prefix + "session.timeout.ms"),
        heartbeat_interval_ms=values.number(prefix + "heartbeat.interval.ms"),
        max_size=values.number(prefix + "max.size"),
        assignment_interval_ms=values.number(prefix + "assignment.interval.ms"),
        is_assignor_offloaded=values.originals.get(prefix + "assignor.offload.enable", "true").lower() == "true",
        assignors=assignors,
        initial_rebalance_delay_ms=values.number(prefix + "initial.rebalance.delay.ms") if is_streams else 0,
        standby_replicas=values.number(prefix + "num.standby.replicas") if is_streams else 0,
        task_offset_interval_ms=values.number(prefix + "task.offset.interval.ms") if is_streams else 0,
        acceptable_recovery_lag=values.number(prefix + "acceptable.recovery.lag") if is_streams else 0,
    )


CLUSTER_NAME: Final = "kafka-cluster"
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = (code_of(ACL_RESOURCE_TYPES, word) for word in ("TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID"))
READ, WRITE, CREATE, DELETE, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, IDEMPOTENT_WRITE = (
    code_of(ACL_OPERATIONS, word)
    for word in ("READ", "WRITE", "CREATE", "DELETE", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "IDEMPOTENT_WRITE")
)
TOPIC_OPERATIONS: Final = 0b1101_1111_1000
"""READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS and ALTER_CONFIGS."""


class Asker(NamedTuple):
    """The sender of a request. Shape: `principal` is `User:alice`, `host` the address as ACLs name it."""

    principal: str
    host: str


Allows = Callable[[Asker, int, int, str], bool]
"""`(asker, operation, resource type, name) -> bool`: the authorizer. The numbers are those of ACL_OPERATIONS and ACL_RESOURCE_TYPES."""


class ClientRequest(Protocol):
    """A request on a connection, as `metashell.net` gives it."""

    @property
    def header(self) -> RequestHeader: ...
    @property
    def message(self) -> Any: ...
    @property
    def principal(self) -> str: ...
    @property
    def is_token_authenticated(self) -> bool: ...
    @property
    def client_id(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def connection_id(self) -> int: ...
    @property
    def cancelled(self) -> bool: ...
    def respond(self, message: Any) -> None: ...
    def close_connection(self, reason: str) -> None: ...


class NarrowedRequest:
    """The part of a request that its sender may ask. `finish` adds the refused rest to the answer."""

    def __init__(self, whole: ClientRequest, message: Any, finish: Callable[[Any], Any]) -> None:
        self.message = message
        self._whole = whole
        self._finish = finish

    @property
    def header(self) -> RequestHeader:
        return self._whole.header

    @property
    def principal(self) -> str:
        return self._whole.principal

    @property
    def is_token_authenticated(self) -> bool:
        return self._whole.is_token_authenticated

    @property
    def client_id(self) -> str:
        return self._whole.client_id

    @property
    def host(self) -> str:
        return self._whole.host

    @property
    def connection_id(self) -> int:
        return self._whole.connection_id

    @property
    def cancelled(self) -> bool:
        return self._whole.cancelled

    def respond(self, message: Any) -> None:
        """Answer with the refusals added. Errors: EncodeError."""
        self._whole.respond(self._finish(message))

    def close_connection(self, reason: str) -> None:
        self._whole.close_connection(reason)


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of the sender of one request."""

    asker: Asker
    allows: Allows

    def may(self, operation: int, resource: int, name: str) -> bool:
        return self.allows(self.asker, operation, resource, name)

    def may_cluster(self, operation: int) -> bool:
        return self.may(operation, CLUSTER, CLUSTER_NAME)

    def may_describe(self, topic: str) -> bool:
        return self.may(DESCRIBE, TOPIC, topic)

    def operations(self, possible: int, resource: int, name: str) -> int:
        """Return the operations among `possible` that are allowed, a bit for each."""
        return sum(1 << code for code in ACL_OPERATIONS if possible >> code & 1 and self.may(code, resource, name))


def coordinator_request(request: ClientRequest, ticket: int, rights: Rights | None = None) -> Request:
    """Convert a listener's request to one for the coordinator."""
    header = request.header
    can_describe = None if rights is None else rights.may_describe
    return Request(ticket, header.api_key, header.api_version, request.message, request.client_id, f"/{request.host}", can_describe)


class AskedRequest(NamedTuple):
    """A request before it is decided."""

    version: int
    body: Any
    request: Request
    cluster: Cluster
    rights: Rights

    def refused(self, code: int, message: str | None = None) -> Narrowing:
        """Refuse the whole request."""
        text = error_message(code) if message is None else message
        return Narrowing(None, lambda answer: error_body(self.request, code, text))

    def topic_of(self, topic: Any, attribute: str = "name") -> str | None:
        """Return the name of a topic that is named or has an id; None for an id that no topic has."""
        id = getattr(topic, "topic_id", ZERO_UUID)
        return getattr(topic, attribute) if id == ZERO_UUID else self.cluster.name_of(id)


class Narrowing(NamedTuple):
    """`message` is None where nothing is left to be decided: `finish(None)` is the whole answer then."""

    message: Any
    finish: Callable[[Any], Any]


Rule = Callable[[AskedRequest], "Narrowing | None"]
"""Returns None for a request that may be decided as it is."""


def with_fields(message: Any, **changes: Any) -> Any:
    """Return a copy of a message with some fields changed."""
    values = {name: getattr(message, name) for name in type(message).__slots__}
    return type(message)(**(values | changes))
