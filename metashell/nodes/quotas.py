"""Client quotas by entity.

Kafka names an entity by its named parts alone: an entity of only defaults has the empty name, one with a
default part bears the name of another entity, and neither can be resolved back. Our own voice writes
`<default>` for a default part and percent-escapes what is not plain, so that each name is one entity's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metashell.nodes.java_text import double_text
from metashell.nodes.names import DEFAULT_ENTITY, EMPTY_NAME, name_unescape, part_escape, sorted_names
from metashell.nodes.node import Directory, JsonValue, Leaf, MapDirectory, Node
from metashell.nodes.tree import Tree

Entity = Iterable[tuple[str, str | None]]

_LABELS = {"client-id": "clientId", "ip": "ip", "user": "user"}
"""Kafka's words for the types, in the order in which parts are joined."""

_TYPES = {label: type for type, label in _LABELS.items()}
_KAFKA_PART = r"(?s:(clientId|ip|user)\(((?:[^\\)]|\\.)*)\))"
_OWN_PART = r"([^()\\]*)\(([^()\\]*)\)"


class QuotasNode(Directory):
    """/image/clientQuotas: a directory for each entity."""

    __slots__ = ("_entities", "_names", "_tree")

    def __init__(self, name: str, tree: Tree) -> None:
        super().__init__(name)
        self._tree = tree
        self._names: list[str] | None = None
        self._entities: dict[frozenset[tuple[str, str | None]], Any] | None = None

    def child_names(self) -> Sequence[str]:
        if self._names is None:
            show = own_entity_name if self._tree.is_own else kafka_entity_name
            self._names = sorted_names(map(show, self._tree.image.client_quotas))
        return self._names

    def child_count(self) -> int:
        return len(self._tree.image.client_quotas)

    def child(self, name: str) -> Node | None:
        if self._entities is None:
            self._entities = {frozenset(entity): entity for entity in self._tree.image.client_quotas}
        for parts in self._readings(name):
            entity = None if parts is None else self._entities.get(frozenset(parts))
            if entity is not None:
                shown = own_entity_name(entity) if self._tree.is_own else name
                return limits_node(shown, entity, self._tree.image.client_quotas[entity], self._tree)
        return None

    def _readings(self, name: str) -> list[list[tuple[str, str | None]] | None]:
        kafka = parse_kafka_entity(name)
        # Kafka's names stay usable in our voice as long as they mean one entity.
        return [parse_own_entity(name), kafka] if self._tree.is_own else [kafka]


def limits_node(name: str, entity: Entity, limits: Mapping[str, float], tree: Tree) -> MapDirectory:
    """The directory of one entity, with a leaf for each of its quotas."""
    return MapDirectory(name, limits, lambda name, key: QuotaNode(name, entity, limits[key]), tree.names)


class QuotaNode(Leaf):
    """One quota of one entity, a number."""

    __slots__ = ("_entity", "_limit")

    def __init__(self, name: str, entity: Entity, limit: float) -> None:
        super().__init__(name, "quota")
        self._entity = entity
        self._limit = limit

    @property
    def envelope_info(self) -> dict[str, Any]:
        return {"entity": [{"entityType": type, "entityName": name} for type, name in _ordered(self._entity)]}

    def kafka_text(self, redact: bool = False) -> str:
        return double_text(self._limit)

    def value(self, redact: bool = True) -> JsonValue:
        # JSON has no word for these; Kafka's converter quotes them.
        return self._limit if abs(self._limit) < float("inf") else double_text(self._limit)


def _ordered(entity: Entity) -> list[tuple[str, str | None]]:
    return sorted(entity, key=lambda part: (part[0], part[1] or ""))


def kafka_entity_name(entity: Entity) -> str:
    """Kafka's name of an entity; default parts leave no trace in it.

    Source: org.apache.kafka.image.node.ClientQuotasImageNode.clientQuotaEntityToString, which throws for other types.
    """
    return "_".join(f"{_LABELS.get(type, type)}({_kafka_escape(name)})" for type, name in _ordered(entity) if name is not None)


def _kafka_escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def parse_kafka_entity(name: str) -> list[tuple[str, str | None]] | None:
    """The parts that Kafka reads from a name, None where it finds no entity; a repeated type keeps the later part."""
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
    """Our own name of an entity, from which `parse_own_entity` reads it back."""
    return "_".join(f"{_own_label(type)}({part_escape(name)})" for type, name in _ordered(entity)) or EMPTY_NAME


def _own_label(type: str) -> str:
    if type in _LABELS:
        return _LABELS[type]
    label = part_escape(type)
    # A type that is spelled like another type's word would be read back as that one.
    return f"%{ord(label[0]):02X}{label[1:]}" if label in _TYPES else label


def parse_own_entity(name: str) -> list[tuple[str, str | None]] | None:
    """The parts of an own name, None where it is not one."""
    if name == EMPTY_NAME:
        return []
    parts: list[tuple[str, str | None]] = []
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
