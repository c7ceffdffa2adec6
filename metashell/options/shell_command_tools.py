"""The command lines of the commands of kafka-shell that stand by themselves: `metashell status SOURCE` and its like.

Their own options are declared where the command is; here are those that say what to open.
"""

from __future__ import annotations

from metashell.options import shared
from metashell.options.shell_tools import KAFKA_SHELL
from metashell.options.spec import Argument, CommandSpec

_OPENING = (
    "snapshot",
    "bootstrap_controller",
    "bootstrap_server",
    "command_config",
    "address_map",
    "timeout",
    "demo",
    "output",
    "at",
    "certain_only",
    "show_secrets",
    "max_decompressed",
    "no_color",
    "settings",
    "version",
)
_SOURCE = Argument(
    name="source",
    metavar="SOURCE",
    nargs="?",
    kind="source",
    help="a metadata directory, a log directory, a checkpoint or a segment, or @NAME of the settings; with --demo, -C or -b there is none",
)
_NODES = Argument(name="path", metavar="PATH", nargs="*", kind="node", help="paths in the tree, such as /image/topics/byName/orders")


def _command(name: str, summary: str, description: str, *arguments: Argument, examples: tuple[tuple[str, str], ...]) -> CommandSpec:
    return CommandSpec(
        name=f"metashell-{name}",
        summary=summary,
        description=f"{description} It is the command `{name}` of kafka-shell.",
        options=tuple(KAFKA_SHELL.option(option) for option in _OPENING),
        arguments=(_SOURCE, *arguments),
        examples=examples,
        epilog=(shared.EXIT_STATUS,),
        files=KAFKA_SHELL.files[:-1],
        environment=KAFKA_SHELL.environment[:-1],
    )


SHELL_COMMANDS: dict[str, CommandSpec] = {
    "status": _command(
        "status",
        "show what was read from a directory, a file or a quorum, and what is wrong in it",
        "Shows what a source holds: its offsets and how far they are committed, the leader and voters, the release, and what is wrong.",
        examples=(
            ("metashell status /var/lib/kafka", "the metadata of a node"),
            ("metashell status -C controller-1:9093 -o json", "a live quorum, as JSON"),
        ),
    ),
    "ls": _command(
        "ls",
        "list directories of the metadata tree of a source",
        "Lists what the metadata of a source holds.",
        _NODES,
        examples=(
            ("metashell ls /var/lib/kafka -l /image/topics/byName", "the topics, and what is wrong with each"),
            ("metashell ls -l -C controller-1:9093 /image/cluster/brokers", "the brokers of a live quorum"),
        ),
    ),
    "cat": _command(
        "cat",
        "print values of the metadata tree of a source",
        "Prints values of the metadata of a source.",
        _NODES,
        examples=(
            ("metashell cat DIR /image/cluster/brokers/1", "one broker"),
            ("metashell cat -C controller-1:9093 /image/topics/byName/orders/0 -o json", "a partition, as JSON"),
        ),
    ),
    "find": _command(
        "find",
        "search the metadata of a source",
        "Searches the metadata of a source.",
        _NODES,
        examples=(
            ("metashell find DIR / -under-replicated", "the partitions that lack replicas"),
            ("metashell find DIR /image/topics --where 'partitions > 50'", "the topics of many partitions"),
        ),
    ),
    "log": _command(
        "log",
        "print the records that changed a path of the metadata",
        "Prints the records of a log that changed a path.",
        _NODES._replace(nargs="?"),
        examples=(
            ("metashell log DIR /image/topics/byName/orders/0", "what changed a partition"),
            ("metashell log DIR -n 20", "the last changes of all"),
        ),
    ),
    "diff": _command(
        "diff",
        "print what differs between two moments or two sources",
        "Compares two sources, or two moments of one.",
        Argument(name="moment", metavar="SOURCE|MOMENT", nargs="*", kind="file", help="another source, or an offset, a time, -2h, or end"),
        examples=(
            ("metashell diff DIR OTHER", "what differs between two disks, where both have it"),
            ("metashell diff DIR -C controller-1:9093", "what a disk has and a live quorum does not"),
            ("metashell diff DIR -- -2h end", "what changed in the last two hours"),
        ),
    ),
    "why": _command(
        "why",
        "what led to the state of a partition, topic, broker or voter, step by step",
        "Explains from the log how something came to be as it is.",
        _NODES._replace(nargs="?"),
        examples=(
            ("metashell why DIR /image/topics/byName/orders/0", "why a partition has no leader, for example"),
            ("metashell why DIR orders/0", "the same"),
            ("metashell why -C controller-1:9093 broker 3", "why a broker is fenced"),
        ),
    ),
}
"""By the name of the command."""
