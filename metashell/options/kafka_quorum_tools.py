"""The command line of kafka-metadata-quorum, as Kafka 4.4.0 declares it. Source: org.apache.kafka.tools.MetadataQuorumCommand of 4.4.0."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.kafka_admin_tools import ADMIN_FILES, admin_command, bootstrap, host_port_pairs
from metashell.options.spec import CommandSpec, Option, file_option, flag

_QUORUM_DRY_RUN = flag("--dry-run", help="True if we should print what would be done, but not do it.")

KAFKA_METADATA_QUORUM = CommandSpec(
    name="kafka-metadata-quorum",
    summary="This tool describes kraft metadata quorum status.",
    description="""
        Kafka's own quorum tool under its name: options, output and exit statuses are those of Apache Kafka 4.4.0, except that a cluster
        that cannot be reached is reported at once, and that a change of leader while it runs is followed. `-o json` gives the same as JSON.
        """,
    options=(
        bootstrap("server", required=True, help=host_port_pairs("cluster")),
        bootstrap("controller", required=True, help=host_port_pairs("controllers")),
        file_option(
            "--command-config",
            metavar="COMMAND_CONFIG",
            help="Property file containing configs to be passed to Admin Client. For add-controller, the file is used to specify the "
            "controller properties as well.",
        ),
    ),
    commands=(
        admin_command(
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
        admin_command("add-controller", "Add a controller to the KRaft controller cluster", _QUORUM_DRY_RUN),
        admin_command(
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
    files=ADMIN_FILES,
    voice="kafka",
)
