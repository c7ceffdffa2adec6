"""Parses the command lines of our own commands, and renders their help.

Options may precede, follow or interrupt positional words; `--name value`, `--name=value` and joined short flags all work; `--` ends the
options. Click is imported by the first call, not with this module."""

from __future__ import annotations

from re import match
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from metashell.common.errors import UsageError
from metashell.common.options import convert_value, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.common.options import Argument, CommandSpec, Option


HELP_NAMES = ("--help", "-h")
_OPTIONAL_TYPES = ("optional-choice", "optional-int")


class HelpRequested(Exception):
    """`--help` was among the words; its text is the message."""


def parse_command(spec: CommandSpec, argv: Sequence[str]) -> SimpleNamespace:
    """The values of a command line, one attribute per declared option and argument.

    Shape: flags are bool; `multiple` options and arguments of many words are tuples; absent options have their default. With
    `first_word_ends_options`, the unparsed words are the value of the one declared argument.
    Errors: UsageError in one line without the command's name; HelpRequested.
    """
    context = _make_context(spec, _with_implied_values(spec, argv))
    if context.params.get("help"):
        raise HelpRequested(render_help(spec))
    values = SimpleNamespace()
    for option in spec.options:
        setattr(values, option.dest, _option_value(option, context.params[option.dest]))
    _refuse_rivals(spec, values)
    _set_arguments(spec, list(context.args), values)
    return values


def _refuse_rivals(spec: CommandSpec, values: SimpleNamespace) -> None:
    given: dict[str, str] = {}
    for option in spec.options:
        if option.exclusive and getattr(values, option.dest):
            rival = given.setdefault(option.exclusive, option.names[0])
            if rival != option.names[0]:
                raise UsageError(f"{rival} and {option.names[0]} exclude each other", option.names[0])


def _with_implied_values(spec: CommandSpec, argv: Sequence[str]) -> list[str]:
    """The words with `--batches` as `--batches=also`, because Click has no options whose value may be missing.

    A number that follows an `optional-int` as the next word is its value.
    """
    implied = {name: option for option in spec.options if option.type in _OPTIONAL_TYPES for name in option.names}
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*words, word, *rest]
        option = implied.get(word)
        if option is not None:
            is_followed = option.type == "optional-int" and bool(rest) and rest[0].isascii() and rest[0].isdigit()
            word = f"{word}={rest.pop(0) if is_followed else option.choices[0]}"
        words.append(word)
    return words


def _make_context(spec: CommandSpec, argv: list[str]) -> Any:
    from click import exceptions

    command = _make_command(spec)
    try:
        return command.make_context(spec.name, list(argv))
    except exceptions.NoSuchOption as error:
        raise _unknown_option(spec, error.option_name, argv) from None
    except exceptions.BadOptionUsage as error:
        wants = "needs a" if "requires" in error.message else "takes no"
        raise UsageError(f"option {error.option_name} {wants} value", error.option_name) from None
    except exceptions.UsageError as error:
        raise UsageError(error.format_message().rstrip(".")) from None


def _make_command(spec: CommandSpec) -> Any:
    from click.core import Command
    from click.core import Option as ClickOption

    # Click gets no types: we convert the words after parsing, so that messages name the value and suggest another one.
    params = [
        ClickOption(
            param_decls=[option.dest, *option.names],
            type=None if option.is_flag else str,
            is_flag=option.is_flag,
            default=False if option.is_flag else None,
            multiple=option.multiple and not option.is_flag,
        )
        for option in spec.options
    ]
    free_help_names = [name for name in HELP_NAMES if not any(name in option.names for option in spec.options)]
    params.append(ClickOption(param_decls=["help", *free_help_names], is_flag=True, default=False))
    return Command(
        name=spec.name,
        params=list(params),
        add_help_option=False,
        context_settings={
            "allow_extra_args": True,
            "allow_interspersed_args": not spec.first_word_ends_options,
        },
    )


def _unknown_option(spec: CommandSpec, name: str, argv: list[str]) -> UsageError:
    known = [name for option in spec.options if not option.hidden for name in option.names] + ["--help"]
    if len(name) == 2:
        # Click takes `-maxdepth` (find) and `-daemon` (Kafka) for clusters of short flags: name the whole word instead.
        name = next((word for word in argv if word.startswith(name)), name)
    return UsageError(f"unknown option {name}{did_you_mean(name, known) if len(name) > 2 else ''}", name)


def _option_value(option: Option, raw: Any) -> object:
    if option.is_flag:
        return bool(raw)
    if option.multiple:
        return tuple(_convert(option, text) for text in raw or ())
    if raw is None:
        if option.required:
            raise UsageError(f"option {option.names[0]} is required", option.names[0])
        # The default of a duration is a word (`10m`), because help shows it.
        return _convert(option, option.default) if option.type == "duration" and isinstance(option.default, str) else option.default
    return _convert(option, raw)


def _convert(option: Option, text: str) -> object:
    try:
        return convert_value(option.type, text, option.choices)
    except UsageError as error:
        raise UsageError(f"option {option.names[0]}: {error}", text) from None


def _set_arguments(spec: CommandSpec, words: list[str], values: SimpleNamespace) -> None:
    for index, argument in enumerate(spec.arguments):
        later = sum(1 for other in spec.arguments[index + 1 :] if other.nargs in "1+")
        setattr(values, argument.name, _take_argument_words(argument, words, later))
    if words:
        raise UsageError(f"unexpected argument {words[0]!r}", words[0])


def _take_argument_words(argument: Argument, words: list[str], kept_for_later: int) -> object:
    count = max(0, len(words) - kept_for_later) if argument.nargs in "*+" else min(1, len(words))
    if count == 0 and argument.nargs in "1+":
        raise UsageError(f"missing {argument.label}", argument.name)
    taken = [convert_value(argument.type, word, argument.choices) for word in words[:count]]
    del words[:count]
    if argument.nargs in "*+":
        return tuple(taken)
    return taken[0] if taken else None


_INDENT = 4
_COLUMN_MAX = 30


def synopsis(spec: CommandSpec) -> str:
    """The synopsis in one line: `ls [OPTIONS] [PATH...]`."""
    words = [spec.name, *(["[OPTIONS]"] if any(not option.hidden for option in spec.options) else [])]
    return " ".join(words + [argument.usage for argument in spec.arguments])


def render_help(spec: CommandSpec, width: int | None = None) -> str:
    """The help of a command, with a newline at the end.

    Units: `width` in columns; by default the terminal's, at most 100, and 80 without a terminal.
    """
    width = width or _terminal_width()
    parts = [filled_paragraphs(f"{spec.name} - {spec.summary}", width, 0), f"\nUSAGE\n    {synopsis(spec)}\n"]
    if spec.description:
        parts.append("\nDESCRIPTION\n" + filled_paragraphs(spec.description, width, _INDENT))
    if spec.arguments:
        parts.append("\nARGUMENTS\n" + aligned_columns([(a.label, argument_help(a)) for a in spec.arguments], width))
    rows = [(option_names(option), option_help(option)) for option in spec.options if not option.hidden]
    parts.append("\nOPTIONS\n" + aligned_columns([*rows, ("-h, --help", "show this text and exit")], width))
    for heading, text in spec.epilog:
        parts.append(f"\n{heading}\n" + "".join(_hung(line, width) for line in text.split("\n")))
    if spec.examples:
        parts.append("\nEXAMPLES\n" + "".join(f"    {line}\n        {does}\n" for line, does in spec.examples))
    return "".join(parts)


def _hung(line: str, width: int) -> str:
    """A line `name  meaning`, or an indented line. Continuation lines of a long one are indented to the meaning."""
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
    # Some of Kafka's texts have line breaks, which only Kafka's own help keeps.
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


def filled_paragraphs(text: str, width: int, indent: int) -> str:
    """Paragraphs (separated by an empty line), filled to `width` and indented."""
    from textwrap import fill

    lead = " " * indent
    filled = [
        fill(" ".join(paragraph.split()), width, initial_indent=lead, subsequent_indent=lead, break_on_hyphens=False)
        for paragraph in text.strip().split("\n\n")
    ]
    return "\n\n".join(filled) + "\n"


def aligned_columns(rows: list[tuple[str, str]], width: int) -> str:
    """Names and meanings in two columns, the second one filled to `width`."""
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
