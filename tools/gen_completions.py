"""Completions for bash, zsh and fish from the declared options: `python -m tools.gen_completions`, `--check` only compares.

Options, their choices, files and commands are static, so completing them starts no Python. Only paths inside the metadata come from
`kafka-shell ls`, when the line says what to open.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from metashell.options.front_door import TOOLS
from metashell.options.spec import Argument, CommandSpec, Option
from metashell.options.subcommands import SUBCOMMANDS
from metashell.shell.commands import COMMANDS
from tools.generated import ROOT, write_or_check

FOLDER = "completions"
HEADER = "# Made by `python -m tools.gen_completions`; do not edit.\n"
TEMPLATES = ROOT / "tools" / "completion_templates"
HELP = Option(names=("--help", "-h"), type="flag", help="show the help and exit")
KAFKA_ONE_SHOT = ("cat", "find", "ls", "tree")


def files() -> dict[str, str]:
    """Every completion script, by its path in the checkout."""
    return {
        f"{FOLDER}/bash/metashell": bash(),
        f"{FOLDER}/zsh/_metashell": zsh(),
        f"{FOLDER}/fish/metashell.fish": fish(),
    }


def tools() -> Iterable[CommandSpec]:
    return (flattened(spec) for spec in TOOLS.values())


def flattened(spec: CommandSpec) -> CommandSpec:
    """A tool with commands of its own as one that has the options of them all, and their names as its first word."""
    if not spec.commands:
        return spec
    options = {option.dest: option for command in spec.commands for option in command.options}
    names = tuple(command.name for command in spec.commands)
    word = Argument(name="command", kind="own-command", choices=names, help="the command")
    return spec._replace(options=(*options.values(), *spec.options), arguments=(word,), first_word_ends_options=False)


def options_of(spec: CommandSpec) -> list[Option]:
    # Kafka's dump-log knows no short options.
    help_option = HELP if spec.name != "kafka-dump-log" else HELP._replace(names=("--help",))
    return [*(option for option in spec.options if not option.hidden), help_option]


def one_line(text: str) -> str:
    """A description as shells take it inside single quotes."""
    return text.replace("'", "’")


# --- bash ---------------------------------------------------------------------------------------------------------------


def bash() -> str:
    template = (TEMPLATES / "bash").read_text(encoding="utf-8")
    tables = "".join(_bash_case(spec.name, spec) for spec in tools())
    commands = "".join(_bash_case(f"command:{command.name}", command.spec) for command in COMMANDS)
    return HEADER + _filled(template, {"TABLES": tables + commands, "NAMES": " ".join(spec.name for spec in tools())})


def _bash_case(label: str, spec: CommandSpec) -> str:
    """What bash needs of a command: its options, which of them take what, and what its words are."""
    words = " ".join(name for option in options_of(spec) for name in option.names)
    lines = [f"        {label})", f"            _metashell_options='{words}'"]
    for option in options_of(spec):
        if not option.is_flag and not option.type.startswith("optional"):
            lines += [f"            _metashell_values[{name}]='{_bash_value(option)}'" for name in option.names]
    lines += [f"            _metashell_words='{_bash_words(spec)}'", "            ;;"]
    return "\n".join(lines) + "\n"


def _bash_value(option: Option) -> str:
    if option.choices:
        return "words " + " ".join(option.choices)
    return "files" if option.kind == "file" else "nothing"


def _bash_words(spec: CommandSpec) -> str:
    kinds = {"file": "files", "node": "nodes", "subcommand": "subcommands " + " ".join(SUBCOMMANDS)}
    argument = _positional(spec)
    if argument is None:
        return "nothing"
    if argument.kind == "command":
        return _command_kind(spec)
    if argument.kind == "own-command":
        return "words " + " ".join(argument.choices)
    return kinds.get(argument.kind, "nothing")


def _command_kind(spec: CommandSpec) -> str:
    names = KAFKA_ONE_SHOT if spec.voice == "kafka" else tuple(command.name for command in COMMANDS)
    kind = "words" if spec.name not in TOOLS else "commands"
    return f"{kind} {' '.join(names)}"


def _positional(spec: CommandSpec) -> Argument | None:
    return spec.arguments[0] if spec.arguments else None


# --- zsh ----------------------------------------------------------------------------------------------------------------


def zsh() -> str:
    template = (TEMPLATES / "zsh").read_text(encoding="utf-8")
    functions = "".join(_zsh_function(spec.name, spec) for spec in tools())
    functions += "".join(_zsh_function(f"shell_{command.name}", command.spec) for command in COMMANDS)
    dispatch = "".join(f"    {spec.name}) _metashell_tool_{_identifier(spec.name)} ;;\n" for spec in tools())
    names = " ".join(spec.name for spec in tools())
    return f"#compdef {names}\n" + HEADER + _filled(template, {"FUNCTIONS": functions, "DISPATCH": dispatch})


def _identifier(name: str) -> str:
    return name.replace("-", "_")


def _zsh_function(name: str, spec: CommandSpec) -> str:
    lines = [f"        {line} \\" for option in options_of(spec) for line in _zsh_option(option)]
    lines += [f"        {_zsh_positional(spec)}"]
    body = "\n".join(lines)
    # Options end where a command of its own begins.
    flags = "-s -S -A '-*'" if spec.first_word_ends_options else "-s -S"
    return f"_metashell_tool_{_identifier(name)}() {{\n    _arguments {flags} \\\n{body}\n}}\n\n"


def _zsh_option(option: Option) -> list[str]:
    help_text = one_line(option.help).replace("[", "(").replace("]", ")").replace(":", "\\:")
    repeat = "*" if option.multiple else ""
    if option.is_flag or option.type.startswith("optional"):
        return [f"'{repeat}{name}[{help_text}]'" for name in option.names]
    action = f"({' '.join(option.choices)})" if option.choices else "_files" if option.kind == "file" else " "
    metavar = option.metavar.replace(":", "\\:")
    return [f"'{repeat}{name}{'=' if name.startswith('--') else ''}[{help_text}]:{metavar}:{action}'" for name in option.names]


def _zsh_positional(spec: CommandSpec) -> str:
    argument = _positional(spec)
    if argument is None:
        return "'*: :'"
    if argument.kind == "command" and spec.name in TOOLS:
        names = KAFKA_ONE_SHOT if spec.voice == "kafka" else tuple(command.name for command in COMMANDS)
        return f"'1:command:({' '.join(names)})' '*::word:_metashell_shell_words'"
    if argument.kind == "own-command":
        return f"'1:command:({' '.join(argument.choices)})' '*: :'"
    if argument.kind == "subcommand":
        return f"'1:command:({' '.join(SUBCOMMANDS)})' '*::word:_metashell_subcommand'"
    actions = {"file": "_files", "node": "_metashell_nodes", "command": f"({' '.join(command.name for command in COMMANDS)})"}
    return f"'*:{argument.label}:{actions.get(argument.kind, ' ')}'"


# --- fish ---------------------------------------------------------------------------------------------------------------


def fish() -> str:
    template = (TEMPLATES / "fish").read_text(encoding="utf-8")
    lines: list[str] = []
    for spec in tools():
        lines += _fish_tool(spec)
    return HEADER + _filled(template, {"COMPLETIONS": "\n".join(lines) + "\n"})


def _fish_tool(spec: CommandSpec) -> list[str]:
    argument = _positional(spec)
    takes_commands = spec.first_word_ends_options or (argument is not None and argument.kind == "command")
    condition = "-n '__metashell_no_word' " if takes_commands else ""
    lines = [f"complete -c {spec.name} -f"] if argument is None or argument.kind != "file" else []
    lines += [f"complete -c {spec.name} {condition}{_fish_option(option)}" for option in options_of(spec)]
    if argument is not None and argument.kind == "command":
        lines += _fish_commands(spec)
    lines += [
        f"complete -c {spec.name} -n '__metashell_no_word' -x -a {command.name} -d '{one_line(command.summary)}'"
        for command in spec.commands
    ]
    if argument is not None and argument.kind == "subcommand":
        lines += [
            f"complete -c {spec.name} -n '__metashell_no_word' -x -a {name} -d '{one_line(summary)}'"
            for name, (_, summary) in SUBCOMMANDS.items()
        ]
    return lines


def _fish_commands(spec: CommandSpec) -> list[str]:
    commands = [c for c in COMMANDS if spec.voice != "kafka" or c.name in KAFKA_ONE_SHOT]
    lines = []
    for command in commands:
        condition = f"-n '__metashell_word {command.name}'"
        summary = one_line(command.spec.summary)
        lines.append(f"complete -c {spec.name} -n '__metashell_no_word' -x -a {command.name} -d '{summary}'")
        if spec.voice != "kafka":
            lines += [f"complete -c {spec.name} {condition} {_fish_option(option)}" for option in options_of(command.spec)]
        argument = _positional(command.spec)
        if argument is not None and argument.kind == "node":
            lines.append(f"complete -c {spec.name} {condition} -x -a '(__metashell_nodes)'")
    return lines


def _fish_option(option: Option) -> str:
    parts = []
    for name in option.names:
        form = "-l" if name.startswith("--") else "-s" if len(name) == 2 else "-o"
        parts.append(f"{form} {name.lstrip('-')}")
    if option.choices and not option.type.startswith("optional"):
        parts.append(f"-x -a '{' '.join(option.choices)}'")
    elif not option.is_flag and not option.type.startswith("optional"):
        parts.append("-r -F" if option.kind == "file" else "-x")
    return f"{' '.join(parts)} -d '{one_line(option.help)}'"


def _filled(template: str, parts: dict[str, str]) -> str:
    for name, text in parts.items():
        template = template.replace(f"@{name}@", text.rstrip("\n"))
    return template


if __name__ == "__main__":
    sys.exit(write_or_check(files(), FOLDER))
