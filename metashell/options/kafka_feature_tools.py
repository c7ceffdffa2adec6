"""The command line of kafka-features, as Kafka 4.4.0 declares it. Source: org.apache.kafka.tools.FeatureCommand of 4.4.0."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.kafka_admin_tools import ADMIN_FILES, admin_command, bootstrap, host_port_pairs
from metashell.options.spec import CommandSpec, Option, file_option, flag

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
        bootstrap("server", required=False, help=host_port_pairs("cluster")),
        bootstrap(
            "controller",
            required=False,
            help="A comma-separated list of host:port pairs to use for establishing the connection to the KRaft quorum.",
        ),
        file_option("--command-config", metavar="COMMAND_CONFIG", help="Property file containing configs to be passed to Admin Client."),
    ),
    commands=(
        admin_command(
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
        admin_command(
            "upgrade",
            "Upgrade one or more feature flags.",
            _metadata("upgrade", "3.3-IV3"),
            _release("update"),
            _feature("upgrade"),
            flag("--dry-run", help="Validate this upgrade, but do not perform it."),
        ),
        admin_command(
            "downgrade",
            "Downgrade one or more feature flags.",
            _metadata("downgrade", "3.3-IV0"),
            _release("downgrade"),
            _feature("downgrade"),
            flag("--unsafe", help="Perform this downgrade even if it may irreversibly destroy metadata."),
            flag("--dry-run", help="Validate this downgrade, but do not perform it."),
        ),
        admin_command(
            "disable",
            "Disable one or more feature flags. This is the same as downgrading the version to zero.",
            _FEATURES,
            flag("--unsafe", help="Disable this feature flag even if it may irreversibly destroy metadata."),
            flag("--dry-run", help="Perform a dry-run of this disable operation."),
        ),
        admin_command(
            "version-mapping",
            "Look up the corresponding features for a given metadata version. Using the command with no --release-version  argument will "
            "return the mapping for the latest stable metadata version",
            Option(
                names=("--release-version",),
                metavar="RELEASE_VERSION",
                help="The release version to use for the corresponding feature mapping. The minimum is 3.3-IV3; the default is 4.4-IV2",
            ),
        ),
        admin_command(
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
    files=ADMIN_FILES,
    voice="kafka",
)
