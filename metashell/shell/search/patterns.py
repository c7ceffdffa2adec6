"""Our own patterns of paths: those of Kafka's shell (`globs`), and beside them `[ab]`, `[a-o]`, `[!x]` and `**`.

`[` begins a class where a `]` closes it with something inside, and is itself elsewhere; `!` or `^` behind it means all other
characters. `**` as a whole component is any number of directories, none too. What Kafka's rules find wins; where nothing is found, a
component is the name that it spells, so that every name can be typed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from metashell.errors import UsageError
from metashell.nodes import Directory
from metashell.shell.paths import ROOT, child_path
from metashell.shell.search.globs import Match, compile_kafka_component, translate
from metashell.shell.search.walk import descend, directories

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metashell.nodes import Node

DEEP: Final = "**"
_SPECIAL = re.compile(r"[?*\\{},\[\]]")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@lru_cache(maxsize=256)
def compile_component(component: str) -> re.Pattern[str] | None:
    """The pattern of one component of a path, None for one that only spells a name."""
    return translate(component, _read_class)


def fits(component: str, name: str) -> bool:
    """Whether a name fits a component, which may be a pattern."""
    pattern = compile_component(component)
    return name == component or (pattern is not None and pattern.fullmatch(name) is not None)


def has_wildcards(path: str) -> bool:
    """Whether any component of the path is a pattern, so that the path may name several nodes."""
    return any(part == DEEP or compile_component(part) is not None for part in path.split("/"))


def refuse_deep(path: str) -> None:
    """Refuse `**` for commands about one place or a few. Errors: UsageError."""
    if DEEP in path.split("/"):
        raise UsageError(f"{path}: {DEEP} is for commands that list or print", path)


def quote_glob(name: str) -> str:
    """The name as a component that stands for it alone."""
    return _SPECIAL.sub(r"\\\g<0>", name) if "\\" in name or has_wildcards(name) else name


def expand_path(root: Node, components: Sequence[str]) -> Iterator[Match]:
    """Every node that the components name, each once, in the order of the tree; nothing if there is none."""
    parts = [part for index, part in enumerate(components) if not (part == DEEP and components[index - 1 : index] == [DEEP])]
    found = _expand(root, parts, 0, "/", "/")
    return found if parts.count(DEEP) < 2 else _once(found)


def outermost(matches: Iterator[Match]) -> Iterator[Match]:
    """The matches that are not below an earlier one: walks down from each of them visit each node once."""
    seen: set[str] = set()
    for match in matches:
        if not any(above in seen for above in _with_those_above(match.path)):
            seen.add(match.path)
            yield match


def _with_those_above(path: str) -> Iterator[str]:
    yield path
    while path != ROOT:
        path = path.rpartition("/")[0] or ROOT
        yield path


def _once(matches: Iterator[Match]) -> Iterator[Match]:
    seen: set[str] = set()
    for match in matches:
        if match.path not in seen:
            seen.add(match.path)
            yield match


def _expand(node: Node, components: Sequence[str], index: int, path: str, name: str) -> Iterator[Match]:
    if index == len(components):
        yield Match(path, name, node)
    elif isinstance(node, Directory):
        if components[index] == DEEP:
            yield from _expand_deep(node, components, index + 1, path, name)
            return
        for child_name, child in _named_children(node, components[index]):
            yield from _expand(child, components, index + 1, child_path(path, child_name), child_name)


def _expand_deep(node: Directory, components: Sequence[str], index: int, path: str, name: str) -> Iterator[Match]:
    """All nodes at any depth that the components from `index` on name."""
    if index == len(components):
        for below, found, _ in descend(path, node, each_once=True):
            yield Match(below, name if below == path else found.name, found)
    else:
        for below, directory in directories(path, node):
            yield from _expand(directory, components, index, below, name if below == path else directory.name)


def _named_children(node: Directory, component: str) -> Iterator[tuple[str, Node]]:
    spelled = _ESCAPE.sub(r"\1", component)
    kafkas, own = compile_kafka_component(component), compile_component(component)
    if kafkas is None:
        # A name that is there wins over a pattern of ours.
        named = list(_first_named(node, (spelled, component)))
        yield from named
        if named or own is None:
            return
    for pattern in (kafkas, own):
        found = False
        for name in filter(pattern.fullmatch, node.child_names()) if pattern is not None else ():
            child = node.child(name)
            if child is not None:
                found = True
                yield name, child
        if found:
            return
    if kafkas is not None:
        yield from _first_named(node, (component, spelled))


def _first_named(node: Directory, names: Sequence[str]) -> Iterator[tuple[str, Node]]:
    for name in names:
        child = node.child(name)
        if child is not None:
            yield name, child
            return


def _read_class(component: str, at: int) -> tuple[str, int] | None:
    """A class of characters as `re` writes it and where it ends, of which `[` stands before `at`; None if it is none."""
    is_other = component[at : at + 1] in ("!", "^") and component[at : at + 1] != ""
    at += is_other
    items: list[str] = []
    while component[at : at + 1] != "]" or not items:
        low, at = _class_char(component, at)
        high = low
        if component[at : at + 1] == "-" and component[at + 1 : at + 2] not in ("", "]"):
            high, at = _class_char(component, at + 1)
        if not low or not high or high < low:
            return None
        items.append(re.escape(low) if low == high else f"{re.escape(low)}-{re.escape(high)}")
    return f"[{'^' if is_other else ''}{''.join(items)}]", at + 1


def _class_char(component: str, at: int) -> tuple[str, int]:
    """One character of a class, empty at the end of the component; a backslash quotes."""
    at += component[at : at + 1] == "\\"
    return component[at : at + 1], at + 1
