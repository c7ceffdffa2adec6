"""The command `metashell storage`: formats, inspects and repairs the log directories of a node. `kafka-storage` runs the same code."""

from __future__ import annotations

import os
import sys
from itertools import chain
from time import localtime, strftime, time
from typing import TYPE_CHECKING, Any

from metashell.cli.controllers.repair import REPAIR
from metashell.cli.tool import parsed, run_sub_command
from metashell.codec.releases import FEATURES
from metashell.common import options as shared
from metashell.common.command import STATUS_FAILED, STATUS_OK, Tool, complain
from metashell.common.errors import ConfigError, MetashellError, StorageError, UsageError
from metashell.common.forms import spaced_json, standard_output
from metashell.common.options import Argument, CommandSpec, Option, choice, did_you_mean, file_option, flag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import SimpleNamespace

    from metashell.disk.format import FormatPlan, FormatRequest, Given


_QUORUM = "quorum"

CONFIG = shared.CONFIG._replace(required=True)
_OUTPUT = shared.output("text", "json", "kafka")
CLUSTER_ID = Option(names=("--cluster-id", "-t"), metavar="ID", required=True, help="the id of the cluster, the same on all its nodes")
ADD_SCRAM = Option(
    names=("--add-scram", "-S"),
    metavar="SPEC",
    multiple=True,
    help="a credential, SCRAM-SHA-256=[name=alice,password=...] or SCRAM-SHA-512=[...]; other users of this machine can see it",
)
ADD_SCRAM_FILE = file_option(
    "--add-scram-file",
    multiple=True,
    help="SCRAM credentials, one a line as in --add-scram; `-` is standard input. No password shows in a process list",
)
IGNORE_FORMATTED = flag("--ignore-formatted", "-g", help="skip directories that are formatted already, instead of failing")
RELEASE = Option(
    names=("--release-version", "-r"),
    metavar="VERSION",
    help="the release whose feature levels a new cluster gets (3.3 and later; by default the newest for production)",
)
FEATURE = Option(names=("--feature", "-f"), metavar="NAME=LEVEL", multiple=True, help="a feature and its level")
STANDALONE = flag("--standalone", "-s", exclusive=_QUORUM, help="this controller is the only voter of a new dynamic quorum")
NO_CONTROLLERS = flag("--no-initial-controllers", "-N", exclusive=_QUORUM, help="this node joins a dynamic quorum that others form")
CONTROLLERS = Option(
    names=("--initial-controllers", "-I"),
    metavar="LIST",
    exclusive=_QUORUM,
    help="the voters of a new dynamic quorum, id@host:port:directory-id separated by commas, the same on all of them",
)
LAYOUT = choice(
    "--layout",
    metavar="RELEASE",
    choices=("4.4", "4.3"),
    help="whose directories: servers before 4.4 need 4.3's, which later ones read too (by default 4.3's for a --release-version up to 4.3)",
)
DRY_RUN = flag("--dry-run", help="check everything and show what would be written, but write nothing")
STORAGE_FILES = (
    ("LOGDIR/meta.properties", "the ids of the cluster, the node and the directory; a directory that has it is formatted"),
    (
        "LOGDIR/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
        "of controllers: the first voters of a dynamic quorum and, in 4.4's layout, the first metadata records of a new cluster",
    ),
    ("LOGDIR/bootstrap.checkpoint", "in 4.3's layout, the first metadata records of a new cluster"),
    ("LOGDIR/.lock", "held by a running server, and by format while it writes"),
    ("LOGDIR/repair.json", "the journal of repairs, which repair --undo reads"),
    ("LOGDIR/meta.properties.tmp", "left by an interrupted format; info explains it, and the next format completes it"),
)


def _own(name: str, summary: str, *options: Option, description: str = "", examples: tuple[tuple[str, str], ...]) -> CommandSpec:
    """Declare a command of `metashell storage`."""
    return CommandSpec(name, summary, description, (*options, _OUTPUT), examples=examples, epilog=(shared.EXIT_STATUS,))


FORMAT = _own(
    "format",
    "prepare the log directories of a node before its server first starts",
    CONFIG,
    CLUSTER_ID,
    ADD_SCRAM,
    ADD_SCRAM_FILE,
    IGNORE_FORMATTED,
    RELEASE,
    FEATURE,
    STANDALONE,
    NO_CONTROLLERS,
    CONTROLLERS,
    LAYOUT,
    DRY_RUN,
    shared.SHOW_SECRETS,
    description="""
        Writes meta.properties into each directory of the configuration that has none yet. The metadata directory of a controller also gets
        the first records of the cluster and the first voters of a dynamic quorum, as 4.4 or as 4.3 lays them out (--layout): only servers
        from 4.4 on take the records of 4.4's layout into the log. A directory whose server is running is refused. Either all directories
        are formatted or none is; if the machine stops in between, `info` shows what is missing and the same command completes it.
        """,
    examples=(
        ("metashell storage format -c server.properties -t $(metashell storage random-uuid) -s", "a quorum of one controller"),
        ("metashell storage format -c server.properties -t ID -N --dry-run -o json", "what would be written, for a program"),
        ("metashell storage format -c server.properties -t ID -s --add-scram-file - < users", "with users, and no password in sight"),
    ),
)
INFO = _own(
    "info",
    "show what the log directories of a node hold, and what is wrong with them",
    CONFIG,
    description="""
        Lists each directory of the configuration with its state and ids, then problems, which fail the command, and warnings about
        settings that often cause trouble later: listeners that others cannot reach, directories below a temporary or relative
        path, ids that differ from those on disk.
        """,
    examples=(
        ("metashell storage info -c server.properties", "the directories of a node"),
        ("metashell storage info -c server.properties -o json", "the same, for a program"),
    ),
)
VERSION_MAPPING = _own(
    "version-mapping",
    "show the level of every feature in a release",
    RELEASE,
    examples=(("metashell storage version-mapping -r 4.1", "what a new cluster of 4.1 gets"),),
)
FEATURE_DEPENDENCIES = _own(
    "feature-dependencies",
    "show which other features a level of a feature requires",
    FEATURE._replace(required=True),
    examples=(("metashell storage feature-dependencies -f eligible.leader.replicas.version=1", "the features it requires"),),
)
RANDOM_UUID = _own(
    "random-uuid", "make a new id for a cluster or a directory", examples=(("metashell storage random-uuid", "a random id"),)
)
_STORAGE_COMMANDS = (FORMAT, INFO, REPAIR, VERSION_MAPPING, FEATURE_DEPENDENCIES, RANDOM_UUID)

STORAGE = CommandSpec(
    name="metashell-storage",
    summary="prepare, inspect and repair the log directories of a node",
    description="""
        Prepares what a server needs on disk before it first starts, and shows what is there. @FILE is replaced by the lines of
        FILE, one argument per line.
        """,
    options=(shared.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="words", help="one of the commands below, and its words"),),
    first_word_ends_options=True,
    commands=_STORAGE_COMMANDS,
    examples=tuple(command.examples[0] for command in _STORAGE_COMMANDS),
    epilog=(("COMMANDS", shared.listed({command.name: command.summary for command in _STORAGE_COMMANDS})), shared.EXIT_STATUS),
    files=STORAGE_FILES,
)


NAME = "metashell storage"


def run_storage(words: list[str]) -> int:
    """Run the sub-command that the words name, and return its status."""
    from metashell.common.kafka_options import splice_argument_files

    return run_sub_command(STORAGE._replace(name=NAME), splice_argument_files(words), _run_command)


def _run_command(command: CommandSpec, words: list[str]) -> int:
    try:
        values = parsed(command, words)
    except UsageError as error:
        # A misplaced word may hold a password, so the message does not show it.
        raise (UsageError("unexpected argument [hidden]") if "password" in str(error) else error) from None
    if values is None:
        return STATUS_OK

    try:
        return run_storage_command(command.name, command.name.rpartition(" ")[2], values)
    except ConfigError as error:
        raise MetashellError(f"{error.file}: {error.plain}" if error.file else error.plain) from None
    except StorageError as error:
        raise MetashellError(f"{error}{did_you_mean(error.word, error.known)}") from None


main = Tool(NAME, run_storage)


_SALT_BITS = 130
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_RESERVED_IDS = 100
_STANDARD_INPUT = "-"


def run_storage_command(tool: str, command: str, values: SimpleNamespace) -> int:
    """Run a sub-command, print its answer in the format `values.output`, and return the status."""
    return _FUNCTIONS[command](tool, values)


def _print(lines: Iterable[str]) -> None:
    display = standard_output()
    for line in lines:
        display.line(line)


def _print_answer(
    form: str,
    *,
    text: Callable[[], Iterable[str]],
    json: Callable[[], dict[str, Any]],
    kafka: Callable[[], Iterable[str]] | None = None,
) -> int:
    """Print an answer in a format; without `kafka`, `text` is also the answer for `kafka`. Return the status of success."""
    if form == "json":
        display = standard_output()
        display.out.write(display.colored_json(spaced_json(json())) + "\n")
    else:
        _print(kafka() if form == "kafka" and kafka is not None else text())
    return STATUS_OK


def _info(tool: str, values: SimpleNamespace) -> int:
    return _kafka_info(tool, values.config) if values.output == "kafka" else _own_info(values)


def _kafka_info(tool: str, path: str) -> int:
    """Print the directories and problems as Kafka's tool does; return the status."""
    from metashell.disk import storage_info
    from metashell.disk.config import load_config
    from metashell.disk.storage_info import read_info

    info = read_info(load_config(path).log_directories)
    _print(storage_info.kafka_info_lines(info))
    for explanation in info.explanations:
        complain(tool, explanation)
    return STATUS_FAILED if info.problems else STATUS_OK


def _own_info(values: SimpleNamespace) -> int:
    """Print the directories, and the findings of the checks of disks, which `verify` and `health` print too; return the status."""
    from metashell.disk import storage_info
    from metashell.disk.config import config_warnings, load_config
    from metashell.disk.storage_info import read_info
    from metashell.metadata.checks import judge_disks
    from metashell.metadata.facts import gather_facts
    from metashell.shell.health_text import finding_row, shown_of, verdict_lines, verdict_row

    facts = gather_facts((), [values.config])
    try:
        warnings = config_warnings(load_config(values.config))
    except ConfigError as error:
        if error.directories is None:
            raise
        warnings = []
    info = read_info(facts.configurations[0].log_directories)
    verdict = judge_disks(facts)
    shown = shown_of(verdict, 100)
    _print_answer(
        values.output,
        text=lambda: chain(
            storage_info.info_lines(info, warnings),
            verdict_lines(standard_output(), shown),
            [verdict.summary("this configuration and its disks")],
        ),
        json=lambda: {
            **storage_info.info_json(info, warnings),
            "findings": [finding_row(one) for one in shown],
            "verdict": verdict_row(verdict),
        },
    )
    return STATUS_FAILED if verdict.bad else STATUS_OK


def _version_mapping(tool: str, values: SimpleNamespace) -> int:
    from metashell.disk import bootstrap, storage_info

    typed = values.release_version
    level = bootstrap.NEWEST_RELEASE_LEVEL if typed is None else bootstrap.release_level(typed, unstable=True)
    levels = {name: bootstrap.default_level(name, level) for name in FEATURES}
    return _print_answer(
        values.output,
        text=lambda: storage_info.mapping_lines(level, levels),
        json=lambda: storage_info.mapping_json(level, levels),
        kafka=lambda: storage_info.kafka_mapping_lines(level, typed, levels),
    )


def _feature_dependencies(tool: str, values: SimpleNamespace) -> int:
    from metashell.disk import storage_info
    from metashell.disk.bootstrap import dependencies

    return _print_answer(
        values.output,
        # Lines are made one by one: the features before an invalid one are still printed.
        text=lambda: (line for text in values.feature for line in storage_info.dependency_lines(dependencies(text))),
        json=lambda: storage_info.dependencies_json([dependencies(text) for text in values.feature]),
    )


def _random_uuid(tool: str, values: SimpleNamespace) -> int:
    from metashell.common.values import uuid_text

    text = uuid_text(new_uuid())
    return _print_answer(values.output, text=lambda: [text], json=lambda: {"type": "random_uuid", "uuid": text})


def _format(tool: str, values: SimpleNamespace) -> int:
    from metashell.disk import storage_info
    from metashell.disk.config import load_config
    from metashell.disk.format import plan_format

    plan = plan_format(load_config(values.config), _request(values), clock_and_chance())
    for path, reason in plan.unreadable.items():
        if values.output == "kafka" and not values.dry_run:
            _print([storage_info.kafka_unreadable_line(path)])
        complain(tool, f"{path}: {reason}")
    if plan.refusal is not None:
        raise StorageError(plan.refusal)
    _warn(tool, plan)
    if values.dry_run:
        return _show_plan(plan, values)
    return _carry_out(plan, values)


def _warn(tool: str, plan: FormatPlan) -> None:
    """Print warnings about a format that works now but may fail later."""
    if plan.finishes:
        complain(tool, f"finishing an interrupted format; already done: {', '.join(plan.formatted)}")
    if plan.needs_newer_server and any(directory.holds_partition for directory in plan.directories):
        complain(
            tool,
            f"warning: only servers from 4.4 on take the records of this layout into the log, also at metadata.version {plan.release} "
            "(4.3 begins without them); --layout 4.3 writes what all servers read",
        )
    if os.geteuid() != 0:
        return
    for directory in plan.directories:
        owner = _other_owner(directory.path)
        if owner is not None:
            complain(tool, f"warning: formatting as root, but {owner} belongs to another user, who may not be able to write the result")


def _other_owner(path: str) -> str | None:
    """Return the directory, or the nearest existing one above it, if it does not belong to root; otherwise None."""
    place = os.path.abspath(path)
    while not os.path.isdir(place):
        place = os.path.dirname(place)
    return place if os.stat(place).st_uid != 0 else None


def _show_plan(plan: FormatPlan, values: SimpleNamespace) -> int:
    _refuse_locked([directory.path for directory in plan.directories] + list(plan.formatted))
    return _print_plan(plan, values, "would be formatted")


def _print_plan(plan: FormatPlan, values: SimpleNamespace, done: str) -> int:
    """Print a plan as text or JSON; `done` says what happened, or would happen, to each directory. Return the status."""
    from metashell.disk import storage_info

    return _print_answer(
        values.output,
        text=lambda: chain(storage_info.plan_lines(plan), storage_info.directory_rows(plan, done)),
        json=lambda: storage_info.plan_json(plan, dry_run=values.dry_run, show_secrets=values.show_secrets),
    )


def _refuse_locked(paths: Iterable[str]) -> None:
    from metashell.disk.file_system import is_locked

    for path in paths:
        if is_locked(path):
            raise MetashellError(f"{path}: in use by a running process, which holds its .lock")


def _carry_out(plan: FormatPlan, values: SimpleNamespace) -> int:
    from metashell.disk import storage_info
    from metashell.disk.format import write_format

    if values.output != "kafka":
        write_format(plan, lambda directory: None)
        return _print_plan(plan, values, "formatted")
    _print([storage_info.kafka_bootstrap_line(plan) if plan.directories else storage_info.ALL_FORMATTED])
    write_format(plan, lambda directory: _print([storage_info.kafka_directory_line(plan, directory)]))
    return STATUS_OK


def _repair(tool: str, values: SimpleNamespace) -> int:
    from metashell.cli.controllers.repair import run_repair

    return run_repair(tool, values, clock_and_chance())


def _request(values: SimpleNamespace) -> FormatRequest:
    from metashell.disk.format import FormatRequest

    quorum = "standalone" if values.standalone else "none" if values.no_initial_controllers else ""
    if values.initial_controllers is not None:
        quorum = "initial"
    return FormatRequest(
        cluster_id=values.cluster_id,
        release=values.release_version,
        features=values.feature,
        scram=(*values.add_scram, *_scram_from_files(values.add_scram_file)),
        quorum=quorum,
        initial_controllers=values.initial_controllers or "",
        ignore_formatted=values.ignore_formatted,
        layout=values.layout,
    )


def _scram_from_files(paths: Iterable[str]) -> list[str]:
    """Return the credentials in files, one per line, `-` for standard input; empty lines and comments (`#`) are skipped."""
    found: list[str] = []
    for path in paths:
        if path == _STANDARD_INPUT:
            lines = sys.stdin.read().splitlines()
        else:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        found += [line for line in lines if line.strip() and not line.startswith("#")]
    return found


def clock_and_chance() -> Given:
    """Return the current time and the sources of random values for a format."""

    from metashell.disk.format import Given

    return Given(
        now_ms=int(time() * 1000),
        date=strftime("%a %b %d %H:%M:%S %Z %Y", localtime()),
        new_uuid=new_uuid,
        new_salt=new_salt,
    )


def new_uuid() -> bytes:
    """Return a random uuid of version 4 that Kafka does not reserve and whose text does not begin with a dash."""
    while True:
        raw = bytearray(os.urandom(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        # The first character of the text encodes the six highest bits; the value 62 is the dash.
        if raw[0] >> 2 != 62 and int.from_bytes(raw, "big") >= _RESERVED_IDS:
            return bytes(raw)


def new_salt() -> bytes:
    """Return a salt as Kafka makes it: a random number of 130 bits in base 36, as ASCII."""
    number = int.from_bytes(os.urandom(17), "big") & ((1 << _SALT_BITS) - 1)
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _BASE36[digit] + digits
    return digits.encode() or b"0"


_FUNCTIONS: dict[str, Callable[[str, SimpleNamespace], int]] = {
    "format": _format,
    "info": _info,
    "repair": _repair,
    "version-mapping": _version_mapping,
    "feature-dependencies": _feature_dependencies,
    "random-uuid": _random_uuid,
}
