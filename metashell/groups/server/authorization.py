"""The sender of a request to a group server, the rights that it has, and requests of which only a part is decided.

Nothing here grants a right: `Allows` asks the authorizer of the controller that runs in the same process. `request_rights` has the rights
that each request needs.

Source: kafka.server.AuthHelper, org.apache.kafka.security.authorizer.AclEntry.supportedOperations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from metashell.codec.codes import ACL_OPERATIONS, ACL_RESOURCE_TYPES, code_of
from metashell.codec.error_codes import error_message
from metashell.common.values import ZERO_UUID
from metashell.groups.decision import Request
from metashell.groups.error_answers import error_body
from metashell.net.frames import RequestHeader

if TYPE_CHECKING:
    from metashell.groups.server.topic_requests import Cluster

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
