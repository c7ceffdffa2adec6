"""Man pages from the declared options: `python -m tools.gen_man` writes man/. The build of a wheel makes them by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import wrap

from metashell import __version__
from metashell.cli.inspect.kafka_shell import full_spec
from metashell.cli.shell_options import SHELL_COMMANDS
from metashell.common.option_parser import argument_help, option_help
from metashell.common.options import CommandSpec, Option
from metashell.shell.commands import COMMANDS
from tools.generated import write
from tools.tool_list import TOOLS

FOLDER = "man"
DATE = "2026-11-22"
"""The day of the release, or of the last change of what the pages say."""
LINE_MAX = 78
"""Columns of a line of roff's input."""
HEADER = '.\\" Made by `python -m tools.gen_man`; do not edit.\n'


def pages() -> dict[str, str]:
    """Every man page, by its path in the checkout."""
    return {f"{FOLDER}/{spec.name}.1": page(with_own_options(spec)) for spec in TOOLS.values()}


def with_own_options(spec: CommandSpec) -> CommandSpec:
    """The spec of a command of kafka-shell that stands by itself, with the options that it has there; any other as it is."""
    name = spec.name.removeprefix("metashell-")
    return full_spec(name)._replace(name=spec.name) if SHELL_COMMANDS.get(name) is spec else spec


def page(spec: CommandSpec) -> str:
    parts = [
        HEADER,
        f'.TH {spec.name.upper()} 1 "{DATE}" "metashell {__version__}" "metashell"\n',
        # Words are long here (options, paths, ids): neither stretched nor hyphenated.
        ".nh\n.ad l\n",
        f".SH NAME\n{_filled(f'{spec.name} - ' + spec.summary.rstrip('.'))}",
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
        parts.append(f".SH {heading}\n{_block(block)}")
    parts.append(_named("ENVIRONMENT", _environment(spec)))
    parts.append(_named("FILES", spec.files))
    if spec.examples:
        parts.append(".SH EXAMPLES\n" + "".join(_entry(f"\\fB{text(line)}\\fR", does) for line, does in spec.examples))
    others = sorted(name for name in TOOLS if name != spec.name)
    parts.append(".SH SEE ALSO\n" + "".join(f".BR {text(name)} (1)\n" for name in others))
    return "".join(parts)


def _environment(spec: CommandSpec) -> tuple[tuple[str, str], ...]:
    names = [name for name, _ in spec.environment]
    return spec.environment if "COLUMNS" in names else (*spec.environment, ("COLUMNS", "width of the help"))


def _named(heading: str, entries: Iterable[tuple[str, str]]) -> str:
    return f".SH {heading}\n" + "".join(_entry(f"\\fI{text(name)}\\fR", does) for name, does in entries)


def _synopsis(spec: CommandSpec) -> str:
    # What has a page of its own is called behind the front door.
    called = spec.name.replace("metashell-", "metashell ")
    words = [f"\\fB{text(called)}\\fR", "[\\fIOPTIONS\\fR]"]
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


def _block(block: str) -> str:
    """Lines of `name  what it means` as entries, other lines as they are."""
    found = [re.fullmatch(r"(\S+(?: \S+)*) {2,}(.+)", line) for line in block.split("\n")]
    if all(found):
        return "".join(_entry(f"\\fB{text(match[1])}\\fR", match[2]) for match in found if match)
    return ".nf\n" + "".join(f"{_protected(text(line))}\n" for line in block.split("\n")) + ".fi\n"


def _entry(head: str, body: str) -> str:
    # A head is one line; what is cut there goes on behind the backslash.
    lines = wrap(head, LINE_MAX - 1, break_long_words=False, break_on_hyphens=False)
    return ".TP\n" + " \\\n".join(map(_protected, lines)) + f"\n{_filled(body)}"


def _paragraphs(block: str) -> str:
    return ".PP\n".join(_filled(paragraph) for paragraph in block.strip().split("\n\n"))


def _filled(plain: str) -> str:
    """A paragraph, each sentence and each line of it on a line of its own."""
    sentences = re.split(r"(?<=[.:;?!]) +(?=[A-Z])", " ".join(plain.split()))
    lines = [line for sentence in sentences for line in wrap(text(sentence), LINE_MAX, break_long_words=False, break_on_hyphens=False)]
    return "".join(f"{_protected(line)}\n" for line in lines)


def _protected(line: str) -> str:
    """A line that roff does not take for a request."""
    return f"\\&{line}" if line[:1] in (".", "'") else line


def text(plain: str) -> str:
    """Text as roff takes it for itself; a word that is longer than a line may be broken behind a comma."""
    escaped = plain.replace("\\", "\\e").replace("-", "\\-").replace("—", "\\(em")
    return re.sub(rf"\S{{{LINE_MAX},}}", lambda match: match[0].replace(",", ",\\:"), escaped)


if __name__ == "__main__":
    write(pages())
