"""Glob patterns of paths, with exactly the rules of Kafka's shell, and the walk that expands them.

In one component `?` is one character, `*` any run of them, `{a,b}` alternatives, and a backslash quotes what follows. There
are no ranges, no `**` and no nested groups. A component without wildcards, or with a broken group, is compared literally, its
backslashes included; it is looked up, not listed, so names that resolve without being listed work too.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from metashell.errors import MetashellError
from metashell.nodes import Directory
from metashell.shell.paths import child_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from metashell.nodes import Node

# What Java's `.` does not match: its line terminators.
_ANY = "[^\n\r\u0085\u2028\u2029]"
_WILDCARDS = {"?": _ANY, "*": f"{_ANY}*"}


class Match(NamedTuple):
    """A node that a path names: its absolute path, its last component (`/` for the root), and itself."""

    path: str
    name: str
    node: Node


class BrokenChildError(MetashellError):
    """A listed name that does not resolve; Kafka's tree has them, and Kafka's shell ends there."""


@lru_cache(maxsize=256)
def compile_kafka_component(component: str) -> re.Pattern[str] | None:
    """The pattern of one component of a path, None for a literal one.

    Source: org.apache.kafka.shell.glob.GlobComponent.
    """
    return translate(component, lambda component, index: None)


def translate(component: str, read_class: Callable[[str, int], tuple[str, int] | None]) -> re.Pattern[str] | None:
    """The same, where `read_class` may say what a `[` means: an expression, and the index after it. It gets the index after the `[`."""
    pattern: list[str] = []
    literal, in_group = True, False
    index = 0
    while index < len(component):
        char = component[index]
        index += 1
        if char in _WILDCARDS:
            literal = False
            pattern.append(_WILDCARDS[char])
        elif char == "\\":
            # At the end there is nothing to quote: Kafka then quotes the `$` that ends its expression.
            pattern.append(re.escape(component[index : index + 1] or "$"))
            index += 1
        elif char == "{":
            if in_group:
                return None
            literal, in_group = False, True
            pattern.append("(?:(?:")
        elif char == "," and in_group:
            pattern.append(")|(?:")
        elif char == "}" and in_group:
            in_group = False
            pattern.append("))")
        elif char == "[" and (found := read_class(component, index)) is not None:
            literal = False
            pattern.append(found[0])
            index = found[1]
        else:
            pattern.append(re.escape(char))
    return None if literal or in_group else re.compile("".join(pattern))


def expand_kafka(root: Node, components: Sequence[str]) -> Iterator[Match]:
    """Every node that the components name, in order of their names as UTF-16 code units; nothing if there is none.

    Errors: BrokenChildError when a listed name that matches has no node.
    Source: org.apache.kafka.shell.glob.GlobVisitor.
    """
    return _expand_kafka(root, components, 0, "/", "/")


def _expand_kafka(node: Node, components: Sequence[str], index: int, path: str, name: str) -> Iterator[Match]:
    if index == len(components):
        yield Match(path, name, node)
    elif isinstance(node, Directory):
        for child_name, child in _kafka_children(node, components[index], path):
            yield from _expand_kafka(child, components, index + 1, child_path(path, child_name), child_name)


def _kafka_children(node: Directory, component: str, path: str) -> Iterator[tuple[str, Node]]:
    pattern = compile_kafka_component(component)
    for name in [component] if pattern is None else filter(pattern.fullmatch, node.child_names()):
        child = node.child(name)
        if child is not None:
            yield name, child
        elif pattern is not None:
            raise BrokenChildError(f"Expected {name} to be a valid child of {path}, but it was not.")
