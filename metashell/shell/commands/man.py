"""The command `man`: show the page of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.errors import UsageError
from metashell.forms import OBJECT_FORMS
from metashell.options import Argument
from metashell.shell.command import COMMAND_NAME, make_command
from metashell.shell.kafka_usage import KAFKA_COMMANDS, man_text
from metashell.shell.output import write_answer, write_objects
from metashell.shell.pages import command_page

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


MAN_HELP: Final = """man - show the page of a command

SYNOPSIS
    man COMMAND

EXAMPLES
    >> man pwd
    pwd - print the current working directory

    SYNOPSIS
        pwd

    OPTIONS
        -o, --output FORM  form of the answer: text, json, jsonl, table, csv, kafka
        --help             show this text and exit

    EXAMPLES
        >> pwd
        /
"""


def run_man(ctx: Context, args: SimpleNamespace) -> None:
    """Print the page of one command."""
    from metashell.shell.commands import find_command, unknown_command

    name = args.command
    if ctx.speaks_kafka:
        known = KAFKA_COMMANDS.get(name)
        ctx.write(man_text(known) if known else f"man: unknown command {name}. Type help to get a list of commands.\n")
        return
    stands_for = ctx.settings.aliases.get(name) if ctx.chosen is not None else None
    if stands_for is not None:
        write_answer(ctx, [{"name": name, "alias": stands_for}], [f"{name} stands for: {stands_for}"], single=True)
        return
    command = find_command(name)
    if command is None:
        raise UsageError(unknown_command(name), name)
    if ctx.output in OBJECT_FORMS:
        page = {"name": command.name, "summary": command.spec.summary, "text": command_page(command, ctx.display.width)}
        write_objects(ctx, [page], single=True)
    else:
        ctx.write(command_page(command, ctx.display.width))


MAN_COMMAND = make_command(run_man, MAN_HELP, arguments=(Argument(name="command", kind=COMMAND_NAME, help="the command's name"),))
