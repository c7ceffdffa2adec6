"""The command lines of the tools with which Kafka administers a live cluster, as Kafka 4.4.0 declares them.

Source: org.apache.kafka.tools.ClusterTool, MetadataQuorumCommand, FeatureCommand of 4.4.0.
"""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import CommandSpec, Option, file_option, flag

CONNECTION = "connection"
"""The options that say where the cluster is."""

_OUTPUT = shared.own_forms("text", "json", "kafka")._replace(default="kafka")


def _command(name: str, summary: str, *options: Option, description: str = "") -> CommandSpec:
    return CommandSpec(name, summary, description, (*options, _OUTPUT), voice="kafka")


def _bootstrap(whom: str, *names: str, required: bool, help: str) -> Option:
    return Option(
        names=(f"--bootstrap-{whom}", *names),
        metavar=f"BOOTSTRAP_{whom.upper()}",
        help=help,
        exclusive=CONNECTION,
        required=required,
    )


def _pairs(target: str) -> str:
    return f"A comma-separated list of host:port pairs to use for establishing the connection to the Kafka {target}."


_FILES = (
    ("COMMAND_CONFIG", "security.protocol, sasl.*, ssl.*, default.api.timeout.ms and the like, as any Kafka client reads them"),
    ("LOGDIR/meta.properties", "the directory id of a controller that add-controller is given the configuration of"),
)

# ---- kafka-cluster

_CLUSTER_CONNECTION = (
    _bootstrap(
        "server", "-b", required=True, help="A list of host/port pairs to use for establishing the connection to the Kafka cluster."
    ),
    _bootstrap(
        "controller", "-C", required=True, help="A list of host/port pairs to use for establishing the connection to the KRaft controllers."
    ),
    file_option(
        "--config",
        metavar="CONFIG",
        help="(DEPRECATED) A property file containing configurations for the Admin client. This option will be removed in a future "
        "version. Use --command-config instead.",
    ),
    file_option("--command-config", "-c", metavar="COMMAND_CONFIG", help="Config properties file for the Admin client."),
)


def _id_of(kind: str) -> Option:
    return Option(names=("--id", "-i"), metavar="ID", type="java-integer", required=True, help=f"The ID of the {kind} to unregister.")


KAFKA_CLUSTER = CommandSpec(
    name="kafka-cluster",
    summary="The Kafka cluster tool.",
    description="""
        Kafka's own cluster tool under its name: options, output and exit statuses are those of Apache Kafka 4.4.0, except that a cluster
        that cannot be reached is reported at once. As in KIP-631, the addresses may also stand in the property file, as
        bootstrap.servers or bootstrap.controllers. `-o json` gives the same as JSON.
        """,
    commands=(
        _command("cluster-id", "Get information about the ID of a cluster.", *_CLUSTER_CONNECTION),
        _command("unregister", "Unregister a broker.", *_CLUSTER_CONNECTION, _id_of("broker")),
        _command("unregister-controller", "Unregister a controller.", *_CLUSTER_CONNECTION, _id_of("controller")),
        _command(
            "list-endpoints",
            "List endpoints",
            *_CLUSTER_CONNECTION,
            flag("--include-fenced-brokers", help="Whether to include fenced brokers when listing broker endpoints"),
        ),
        _command("api-versions", "Get information about the api versions of the brokers or controllers.", *_CLUSTER_CONNECTION),
    ),
    examples=(
        ("kafka-cluster cluster-id --bootstrap-server localhost:9092", "the id of a cluster"),
        ("kafka-cluster unregister --bootstrap-controller localhost:9093 --id 3", "take broker 3 off the books"),
        ("kafka-cluster unregister-controller --bootstrap-server localhost:9092 --id 3", "the same for a controller that was removed"),
        ("kafka-cluster list-endpoints --bootstrap-server localhost:9092 --include-fenced-brokers -o json", "all brokers, for a program"),
    ),
    epilog=(shared.KAFKA_EXIT_STATUS,),
    files=_FILES,
    voice="kafka",
)

# ---- kafka-metadata-quorum

_QUORUM_DRY_RUN = flag("--dry-run", help="True if we should print what would be done, but not do it.")

KAFKA_METADATA_QUORUM = CommandSpec(
    name="kafka-metadata-quorum",
    summary="This tool describes kraft metadata quorum status.",
    description="""
        Kafka's own quorum tool under its name: options, output and exit statuses are those of Apache Kafka 4.4.0, except that a cluster
        that cannot be reached is reported at once, and that a change of leader while it runs is followed. `-o json` gives the same as JSON.
        """,
    options=(
        _bootstrap("server", required=True, help=_pairs("cluster")),
        _bootstrap("controller", required=True, help=_pairs("controllers")),
        file_option(
            "--command-config",
            metavar="COMMAND_CONFIG",
            help="Property file containing configs to be passed to Admin Client. For add-controller, the file is used to specify the "
            "controller properties as well.",
        ),
    ),
    commands=(
        _command(
            "describe",
            "Describe the metadata quorum info",
            flag(
                "--status",
                heading="Status",
                help="A short summary of the quorum status and the other provides detailed information about the status of replication.",
            ),
            flag("--replication", heading="Replication", help="Detailed information about the status of replication"),
            flag("--human-readable", heading="Replication", help="Human-readable output"),
        ),
        _command("add-controller", "Add a controller to the KRaft controller cluster", _QUORUM_DRY_RUN),
        _command(
            "remove-controller",
            "Remove a controller from the KRaft controller cluster",
            Option(
                names=("--controller-id", "-i"),
                metavar="CONTROLLER_ID",
                type="java-integer",
                required=True,
                help="The id of the controller to remove.",
            ),
            Option(
                names=("--controller-directory-id", "-d"),
                metavar="CONTROLLER_DIRECTORY_ID",
                required=True,
                help="The directory ID of the controller to remove.",
            ),
            _QUORUM_DRY_RUN,
            flag("--unregister", help="If set, also unregister the controller after successfully removing it from the voter set."),
        ),
    ),
    examples=(
        ("kafka-metadata-quorum --bootstrap-server localhost:9092 describe --status", "who leads, and how far behind the others are"),
        ("kafka-metadata-quorum --bootstrap-controller localhost:9093 describe --replication", "a line for each replica"),
    ),
    epilog=(shared.KAFKA_EXIT_STATUS,),
    files=_FILES,
    voice="kafka",
)

# ---- kafka-features

_FEATURES = Option(names=("--feature",), metavar="FEATURE", multiple=True, help="A feature flag to disable.")


def _release(verb: str) -> Option:
    return Option(
        names=("--release-version",),
        metavar="RELEASE_VERSION",
        help=f"The release version to {verb} all features to. For example, 3.9-IV0 will set metadata.version=21 and kraft.version=1. Use "
        "the version-mapping command to learn which features will be set for any given version.",
    )


def _metadata(verb: str, example: str) -> Option:
    return Option(
        names=("--metadata",),
        metavar="METADATA",
        help=f"DEPRECATED -- The level to which we should {verb} the metadata. For example, {example}.",
    )


def _feature(verb: str) -> Option:
    return _FEATURES._replace(
        help=f"A feature {verb} we should perform, in feature=level format. For example: `metadata.version=5`.",
    )


KAFKA_FEATURES = CommandSpec(
    name="kafka-features",
    summary="This tool manages feature flags in Kafka.",
    description="""
        Kafka's own features tool under its name: options, output and exit statuses are those of Apache Kafka 4.4.0, except that a cluster
        or node that cannot be reached is reported at once. `-o json` gives the same as JSON.
        """,
    options=(
        _bootstrap("server", required=False, help=_pairs("cluster")),
        _bootstrap(
            "controller",
            required=False,
            help="A comma-separated list of host:port pairs to use for establishing the connection to the KRaft quorum.",
        ),
        file_option("--command-config", metavar="COMMAND_CONFIG", help="Property file containing configs to be passed to Admin Client."),
    ),
    commands=(
        _command(
            "describe",
            "Describes the current active feature flags.",
            Option(
                names=("--node-id",),
                metavar="NODE_ID",
                type="java-integer",
                help="The node id to which the requests should be sent. If not specified, the requests will be sent to an arbitrary "
                "controller/broker.",
            ),
        ),
        _command(
            "upgrade",
            "Upgrade one or more feature flags.",
            _metadata("upgrade", "3.3-IV3"),
            _release("update"),
            _feature("upgrade"),
            flag("--dry-run", help="Validate this upgrade, but do not perform it."),
        ),
        _command(
            "downgrade",
            "Downgrade one or more feature flags.",
            _metadata("downgrade", "3.3-IV0"),
            _release("downgrade"),
            _feature("downgrade"),
            flag("--unsafe", help="Perform this downgrade even if it may irreversibly destroy metadata."),
            flag("--dry-run", help="Validate this downgrade, but do not perform it."),
        ),
        _command(
            "disable",
            "Disable one or more feature flags. This is the same as downgrading the version to zero.",
            _FEATURES,
            flag("--unsafe", help="Disable this feature flag even if it may irreversibly destroy metadata."),
            flag("--dry-run", help="Perform a dry-run of this disable operation."),
        ),
        _command(
            "version-mapping",
            "Look up the corresponding features for a given metadata version. Using the command with no --release-version  argument will "
            "return the mapping for the latest stable metadata version",
            Option(
                names=("--release-version",),
                metavar="RELEASE_VERSION",
                help="The release version to use for the corresponding feature mapping. The minimum is 3.3-IV3; the default is 4.4-IV2",
            ),
        ),
        _command(
            "feature-dependencies",
            "Look up dependencies for a given feature version. If the feature is not known or the version not yet defined, an error is "
            "thrown. Multiple features can be specified.",
            _FEATURES._replace(
                required=True,
                help="The feature and version to look up dependencies for, in feature=version format. For example: `metadata.version=5`.",
            ),
        ),
    ),
    examples=(
        ("kafka-features --bootstrap-server localhost:9092 describe", "the features of a cluster"),
        ("kafka-features --bootstrap-server localhost:9092 upgrade --release-version 4.4 --dry-run", "would an upgrade be taken?"),
    ),
    epilog=(shared.KAFKA_EXIT_STATUS,),
    files=_FILES,
    voice="kafka",
)
