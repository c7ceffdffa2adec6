"""Who may do what: Kafka's standard authorizer over the stable image.

Source: org.apache.kafka.metadata.authorizer.StandardAuthorizer.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from metashell.codec.acl_hosts import host_matches
from metashell.controller.access.acl_hints import AclHints
from metashell.controller.request import Request
from metashell.image import Acl, AclsImage


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
    """How the name of an entry is meant."""

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
"""What one may do who may do something else; only permissions imply, refusals do not."""


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
        """Whether the sender of a request may do `operation`: a refusal that matches counts before any permission."""
        if not self._is_configured or request.principal in self._super_users:
            return True
        any_acl = allowed = False
        for acl in self._applying(resource, name):
            any_acl = True
            if _matches(acl, request, operation):
                if acl.permission_type == Permission.DENY:
                    return False
                allowed = True
        return allowed or (not any_acl and self._allows_without_acl)

    def allows_cluster(self, request: Request, operation: Operation) -> bool:
        return self.allows(request, operation, Resource.CLUSTER, CLUSTER_NAME)

    def _applying(self, resource: Resource, name: str) -> Iterator[Acl]:
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
