"""Options that name a cluster, the `Target` or `Admin` made from them, and the reading of passwords.

The command line comes first, then METASHELL_BOOTSTRAP_SERVER, METASHELL_BOOTSTRAP_CONTROLLER and METASHELL_COMMAND_CONFIG.
`--bootstrap-controller` is KIP-631's name. `command` and `noun` declare commands on a live cluster with the options that all of them
share.

`read_password` reads a password from a terminal, a file, standard input or the environment, where no other user of the machine can see
it. No message contains any part of it."""

from __future__ import annotations

import os
import re
import sys
import warnings
from getpass import GetPassWarning, getpass
from types import SimpleNamespace
from typing import TYPE_CHECKING

from metashell.common import options
from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.options import Argument, CommandSpec, Option, file_option, flag

if TYPE_CHECKING:
    from types import SimpleNamespace

    from metashell.cli.admin.client import Admin
    from metashell.net.addresses import Address
    from metashell.net.client_config import ClientConfig
    from metashell.quorum.observer.controllers import Target


SOURCE = "source"
"""The group of options that say what to open; only one of them may be given."""

CONTROLLERS = Option(
    names=("--bootstrap-controller", "--controllers", "-C"),
    metavar="HOST:PORT,...",
    help="attach to the quorum of these controllers as an observer; ID@HOST:PORT works too",
    exclusive=SOURCE,
)
BOOTSTRAP_SERVER = Option(
    names=("--bootstrap-server", "-b"),
    metavar="HOST:PORT,...",
    help="ask these brokers for the controllers, and attach there",
    exclusive=SOURCE,
)
COMMAND_CONFIG = file_option("--command-config", "--config", "-c", help="property file of a Kafka client: security.protocol, sasl.*, ssl.*")
ADDRESS_MAP = Option(
    names=("--address-map",),
    metavar="HOST:PORT=HOST:PORT,...",
    multiple=True,
    help="connect to the second address in place of the first, where controllers advertise one that is not reachable from here",
)
TIMEOUT = Option(
    names=("--timeout",),
    metavar="SECONDS",
    type="int",
    help="give up attaching after this time (10, longer while a leader sends what is missing; 2 if no address accepts a connection); "
    "an attached observer has no limit",
)

QUORUM_OPTIONS = (CONTROLLERS, BOOTSTRAP_SERVER, COMMAND_CONFIG, ADDRESS_MAP, TIMEOUT)


FORMS = ("text", "json", "jsonl", "table", "csv")
TIMEOUT_S = 30
SERVER_VARIABLE = "METASHELL_BOOTSTRAP_SERVER"
CONTROLLER_VARIABLE = "METASHELL_BOOTSTRAP_CONTROLLER"
CONFIG_VARIABLE = "METASHELL_COMMAND_CONFIG"

CLUSTER_OPTIONS = (
    BOOTSTRAP_SERVER._replace(help="brokers of the cluster; any of them will do"),
    CONTROLLERS._replace(help="controllers of the cluster, where no broker answers; the active one is found from any of them"),
    # --config, the older name, is left out: here it is the configuration of a topic.
    COMMAND_CONFIG._replace(names=("--command-config", "-c")),
    ADDRESS_MAP._replace(
        help="connect to the second address in place of the first, where nodes advertise one that is not reachable from here"
    ),
    Option(names=("--timeout",), metavar="SECONDS", type="int", default=TIMEOUT_S, help="give up after this time"),
)
"""Options that name a cluster and how to reach it."""

SNAPSHOT = file_option(
    "--snapshot",
    "-s",
    metavar="PATH",
    help="answer from the metadata of a directory, a checkpoint or a segment, as it was written; the first word may be this path too",
    exclusive=SOURCE,
)
STORED = (SNAPSHOT, options.DEMO._replace(help="answer from the directory that ships with the package", exclusive=SOURCE))
"""Options of reading commands that name metadata on disk in place of a cluster."""
OUTPUT = options.output(*FORMS)
YES = flag("--yes", "-y", help="do it without asking, also what can lose data or availability")
DRY_RUN = flag("--dry-run", help="change nothing: show what would be done, and whether the cluster would refuse it")
WAIT = Option(
    names=("--wait",),
    metavar="SECONDS",
    type="optional-int",
    choices=("300",),
    help="return when it is done, not when it has begun; status 1 where that takes longer than this (300)",
)
WATCH = Option(
    names=("--watch",), metavar="SECONDS", type="optional-int", choices=("2",), help="show it again every so often (2), until Ctrl-C"
)

EXIT_STATUS = (
    "EXIT STATUS",
    "0    success\n1    the cluster refused it or could not be reached, or one of several things failed; the others are done\n"
    "2    the command line is wrong, or --yes is missing where nobody can be asked\n130  Ctrl-C",
)
ENVIRONMENT = (
    (SERVER_VARIABLE, "brokers, where neither --bootstrap-server nor --bootstrap-controller is given"),
    (CONTROLLER_VARIABLE, "controllers, likewise"),
    (CONFIG_VARIABLE, "file for --command-config, where that is not given"),
)
FILES = (("client.properties", "a file for --command-config, as Kafka's clients read it: security.protocol, sasl.*, ssl.*"),)

FILES = (("CLIENT.properties", "how to reach a secured cluster, for --command-config: security.protocol, sasl.*, ssl.*"),)


def command(
    name: str,
    summary: str,
    description: str,
    *,
    options: tuple[Option, ...] = (),
    arguments: tuple[Argument, ...] = (),
    examples: tuple[tuple[str, str], ...],
    reads: bool = False,
) -> CommandSpec:
    """Declare a command that asks a cluster; its own options come before the shared ones. With `reads` it also takes metadata on disk."""
    return CommandSpec(
        name,
        summary,
        description,
        (*options, OUTPUT, *(STORED if reads else ()), *CLUSTER_OPTIONS),
        arguments,
        examples=examples,
        epilog=(EXIT_STATUS,),
        files=FILES,
        environment=ENVIRONMENT,
    )


def noun(name: str, summary: str, description: str, commands: tuple[CommandSpec, ...]) -> CommandSpec:
    """Declare `metashell NOUN` with its commands."""
    return CommandSpec(
        name=f"metashell-{name}",
        summary=summary,
        description=description,
        options=(options.VERSION,),
        arguments=(Argument(name="command", nargs="+", kind="words", help="one of the commands below, and its words"),),
        first_word_ends_options=True,
        commands=commands,
        examples=tuple(each.examples[0] for each in commands),
        epilog=(("COMMANDS", options.listed({each.name: each.summary for each in commands})), EXIT_STATUS),
        files=FILES,
        environment=ENVIRONMENT,
    )


LEADERLESS_MS = 4000
"""The time for which a client looks for the leader."""


def cluster_of(values: SimpleNamespace) -> SimpleNamespace:
    """Return the values, completed from the environment. Errors: UsageError if no cluster is named, or two are."""
    named = SimpleNamespace(**vars(values))
    if not named.bootstrap_server and not named.bootstrap_controller:
        named.bootstrap_server = os.environ.get(SERVER_VARIABLE)
        named.bootstrap_controller = os.environ.get(CONTROLLER_VARIABLE)
        if named.bootstrap_server and named.bootstrap_controller:
            raise UsageError(f"{SERVER_VARIABLE} and {CONTROLLER_VARIABLE} are both set: say which by -b or -C", SERVER_VARIABLE)
    if not named.bootstrap_server and not named.bootstrap_controller:
        raise UsageError(f"which cluster? Name brokers (-b HOST:PORT) or controllers (-C HOST:PORT), or set {SERVER_VARIABLE}", "-b")
    if named.command_config is None:
        named.command_config = os.environ.get(CONFIG_VARIABLE)
    # Callers pass an empty name to say that there is no file, even if the environment names one.
    named.command_config = named.command_config or None
    return named


def open_admin(values: SimpleNamespace) -> Admin:
    """Return a client for the cluster that the values name; it is not connected yet. Errors: UsageError."""
    from metashell.cli.admin.client import Admin
    from metashell.cli.admin.protocol import Kind
    from metashell.net.addresses import AddressMap

    named = cluster_of(values)
    kind = Kind.CONTROLLERS if named.bootstrap_controller else Kind.BROKERS
    options = client_config_of(named.command_config).options()
    # A request may take as long as --timeout says. An address that does not accept the connection is given up sooner.
    del options["deadline_ms"]
    options["connect_timeout_ms"] = min(options.get("connect_timeout_ms", LEADERLESS_MS), LEADERLESS_MS)
    return Admin(
        kind,
        addresses_of(named.bootstrap_controller or named.bootstrap_server),
        timeout_ms=named.timeout * 1000,
        leaderless_ms=LEADERLESS_MS,
        time_limit=getattr(values, "time_limit", None),
        address_map=AddressMap.parse(",".join(named.address_map)),
        **options,
    )


def names_quorum(values: SimpleNamespace) -> bool:
    """Return whether the command line names a quorum. Errors: UsageError for options of a quorum without one."""
    found = bool(values.bootstrap_controller or values.bootstrap_server)
    for name, given in (("--command-config", values.command_config), ("--address-map", values.address_map)):
        if given and not found:
            raise UsageError(f"{name} goes with --bootstrap-controller or --bootstrap-server", name)
    return found


def target_of(values: SimpleNamespace) -> Target:
    """Return the cluster that the options name. Errors: UsageError with the option or property at fault."""
    from metashell.net.addresses import AddressMap, parse_addresses
    from metashell.quorum.observer.controllers import ABSENT_TIMEOUT_S, ATTACH_TIMEOUT_S, Target

    controllers = addresses_of(values.bootstrap_controller) if values.bootstrap_controller else ()
    brokers = parse_addresses(values.bootstrap_server) if values.bootstrap_server else ()
    return Target(
        controllers=tuple(controllers),
        brokers=tuple(brokers),
        security=client_config_of(values.command_config).security,
        address_map=AddressMap.parse(",".join(values.address_map)),
        timeout_s=ATTACH_TIMEOUT_S if values.timeout is None else values.timeout,
        absent_s=ABSENT_TIMEOUT_S if values.timeout is None else values.timeout,
        load_timeout_s=values.timeout,
        max_decompressed=values.max_decompressed,
    )


def addresses_of(text: str) -> list[Address]:
    """Return the addresses in the form of controller.quorum.voters and KIP-631, `1@host:9093`, without the ids. Errors: UsageError."""
    from metashell.net.addresses import parse_addresses

    return parse_addresses(",".join(re.sub(r"^\s*[0-9]+@", "", part) for part in text.split(",")))


def client_config_of(path: str | None) -> ClientConfig:
    """Read the property file of --command-config; return the defaults for None. Errors: UsageError with the file and the property."""
    from metashell.net.client_config import ClientConfig, client_config

    if path is None:
        return ClientConfig()
    from metashell.disk.properties import parse_properties, read_text_file

    try:
        properties = parse_properties(read_text_file(path))
        return client_config(properties, environ=os.environ, parse=parse_properties)
    except ValueError as error:
        raise UsageError(f"{path}: {error}", path) from None
    except UsageError as error:
        raise UsageError(f"{path}: {error}", error.argument) from None


def read_properties(path: str | None) -> dict[str, str]:
    """Return the properties in a file, or none for None. Errors: PathError, UsageError."""
    from metashell.disk.properties import parse_properties, read_text_file

    if path is None:
        return {}
    try:
        return parse_properties(read_text_file(path))
    except ValueError as error:
        raise UsageError(f"{path}: {error}", path) from None


SIZE_MAX = 16 * 1024
STANDARD_INPUT = "-"


def read_password(question: str, *, file: str | None, variable: str | None) -> str:
    """Read a password from a file (`-` is standard input), a variable, a terminal, or else standard input. A terminal asks twice.

    Shape: bytes that are not UTF-8 become surrogates, as in the words of a command line. One final line feed is removed.
    Errors: UsageError, PathError; MetashellError if the two answers differ.
    """
    if variable is not None:
        return _from_variable(variable)
    if file is not None and file != STANDARD_INPUT:
        return _from_file(file)
    if file is None and sys.stdin.isatty():
        return _asked(question)
    return _checked(sys.stdin.buffer.read(SIZE_MAX + 1), "standard input")


def _from_variable(variable: str) -> str:
    value = os.environ.get(variable)
    if value is None:
        # The text may be the password itself, so the message does not repeat it.
        raise UsageError("option --password-env: no variable of this name is set", "--password-env")
    return _checked(os.fsencode(value), "the variable of --password-env")


def _from_file(file: str) -> str:
    try:
        with open(file, "rb") as opened:
            return _checked(opened.read(SIZE_MAX + 1), file)
    except OSError as error:
        raise PathError.of(file, error) from None


def _checked(raw: bytes, place: str) -> str:
    text = raw.removesuffix(b"\n").removesuffix(b"\r")
    if len(raw) > SIZE_MAX:
        raise UsageError(f"{place}: a password has at most {SIZE_MAX} bytes")
    if b"\n" in text or b"\r" in text or b"\0" in text:
        raise UsageError(f"{place}: a password is a single line")
    if not text:
        raise UsageError(f"{place}: the password is empty")
    return text.decode("utf-8", "surrogateescape")


def _asked(question: str) -> str:
    from metashell.common.terminal import end_progress

    end_progress()
    with warnings.catch_warnings():
        # The terminal cannot hide what is typed.
        warnings.simplefilter("error", GetPassWarning)
        try:
            first = getpass(f"{question}: ")
            again = getpass("The same again: ")
        except GetPassWarning:
            raise MetashellError("this terminal shows what is typed: use --password-file or --password-env") from None
        except KeyboardInterrupt:
            sys.stderr.write("\nnothing was changed\n")
            raise
        except EOFError:
            sys.stderr.write("\n")  # after the question
            raise MetashellError("no password was typed") from None
    if first != again:
        raise MetashellError("the two passwords differ: nothing was changed")
    return _checked(os.fsencode(first), "the terminal")
