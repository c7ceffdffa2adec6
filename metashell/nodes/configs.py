"""Dynamic configs by resource; sensitive values are redacted in our own voice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metashell.codec.redaction import REDACTED, is_sensitive_config
from metashell.nodes.codes import CONFIG_TYPES
from metashell.nodes.names import DEFAULT_ENTITY, entity_escape, entity_unescape, sorted_names
from metashell.nodes.node import Directory, JsonValue, Leaf, MapDirectory, Node
from metashell.nodes.tree import Tree

_TYPE_CODES = {name: code for code, name in CONFIG_TYPES.items()}
_OWN_UNKNOWN = "UNKNOWN-"
"""In our own voice a resource type without a word is `UNKNOWN-99`, so that two of them stay apart."""


class ConfigsNode(Directory):
    """/image/configs: a directory for each resource, `TYPE` for the default one, else `TYPE:name`."""

    __slots__ = ("_names", "_tree")

    def __init__(self, name: str, tree: Tree) -> None:
        super().__init__(name)
        self._tree = tree
        self._names: list[str] | None = None

    def child_names(self) -> Sequence[str]:
        if self._names is None:
            self._names = sorted_names(self._show(*resource) for resource in self._tree.image.configs)
        return self._names

    def child_count(self) -> int:
        return len(self._tree.image.configs)

    def child(self, name: str) -> Node | None:
        for resource in self._resources(name):
            settings = self._tree.image.configs.get(resource)
            if settings is not None:
                shown = self._show(*resource) if self._tree.is_own else name
                return settings_node(shown, resource, settings, self._tree)
        return None

    def _show(self, type: int, resource: str) -> str:
        if self._tree.is_own:
            return resource_name(type, resource)
        type_name = CONFIG_TYPES.get(type) or "UNKNOWN"
        return f"{type_name}:{resource}" if resource else type_name

    def _resources(self, name: str) -> Sequence[tuple[int, str]]:
        type_name, colon, rest = name.partition(":")
        if self._tree.is_own:
            resource = entity_unescape(rest) or "" if colon else ""
            code = _TYPE_CODES.get(type_name)
            if code is None and type_name.startswith(_OWN_UNKNOWN) and type_name[len(_OWN_UNKNOWN) :].isdecimal():
                code = int(type_name[len(_OWN_UNKNOWN) :])
            return [] if code is None else [(code, resource)]
        if type_name == "UNKNOWN":
            return [key for key in self._tree.image.configs if key[0] not in CONFIG_TYPES or key[0] == 0 if key[1] == rest]
        return [(_TYPE_CODES[type_name], rest)] if type_name in _TYPE_CODES else []


def resource_name(type: int, resource: str) -> str:
    """Our own name of a resource's directory: `TYPE` for the default one, else `TYPE:name`."""
    type_name = CONFIG_TYPES.get(type) or f"{_OWN_UNKNOWN}{type}"
    # The default resource has no name here, so that only our reading of `TYPE:<default>` asks for an escape.
    return f"{type_name}:{entity_escape(resource)}" if resource else type_name


def settings_node(name: str, resource: tuple[int, str], settings: Mapping[str, str], tree: Tree) -> MapDirectory:
    """The directory of one resource, with a leaf for each of its keys."""
    return MapDirectory(name, settings, lambda name, key: ConfigNode(name, resource, key, settings[key]), tree.names)


class ConfigNode(Leaf):
    """One setting of one resource; its value is always text."""

    __slots__ = ("_key", "_resource", "_value")

    def __init__(self, name: str, resource: tuple[int, str], key: str, value: str) -> None:
        super().__init__(name, "config")
        self._resource = resource
        self._key = key
        self._value = value

    @property
    def is_sensitive(self) -> bool:
        return is_sensitive_config(self._resource[0], self._key)

    @property
    def envelope_info(self) -> dict[str, Any]:
        type, resource = self._resource
        return {
            "resource_type": CONFIG_TYPES.get(type, f"UNKNOWN-{type}"),
            "resource_name": resource or DEFAULT_ENTITY,
            "sensitive": self.is_sensitive,
        }

    def kafka_text(self, redact: bool = False) -> str:
        return REDACTED if redact and self.is_sensitive else self._value

    def value(self, redact: bool = True) -> JsonValue:
        return REDACTED if redact and self.is_sensitive else self._value
