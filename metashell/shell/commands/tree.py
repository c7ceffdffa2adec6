"""tree - show directories and the leaves in them

SYNOPSIS
    tree [PATH...]

DESCRIPTION
    Shows what lies below each PATH, by default the working directory. Each directory is a heading with its contents below, each
    leaf a line with its value; records are JSON on one line. With -o json each path is one object whose `children` are nested;
    with -o jsonl, csv and table each leaf and each empty directory is a row.

EXAMPLES
    >> tree /image/configs/TOPIC:orders
    cleanup.policy: compact
    min.insync.replicas: 1
    retention.ms: 86400000
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.forms import OBJECT_FORMS, compact_json, plain_text, spaced_json
from metashell.nodes import Directory, Leaf
from metashell.options import Argument
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.globs import Match
from metashell.shell.output import kafka_leaf_text, leaf_object, node_object, write_leaf, write_objects
from metashell.shell.paths import HERE, child_path
from metashell.shell.walk import descend, listed_children

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

    from metashell.nodes import Node
    from metashell.shell.context import Context
    from metashell.shell.output import Object

_INDENT = 2


def run(ctx: Context, args: SimpleNamespace) -> None:
    """Print what lies below each path."""
    targets = args.path or (HERE,)
    matches = ctx.resolve(targets)
    if ctx.output == "json":
        _write_json(ctx, matches, ctx.is_single(targets))
    elif ctx.output in OBJECT_FORMS:
        rows = (row for match in matches for row in _rows(ctx, match))
        write_objects(ctx, rows, columns=("path", "type", "value"))
    else:
        for _, _, node in matches:
            if isinstance(node, Leaf):
                write_leaf(ctx, node)
            else:
                _write_text(ctx, node, 0)


def _write_text(ctx: Context, directory: Node, indent: int) -> None:
    assert isinstance(directory, Directory)
    lead = " " * indent
    for name, child in listed_children(ctx, directory):
        if isinstance(child, Leaf) and ctx.output != "kafka":
            ctx.line(f"{lead}{name}: {_one_line(child.value(ctx.redact))}")
            continue
        # A name that Kafka lists but cannot resolve is a heading with nothing below.
        ctx.line(f"{lead}{name}:")
        if isinstance(child, Leaf):
            ctx.line(f"{lead}{' ' * _INDENT}{kafka_leaf_text(ctx, child)}")
        elif child is not None:
            _write_text(ctx, child, indent + _INDENT)


def _one_line(value: object) -> str:
    return spaced_json(value) if isinstance(value, str) and "\n" in value else plain_text(value)


def _rows(ctx: Context, match: Match) -> Iterator[Object]:
    for path, node, _ in descend(match.path, match.node):
        if isinstance(node, Leaf):
            yield leaf_object(ctx, path, node)
        elif isinstance(node, Directory) and node.child_count() == 0:
            yield node_object(ctx, path, node, value=None)


def _write_json(ctx: Context, matches: Iterator[Match], single: bool) -> None:
    """Nested objects, written while they are walked; one object for one path, else an array of them."""
    opening, between, closing = ("", "", "\n") if single else ("[\n", ",\n", "\n]\n")
    count = 0
    for match in matches:
        ctx.out.write(between if count else opening)
        _write_nested(ctx, match.path, match.node)
        count += 1
    if count:
        ctx.out.write(closing)
    elif not single:
        ctx.out.write("[]\n")


def _write_nested(ctx: Context, path: str, node: Node) -> None:
    if isinstance(node, Leaf):
        ctx.out.write(ctx.display.json(compact_json(leaf_object(ctx, path, node))))
        return
    assert isinstance(node, Directory)
    head = compact_json(node_object(ctx, path, node, **node.envelope_info))
    ctx.out.write(ctx.display.json(head[:-1] + ',"children":['))
    separator = ""
    for name, child in listed_children(ctx, node):
        if child is not None:
            ctx.out.write(separator)
            _write_nested(ctx, child_path(path, name), child)
            separator = ","
    ctx.out.write("]}")


COMMAND = make_command(run, __doc__, arguments=(Argument(name="path", nargs="*", kind=NODE_PATH, help="what to show, by default here"),))
