"""help - list the commands

SYNOPSIS
    help [COMMAND]

DESCRIPTION
    With COMMAND it shows the page of that command, as `man COMMAND` and `COMMAND --help` do. `?` is
    the same as help.

EXAMPLES
    >> help
    alter       add partitions to topics
    cat         print the contents of metadata leaves
    cd          set the current working directory
    create      make a topic
    delete      delete topics, settings, quotas, access control entries and credentials
    elect       let partitions have another leader
    exit        leave the shell
    find        search for nodes below directories
    follow      print every change as it is committed
    help        list the commands
    history     print the lines typed so far
    ls          list directories
    man         show the page of a command
    pwd         print the current working directory
    set         change settings, quotas, passwords and feature levels
    status      show what was read, how far it is certain, and what is wrong
    tree        show directories and the leaves in them
    unregister  let the cluster forget brokers that are gone for good
    unset       remove settings and quotas
    watch       print the changes below paths as they are committed
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metashell.forms import aligned
from metashell.options import Argument
from metashell.shell.command import COMMAND_NAME, make_command
from metashell.shell.commands.man import run as show_page
from metashell.shell.kafka_usage import shell_help
from metashell.shell.output import write_answer

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.shell.context import Context


def run(ctx: Context, args: SimpleNamespace) -> None:
    """Print every command with its summary."""
    from metashell.shell.commands import COMMANDS

    if args.command is not None:
        show_page(ctx, args)
    elif ctx.speaks_kafka:
        ctx.write(shell_help())
    else:
        rows = [(command.name, command.spec.summary) for command in COMMANDS]
        write_answer(ctx, [{"name": name, "summary": summary} for name, summary in rows], aligned(rows))


COMMAND = make_command(run, __doc__, arguments=(Argument(name="command", nargs="?", kind=COMMAND_NAME, help="a command's name"),))
