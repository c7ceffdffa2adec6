"""The page of a command: its docstring with the declared options between description and examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.shell.command import Command

_DESCRIPTION = "\nDESCRIPTION\n"
_EXAMPLES = "\nEXAMPLES\n"
_WIDTH = 80
_WIDTH_MAX = 100


def command_page(command: Command, width: int | None = None) -> str:
    """The page that `man` and `--help` print. Units: `width` in columns, 80 where there is no terminal."""
    from metashell.options.help import argument_help, option_help, option_names, paragraphs, table

    width = min(width or _WIDTH, _WIDTH_MAX)
    rows = [(option_names(option), option_help(option)) for option in command.spec.options]
    rows.append(("--help", "show this text and exit"))
    described = [(argument.label, argument_help(argument)) for argument in command.spec.arguments]
    blocks = f"\nARGUMENTS\n{table(described, width)}" if described else ""
    blocks += f"\nOPTIONS\n{table(rows, width)}"
    head, found, tail = command.doc.partition(_EXAMPLES)
    start, heading, description = head.partition(_DESCRIPTION)
    return start + heading + (paragraphs(description, width, 4) if heading else "") + blocks + found + tail
