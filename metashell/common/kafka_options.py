"""The parse rules and help texts of the two parsers that Kafka's tools use, for the same declared options as our own parser.

`parse_joptsimple`: long options only, no abbreviations, a value is the next word or follows `=`; other words are ignored.
`parse_argparse4j`: a long option may be shortened to a unique prefix, a value may also be joined to a short name. argparse4j's help has
fixed columns, is wrapped at COLUMNS - 5, and justifies its paragraphs on both sides.

Source: joptsimple 5.0.4 and argparse4j 0.7.0, as used by DumpLogSegments and MetadataShell."""

from __future__ import annotations

import os
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING

from metashell.common.errors import PathError, UsageError
from metashell.common.options import convert_value, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metashell.common.options import CommandSpec, Option


def parse_joptsimple(spec: CommandSpec, argv: Sequence[str]) -> SimpleNamespace:
    """The values of a command line by the rules of kafka-dump-log; `help` is set if help was requested.

    Shape: an option with an optional value is None if it is absent and "" if it has no value. Required options are not checked here,
    because help and version take precedence.
    Errors: UsageError in Kafka's words.
    """
    known = {name.lstrip("-"): option for option in spec.options for name in option.names}
    values = _defaults(spec)
    given: dict[str, int] = {}
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            break
        if not _looks_like_an_option(word):
            continue
        name, equals, joined = word.lstrip("-").partition("=")
        if name == "help":
            values.help = True
            continue
        if name not in known:
            raise UsageError(f"{name} is not a recognized option{did_you_mean(name, list(known))}", word)
        option = known[name]
        given[option.dest] = given.get(option.dest, 0) + 1
        setattr(values, option.dest, _joptsimple_value(option, name, joined if equals else None, words))
        if given[option.dest] > 1 and not option.is_flag:
            raise UsageError(f"Found multiple arguments for option {name}, but you asked for only one", word)
    return values


def _looks_like_an_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _joptsimple_value(option: Option, name: str, joined: str | None, words: list[str]) -> object:
    if option.is_flag:
        return True
    if joined is None and option.type == "optional-str":
        return words.pop(0) if words and not _looks_like_an_option(words[0]) else ""
    if joined is None:
        # joptsimple takes the next word as the value of an option that needs one, even if it looks like an option.
        if not words:
            raise UsageError(f"Option {name} requires an argument", name)
        joined = words.pop(0)
    try:
        return convert_value(option.type, joined, option.choices)
    except UsageError:
        raise UsageError(f"Cannot parse argument {joined!r} of option {name}", joined) from None


def parse_argparse4j(spec: CommandSpec, argv: Sequence[str]) -> SimpleNamespace:
    """The values of a command line by the rules of kafka-metadata-shell; `help` is set if help was requested.

    Shape: all words but options belong to the one positional argument; negative numbers are not options.
    Errors: UsageError in Kafka's words, without the usage lines above them.
    """
    values, _ = _parse_argparse4j(spec, argv)
    if not values.help and (missing := missing_text(spec, values)):
        raise UsageError(missing)
    return values


def _parse_argparse4j(spec: CommandSpec, argv: Sequence[str]) -> tuple[SimpleNamespace, list[str]]:
    """The same without a check for missing options; for a tool with sub-commands also the words from the sub-command on."""
    values = _defaults(spec)
    positional: list[str] = []
    nargs = spec.arguments[0].nargs if spec.arguments else ""
    most = {"": 0, "1": 1, "?": 1}.get(nargs, len(argv))
    words = list(argv)
    are_options = True
    while words:
        word = words.pop(0)
        if are_options and word == "--":
            are_options = False
        elif not are_options or not _is_flag(word):
            if spec.commands:
                return values, [word, *words]
            if len(positional) == most:
                raise UsageError(f"unrecognized arguments: '{' '.join([word, *words])}'", word)
            positional.append(word)
        elif _asks_for_help(spec, word):
            values.help = True
            return values, []
        else:
            option, joined = _find_option(spec, word)
            _refuse_rivals(spec, option, values.given)
            values.given.add(option.dest)
            value = True if option.is_flag else _argparse_value(option, joined, words)
            setattr(values, option.dest, (*getattr(values, option.dest), value) if option.multiple else value)
    if nargs in ("1", "+") and not positional:
        raise UsageError("too few arguments")
    if spec.arguments:
        setattr(values, spec.arguments[0].name, tuple(positional))
    return values, []


def missing_text(spec: CommandSpec, values: SimpleNamespace, unchecked: str = "") -> str:
    """Kafka's message about missing required options; empty if none is missing.

    Of several missing options it names the last one. Then it checks exclusive groups of which one is required, except the group
    `unchecked`.
    """
    required = [option for option in spec.options if option.required]
    alone = [option for option in required if not option.exclusive and option.dest not in values.given]
    if alone:
        return f"argument {_both_names(alone[-1])} is required"
    for group in dict.fromkeys(option.exclusive for option in required if option.exclusive not in ("", unchecked)):
        members = [option for option in required if option.exclusive == group]
        if not any(option.dest in values.given for option in members):
            return f"one of the arguments {' '.join(map(_both_names, members))} is required"
    return ""


def parse_argparse4j_command(tool: CommandSpec, argv: Sequence[str], *, unchecked: str = "") -> tuple[CommandSpec, SimpleNamespace]:
    """The sub-command that the words name, perhaps by a prefix, and its values with the tool's own; the tool itself if only its help is
    requested.

    As in argparse4j, help and errors of the sub-command take precedence over missing options of the tool. The group `unchecked` is not
    checked.
    Errors: UsageError in Kafka's words; its `argument` is "" if the tool's own words are wrong, else the sub-command's name.
    """
    try:
        values, rest = _parse_argparse4j(tool, argv)
    except UsageError as error:
        raise UsageError(str(error)) from None
    if values.help:
        return tool, values
    if not rest:
        raise UsageError("too few arguments")
    command = named_command(tool.commands, rest[0])
    missing = missing_text(tool, values, unchecked)
    try:
        own, _ = _parse_argparse4j(command, rest[1:])
        if not own.help and not missing and (of_command := missing_text(command, own, unchecked)):
            raise UsageError(of_command)
    except UsageError as error:
        raise UsageError(str(error), command.name) from None
    if missing and not own.help:
        raise UsageError(missing)
    return command, SimpleNamespace(**{**vars(values), **vars(own), "given": values.given | own.given})


def named_command(commands: Sequence[CommandSpec], word: str) -> CommandSpec:
    """The command of that name, or the only one with that prefix. Errors: UsageError in Kafka's words."""
    names = [command.name for command in commands]
    matches = [word] if word in names else [name for name in names if name.startswith(word)]
    if not matches:
        raise UsageError(f"invalid choice: '{word}' (choose from {', '.join(repr(name) for name in names)})")
    if len(matches) > 1:
        raise UsageError(f"ambiguous command: {word} could match {', '.join(matches)}")
    return commands[names.index(matches[0])]


def splice_argument_files(words: Sequence[str]) -> list[str]:
    """The words with the lines of FILE in place of each `@FILE`, one word a line.

    Errors: UsageError for a file that cannot be read.
    """
    spliced: list[str] = []
    for word in words:
        if not word.startswith("@"):
            spliced.append(word)
            continue
        try:
            with open(word[1:], encoding="utf-8", errors="surrogateescape", newline=None) as file:
                spliced += file.read().splitlines()
        except OSError as error:
            raise PathError(f"Could not read arguments from file '{word[1:]}': {error.strerror}", word) from None
    return spliced


def _refuse_rivals(spec: CommandSpec, option: Option, given: set[str]) -> None:
    for other in spec.options:
        if option.exclusive and other.exclusive == option.exclusive and other is not option and other.dest in given:
            raise UsageError(f"argument {_both_names(option)}: not allowed with argument {_both_names(other)}", option.names[0])


def _is_flag(word: str) -> bool:
    return _looks_like_an_option(word) and not re.fullmatch(r"-\d+", word)


def _asks_for_help(spec: CommandSpec, word: str) -> bool:
    """Whether the word is `-h`, `--help` or a prefix of it. Errors: UsageError if a value is joined to it."""
    name, equals, value = word.partition("=")
    if name.startswith("--"):
        is_help = len(name) > 2 and "--help".startswith(name) and not _long_matches(spec, name)
    else:
        is_help = name.startswith("-h")
    if is_help and equals and name in ("-h", "--help"):
        raise UsageError(f"argument -h/--help: ignore implicit argument '{value}'", word)
    return is_help


def _long_matches(spec: CommandSpec, word: str) -> list[str]:
    # Options that only we have are hidden: they must not make a prefix ambiguous that Kafka accepts.
    visible = [option for option in spec.options if not option.hidden]
    return [name for option in visible for name in option.names if name.startswith("--") and name.startswith(word)]


def _find_option(spec: CommandSpec, word: str) -> tuple[Option, str | None]:
    by_name = {name: option for option in spec.options for name in option.names}
    name, equals, joined = word.partition("=")
    if name in by_name:
        return by_name[name], joined if equals else None
    if word.startswith("--"):
        matches = _long_matches(spec, name)
        if len(matches) == 1:
            return by_name[matches[0]], joined if equals else None
        if matches:
            raise UsageError(f"ambiguous option: {name} could match {', '.join(matches)}", word)
    elif word[:2] in by_name:
        return by_name[word[:2]], word[2:]
    raise UsageError(f"unrecognized arguments: '{word}'", word)


def _argparse_value(option: Option, joined: str | None, words: list[str]) -> object:
    if joined is None:
        if not words or _is_flag(words[0]):
            raise UsageError(f"argument {_both_names(option)}: expected one argument", option.names[0])
        joined = words.pop(0)
    try:
        return convert_value(option.type, joined, option.choices)
    except UsageError as error:
        raise UsageError(f"argument {_both_names(option)}: {error}", joined) from None


def _both_names(option: Option) -> str:
    return "/".join(option.names)


def _defaults(spec: CommandSpec) -> SimpleNamespace:
    values = SimpleNamespace(help=False, given=set())
    for option in spec.options:
        setattr(values, option.dest, () if option.multiple else False if option.is_flag else option.default)
    return values


_HELP_COLUMN = 25
_DEFAULT_WIDTH = 75
_ARGUMENT_USAGE = {"1": "{0}", "?": "[{0}]", "*": "[{0} [{0} ...]]", "+": "{0} [{0} ...]"}


def usage_text(spec: CommandSpec, tool: CommandSpec | None = None, *, has_help: bool = True) -> str:
    """The `usage:` lines, with a newline at the end. Continuation lines are indented to the end of the tool's name.

    For a sub-command of `tool`, the options that `tool` requires precede its name.
    """
    lead = f"usage: {(tool or spec).name} "
    parts = [*_required_parts(tool), spec.name] if tool else []
    parts += ["[-h]"] if has_help else []
    parts += [_usage_part(option) for option in spec.options if not option.hidden and not option.exclusive]
    parts += _exclusive_parts([option for option in spec.options if option.exclusive])
    parts += [_ARGUMENT_USAGE[argument.nargs].format(argument.label) for argument in spec.arguments]
    parts += [_choices_of(spec), "..."] if spec.commands else []
    lines = [lead + parts.pop(0)] if parts else [lead.rstrip(" ")]
    for part in parts:
        if len(lines[-1]) + 1 + len(part) > text_width():
            lines.append(" " * len(lead) + part)
        else:
            lines[-1] += f" {part}"
    return "\n".join(lines) + "\n"


def _exclusive_parts(options: list[Option]) -> list[str]:
    """`[--a | --b]`, or with round brackets if one is required, as parts between which a line may break."""
    words = [_usage_part(option).strip("[]") for option in options]
    parts = [f"{word} |" for word in words[:-1]] + words[-1:]
    left, right = "()" if any(option.required for option in options) else "[]"
    return [f"{left}{parts[0]}", *parts[1:-1], f"{parts[-1]}{right}"] if parts else []


def _required_parts(tool: CommandSpec) -> list[str]:
    required = [option for option in tool.options if option.required and not option.hidden]
    alone = [_usage_part(option) for option in required if not option.exclusive]
    return [*alone, *_exclusive_parts([option for option in required if option.exclusive])]


def _choices_of(spec: CommandSpec) -> str:
    return "{" + ",".join(command.name for command in spec.commands) + "}"


def command_help_text(spec: CommandSpec, tool: CommandSpec | None = None) -> str:
    """The help of a tool with sub-commands, or of one of them."""
    summary = f"\n{_paragraph(spec.summary)}" if spec.commands else ""
    return f"{usage_text(spec, tool)}{summary}{positional_text(spec)}{optional_text(spec)}"


def help_text(spec: CommandSpec) -> str:
    """The whole help of a tool without sub-commands."""
    return f"{usage_text(spec)}\n{_paragraph(spec.summary)}{positional_text(spec)}{optional_text(spec)}"


def positional_text(spec: CommandSpec) -> str:
    """The section about the arguments or sub-commands; empty if there are none."""
    entries = [f"  {_choices_of(spec)}\n"] if spec.commands else []
    entries += [_entry(f"  {command.name}", command.summary) for command in spec.commands]
    entries += [_entry(argument.label, argument.help) for argument in spec.arguments]
    return "\npositional arguments:\n" + "".join(entries) if entries else ""


def optional_text(spec: CommandSpec) -> str:
    """The sections about the options."""
    text = "\noptional arguments:\n" + _entry("-h, --help", "show this help message and exit") + _option_entries(spec, "")
    for heading in dict.fromkeys(option.heading for option in spec.options if option.heading):
        text += f"\n{heading}:\n{_option_entries(spec, heading)}"
    return text


def _paragraph(text: str) -> str:
    return "".join(f"{line}\n" for line in justified(text, text_width()))


def _option_entries(spec: CommandSpec, heading: str) -> str:
    entries = []
    for option in spec.options:
        if not option.hidden and option.heading == heading:
            value = "" if option.is_flag else f" {option.metavar}"
            entries.append(_entry(", ".join(f"{name}{value}" for name in option.names), option.help))
    return "".join(entries)


def text_width() -> int:
    """The width to wrap at.

    Source: MetadataShell's parser takes COLUMNS less 5; without it, 75.
    """
    columns = os.environ.get("COLUMNS", "")
    return int(columns) - 5 if columns.isascii() and columns.isdigit() else _DEFAULT_WIDTH


_BREAKS = re.compile(
    r"(?<=-)(?=[^\s\d'-])|(?<=[^\s-]-)(?=\d)"  # after a hyphen, but not in front of a number that it makes negative
    r"|(?<=[:;!?%])(?=[^\s.,:;!?%)\]}'\"`])"
    r"|(?<=[.,])(?=[^\s\d.,:;!?%)\]}'\"`])|(?<=[^\d][.,])(?=\d)"
    r"|(?<=\S[)\]}\"])(?=\w)"
    r"|(?<=[^\s(\[{$'\"`])(?=[(\[{$])"
)
"""The places at which Java's line breaker may break a word: `--|release-|version`, `metadata.|version=5`."""


def line_pieces(text: str) -> list[str]:
    """A text in pieces that no line break divides; the blank or newline after a word belongs to its last piece.

    Source: java.text.BreakIterator.getLineInstance, as far as the texts of Kafka's tools need it.
    """
    return [piece for word in re.findall(r"\S+\s*", text.strip()) for piece in _BREAKS.split(word)]


def justified(text: str, width: int) -> list[str]:
    """The lines of a text. Blanks between words stretch all but the last line of each paragraph to `width`."""
    lines: list[str] = []
    line = ""
    for piece in line_pieces(text):
        # The blank or newline after a word counts too.
        if line and len(line) + len(piece) > width:
            lines.append(_stretched(line.rstrip(), width))
            line = ""
        line += piece
        if line.endswith("\n"):
            lines.append(line[:-1])
            line = ""
    return [*lines, line]


def _stretched(line: str, width: int) -> str:
    words = re.split(" +", line)
    gaps = re.findall(" +", line)
    if not gaps:
        return line
    each, extra = divmod(max(0, width - len(line)), len(gaps))
    # The remaining blanks go to the gaps in the middle.
    first = (len(gaps) - extra + 1) // 2
    stretched = words[0]
    for index, (gap, word) in enumerate(zip(gaps, words[1:], strict=True)):
        stretched += gap + " " * (each + (1 if first <= index < first + extra else 0)) + word
    return stretched


def _usage_part(option: Option) -> str:
    name = max(option.names, key=len)
    text = name if option.is_flag else f"{name} {option.metavar}"
    return text if option.required else f"[{text}]"


def _entry(names: str, text: str) -> str:
    lines = justified(text, max(1, text_width() - _HELP_COLUMN))
    indent = " " * _HELP_COLUMN
    if len(names) + 2 > _HELP_COLUMN - 2:
        head, rest = f"  {names}\n", lines
    else:
        head, rest = f"  {names:<{_HELP_COLUMN - 2}}{lines[0]}\n", lines[1:]
    return head + "".join(f"{indent}{line}\n" for line in rest)
