"""How a leaf is printed: Kafka's text, or our JSON value as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.shell.jsonform import plain_text, pretty_json
from metashell.shell.output import json_text

if TYPE_CHECKING:
    from metashell.nodes import Leaf
    from metashell.shell.context import Context


def write_leaf(ctx: Context, leaf: Leaf) -> None:
    """Write a leaf as `cat` shows it: plain for scalars, indented JSON for records, or Kafka's text with `-o kafka`."""
    if ctx.output == "kafka":
        ctx.line(kafka_leaf_text(ctx, leaf))
        return
    value = leaf.value(ctx.redact)
    if isinstance(value, dict | list | tuple):
        # Escaped before it is coloured: colours are escape sequences too.
        ctx.out.write(json_text(ctx, pretty_json(value)) + "\n")
    else:
        ctx.line(plain_text(value))


def kafka_leaf_text(ctx: Context, leaf: Leaf) -> str:
    """Kafka's text of a leaf; under our own name its secrets are hidden."""
    return leaf.kafka_text(ctx.redact and not ctx.speaks_kafka)
