"""The command line of `metashell`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec
from metashell.options.subcommands import SUBCOMMANDS, TASKS

_SUMMARIES = shared.listed({name: summary for name, (_, summary) in SUBCOMMANDS.items()}).split("\n")
_TASKS = tuple(
    (task, "\n".join(line for line, name in zip(_SUMMARIES, SUBCOMMANDS, strict=True) if name in commands))
    for task, commands in TASKS.items()
)

METASHELL = CommandSpec(
    name="metashell",
    summary="inspect the metadata and logs of Kafka clusters",
    description="""
        One name for all commands. The words after a command's name belong to that command: `metashell shell --help` shows its options.
        """,
    options=(shared.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="subcommand", help="one of the commands below, and its words"),),
    examples=(
        ("metashell shell --demo", "a prompt on the directory that ships with the package"),
        ("metashell dump-log --cluster-metadata-decoder FILE", "the records of a metadata log as JSON lines"),
    ),
    epilog=(*_TASKS, shared.EXIT_STATUS),
    files=shared.LOG_FILES,
    first_word_ends_options=True,
)
