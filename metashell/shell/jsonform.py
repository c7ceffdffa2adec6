"""JSON as the shell prints it: compact for programs, indented for people, coloured where that helps."""

from __future__ import annotations

import json
from typing import Any

_INDENT = 2
_LINE_WIDTH = 100
_COLOR_LIMIT = 200_000

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
_SPACED = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "), check_circular=False)
compact_json = _ENCODER.encode
spaced_json = _SPACED.encode


def pretty_json(value: Any, indent: int = 0) -> str:
    """Indented JSON in which an array or object without nesting stays on one line if it fits."""
    if not isinstance(value, dict | list | tuple) or not value:
        return spaced_json(value)
    inner = " " * (indent + _INDENT)
    if isinstance(value, dict):
        # The outermost object always has a line for each field: a record reads as a list of its fields.
        if indent and _is_flat(value.values()) and len(line := spaced_json(value)) + indent <= _LINE_WIDTH:
            return line
        parts = [f"{spaced_json(key)}: {pretty_json(item, indent + _INDENT)}" for key, item in value.items()]
        opening, closing = "{}"
    else:
        if _is_flat(value) and len(line := spaced_json(value)) + indent <= _LINE_WIDTH:
            return line
        parts = [pretty_json(item, indent + _INDENT) for item in value]
        opening, closing = "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{' ' * indent}{closing}"


def _is_flat(values: Any) -> bool:
    return not any(isinstance(value, dict | list | tuple) and value for value in values)


def colored_json(text: str) -> str:
    """JSON text with terminal colours; a large text stays as it is, since colouring takes 0.3 s a megabyte."""
    if len(text) > _COLOR_LIMIT:
        return text
    from pygments import highlight
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import JsonLexer

    colored: str = highlight(text, JsonLexer(), TerminalFormatter())
    return colored.rstrip("\n")


def plain_text(value: Any) -> str:
    """A scalar as people write it (text without quotes, `true`, `null`), anything else as JSON on one line."""
    if isinstance(value, str):
        return value
    return spaced_json(value)
