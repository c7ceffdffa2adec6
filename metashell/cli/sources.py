"""The source that a command reads, named the same way for every command: a path, `@NAME` of the settings, `--demo`, `-b` or `-C` with
`-c`.

A path or a name may be the first word, or follow `--snapshot`. If the command line names no source, METASHELL_SOURCE does, else
`defaults.source` of the settings.

`lift_options` and `split_options` allow options after other words: `kafka-shell ls / --snapshot DIR`, `rehearse kill-broker 3 -o json`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metashell.common.errors import MetashellError, UsageError
from metashell.demo import demo_directory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import SimpleNamespace

    from metashell.common.options import Option


if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import SimpleNamespace

    from metashell.common.errors import UsageError
    from metashell.common.options import CommandSpec
    from metashell.common.settings import Settings

    Chosen = Callable[[str, str | None], Settings | None]
    """What reads the settings of a person, for a tool of this name: `cli.common.chosen_settings`."""

SOURCES = ("snapshot", "demo", "bootstrap_controller", "bootstrap_server")
SOURCE_OPTIONS = (*SOURCES, "command_config", "address_map", "timeout")
"""Options that name a source and how to reach it."""


def name_source(values: SimpleNamespace, words: Sequence[str]) -> list[str]:
    """Return the words with `--snapshot` before a first word that names a path, if no option names a source.

    The name of a command is always a command, even if a file has that name; a word with a slash is always a path. Errors: UsageError for
    a path in addition to another source.
    """
    if not values.command:
        return list(words)

    from metashell.shell.commands import find_command

    words = list(words)
    first = values.command[0]
    if find_command(first) is not None or not ("/" in first or first[:1] == "@" or os.path.exists(first)):
        return words
    for name in SOURCES:
        if getattr(values, name):
            raise UsageError(f"--{name.replace('_', '-')} and a path exclude each other", first)
    del words[len(words) - len(values.command)]
    return ["--snapshot", first, *words]


def needs_settings(values: SimpleNamespace) -> bool:
    """Return whether the settings are needed to know what to open: the command line gives no source, or gives it by a name."""
    return (values.snapshot or "")[:1] == "@" or not any(getattr(values, name) for name in SOURCES)


def choose_source(values: SimpleNamespace, settings: Settings | None, environ: Mapping[str, str]) -> None:
    """Set the source from METASHELL_SOURCE or the settings if the values name none, and resolve `@NAME`.

    Errors: UsageError for an unknown name, and for text that does not name a source.
    """
    from metashell.common.options import SOURCE_VARIABLE

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
        # The command line takes precedence over the settings for how to reach the source.
        if name in SOURCES or not getattr(values, name):
            setattr(values, name, getattr(named, name))


def choose_named(values: SimpleNamespace, chosen: Chosen) -> None:
    """Resolve `@NAME` in values that have the options of a source. Errors: UsageError for an unknown name."""
    if (values.snapshot or "")[:1] == "@":
        choose_source(values, chosen("metashell", None), {})


def name_stored(values: SimpleNamespace, chosen: Chosen) -> None:
    """Set `snapshot` to the path of metadata on disk for `@NAME` and for --demo, if the values have these options."""
    if getattr(values, "snapshot", None) is not None:
        choose_named(values, chosen)
    if getattr(values, "demo", False):
        values.snapshot = demo_directory()


def is_path(word: str) -> bool:
    """Return whether a first word can only be a source: a name of the settings, a directory, or a file of a metadata log."""
    return word[:1] == "@" or os.path.isdir(word) or word.endswith((".checkpoint", ".log"))


def source_of(said: str, settings: Settings | None, where: str) -> SimpleNamespace:
    """Return the options of a source given as a path, an `@NAME` or options.

    `where` names the place of the text; empty on a command line.
    """
    from metashell.cli.shell_options import KAFKA_SHELL
    from metashell.common.option_parser import HelpRequested, parse_command
    from metashell.common.options import did_you_mean
    from metashell.shell.words import split_line

    place = f"{where}: " if where else ""
    if said[:1] == "@":
        known = {} if settings is None else settings.sources
        if said[1:] not in known:
            raise UsageError(f"{place}{said}: the settings name no such source{did_you_mean(said[1:], [*known])}", said)
        said, place = known[said[1:]], f"sources.{said[1:]}: "
    words = split_line(said) if said[:1] == "-" else ["--snapshot", os.path.expanduser(said)]
    try:
        named = parse_command(KAFKA_SHELL, words)
    except HelpRequested:
        named = None
    except UsageError as error:
        raise UsageError(f"{place}{error}", said) from None
    if named is None or named.command or not any(getattr(named, name) for name in SOURCES) or (named.snapshot or "")[:1] == "@":
        raise UsageError(f"{place}{said!r} is no source: a path, @NAME, or options such as -C HOST:PORT", said)
    return named


# ---- a source among other words


def front_words(name: str, words: Sequence[str], chosen: Chosen) -> list[str]:
    """Return the words of `metashell NAME SOURCE ...` in the order of kafka-shell: the source, the command, the rest.

    Shape: the first word that is not an option is the source, unless an option or a default names one. In `diff` the next such word that
    names a source is the other one. Errors: UsageError if there is no source.
    """
    from metashell.cli.shell_options import KAFKA_SHELL
    from metashell.shell.commands import find_command

    command = find_command(name)
    assert command is not None
    naming = {each for option in SOURCES for each in KAFKA_SHELL.option(option).names}
    valued = {each for option in (*command.spec.options, *KAFKA_SHELL.options) if not option.is_flag for each in option.names}
    named: list[str] = []
    others: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            others += [word, *rest]
            break
        option, equals, _ = word.partition("=")
        is_joined = word[:2] in naming and not word.startswith("--") and len(word) > 2
        value = [rest.pop(0)] if option in valued and not equals and rest else []
        if not named and (option in naming or is_joined):
            named = [word, *value]
        elif word.startswith("-"):
            others += [word, *value]
        elif not named and _is_source(word, chosen):
            named = ["--snapshot", word]
        elif name == "diff" and named and not value and (word[:1] == "@" or "/" in word or os.path.exists(word)):
            others += ["--snapshot", word]
        else:
            others.append(word)
    if not named and not _has_default(chosen):
        raise UsageError(f"name a source first: metashell {name} DIR, @NAME, --demo, -C HOST:PORT or -b HOST:PORT")
    return [*named, name, *others]


def _is_source(word: str, chosen: Chosen) -> bool:
    """Return whether a word is the source and not a path in the tree. Without a default source, a word outside the tree is the source."""
    if word[:1] == "@" or (word != "/" and os.path.exists(word)):
        return True
    return word != "/" and not word.startswith("/image") and not _has_default(chosen)


def _has_default(chosen: Chosen) -> bool:
    from metashell.common.options import SOURCE_VARIABLE

    if os.environ.get(SOURCE_VARIABLE):
        return True
    settings = chosen("metashell", None)
    return settings is not None and settings.source is not None


def with_source(spec: CommandSpec, words: Sequence[str], chosen: Chosen) -> list[str]:
    """Return the words of a command that asks a cluster, with a source in the first place turned into options.

    Shape: `@NAME` is resolved by the settings; a path counts only for a command that reads metadata on disk. Errors: UsageError.
    """
    can_read = any(option.dest == "snapshot" for option in spec.options)
    _, others = split_options(spec.options, words)
    if not others or not (others[0][:1] == "@" or (can_read and _holds_metadata(spec, others[0]))):
        return list(words)
    first, rest = others[0], list(words)
    rest.remove(first)
    if first[:1] != "@":
        return [f"--snapshot={first}", *rest]
    named = _named(first, chosen("metashell", None))
    if named.snapshot is not None:
        if not can_read:
            raise _stored_only(first)
        return [f"--snapshot={named.snapshot}", *rest]
    return [*_cluster_words(named), *rest]


def _holds_metadata(spec: CommandSpec, word: str) -> bool:
    """Return whether a word is a path of metadata.

    That is the file of a log, a word with a slash if the command takes no other files, or a directory that holds metadata.
    """
    from metashell.disk.inputs import find_metadata

    takes_files = any(argument.kind == "file" for argument in spec.arguments)
    if word.endswith((".checkpoint", ".log")) or ("/" in word and not takes_files):
        return True
    try:
        return os.path.isdir(word) and bool(find_metadata(word))
    except MetashellError:
        return False


def _cluster_words(named: SimpleNamespace) -> list[str]:
    """Return the options that name a quorum and how to reach it."""
    words = [
        f"--{name.replace('_', '-')}={value}"
        for name in ("bootstrap_controller", "bootstrap_server", "command_config", "timeout")
        if (value := getattr(named, name)) is not None
    ]
    return [*words, *(f"--address-map={each}" for each in named.address_map)]


def with_demo(spec: CommandSpec, words: Sequence[str]) -> list[str]:
    """Return the words with the path of the demo in place of `--demo`, for a command that takes paths as arguments."""
    if not any(argument.kind == "source" for argument in spec.arguments) or not any(option.dest == "demo" for option in spec.options):
        return list(words)
    end = list(words).index("--") if "--" in words else len(words)
    return [demo_directory() if word == "--demo" and at < end else word for at, word in enumerate(words)]


def named_paths(spec: CommandSpec, values: SimpleNamespace, chosen: Chosen) -> None:
    """Resolve `@NAME` in the arguments that are paths to read; a name of a quorum sets the options that name one.

    Errors: UsageError for a quorum if the command cannot ask one.
    """
    for argument in spec.arguments:
        found = getattr(values, argument.name, None)
        if argument.kind != "source" or not found:
            continue
        paths = []
        for word in (found,) if isinstance(found, str) else found:
            named = None if word[:1] != "@" else _named(word, chosen("metashell", getattr(values, "settings", None)))
            if named is None or named.snapshot is not None:
                paths.append(word if named is None else named.snapshot)
            elif "bootstrap_controller" in vars(values) and not isinstance(found, str):
                for name in SOURCE_OPTIONS:
                    if not getattr(values, name, True):
                        setattr(values, name, getattr(named, name))
            else:
                raise _live_only(word)
        setattr(values, argument.name, paths[0] if isinstance(found, str) else tuple(paths))


def path_of(word: str, chosen: Chosen) -> str:
    """Return the path of a word: itself, or the one of `@NAME` in the settings. Errors: UsageError for a quorum."""
    if word[:1] != "@":
        return word
    named = _named(word, chosen("metashell", None))
    if named.snapshot is None:
        raise _live_only(word)
    return str(named.snapshot)


def _named(word: str, settings: Settings | None) -> SimpleNamespace:
    named = source_of(word, settings, "")
    if named.demo:
        named.snapshot = demo_directory()
    return named


def _stored_only(word: str) -> UsageError:
    return UsageError(f"{word} is metadata on disk, and this asks a live cluster", word)


def _live_only(word: str) -> UsageError:
    return UsageError(f"{word} is a live cluster, and this reads files", word)


_FLAGS = {"-v", "-k"}
"""Letters that a command never takes from the tool: a command with the same letter would silently do something else."""
_OF_GREP = {"-s", "-C", "-b", "-c"}
"""Letters that have another meaning after `grep`."""


def lift_options(values: SimpleNamespace, words: Sequence[str]) -> list[str]:
    """Return the words with the tool's own options moved before the command.

    Shape: `values.command` is the tail of `words`. An option that the command also has stays in its place. After `--` nothing is an
    option. Errors: UsageError for a letter that was probably meant for a command that does not have it.
    """
    from metashell.cli.shell_options import KAFKA_SHELL
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
    """Return the words that are these options with their values, and all other words, in whatever order they come.

    Shape: an unknown option before the first other word is among the former, so that its error can name the known ones. After `--`
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
    """Take the next word from `rest` and return it, if it is the value of the option of that name."""
    takes_value = any(name in option.names and not option.is_flag for option in options)
    return [rest.pop(0)] if takes_value and not equals and rest else []
