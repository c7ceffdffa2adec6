"""The text of `--help`, made from a declared command: usage, description, options in aligned columns, examples."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metashell.options.spec import Argument, CommandSpec, Option

_INDENT = 4
_COLUMN_MAX = 30


def synopsis(spec: CommandSpec) -> str:
    """One line that shows how the command is called: `ls [OPTIONS] [PATH...]`."""
    words = [spec.name, *(["[OPTIONS]"] if any(not option.hidden for option in spec.options) else [])]
    return " ".join(words + [argument.usage for argument in spec.arguments])


def render_help(spec: CommandSpec, width: int | None = None) -> str:
    """The help of a command, newline at the end.

    Units: `width` in columns; by default that of the terminal, 100 at most, 80 where there is none.
    """
    width = width or _terminal_width()
    parts = [paragraphs(f"{spec.name} - {spec.summary}", width, 0), f"\nUSAGE\n    {synopsis(spec)}\n"]
    if spec.description:
        parts.append("\nDESCRIPTION\n" + paragraphs(spec.description, width, _INDENT))
    if spec.arguments:
        parts.append("\nARGUMENTS\n" + table([(a.label, argument_help(a)) for a in spec.arguments], width))
    rows = [(option_names(option), option_help(option)) for option in spec.options if not option.hidden]
    parts.append("\nOPTIONS\n" + table([*rows, ("-h, --help", "show this text and exit")], width))
    for heading, text in spec.epilog:
        parts.append(f"\n{heading}\n" + "".join(_hung(line, width) for line in text.split("\n")))
    if spec.examples:
        parts.append("\nEXAMPLES\n" + "".join(f"    {line}\n        {does}\n" for line, does in spec.examples))
    return "".join(parts)


def _hung(line: str, width: int) -> str:
    """A line of `name  what it means`, or one that is indented; where it is too long, what follows hangs below the meaning."""
    from re import match
    from textwrap import wrap

    found = match(r"\S+(?: \S+)*\s{2,}|\s*", line)
    assert found is not None
    if _INDENT + len(line) <= width:
        return f"    {line}\n" if line else "\n"
    name = found[0]
    lead = " " * (_INDENT + len(name))
    filled = wrap(line[len(name) :], max(20, width - len(lead)), break_on_hyphens=False)
    return f"    {name}" + f"\n{lead}".join(filled) + "\n"


def option_names(option: Option) -> str:
    """The spellings of an option, short ones first: `-o, --output FORM`."""
    names = ", ".join(sorted(option.names, key=lambda name: (name.startswith("--"), len(name))))
    if option.is_flag:
        return names
    if option.type.startswith("optional"):
        return f"{names}[={option.metavar}]"
    return f"{names} {option.metavar}"


def option_help(option: Option) -> str:
    """The help of an option, with its choices and default."""
    # Some of Kafka's own words have line ends in them, which only its own help keeps.
    text = " ".join(option.help.split())
    if option.choices and not option.type.startswith("optional"):
        text += f": {', '.join(option.choices)}"
    notes = ["may be repeated"] if option.multiple else []
    if option.default not in (None, False, ""):
        notes.append(f"default {_size_text(option.default) if option.type == 'size' else option.default}")
    if option.required:
        notes.append("required")
    return f"{text} ({'; '.join(notes)})" if notes else text


def _size_text(size: object) -> str:
    if isinstance(size, int) and size % (1 << 20) == 0:
        return f"{size >> 20}M"
    return str(size)


def argument_help(argument: Argument) -> str:
    """The help of an argument, with its choices."""
    return argument.help + (f": {', '.join(argument.choices)}" if argument.choices else "")


def paragraphs(text: str, width: int, indent: int) -> str:
    """Paragraphs (separated by an empty line), filled to `width` and indented."""
    from textwrap import fill

    lead = " " * indent
    filled = [
        fill(" ".join(paragraph.split()), width, initial_indent=lead, subsequent_indent=lead, break_on_hyphens=False)
        for paragraph in text.strip().split("\n\n")
    ]
    return "\n\n".join(filled) + "\n"


def table(rows: list[tuple[str, str]], width: int) -> str:
    """Names and what they mean in two columns, the second one filled to `width`."""
    from textwrap import wrap

    column = min(max(len(name) for name, _ in rows), _COLUMN_MAX) + 2
    lines = []
    for name, text in rows:
        filled = wrap(text, max(20, width - _INDENT - column), break_on_hyphens=False) or [""]
        if len(name) + 2 > column:
            lines.append(f"    {name}")
            lines += [" " * (_INDENT + column) + line for line in filled]
        else:
            lines.append(f"    {name:<{column}}{filled[0]}".rstrip())
            lines += [" " * (_INDENT + column) + line for line in filled[1:]]
    return "\n".join(lines) + "\n"


def _terminal_width() -> int:
    from shutil import get_terminal_size

    return max(40, min(get_terminal_size((80, 24)).columns, 100))
