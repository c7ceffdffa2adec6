"""Declared options, arguments and commands, as data; the options that several commands share; and the conversion of words to values.

A command, of the operating system's shell or of ours, is a `CommandSpec`: plain data from which parsers, help, completions and man pages
are made. `option_parser` parses it in our own format (with Click), `kafka_options` by the rules of Kafka's two parsers; nothing parses
argv by hand. This module reads no files, prints nothing and sets no exit status.

Declarations are named tuples: dataclasses would cost every start 2 ms. Modules that define named tuples and are loaded at every start
leave out `from __future__ import annotations`: with it, Python compiles the annotation of each field, 25 us each.

Types of values (`Option.type`, `Argument.type`): `str`, `path`, `int` (0 and more), `integer` (any sign), `int32`, `java-integer` (the
same with Kafka's error message), `choice`, `size` (bytes: 5242880, 64k, 128M), `range` (offsets: FROM..TO, either side may be missing),
`time` (Unix ms or ISO 8601), `duration` (24h, 1h30m), `regex`, `decoder-class` (one of Kafka's), `page` (a path, but not `-`). Only for
options: `flag`; `optional-choice` (`--batches` or `--batches=only`; alone it means the first choice); `optional-int` (the same with a
number, which may also follow as the next word); `optional-str` (in Kafka's parser only). `kind` says what a value names, for completion:
`file`, `source` (a path to read, or `@NAME` of the settings), `node`, `command`, `subcommand`, `record-type`, `table`, `any-table`,
`strategy`, or the name of a list in the shell; `record-type`, `table` and `strategy` take several between commas. Of options that share an
`exclusive` name at most one may be given; in Kafka's parsers one must be, where they are `required`. `heading` is that of the help's
section in which Kafka lists an option.

Errors of conversion: UsageError whose message begins with the value at fault."""

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from metashell.common.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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
    return Option(names=names, help=help, metavar=metavar, type="choice", choices=_with_raw_csv(choices), **more)


CSV = "csv"
CSV_RAW = "csv-raw"


class RawCsv(str):
    """The form csv whose cells are left as they are. It equals `csv`, so that only the writer of cells looks at the difference."""

    __slots__ = ()


def _with_raw_csv(forms: tuple[str, ...]) -> tuple[str, ...]:
    at = forms.index(CSV) + 1 if CSV in forms and CSV_RAW not in forms else 0
    return (*forms[:at], CSV_RAW, *forms[at:]) if at else forms


def file_option(*names: str, help: str, metavar: str = "FILE", **more: Any) -> Option:
    """An option whose value is a path, which shells complete."""
    return Option(names=names, help=help, metavar=metavar, type="path", kind="file", **more)


class Argument(NamedTuple):
    """A positional argument; `nargs` is `1`, `?`, `*` or `+`. `form` overrides its form in a synopsis, which else follows from `nargs`."""

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
    """A positional argument of one or more paths."""
    return Argument(name=name, metavar=metavar, nargs=nargs, type="path", kind="file", help=help)


def source_argument(name: str, metavar: str, nargs: str, help: str) -> Argument:
    """A positional argument of one or more paths to read; `@NAME` stands for a source of the settings."""
    return Argument(name=name, metavar=metavar, nargs=nargs, type="path", kind="source", help=help)


class CommandSpec(NamedTuple):
    """A command: its texts, options and arguments.

    Shape: `examples` are (command line, effect) pairs. `first_word_ends_options` leaves every word from the first positional one on
    unparsed, as `env` or `kafka-shell` need it. `epilog` has the (heading, text) pairs that help prints after the options; `files` and
    `environment` are (name, purpose) pairs of the man page. The first word of a tool with `commands` names one of them, and the following
    words are that command's own.
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


OUTPUT_FORMS = ("text", "json", "jsonl", "table", "csv", "kafka")

OUTPUT = choice("--output", "-o", choices=OUTPUT_FORMS, help="form of the output")
SHOW_SECRETS = flag("--show-secrets", help="print passwords, keys and salts instead of redacting them")
MAX_DECOMPRESSED = Option(
    names=("--max-decompressed",),
    metavar="SIZE",
    type="size",
    default=128 << 20,
    help="largest size of a batch after decompression; a larger batch is reported as a fault",
)
CERTAIN_ONLY = flag(
    "--certain-only", help="stop at the newest complete checkpoint of a directory: what follows may not have been committed"
)
VERBOSE = flag("--verbose", "-v", help="report on standard error what was read, torn tails and every fault")
NO_COLOR = flag("--no-color", help="print no colours, as if NO_COLOR were set in the environment")
SETTINGS = file_option("--settings", help="read aliases, defaults and colours from this file, not from ~/.config/metashell/config.toml")
VERSION = flag("--version", help="print the version and exit")
CONFIG = file_option("--config", "-c", help="the server's configuration, a properties file")
OVERRIDE = Option(
    names=("--override",),
    metavar="NAME=VALUE",
    multiple=True,
    help="a setting in place of that in the configuration; other users of this machine can see it",
)
JOBS = Option(names=("--jobs", "-j"), metavar="N", type="int", default=0, help="number of processes; 0 means one for each core")
OUT = file_option("--out", metavar="DIR", required=True, help="directory or s3://bucket/folder to write to; created if it does not exist")
ON_ERROR = choice(
    "--on-error",
    metavar="WHAT",
    choices=("fail", "skip"),
    default="fail",
    help="at a corrupt batch or record: end the run, or skip it and list it among the faults",
)
LOG_KINDS = ("metadata", "offsets", "transactions", "share", "remote_log")
LOG_KIND = choice(
    "--log",
    metavar="KIND",
    choices=LOG_KINDS,
    help="what the files hold, where neither their records nor their directory shows it; files of other logs are skipped",
)
DEMO = flag("--demo", help="read the directory of a real controller that ships with the package")
LOG_PATHS = source_argument(
    "paths",
    "PATH",
    "+",
    "logs, checkpoints, directories of them at any depth, quoted patterns, URIs such as s3://bucket/folder, or @NAME of the settings",
)


def output(*forms: str, default: str | None = "text", **more: Any) -> Option:
    """`--output` of a command that has only these forms."""
    return OUTPUT._replace(choices=_with_raw_csv(forms), default=default, **more)


def own_forms(*forms: str) -> Option:
    """`--output` of a command with Kafka's name. It is hidden, because the help shows only the options that Kafka has."""
    return output(*forms, default=None, hidden=True)


def listed(entries: dict[str, str]) -> str:
    """Names with their meanings, one per line, aligned."""
    width = max(map(len, entries)) + 2
    return "\n".join(f"{name:<{width}}{meaning}" for name, meaning in entries.items())


EXIT_STATUS = (
    "EXIT STATUS",
    "0  success\n1  a fault was found or something failed; everything readable was still printed\n2  the command line is wrong",
)
KAFKA_EXIT_STATUS = ("EXIT STATUS", "0  success\n1  anything else, as in Kafka's own tool")

METADATA_FILES = (
    ("LOGDIR/__cluster_metadata-0/", "the metadata log of a node: segments (.log), indexes and checkpoints"),
    ("LOGDIR/__cluster_metadata-0/OFFSET-EPOCH.checkpoint", "a snapshot of the metadata up to an offset"),
    ("LOGDIR/__cluster_metadata-0/quorum-state", "the leader and epoch that the node knows, and its vote"),
    ("LOGDIR/meta.properties", "the ids of the cluster, the node and the directory"),
    ("LOGDIR/bootstrap.checkpoint", "the records that a new cluster begins with"),
)
LOG_FILES = (
    *METADATA_FILES,
    ("LOGDIR/TOPIC-PARTITION/", "the log of another partition, for example __consumer_offsets-12"),
)
TERMINAL_ENVIRONMENT = (
    ("NO_COLOR", "if set and not empty, output has no colours"),
    ("TERM", "dumb means a terminal without colours"),
    ("COLUMNS", "width of the output, where it is not that of the terminal"),
)
CONFIG_VARIABLE = "METASHELL_CONFIG"
SOURCE_VARIABLE = "METASHELL_SOURCE"
SETTINGS_FILES = (
    ("~/.config/metashell/config.toml", "aliases, defaults, names of sources and colours; below $XDG_CONFIG_HOME where that is set"),
)
SETTINGS_ENVIRONMENT = (
    (CONFIG_VARIABLE, "another file of aliases, defaults and colours; /dev/null for none"),
    ("XDG_CONFIG_HOME", "directory of that file, where it is not named"),
)
TEMPORARY_ENVIRONMENT = (("TMPDIR", "where temporary files are created; they are deleted at the end"),)
STORE_ENVIRONMENT = (
    ("AWS_*, GOOGLE_APPLICATION_CREDENTIALS", "credentials for s3:// and gs:// paths, as Arrow reads them"),
    ("AWS_ENDPOINT_URL", "an S3 server that is not Amazon's, such as http://127.0.0.1:9000"),
)
SQL_FORMS = ("text", "json", "jsonl", "csv", "table", "line")
"""The forms of output of `metashell sql` and of its prompt."""
EVENT_TABLES = """\
TYPE           one for each record type: partition, partition_change, topic, register_broker, offset_commit, ...
records        on request: every record with offset, epoch, timestamp, type, version, size, its log, and its JSON text
control        control records: leader changes, snapshot headers, transaction markers
batches        a row for each batch: offsets, position, size, codec, producer
faults         what could not be read: file, offset, position, size, reason, and those bytes that hold no secret"""
"""The tables that `metashell export` writes and `metashell sql` queries."""
REPORT_SUMMARIES = {
    "timeline": "elections, states of brokers, ISR storms, feature and config changes",
    "leadership_churn": "leaders won and lost, ISR shrinks and expands",
    "unclean_elections": "unclean elections, use of ELR, leaderless partitions",
    "under_replicated": "which partitions lacked replicas, and how long",
    "topic_history": "every change of topics and configurations",
    "quota_history": "every change of a client quota",
    "acl_history": "ACLs added and removed",
    "scram_history": "SCRAM credentials set and removed, without secrets",
    "replica_skew": "replicas and leaders by broker and rack, against the mean",
    "broker_sessions": "registrations, fencing, orderly shutdowns",
    "controller_elections": "leaders of the metadata quorum",
    "metadata_growth": "records and bytes by type, checkpoints",
    "group_rebalances": "generations, members, moved partitions",
    "group_commits": "commits, rewinds and deletions by hour",
    "group_expiring": "committed offsets that expire, and when",
}
"""The reports and their subjects, in the order of the command line's list."""
FORMER_WORDS = {"group_offsets": "group_commits"}
"""Choices that had another name, and still work by it. `group_offsets` is a table of the state today."""
ALL_REPORTS = "all"
REPORTS_TEXT = ("REPORTS", listed({**REPORT_SUMMARIES, ALL_REPORTS: "each report that the logs can answer"}))
"""The section of a help text that lists the reports."""
ANSWER_FORMS = ("parquet", "csv", "json", "html")
"""The forms of files with the answer of a report."""


OffsetRange = tuple[int | None, int | None]

DECODERS = ("String", "Integer", "Long", "Default")
_DECODER_PACKAGE = "org.apache.kafka.tools.api."
_SIZE_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TOO_LARGE = 1 << 63
_INT64_DIGITS = 19
_SHOWN_DIGITS = 40
_YEARS_AGO_MAX = 100


def convert_value(type_name: str, text: str, choices: "Sequence[str]" = ()) -> object:
    """The value of `text` for a declared type."""
    if type_name in ("choice", "optional-choice"):
        return one_of(text, choices)
    if type_name == "optional-int":
        return text if text in choices and not text.isdigit() else whole_number(text)
    return _CONVERTERS[type_name](text)


def did_you_mean(word: str, known: "Sequence[str]") -> str:
    """` (did you mean --files?)` when a known word is near, else nothing."""
    from difflib import get_close_matches

    # All options have dashes, so these would make unlike names look alike.
    bare = {name.lstrip("-"): name for name in known}
    near = get_close_matches(word.lstrip("-"), bare, n=1)
    return f" (did you mean {bare[near[0]]}?)" if near else ""


def one_of(text: str, choices: "Sequence[str]") -> str:
    """One of `choices`; `RawCsv` for csv-raw."""
    for word in (text, FORMER_WORDS.get(text, text)):
        if word in choices:
            return RawCsv(CSV) if word == CSV_RAW else word
    raise UsageError(f"{text!r} is not one of {', '.join(choices)}{did_you_mean(text, choices)}", text)


def decoder_class(text: str) -> str:
    """The full name of one of Kafka's decoder classes, from the whole name or its last part: `Integer` or `IntegerDecoder`."""
    kind = text.removeprefix(_DECODER_PACKAGE).removesuffix("Decoder")
    if kind not in DECODERS:
        raise UsageError(f"{text!r} is not one of {', '.join(DECODERS)}", text)
    return f"{_DECODER_PACKAGE}{kind}Decoder"


def whole_number(text: str) -> int:
    """A number of things: 0 or more."""
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"{text!r} is not a whole number", text)
    return _int64(text)


def signed_number(text: str) -> int:
    """A number of either sign."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise UsageError(f"{text!r} is not a whole number", text)
    return _int64(text)


def _int64(digits: str, factor: int = 1) -> int:
    """A number that fits in 64 bits, so that every use can hold it. Errors: UsageError."""
    # int() raises a ValueError of its own for thousands of digits, so their count is checked first.
    number = int(digits) * factor if len(digits.lstrip("+-0")) <= _INT64_DIGITS else _TOO_LARGE
    if not -_TOO_LARGE <= number < _TOO_LARGE:
        shown = digits if len(digits) <= _SHOWN_DIGITS else f"{digits[:_SHOWN_DIGITS]}..."
        raise UsageError(f"{shown!r} is too large a number", digits)
    return number


def int32(text: str) -> int:
    """A number that fits Java's int.

    Source: java.lang.Integer.valueOf.
    """
    number = signed_number(text)
    if not -(1 << 31) <= number < 1 << 31:
        raise UsageError(f"{text!r} does not fit in 32 bits", text)
    return number


def java_integer(text: str) -> int:
    """The same with the error message of Kafka's tools."""
    try:
        return int32(text)
    except UsageError:
        raise UsageError(f"could not convert '{text}' to Integer (For input string: \"{text}\")", text) from None


def size_bytes(text: str) -> int:
    """A number of bytes: `5242880`, `64k`, `128M`, `128MiB`, `1g`."""
    match = re.fullmatch(r"([0-9]+)\s*([kmg]?)(?:i?b)?", text.lower())
    if match is None:
        raise UsageError(f"{text!r} is not a size such as 5242880, 64k or 128M", text)
    return _int64(match[1], _SIZE_UNITS[match[2]])


def offset_range(text: str) -> OffsetRange:
    """The offsets of `FROM..TO`, both inclusive; a missing side is None, a single number is both."""
    first, dots, last = text.partition("..")
    if not dots:
        number = _range_end(first, text)
        return number, number
    if not first and not last:
        raise UsageError(f"{text!r} is not a range such as 7..42, 7.. or ..42", text)
    low = _range_end(first, text) if first else None
    high = _range_end(last, text) if last else None
    if low is not None and high is not None and low > high:
        raise UsageError(f"{text!r} is an empty range", text)
    return low, high


def _range_end(part: str, text: str) -> int:
    if not part.isascii() or not part.isdigit():
        raise UsageError(f"{text!r} is not a range such as 7..42, 7.. or ..42", text)
    return _int64(part)


def time_ms(text: str) -> int:
    """Unix milliseconds from a number of milliseconds or an ISO 8601 time, which is UTC if it names no zone."""
    if text.isascii() and text.isdigit() and len(text) > 8:
        return _int64(text)
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise UsageError(f"{text!r} is not a time such as 2026-11-20T12:00:00Z or Unix milliseconds", text) from None


def past_ms(text: str, now_ms: int | None = None) -> int:
    """Unix milliseconds from a time, or from an age: `10m` and `-10m` are ten minutes ago.

    Errors: UsageError for other texts. A time may lie in the future.
    """
    try:
        return time_ms(text)
    except UsageError:
        import time

        from metashell.common.values import duration_ms

        try:
            ago = duration_ms(text.removeprefix("-"), years_max=_YEARS_AGO_MAX)
        except UsageError:
            raise UsageError(
                f"{text!r} is neither a time such as 2026-11-20T12:00:00Z nor how long ago, such as 10m or -2h", text
            ) from None
        return (round(time.time() * 1000) if now_ms is None else now_ms) - ago


def duration_value(text: str) -> int:
    """Milliseconds of `24h`, `1h30m` or `90s`."""
    from metashell.common.values import duration_ms

    return duration_ms(text)


def regex(text: str) -> re.Pattern[str]:
    """A compiled regular expression."""
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(f"{text!r} is not a regular expression: {error}", text) from None


def page_path(text: str) -> str:
    """The path of an HTML page. It cannot be standard output, which has the command's own output."""
    if text == "-":
        raise UsageError("'-' is no file: the page needs one of its own (./- is a file of this name)", text)
    return text


_CONVERTERS: "dict[str, Callable[[str], object]]" = {
    "str": str,
    "optional-str": str,
    "path": str,
    "page": page_path,
    "int32": int32,
    "java-integer": java_integer,
    "int": whole_number,
    "integer": signed_number,
    "size": size_bytes,
    "range": offset_range,
    "time": past_ms,
    "duration": duration_value,
    "regex": regex,
    "decoder-class": decoder_class,
}
