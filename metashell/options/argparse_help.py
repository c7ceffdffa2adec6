"""Usage and help as argparse4j 0.7.0 prints them: fixed columns, wrapped at COLUMNS - 5, paragraphs justified on both sides."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.options.spec import CommandSpec, Option

_HELP_COLUMN = 25
_DEFAULT_WIDTH = 75
_ARGUMENT_USAGE = {"1": "{0}", "?": "[{0}]", "*": "[{0} [{0} ...]]", "+": "{0} [{0} ...]"}


def usage_text(spec: CommandSpec, tool: CommandSpec | None = None, *, has_help: bool = True) -> str:
    """The `usage:` lines, newline at the end; continuation lines begin behind the tool's name, also for a sub-command of `tool`.

    What `tool` requires of every sub-command stands before its name.
    """
    lead = f"usage: {(tool or spec).name} "
    parts = [*_required_parts(tool), spec.name] if tool else []
    parts += ["[-h]"] if has_help else []
    parts += [_usage_part(option) for option in spec.options if not option.hidden and not option.exclusive]
    parts += _exclusive_parts([option for option in spec.options if option.exclusive])
    parts += [_ARGUMENT_USAGE[argument.nargs].format(argument.label) for argument in spec.arguments]
    parts += [_choices_of(spec), "..."] if spec.commands else []
    lines = [lead + parts.pop(0)] if parts else [lead.rstrip(" ")]
    for part in parts:
        if len(lines[-1]) + 1 + len(part) > text_width():
            lines.append(" " * len(lead) + part)
        else:
            lines[-1] += f" {part}"
    return "\n".join(lines) + "\n"


def _exclusive_parts(options: list[Option]) -> list[str]:
    """`[--a | --b]`, or with round brackets where one is required, as parts that may stand on lines of their own."""
    words = [_usage_part(option).strip("[]") for option in options]
    parts = [f"{word} |" for word in words[:-1]] + words[-1:]
    left, right = "()" if any(option.required for option in options) else "[]"
    return [f"{left}{parts[0]}", *parts[1:-1], f"{parts[-1]}{right}"] if parts else []


def _required_parts(tool: CommandSpec) -> list[str]:
    required = [option for option in tool.options if option.required and not option.hidden]
    alone = [_usage_part(option) for option in required if not option.exclusive]
    return [*alone, *_exclusive_parts([option for option in required if option.exclusive])]


def _choices_of(spec: CommandSpec) -> str:
    return "{" + ",".join(command.name for command in spec.commands) + "}"


def command_help_text(spec: CommandSpec, tool: CommandSpec | None = None) -> str:
    """The help of a tool with sub-commands, or of one of them."""
    summary = f"\n{_paragraph(spec.summary)}" if spec.commands else ""
    return f"{usage_text(spec, tool)}{summary}{positional_text(spec)}{optional_text(spec)}"


def help_text(spec: CommandSpec) -> str:
    """The whole help of a tool without sub-commands."""
    return f"{usage_text(spec)}\n{_paragraph(spec.summary)}{positional_text(spec)}{optional_text(spec)}"


def positional_text(spec: CommandSpec) -> str:
    """The section about the arguments or sub-commands, empty without any."""
    entries = [f"  {_choices_of(spec)}\n"] if spec.commands else []
    entries += [_entry(f"  {command.name}", command.summary) for command in spec.commands]
    entries += [_entry(argument.label, argument.help) for argument in spec.arguments]
    return "\npositional arguments:\n" + "".join(entries) if entries else ""


def optional_text(spec: CommandSpec) -> str:
    """The sections about the options."""
    text = "\noptional arguments:\n" + _entry("-h, --help", "show this help message and exit") + _option_entries(spec, "")
    for heading in dict.fromkeys(option.heading for option in spec.options if option.heading):
        text += f"\n{heading}:\n{_option_entries(spec, heading)}"
    return text


def _paragraph(text: str) -> str:
    return "".join(f"{line}\n" for line in justified(text, text_width()))


def _option_entries(spec: CommandSpec, heading: str) -> str:
    entries = []
    for option in spec.options:
        if not option.hidden and option.heading == heading:
            value = "" if option.is_flag else f" {option.metavar}"
            entries.append(_entry(", ".join(f"{name}{value}" for name in option.names), option.help))
    return "".join(entries)


def text_width() -> int:
    """The width to wrap at.

    Source: MetadataShell's parser takes COLUMNS less 5; without it, 75.
    """
    columns = os.environ.get("COLUMNS", "")
    return int(columns) - 5 if columns.isascii() and columns.isdigit() else _DEFAULT_WIDTH


_BREAKS = re.compile(
    r"(?<=-)(?=[^\s\d'-])|(?<=[^\s-]-)(?=\d)"  # after a hyphen, but not in front of a number that it makes negative
    r"|(?<=[:;!?%])(?=[^\s.,:;!?%)\]}'\"`])"
    r"|(?<=[.,])(?=[^\s\d.,:;!?%)\]}'\"`])|(?<=[^\d][.,])(?=\d)"
    r"|(?<=\S[)\]}\"])(?=\w)"
    r"|(?<=[^\s(\[{$'\"`])(?=[(\[{$])"
)
"""Where Java's line breaker may break inside a word: `--|release-|version`, `metadata.|version=5`."""


def line_pieces(text: str) -> list[str]:
    """A text in the pieces that are not broken over lines; the blank or newline behind a word belongs to its last piece.

    Source: java.text.BreakIterator.getLineInstance, as far as the texts of Kafka's tools need it.
    """
    return [piece for word in re.findall(r"\S+\s*", text.strip()) for piece in _BREAKS.split(word)]


def justified(text: str, width: int) -> list[str]:
    """The lines of a text, all but the last of each paragraph stretched to `width` by blanks between words."""
    lines: list[str] = []
    line = ""
    for piece in line_pieces(text):
        # The blank or newline after a word counts too.
        if line and len(line) + len(piece) > width:
            lines.append(_stretched(line.rstrip(), width))
            line = ""
        line += piece
        if line.endswith("\n"):
            lines.append(line[:-1])
            line = ""
    return [*lines, line]


def _stretched(line: str, width: int) -> str:
    words = re.split(" +", line)
    gaps = re.findall(" +", line)
    if not gaps:
        return line
    each, extra = divmod(max(0, width - len(line)), len(gaps))
    # What is left over goes to the gaps in the middle.
    first = (len(gaps) - extra + 1) // 2
    stretched = words[0]
    for index, (gap, word) in enumerate(zip(gaps, words[1:], strict=True)):
        stretched += gap + " " * (each + (1 if first <= index < first + extra else 0)) + word
    return stretched


def _usage_part(option: Option) -> str:
    name = max(option.names, key=len)
    text = name if option.is_flag else f"{name} {option.metavar}"
    return text if option.required else f"[{text}]"


def _entry(names: str, text: str) -> str:
    lines = justified(text, max(1, text_width() - _HELP_COLUMN))
    indent = " " * _HELP_COLUMN
    if len(names) + 2 > _HELP_COLUMN - 2:
        head, rest = f"  {names}\n", lines
    else:
        head, rest = f"  {names:<{_HELP_COLUMN - 2}}{lines[0]}\n", lines[1:]
    return head + "".join(f"{indent}{line}\n" for line in rest)
