"""The command line of `metashell lake`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec, Option

_FORMS = ("text", "json", "jsonl", "csv", "table")
_LAKE = Argument(name="lake", metavar="DIR", type="path", kind="file", help="the folder of a lake, or its URI such as s3://bucket/folder")
_FILES = (
    ("DIR/_metashell/commits/", "what each export added, and of which offsets"),
    ("DIR/_metashell/pending/", "an export that moves its files right now, or was interrupted then"),
)


def _command(name: str, summary: str, text: str, *examples: tuple[str, str], options: tuple[Option, ...] = ()) -> CommandSpec:
    return CommandSpec(
        name,
        summary,
        text,
        (*options, shared.output(*_FORMS)),
        (_LAKE,),
        examples=examples,
        epilog=(shared.EXIT_STATUS,),
        files=_FILES,
        environment=shared.STORE_ENVIRONMENT,
    )


STATUS = _command(
    "status",
    "show what a lake holds",
    """
        Shows the tables with their rows, files and days, the logs with the offsets that the lake has of them and the gaps between these,
        the last commit, one that was interrupted, and who writes right now. Only the ledger is read. The forms csv and table list the
        logs; json and jsonl have everything.
        """,
    ("metashell lake status lake", "what is there"),
    ("metashell lake status s3://bucket/lake -o json", "the same for a program"),
    ("metashell lake status lake -o csv", "a line for each log"),
)
LOG = _command(
    "log",
    "list the commits of a lake",
    """
        Shows each commit, the oldest first: when it was made, what kind it is, how many rows and files it added, and which offsets of
        which logs.
        """,
    ("metashell lake log lake", "every export into it"),
    ("metashell lake log lake --last 3", "the newest three"),
    options=(Option(names=("--last", "-n"), metavar="N", type="int", help="only the newest N commits"),),
)
CHECK = _command(
    "check",
    "check that all that a lake's commits name is there",
    """
        Looks for every file that the commits name, and compares its size and the count of its rows. Files beside them, which no commit
        names, are named too: where a reader of the tables would read one, that is a fault. A commit that is being made is not. Nothing is
        mended, and no row is decoded. It needs the extra arrow.
        """,
    ("metashell lake check lake", "whether the lake is whole"),
    ("metashell lake check s3://bucket/lake -o jsonl", "each finding as an object"),
)

COMMANDS = (STATUS, LOG, CHECK)

LAKE = CommandSpec(
    name="metashell-lake",
    summary="what a lake holds, how it came to that, and whether it is whole",
    description="""
        A lake is what `metashell export --append` makes: tables of many days and clusters in one folder. Nothing here writes to it or
        locks it, and exports may run meanwhile.
        """,
    options=(shared.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="words", help="one of the commands below, and its words"),),
    first_word_ends_options=True,
    commands=COMMANDS,
    examples=tuple(each.examples[0] for each in COMMANDS),
    epilog=(("COMMANDS", shared.listed({each.name: each.summary for each in COMMANDS})), shared.EXIT_STATUS),
    files=_FILES,
)
