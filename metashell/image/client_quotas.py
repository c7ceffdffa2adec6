"""Client quotas, by entity and key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from immutables import Map

from metashell.codec.registry import message_type
from metashell.image.loss import VersionedRecord
from metashell.image.nested import NestedDelta

QuotaEntity = tuple[tuple[str, str | None], ...]
"""(entity type, name) pairs ordered by type, one a type; None is the default entity of that type."""

ClientQuotasImage = Map[QuotaEntity, Map[str, float]]


class ClientQuotasDelta(NestedDelta[QuotaEntity, str, float]):
    """Gathers changes of quotas."""

    def replay_client_quota(self, record: Any) -> None:
        entity = quota_entity(record.entity)
        if not record.remove:
            self._put(entity, record.key, record.value)
        else:
            self._drop(entity, record.key)


def quota_entity(parts: Any) -> QuotaEntity:
    """The entity of a record; of a type that is named twice, the later name counts."""
    return tuple(sorted({part.entity_type: part.entity_name for part in parts}.items(), key=_by_type))


def _by_type(part: tuple[str, str | None]) -> str:
    return part[0]


def write_client_quotas(image: ClientQuotasImage) -> Iterator[VersionedRecord]:
    """The records of all quotas, ordered by entity and key."""
    message = message_type("metadata", "ClientQuotaRecord")
    part = message.structs["EntityData"]
    for entity in sorted(image, key=_entity_order):
        parts = tuple(part(entity_type=type, entity_name=name) for type, name in entity)
        for key, value in sorted(image[entity].items()):
            yield message.cls(entity=parts, key=key, value=value, remove=False), 0


def _entity_order(entity: QuotaEntity) -> list[tuple[str, bool, str]]:
    return [(type, name is not None, name or "") for type, name in entity]
