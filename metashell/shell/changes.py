"""The differences between an image and the next one below some paths, as objects and as lines.

A change concerns one leaf, or a topic as a whole (`created` and `removed`; its partitions are leaves). Values are compared with
their secrets and shown redacted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from metashell.image.steps import Origin, Step, touched_places
from metashell.nodes import Directory, Leaf
from metashell.nodes.places import paths_of
from metashell.shell.globs import compile_component, expand
from metashell.shell.summary import summarize, summary_text, value_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metashell.nodes import Node
    from metashell.shell.context import Context

CREATED, CHANGED, REMOVED = "created", "changed", "removed"
_NOTHING = object()


class Change(NamedTuple):
    """One difference. `before` and `after` are redacted values, None for nothing and for null; `kind` says which."""

    kind: str
    path: str
    type: str
    origin: Origin
    before: Any
    after: Any
    node: Node
    """The node as it is afterwards, or as it was if it is gone."""


class Watch:
    """The paths to compare: patterns of components; without any, everything.

    Shape: below /image the records of a step say which nodes to compare. Other paths (the second view, /image/provenance) are
    compared as a whole.
    """

    def __init__(self, patterns: Sequence[Sequence[str]]) -> None:
        self._patterns = [tuple(pattern) for pattern in patterns if not _needs_comparing(pattern)]
        self._others = [list(pattern) for pattern in patterns if _needs_comparing(pattern)]

    def changes(self, step: Step, before: Node, after: Node, redact: bool) -> Iterator[Change]:
        """The changes of a step between two trees in the order of their records; each path once."""
        seen: set[tuple[str, ...]] = set()
        for place, origin in touched_places(step).items():
            for path in self._selected(paths_of(place, step.after, step.before), before, after):
                if path not in seen:
                    seen.add(path)
                    yield from _compare(path, origin, before, after, redact)
        position = step.after.provenance
        origin = Origin(position.offset, position.epoch, position.timestamp_ms, "")
        for pattern in self._others:
            for path in sorted(_leaves(before, pattern) | _leaves(after, pattern)):
                yield from _compare(path, origin, before, after, redact)

    def _selected(self, paths: list[tuple[str, ...]], before: Node, after: Node) -> Iterator[tuple[str, ...]]:
        if not self._patterns:
            if not self._others:
                yield from paths[:1]
            return
        for path in paths:
            fitting = [pattern for pattern in self._patterns if _fits(pattern, path)]
            if any(len(pattern) <= len(path) for pattern in fitting):
                yield path
            for pattern in fitting:
                # A topic was created or removed as a whole, and the pattern names something inside it.
                below = (*path, *pattern[len(path) :])
                if len(below) > len(path):
                    yield from sorted(_leaves(before, below) | _leaves(after, below))
            if fitting:
                return


def _needs_comparing(pattern: Sequence[str]) -> bool:
    """Whether no record says when this path changes."""
    if not pattern:
        return False
    return pattern[0] != "image" or (len(pattern) > 1 and pattern[1] in ("provenance", "faults"))


def _fits(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    for wanted, name in zip(pattern, path, strict=False):
        compiled = compile_component(wanted)
        if wanted != name and (compiled is None or compiled.fullmatch(name) is None):
            return False
    return True


def _leaves(root: Node, pattern: Sequence[str]) -> set[tuple[str, ...]]:
    from metashell.shell.walk import descend

    found = set()
    for match in expand(root, pattern, lenient=True):
        for path, node, _ in descend(match.path, match.node, None):
            if not node.is_directory:
                found.add(tuple(path.split("/")[1:]))
    return found


def _compare(path: tuple[str, ...], origin: Origin, before: Node, after: Node, redact: bool) -> Iterator[Change]:
    old, new = _node_at(before, path), _node_at(after, path)
    was, now = _value(old, False), _value(new, False)
    if was == now and type(was) is type(now):
        return
    node = new or old
    assert node is not None
    kind = CREATED if old is None else REMOVED if new is None else CHANGED
    shown_before = None if old is None else _value(old, redact)
    shown_after = None if new is None else _value(new, redact)
    yield Change(kind, "/" + "/".join(path), node.type, origin, shown_before, shown_after, node)


def _node_at(root: Node, path: tuple[str, ...]) -> Node | None:
    node: Node | None = root
    for name in path:
        if not isinstance(node, Directory):
            return None
        node = node.child(name)
    return node


def _value(node: Node | None, redact: bool) -> Any:
    if node is None:
        return _NOTHING
    return node.value(redact) if isinstance(node, Leaf) else node.envelope_info


def change_object(ctx: Context, change: Change) -> dict[str, Any]:
    """A change as JSON. Units: `timestamp` is that of the record, in Unix milliseconds."""
    origin = change.origin
    return {
        "path": change.path,
        "type": change.type,
        "kind": change.kind,
        "offset": origin.offset,
        "epoch": origin.epoch,
        "timestamp": origin.timestamp_ms,
        "record": origin.record or None,
        "before": change.before,
        "after": change.after,
        **ctx.certainty(),
    }


def change_line(ctx: Context, change: Change) -> str:
    """`312 changed /image/topics/byName/orders/0 leader: 1 -> 2; leaderEpoch: 4 -> 5`; of what is new, what `ls -l` says of it."""
    return f"{change.origin.offset} {change.kind} {change.path} {_difference(ctx, change)}".rstrip()


def _difference(ctx: Context, change: Change) -> str:
    before, after = change.before, change.after
    if change.kind == CREATED:
        return summary_text(summarize(ctx, change.node))
    if change.kind == REMOVED:
        return ""
    if isinstance(before, dict) and isinstance(after, dict):
        names = [name for name in after if before.get(name) != after[name]]
        return "; ".join(f"{name}: {value_text(before.get(name))} -> {value_text(after[name])}" for name in names)
    return f"{value_text(before)} -> {value_text(after)}"
