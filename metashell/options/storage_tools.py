"""The command lines of the storage tool: `metashell storage`, and `kafka-storage` as Kafka 4.3.1 declares it."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import Argument, CommandSpec, Option

_FORMS = ("text", "json", "kafka")
_QUORUM = "quorum"

_CONFIG = Option(
    names=("--config", "-c"),
    metavar="FILE",
    type="path",
    kind="file",
    required=True,
    help="the server's configuration, a properties file",
)
_OUTPUT = Option(names=("--output", "-o"), metavar="FORM", type="choice", choices=_FORMS, default="text", help="form of what is printed")
_RELEASE = Option(
    names=("--release-version", "-r"),
    metavar="VERSION",
    help="the release whose levels a new cluster has (3.3 and later; by default the newest for production)",
)
_SCRAM_FILE = Option(
    names=("--add-scram-file",),
    metavar="FILE",
    type="path",
    kind="file",
    multiple=True,
    help="SCRAM credentials, one a line as --add-scram takes them; `-` is standard input, so that no password stands in a process list",
)
_DRY_RUN = Option(names=("--dry-run",), type="flag", help="check everything and show what would be written; nothing is")

FORMAT = CommandSpec(
    name="format",
    summary="prepare the log directories of a node before its server first starts",
    description="""
        Writes into each directory of the configuration that has none a meta.properties and a bootstrap.checkpoint, and on a controller of a
        new dynamic quorum its first voters. A directory whose server runs is refused. All directories become formatted or none does; if the
        machine stops in between, `info` tells what is missing and the same command completes it.
        """,
    options=(
        _CONFIG,
        Option(names=("--cluster-id", "-t"), metavar="ID", required=True, help="the id of the cluster, the same on all nodes"),
        Option(
            names=("--add-scram", "-S"),
            metavar="SPEC",
            multiple=True,
            help="a credential, SCRAM-SHA-256=[name=alice,password=...] or SCRAM-SHA-512=[...]; others on this machine can read it",
        ),
        _SCRAM_FILE,
        Option(
            names=("--ignore-formatted", "-g"),
            type="flag",
            help="leave directories alone that are formatted, instead of failing",
        ),
        _RELEASE,
        Option(names=("--feature", "-f"), metavar="NAME=LEVEL", multiple=True, help="the level of one feature"),
        Option(
            names=("--standalone", "-s"),
            type="flag",
            exclusive=_QUORUM,
            help="this controller is the only voter of a new dynamic quorum",
        ),
        Option(
            names=("--no-initial-controllers", "-N"),
            type="flag",
            exclusive=_QUORUM,
            help="the node joins a dynamic quorum that others form",
        ),
        Option(
            names=("--initial-controllers", "-I"),
            metavar="LIST",
            exclusive=_QUORUM,
            help="the voters of a new dynamic quorum, id@host:port:directory-id between commas, the same on all of them",
        ),
        _DRY_RUN,
        _OUTPUT,
        shared.SHOW_SECRETS,
    ),
    examples=(
        ("metashell storage format -c server.properties -t $(metashell storage random-uuid) -s", "a quorum of one controller"),
        ("metashell storage format -c server.properties -t ID -N --dry-run -o json", "what would be written, for a program"),
        ("metashell storage format -c server.properties -t ID -s --add-scram-file - < users", "with users, and no password in sight"),
    ),
    epilog=(shared.EXIT_STATUS,),
)
INFO = CommandSpec(
    name="info",
    summary="what the log directories of a node hold, and what is wrong with them",
    options=(_CONFIG, _OUTPUT),
    examples=(("metashell storage info -c server.properties -o json", "the directories, for a program"),),
    epilog=(shared.EXIT_STATUS,),
)
VERSION_MAPPING = CommandSpec(
    name="version-mapping",
    summary="the levels of all features that a release stands for",
    options=(_RELEASE, _OUTPUT),
    examples=(("metashell storage version-mapping -r 4.1", "what a new cluster of 4.1 has"),),
    epilog=(shared.EXIT_STATUS,),
)
FEATURE_DEPENDENCIES = CommandSpec(
    name="feature-dependencies",
    summary="what the level of a feature needs of other features",
    options=(
        Option(names=("--feature", "-f"), metavar="NAME=LEVEL", multiple=True, required=True, help="the feature and its level"),
        _OUTPUT,
    ),
    examples=(("metashell storage feature-dependencies -f eligible.leader.replicas.version=1", "what it needs"),),
    epilog=(shared.EXIT_STATUS,),
)
RANDOM_UUID = CommandSpec(
    name="random-uuid",
    summary="a new id for a cluster or a directory",
    options=(_OUTPUT,),
    examples=(("metashell storage random-uuid", "22 characters"),),
    epilog=(shared.EXIT_STATUS,),
)

STORAGE = CommandSpec(
    name="metashell-storage",
    summary="prepare and inspect the log directories of a node",
    description="""
        What a server needs on disk before it first starts, and what is there. A word @FILE stands for the lines of FILE, one word each.
        """,
    options=(shared.VERSION,),
    arguments=(Argument(name="command", nargs="+", kind="words", help="one of those below, and its words"),),
    first_word_ends_options=True,
    commands=(FORMAT, INFO, VERSION_MAPPING, FEATURE_DEPENDENCIES, RANDOM_UUID),
    epilog=(
        (
            "COMMANDS",
            "\n".join(f"{c.name:<22}{c.summary}" for c in (FORMAT, INFO, VERSION_MAPPING, FEATURE_DEPENDENCIES, RANDOM_UUID)),
        ),
        shared.EXIT_STATUS,
    ),
)

_KAFKA_CONFIG = _CONFIG._replace(metavar="CONFIG", help="The Kafka configuration file to use.")
_KAFKA_OUTPUT = _OUTPUT._replace(default="kafka", hidden=True)
_MINIMUM = "The minimum is 3.3-IV3; the default is 4.3-IV0"
_KAFKA_RELEASE = _RELEASE._replace(metavar="RELEASE_VERSION")

_KAFKA_FORMAT = CommandSpec(
    name="format",
    summary="Format the Kafka log directories on this node.",
    options=(
        _KAFKA_CONFIG,
        Option(names=("--cluster-id", "-t"), metavar="CLUSTER_ID", required=True, help="The cluster ID to use."),
        Option(
            names=("--add-scram", "-S"),
            metavar="ADD_SCRAM",
            multiple=True,
            help="A SCRAM_CREDENTIAL to add to the __cluster_metadata log e.g. 'SCRAM-SHA-256=[name=alice,password=alice-secret]' "
            '\'SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]\'',
        ),
        Option(
            names=("--ignore-formatted", "-g"),
            type="flag",
            help="When this option is passed, the format command will skip over already formatted directories rather than failing.",
        ),
        _KAFKA_RELEASE._replace(help=f"The release version to use for the initial feature settings. {_MINIMUM}"),
        Option(
            names=("--feature", "-f"),
            metavar="FEATURE",
            multiple=True,
            help="The setting to use for a specific feature, in feature=level format. For example: `kraft.version=1`.",
        ),
        Option(
            names=("--standalone", "-s"),
            type="flag",
            exclusive=_QUORUM,
            help="Used to initialize a controller as a single-node dynamic quorum. When setting this flag, the "
            "controller.quorum.voters config must not be set, and controller.quorum.bootstrap.servers is set instead.",
        ),
        Option(
            names=("--no-initial-controllers", "-N"),
            type="flag",
            exclusive=_QUORUM,
            help="Used to initialize a server without specifying a dynamic quorum. When setting this flag, the "
            "controller.quorum.voters config should not be set, and controller.quorum.bootstrap.servers is set instead.",
        ),
        Option(
            names=("--initial-controllers", "-I"),
            metavar="INITIAL_CONTROLLERS",
            exclusive=_QUORUM,
            help="Used to initialize a server with the specified dynamic quorum. The argument is a comma-separated list of "
            "id@hostname:port:directory. The same values must be used to format all nodes. For example: "
            "0@example.com:8082:JEXY6aqzQY-32P5TStzaFg,1@example.com:8083:MvDxzVmcRsaTz33bUuRU6A,"
            "2@example.com:8084:07R5amHmR32VDA6jHkGbTA . When setting this flag, the controller.quorum.voters config must not be "
            "set, and controller.quorum.bootstrap.servers is set instead.",
        ),
        _SCRAM_FILE._replace(hidden=True),
        _DRY_RUN._replace(hidden=True),
        _KAFKA_OUTPUT,
        shared.SHOW_SECRETS._replace(hidden=True),
    ),
    voice="kafka",
)

KAFKA_STORAGE = CommandSpec(
    name="kafka-storage",
    summary="The Kafka storage tool.",
    description="""
        Kafka's own storage tool, by its name: the same words, output and exit statuses as of Apache Kafka 4.3.1. A directory whose
        server runs is refused, and a format that was interrupted is completed. All that `metashell storage` has besides works here
        too: --dry-run, --add-scram-file and -o json.
        """,
    commands=(
        CommandSpec(
            name="info",
            summary="Get information about the Kafka log directories on this node.",
            options=(_KAFKA_CONFIG, _KAFKA_OUTPUT),
            voice="kafka",
        ),
        _KAFKA_FORMAT,
        CommandSpec(
            name="version-mapping",
            summary="Look up the corresponding features for a given metadata version. Using the command with no --release-version "
            "argument will return the mapping for the latest stable metadata version",
            options=(
                _KAFKA_RELEASE._replace(help=f"The release version to use for the corresponding feature mapping. {_MINIMUM}"),
                _KAFKA_OUTPUT,
            ),
            voice="kafka",
        ),
        CommandSpec(
            name="feature-dependencies",
            summary="Look up dependencies for a given feature version. If the feature is not known or the version not yet defined, an "
            "error is thrown. Multiple features can be specified.",
            options=(
                Option(
                    names=("--feature", "-f"),
                    metavar="FEATURE",
                    multiple=True,
                    required=True,
                    help="The features and their versions to look up dependencies for, in feature=version format. For example: "
                    "`metadata.version=5`.",
                ),
                _KAFKA_OUTPUT,
            ),
            voice="kafka",
        ),
        CommandSpec(name="random-uuid", summary="Print a random UUID.", options=(_KAFKA_OUTPUT,), voice="kafka"),
    ),
    examples=(("kafka-storage info --config server.properties", "the log directories of a node"),),
    voice="kafka",
)
