"""Completion of the word at the end of a line: commands, options, their values, paths, files and commands of the system.

`complete` takes the text before the cursor and returns candidates, best first, each with a description. It reads the image that commands
see and runs nothing. It looks at a bounded number of names and returns at most `CANDIDATES_MAX`, so that a hundred thousand topics cost
no more than ten. Names that begin with the text come first, then those that contain it (`words`). For a verb that changes the
cluster it offers only names that begin with the text, since a wrong guess could do damage."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from metashell.metadata.nodes.places import resource_of, subject_of
from metashell.shell.commands import COMMAND_NAME, LISTED_FIELD, NODE_PATH, SET_KEY, SETTING, command_names, find_command
from metashell.shell.completion_values import (
    CONFIG_KEY,
    about_key,
    allowed_values,
    listed_fields,
    paths_like,
    pattern_matches,
    values_of,
    values_set,
)
from metashell.shell.grammar import COMMENT, FILE, PIPE, WORDS, unfinished
from metashell.shell.kafka_voice import KAFKA_COMMANDS
from metashell.shell.paths import absolute_components
from metashell.shell.words import PartialLine, matching, quote_word, split_partial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from metashell.common.options import Argument, CommandSpec, Option
    from metashell.metadata.image import MetadataImage
    from metashell.metadata.nodes.places import Subject
    from metashell.shell.context import Context


CANDIDATES_MAX = 200
_FILES = "file"
_EXPRESSION = "expression"
_TIMED = "time"
"""The command whose arguments are another command."""
_USUAL_FILTERS = ("less", "grep", "head", "tail", "wc", "sort", "uniq", "jq", "awk", "sed", "cut", "column", "tee", "xargs")
_LINE_END = re.compile(r"[\n\r]")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A completion: the text that replaces the line from `start` on, the text of the menu, and a short description."""

    text: str
    start: int
    display: str
    meta: str = ""


def complete(ctx: Context, line: str) -> list[Candidate]:
    """Return the candidates for the end of a line, best first, at most `CANDIDATES_MAX`."""
    # A line break in a candidate would end the line.
    return [candidate for candidate in _candidates(ctx, line) if not _LINE_END.search(candidate.text)]


def _candidates(ctx: Context, line: str) -> list[Candidate]:
    if ctx.speaks_kafka:
        return _complete_words(ctx, split_partial(line))
    end = unfinished(line)
    if end.place == COMMENT:
        return []
    if end.place == WORDS and _is_expression(ctx, end.words):
        return _fields(ctx, line)
    if end.place == PIPE:
        return _of_sh(line, end.start)
    if end.place == FILE:
        return _files(end.current, end.start, quote_word)
    return _complete_words(ctx, PartialLine(end.words, end.current, end.start, end.is_open))


def _is_expression(ctx: Context, words: list[str]) -> bool:
    """Return whether the cursor is in the value of an option that takes an expression."""
    words = _expanded(ctx, PartialLine(words, "", 0)).words
    command = find_command(words[0]) if len(words) > 1 else None
    option = None if command is None else _open_option(command.spec, words[-1])
    return option is not None and option.kind == _EXPRESSION


def _fields(ctx: Context, line: str) -> list[Candidate]:
    """Return the fields that complete the name at the end of an expression; none inside quoted text."""
    found = re.search(r"[A-Za-z_][\w.]*$", line)
    name = found[0] if found is not None else ""
    ahead = line[: len(line) - len(name)]
    if ahead.count('"') % 2 and ahead.count("'") % 2:
        return []
    known = values_of(ctx, _EXPRESSION)
    start = len(line) - len(name)
    return [Candidate(each, start, each, known[each]) for each in matching(name, list(known), CANDIDATES_MAX)]


def expansion(ctx: Context, line: str, limit: int = 50) -> Candidate | None:
    """Return the line with the pattern at its end replaced by all paths that it matches; None without a pattern or a match.

    Shape: if more than `limit` paths match, the line stays as it is, and `meta` says so.
    """
    if ctx.speaks_kafka:
        return None
    end = unfinished(line)
    if end.place != WORDS or not end.words or end.is_open:
        return None
    argument = _argument_of(_expanded(ctx, PartialLine(end.words, end.current, end.start)))
    if argument is None or argument.kind != NODE_PATH:
        return None
    found = pattern_matches(ctx, end.current, limit + 1)
    if not found:
        return None
    if len(found) > limit:
        return Candidate(line[end.start :], end.start, end.current, f"more than {limit} paths fit")
    text = " ".join(quote_word(path) for path in found)
    return Candidate(text if text.endswith("/") else f"{text} ", end.start, end.current, f"{len(found)} paths")


def _complete_words(ctx: Context, partial: PartialLine) -> list[Candidate]:
    partial = _expanded(ctx, partial)
    if not partial.words:
        return _commands(ctx, partial)
    command = find_command(partial.words[0])
    if command is None or (ctx.speaks_kafka and command.name not in KAFKA_COMMANDS):
        return []
    if not ctx.speaks_kafka:
        option = _open_option(command.spec, partial.words[-1])
        if option is not None:
            return _values(ctx, option, partial)
        if partial.current.startswith("-") and not partial.current[1:2].isdigit():
            return _options(command.spec, partial)
    argument = _argument_of(partial)
    return [] if argument is None else _argument(ctx, command.spec, argument, partial)


def _expanded(ctx: Context, partial: PartialLine) -> PartialLine:
    """Return the words without leading `time`, and with an alias replaced by its text."""
    if ctx.speaks_kafka:
        return partial
    words = partial.words
    while words and words[0] == _TIMED:
        words = words[1:]
    if words and (text := ctx.settings.aliases.get(words[0])) is not None:
        words = [*unfinished(f"{text} ").words, *words[1:]]
    return partial if words is partial.words else PartialLine(words, partial.current, partial.start, partial.is_open)


def changes_cluster(spec: CommandSpec) -> bool:
    """Return whether the command is a verb that changes the cluster: these commands have `--yes`."""
    return any(option.dest == "yes" for option in spec.options)


def _commands(ctx: Context, partial: PartialLine) -> list[Candidate]:
    if ctx.speaks_kafka:
        known = {name: _summary(name) for name in sorted(KAFKA_COMMANDS)}
        return _from_words(partial, known, known, is_loose=False)
    known = {name: _summary(name) for name in command_names()} | {name: f"alias: {text}" for name, text in ctx.settings.aliases.items()}
    found = _from_words(partial, sorted(known), known)
    return [each for each in found if each.display.startswith(partial.current) or not _is_risky(each.display)]


def _is_risky(name: str) -> bool:
    command = find_command(name)
    return command is not None and changes_cluster(command.spec)


def _summary(name: str) -> str:
    command = find_command(name)
    return command.spec.summary if command else ""


def _from_words(
    partial: PartialLine, words: Iterable[str], meta: Mapping[str, str] | None = None, *, is_loose: bool = True
) -> list[Candidate]:
    names = list(words)
    found = matching(partial.current, names, CANDIDATES_MAX) if is_loose else [word for word in names if word.startswith(partial.current)]
    return [Candidate(f"{quote_word(word)} ", partial.start, word, (meta or {}).get(word, "")) for word in found]


def _open_option(spec: CommandSpec, last: str) -> Option | None:
    """Return the option whose value follows the word `last`, or None."""
    return next((option for option in spec.options if last in option.names and not option.is_flag), None)


def _values(ctx: Context, option: Option, partial: PartialLine) -> list[Candidate]:
    if option.choices:
        return _from_words(partial, option.choices)
    return _of_kind(ctx, option.kind, partial)


def _of_kind(ctx: Context, kind: str, partial: PartialLine, *, is_loose: bool = True) -> list[Candidate]:
    if kind == CONFIG_KEY and "=" in partial.current:
        key, _, typed = partial.current.partition("=")
        set_here = values_set(ctx, key)
        return _settings(partial, key, typed, {**set_here, **allowed_values(ctx, key), **set_here})
    if kind == LISTED_FIELD:
        fields = listed_fields(ctx, _positionals_before(partial))
        return _from_words(partial, fields, fields)
    if kind == _FILES:
        return _files(partial.current, partial.start, quote_word)
    if kind == NODE_PATH:
        return _paths(ctx, partial, is_loose=is_loose)
    if kind == COMMAND_NAME:
        return _commands(ctx, partial)
    values = values_of(ctx, kind)
    return _from_words(partial, values, values, is_loose=is_loose)


def _settings(partial: PartialLine, key: str, typed: str, values: Mapping[str, str]) -> list[Candidate]:
    """Return `KEY=VALUE` words for the values that match the text after the `=`."""
    found = matching(typed, list(values), CANDIDATES_MAX)
    return [Candidate(f"{quote_word(f'{key}={value}')} ", partial.start, value, values[value]) for value in found]


def _positionals_before(partial: PartialLine) -> list[str]:
    command = find_command(partial.words[0])
    return [] if command is None else _positionals(command.spec, partial.words[1:])


def _options(spec: CommandSpec, partial: PartialLine) -> list[Candidate]:
    """Return the matching options, each by one of its names: one with as many dashes as typed, if there is one."""
    is_long = partial.current.startswith("--")
    chosen: dict[str, Candidate] = {}
    helps = {name: option.help for option in spec.options for name in option.names} | {"--help": "show the page of this command"}
    options = {name: option.dest for option in spec.options for name in option.names}
    for candidate in _from_words(partial, helps, helps):
        name = candidate.display
        option = options.get(name, name)
        known = chosen.get(option)
        if known is None or (known.display.startswith("--") != is_long and name.startswith("--") == is_long):
            chosen[option] = candidate
    return list(chosen.values())


def _argument_of(partial: PartialLine) -> Argument | None:
    """Return the argument at the cursor, or None if the command takes no more."""
    command = find_command(partial.words[0]) if partial.words else None
    if command is None or (partial.words[-1].startswith("-") and _open_option(command.spec, partial.words[-1]) is not None):
        return None
    return _argument_at(command.spec.arguments, len(_positionals(command.spec, partial.words[1:])))


def _argument(ctx: Context, spec: CommandSpec, argument: Argument, partial: PartialLine) -> list[Candidate]:
    if argument.choices and not argument.kind:
        return _from_words(partial, argument.choices)
    if argument.kind in (SETTING, SET_KEY):
        return _keys(ctx, spec, partial, is_set=argument.kind == SET_KEY)
    return _of_kind(ctx, argument.kind, partial, is_loose=not ctx.speaks_kafka and not changes_cluster(spec))


def _keys(ctx: Context, spec: CommandSpec, partial: PartialLine, *, is_set: bool) -> list[Candidate]:
    """Return the keys of the subject of the line's first path: those that are set, or `KEY=` for all that can be set."""
    path = next(iter(_positionals(spec, partial.words[1:])), "")
    subject = subject_of(absolute_components(path, ctx.cwd), ctx.image)
    if subject is None:
        return []
    if is_set:
        return _from_words(partial, sorted(_present_keys(subject, ctx.image)), is_loose=False)
    key, equals, typed = partial.current.partition("=")
    if equals:
        values = allowed_values(ctx, key)
        return _settings(partial, key, typed, {value: about for value, about in values.items() if value.startswith(typed)})
    known = [] if ctx.administrator is None else ctx.administrator.keys(subject)
    resource = resource_of(subject)
    about = {} if resource is None or ctx.config_guide is None else ctx.config_guide(resource[0])
    meta = {key: about_key(about[key]) for key in known if key in about}
    return [Candidate(f"{key}=", partial.start, key, meta.get(key, "")) for key in known if key.startswith(partial.current)]


def _present_keys(subject: Subject, image: MetadataImage) -> Iterable[str]:
    match subject:
        case ("quota", entity, None):
            return image.client_quotas.get(tuple(sorted(entity)), {})
        case _:
            resource = resource_of(subject)
            return () if resource is None else image.configs.get(resource, {})


def _positionals(spec: CommandSpec, words: list[str]) -> list[str]:
    takes_value = {name for option in spec.options if not option.is_flag for name in option.names}
    found: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in takes_value
        else:
            found.append(word)
    return found


def _argument_at(arguments: tuple[Argument, ...], index: int) -> Argument | None:
    if index < len(arguments):
        return arguments[index]
    return arguments[-1] if arguments and arguments[-1].nargs in "*+" else None


def _paths(ctx: Context, partial: PartialLine, *, is_loose: bool) -> list[Candidate]:
    found = paths_like(ctx, partial.current, CANDIDATES_MAX, is_loose=is_loose)
    return [Candidate(quote_word(path.typed) + path.ending, partial.start, path.shown, path.about) for path in found]


def _files(typed: str, start: int, quote: Callable[[str], str]) -> list[Candidate]:
    folder = len(typed.rpartition("/")[0])
    return [
        Candidate(quote(path) + ("" if path.endswith("/") else " "), start, path[folder:].removeprefix("/"), about)
        for path, about in files_at(typed, CANDIDATES_MAX)
    ]


def _of_sh(line: str, start: int) -> list[Candidate]:
    """Return commands of the system at the start of a pipe's text or after a `|` in it, else files."""
    text = line[start:]
    word = text[max(text.rfind(char) for char in " \t|;&(") + 1 :]
    before = text[: len(text) - len(word)].rstrip()
    at = len(line) - len(word)
    if any(char in word for char in "'\"\\$`*?[{"):
        return []
    if before and before[-1] not in "|;&(":
        return _files(word, at, quoted_for_sh)
    usual = [name for name in _USUAL_FILTERS if name.startswith(word)]
    names = dict.fromkeys((*usual, *(commands_like(word, CANDIDATES_MAX) if word else ())))
    return [Candidate(f"{name} ", at, name, "command of this machine") for name in [*names][:CANDIDATES_MAX]]


_SEEN_MAX: Final = 20_000
"""The most entries of a directory that are looked at."""
_NEEDS_QUOTING = re.compile(r"[^\w@%+=:,./~-]")
_programs: tuple[str, list[str]] | None = None


def files_at(typed: str, limit: int) -> list[tuple[str, str]]:
    """Return the paths that complete a path, each with its kind. Directories end with a slash."""
    head, slash, word = typed.rpartition("/")
    folder = os.path.expanduser(head + slash) or "."
    found: dict[str, bool] = {}
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if len(found) == _SEEN_MAX:
                break
            if "\n" not in entry.name and (word.startswith(".") or not entry.name.startswith(".")):
                found[entry.name] = _is_directory(entry)
    names = matching(word, sorted(found), limit)
    return [(f"{head}{slash}{name}{'/' if found[name] else ''}", "directory" if found[name] else "file") for name in names]


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def commands_like(word: str, limit: int) -> list[str]:
    """Return the commands of the system that begin with a word."""
    global _programs
    path = os.environ.get("PATH", "")
    if _programs is None or _programs[0] != path:
        found: set[str] = set()
        for folder in path.split(":"):
            with suppress(OSError):
                found.update(os.listdir(folder or "."))
        _programs = (path, sorted(found))
    return [name for name in _programs[1] if name.startswith(word)][:limit]


def quoted_for_sh(text: str) -> str:
    """Return the text quoted as one word of /bin/sh."""
    return _NEEDS_QUOTING.sub(lambda match: "\\" + match[0], text)
