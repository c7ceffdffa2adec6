"""The command `tree`: show directories and the leaves in them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from metashell.colors import DIRECTORY
from metashell.forms import JSON_FORMS, OBJECT_FORMS, compact_json, plain_text, spaced_json
from metashell.nodes import Directory, Leaf
from metashell.options import Argument
from metashell.shell.command import NODE_PATH, make_command
from metashell.shell.output import kafka_leaf_text, leaf_object, node_object, write_leaf, write_objects
from metashell.shell.partition_texts import PartitionTexts, joined, json_texts
from metashell.shell.paths import HERE, child_path
from metashell.shell.search.globs import Match
from metashell.shell.search.walk import descend, entering, listed_children

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

    from metashell.nodes import Node
    from metashell.shell.context import Context
    from metashell.shell.output import Object


TREE_HELP: Final = """tree - show directories and the leaves in them

SYNOPSIS
    tree [PATH...]

DESCRIPTION
    Shows everything below each PATH (by default the working directory). Each directory is a heading with its contents below, each
    leaf a line with its value; records are JSON on one line. With -o json each path is one object whose `children` are nested;
    with -o jsonl, csv and table each leaf and each empty directory is a row.

EXAMPLES
    >> tree /image/configs/TOPIC:orders
    cleanup.policy: compact
    min.insync.replicas: 1
    retention.ms: 86400000
"""


_INDENT = 2
_LINE_END = "\n"


def run_tree(ctx: Context, args: SimpleNamespace) -> None:
    """Print what lies below each path."""
    targets = args.path or (HERE,)
    matches = ctx.resolve(targets, as_starts=True)
    if ctx.output == "json":
        _write_json(ctx, matches, ctx.is_single(targets))
    elif ctx.output in OBJECT_FORMS:
        rows = (row for match in matches for row in _rows(ctx, match))
        write_objects(ctx, rows, columns=("path", "type", "value"))
    else:
        texts = PartitionTexts(ctx, lambda path, leaf: _line(ctx, leaf.name, leaf))
        for _, _, node in matches:
            if isinstance(node, Leaf):
                write_leaf(ctx, node)
            else:
                _write_text(ctx, node, 0, texts)


def _write_text(ctx: Context, directory: Node, indent: int, texts: PartitionTexts) -> None:
    assert isinstance(directory, Directory)
    lead = " " * indent
    if (topic := texts.topic(directory)) is not None:
        for piece in joined(texts.of("", topic)[1], f"\n{lead}"):
            ctx.line(lead + piece)
        for name, value in topic.fact_values().items():
            ctx.line(lead + _plain_line(name, value))
        return
    for name, child in listed_children(directory, speaks_kafka=ctx.speaks_kafka):
        if isinstance(child, Leaf) and ctx.output != "kafka":
            ctx.out.write(lead)
            ctx.line(_line(ctx, name, child))
            continue
        # A name that Kafka lists but cannot resolve is a heading with nothing below.
        ctx.out.write(lead)
        ctx.line(ctx.display.paint(DIRECTORY, f"{name}:") if ctx.display.color else f"{name}:")
        if isinstance(child, Leaf):
            ctx.line(f"{lead}{' ' * _INDENT}{kafka_leaf_text(ctx, child)}")
        elif child is not None:
            _write_text(ctx, child, indent + _INDENT, texts)


def _line(ctx: Context, name: str, leaf: Leaf) -> str:
    value = leaf.value(ctx.redact)
    if isinstance(value, dict) and ctx.display.color:
        from metashell.shell.coloring import painted_line, roles_of

        return painted_line(ctx, name, value, roles_of(ctx, leaf))
    return _plain_line(name, value)


def _plain_line(name: str, value: object) -> str:
    return f"{name}: {spaced_json(value) if isinstance(value, str) and _LINE_END in value else plain_text(value)}"


def _rows(ctx: Context, match: Match) -> Iterator[Object | str]:
    texts = json_texts(ctx, partial(leaf_object, ctx))
    is_json = ctx.output in JSON_FORMS
    for path, node, _ in descend(match.path, match.node, enter=entering(lambda directory: not is_json or texts.topic(directory) is None)):
        if isinstance(node, Leaf):
            yield leaf_object(ctx, path, node)
        elif is_json and (topic := texts.topic(node)) is not None:
            yield from joined(texts.of(path, topic)[1], JSON_FORMS[ctx.output])
            for leaf in topic.facts():
                yield leaf_object(ctx, child_path(path, leaf.name), leaf)
        elif isinstance(node, Directory) and node.child_count() == 0:
            yield node_object(ctx, path, node, value=None)


def _write_json(ctx: Context, matches: Iterator[Match], single: bool) -> None:
    """Nested objects, written while they are walked; one object for one path, else an array of them."""
    opening, between, closing = ("", "", "\n") if single else ("[\n", ",\n", "\n]\n")
    count = 0
    texts = json_texts(ctx, partial(leaf_object, ctx))
    for match in matches:
        ctx.out.write(between if count else opening)
        _write_nested(ctx, match.path, match.node, texts)
        count += 1
    if count:
        ctx.out.write(closing)
    elif not single:
        ctx.out.write("[]\n")


def _write_nested(ctx: Context, path: str, node: Node, texts: PartitionTexts) -> None:
    if isinstance(node, Leaf):
        ctx.out.write(ctx.display.json(compact_json(leaf_object(ctx, path, node))))
        return
    assert isinstance(node, Directory)
    head = compact_json(node_object(ctx, path, node, **node.envelope_info))
    ctx.out.write(ctx.display.json(head[:-1] + ',"children":['))
    if (topic := texts.topic(node)) is not None:
        for piece in joined(texts.of(path, topic)[1], ","):
            ctx.out.write(ctx.display.json(piece) + ",")
        facts = (compact_json(leaf_object(ctx, child_path(path, leaf.name), leaf)) for leaf in topic.facts())
        ctx.out.write(ctx.display.json(",".join(facts)) + "]}")
        return
    separator = ""
    for name, child in listed_children(node, speaks_kafka=ctx.speaks_kafka):
        if child is not None:
            ctx.out.write(separator)
            _write_nested(ctx, child_path(path, name), child, texts)
            separator = ","
    ctx.out.write("]}")


TREE_COMMAND = make_command(
    run_tree, TREE_HELP, arguments=(Argument(name="path", nargs="*", kind=NODE_PATH, help="what to show, by default here"),)
)
