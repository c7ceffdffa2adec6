"""Usage and help as argparse4j 0.7.0 prints them: fixed columns, wrapped at COLUMNS - 5, paragraphs justified on both sides."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.options.spec import CommandSpec, Option

_HELP_COLUMN = 25
_DEFAULT_WIDTH = 75
_ARGUMENT_USAGE = {"1": "{0}", "?": "[{0}]", "*": "[{0} [{0} ...]]", "+": "{0} [{0} ...]"}


def usage_text(spec: CommandSpec, tool: CommandSpec | None = None, *, has_help: bool = True) -> str:
    """The `usage:` lines, newline at the end; continuation lines begin behind the tool's name, also for a sub-command of `tool`."""
    lead = f"usage: {(tool or spec).name} "
    parts = ["[-h]"] if has_help else []
    parts += [_usage_part(option) for option in spec.options if not option.hidden and not option.exclusive]
    parts += _exclusive_parts([option for option in spec.options if option.exclusive])
    parts += [_ARGUMENT_USAGE[argument.nargs].format(argument.label) for argument in spec.arguments]
    parts += [_choices_of(spec), "..."] if spec.commands else []
    lines = [f"{lead}{spec.name if tool else ''}".rstrip(" ")] if tool or not parts else [lead + parts.pop(0)]
    for part in parts:
        if len(lines[-1]) + 1 + len(part) > text_width():
            lines.append(" " * len(lead) + part)
        else:
            lines[-1] += f" {part}"
    return "\n".join(lines) + "\n"


def _exclusive_parts(options: list[Option]) -> list[str]:
    """`[--a | --b]`, as parts that may stand on lines of their own."""
    words = [_usage_part(option).strip("[]") for option in options]
    parts = [f"{word} |" for word in words[:-1]] + words[-1:]
    return [f"[{parts[0]}", *parts[1:-1], f"{parts[-1]}]"] if parts else []


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
    """The section about the options."""
    return "\noptional arguments:\n" + "".join(_option_entries(spec))


def _paragraph(text: str) -> str:
    return "".join(f"{line}\n" for line in justified(text, text_width()))


def _option_entries(spec: CommandSpec) -> list[str]:
    entries = [_entry("-h, --help", "show this help message and exit")]
    for option in spec.options:
        if not option.hidden:
            value = "" if option.is_flag else f" {option.metavar}"
            entries.append(_entry(", ".join(f"{name}{value}" for name in option.names), option.help))
    return entries


def text_width() -> int:
    """The width to wrap at.

    Source: MetadataShell's parser takes COLUMNS less 5; without it, 75.
    """
    columns = os.environ.get("COLUMNS", "")
    return int(columns) - 5 if columns.isascii() and columns.isdigit() else _DEFAULT_WIDTH


def justified(text: str, width: int) -> list[str]:
    """The lines of a paragraph, all but the last stretched to `width` by blanks between words."""
    lines: list[list[str]] = [[]]
    # The blank after a word counts too.
    words = [f"{word} " for word in text.split()]
    for piece in [*words[:-1], words[-1].rstrip()]:
        word = piece.rstrip()
        if lines[-1] and sum(map(len, lines[-1])) + len(lines[-1]) + len(piece) > width:
            lines.append([])
        lines[-1].append(word)
    return [*(_stretched(words, width) for words in lines[:-1]), " ".join(lines[-1])]


def _stretched(words: list[str], width: int) -> str:
    gaps = len(words) - 1
    if gaps == 0:
        return words[0]
    each, extra = divmod(max(gaps, width - sum(map(len, words))), gaps)
    # What is left over goes to the gaps in the middle.
    first = (gaps - extra + 1) // 2
    line = ""
    for index, word in enumerate(words[:-1]):
        line += word + " " * (each + (1 if first <= index < first + extra else 0))
    return line + words[-1]


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
