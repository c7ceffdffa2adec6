"""The commands help and man."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metashell.common.errors import UsageError
from metashell.common.forms import OBJECT_FORMS, aligned
from metashell.common.options import Argument
from metashell.shell.commands import COMMAND_NAME, command_page, make_command
from metashell.shell.kafka_voice import KAFKA_COMMANDS, man_text, shell_help
from metashell.shell.output import write_answer, write_objects

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import SimpleNamespace

    from metashell.shell.context import Context


HELP_HELP: Final = """help - list the commands

SYNOPSIS
    help [COMMAND]

DESCRIPTION
    With COMMAND it shows the page of that command, as `man COMMAND` and `COMMAND --help` do. `?` is
    the same as help.

EXAMPLES
    >> help
    alter       add partitions to topics
    at          show everything as it was at an offset or a time
    cat         print the contents of metadata leaves
    cd          set the current working directory
    clear       clear the screen
    count       count partitions or other nodes below a path, by a field
    create      create a topic
    delete      delete topics, settings, quotas, access control entries and credentials
    diff        print what differs between two moments or two sources
    du          show how many bytes records take in the log and in the snapshot
    elect       elect another leader of partitions
    exit        leave the shell
    find        search for nodes below directories
    follow      print every change as it is committed
    grep        print the lines of leaves that match an expression
    health      show what is broken in the cluster, and what is unusual
    help        list the commands
    history     print the lines typed so far
    log         print the records that changed a node or anything below it
    ls          list directories
    man         show the page of a command
    pwd         print the current working directory
    set         change settings, quotas, passwords and feature levels
    stat        show what a node is, and which records made and last changed it
    status      show what was read, how far it is committed, and what is wrong
    time        run a command and show how long it took
    timing      show how long each command takes
    tree        show directories and the leaves in them
    unregister  remove brokers and controllers that are gone for good
    unset       remove settings and quotas
    watch       print the changes below paths as they are committed
    why         what led to the state of a partition, topic, broker, controller or voter
"""


_SUMMARY_LEAST = 20


def run_help(ctx: Context, args: SimpleNamespace) -> None:
    """Print every command with its summary."""
    from metashell.shell.commands import COMMANDS

    if args.command is not None:
        run_man(ctx, args)
    elif ctx.speaks_kafka:
        ctx.write(shell_help())
    else:
        rows = [(command.name, command.spec.summary) for command in COMMANDS]
        write_answer(ctx, [{"name": name, "summary": summary} for name, summary in rows], _lines(rows, ctx.display.width))


def _lines(rows: list[tuple[str, str]], width: int | None) -> Iterator[str]:
    """Yield one line per command. On a narrow terminal its summary wraps below itself."""
    longest = max(len(name) for name, _ in rows) + 2
    if width is None or width >= longest + max(len(summary) for _, summary in rows):
        yield from aligned(rows)
        return
    from textwrap import wrap

    indent = " " * (longest if width >= longest + _SUMMARY_LEAST else 2)
    for name, summary in rows:
        yield from wrap(f"{name:<{longest}}{summary}", width, subsequent_indent=indent, break_on_hyphens=False)


HELP_COMMAND = make_command(
    run_help, HELP_HELP, arguments=(Argument(name="command", nargs="?", kind=COMMAND_NAME, help="a command's name"),)
)


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
