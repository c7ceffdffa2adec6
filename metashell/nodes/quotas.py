"""Client quotas by entity.

Kafka's name of an entity has only its named parts: an entity of only defaults has the empty name, one with a
default part has the name of another entity, and neither can be resolved. Our own voice writes `<default>` for a
default part and percent-escapes special characters, so that each name belongs to one entity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from metashell.nodes.java_text import double_text
from metashell.nodes.names import DEFAULT_ENTITY, EMPTY_NAME, name_unescape, part_escape
from metashell.nodes.node import JsonValue, KeyedDirectory, LeafKind, SubjectLeaf, text_directory
from metashell.nodes.tree import Tree

Part = tuple[str, str | None]
Entity = Iterable[Part]

_LABELS = {"client-id": "clientId", "ip": "ip", "user": "user"}
"""Kafka's words for the types, in the order in which parts are joined."""

_TYPES = {label: type for type, label in _LABELS.items()}
_KAFKA_PART = r"(?s:(clientId|ip|user)\(((?:[^\\)]|\\.)*)\))"
_OWN_PART = r"([^()\\]*)\(([^()\\]*)\)"


def quotas_node(name: str, tree: Tree) -> KeyedDirectory:
    """/image/clientQuotas: a directory for each entity."""
    quotas = tree.image.client_quotas

    @cache
    def by_parts() -> dict[frozenset[Part], Any]:
        return {frozenset(entity): entity for entity in quotas}

    def read(name: str) -> Iterator[Any]:
        # Kafka's names stay usable in our voice as long as they mean one entity.
        for parse in (parse_own_entity, parse_kafka_entity) if tree.is_own else (parse_kafka_entity,):
            parts = parse(name)
            if parts is not None and (entity := by_parts().get(frozenset(parts))) is not None:
                yield entity

    return KeyedDirectory(
        name,
        quotas,
        lambda name, entity, limits: limits_node(name, entity, limits, tree),
        show=own_entity_name if tree.is_own else kafka_entity_name,
        read=read,
        keeps_typed=not tree.is_own,
    )


def limits_node(name: str, entity: Entity, limits: Mapping[str, float], tree: Tree) -> KeyedDirectory:
    """The directory of one entity, with a leaf for each of its quotas."""
    return text_directory(name, limits, lambda name, _, limit: SubjectLeaf(name, QUOTA, (entity, limit)), tree.names)


def quota_words(quota: tuple[Entity, float]) -> dict[str, Any]:
    """The parts of the entity that a quota is of."""
    entity, _ = quota
    return {"entity": [{"entityType": type, "entityName": name} for type, name in _ordered(entity)]}


def quota_value(quota: tuple[Entity, float]) -> JsonValue:
    """The number; NaN and the infinities, which JSON lacks, are text as in Kafka's JSON."""
    _, limit = quota
    return limit if abs(limit) < float("inf") else double_text(limit)


QUOTA = LeafKind("quota", lambda quota: double_text(quota[1]), quota_value, quota_words)


def _ordered(entity: Entity) -> list[Part]:
    return sorted(entity, key=lambda part: (part[0], part[1] or ""))


def kafka_entity_name(entity: Entity) -> str:
    """Kafka's name of an entity, without its default parts.

    Source: org.apache.kafka.image.node.ClientQuotasImageNode.clientQuotaEntityToString, which throws for other types.
    """
    return "_".join(f"{_LABELS.get(type, type)}({_kafka_escape(name)})" for type, name in _ordered(entity) if name is not None)


def _kafka_escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def parse_kafka_entity(name: str) -> list[Part] | None:
    """The parts that Kafka reads from a name, None if it is not an entity; of a repeated type the later part counts."""
    parts: dict[str, str] = {}
    index = 0
    pattern = re.compile(_KAFKA_PART)
    while match := pattern.match(name, index):
        parts[_TYPES[match[1]]] = re.sub(r"(?s)\\(.)", r"\1", match[2])
        index = match.end()
        if index == len(name):
            return list(parts.items())
        if name[index] != "_":
            return None
        index += 1
    return None


def own_entity_name(entity: Entity) -> str:
    """Our own name of an entity, which `parse_own_entity` reads."""
    return "_".join(f"{_own_label(type)}({part_escape(name)})" for type, name in _ordered(entity)) or EMPTY_NAME


def _own_label(type: str) -> str:
    if type in _LABELS:
        return _LABELS[type]
    label = part_escape(type)
    # A type with the name of another type's word would be read as that type.
    return f"%{ord(label[0]):02X}{label[1:]}" if label in _TYPES else label


def parse_own_entity(name: str) -> list[Part] | None:
    """The parts of a name of ours, None for any other text."""
    if name == EMPTY_NAME:
        return []
    parts: list[Part] = []
    index = 0
    pattern = re.compile(_OWN_PART)
    while match := pattern.match(name, index):
        label, value = match.groups()
        type = _TYPES.get(label) or name_unescape(label)
        parts.append((type, None if value == DEFAULT_ENTITY else name_unescape(value)))
        index = match.end()
        if index == len(name):
            return parts
        if name[index] != "_":
            return None
        index += 1
    return None


def parse_entity(name: str) -> list[Part] | None:
    """The parts of a name of ours or, where it is none, of Kafka's."""
    parts = parse_own_entity(name)
    return parse_kafka_entity(name) if parts is None else parts
