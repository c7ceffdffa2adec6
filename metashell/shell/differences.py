"""The differences between two successive images below some paths, as objects and as lines.

A change concerns one leaf, or a whole topic (`created` and `removed`; its partitions are leaves). Values are compared with their secrets
and shown redacted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from metashell.common.forms import text_width
from metashell.common.terminal import BAD, GOOD
from metashell.common.values import directory_word
from metashell.metadata.image.differences import Origin, touched_places
from metashell.metadata.nodes import Directory, Leaf
from metashell.metadata.nodes.places import paths_of
from metashell.shell.output import full_text, summarize, summary_text, value_texts
from metashell.shell.paths import descend, expand_path, fits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from metashell.metadata.image.differences import Place, Step
    from metashell.metadata.nodes import Node
    from metashell.shell.context import Context

CREATED, CHANGED, REMOVED, SAME = "created", "changed", "removed", "same"
_ROLES = {CREATED: GOOD, REMOVED: BAD}
_DIRECTORIES = ("directories", "logDirs", "cordonedLogDirs")
"""Fields with ids of directories; some of the ids have a special meaning."""
_NOTHING = object()


class Change(NamedTuple):
    """One difference. `before` and `after` are redacted values, None both for absence and for null; `kind` tells them apart."""

    kind: str
    path: str
    type: str
    origin: Origin
    before: Any
    after: Any
    node: Node
    """The node after the change, or before it if the node is gone."""


class ChangeWatch:
    """The paths to compare, as patterns of components; without patterns, all paths.

    Shape: below /image the records of a step say which nodes to compare. Other paths (the second view, /image/provenance) are compared
    as a whole.
    """

    def __init__(self, patterns: Sequence[Sequence[str]]) -> None:
        self._patterns = [tuple(pattern) for pattern in patterns if not _needs_comparing(pattern)]
        self._others = [list(pattern) for pattern in patterns if _needs_comparing(pattern)]

    def changes(self, step: Step, before: Node, after: Node, redact: bool) -> Iterator[Change]:
        """Yield the changes of a step between two trees in the order of their records, each path once."""
        yield from self.changes_at(touched_places(step).items(), step, before, after, redact)
        position = step.after.provenance
        origin = Origin(position.offset, position.epoch, position.timestamp_ms, "")
        for pattern in self._others:
            for path in sorted(_leaves(before, pattern) | _leaves(after, pattern)):
                yield from _compare(path, origin, before, after, redact)

    def changes_at(
        self, places: Iterable[tuple[Place, Origin]], step: Step, before: Node, after: Node, redact: bool, *, all_touched: bool = False
    ) -> Iterator[Change]:
        """Yield the changes at these places, each path once; with `all_touched` also nodes that were rewritten without a change."""
        seen: set[tuple[str, ...]] = set()
        for place, origin in places:
            for path in self._selected(paths_of(place, step.after, step.before), before, after):
                if path not in seen:
                    seen.add(path)
                    yield from _compare(path, origin, before, after, redact, all_touched=all_touched)

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
                # A whole topic was created or removed, and the pattern names something inside it.
                below = (*path, *pattern[len(path) :])
                if len(below) > len(path):
                    yield from sorted(_leaves(before, below) | _leaves(after, below))
            if fitting:
                return


def _needs_comparing(pattern: Sequence[str]) -> bool:
    """Return whether no record shows when this path changes."""
    if not pattern:
        return False
    return pattern[0] != "image" or (len(pattern) > 1 and pattern[1] in ("provenance", "faults"))


def _fits(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    return all(fits(wanted, name) for wanted, name in zip(pattern, path, strict=False))


def _leaves(root: Node, pattern: Sequence[str]) -> set[tuple[str, ...]]:
    found = set()
    for match in expand_path(root, pattern):
        for path, node, _ in descend(match.path, match.node, None):
            if not node.is_directory:
                found.add(tuple(path.split("/")[1:]))
    return found


def _compare(
    path: tuple[str, ...], origin: Origin, before: Node, after: Node, redact: bool, *, all_touched: bool = False
) -> Iterator[Change]:
    old, new = _node_at(before, path), _node_at(after, path)
    was, now = _value(old, False), _value(new, False)
    is_same = was == now and type(was) is type(now)
    node = new or old
    if node is None or (is_same and not all_touched):
        return
    kind = SAME if is_same else CREATED if old is None else REMOVED if new is None else CHANGED
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


def change_fields(change: Change) -> dict[str, Any]:
    """Return a change as JSON. Units: `timestamp` is that of the record, in Unix milliseconds."""
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
    }


def change_line(ctx: Context, change: Change) -> str:
    """Return a change as a line: `312 changed /image/topics/byName/orders/0 leader: 1 -> 2; leaderEpoch: 4 -> 5`.

    A new node has its details of `ls -l`.
    """
    parts = (str(change.origin.offset), kind_word(ctx, change.kind), change.path, difference(ctx, change))
    return ctx.display.joined(filter(None, parts), " ")


def kind_word(ctx: Context, kind: str) -> str:
    """Return the kind of a change, green for new and red for removed nodes, as in patches."""
    return ctx.display.paint(_ROLES.get(kind, ""), kind)


def change_lines(ctx: Context, start: str, change: Change, indent: int) -> Iterator[str]:
    """Yield `start`, the kind of the change and the difference as one line.

    On a narrow terminal there are several lines, and all but the first are indented by `indent` columns.
    """
    display = ctx.display
    what = display.joined((kind_word(ctx, change.kind), change.path), " ")
    begin = display.joined((start, what), "  ")
    parts, between = _differences(ctx, change)
    whole = display.joined((begin, display.joined(parts, between)), "  ") if parts else begin
    if display.width is None or text_width(whole) <= display.width:
        yield whole
        return
    blank, room = " " * indent, display.width - indent
    if start and text_width(begin) > display.width:
        yield start
        rest = display.joined((what, display.joined(parts, between)), "  ")
        if text_width(rest) <= room:
            yield display.joined((blank, rest if parts else what))
            return
        yield display.joined((blank, what))
    else:
        yield begin
    line: list[str] = []
    for part in parts:
        if line and text_width(display.joined((*line, part), between)) + 1 > room:
            yield display.joined((blank, display.joined(line, between), between.rstrip()))
            line = []
        line.append(part)
    if line:
        yield display.joined((blank, display.joined(line, between)))


def difference(ctx: Context, change: Change) -> str:
    """Return the difference as one line: fields with both values; for a new node its details of `ls -l`; nothing for a removed one."""
    parts, between = _differences(ctx, change)
    return ctx.display.joined(parts, between) if parts else ""


def _differences(ctx: Context, change: Change) -> tuple[list[str], str]:
    """Return the parts of that line, and their separator."""
    display = ctx.display
    if change.kind in (SAME, REMOVED):
        return [], ""
    if change.kind == CREATED:
        text = summary_text(summarize(ctx, change.node))
        return [display.paint("", word) for word in text.split(" ")] if text else [], " "
    told = ((name, *value_texts(was, now)) for name, was, now in _pairs(change.before, change.after))
    return [display.joined((name, display.paint(BAD, was), " -> ", display.paint(GOOD, now))) for name, was, now in told], "; "


def change_text(ctx: Context, change: Change) -> str:
    """Return the text of `difference` without colours."""
    text = difference(ctx, change)
    return getattr(text, "plain", text)


def patch_lines(ctx: Context, change: Change) -> Iterator[str]:
    """Yield the values before and after as a patch: `-` and `+` before each differing field."""
    before = change.before if change.kind != CREATED else None
    after = change.after if change.kind != REMOVED else None
    for name, was, now in _pairs(before, after):
        if was is not None:
            yield ctx.display.paint(BAD, f"- {name}{full_text(was)}")
        if now is not None:
            yield ctx.display.paint(GOOD, f"+ {name}{full_text(now)}")


def _named_directories(value: Any) -> Any:
    return [directory_word(id) for id in value] if isinstance(value, list | tuple) else value


def _pairs(before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the differing fields, each name with `: ` after it, and both values. The name is empty for values without fields."""
    fields = [value for value in (before, after) if value is not None]
    if fields and all(isinstance(value, dict) for value in fields):
        was, now = before or {}, after or {}
        for name in {**was, **now}:
            if was.get(name) != now.get(name):
                values = was.get(name), now.get(name)
                yield f"{name}: ", *(map(_named_directories, values) if name in _DIRECTORIES else values)
    elif before != after:
        yield "", before, after
