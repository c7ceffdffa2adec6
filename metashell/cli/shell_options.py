"""The command lines of `kafka-shell`, of `kafka-metadata-shell` as Kafka 4.4.0 declares it, and of the shell's commands on their own, such
as `metashell ls`."""

from __future__ import annotations

from metashell.cli.connection import QUORUM_OPTIONS, SOURCE
from metashell.common import options
from metashell.common.options import Argument, CommandSpec, Option, file_option, flag

_SNAPSHOT = file_option(
    "--snapshot",
    "-s",
    metavar="PATH",
    help="a .checkpoint, a bootstrap.checkpoint or a .log segment, a metadata directory, or the log directory above it",
    exclusive=SOURCE,
)
_COMMAND = Argument(name="command", nargs="*", kind="command", help="a command of the shell and its words; `help` lists them")

KAFKA_SHELL = CommandSpec(
    name="kafka-shell",
    summary="look at the metadata of a Kafka cluster as a tree of files",
    description="""
        Opens what a controller or broker wrote in KRaft mode and shows the state of the cluster as directories and leaves: brokers,
        topics, configs, quotas, ACLs and the rest. The directory may belong to a running node; nothing in it is locked,
        created or changed.

        With --bootstrap-controller or --bootstrap-server the shell attaches to a live quorum (3.9 or later) as an observer
        without an id, which does not count as a voter. It follows the log and shows only what is committed. The prompt shows how
        many records it is behind; `follow` and `watch` print changes as they are committed. Where controllers authorize
        requests, attaching needs the right CLUSTER_ACTION on the cluster.

        With --allow-changes some commands change the cluster by what a path is about, as `metashell configs`, `topics` and so on do; each
        asks first on a terminal. Without it nothing is ever changed.

        Without a command the shell prompts for commands; if standard input is not a terminal, it runs each line of it as a command and
        stops at the first that fails. With a command, it runs that one. Options of a command may stand before or after its paths;
        options of kafka-shell stand before the command, or after it if the command has no option of that name; -v and -k stand before it
        only. A first word that is no command is the path to open, as with --snapshot: `kafka-shell DIR ls /`. @NAME is a source that the
        file of settings names. Where the command line names no source, METASHELL_SOURCE does: a path, @NAME, or options such as
        `-C host:9093`.
        """,
    options=(
        _SNAPSHOT,
        *QUORUM_OPTIONS,
        flag(
            "--allow-changes",
            help="with a live quorum: let `set`, `unset`, `create`, `alter`, `delete`, `elect` and `unregister` change the cluster",
        ),
        flag("--demo", help="open the directory of a real controller that ships with the package", exclusive=SOURCE),
        options.OUTPUT,
        Option(
            names=("--at",),
            metavar="MOMENT",
            help="answer as of an offset, a time such as 2026-11-20T03:00 (UTC), or a time ago such as -2h",
        ),
        options.CERTAIN_ONLY,
        options.SHOW_SECRETS,
        flag("--keep-going", "-k", help="in a script, go on after a command that failed"),
        options.MAX_DECOMPRESSED,
        options.VERBOSE,
        options.NO_COLOR,
        options.SETTINGS,
        options.VERSION,
    ),
    arguments=(_COMMAND,),
    examples=(
        ("kafka-shell --demo", "a prompt on the directory that ships with the package"),
        ("kafka-shell /var/lib/kafka ls -l /image/topics/byName", "the topics, as a running node knows them"),
        ("kafka-shell -s FILE.checkpoint cat /image/cluster/brokers/1 -o json", "one broker, as JSON with its path and type"),
        ("kafka-shell -C controller-1:9093,controller-2:9093", "a prompt on a live quorum"),
        ("kafka-shell -C controller-1:9093 watch /image/topics/byName/orders -o jsonl", "what happens to a topic, as it is committed"),
        ("kafka-shell -b broker-1:9092 -c client.properties status", "ask a broker where the controllers are, over TLS for example"),
        (
            "kafka-shell -C controller-1:9093 --allow-changes set /image/configs/TOPIC:orders retention.ms=3600000",
            "change a setting, after a question",
        ),
        ("kafka-shell -s DIR --at 2026-11-20T03:00 ls -l /image/cluster/brokers", "the brokers as they were then"),
        ("kafka-shell -s DIR log /image/topics/byName/orders/0", "what changed a partition, and when"),
        ("kafka-shell -s DIR diff -2h end -o jsonl", "what changed in the last two hours"),
        ("kafka-shell -s DIR diff -s OTHER", "what differs between two controllers' disks"),
        ("kafka-shell -s DIR --certain-only status", "how much of it is certain, and what could not be applied"),
    ),
    epilog=(options.EXIT_STATUS,),
    files=(
        *options.METADATA_FILES,
        *options.SETTINGS_FILES,
        ("~/.local/state/metashell/history", "what was typed at the prompt, readable by you only; below $XDG_STATE_HOME where that is set"),
    ),
    environment=(
        (options.SOURCE_VARIABLE, "the source where the command line names none: a path, @NAME, or options such as -C HOST:PORT"),
        *options.SETTINGS_ENVIRONMENT,
        *options.TERMINAL_ENVIRONMENT,
        ("XDG_STATE_HOME", "directory of the history"),
    ),
    first_word_ends_options=True,
)

KAFKA_METADATA_SHELL = CommandSpec(
    name="kafka-metadata-shell",
    summary="The Apache Kafka metadata shell",
    description="""
        Kafka's own shell under its name: options, output and exit statuses are those of Apache Kafka 4.4.0, except that it never hangs or
        locks anything, and answers from the whole file. One-shot commands are cat, find, ls and tree.
        """,
    options=(
        _SNAPSHOT._replace(metavar="SNAPSHOT", required=True, exclusive="", help="The metadata snapshot file to read."),
        options.own_forms(*options.OUTPUT_FORMS),
    ),
    arguments=(_COMMAND._replace(metavar="command", help="The command to run."),),
    examples=(("kafka-metadata-shell --snapshot FILE.checkpoint ls /image/topics/byName", "the names of all topics"),),
    epilog=(options.KAFKA_EXIT_STATUS,),
    files=options.METADATA_FILES,
    voice="kafka",
)


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
        epilog=(options.EXIT_STATUS,),
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
"""The command lines by the name of the command."""
