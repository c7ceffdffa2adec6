"""Quotas of users, clients and addresses of a live cluster.

An entity is one to two (type, name) pairs; the types are `user`, `client-id` and `ip`, and the name None stands for the default, which
applies to all that have no quota of their own. Brokers describe quotas, controllers do not: they are asked for changes only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from metashell.admin.errors import AdminError
from metashell.codec import messages
from metashell.codec.error_codes import NONE

if TYPE_CHECKING:
    from metashell.admin.admin import Admin

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
