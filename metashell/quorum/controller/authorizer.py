"""Authorization: Kafka's standard authorizer over the stable image, the APIs of a controller, and requests in envelopes.

`APIS` lists every API that a controller lists: its name, its versions, and whether brokers forward it for their clients. Raft and the
server answer some of them; a broker's descriptions of users and tokens are listed too, as Kafka lists them. A broker hands on such a
request in an envelope with the client's principal, and that principal is the one whose rights count.

Source: org.apache.kafka.metadata.authorizer.StandardAuthorizer; the request schemas of Kafka 4.4.0 with the listener `controller`,
ApiKeys.forwardable; kafka.server.EnvelopeUtils, ControllerApis.handleEnvelopeRequest."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any, Final, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import (
    INVALID_REQUEST,
    NONE,
    NOT_CONTROLLER,
    NOT_LEADER_OR_FOLLOWER,
    PRINCIPAL_DESERIALIZATION_FAILURE,
    UNSUPPORTED_VERSION,
)
from metashell.codec.java import host_address
from metashell.codec.primitives import kafka_text, read_uvarint
from metashell.codec.registry import message_type
from metashell.codec.validation import host_matches
from metashell.common.errors import DecodeError
from metashell.metadata.image import Acl, AclsImage
from metashell.quorum.controller.decision import ApiError, Request
from metashell.quorum.controller.hints import AclHints


class Resource(IntEnum):
    """The type of what an entry is about."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class Pattern(IntEnum):
    """The pattern types of a resource's name."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class Operation(IntEnum):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


CLUSTER_NAME: Final = "kafka-cluster"
WILDCARD: Final = "*"
WILDCARD_PRINCIPAL: Final = "User:*"
_IMPLYING: Final = {
    Operation.DESCRIBE: {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER},
    Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
}
"""The operations whose permission includes that of the key. Refusals include nothing.

For example, who may READ a topic may DESCRIBE it; who is denied READ may still be allowed to DESCRIBE it.
"""


class Authorizer:
    """Answers for one image of access control entries.

    Without an authorizer in the configuration everything is allowed, as in Kafka.
    """

    def __init__(
        self, acls: AclsImage, hints: AclHints, super_users: frozenset[str], *, allows_without_acl: bool, is_configured: bool
    ) -> None:
        self._acls = acls
        self._hints = hints
        self._super_users = super_users
        self._allows_without_acl = allows_without_acl
        self._is_configured = is_configured

    def allows(self, request: Request, operation: Operation, resource: Resource, name: str) -> bool:
        """Return whether the sender of a request may do `operation`: a refusal that matches counts before any permission."""
        if not self._is_configured or request.principal in self._super_users:
            return True
        # An entry that allows does not end the search, since a later one may deny. `any_acl` also counts entries for other senders and
        # operations: `allow.everyone.if.no.acl.found` is about resources that have no entry at all.
        any_acl = allowed = False
        for acl in self._applying(resource, name):
            any_acl = True
            if _matches(acl, request, operation):
                if acl.permission_type == Permission.DENY:
                    return False
                allowed = True
        return allowed or (not any_acl and self._allows_without_acl)

    def may_allow(self, request: Request) -> bool:
        """Return whether there is anything that the sender of a request may do; true where that is not known."""
        if not self._is_configured or self._allows_without_acl or request.principal in self._super_users:
            return True
        return self._hints.allows_something(request.principal) or self._hints.allows_something(WILDCARD_PRINCIPAL)

    def allows_cluster(self, request: Request, operation: Operation) -> bool:
        return self.allows(request, operation, Resource.CLUSTER, CLUSTER_NAME)

    def _applying(self, resource: Resource, name: str) -> Iterator[Acl]:
        # Each request is checked, so no step looks at all entries: literals are found by name, prefixes by each length that is in use.
        acls, hints = self._acls, self._hints
        yield from hints.at(acls, resource, Pattern.LITERAL, name)
        if name != WILDCARD:
            yield from hints.at(acls, resource, Pattern.LITERAL, WILDCARD)
        yield from hints.prefixed(acls, resource, name)


def _matches(acl: Acl, request: Request, operation: Operation) -> bool:
    if acl.principal not in (request.principal, WILDCARD_PRINCIPAL) or not host_matches(acl.host, request.host):
        return False
    if acl.operation in (operation, Operation.ALL):
        return True
    return acl.permission_type == Permission.ALLOW and acl.operation in _IMPLYING.get(operation, ())


# The APIs of a controller


class Api(NamedTuple):
    """One API, at versions `low` to `high`."""

    name: str
    low: int
    high: int
    is_forwarded: bool = False

    def has(self, version: int) -> bool:
        return self.low <= version <= self.high


APIS: Final[dict[int, Api]] = {
    1: Api("Fetch", 4, 18),
    17: Api("SaslHandshake", 0, 1),
    18: Api("ApiVersions", 0, 5),
    19: Api("CreateTopics", 2, 7, is_forwarded=True),
    20: Api("DeleteTopics", 1, 6, is_forwarded=True),
    29: Api("DescribeAcls", 1, 3),
    30: Api("CreateAcls", 1, 3, is_forwarded=True),
    31: Api("DeleteAcls", 1, 3, is_forwarded=True),
    32: Api("DescribeConfigs", 1, 4),
    33: Api("AlterConfigs", 0, 2, is_forwarded=True),
    36: Api("SaslAuthenticate", 0, 2),
    37: Api("CreatePartitions", 0, 3, is_forwarded=True),
    38: Api("CreateDelegationToken", 1, 3, is_forwarded=True),
    39: Api("RenewDelegationToken", 1, 2, is_forwarded=True),
    40: Api("ExpireDelegationToken", 1, 2, is_forwarded=True),
    41: Api("DescribeDelegationToken", 1, 3),
    43: Api("ElectLeaders", 0, 2, is_forwarded=True),
    44: Api("IncrementalAlterConfigs", 0, 1, is_forwarded=True),
    45: Api("AlterPartitionReassignments", 0, 1, is_forwarded=True),
    46: Api("ListPartitionReassignments", 0, 0, is_forwarded=True),
    49: Api("AlterClientQuotas", 0, 1, is_forwarded=True),
    50: Api("DescribeUserScramCredentials", 0, 0),
    51: Api("AlterUserScramCredentials", 0, 0, is_forwarded=True),
    52: Api("Vote", 0, 2),
    53: Api("BeginQuorumEpoch", 0, 1),
    54: Api("EndQuorumEpoch", 0, 1),
    55: Api("DescribeQuorum", 0, 2, is_forwarded=True),
    56: Api("AlterPartition", 2, 3),
    57: Api("UpdateFeatures", 0, 2, is_forwarded=True),
    58: Api("Envelope", 0, 0),
    59: Api("FetchSnapshot", 0, 1),
    60: Api("DescribeCluster", 0, 2),
    62: Api("BrokerRegistration", 0, 4),
    63: Api("BrokerHeartbeat", 0, 2),
    64: Api("UnregisterBroker", 0, 0, is_forwarded=True),
    67: Api("AllocateProducerIds", 0, 0, is_forwarded=True),
    70: Api("ControllerRegistration", 0, 0),
    73: Api("AssignReplicasToDirs", 0, 0),
    80: Api("AddRaftVoter", 0, 1, is_forwarded=True),
    81: Api("RemoveRaftVoter", 0, 0, is_forwarded=True),
    82: Api("UpdateRaftVoter", 0, 0),
    94: Api("UnregisterController", 0, 0, is_forwarded=True),
}
"""By api key."""


_ADDRESS_SIZES = (4, 16)
VALUES_MAX: Final = 200_000
"""The fields and entries of a request that is handed on; those of 10 000 records are well below. So many are read in some 50 ms."""


class EnvelopedRequest(NamedTuple):
    """The request inside an envelope."""

    name: str
    correlation_id: int
    request: Request


def open_envelope(envelope: Request) -> EnvelopedRequest:
    """Return the request inside, with the principal and the address of the broker's client.

    Errors: ApiError with the code that the envelope is answered with.
    """
    body = envelope.body
    if len(body.client_host_address) not in _ADDRESS_SIZES:
        raise ApiError(INVALID_REQUEST)
    principal, is_token = _principal(body.request_principal)
    try:
        name, header, start = _header(bytes(body.request_data))
        inner = _body(name, header.request_api_version, bytes(body.request_data), start)
    except DecodeError:
        raise ApiError(UNSUPPORTED_VERSION) from None
    made = envelope._replace(
        api_key=header.request_api_key,
        version=header.request_api_version,
        body=inner,
        principal=principal,
        client_id=header.client_id or "",
        host=host_address(bytes(body.client_host_address)),
        is_forwarded=True,
        is_token_authenticated=is_token,
    )
    return EnvelopedRequest(name, header.correlation_id, made)


def _body(name: str, version: int, data: bytes, start: int) -> Any:
    """Return the request's body. Errors: DecodeError, also for one that would hold the loop for long."""
    # A client chooses the bytes, and every few of them may be a field or an entry: hence the bound on how many are read.
    body, end = message_type("request", f"{name}Request").bounded_reader(version)(data, start, len(data), [VALUES_MAX])
    if end != len(data):
        raise DecodeError("bytes are left")
    return body


def _header(data: bytes) -> tuple[str, Any, int]:
    """Return the name of the API, the header, and the position where the body starts. Errors: DecodeError, ApiError."""
    # Read by hand: the first four bytes, API and version, decide which version of the header it is.
    if len(data) < 8:
        raise DecodeError("the header ends early")
    key, version = int.from_bytes(data[:2], "big", signed=True), int.from_bytes(data[2:4], "big", signed=True)
    api = APIS.get(key)
    if api is None:
        raise ApiError(UNSUPPORTED_VERSION)
    if not api.is_forwarded:
        raise ApiError(INVALID_REQUEST)
    if not api.has(version):
        raise ApiError(UNSUPPORTED_VERSION)
    name = api.name
    is_flexible = message_type("request", f"{name}Request").flexible(version)
    # The client id keeps its two-byte size in flexible headers: older servers have to read the header of any ApiVersions request.
    client_size = int.from_bytes(data[8:10], "big", signed=True)
    start = 10 + max(0, client_size)
    if start + is_flexible > len(data):
        raise DecodeError("the header ends early")
    if is_flexible:
        start = _after_tags(data, start)
    header = messages.RequestHeader(
        request_api_key=key,
        request_api_version=version,
        correlation_id=int.from_bytes(data[4:8], "big", signed=True),
        client_id=kafka_text(data[10 : 10 + client_size]) if client_size >= 0 else None,
    )
    return name, header, start


def _after_tags(data: bytes, at: int) -> int:
    """Return the position behind the tagged fields. Errors: DecodeError."""
    try:
        count, at = read_uvarint(data, at)
        for _ in range(count):
            _, at = read_uvarint(data, at)
            size, at = read_uvarint(data, at)
            at += size
    except IndexError:
        raise DecodeError("the header ends early") from None
    if at > len(data):
        raise DecodeError("the header ends early")
    return at


def _principal(data: bytes | None) -> tuple[str, bool]:
    """Return `Type:Name`, and whether it logged in by a token. Errors: ApiError for bytes that are no principal.

    Shape: a version of two bytes, then Kafka's DefaultPrincipalData, which is flexible. Of a version that is not known nothing is read:
    a principal that is only half understood must not have rights.
    """
    if not data:
        raise ApiError(PRINCIPAL_DESERIALIZATION_FAILURE)
    raw = bytes(data)
    try:
        if len(raw) < 2 or raw[:2] != b"\0\0":
            raise DecodeError("the version is not known")
        kind, at = _compact_text(raw, 2)
        name, at = _compact_text(raw, at)
        if at >= len(raw):
            raise DecodeError("the principal ends early")
        is_token = raw[at] != 0
        if _after_tags(raw, at + 1) != len(raw):
            raise DecodeError("bytes are left")
    except (DecodeError, IndexError):
        raise ApiError(PRINCIPAL_DESERIALIZATION_FAILURE) from None
    return f"{kind}:{name}", is_token


def _compact_text(data: bytes, at: int) -> tuple[str, int]:
    size, at = read_uvarint(data, at)
    end = at + size - 1
    if size == 0 or end > len(data):
        raise DecodeError("a text ends early")
    return kafka_text(data[at:end]), end


def close_envelope(inner: EnvelopedRequest, answer: Any) -> Any:
    """Return the answer of an envelope around the answer of the request that it held.

    Where that says that another controller leads, the envelope says NOT_CONTROLLER, without data: the broker asks again elsewhere.
    Source: kafka.network.RequestChannel.Request.shouldReturnNotController.
    """
    response = messages.EnvelopeResponse
    if _has_error(answer, NOT_LEADER_OR_FOLLOWER if inner.name == "DescribeQuorum" else NOT_CONTROLLER):
        return response(response_data=None, error_code=NOT_CONTROLLER)
    message = message_type("response", f"{inner.name}Response")
    tags = b"\0" if message.flexible(inner.request.version) else b""
    data = inner.correlation_id.to_bytes(4, "big", signed=True) + tags + message.write(answer, inner.request.version)
    return response(response_data=data, error_code=NONE)


def _has_error(value: Any, code: int) -> bool:
    """Return whether an error code stands anywhere in an answer."""
    # APIs have their codes at different places: at the top, by topic, by partition. One walk fits them all.
    if isinstance(value, tuple):
        return any(_has_error(item, code) for item in value)
    names = getattr(type(value), "__slots__", ())
    return any(
        getattr(value, name) == code if name == "error_code" else _has_error(getattr(value, name), code)
        for name in names
        if name == "error_code" or isinstance(getattr(value, name), tuple)
    )
