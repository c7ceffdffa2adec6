"""The command line of `metashell health`."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.quorum import ADDRESS_MAP, BOOTSTRAP_SERVER, COMMAND_CONFIG, CONTROLLERS, TIMEOUT
from metashell.options.spec import CommandSpec, Option, flag, source_argument
from metashell.options.verify_tools import JUDGED

HEALTH = CommandSpec(
    name="metashell-health",
    summary="say what is wrong with a cluster, why, and what to do next",
    description="""
        Gathers all facts from the sources, joins them, and runs every check on them: the metadata, the log files, quorum-state and
        meta.properties of each directory, the directories of partitions, server.properties, a live quorum and its brokers. Any number of
        sources of one cluster may be named. Causes come first, each with what follows from it; then the findings without a known cause.

        A check that lacks its facts is not run, and the last line says which and why. Silence is no answer: only a check that ran can
        find nothing. `metashell health --list` prints all checks; docs/checks.md explains them.

        --allow lets up to N of a kind (or any number) leave status 0. --kind shows only some kinds.
        """,
    options=(
        Option(
            names=("--config", "-c"),
            metavar="FILE",
            kind="file",
            multiple=True,
            help="a node's server.properties: it is compared with the log, and its log directories are read too",
        ),
        CONTROLLERS._replace(exclusive="", help="ask the quorum of these controllers too"),
        BOOTSTRAP_SERVER._replace(exclusive="", help="ask these brokers too, and the controllers behind them"),
        COMMAND_CONFIG._replace(names=("--command-config",)),
        ADDRESS_MAP,
        TIMEOUT,
        shared.DEMO,
        Option(names=("--kind",), metavar="KIND", multiple=True, kind="health", help="show only this kind of finding; may be repeated"),
        Option(names=("--allow",), metavar="KIND[=N]", multiple=True, kind="health", help="up to N of a kind leave status 0"),
        Option(names=("--limit", "-n"), metavar="N", type="int", help="name the first N of each kind, by default 5"),
        Option(names=("--min-isr",), metavar="N", type="int", help="min.insync.replicas in server.properties, by default 1"),
        Option(names=("--stuck-after",), metavar="TIME", type="duration", help="reassignments that last longer, such as 6h, are bad"),
        Option(names=("--lag-after",), metavar="TIME", type="duration", help="how long a broker or voter may lag, by default 10s"),
        Option(
            names=("--release",),
            metavar="RELEASE",
            type="choice",
            choices=JUDGED,
            help="the release that is to run on these directories, by default the newest known",
        ),
        flag("--list", help="print every check with its severity, and end"),
        shared.output("text", "json", "jsonl", "table", "csv"),
        shared.MAX_DECOMPRESSED,
        shared.NO_COLOR,
        shared.SETTINGS,
        shared.VERSION,
    ),
    arguments=(
        source_argument(
            "sources", "SOURCE", "*", "a log directory, a metadata directory, a checkpoint or segment, a folder of nodes, or @NAME"
        ),
    ),
    examples=(
        ("metashell health /var/lib/kafka -c server.properties", "one node: its disks against its configuration"),
        ("metashell health node-1 node-2 node-3", "the copied directories of several nodes, joined"),
        ("metashell health -C controller-1:9093,controller-2:9093", "a live quorum: each voter is asked for itself"),
        ("metashell health -b broker-1:9092 -o json | jq '.[] | select(.severity == \"bad\")'", "for a program"),
        ("metashell health /var/lib/kafka --allow not_preferred --allow under_replicated=5", "as a probe of a monitor"),
    ),
    epilog=(
        (
            "EXIT STATUS",
            "0  nothing bad was found by the checks that ran\n"
            "1  something bad was found, or a part of the cluster could not be seen\n"
            "2  the command line is wrong",
        ),
    ),
    files=(*shared.METADATA_FILES, *shared.SETTINGS_FILES),
    environment=(*shared.SETTINGS_ENVIRONMENT, *shared.TERMINAL_ENVIRONMENT),
)
