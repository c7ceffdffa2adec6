"""help - list the commands

SYNOPSIS
    help [COMMAND]

DESCRIPTION
    With COMMAND it shows the page of that command, as `man COMMAND` and `COMMAND --help` do.

EXAMPLES
    >> help
    cat      print the contents of metadata leaves
    cd       set the current working directory
    exit     leave the shell
    find     search for nodes below directories
    follow   print every change as it is committed
    help     list the commands
    history  print the lines typed so far
    ls       list directories
    man      show the page of a command
    pwd      print the current working directory
    status   show what was read, how far it is certain, and what is wrong
    tree     show directories and the leaves in them
    watch    print the changes below paths as they are committed
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.forms import OBJECT_FORMS, aligned
from metashell.options import Argument
from metashell.shell.command import COMMAND_NAME, make_command
from metashell.shell.commands.man import run as show_page
from metashell.shell.kafka_usage import HELP_TEXT
from metashell.shell.output import write_objects

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


def run(ctx: Context, args: SimpleNamespace) -> None:
    """Print every command with its summary."""
    from metashell.shell.commands import COMMANDS

    if args.command is not None:
        show_page(ctx, args)
    elif ctx.speaks_kafka:
        ctx.write(HELP_TEXT)
    elif ctx.output in OBJECT_FORMS:
        write_objects(ctx, ({"name": command.name, "summary": command.spec.summary} for command in COMMANDS))
    else:
        for line in aligned([(command.name, command.spec.summary) for command in COMMANDS]):
            ctx.line(line)


COMMAND = make_command(run, __doc__, arguments=(Argument(name="command", nargs="?", kind=COMMAND_NAME, help="a command's name"),))
