"""The commands of the shell: the declaration of a command, its page, and the table that finds it.

A line in `_MODULES` registers a command and names its module, which defines `NAME_COMMAND`. `NAME_HELP` is its help and man page and,
with the declared arguments, the source of completion. The module is imported when the command is first used, so that a one-shot `cat`
does not import the others."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from metashell.common.options import Argument, CommandSpec, Option

if TYPE_CHECKING:
    COMMANDS: tuple[Command, ...]

_MODULES: Final = {
    "alter": "changes",
    "at": "diff",
    "cat": "basics",
    "cd": "basics",
    "clear": "basics",
    "count": "count",
    "create": "changes",
    "delete": "changes",
    "diff": "diff",
    "du": "count",
    "elect": "changes",
    "exit": "basics",
    "find": "find",
    "follow": "watch",
    "grep": "grep",
    "health": "health",
    "help": "basics",
    "history": "basics",
    "log": "log",
    "ls": "ls",
    "man": "basics",
    "pwd": "basics",
    "set": "changes",
    "stat": "log",
    "status": "health",
    "time": "basics",
    "timing": "basics",
    "tree": "find",
    "unregister": "changes",
    "unset": "changes",
    "watch": "watch",
    "why": "why",
}
"""The module of each command."""
NAMES: Final = tuple(_MODULES)


ALIASES = {"quit": "exit", "q": "exit", ":q": "exit", "?": "help", "rm": "delete"}
"""Names that people type out of habit; `\\q` comes here as `q`."""


def find_command(name: str) -> Command | None:
    """Return the command with exactly this name or alias, or None."""
    name = ALIASES.get(name, name)
    if name not in _MODULES:
        return None
    command: Command = getattr(import_module(f"{__name__}.{_MODULES[name]}"), f"{name.upper()}_COMMAND")
    return command


def command_names() -> list[str]:
    """Return all names, sorted."""
    return sorted(NAMES)


def unknown_command(name: str) -> str:
    """Return the message for a name that no command has."""
    from metashell.common.options import did_you_mean

    hint = did_you_mean(name, command_names()) or "; `help` lists them"
    return f"{name or repr(name)}: unknown command{hint}"


def __getattr__(name: str) -> object:
    """Return `COMMANDS`, the tuple of all commands, for help, man pages and completions."""
    if name != "COMMANDS":
        raise AttributeError(name)
    return tuple(find_command(each) for each in NAMES)


if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace

    from metashell.shell.context import Context

    Run = Callable[[Context, SimpleNamespace], None]
    SplitWords = Callable[[list[str]], tuple[list[str], object]]

FORMS = ("text", "json", "jsonl", "table", "csv", "kafka")
NODE_PATH = "node"
COMMAND_NAME = "command"
MOMENT = "moment"
"""An offset, a time or `end`. A word such as `-2h` is a moment and not an option."""
LISTED_FIELD = "listed-field"
"""A field that `ls -l` of the paths shows."""
SETTING = "setting"
"""A `KEY=VALUE` for the subject of the path before it."""
SET_KEY = "set-key"
"""A key that is set on the subject of the path before it."""

OUTPUT = Option(
    names=("--output", "-o"),
    metavar="FORM",
    type="choice",
    choices=FORMS,
    help="form of the answer",
)


WHERE = Option(
    names=("-where", "--where"),
    metavar="EXPRESSION",
    multiple=True,
    kind="expression",
    help="""such as 'partitions > 50 and "us-east" in racks', over the fields that ls -l and cat show""",
)
WHERES = WHERE._replace(names=("--where",), help=f"only what passes, {WHERE.help}")
"""The same option for commands that do more than find nodes; if it is given several times, all expressions must hold."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the shell: its function, its page, and its declared options and arguments.

    `split_words` reads words whose order matters before the others are parsed. It returns the others, and the value of `args.taken`.
    """

    name: str
    run: Run
    doc: str
    spec: CommandSpec
    split_words: SplitWords | None = None
    is_live: bool = False
    """Whether it writes as things happen, so that its answer has no end to wait for."""

    @property
    def changes_cluster(self) -> bool:
        """Return whether the command may change the cluster; such a command asks first."""
        return any(option.dest == "yes" for option in self.spec.options)


def make_command(
    run: Run,
    doc: str,
    *,
    options: tuple[Option, ...] = (),
    arguments: tuple[Argument, ...] = (),
    split_words: SplitWords | None = None,
    is_live: bool = False,
) -> Command:
    """Declare a command by its text, whose first line is `name - summary`. Every command takes `-o`."""
    head, _, _ = doc.partition("\n")
    name, _, summary = head.rstrip(".").partition(" - ")
    spec = CommandSpec(
        name=name,
        summary=summary,
        description=sections(doc).get("DESCRIPTION", ""),
        options=(*options, OUTPUT),
        arguments=arguments,
    )
    return Command(name, run, doc.strip("\n") + "\n", spec, split_words, is_live)


def sections(doc: str) -> dict[str, str]:
    """Return the sections of a page by heading, each without its indentation."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in doc.split("\n")[1:]:
        if line and not line[0].isspace() and line.isupper():
            current = found.setdefault(line, [])
        else:
            current.append(line[4:])
    return {heading: "\n".join(lines).strip("\n") for heading, lines in found.items()}


_DESCRIPTION = "\nDESCRIPTION\n"
_EXAMPLES = "\nEXAMPLES\n"
_WIDTH = 80
_WIDTH_MAX = 100


def command_page(command: Command, width: int | None = None) -> str:
    """Return the page that `man` and `--help` print. Units: `width` in columns, None without a terminal, which gives 80."""
    from metashell.common.option_parser import aligned_columns, argument_help, filled_paragraphs, option_help, option_names

    width = min(width or _WIDTH, _WIDTH_MAX)
    rows = [(option_names(option), option_help(option)) for option in command.spec.options]
    rows.append(("--help", "show this text and exit"))
    described = [(argument.label, argument_help(argument)) for argument in command.spec.arguments]
    blocks = f"\nARGUMENTS\n{aligned_columns(described, width)}" if described else ""
    blocks += f"\nOPTIONS\n{aligned_columns(rows, width)}"
    head, found, tail = command.doc.partition(_EXAMPLES)
    start, heading, description = head.partition(_DESCRIPTION)
    return start + heading + (filled_paragraphs(description, width, 4) if heading else "") + blocks + found + tail
