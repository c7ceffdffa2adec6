"""Options that all commands of administration share: which cluster, which form, whether to ask, to try or to wait."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.quorum import ADDRESS_MAP, BOOTSTRAP_SERVER, COMMAND_CONFIG, CONTROLLERS, SOURCE
from metashell.options.spec import Argument, CommandSpec, Option, file_option, flag

FORMS = ("text", "json", "jsonl", "table", "csv")
TIMEOUT_S = 30
SERVER_VARIABLE = "METASHELL_BOOTSTRAP_SERVER"
CONTROLLER_VARIABLE = "METASHELL_BOOTSTRAP_CONTROLLER"
CONFIG_VARIABLE = "METASHELL_COMMAND_CONFIG"

CLUSTER_OPTIONS = (
    BOOTSTRAP_SERVER._replace(help="brokers of the cluster; any of them will do"),
    CONTROLLERS._replace(help="controllers of the cluster, where no broker answers; the active one is found from any of them"),
    # Without the older name --config: that is a topic's here.
    COMMAND_CONFIG._replace(names=("--command-config", "-c")),
    ADDRESS_MAP._replace(
        help="connect to the second address in place of the first, where nodes advertise one that is not reachable from here"
    ),
    Option(names=("--timeout",), metavar="SECONDS", type="int", default=TIMEOUT_S, help="give up after this time"),
)
"""They name a cluster and how to reach it."""

SNAPSHOT = file_option(
    "--snapshot",
    "-s",
    metavar="PATH",
    help="answer from the metadata of a directory, a checkpoint or a segment, as it was written; the first word may be this path too",
    exclusive=SOURCE,
)
STORED = (SNAPSHOT, shared.DEMO._replace(help="answer from the directory that ships with the package", exclusive=SOURCE))
"""They name metadata on disk in place of a cluster, for commands that read."""
OUTPUT = shared.output(*FORMS)
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
    """A command that asks a cluster: its own options come before those that all have. One that `reads` also takes metadata on disk."""
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
    """`metashell NOUN` with its commands."""
    return CommandSpec(
        name=f"metashell-{name}",
        summary=summary,
        description=description,
        options=(shared.VERSION,),
        arguments=(Argument(name="command", nargs="+", kind="words", help="one of the commands below, and its words"),),
        first_word_ends_options=True,
        commands=commands,
        examples=tuple(each.examples[0] for each in commands),
        epilog=(("COMMANDS", shared.listed({each.name: each.summary for each in commands})), EXIT_STATUS),
        files=FILES,
        environment=ENVIRONMENT,
    )
