"""The command lines of the storage tool: `metashell storage`, and `kafka-storage` as Kafka 4.4.0 declares it."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec, Option, choice, file_option, flag

_QUORUM = "quorum"

_CONFIG = shared.CONFIG._replace(required=True)
_OUTPUT = shared.output("text", "json", "kafka")
_CLUSTER_ID = Option(names=("--cluster-id", "-t"), metavar="ID", required=True, help="the id of the cluster, the same on all its nodes")
_SCRAM = Option(
    names=("--add-scram", "-S"),
    metavar="SPEC",
    multiple=True,
    help="a credential, SCRAM-SHA-256=[name=alice,password=...] or SCRAM-SHA-512=[...]; other users of this machine can see it",
)
_SCRAM_FILE = file_option(
    "--add-scram-file",
    multiple=True,
    help="SCRAM credentials, one a line as in --add-scram; `-` is standard input. No password shows in a process list",
)
_IGNORE_FORMATTED = flag("--ignore-formatted", "-g", help="skip directories that are formatted already, instead of failing")
_RELEASE = Option(
    names=("--release-version", "-r"),
    metavar="VERSION",
    help="the release whose feature levels a new cluster gets (3.3 and later; by default the newest for production)",
)
_FEATURE = Option(names=("--feature", "-f"), metavar="NAME=LEVEL", multiple=True, help="a feature and its level")
_STANDALONE = flag("--standalone", "-s", exclusive=_QUORUM, help="this controller is the only voter of a new dynamic quorum")
_NO_CONTROLLERS = flag("--no-initial-controllers", "-N", exclusive=_QUORUM, help="this node joins a dynamic quorum that others form")
_CONTROLLERS = Option(
    names=("--initial-controllers", "-I"),
    metavar="LIST",
    exclusive=_QUORUM,
    help="the voters of a new dynamic quorum, id@host:port:directory-id separated by commas, the same on all of them",
)
_LAYOUT = choice(
    "--layout",
    metavar="RELEASE",
    choices=("4.4", "4.3"),
    help="whose directories: servers before 4.4 need 4.3's, which later ones read too (by default 4.3's for a --release-version up to 4.3)",
)
_DRY_RUN = flag("--dry-run", help="check everything and show what would be written, but write nothing")
_STORAGE_FILES = (
    ("LOGDIR/meta.properties", "the ids of the cluster, the node and the directory; a directory that has it is formatted"),
    (
        "LOGDIR/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint",
        "of controllers: the first voters of a dynamic quorum and, in 4.4's layout, the first metadata records of a new cluster",
    ),
    ("LOGDIR/bootstrap.checkpoint", "in 4.3's layout, the first metadata records of a new cluster"),
    ("LOGDIR/.lock", "held by a running server, and by format while it writes"),
    ("LOGDIR/meta.properties.tmp", "left by an interrupted format; info explains it, and the next format completes it"),
)


def _own(name: str, summary: str, *options: Option, description: str = "", examples: tuple[tuple[str, str], ...]) -> CommandSpec:
    """A command of `metashell storage`."""
    return CommandSpec(name, summary, description, (*options, _OUTPUT), examples=examples, epilog=(shared.EXIT_STATUS,))


FORMAT = _own(
    "format",
    "prepare the log directories of a node before its server first starts",
    _CONFIG,
    _CLUSTER_ID,
    _SCRAM,
    _SCRAM_FILE,
    _IGNORE_FORMATTED,
    _RELEASE,
    _FEATURE,
    _STANDALONE,
    _NO_CONTROLLERS,
    _CONTROLLERS,
    _LAYOUT,
    _DRY_RUN,
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
    _CONFIG,
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
    _RELEASE,
    examples=(("metashell storage version-mapping -r 4.1", "what a new cluster of 4.1 gets"),),
)
FEATURE_DEPENDENCIES = _own(
    "feature-dependencies",
    "show which other features a level of a feature requires",
    _FEATURE._replace(required=True),
    examples=(("metashell storage feature-dependencies -f eligible.leader.replicas.version=1", "the features it requires"),),
)
RANDOM_UUID = _own(
    "random-uuid", "make a new id for a cluster or a directory", examples=(("metashell storage random-uuid", "a random id"),)
)
_COMMANDS = (FORMAT, INFO, VERSION_MAPPING, FEATURE_DEPENDENCIES, RANDOM_UUID)

STORAGE = CommandSpec(
    name="metashell-storage",
    summary="prepare and inspect the log directories of a node",
    description="""
        Prepares what a server needs on disk before it first starts, and shows what is there. @FILE is replaced by the lines of
        FILE, one argument per line.
        """,
    options=(shared.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="words", help="one of the commands below, and its words"),),
    first_word_ends_options=True,
    commands=_COMMANDS,
    examples=tuple(command.examples[0] for command in _COMMANDS),
    epilog=(("COMMANDS", shared.listed({command.name: command.summary for command in _COMMANDS})), shared.EXIT_STATUS),
    files=_STORAGE_FILES,
)

_MINIMUM = "The minimum is 3.3-IV3; the default is 4.4-IV2"
_NOT_BACKWARD = (
    "Note: formatted directories are not forward-compatible — the broker version must be greater than or equal to the kafka-storage tool "
    "that formatted the directory, regardless of this setting."
)


def _kafka(own: CommandSpec, summary: str, *options: Option) -> CommandSpec:
    """A command of ours as Kafka declares it."""
    return CommandSpec(own.name, summary, options=(*options, _KAFKA_OUTPUT), voice="kafka")


def _in_kafkas_words(option: Option, help: str) -> Option:
    """An option with Kafka's help, and the metavar that argparse4j makes of its name."""
    return option._replace(help=help, metavar=option.dest.upper())


def _no_static_voters(verb: str) -> str:
    return (
        f"When setting this flag, the controller.quorum.voters config {verb} not be set, and controller.quorum.bootstrap.servers is set "
        "instead."
    )


_KAFKA_OUTPUT = shared.own_forms("text", "json", "kafka")._replace(default="kafka")
_KAFKA_CONFIG = _in_kafkas_words(_CONFIG, "The Kafka configuration file to use.")
_KAFKA_FORMAT = _kafka(
    FORMAT,
    "Format the Kafka log directories on this node.",
    _KAFKA_CONFIG,
    _in_kafkas_words(_CLUSTER_ID, "The cluster ID to use."),
    _in_kafkas_words(
        _SCRAM,
        "A SCRAM_CREDENTIAL to add to the __cluster_metadata log e.g.\n'SCRAM-SHA-256=[name=alice,password=alice-secret]'\n"
        '\'SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]\'',
    ),
    _in_kafkas_words(
        _IGNORE_FORMATTED,
        "When this option is passed, the format command will skip over already formatted directories rather than failing.",
    ),
    _in_kafkas_words(_RELEASE, f"The release version to use for the initial feature settings. {_MINIMUM}. {_NOT_BACKWARD}"),
    _in_kafkas_words(_FEATURE, "The setting to use for a specific feature, in feature=level format. For example: `kraft.version=1`."),
    _in_kafkas_words(
        _STANDALONE,
        f"Used to initialize a controller as a single-node dynamic quorum. {_no_static_voters('must')}",
    ),
    _in_kafkas_words(
        _NO_CONTROLLERS,
        f"Used to initialize a server without specifying a dynamic quorum. {_no_static_voters('should')}",
    ),
    _in_kafkas_words(
        _CONTROLLERS,
        "Used to initialize a server with the specified dynamic quorum. The argument is a comma-separated list of "
        "id@hostname:port:directory. The same values must be used to format all nodes. For example:\n"
        "0@example.com:8082:JEXY6aqzQY-32P5TStzaFg,1@example.com:8083:MvDxzVmcRsaTz33bUuRU6A,"
        f"2@example.com:8084:07R5amHmR32VDA6jHkGbTA\n. {_no_static_voters('must')}",
    ),
    _SCRAM_FILE._replace(hidden=True),
    _LAYOUT._replace(hidden=True, default="4.4"),
    _DRY_RUN._replace(hidden=True),
    shared.SHOW_SECRETS._replace(hidden=True),
)

KAFKA_STORAGE = CommandSpec(
    name="kafka-storage",
    summary="The Kafka storage tool.",
    description="""
        Kafka's own storage tool under its name: options, output and exit statuses are those of Apache Kafka 4.4.0. Two things are
        better: a directory whose server is running is refused, and an interrupted format is completed. The additions of `metashell
        storage` work here too: --dry-run, --add-scram-file, --layout and -o json.
        """,
    commands=(
        _kafka(INFO, "Get information about the Kafka log directories on this node.", _KAFKA_CONFIG),
        _KAFKA_FORMAT,
        _kafka(
            VERSION_MAPPING,
            "Look up the corresponding features for a given metadata version. Using the command with no --release-version  "
            "argument will return the mapping for the latest stable metadata version",
            _in_kafkas_words(_RELEASE, f"The release version to use for the corresponding feature mapping. {_MINIMUM}"),
        ),
        _kafka(
            FEATURE_DEPENDENCIES,
            "Look up dependencies for a given feature version. If the feature is not known or the version not yet defined, an "
            "error is thrown. Multiple features can be specified.",
            _in_kafkas_words(
                _FEATURE._replace(required=True),
                "The features and their versions to look up dependencies for, in feature=version format. For example: "
                "`metadata.version=5`.",
            ),
        ),
        _kafka(RANDOM_UUID, "Print a random UUID."),
    ),
    examples=(
        ("kafka-storage info --config server.properties", "the log directories of a node"),
        ("kafka-storage format --standalone -t ID -c server.properties", "format a single controller"),
    ),
    epilog=(shared.KAFKA_EXIT_STATUS,),
    files=_STORAGE_FILES,
    voice="kafka",
)
