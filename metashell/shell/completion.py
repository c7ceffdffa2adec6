"""What the word at the end of a line may become: commands, options, their values, and paths of the tree.

Paths are completed literally, without expanding globs: all but the last component are looked up, and the names below are
found by bisection, so that a hundred thousand topics cost no more than ten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from metashell.nodes import Directory
from metashell.nodes.subjects import resource_of, subject_of
from metashell.shell.command import COMMAND_NAME, NODE_PATH, SET_KEY, SETTING
from metashell.shell.commands import command_names, find_command
from metashell.shell.globs import quote_glob
from metashell.shell.kafka_usage import KAFKA_COMMANDS
from metashell.shell.paths import absolute_components
from metashell.shell.words import PartialLine, quote_word, split_partial

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metashell.image import MetadataImage
    from metashell.nodes import Node
    from metashell.nodes.subjects import Subject
    from metashell.options import Argument, CommandSpec, Option
    from metashell.shell.context import Context

CANDIDATES_MAX = 200


@dataclass(frozen=True, slots=True)
class Candidate:
    """A completion: the text that replaces the line from `start` on, what a menu shows, and a word about it."""

    text: str
    start: int
    display: str
    meta: str = ""


def complete(ctx: Context, line: str) -> list[Candidate]:
    """The candidates for the end of a line, in order, at most 200 paths."""
    partial = split_partial(line)
    if not partial.words:
        known = sorted(KAFKA_COMMANDS) if ctx.speaks_kafka else command_names()
        return _from_words(partial, known, {name: _summary(name) for name in known})
    command = find_command(partial.words[0])
    if command is None or (ctx.speaks_kafka and command.name not in KAFKA_COMMANDS):
        return []
    if not ctx.speaks_kafka:
        option = _open_option(command.spec, partial)
        if option is not None:
            return _from_words(partial, option.choices)
        if partial.current.startswith("-"):
            return _options(command.spec, partial)
    return _argument(ctx, command.spec, partial)


def _summary(name: str) -> str:
    command = find_command(name)
    return command.spec.summary if command else ""


def _from_words(partial: PartialLine, words: Iterable[str], meta: dict[str, str] | None = None) -> list[Candidate]:
    found = (word for word in words if word.startswith(partial.current))
    return [Candidate(f"{word} ", partial.start, word, (meta or {}).get(word, "")) for word in found]


def _open_option(spec: CommandSpec, partial: PartialLine) -> Option | None:
    """The option whose value is being typed."""
    last = partial.words[-1]
    return next((option for option in spec.options if last in option.names and not option.is_flag), None)


def _options(spec: CommandSpec, partial: PartialLine) -> list[Candidate]:
    help_texts = {name: option.help for option in spec.options for name in option.names}
    return _from_words(partial, [*help_texts, "--help"], {**help_texts, "--help": "show the page of this command"})


def _argument(ctx: Context, spec: CommandSpec, partial: PartialLine) -> list[Candidate]:
    argument = _argument_at(spec.arguments, len(_positionals(spec, partial.words[1:])))
    if argument is None:
        return []
    if argument.kind == COMMAND_NAME:
        return _from_words(partial, sorted(KAFKA_COMMANDS) if ctx.speaks_kafka else command_names())
    if argument.kind in (SETTING, SET_KEY):
        return _keys(ctx, spec, partial, is_set=argument.kind == SET_KEY)
    return _paths(ctx, partial) if argument.kind == NODE_PATH else []


def _keys(ctx: Context, spec: CommandSpec, partial: PartialLine, *, is_set: bool) -> list[Candidate]:
    """The keys of what the first path of the line is about: those that are set, or `KEY=` for all that may be."""
    path = next(iter(_positionals(spec, partial.words[1:])), "")
    subject = subject_of(absolute_components(path, ctx.cwd), ctx.image)
    if subject is None or "=" in partial.current:
        return []
    if is_set:
        return _from_words(partial, sorted(_present_keys(subject, ctx.image)))
    known = [] if ctx.administrator is None else ctx.administrator.keys(subject)
    return [Candidate(f"{key}=", partial.start, key) for key in known if key.startswith(partial.current)]


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


def _paths(ctx: Context, partial: PartialLine) -> list[Candidate]:
    head, slash, prefix = partial.current.rpartition("/")
    typed = head + slash
    directory = _look_up(ctx.root, absolute_components(typed or ".", ctx.cwd))
    if not isinstance(directory, Directory):
        return []
    candidates = []
    for name in directory.names_with_prefix(prefix, CANDIDATES_MAX):
        child = directory.child(name)
        if child is not None:
            ending = "/" if child.is_directory else " "
            text = quote_word(typed + (name if ctx.speaks_kafka else quote_glob(name))) + ending
            candidates.append(Candidate(text, partial.start, name + ending.strip(), child.type))
    return candidates


def _look_up(node: Node, components: list[str]) -> Node | None:
    for component in components:
        if not isinstance(node, Directory):
            return None
        child = node.child(component)
        if child is None:
            return None
        node = child
    return node
