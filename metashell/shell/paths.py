"""Paths of the node tree: splitting and joining, patterns, and walks down the tree.

Kafka's shell: in one component `?` is one character, `*` any run of them, `{a,b}` alternatives, and a backslash quotes the next
character. There are no ranges, no `**` and no nested groups. A component without wildcards, or with a broken group, is compared
literally, its backslashes included; it is looked up, not listed, so names that resolve without being listed work too.

Our own shell adds `[ab]`, `[a-o]`, `[!x]` and `**`. `[` begins a class if a `]` closes it with something inside, and is itself otherwise;
`!` or `^` after it negates the class. `**` as a whole component is any number of directories, including none. A match by Kafka's rules
wins; if nothing matches, a component is the name that it spells, so that every name can be typed."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.common.errors import MetashellError, UsageError
from metashell.metadata.nodes import Directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from metashell.metadata.nodes import Node


ROOT = "/"
HERE = "."


def absolute_components(path: str, cwd: str) -> list[str]:
    """Return the components of an absolute path, without empty parts, `.` and `..`.

    `..` is resolved textually, before globs are expanded, and above the root it stays there.
    Source: org.apache.kafka.shell.command.CommandUtils.
    """
    full = path if path.startswith("/") else f"{cwd}/{path}"
    components: list[str] = []
    for part in full.split("/"):
        if part == "..":
            del components[-1:]
        elif part not in ("", "."):
            components.append(part)
    return components


def child_path(path: str, name: str) -> str:
    """Return the path of a child of the directory at `path`."""
    return f"/{name}" if path == ROOT else f"{path}/{name}"


# The line terminators of Java, which its `.` does not match.
_ANY = "[^\n\r\u0085\u2028\u2029]"
_WILDCARDS = {"?": _ANY, "*": f"{_ANY}*"}


class Match(NamedTuple):
    """A node that a path names: its absolute path, its last component (`/` for the root), and the node."""

    path: str
    name: str
    node: Node


class BrokenChildError(MetashellError):
    """A listed name that does not resolve; Kafka's tree has such names, and Kafka's shell ends at one."""


@lru_cache(maxsize=256)
def compile_kafka_component(component: str) -> re.Pattern[str] | None:
    """Return the pattern of one component of a path, or None for a literal one.

    Source: org.apache.kafka.shell.glob.GlobComponent.
    """
    return translate(component, lambda component, index: None)


def translate(component: str, read_class: Callable[[str, int], tuple[str, int] | None]) -> re.Pattern[str] | None:
    """Return the same, with classes: `read_class` gets the index after a `[` and returns an expression and the index after it, or None."""
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
            # At the end there is nothing to quote, and Kafka then quotes the `$` that ends its expression.
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
    """Yield every node that the components name, sorted by their names as UTF-16 code units; nothing if there is none.

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


TOPICS: Final = "/image/topics"

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from metashell.metadata.nodes import Node

    Enter = Callable[[Directory], Iterator[Node] | None]


def children(path: str, directory: Directory, *, each_once: bool = False) -> Iterator[Node]:
    """Return the children that a walk enters; at the root without the second view, which shows the same things again.

    With `each_once`, topics are entered by name. Those below `byId` are entered only if a later topic took their name.
    """
    if path == ROOT:
        return (child for child in directory.iter_children() if not child.is_view)
    if each_once and path == TOPICS:
        by_name, by_id = directory.child("byName"), directory.child("byId")
        if isinstance(by_name, Directory) and isinstance(by_id, Directory):
            return iter((by_name,) if by_id.child_count() == by_name.child_count() else (by_name, _Unnamed(by_id, by_name)))
    return directory.iter_children()


def descend(
    path: str,
    node: Node,
    depth_max: int | None = None,
    *,
    each_once: bool = False,
    enter: Enter | None = None,
) -> Iterator[tuple[str, Node, int]]:
    """Yield the node and all below it, parents first, each with its path and depth. `enter` may return other children for a directory."""
    yield path, node, 0
    if not isinstance(node, Directory) or depth_max == 0:
        return

    def below(path: str, directory: Directory) -> Iterator[Node]:
        chosen = None if enter is None else enter(directory)
        return children(path, directory, each_once=each_once) if chosen is None else chosen

    pending: list[tuple[str, Iterator[Node]]] = [(path, below(path, node))]
    while pending:
        above, siblings = pending[-1]
        child = next(siblings, None)
        if child is None:
            pending.pop()
            continue
        here = child_path(above, child.name)
        depth = len(pending)
        yield here, child, depth
        if isinstance(child, Directory) and (depth_max is None or depth < depth_max):
            pending.append((here, below(here, child)))


def entering(wanted: Callable[[Directory], bool]) -> Enter:
    """Return an `enter` for `descend` that enters only the wanted directories."""
    return lambda directory: None if wanted(directory) else iter(())


def directories(path: str, node: Directory) -> Iterator[tuple[str, Directory]]:
    """Yield the directory and all below it, parents first, each with its path and every topic once."""
    yield path, node
    if node.has_directories:
        for child in children(path, node, each_once=True):
            if isinstance(child, Directory):
                yield from directories(child_path(path, child.name), child)


class _Unnamed(Directory):
    """The directory `byId` with only those topics that cannot be reached by name."""

    __slots__ = ("_by_id", "_by_name")

    def __init__(self, by_id: Directory, by_name: Directory) -> None:
        super().__init__(by_id.name, by_id.type)
        self._by_id = by_id
        self._by_name = by_name

    def child_names(self) -> Sequence[str]:
        named = {topic.envelope_info["topic_id"] for topic in self._by_name.iter_children()}
        return [id for id in self._by_id.child_names() if id not in named]

    def child(self, name: str) -> Node | None:
        return self._by_id.child(name)


def listed_children(directory: Directory, *, speaks_kafka: bool) -> Iterator[tuple[str, Node | None]]:
    """Yield names with their nodes; in Kafka's tree a name may be listed more than once or have no node."""
    if speaks_kafka:
        for name in directory.child_names():
            yield name, directory.child(name)
        return
    for child in directory.iter_children():
        if not child.is_view:
            yield child.name, child


def kafka_find(path: str, node: Node) -> Iterator[str]:
    """Yield the lines of Kafka's `find` below a typed path.

    Errors: BrokenChildError at a listed name without a node, after the lines before it.
    Source: org.apache.kafka.shell.command.FindCommandHandler.
    """
    yield path
    if not isinstance(node, Directory):
        return
    for name in node.child_names():
        child = node.child(name)
        if child is None:
            raise BrokenChildError(f"Expected {name} to be a valid child of {path}, but it was not.")
        yield from kafka_find(child_path(path, name), child)


DEEP: Final = "**"
_SPECIAL = re.compile(r"[?*\\{},\[\]]")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@lru_cache(maxsize=256)
def compile_component(component: str) -> re.Pattern[str] | None:
    """Return the pattern of one component of a path, or None for one that only spells a name."""
    return translate(component, _read_class)


def fits(component: str, name: str) -> bool:
    """Return whether a name matches a component, which may be a pattern."""
    pattern = compile_component(component)
    return name == component or (pattern is not None and pattern.fullmatch(name) is not None)


def has_wildcards(path: str) -> bool:
    """Return whether any component of the path is a pattern, so that the path may name several nodes."""
    return any(part == DEEP or compile_component(part) is not None for part in path.split("/"))


def refuse_deep(path: str) -> None:
    """Raise UsageError for `**`, in commands about one place or a few."""
    if DEEP in path.split("/"):
        raise UsageError(f"{path}: {DEEP} is for commands that list or print", path)


def quote_glob(name: str) -> str:
    """Return the name as a component that matches only itself."""
    return _SPECIAL.sub(r"\\\g<0>", name) if "\\" in name or has_wildcards(name) else name


def expand_path(root: Node, components: Sequence[str]) -> Iterator[Match]:
    """Yield every node that the components name, each once, in the order of the tree; nothing if there is none."""
    parts = [part for index, part in enumerate(components) if not (part == DEEP and components[index - 1 : index] == [DEEP])]
    found = _expand(root, parts, 0, "/", "/")
    return found if parts.count(DEEP) < 2 else _once(found)


def outermost(matches: Iterator[Match]) -> Iterator[Match]:
    """Yield the matches that are not below an earlier one, so that walks down from them visit each node once."""
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
    """Yield all nodes at any depth that match the components from `index` on."""
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
        # An existing name takes precedence over a pattern of ours.
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
    """Return the class of characters whose `[` stands before `at`, in the syntax of `re`, and its end; None if it is not a class."""
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
    """Return one character of a class, empty at the end of the component; a backslash quotes."""
    at += component[at : at + 1] == "\\"
    return component[at : at + 1], at + 1
