"""The command lines of the shell: `kafka-shell`, and `kafka-metadata-shell` as Kafka 4.3.1 declares it."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.quorum import QUORUM_OPTIONS
from metashell.options.spec import Argument, CommandSpec, Option

_SNAPSHOT = Option(
    names=("--snapshot", "-s"),
    metavar="PATH",
    type="path",
    kind="file",
    help="a .checkpoint, a bootstrap.checkpoint or a .log segment, a metadata directory, or the log directory above it",
)
_COMMAND = Argument(name="command", nargs="*", kind="command", help="a command of the shell and its words; `help` lists them")

KAFKA_SHELL = CommandSpec(
    name="kafka-shell",
    summary="look at the metadata of a Kafka cluster as a tree of files",
    description="""
        Opens what a controller or broker wrote in KRaft mode and shows the state of the cluster that it describes: brokers, topics,
        configs, quotas, ACLs and the rest, as directories and leaves. A directory may belong to a running node; nothing in it is locked,
        created or changed.

        With --bootstrap-controller or --bootstrap-server it is the quorum itself, 3.9 or later: the shell attaches as an observer
        that has no id, so nobody counts its fetches, follows the log, and shows what is committed only. The prompt says how many
        records behind it is; `follow` and `watch` print changes as they are committed. Attaching needs the right CLUSTER_ACTION on
        the cluster where controllers authorize.

        Without a command there is a prompt, or, where standard input is not a terminal, every line of it is a command and the
        first one that fails is the last. With a command, that one is run. Its options may stand before or after its paths; those
        of kafka-shell stand before the command, or after it where the command has none of that name. A first word that is no
        command is the path to open, as with --snapshot: `kafka-shell DIR ls /`.
        """,
    options=(
        _SNAPSHOT,
        *QUORUM_OPTIONS,
        Option(names=("--demo",), type="flag", help="open the directory of a real controller that ships with the package"),
        shared.OUTPUT,
        shared.CERTAIN_ONLY,
        shared.SHOW_SECRETS,
        Option(names=("--keep-going", "-k"), type="flag", help="in a script, go on after a command that failed"),
        shared.MAX_DECOMPRESSED,
        shared.VERBOSE,
        shared.NO_COLOR,
        shared.VERSION,
    ),
    arguments=(_COMMAND,),
    examples=(
        ("kafka-shell --demo", "a prompt on the directory that ships with the package"),
        ("kafka-shell /var/lib/kafka ls -l /image/topics/byName", "the topics, as a running node knows them"),
        ("kafka-shell -s FILE.checkpoint cat /image/cluster/brokers/1 -o json", "one broker, as JSON with its path and type"),
        ("kafka-shell -C controller-1:9093,controller-2:9093", "a prompt on a live quorum"),
        ("kafka-shell -C controller-1:9093 watch /image/topics/byName/orders -o jsonl", "what happens to a topic, as it is committed"),
        ("kafka-shell -b broker-1:9092 -c client.properties status", "ask a broker where the controllers are, over TLS for example"),
        ("kafka-shell -s DIR --certain-only status", "how much of it is certain, and what could not be applied"),
    ),
    epilog=(shared.EXIT_STATUS,),
    first_word_ends_options=True,
)

KAFKA_METADATA_SHELL = CommandSpec(
    name="kafka-metadata-shell",
    summary="The Apache Kafka metadata shell",
    description="""
        Kafka's own shell, by its name: the same words, output and exit statuses as of Apache Kafka 4.3.1, but it neither hangs nor locks
        anything, and answers from the whole file. One-shot commands are cat, find, ls and tree.
        """,
    options=(
        Option(
            names=("--snapshot", "-s"),
            metavar="SNAPSHOT",
            type="path",
            kind="file",
            required=True,
            help="The metadata snapshot file to read.",
        ),
        Option(
            names=("--output", "-o"),
            metavar="FORM",
            type="choice",
            choices=shared.OUTPUT_FORMS,
            hidden=True,
            help="our own forms",
        ),
    ),
    arguments=(Argument(name="command", nargs="*", metavar="command", kind="command", help="The command to run."),),
    examples=(("kafka-metadata-shell --snapshot FILE.checkpoint ls /image/topics/byName", "the names of all topics"),),
    voice="kafka",
)
