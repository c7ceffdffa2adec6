"""Paths of the tree that a typed one may become, and those that a typed pattern names.

A path is completed in its last component: the others are looked up. Where one of them is a pattern, the paths that fit are given.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from metashell.forms import counted
from metashell.nodes import Directory
from metashell.shell.completing.fuzzy import fitting, matching
from metashell.shell.completing.values import about_broker
from metashell.shell.paths import absolute_components
from metashell.shell.search.globs import Match, compile_kafka_component
from metashell.shell.search.patterns import DEEP, compile_component, expand_path, has_wildcards, quote_glob

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.nodes import Node
    from metashell.shell.context import Context

_LARGE: Final = 1000
_LITERALS: Final = re.compile(r"[*?]")
_BROKERS = ["image", "cluster", "brokers"]


class Path(NamedTuple):
    """A path as it is typed, what a menu shows of it, and what it is; `ending` follows it on the line."""

    typed: str
    shown: str
    ending: str
    about: str


def paths_like(ctx: Context, typed: str, limit: int, *, is_loose: bool) -> list[Path]:
    """Up to `limit` paths that a typed one may become; with `is_loose` also those that only hold what was typed."""
    found = _named_like(ctx, typed, limit, is_loose=is_loose)
    if is_loose and has_wildcards(typed) and len(found) < limit:
        taken = {path.typed for path in found}
        fitting = (_path_of(ctx, match, typed) for match in _matches(ctx, typed, limit - len(found)))
        found += [path for path in fitting if path.typed not in taken]
    return found


def _named_like(ctx: Context, typed: str, limit: int, *, is_loose: bool) -> list[Path]:
    head, slash, word = typed.rpartition("/")
    components = absolute_components(head + slash or ".", ctx.cwd)
    directory = _look_up(ctx.root, components)
    if not isinstance(directory, Directory):
        return []
    if is_loose and not has_wildcards(word):
        names = matching(word, directory.child_names(), limit, directory.names_with_prefix)
    else:
        names = directory.names_with_prefix(word, limit)
    found = []
    for name in names:
        child = directory.child(name)
        if child is not None:
            ending = "/" if child.is_directory else " "
            spelled = name if ctx.speaks_kafka else quote_glob(name)
            found.append(Path(head + slash + spelled, name + ending.strip(), ending, _about(ctx, components, child)))
    return found


def pattern_matches(ctx: Context, typed: str, limit: int) -> list[str]:
    """The paths that a typed pattern names, up to `limit`, as words of a line; none where it is no pattern."""
    if not has_wildcards(typed) or DEEP in typed.split("/"):
        return []
    found = [_path_of(ctx, match, typed) for match in _matches(ctx, typed, limit)]
    return [path.typed + ("/" if path.ending == "/" and len(found) == 1 else "") for path in found]


def _matches(ctx: Context, typed: str, limit: int) -> list[Match]:
    """The paths that a pattern names, else those that begin with it."""
    if DEEP in typed.split("/"):
        return []
    for pattern in (typed,) if typed.endswith("*") else (typed, f"{typed}*"):
        found = _children_that_fit(ctx, pattern, limit)
        if found is None:
            found = list(islice(expand_path(ctx.root, absolute_components(pattern, ctx.cwd)), limit))
        if found:
            return found
    return []


def _children_that_fit(ctx: Context, typed: str, limit: int) -> list[Match] | None:
    """`expand_path` for a pattern in the last component only, for directories so large that it would take too long."""
    head, slash, word = typed.rpartition("/")
    components = absolute_components(head + slash or ".", ctx.cwd)
    pattern, kafkas = compile_component(word), compile_kafka_component(word)
    directory = None if has_wildcards(head) else _look_up(ctx.root, components)
    # Where our rules and Kafka's differ, both have to be tried.
    if pattern is None or kafkas is None or pattern.pattern != kafkas.pattern or not isinstance(directory, Directory):
        return None
    names = directory.child_names()
    if len(names) < _LARGE:
        return None
    literal = max(_LITERALS.split(word), key=len)
    above = "/" + "".join(f"{component}/" for component in components)
    found = ((name, directory.child(name)) for name in fitting(pattern, "" if "\\" in word or "{" in word else literal, names, limit))
    return [Match(above + name, name, child) for name, child in found if child is not None]


def _path_of(ctx: Context, match: Match, typed: str) -> Path:
    """A match as a path below where the typed one begins."""
    path = "/".join(map(quote_glob, match.path.split("/")))
    here = ctx.cwd.rstrip("/") + "/"
    if not typed.startswith("/") and ".." not in typed.split("/") and path.startswith(here):
        path = path[len(here) :]
    ending = "/" if match.node.is_directory else " "
    return Path(path, path + ending.strip(), ending, match.node.type)


def _about(ctx: Context, components: Sequence[str], node: Node) -> str:
    """A few words about a node, which cost no more than reading the node."""
    if node.type == "topic" and (count := node.envelope_info.get("partition_count")) is not None:
        return f"topic, {counted(count, 'partition')}"
    if components == _BROKERS and node.name.isdigit() and (broker := ctx.image.cluster.brokers.get(int(node.name))) is not None:
        return f"broker {about_broker(broker)}"
    return node.type


def _look_up(node: Node, components: Sequence[str]) -> Node | None:
    for component in components:
        if not isinstance(node, Directory):
            return None
        child = node.child(component)
        if child is None:
            return None
        node = child
    return node
