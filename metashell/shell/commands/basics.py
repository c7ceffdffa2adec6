"""The commands cat, cd, clear, exit, help, history, man, pwd, time and timing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from metashell.common.errors import UsageError
from metashell.common.forms import OBJECT_FORMS, aligned
from metashell.common.options import Argument
from metashell.metadata.nodes import Leaf
from metashell.shell.commands import COMMAND_NAME, NODE_PATH, command_page, make_command
from metashell.shell.context import IS_DIRECTORY, NOT_DIRECTORY
from metashell.shell.kafka_voice import KAFKA_COMMANDS, man_text, shell_help
from metashell.shell.output import leaf_object, node_object, write_answer, write_leaf, write_objects
from metashell.shell.paths import ROOT, refuse_deep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import SimpleNamespace

    from metashell.shell.context import Context


CAT_HELP: Final = """cat - print the contents of metadata leaves

SYNOPSIS
    cat PATH...

DESCRIPTION
    Prints a number or text as it is, and a record as indented JSON with Kafka's own field names. Secrets are hidden unless the
    shell was started with --show-secrets. A directory, or a path that names nothing, is an error; the paths after it are still
    printed.

    With -o json the answer is one object for one path, and an array for several paths or a pattern. With -o kafka it is the
    text that Kafka's own shell prints.

EXAMPLES
    >> cat /image/topics/byName/orders/name
    orders
    >> cat -o kafka /image/topics/byName/orders/{id,name}
    G7AsmegkQqqHvcqFqSTRgA
    orders
"""


def run_cat(ctx: Context, args: SimpleNamespace) -> None:
    """Print the leaves that the paths name."""
    leaves = _leaves(ctx, args)
    if ctx.output in OBJECT_FORMS:
        objects = (leaf_object(ctx, path, leaf) for path, leaf in leaves)
        columns = ("path", "type", "value")
        write_objects(ctx, objects, columns=columns, single=ctx.is_single(args.path))
    else:
        for _, leaf in leaves:
            write_leaf(ctx, leaf)


def _leaves(ctx: Context, args: SimpleNamespace) -> Iterator[tuple[str, Leaf]]:
    for target in args.path:
        for path, _, node in ctx.resolve([target]):
            if isinstance(node, Leaf):
                yield path, node
            else:
                ctx.fail(target if ctx.speaks_kafka else path, IS_DIRECTORY)


CAT_COMMAND = make_command(run_cat, CAT_HELP, arguments=(Argument(name="path", nargs="+", kind=NODE_PATH, help="the leaves to print"),))


CD_HELP: Final = """cd - set the current working directory

SYNOPSIS
    cd [PATH]

DESCRIPTION
    A PATH that does not begin with / starts at the working directory. Without PATH the working directory becomes /. If a
    pattern matches several directories, the last is used.

EXAMPLES
    >> cd /image/topics
    >> pwd
    /image/topics
    >> cd ..
    >> pwd
    /image
"""


def run_cd(ctx: Context, args: SimpleNamespace) -> None:
    """Change the working directory."""
    target = args.path or ROOT
    if not ctx.speaks_kafka:
        refuse_deep(target)
    for match in ctx.resolve([target]):
        if match.node.is_directory:
            ctx.cwd = match.path
        else:
            ctx.fail(target, NOT_DIRECTORY)


CD_COMMAND = make_command(
    run_cd, CD_HELP, arguments=(Argument(name="path", nargs="?", kind=NODE_PATH, help="the directory, / by default"),)
)


PWD_HELP: Final = """pwd - print the current working directory

SYNOPSIS
    pwd

EXAMPLES
    >> pwd
    /
"""


def run_pwd(ctx: Context, args: SimpleNamespace) -> None:
    """Print the working directory."""
    objects = (node_object(ctx, ctx.cwd, match.node) for match in ctx.matches(ctx.cwd))
    write_answer(ctx, objects, [ctx.cwd], single=True)


PWD_COMMAND = make_command(run_pwd, PWD_HELP)


CLEAR_HELP: Final = """clear - clear the screen

SYNOPSIS
    clear

DESCRIPTION
    Does nothing where there is no terminal. At the prompt Ctrl-L does the same.

EXAMPLES
    >> clear
"""


_CLEAR = "\x1b[H\x1b[2J"


def run_clear(ctx: Context, args: SimpleNamespace) -> None:
    """Clear the screen and move to its top."""
    if ctx.display.width is not None and os.environ.get("TERM") != "dumb":
        ctx.out.write(_CLEAR)


CLEAR_COMMAND = make_command(run_clear, CLEAR_HELP, is_live=True)


EXIT_HELP: Final = r"""exit - leave the shell

SYNOPSIS
    exit

DESCRIPTION
    Ctrl-D, `quit`, `\q` and `:q` do the same.

EXAMPLES
    >> exit
"""


def run_exit(ctx: Context, args: SimpleNamespace) -> None:
    """Leave the shell after this line."""
    ctx.leaving = True


EXIT_COMMAND = make_command(run_exit, EXIT_HELP)


HISTORY_HELP: Final = """history - print the lines typed so far

SYNOPSIS
    history [COUNT]

DESCRIPTION
    Each line has its number, from 0; this line is the last. With COUNT only the last COUNT lines are printed.

EXAMPLES
    >> history 1
        0  history 1
"""


def run_history(ctx: Context, args: SimpleNamespace) -> None:
    """Print the typed lines; in the prompt also those of earlier runs."""
    entries = list(last_entries(ctx.history, args.count))
    objects = [{"number": number, "line": line} for number, line in entries]
    write_answer(ctx, objects, (f"{number: 5d}  {line}" for number, line in entries))


def last_entries(history: Sequence[str], count: int | None) -> Iterator[tuple[int, str]]:
    """Yield the last `count` lines, or all for None, each with its number from 0."""
    start = 0 if count is None else max(0, len(history) - max(0, count))
    return ((index, history[index]) for index in range(start, len(history)))


HISTORY_COMMAND = make_command(
    run_history, HISTORY_HELP, arguments=(Argument(name="count", nargs="?", type="integer", help="how many lines, all by default"),)
)


TIME_HELP: Final = """time - run a command and show how long it took

SYNOPSIS
    time COMMAND...

DESCRIPTION
    Runs the rest of the step, including its pipe, and prints on stderr how long it took: wall-clock time, and CPU time of this
    process. `timing on` does the same for every command.

EXAMPLES
    >> time
    time: missing COMMAND
"""


def run_time(ctx: Context, args: SimpleNamespace) -> None:
    """Report `time` without a command. With a command, the runner of steps handles it."""
    raise UsageError("name a command after it", args.command[0])


TIME_COMMAND = make_command(
    run_time, TIME_HELP, arguments=(Argument(name="command", nargs="+", kind=COMMAND_NAME, help="the command, with its words"),)
)


TIMING_HELP: Final = """timing - show how long each command takes

SYNOPSIS
    timing [on|off]

DESCRIPTION
    After `timing on` a line on stderr after each command says how long it took, as `time COMMAND` does for one. Without an argument
    it prints whether this is on.

EXAMPLES
    >> timing
    timing is off
"""


_ON, _OFF = "on", "off"


def run_timing(ctx: Context, args: SimpleNamespace) -> None:
    """Turn timing on or off, or print whether it is on."""
    if args.state is None:
        state = _ON if ctx.is_timing else _OFF
        write_answer(ctx, [{"timing": state}], [f"timing is {state}"])
    else:
        ctx.timing = args.state == _ON


TIMING_COMMAND = make_command(
    run_timing,
    TIMING_HELP,
    arguments=(Argument(name="state", nargs="?", type="choice", choices=(_ON, _OFF), metavar="on|off", help="switch it on or off"),),
)


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
