"""Completions for bash, zsh and fish from the declared options: `python -m tools.gen_completions` writes them to completions/.

The build of a wheel makes them by itself (setup.py), and `metashell completion` in a source tree (`--print SHELL`).

Options, their choices, commands, reports, tables and record types are static, so that a key costs no start of Python. Only paths inside
the metadata are asked for, from `kafka-shell ls`, when the line names what to open.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from metashell.cli.main import KAFKA_NAMES, SUBCOMMANDS
from metashell.common.options import Argument, CommandSpec, Option
from metashell.disk.names import KNOWN_LOGS
from metashell.groups.simulation import STRATEGIES
from metashell.inspect.dump.inputs import type_names
from metashell.shell.commands import COMMANDS
from metashell.tables.dictionary import listed_tables, table_names
from tools.gen_man import with_own_options
from tools.generated import ROOT, write
from tools.tool_list import TOOLS

FOLDER = "completions"
HEADER = "# Made by `python -m tools.gen_completions`; do not edit.\n"
TEMPLATES = ROOT / "completions"
CALLED = tuple(dict.fromkeys((*SUBCOMMANDS, *KAFKA_NAMES)))
"""What `metashell` and `metashell kafka` call by its first word."""
HELP = Option(names=("--help", "-h"), type="flag", help="show the help and exit")
KAFKA_ONE_SHOT = ("cat", "find", "ls", "tree")


class Kind(NamedTuple):
    """What a word may be: `files`, `nodes`, `nothing`, one of `words`, a `list` of them between commas, or a command after which
    another line begins: one of the shell's `commands`, of our `tools`, or of the tool's `own`."""

    name: str
    words: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return " ".join((self.name, *self.words))


class Line(NamedTuple):
    """A command with its options, and the kind of each of its words; the last kind stands for all that follow.

    Shape: `label` is `dump-log`, `metashell-storage:format` or `command:ls`.
    """

    label: str
    spec: CommandSpec
    options: tuple[Option, ...]
    kinds: tuple[Kind, ...]

    @property
    def function(self) -> str:
        """The label as the name of a shell function."""
        return self.label.replace("-", "_").replace(":", "_")

    def takes_value(self, option: Option) -> bool:
        return not option.is_flag and not option.type.startswith("optional")


NOTHING = Kind("nothing")


def files() -> dict[str, str]:
    """Every completion script, by its path in the checkout. Shells look for one by the name of the command; all of these lead to one."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    found = {
        f"{FOLDER}/bash/metashell": bash(),
        f"{FOLDER}/zsh/_metashell": zsh(),
        f"{FOLDER}/fish/metashell.fish": fish(),
    }
    for name in sorted(set(scripts) - {"metashell"}):
        found[f"{FOLDER}/bash/{name}"] = HEADER + '. "${BASH_SOURCE[0]%/*}/metashell"\n'
        found[f"{FOLDER}/fish/{name}.fish"] = HEADER + "source (status dirname)/metashell.fish\n"
    return found


def lines() -> Iterator[Line]:
    """Every line that can be completed."""
    for spec in TOOLS.values():
        yield line_of(spec.name, with_own_options(spec))
        for command in spec.commands:
            yield line_of(f"{spec.name}:{command.name}", command)
    for shell_command in COMMANDS:
        yield line_of(f"command:{shell_command.name}", shell_command.spec)


def line_of(label: str, spec: CommandSpec) -> Line:
    # Kafka's dump-log knows no short options.
    help_option = HELP if spec.name != "kafka-dump-log" else HELP._replace(names=("--help",))
    options = (*(option for option in spec.options if not option.hidden), help_option)
    if spec.commands:
        return Line(label, spec, options, (Kind("own", tuple(command.name for command in spec.commands)), NOTHING))
    kinds = [kind_of(argument, spec) for argument in spec.arguments]
    repeats = bool(spec.arguments) and spec.arguments[-1].nargs in "*+"
    return Line(label, spec, options, (*kinds, *(() if repeats else (NOTHING,))))


def kind_of(item: Option | Argument, spec: CommandSpec) -> Kind:
    """The kind of an option's value, or of a word."""
    if item.choices:
        return Kind("words", item.choices)
    if item.kind == "command":
        names = KAFKA_ONE_SHOT if spec.voice == "kafka" else tuple(command.name for command in COMMANDS)
        return Kind("commands" if spec.name in TOOLS else "words", names)
    return KINDS[item.kind]() if item.kind in KINDS else NOTHING


def record_types() -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for log in KNOWN_LOGS for name in type_names(log).values()))


KINDS: dict[str, Callable[[], Kind]] = {
    "file": lambda: Kind("files"),
    "source": lambda: Kind("files"),
    "node": lambda: Kind("nodes"),
    "subcommand": lambda: Kind("tools", tuple(SUBCOMMANDS)),
    "kafka-name": lambda: Kind("tools", KAFKA_NAMES),
    "record-type": lambda: Kind("list", record_types()),
    "table": lambda: Kind("list", ("all", *table_names())),
    "any-table": lambda: Kind("list", ("all", *listed_tables())),
    "strategy": lambda: Kind("list", tuple(STRATEGIES)),
}


def tool_of(subcommand: str) -> str:
    """The name of the tool that `metashell SUBCOMMAND` calls."""
    return "kafka-shell" if subcommand == "shell" else subcommand if subcommand in TOOLS else f"metashell-{subcommand}"


def one_line(text: str) -> str:
    """A description as shells take it inside single quotes."""
    return " ".join(text.split()).replace("'", "’")


def _filled(template_name: str, **parts: str) -> str:
    text = (TEMPLATES / f"{template_name}.in").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"@{name.upper()}@", part.rstrip("\n"))
    return text


# --- bash ---------------------------------------------------------------------------------------------------------------


def bash() -> str:
    tools = "".join(f"        {name}) _metashell_table {tool_of(name)} ;;\n" for name in CALLED)
    return HEADER + _filled("bash", tables="".join(map(_bash_case, lines())), tools=tools, names=" ".join(TOOLS))


def _bash_case(line: Line) -> str:
    """What bash needs of a line: its options, what those of them that take a value take, and what its words are."""
    words = " ".join(name for option in line.options for name in option.names)
    rows = [f"        {line.label})", f"            _metashell_options='{words}'"]
    for option in filter(line.takes_value, line.options):
        rows += [f"            _metashell_values[{name}]='{kind_of(option, line.spec).text}'" for name in option.names]
    rows += ["            _metashell_words=(" + " ".join(f"'{kind.text}'" for kind in line.kinds) + ")", "            ;;"]
    return "\n".join(rows) + "\n"


# --- zsh ----------------------------------------------------------------------------------------------------------------


def zsh() -> str:
    tools = "".join(f"        {name}) _metashell_line_{line_of(tool_of(name), HELP_SPEC).function} ;;\n" for name in CALLED)
    dispatch = "".join(f"        {name}) _metashell_line_{line_of(name, HELP_SPEC).function} ;;\n" for name in TOOLS)
    functions = "".join(map(_zsh_function, lines()))
    return (
        f"#compdef {' '.join(TOOLS)}\n"
        + HEADER
        + _filled("zsh", functions=functions, tools=tools, dispatch=dispatch, names=" ".join(TOOLS))
    )


HELP_SPEC = CommandSpec(name="", summary="")


def _zsh_function(line: Line) -> str:
    rows = [f"        {row} \\" for option in line.options for row in _zsh_option(option, line)]
    rows += [f"        {' '.join(_zsh_words(line))}"]
    # Options end where a command of its own begins.
    flags = "-s -S -A '-*'" if line.spec.first_word_ends_options else "-s -S"
    return f"_metashell_line_{line.function}() {{\n    _arguments {flags} \\\n" + "\n".join(rows) + "\n}\n\n"


def _zsh_option(option: Option, line: Line) -> list[str]:
    help_text = one_line(option.help).replace("[", "(").replace("]", ")").replace(":", "\\:")
    repeat = "*" if option.multiple else ""
    if not line.takes_value(option):
        return [f"'{repeat}{name}[{help_text}]'" for name in option.names]
    action = _zsh_action(kind_of(option, line.spec), line)
    metavar = option.metavar.replace(":", "\\:")
    return [f"'{repeat}{name}{'=' if name.startswith('--') else ''}[{help_text}]:{metavar}:{action}'" for name in option.names]


def _zsh_words(line: Line) -> Iterator[str]:
    for place, kind in enumerate(line.kinds, 1):
        label = line.spec.arguments[place - 1].label if place <= len(line.spec.arguments) else " "
        action = _zsh_action(kind, line)
        if kind.name in ("commands", "tools", "own"):
            first = f"({' '.join(kind.words)})"
            if kind.name == "commands":
                first = f' _alternative "commands:command:{first}" files:file:_files'
            yield f"'1:command:{first}' '*::word:{action}'"
            return
        yield f"'{place if place < len(line.kinds) else '*'}:{label}:{action}'"


def _zsh_action(kind: Kind, line: Line) -> str:
    match kind.name:
        case "words":
            return f"({' '.join(kind.words)})"
        case "list":
            return f" _values -s , value {' '.join(kind.words)}"
        case "commands" | "own":
            return f" _metashell_line_after {'command' if kind.name == 'commands' else line.function}"
        case "tools":
            return "_metashell_tool"
        case _:
            return {"files": "_files", "nodes": "_metashell_nodes"}.get(kind.name, "()")


# --- fish ---------------------------------------------------------------------------------------------------------------


def fish() -> str:
    tools = "".join(f"        case {name}\n            echo {tool_of(name)}\n" for name in CALLED)
    rows = [row for spec in TOOLS.values() for row in _fish_tool(spec)]
    valued = ""
    for line in lines():
        names = " ".join(name for option in filter(line.takes_value, line.options) for name in option.names)
        if names and not line.label.startswith("command:"):
            valued += f"        case {line.label}\n            string split ' ' -- '{names}'\n"
    return HEADER + _filled("fish", valued=valued, tools=tools, completions="\n".join(rows) + "\n")


def _fish_tool(spec: CommandSpec) -> Iterator[str]:
    line = line_of(spec.name, spec)
    starts_line = line.kinds[0].name in ("commands", "tools", "own")
    yield f"complete -c {spec.name} -f"
    yield from _fish_line(spec.name, line, "-n '__metashell_words_are 0' " if starts_line else "")
    match line.kinds[0].name:
        case "commands":
            # A first word that is no command is the path to open.
            yield f"complete -c {spec.name} -n '__metashell_words_are 0' -F"
            followers = [command.spec for command in COMMANDS if command.name in line.kinds[0].words]
        case "own":
            followers = list(spec.commands)
        case "tools":
            followers = []
            for name in line.kinds[0].words:
                summary = TOOLS[tool_of(name)].summary if tool_of(name) in TOOLS else SUBCOMMANDS[name][1]
                yield f"complete -c {spec.name} -n '__metashell_words_are 0' -x -a {name} -d '{one_line(summary)}'"
            yield f"complete -c {spec.name} -n 'not __metashell_words_are 0' -x -a '(__metashell_of_tool)'"
        case _:
            followers = []
    for follower in followers:
        yield f"complete -c {spec.name} -n '__metashell_words_are 0' -x -a {follower.name} -d '{one_line(follower.summary)}'"
        after = line_of(f"{spec.name}:{follower.name}", follower)
        if spec.voice == "kafka" and line.kinds[0].name == "commands":
            after = after._replace(options=())
        yield from _fish_line(spec.name, after, f"-n '__metashell_command_is {follower.name}' ")


def _fish_line(tool: str, line: Line, condition: str) -> Iterator[str]:
    """The options of a line, and its words by their places."""
    yield from (f"complete -c {tool} {condition}{_fish_option(option, line)}" for option in line.options)
    before = 1 if line.label.partition(":")[2] else 0
    for place, kind in enumerate(line.kinds):
        arguments = _fish_arguments(kind)
        if not arguments or kind.name in ("commands", "tools", "own"):
            continue
        name = "__metashell_words_are" if place < len(line.kinds) - 1 else "__metashell_words_are_at_least"
        where = f"{condition[4:-2]}; and {name} {place + before}" if condition else f"{name} {place + before}"
        yield f"complete -c {tool} -n '{where}' {arguments}"


def _fish_option(option: Option, line: Line) -> str:
    parts = []
    for name in option.names:
        form = "-l" if name.startswith("--") else "-s" if len(name) == 2 else "-o"
        parts.append(f"{form} {name.lstrip('-')}")
    if line.takes_value(option):
        kind = kind_of(option, line.spec)
        parts.append("-r -F" if kind.name == "files" else _fish_arguments(kind) or "-x")
    return f"{' '.join(parts)} -d '{one_line(option.help)}'"


def _fish_arguments(kind: Kind) -> str:
    match kind.name:
        case "files":
            return "-F"
        case "nodes":
            return "-x -a '(__metashell_nodes)'"
        case "words":
            return f"-x -a '{' '.join(kind.words)}'"
        case "list":
            return f"-x -a '(__fish_append , {' '.join(kind.words)})'"
        case _:
            return ""


if __name__ == "__main__":
    if sys.argv[1:2] == ["--print"]:
        sys.stdout.write({"bash": bash, "zsh": zsh, "fish": fish}[sys.argv[2]]())
    else:
        write(files())
