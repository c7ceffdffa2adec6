"""Answers of commands in the form that was asked for: objects about nodes, and leaves as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell import forms
from metashell.forms import plain_text, pretty_json, write_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from metashell.nodes import Leaf, Node
    from metashell.shell.context import Context

Object = dict[str, Any]


def write_objects(ctx: Context, items: Iterable[Object | str], *, columns: Sequence[str] = (), single: bool = False) -> None:
    """Write the objects of an answer; see `forms.write_objects`. How far all is certain is the same in each."""
    forms.write_objects(ctx.display, ctx.output, items, columns=columns, constant=ctx.certainty(), single=single)


def write_answer(ctx: Context, objects: Iterable[Object], lines: Iterable[str], **shape: Any) -> None:
    """Write an answer in the form that was asked for, from objects or from lines; only one of the two is read."""
    if ctx.output in forms.OBJECT_FORMS:
        write_objects(ctx, objects, **shape)
        return
    for line in lines:
        ctx.line(line)


def node_object(ctx: Context, path: str, node: Node, **fields: Any) -> Object:
    """The object about a node: `path` and `type`, the fields, and how far all that is shown is certain."""
    return {"path": path, "type": node.type, **fields, **ctx.certainty()}


def leaf_object(ctx: Context, path: str, leaf: Leaf) -> Object:
    """The object about a leaf: its value, words for the codes in it, and the rest of every object about a node."""
    return node_object(ctx, path, leaf, value=leaf.value(ctx.redact), **leaf.envelope_info)


def write_leaf(ctx: Context, leaf: Leaf) -> None:
    """Write a leaf as `cat` shows it: plain for scalars, indented JSON for records, or Kafka's text with `-o kafka`."""
    if ctx.output == "kafka":
        ctx.line(kafka_leaf_text(ctx, leaf))
        return
    value = leaf.value(ctx.redact)
    if isinstance(value, dict) and ctx.display.color:
        from metashell.shell.coloring import roles_of, write_painted

        write_painted(ctx, value, roles_of(ctx, leaf))
    elif isinstance(value, dict | list | tuple):
        write_value(ctx.display, value)
    else:
        ctx.line(plain_text(value))


def value_lines(value: object) -> list[str]:
    """The lines of a leaf's value as `cat` prints it into a pipe."""
    return (pretty_json(value) if isinstance(value, dict | list | tuple) else plain_text(value)).split("\n")


def kafka_leaf_text(ctx: Context, leaf: Leaf) -> str:
    """Kafka's text of a leaf; under our own name its secrets are hidden."""
    return leaf.kafka_text(ctx.redact and not ctx.speaks_kafka)
