"""How a leaf is printed: Kafka's text, or our JSON value as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metashell.shell.jsonform import plain_text, pretty_json
from metashell.shell.output import json_text

if TYPE_CHECKING:
    from metashell.nodes import Leaf
    from metashell.shell.context import Context

REDACTED = "[redacted]"


def leaf_text(ctx: Context, leaf: Leaf) -> str:
    """The text of a leaf as `cat` shows it: plain for scalars, indented JSON for records, or Kafka's text with `-o kafka`."""
    if ctx.output == "kafka":
        return kafka_leaf_text(ctx, leaf)
    value = leaf.value(ctx.redact)
    if isinstance(value, dict | list | tuple):
        return json_text(ctx, pretty_json(value))
    return plain_text(value)


def kafka_leaf_text(ctx: Context, leaf: Leaf) -> str:
    """Kafka's text of a leaf; under our own name a secret is hidden in it, as Kafka's own redaction would do it."""
    if not ctx.redact or ctx.speaks_kafka:
        return leaf.kafka_text()
    value: Any = leaf.value(True)
    if value == leaf.value(False):
        return leaf.kafka_text()
    if isinstance(value, dict):
        return redacted_record_text(leaf.kafka_text(), value)
    return REDACTED


def redacted_record_text(text: str, value: dict[str, Any]) -> str:
    """A record's Java text with every field whose redacted value is a marker shown as `[redacted]`."""
    head, parenthesis, _ = text.partition("(")
    if not parenthesis:
        return REDACTED
    fields = ", ".join(f"{name}={REDACTED if field == REDACTED else field}" for name, field in value.items())
    return f"{head}({fields})"
