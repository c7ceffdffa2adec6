"""A schema text as a tree of its lines, for what changes texts; `metashell.codec.schema` says what a text means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from metashell.codec.schema import NEWEST, MessageSchema, StructSchema, Versions, parse_schema

_INDENT: Final = 4


@dataclass
class Line:
    """The words of a line, the lines that are indented below it, and its remark."""

    words: list[str]
    lines: list[Line] = field(default_factory=list)
    remark: str = ""

    @property
    def name(self) -> str:
        """Of a field: its name; of a line `struct Name`: `struct Name`."""
        return " ".join(self.words[:2]) if self.words[0] == "struct" else self.words[0]

    @property
    def struct(self) -> str:
        """The struct whose fields stand below the line."""
        return self.words[1].removeprefix("[]")


def read_lines(text: str) -> Line:
    """The head of a schema text with its fields below it."""
    stack: list[tuple[int, Line]] = []
    for raw in text.splitlines():
        told, _, remark = raw.partition("#")
        if not told.strip():
            continue
        indent = len(told) - len(told.lstrip())
        line = Line(told.split(), remark=remark.strip())
        while stack and stack[-1][0] >= indent:
            stack.pop()
        if stack:
            stack[-1][1].lines.append(line)
        stack.append((indent, line))
    return stack[0][1]


def schema_text(head: Line) -> str:
    """The text of a tree, in columns."""
    return "".join(f"{line}\n" for line in (_with_remark(" ".join(head.words), head.remark), *_texts(head.lines, _INDENT)))


def _texts(lines: list[Line], indent: int) -> Iterator[str]:
    width = max((len(line.words[0]) for line in lines if line.words[0] != "struct"), default=0)
    for line in lines:
        if line.words[0] == "struct":
            text = " ".join(line.words)
        else:
            name, type_name, versions, *rest = line.words
            text = f"{name:<{width}}  {type_name:<14} {versions:<6} {' '.join(rest)}".rstrip()
        yield _with_remark(" " * indent + text, line.remark)
        yield from _texts(line.lines, indent + _INDENT)


def _with_remark(text: str, remark: str) -> str:
    return f"{text:<60}  # {remark}" if remark else text


# ---- what a text means in a span of versions -------------------------------------------------------------------------


def meaning(text: str, low: int, high: int, *, is_partial: bool = False) -> list[str]:
    """A line for each field of the versions `low` to `high`, the same for any two texts whose messages are equal in them.

    `is_partial` leaves out what the texts of classes do not say, also where tagged fields stand among the others.
    """
    message = parse_schema(text)
    span = Versions(max(low, message.versions.low), min(high, message.versions.high))
    words = [message.kind, message.name, *(() if message.key is None else ("key", str(message.key))), "versions", f"{span.low}-{span.high}"]
    words += ["flexible", _clipped(message.flexible, span)]
    if not is_partial:
        words += [*sorted(message.listeners), *(("latest-unstable",) if message.latest_unstable else ())]
    found = [" ".join(words)]
    for struct, reached in _reached(message, span).items():
        found += _field_meanings(message, struct, reached, span, is_partial=is_partial)
    return found


def _reached(message: MessageSchema, span: Versions) -> dict[str, Versions]:
    """The structs that the span has, with the versions in which each of them occurs; the message itself by the empty name."""
    reached = {"": span}
    waiting = [""]
    while waiting:
        name = waiting.pop(0)
        for one in _struct(message, name).fields:
            versions = _cut(one.versions, reached[name])
            if not one.is_struct or versions.low > versions.high:
                continue
            before = reached.get(one.type)
            now = versions if before is None else Versions(min(before.low, versions.low), max(before.high, versions.high))
            if before is None or (before.low, before.high) != (now.low, now.high):
                reached[one.type] = now
                waiting.append(one.type)
    return {name: reached[name] for name in ("", *sorted(reached.keys() - {""}))}


def _struct(message: MessageSchema, name: str) -> StructSchema:
    return message.structs[name] if name else message


def _field_meanings(message: MessageSchema, name: str, reached: Versions, span: Versions, *, is_partial: bool) -> Iterator[str]:
    fields = _struct(message, name).fields
    if is_partial:
        fields = sorted(fields, key=lambda one: -1 if one.tag is None else one.tag)
    for one in fields:
        versions = _cut(one.versions, reached)
        if versions.low > versions.high:
            continue
        words = [f"{name}.{one.name}" if name else one.name, f"{'[]' if one.is_array else ''}{one.type}", _clipped(versions, span)]
        if (nullable := _clipped(_cut(one.nullable, versions), span)) != "none":
            words += ["nullable", nullable]
        if (tagged := _clipped(_cut(one.tagged, versions), span)) != "none":
            words += ["tag", str(one.tag), tagged]
        if one.default is None:
            words += ["default", "null"]
        elif isinstance(one.default, str | int | float) and one.default:
            words += ["default", str(one.default).lower() if isinstance(one.default, bool) else str(one.default)]
        if one.ignorable and not is_partial:
            words.append("ignorable")
        if one.flexible is not None:
            words += ["flexible", _clipped(one.flexible, span)]
        yield " ".join(words)


def _cut(versions: Versions, span: Versions) -> Versions:
    return Versions(max(versions.low, span.low), min(versions.high, span.high))


def _clipped(versions: Versions, span: Versions) -> str:
    return versions_text(_cut(versions, span), span.high)


def versions_text(versions: Versions, highest: int = NEWEST) -> str:
    """`5+` for a range up to the highest version, `3-4`, `3`, or `none`."""
    if versions.low > versions.high:
        return "none"
    if versions.high >= highest:
        return f"{versions.low}+"
    return str(versions.low) if versions.low == versions.high else f"{versions.low}-{versions.high}"
