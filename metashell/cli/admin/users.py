"""Access control entries, quotas and SCRAM credentials of a live cluster.

Brokers and controllers give the same answers about ACLs. Without an authorizer every call about ACLs fails with SECURITY_DISABLED.

The entity of a quota is one or two (type, name) pairs. The types are `user`, `client-id` and `ip`. The name None is the default, which
applies to every user, client id or address without a quota of its own.

A password is salted and hashed here, and only the result is sent; no error message repeats it. Only brokers describe quotas and
credentials; controllers accept changes of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import urandom
from typing import TYPE_CHECKING, Any, Final, Protocol

from metashell.cli.admin.protocol import AdminError
from metashell.codec import messages
from metashell.codec.codes import (
    ACL_OPERATIONS,
    ACL_PATTERN_TYPES,
    ACL_PERMISSION_TYPES,
    ACL_RESOURCE_TYPES,
    SCRAM_MECHANISMS,
    code_name,
    code_of,
)
from metashell.codec.error_codes import NONE, RESOURCE_NOT_FOUND
from metashell.net.scram_credentials import HASHES, SALT_SIZE

if TYPE_CHECKING:
    from metashell.cli.admin.client import Admin


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
"""The operations of each type of resource. Kafka stores an entry with another operation, but never uses it.

Source: org.apache.kafka.security.authorizer.AclEntry.supportedOperations of 4.4.0.
"""


@dataclass(frozen=True, slots=True, order=True)
class AclEntry:
    """An ACL entry, with Kafka's words for its codes (`TOPIC`, `LITERAL`, `READ`, `ALLOW`)."""

    resource_type: str
    resource_name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission_type: str

    def __str__(self) -> str:
        """Return a text like `ALLOW User:alice from * to READ TOPIC:orders`, with `(prefixed)` after a prefix."""
        pattern = "" if self.pattern_type == "LITERAL" else f" ({self.pattern_type.lower()})"
        who = f"{self.permission_type} {self.principal} from {self.host}"
        return f"{who} to {self.operation} {self.resource_type}:{self.resource_name}{pattern}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AclFilter:
    """A filter of ACL entries; None and `ANY` match everything.

    The pattern type `MATCH` with a name matches the entries that apply to a resource of that name: literal ones, its prefixes, and `*`.
    """

    resource_type: str = ANY
    resource_name: str | None = None
    pattern_type: str = ANY
    principal: str | None = None
    host: str | None = None
    operation: str = ANY
    permission_type: str = ANY


def filter_for(entry: AclEntry) -> AclFilter:
    """Return the filter that matches only this entry."""
    return AclFilter(**{name: getattr(entry, name) for name in AclEntry.__slots__})


def describe_acls(admin: Admin, wanted: AclFilter) -> list[AclEntry]:
    """Return the entries that a filter matches, sorted. Errors: AdminError."""
    answer = admin.ask_active(messages.DescribeAclsRequest(**_filter_fields(wanted)))
    if answer.error_code != NONE:
        raise AdminError(answer.error_code, answer.error_message, "ACLs")
    return sorted(
        _entry(resource.resource_type, resource.resource_name, resource.pattern_type, acl)
        for resource in answer.resources
        for acl in resource.acls
    )


def matching_acls(acls: Iterable[Any], wanted: AclFilter) -> list[AclEntry]:
    """Return what `describe_acls` returns from a controller that has these entries (`image.acls.Acl`) in its metadata.

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
    """Create entries. Return each entry with its error, or None; an entry that already exists is not an error.

    Errors: those of `Admin`.
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
    """Delete the entries that filters match. Return each matched entry once, sorted, with its error, or None.

    Errors: AdminError if a filter was refused.
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
    """Return the words that an entry can have, in Kafka's order: those of `codes` without `besides`."""
    left_out = frozenset(besides)
    return tuple(word for word in codes.values() if word not in left_out)


Entity = tuple[tuple[str, str | None], ...]

DEFAULT: Final = "<default>"
TYPES: Final = ("user", "client-id", "ip")
USER_QUOTAS: Final = {
    "producer_byte_rate": "bytes per second and broker that producers may send",
    "consumer_byte_rate": "bytes per second and broker that consumers may fetch",
    "request_percentage": "percent of the time of a broker's request and network threads",
    "controller_mutation_rate": "partitions per second that may be created or deleted",
}
ADDRESS_QUOTAS: Final = {"connection_creation_rate": "connections per second and broker that may be opened from an address"}
QUOTAS: Final = USER_QUOTAS | ADDRESS_QUOTAS
_EXACT, _DEFAULT = 0, 1


@dataclass(frozen=True, slots=True)
class Quotas:
    """The quotas of one entity."""

    entity: Entity
    values: Mapping[str, float]


EntityFilter = Mapping[str, str | None]
"""The names to match by type, None for the default. A type that is left out matches any entity, unless the filter is strict."""


def entity_text(entity: Entity) -> str:
    """Return an entity as text: `user=alice,client-id=<default>`."""
    return ",".join(f"{kind}={DEFAULT if name is None else name}" for kind, name in entity)


def in_order(entity: Iterable[tuple[str, str | None]]) -> Entity:
    """Return the pairs of an entity in the order user, client-id, ip."""
    return tuple(sorted(entity, key=lambda pair: (TYPES.index(pair[0]) if pair[0] in TYPES else len(TYPES), pair[0])))


def describe_quotas(admin: Admin, wanted: EntityFilter, *, is_strict: bool = False) -> list[Quotas]:
    """Return the quotas that a filter matches, ordered by entity. Strict: without entities that have other types too.

    Errors: AdminError.
    """
    answer = admin.ask(
        messages.DescribeClientQuotasRequest(components=tuple(_component(kind, name) for kind, name in wanted.items()), strict=is_strict)
    )
    if answer.error_code != NONE:
        raise AdminError(answer.error_code, answer.error_message, "quotas")
    return by_entity(
        Quotas(in_order((part.entity_type, part.entity_name) for part in entry.entity), {value.key: value.value for value in entry.values})
        for entry in answer.entries or ()
    )


def matching_quotas(quotas: Mapping[Entity, Mapping[str, float]], wanted: EntityFilter, *, is_strict: bool = False) -> list[Quotas]:
    """Return what `describe_quotas` returns from a broker that has these quotas in its metadata."""

    def matches(entity: Entity) -> bool:
        names = dict(entity)
        if is_strict and names.keys() != wanted.keys():
            return False
        return all(kind in names and names[kind] == name for kind, name in wanted.items())

    return by_entity(Quotas(in_order(entity), dict(values)) for entity, values in quotas.items() if matches(entity))


def by_entity(found: Iterable[Quotas]) -> list[Quotas]:
    """Return the quotas ordered by type, then by name with the default first."""
    return sorted(found, key=lambda each: [(TYPES.index(kind) if kind in TYPES else 9, name or "") for kind, name in each.entity])


def alter_quotas(
    admin: Admin, changes: Sequence[tuple[Entity, Mapping[str, float | None]]], *, is_dry_run: bool = False
) -> list[tuple[Entity, AdminError | None]]:
    """Set quotas, and remove those whose value is None. Return each entity with its error, or None.

    A dry run only validates the request. Errors: those of `Admin`.
    """
    made = messages.AlterClientQuotasRequest
    request = made(
        entries=tuple(
            made.EntryData(
                entity=tuple(made.EntityData(entity_type=kind, entity_name=name) for kind, name in entity),
                ops=tuple(made.OpData(key=key, value=0.0 if value is None else value, remove=value is None) for key, value in ops.items()),
            )
            for entity, ops in changes
        ),
        validate_only=is_dry_run,
    )
    errors: dict[Entity, AdminError | None] = {}
    for entry in admin.ask_active(request).entries:
        entity = in_order((part.entity_type, part.entity_name) for part in entry.entity)
        code, message = entry.error_code, entry.error_message
        errors[entity] = None if code == NONE else AdminError(code, message, entity_text(entity))
    return [(entity, errors.get(in_order(entity))) for entity, _ in changes]


def _component(kind: str, name: str | None) -> Any:
    match = _DEFAULT if name is None else _EXACT
    return messages.DescribeClientQuotasRequest.ComponentData(entity_type=kind, match_type=match, match=name)


MECHANISMS: Final = tuple(SCRAM_MECHANISMS.values())
ITERATIONS_MAX: Final = 16384
"""The most iterations that a controller accepts."""


class Credential(Protocol):
    """A credential of the metadata."""

    @property
    def iterations(self) -> int: ...


@dataclass(frozen=True, slots=True, order=True)
class ScramUser:
    """A SCRAM credential; a cluster reports no more of it."""

    user: str
    mechanism: str
    iterations: int


def describe_scram(admin: Admin, users: Sequence[str] = ()) -> tuple[list[ScramUser], list[AdminError]]:
    """Return the credentials of these users, or of all, sorted, and an error for each user that has none. Errors: AdminError."""
    made = messages.DescribeUserScramCredentialsRequest
    # Null also means all users, but with it a broker of Kafka 4.3.1 fails on a request that is not authorized, and never answers.
    answer = admin.ask(made(users=tuple(made.UserName(name=user) for user in users)))
    if answer.error_code != NONE:
        raise AdminError(answer.error_code, answer.error_message, "SCRAM credentials")
    errors = [AdminError(one.error_code, one.error_message, one.user) for one in answer.results if one.error_code != NONE]
    found = [
        ScramUser(one.user, SCRAM_MECHANISMS.get(info.mechanism, f"UNKNOWN-{info.mechanism}"), info.iterations)
        for one in answer.results
        for info in one.credential_infos
    ]
    return sorted(found), errors


def set_scram(admin: Admin, credential: ScramUser, password: str) -> None:
    """Create or replace a credential, with a new salt. Errors: AdminError."""
    salt = urandom(SALT_SIZE)
    raw = password.encode("utf-8", "surrogateescape")
    upsertion = messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name=credential.user,
        mechanism=code_of(SCRAM_MECHANISMS, credential.mechanism),
        iterations=credential.iterations,
        salt=salt,
        salted_password=hashlib.pbkdf2_hmac(HASHES[credential.mechanism], raw, salt, credential.iterations),
    )
    _alter(admin, messages.AlterUserScramCredentialsRequest(upsertions=(upsertion,)))


def delete_scram(admin: Admin, user: str, mechanism: str) -> None:
    """Delete a credential. Errors: AdminError, RESOURCE_NOT_FOUND if there is none."""
    deletion = messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion(name=user, mechanism=code_of(SCRAM_MECHANISMS, mechanism))
    _alter(admin, messages.AlterUserScramCredentialsRequest(deletions=(deletion,)))


def _alter(admin: Admin, request: messages.AlterUserScramCredentialsRequest) -> None:
    # Each request has one credential: if a request names a user twice, all changes of that user are refused.
    for result in admin.ask_active(request).results:
        if result.error_code != NONE:
            raise AdminError(result.error_code, result.error_message, result.user)


def scram_users(credentials: Mapping[int, Mapping[str, Credential]], users: Sequence[str] = ()) -> tuple[list[ScramUser], list[AdminError]]:
    """Return what `describe_scram` returns from a broker with these credentials, by mechanism and user, in its metadata."""
    found = sorted(
        ScramUser(user, SCRAM_MECHANISMS.get(mechanism, f"UNKNOWN-{mechanism}"), credential.iterations)
        for mechanism, by_user in credentials.items()
        for user, credential in by_user.items()
        if not users or user in users
    )
    present = {each.user for each in found}
    return found, [
        AdminError(RESOURCE_NOT_FOUND, f"Attempt to describe a user credential that does not exist: {user}", user)
        for user in users
        if user not in present
    ]
