"""The command line of kafka-cluster, as Kafka 4.4.0 declares it. Source: org.apache.kafka.tools.ClusterTool of 4.4.0."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.kafka_admin_tools import ADMIN_FILES, admin_command, bootstrap
from metashell.options.spec import CommandSpec, Option, file_option, flag

_CLUSTER_CONNECTION = (
    bootstrap("server", "-b", required=True, help="A list of host/port pairs to use for establishing the connection to the Kafka cluster."),
    bootstrap(
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
        admin_command("cluster-id", "Get information about the ID of a cluster.", *_CLUSTER_CONNECTION),
        admin_command("unregister", "Unregister a broker.", *_CLUSTER_CONNECTION, _id_of("broker")),
        admin_command("unregister-controller", "Unregister a controller.", *_CLUSTER_CONNECTION, _id_of("controller")),
        admin_command(
            "list-endpoints",
            "List endpoints",
            *_CLUSTER_CONNECTION,
            flag("--include-fenced-brokers", help="Whether to include fenced brokers when listing broker endpoints"),
        ),
        admin_command("api-versions", "Get information about the api versions of the brokers or controllers.", *_CLUSTER_CONNECTION),
    ),
    examples=(
        ("kafka-cluster cluster-id --bootstrap-server localhost:9092", "the id of a cluster"),
        ("kafka-cluster unregister --bootstrap-controller localhost:9093 --id 3", "take broker 3 off the books"),
        ("kafka-cluster unregister-controller --bootstrap-server localhost:9092 --id 3", "the same for a controller that was removed"),
        ("kafka-cluster list-endpoints --bootstrap-server localhost:9092 --include-fenced-brokers -o json", "all brokers, for a program"),
    ),
    epilog=(shared.KAFKA_EXIT_STATUS,),
    files=ADMIN_FILES,
    voice="kafka",
)
