"""Other orders of words: options after what they are not about (`kafka-shell ls / --snapshot DIR`, `rehearse kill-broker 3 -o json`), and
the path that kafka-shell opens as its first word (`kafka-shell DIR ls /`)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import SimpleNamespace

    from metashell.options import Option
    from metashell.settings import Settings

_SOURCES = ("snapshot", "demo", "bootstrap_controller", "bootstrap_server")
SOURCE_OPTIONS = (*_SOURCES, "command_config", "address_map", "timeout")
"""What says which source, and how it is reached."""


_FLAGS = {"-v", "-k"}
"""Letters that no command takes over from the tool: where it has them itself they would silently do something else than was asked."""
_OF_GREP = {"-s", "-C", "-b", "-c"}
"""Letters that mean something of its own to everybody who types them after `grep`."""


def name_source(values: SimpleNamespace, words: Sequence[str]) -> list[str]:
    """The words with `--snapshot` before a first word that names a path, if no option names a source.

    The name of a command is always a command, whatever files there are; a word with a slash is always a path.
    Errors: UsageError for such a path besides a source.
    """
    import os

    if not values.command:
        return list(words)

    from metashell.errors import UsageError
    from metashell.shell.commands import find_command

    words = list(words)
    first = values.command[0]
    if find_command(first) is not None or not ("/" in first or first[:1] == "@" or os.path.exists(first)):
        return words
    for name in _SOURCES:
        if getattr(values, name):
            raise UsageError(f"--{name.replace('_', '-')} and a path exclude each other", first)
    del words[len(words) - len(values.command)]
    return ["--snapshot", first, *words]


def needs_settings(values: SimpleNamespace) -> bool:
    """Whether only the settings can say what to open: the command line does not, or by a name."""
    return (values.snapshot or "")[:1] == "@" or not any(getattr(values, name) for name in _SOURCES)


def choose_source(values: SimpleNamespace, settings: Settings | None, environ: Mapping[str, str]) -> None:
    """Take the source that METASHELL_SOURCE or the settings say where the values name none, and what `@name` stands for.

    Errors: UsageError for a name that no source has, and for words that say no source.
    """
    from metashell.options.shared import SOURCE_VARIABLE

    if values.snapshot is not None and values.snapshot[:1] == "@":
        said, where = values.snapshot, "--snapshot"
    elif not needs_settings(values):
        return
    elif environ.get(SOURCE_VARIABLE):
        said, where = environ[SOURCE_VARIABLE], SOURCE_VARIABLE
    elif settings is not None and settings.source is not None:
        said, where = settings.source, "defaults.source"
    else:
        return
    named = source_of(said, settings, where)
    for name in SOURCE_OPTIONS:
        # What the command line says of how to reach it counts more.
        if name in _SOURCES or not getattr(values, name):
            setattr(values, name, getattr(named, name))


def source_of(said: str, settings: Settings | None, where: str) -> SimpleNamespace:
    """The options of a source as people say it: a path, a name with an @, or options."""
    import os

    from metashell.errors import UsageError
    from metashell.options.parser import HelpRequested, parse
    from metashell.options.shell_tools import KAFKA_SHELL
    from metashell.options.values import did_you_mean
    from metashell.shell.lines.words import split_line

    if said[:1] == "@":
        known = {} if settings is None else settings.sources
        if said[1:] not in known:
            raise UsageError(f"{where}: {said}: the settings name no such source{did_you_mean(said[1:], [*known])}", said)
        said, where = known[said[1:]], f"sources.{said[1:]}"
    words = split_line(said) if said[:1] == "-" else ["--snapshot", os.path.expanduser(said)]
    try:
        named = parse(KAFKA_SHELL, words)
    except HelpRequested:
        named = None
    except UsageError as error:
        raise UsageError(f"{where}: {error}", said) from None
    if named is None or named.command or not any(getattr(named, name) for name in _SOURCES) or (named.snapshot or "")[:1] == "@":
        raise UsageError(f"{where}: {said!r} is no source: a path, @NAME, or options such as -C HOST:PORT", said)
    return named


def lift_options(values: SimpleNamespace, words: Sequence[str]) -> list[str]:
    """The words with the tool's own options moved before the command.

    Shape: `values.command` is the tail of `words`. An option that the command has too stays where it is. After `--` nothing is an option.
    Errors: UsageError for a letter that was probably meant for the command, which does not have it.
    """
    from metashell.errors import UsageError
    from metashell.options.shell_tools import KAFKA_SHELL
    from metashell.shell.commands import find_command

    command = values.command

    is_timed = command[0] == "time" and len(command) > 1
    called = find_command(command[is_timed])
    taken = {name for option in called.spec.options for name in option.names} if called else set()
    refused = (_FLAGS | (_OF_GREP if called.name == "grep" else set())) - taken if called else set()
    own = {name: option for option in KAFKA_SHELL.options for name in option.names if name not in taken}
    lifted: list[str] = []
    kept: list[str] = []
    rest = list(command)
    while rest:
        word = rest.pop(0)
        if word == "--":
            kept += [word, *rest]
            break
        name, equals, _ = word.partition("=")
        if name not in own:
            kept.append(word)
            kept += _value_of(called.spec.options if called else (), name, equals, rest)
            continue
        if called and name in refused:
            raise UsageError(f"{called.name} has no option {name}; that of kafka-shell stands before the command", name)
        lifted.append(word)
        lifted += _value_of((own[name],), name, equals, rest)
    before = list(words[: len(words) - len(command)])
    return [*lifted, *before, *kept] if lifted else list(words)


def split_options(options: Sequence[Option], words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words that are options of these, with their values, and all the others, wherever either stand.

    Shape: before the first other word an unknown option is among the former, where its error can name those that there are. After `--`
    nothing is an option.
    """
    own = {name: option for option in options for name in (*option.names, "--help", "-h")}
    mine: list[str] = []
    others: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            others += rest
            break
        name, equals, _ = word.partition("=")
        is_joined = name not in own and not word.startswith("--") and word[:2] in own
        if name in own or is_joined or (word.startswith("-") and not others):
            mine.append(word)
            mine += [] if is_joined else _value_of(options, name, equals, rest)
        else:
            others.append(word)
    return mine, others


def _value_of(options: Sequence[Option], name: str, equals: str, rest: list[str]) -> list[str]:
    """The next word, taken from `rest`, if it is the value of the option of that name."""
    takes_value = any(name in option.names and not option.is_flag for option in options)
    return [rest.pop(0)] if takes_value and not equals and rest else []
