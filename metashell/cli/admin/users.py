"""Access control entries, quotas and SCRAM credentials of a live cluster.

Brokers and controllers answer alike about ACLs. Without an authorizer each of these calls ends in SECURITY_DISABLED.

A quota's entity is one to two (type, name) pairs. The types are `user`, `client-id` and `ip`; the name None is the default, which applies
to all that have no quota of their own.

A password is salted and hashed here, and only the result is sent; no message repeats a password. Only brokers describe quotas and
credentials; controllers take changes of them."""

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
from metashell.net.sasl import HASHES, SALT_SIZE

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


def filter_for(entry: AclEntry) -> AclFilter:
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
"""By type, the name, None for the default; a type that is not there does not matter, unless the filter is strict."""


def entity_text(entity: Entity) -> str:
    """`user=alice,client-id=<default>`."""
    return ",".join(f"{kind}={DEFAULT if name is None else name}" for kind, name in entity)


def in_order(entity: Iterable[tuple[str, str | None]]) -> Entity:
    """The pairs of an entity in the order user, client-id, ip."""
    return tuple(sorted(entity, key=lambda pair: (TYPES.index(pair[0]) if pair[0] in TYPES else len(TYPES), pair[0])))


def describe_quotas(admin: Admin, wanted: EntityFilter, *, is_strict: bool = False) -> list[Quotas]:
    """The quotas of the entities that a filter matches, by entity; strict: entities that have a type besides are left out.

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
    """What a broker would answer that has these quotas in its metadata."""

    def matches(entity: Entity) -> bool:
        names = dict(entity)
        if is_strict and names.keys() != wanted.keys():
            return False
        return all(kind in names and names[kind] == name for kind, name in wanted.items())

    return by_entity(Quotas(in_order(entity), dict(values)) for entity, values in quotas.items() if matches(entity))


def by_entity(found: Iterable[Quotas]) -> list[Quotas]:
    """Sorted by type, then by name with the default first."""
    return sorted(found, key=lambda each: [(TYPES.index(kind) if kind in TYPES else 9, name or "") for kind, name in each.entity])


def alter_quotas(
    admin: Admin, changes: Sequence[tuple[Entity, Mapping[str, float | None]]], *, is_dry_run: bool = False
) -> list[tuple[Entity, AdminError | None]]:
    """Set quotas, and remove those whose value is None; each entity comes back with what was wrong with it.

    A dry run checks and changes nothing. Errors: AdminError for the request as a whole.
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
"""What a controller takes at most."""


class Credential(Protocol):
    """What the metadata holds of a credential."""

    @property
    def iterations(self) -> int: ...


@dataclass(frozen=True, slots=True, order=True)
class ScramUser:
    """A credential, of which a cluster tells only this much."""

    user: str
    mechanism: str
    iterations: int


def describe_scram(admin: Admin, users: Sequence[str] = ()) -> tuple[list[ScramUser], list[AdminError]]:
    """The credentials of these users, of all if none is named, sorted; and an error for each that has none. Errors: AdminError."""
    made = messages.DescribeUserScramCredentialsRequest
    # None means all users too, but a broker of Kafka fails over it and never answers somebody who may not ask (4.3.1).
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
    """Make or replace a credential, with a new salt. Errors: AdminError."""

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
    """Delete a credential. Errors: AdminError, RESOURCE_NOT_FOUND where there is none."""
    deletion = messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion(name=user, mechanism=code_of(SCRAM_MECHANISMS, mechanism))
    _alter(admin, messages.AlterUserScramCredentialsRequest(deletions=(deletion,)))


def _alter(admin: Admin, request: messages.AlterUserScramCredentialsRequest) -> None:
    # One credential a request: a user that is named twice in one gets none of its changes.
    for result in admin.ask_active(request).results:
        if result.error_code != NONE:
            raise AdminError(result.error_code, result.error_message, result.user)


def scram_users(credentials: Mapping[int, Mapping[str, Credential]], users: Sequence[str] = ()) -> tuple[list[ScramUser], list[AdminError]]:
    """What a broker would answer that has these credentials, by mechanism and user, in its metadata."""
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
