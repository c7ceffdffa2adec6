"""How a command declares itself: its text is help, man page and, with the declared arguments, the source of completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from metashell.options import Argument, CommandSpec, Option

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
"""An offset, a time or `end`; `-2h` is one too, and no option."""
LISTED_FIELD = "listed-field"
"""A field that `ls -l` of the paths shows."""
SETTING = "setting"
"""`KEY=VALUE` of what the path before it names."""
SET_KEY = "set-key"
"""A key that is set there."""

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
"""The same of commands that are not all about finding; of several all must hold."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the shell: what runs, its page, and its declared options and arguments.

    `split_words` reads words whose order matters, before all others are parsed: it gives the others, and what becomes `args.taken`.
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
        """Whether it may change the cluster, and asks before it does."""
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
    """Declare a command by its text, whose first line is `name - summary`; every command takes `-o`."""
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
    """The sections of a page by heading, each without its indentation."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in doc.split("\n")[1:]:
        if line and not line[0].isspace() and line.isupper():
            current = found.setdefault(line, [])
        else:
            current.append(line[4:])
    return {heading: "\n".join(lines).strip("\n") for heading, lines in found.items()}
