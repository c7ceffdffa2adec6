"""Man pages from the declared options: `python -m tools.gen_man` writes man/, `--check` only compares."""

from __future__ import annotations

import sys

from metashell import __version__
from metashell.options.front_door import TOOLS
from metashell.options.help import argument_help, option_help
from metashell.options.spec import CommandSpec, Option
from metashell.shell.commands import COMMANDS
from tools.generated import write_or_check

FOLDER = "man"
DATE = "2026-11-21"
"""The day of the release, or of the last change of what the pages say."""
HEADER = '.\\" Made by `python -m tools.gen_man`; do not edit.\n'


def pages() -> dict[str, str]:
    """Every man page, by its path in the checkout."""
    return {f"{FOLDER}/{spec.name}.1": page(spec) for spec in TOOLS.values()}


def page(spec: CommandSpec) -> str:
    parts = [
        HEADER,
        f'.TH {spec.name.upper()} 1 "{DATE}" "metashell {__version__}" "metashell"\n',
        f".SH NAME\n{text(spec.name)} \\- {text(spec.summary.rstrip('.'))}\n",
        f".SH SYNOPSIS\n{_synopsis(spec)}",
        f".SH DESCRIPTION\n{_paragraphs(spec.description)}",
    ]
    if spec.arguments:
        parts.append(".SH ARGUMENTS\n" + "".join(_entry(f"\\fI{text(a.label)}\\fR", argument_help(a)) for a in spec.arguments))
    shown = [option for option in spec.options if not option.hidden]
    parts.append(".SH OPTIONS\n" + "".join(_entry(_names(option), option_help(option)) for option in shown))
    help_names = "\\fB\\-\\-help\\fR" if spec.name == "kafka-dump-log" else "\\fB\\-h\\fR, \\fB\\-\\-help\\fR"
    parts.append(_entry(help_names, "show the help and exit"))
    if spec.name == "kafka-shell":
        parts.append(_shell_commands())
    if spec.commands:
        parts.append(".SH COMMANDS\n" + "".join(_own_command(command) for command in spec.commands))
    for heading, block in spec.epilog:
        if heading == "COMMANDS" and spec.commands:
            continue
        parts.append(f".SH {heading}\n.nf\n" + "".join(f"{_line(line)}\n" for line in block.split("\n")) + ".fi\n")
    if spec.examples:
        parts.append(".SH EXAMPLES\n" + "".join(_entry(f"\\fB{text(line)}\\fR", does) for line, does in spec.examples))
    others = sorted(name for name in TOOLS if name != spec.name)
    parts.append(".SH SEE ALSO\n" + "".join(f".BR {text(name)} (1)\n" for name in others))
    return "".join(parts)


def _synopsis(spec: CommandSpec) -> str:
    words = [f"\\fB{text(spec.name)}\\fR", "[\\fIOPTIONS\\fR]"]
    words += [text(argument.usage).replace(text(argument.label), f"\\fI{text(argument.label)}\\fR") for argument in spec.arguments]
    return " ".join(words) + "\n"


def _names(option: Option) -> str:
    names = sorted(option.names, key=lambda name: (name.startswith("--"), len(name)))
    shown = ", ".join(f"\\fB{text(name)}\\fR" for name in names)
    if option.is_flag:
        return shown
    if option.type.startswith("optional"):
        return f"{shown}[=\\fI{text(option.metavar)}\\fR]"
    return f"{shown} \\fI{text(option.metavar)}\\fR"


def _shell_commands() -> str:
    parts = [".SH COMMANDS OF THE SHELL\n"]
    for command in COMMANDS:
        parts.append(f".SS {text(command.name)} \\- {text(command.spec.summary)}\n")
        parts.append(_paragraphs(command.spec.description) if command.spec.description else "")
        own = [option for option in command.spec.options if option.dest != "output"]
        parts.append("".join(_entry(_names(option), option_help(option)) for option in own))
    return "".join(parts)


def _own_command(spec: CommandSpec) -> str:
    shown = [option for option in spec.options if not option.hidden]
    return (
        f".SS {text(spec.name)} \\- {text(spec.summary.rstrip('.'))}\n"
        + (_paragraphs(spec.description) if spec.description else "")
        + "".join(_entry(_names(option), option_help(option)) for option in shown)
        + "".join(_entry(f"\\fB{text(line)}\\fR", does) for line, does in spec.examples)
    )


def _entry(head: str, body: str) -> str:
    return f".TP\n{head}\n{_line(body)}\n"


def _paragraphs(block: str) -> str:
    paragraphs = [" ".join(paragraph.split()) for paragraph in block.strip().split("\n\n")]
    return "\n.PP\n".join(_line(paragraph) for paragraph in paragraphs) + "\n"


def _line(block: str) -> str:
    escaped = text(block)
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def text(plain: str) -> str:
    """Text as roff takes it for itself."""
    return plain.replace("\\", "\\e").replace("-", "\\-")


if __name__ == "__main__":
    sys.exit(write_or_check(pages(), FOLDER))
