"""Dynamic configs by resource; sensitive values are redacted in our own voice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from metashell.codec.code_words import CONFIG_TYPES
from metashell.codec.redaction import REDACTED, is_sensitive_config
from metashell.nodes.names import DEFAULT_ENTITY, entity_escape, entity_unescape
from metashell.nodes.node import KeyedDirectory, LeafKind, SubjectLeaf, text_directory
from metashell.nodes.tree import Tree

Resource = tuple[int, str]
"""The code of a type and a name, empty for the default resource."""

Setting = tuple[Resource, str, str]
"""A resource, a key and its value."""

_TYPE_CODES = {name: code for code, name in CONFIG_TYPES.items()}
_OWN_UNKNOWN = "UNKNOWN-"
"""In our own voice an unknown resource type is `UNKNOWN-99`, so that two of them differ."""


def configs_node(name: str, tree: Tree) -> KeyedDirectory:
    """/image/configs: a directory for each resource, `TYPE` for the default one, else `TYPE:name`."""
    configs = tree.image.configs
    return KeyedDirectory(
        name,
        configs,
        lambda name, resource, settings: settings_node(name, resource, settings, tree),
        show=resource_name if tree.is_own else _kafka_name,
        read=own_resources if tree.is_own else lambda name: _kafka_resources(name, configs),
        keeps_typed=not tree.is_own,
    )


def resource_name(resource: Resource) -> str:
    """Our own name of a resource's directory: `TYPE` for the default one, else `TYPE:name`."""
    type, name = resource
    type_name = CONFIG_TYPES.get(type) or f"{_OWN_UNKNOWN}{type}"
    # The default resource has no name here; a resource that is really called `<default>` is escaped.
    return f"{type_name}:{entity_escape(name)}" if name else type_name


def own_resources(name: str) -> list[Resource]:
    """The resource that a name of ours means, none for any other text."""
    type_name, colon, rest = name.partition(":")
    code = _TYPE_CODES.get(type_name)
    if code is None and type_name.startswith(_OWN_UNKNOWN) and type_name[len(_OWN_UNKNOWN) :].isdecimal():
        code = int(type_name[len(_OWN_UNKNOWN) :])
    return [] if code is None else [(code, entity_unescape(rest) or "" if colon else "")]


def _kafka_name(resource: Resource) -> str:
    type, name = resource
    type_name = CONFIG_TYPES.get(type) or "UNKNOWN"
    return f"{type_name}:{name}" if name else type_name


def _kafka_resources(name: str, known: Iterable[Resource]) -> list[Resource]:
    type_name, _, rest = name.partition(":")
    if type_name == "UNKNOWN":
        return [(type, name) for type, name in known if (type not in CONFIG_TYPES or type == 0) and name == rest]
    return [(_TYPE_CODES[type_name], rest)] if type_name in _TYPE_CODES else []


def settings_node(name: str, resource: Resource, settings: Mapping[str, str], tree: Tree) -> KeyedDirectory:
    """The directory of one resource, with a leaf for each of its keys."""
    return text_directory(name, settings, lambda name, key, value: SubjectLeaf(name, CONFIG, (resource, key, value)), tree.names)


def config_words(setting: Setting) -> dict[str, Any]:
    """The resource of a setting, and whether its value is a secret."""
    (type, resource), key, _ = setting
    return {
        "resource_type": CONFIG_TYPES.get(type, f"{_OWN_UNKNOWN}{type}"),
        "resource_name": resource or DEFAULT_ENTITY,
        "sensitive": is_sensitive_config(type, key),
    }


def config_text(setting: Setting) -> str:
    """The value, which is always text."""
    return setting[2]


def safe_config_text(setting: Setting) -> str:
    """The value, hidden if it is a secret."""
    (type, _), key, value = setting
    return REDACTED if is_sensitive_config(type, key) else value


CONFIG = LeafKind("config", config_text, config_text, config_words, safe_config_text, safe_config_text)
