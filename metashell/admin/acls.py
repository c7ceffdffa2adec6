"""Access control entries of a live cluster: those that a filter matches, new ones, and their removal.

Brokers and controllers answer alike. Where no authorizer is configured, each of these ends in SECURITY_DISABLED.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from metashell.admin.errors import AdminError
from metashell.codec import messages
from metashell.codec.code_words import (
    ACL_OPERATIONS,
    ACL_PATTERN_TYPES,
    ACL_PERMISSION_TYPES,
    ACL_RESOURCE_TYPES,
    code_name,
    code_of,
)
from metashell.codec.error_codes import NONE

if TYPE_CHECKING:
    from metashell.admin.admin import Admin

ANY: Final = "ANY"
_MATCH: Final = "MATCH"
OPERATIONS: Final = {
    "TOPIC": ("ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"),
    "GROUP": ("ALL", "READ", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"),
    "CLUSTER": ("ALL", "CREATE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE"),
    "TRANSACTIONAL_ID": ("ALL", "WRITE", "DESCRIBE", "TWO_PHASE_COMMIT"),
    "DELEGATION_TOKEN": ("ALL", "DESCRIBE"),
    "USER": ("ALL", "CREATE_TOKENS", "DESCRIBE_TOKENS"),
}
"""What can be done with a resource; an entry with another operation is stored and never looked at.

Source: org.apache.kafka.security.authorizer.AclEntry.supportedOperations of 4.4.0.
"""


@dataclass(frozen=True, slots=True, order=True)
class AclEntry:
    """One entry, with Kafka's words for its codes (`TOPIC`, `LITERAL`, `READ`, `ALLOW`)."""

    resource_type: str
    resource_name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission_type: str

    def __str__(self) -> str:
        """`ALLOW User:alice from * to READ TOPIC:orders`, with `(prefixed)` behind a prefix."""
        pattern = "" if self.pattern_type == "LITERAL" else f" ({self.pattern_type.lower()})"
        who = f"{self.permission_type} {self.principal} from {self.host}"
        return f"{who} to {self.operation} {self.resource_type}:{self.resource_name}{pattern}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AclFilter:
    """Which entries are meant; None and `ANY` mean all of them.

    A pattern type `MATCH` with a name means the entries that apply to a resource of that name: literal ones, prefixes of it, and `*`.
    """

    resource_type: str = ANY
    resource_name: str | None = None
    pattern_type: str = ANY
    principal: str | None = None
    host: str | None = None
    operation: str = ANY
    permission_type: str = ANY


def exactly(entry: AclEntry) -> AclFilter:
    """The filter that matches this entry alone."""
    return AclFilter(**{name: getattr(entry, name) for name in AclEntry.__slots__})


def describe_acls(admin: Admin, wanted: AclFilter) -> list[AclEntry]:
    """The entries that a filter matches, sorted. Errors: AdminError."""
    answer = admin.ask_active(messages.DescribeAclsRequest(**_filter_fields(wanted)))
    if answer.error_code != NONE:
        raise AdminError(answer.error_code, answer.error_message, "ACLs")
    return sorted(
        _entry(resource.resource_type, resource.resource_name, resource.pattern_type, acl)
        for resource in answer.resources
        for acl in resource.acls
    )


def matching_acls(acls: Iterable[Any], wanted: AclFilter) -> list[AclEntry]:
    """What a controller would answer that has these entries (`image.acls.Acl`) in its metadata.

    Source: ResourcePatternFilter.matches and AccessControlEntryFilter.matches of org.apache.kafka.common.
    """
    entries = (_entry(acl.resource_type, acl.resource_name, acl.pattern_type, acl) for acl in acls)
    return sorted(entry for entry in entries if _matches(entry, wanted))


def _matches(entry: AclEntry, wanted: AclFilter) -> bool:
    words = ("resource_type", "operation", "permission_type")
    if any(getattr(wanted, name) not in (ANY, getattr(entry, name)) for name in words):
        return False
    if any(getattr(wanted, name) not in (None, getattr(entry, name)) for name in ("principal", "host")):
        return False
    name, pattern = wanted.resource_name, wanted.pattern_type
    if pattern not in (ANY, _MATCH, entry.pattern_type):
        return False
    if name is None or name == entry.resource_name:
        return True
    if pattern != _MATCH:
        return False
    return name.startswith(entry.resource_name) if entry.pattern_type == "PREFIXED" else entry.resource_name == "*"


def create_acls(admin: Admin, entries: Sequence[AclEntry]) -> list[tuple[AclEntry, AdminError | None]]:
    """Make entries; each comes back with what was wrong with it. One that is there already is no error.

    Errors: AdminError for the request as a whole.
    """
    creation = messages.CreateAclsRequest.AclCreation
    request = messages.CreateAclsRequest(
        creations=tuple(
            creation(
                resource_type=code_of(ACL_RESOURCE_TYPES, entry.resource_type),
                resource_name=entry.resource_name,
                resource_pattern_type=code_of(ACL_PATTERN_TYPES, entry.pattern_type),
                principal=entry.principal,
                host=entry.host,
                operation=code_of(ACL_OPERATIONS, entry.operation),
                permission_type=code_of(ACL_PERMISSION_TYPES, entry.permission_type),
            )
            for entry in entries
        )
    )
    results = admin.ask_active(request).results
    return [(entry, _error(result, str(entry))) for entry, result in zip(entries, results, strict=True)]


def delete_acls(admin: Admin, filters: Sequence[AclFilter]) -> list[tuple[AclEntry, AdminError | None]]:
    """Remove what filters match; each entry that was matched comes back, once, with what was wrong with it.

    Errors: AdminError for a filter that was refused.
    """
    one = messages.DeleteAclsRequest.DeleteAclsFilter
    answer = admin.ask_active(messages.DeleteAclsRequest(filters=tuple(one(**_filter_fields(wanted)) for wanted in filters)))
    found: dict[AclEntry, AdminError | None] = {}
    for result in answer.filter_results:
        if result.error_code != NONE:
            raise AdminError(result.error_code, result.error_message, "ACLs")
        for acl in result.matching_acls:
            entry = _entry(acl.resource_type, acl.resource_name, acl.pattern_type, acl)
            found.setdefault(entry, _error(acl, str(entry)))
    return sorted(found.items(), key=lambda item: item[0])


def _filter_fields(wanted: AclFilter) -> dict[str, Any]:
    return {
        "resource_type_filter": code_of(ACL_RESOURCE_TYPES, wanted.resource_type),
        "resource_name_filter": wanted.resource_name,
        "pattern_type_filter": code_of(ACL_PATTERN_TYPES, wanted.pattern_type),
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": code_of(ACL_OPERATIONS, wanted.operation),
        "permission_type": code_of(ACL_PERMISSION_TYPES, wanted.permission_type),
    }


def _entry(resource_type: int, resource_name: str, pattern_type: int, acl: Any) -> AclEntry:
    return AclEntry(
        code_name(ACL_RESOURCE_TYPES, resource_type),
        resource_name,
        code_name(ACL_PATTERN_TYPES, pattern_type),
        acl.principal,
        acl.host,
        code_name(ACL_OPERATIONS, acl.operation),
        code_name(ACL_PERMISSION_TYPES, acl.permission_type),
    )


def _error(result: Any, thing: str) -> AdminError | None:
    return None if result.error_code == NONE else AdminError(result.error_code, result.error_message, thing)


def words_of(codes: dict[int, str], besides: Iterable[str] = ("UNKNOWN", "ANY", "MATCH")) -> tuple[str, ...]:
    """The words that an entry may have, in Kafka's order."""
    left_out = frozenset(besides)
    return tuple(word for word in codes.values() if word not in left_out)
