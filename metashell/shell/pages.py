"""The page of a command: its docstring with the declared options between description and examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.shell.command import Command

_EXAMPLES = "\nEXAMPLES\n"


def command_page(command: Command) -> str:
    """What `man` and `--help` print."""
    from metashell.options.help import argument_help, option_help, option_names

    rows = [(option_names(option), option_help(option)) for option in command.spec.options]
    rows.append(("--help", "show this text and exit"))
    page = command.doc
    described = [(argument.label, argument_help(argument)) for argument in command.spec.arguments]
    blocks = _block("ARGUMENTS", described) + _block("OPTIONS", rows)
    head, found, tail = page.partition(_EXAMPLES)
    return head + blocks + found + tail


def _block(heading: str, rows: list[tuple[str, str]]) -> str:
    if not rows:
        return ""
    width = max(len(name) for name, _ in rows) + 2
    return f"\n{heading}\n" + "".join(f"    {name:<{width}}{text}\n" for name, text in rows)
