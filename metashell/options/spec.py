"""Declared options, arguments and commands, as data.

Named tuples, given by keyword: as dataclasses they would cost every start 2 ms. Here and wherever a start makes named tuples, annotations
are values and no text (`from __future__ import annotations` is left out): of text, each field is compiled, 25 us.

Types of values (`Option.type`, `Argument.type`): `str`, `path`, `int` (0 and more), `integer` (any sign), `int32`, `java-integer` (the
same, refused in Kafka's words), `choice`, `size` (bytes: 5242880, 64k, 128M), `range` (offsets: FROM..TO, either side may be missing),
`time` (Unix ms or ISO 8601), `duration` (24h, 1h30m),
`regex`, `decoder-class` (one of Kafka's), `page` (a path, but not `-`). Only for options: `flag`; `optional-choice` (`--batches` or
`--batches=only`; alone it means the first choice); `optional-int` (the same with a number, which may also follow as the next word);
`optional-str` (in Kafka's parser only).
`kind` says what a value names, for completion: `file`, `source` (a path to read, or `@NAME` of the settings), `node`, `command`,
`subcommand`, `kafka-name`, `record-type`, `table`, `any-table`, `strategy`, or the name of a list in the shell; `record-type`, `table` and
`strategy` take several between commas. Of options that share an `exclusive` name at most one may be given; in Kafka's parsers one
must be, where they are `required`. `heading` is that of the help's section in which Kafka lists an option.
"""

from typing import Any, NamedTuple

Default = str | int | bool | None


class Option(NamedTuple):
    """One option of a command, in all its spellings."""

    names: tuple[str, ...]
    help: str
    metavar: str = "VALUE"
    type: str = "str"
    choices: tuple[str, ...] = ()
    default: Default = None
    multiple: bool = False
    required: bool = False
    hidden: bool = False
    kind: str = ""
    exclusive: str = ""
    heading: str = ""

    @property
    def is_flag(self) -> bool:
        return self.type == "flag"

    @property
    def dest(self) -> str:
        """The attribute of the parsed namespace: the first long name, `--max-bytes` as `max_bytes`."""
        return max(self.names, key=lambda name: (name.startswith("--"), len(name))).lstrip("-").replace("-", "_")


def flag(*names: str, help: str, **more: Any) -> Option:
    """An option without a value."""
    return Option(names=names, help=help, type="flag", **more)


def choice(*names: str, choices: tuple[str, ...], help: str, metavar: str = "FORM", **more: Any) -> Option:
    """An option whose value is one of a few words."""
    return Option(names=names, help=help, metavar=metavar, type="choice", choices=choices, **more)


def file_option(*names: str, help: str, metavar: str = "FILE", **more: Any) -> Option:
    """An option whose value is a path, which shells complete."""
    return Option(names=names, help=help, metavar=metavar, type="path", kind="file", **more)


class Argument(NamedTuple):
    """A positional argument; `nargs` is `1`, `?`, `*` or `+`. `form` is that in a synopsis where it does not follow from `nargs`."""

    name: str
    help: str
    nargs: str = "1"
    metavar: str = ""
    type: str = "str"
    choices: tuple[str, ...] = ()
    kind: str = ""
    form: str = ""

    @property
    def label(self) -> str:
        """Its name in help and messages: `PATH`."""
        return self.metavar or self.name.upper()

    @property
    def usage(self) -> str:
        """The form in a synopsis: `PATH`, `[PATH]`, `PATH...`, `[PATH...]`."""
        if self.form:
            return self.form
        text = self.label + ("..." if self.nargs in "*+" else "")
        return f"[{text}]" if self.nargs in "?*" else text


def path_argument(name: str, metavar: str, nargs: str, help: str) -> Argument:
    """A positional argument that is a path, or several."""
    return Argument(name=name, metavar=metavar, nargs=nargs, type="path", kind="file", help=help)


def source_argument(name: str, metavar: str, nargs: str, help: str) -> Argument:
    """A positional argument that is a path to read, or several, each also as `@NAME` of the settings."""
    return Argument(name=name, metavar=metavar, nargs=nargs, type="path", kind="source", help=help)


class CommandSpec(NamedTuple):
    """A command: its words for people, and what it takes.

    Shape: `examples` are (command line, what it does) pairs; `first_word_ends_options` leaves every word from the first positional
    one on unparsed, as `env` or `kafka-shell` need it; `epilog` is (heading, text) pairs that help prints after the options; `files` and
    `environment` are (name, what it is for) pairs of the man page. A tool with `commands` takes one of them as its first word, and
    then that command's own words.
    """

    name: str
    summary: str
    description: str = ""
    options: tuple[Option, ...] = ()
    arguments: tuple[Argument, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    epilog: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    voice: str = "own"
    first_word_ends_options: bool = False
    commands: tuple["CommandSpec", ...] = ()

    def option(self, dest: str) -> Option:
        """The option that is parsed into the attribute `dest`."""
        return next(option for option in self.options if option.dest == dest)
