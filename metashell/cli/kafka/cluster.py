"""The command line of kafka-cluster, as Kafka 4.4.0 declares it. Source: org.apache.kafka.tools.ClusterTool of 4.4.0."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from metashell.cli.kafka import (
    ADMIN_FILES,
    CONNECTION,
    TerseError,
    admin_command,
    bootstrap,
    exception_text,
    open_admin,
    print_json,
    print_lines,
    usage_error,
    with_kafka_errors,
)
from metashell.cli.tool import kafka_tool
from metashell.common import options
from metashell.common.command import STATUS_FAILED, STATUS_OK, complain
from metashell.common.errors import UsageError
from metashell.common.options import CommandSpec, Option, file_option, flag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import SimpleNamespace

    from metashell.cli.admin.client import Admin
    from metashell.cli.admin.cluster import ApiSupport, ClusterDescription
    from metashell.cli.admin.protocol import Node
    from metashell.common.errors import MetashellError


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
    epilog=(options.KAFKA_EXIT_STATUS,),
    files=ADMIN_FILES,
    voice="kafka",
)


NAME = "kafka-cluster"
_DEPRECATED = "Option --config has been deprecated and will be removed in a future version. Use --command-config instead."
_BOTH = "--config and --command-config cannot be specified together."
_NO_ID = "No cluster ID found. The Kafka version is probably too old."
_NO_API = "The target cluster does not support the {} unregistration API."
_NO_METADATA = "The node does not support METADATA"
_FENCED = "The option --include-fenced-brokers is only supported with --bootstrap-server option"


def run_kafka_cluster(words: list[str]) -> int:
    """Run the sub-command. Errors that Kafka prints in one line have the same wording."""
    from metashell.common.kafka_options import command_help_text, missing_text, parse_argparse4j_command

    try:
        command, values = parse_argparse4j_command(KAFKA_CLUSTER, words, unchecked=CONNECTION)
        if not values.help and not _find_addresses(values):
            raise UsageError(missing_text(command, values), command.name)
    except UsageError as error:
        raise usage_error(KAFKA_CLUSTER, error) from None
    if values.help:
        sys.stdout.write(command_help_text(command, None if command is KAFKA_CLUSTER else KAFKA_CLUSTER))
        # Of Kafka's tools only the cluster tool ends this way.
        return STATUS_FAILED
    return with_kafka_errors(lambda: _perform(command.name, values))


def _find_addresses(values: SimpleNamespace) -> bool:
    """Return whether addresses are given. Kafka wants them on the command line; KIP-631 also allows the property file."""
    if values.bootstrap_server is None and values.bootstrap_controller is None:
        from metashell.cli.connection import read_properties

        found = read_properties(values.command_config or values.config)
        values.bootstrap_server = found.get("bootstrap.servers")
        values.bootstrap_controller = None if values.bootstrap_server else found.get("bootstrap.controllers")
    return values.bootstrap_server is not None or values.bootstrap_controller is not None


def _perform(command: str, values: SimpleNamespace) -> int:
    if values.config is not None:
        if values.command_config is not None:
            raise TerseError(_BOTH)
        sys.stdout.write(f"{_DEPRECATED}\n")
    if command == "list-endpoints" and values.include_fenced_brokers and values.bootstrap_controller:
        raise TerseError(_FENCED)
    with open_admin(NAME, values.command_config or values.config, values.bootstrap_server, values.bootstrap_controller) as admin:
        return _COMMANDS[command](admin, values)


def _cluster_id(admin: Admin, values: SimpleNamespace) -> int:
    cluster_id = admin.cluster_id
    text = f"Cluster ID: {cluster_id}" if cluster_id else _NO_ID
    return _show(values, [text if values.output == "kafka" else cluster_id], {"type": "cluster_id", "cluster_id": cluster_id or None})


def _unregister(admin: Admin, values: SimpleNamespace) -> int:
    from metashell.cli.admin.cluster import unregister_broker

    return _unregistered("broker", unregister_broker, admin, values)


def _unregister_controller(admin: Admin, values: SimpleNamespace) -> int:
    from metashell.cli.admin.cluster import unregister_controller

    return _unregistered("controller", unregister_controller, admin, values)


def _unregistered(kind: str, unregister: Callable[[Admin, int], None], admin: Admin, values: SimpleNamespace) -> int:
    from metashell.cli.admin.protocol import AdminError, UnsupportedError, WrongListenerError
    from metashell.codec.error_codes import UNSUPPORTED_VERSION

    try:
        unregister(admin, values.id)
    except (UnsupportedError, WrongListenerError) as error:
        return _unsupported(error, _NO_API.format(kind), values)
    except AdminError as error:
        # The active controller answers this while the metadata.version is too low.
        if error.code != UNSUPPORTED_VERSION:
            raise
        return _unsupported(error, _NO_API.format(kind), values)
    text = f"{kind.capitalize()} {values.id} is no longer registered."
    return _show(values, [text], {"type": kind, f"{kind}_id": values.id, "result": "unregistered"})


def _list_endpoints(admin: Admin, values: SimpleNamespace) -> int:
    from metashell.cli.admin.cluster import describe_cluster
    from metashell.cli.admin.protocol import UnsupportedError, WrongListenerError

    try:
        found = describe_cluster(admin, fenced=values.include_fenced_brokers)
    except (UnsupportedError, WrongListenerError) as error:
        return _unsupported(error, getattr(error, "java", _NO_METADATA), values)
    endpoints = [_node_object(found.kind.noun, node) for node in sorted(found.nodes)]
    return _show(values, _endpoint_table(found), {"type": "endpoints", "endpoints": endpoints})


def _unsupported(error: MetashellError, text: str, values: SimpleNamespace) -> int:
    """Print Kafka's text and return success, as Kafka's tool does; stderr gets the real error.

    Kafka's tool takes a controller for an old cluster if it is named as a broker.
    """
    from metashell.cli.admin.protocol import WrongListenerError

    if values.output != "kafka" or (values.bootstrap_controller and isinstance(error, WrongListenerError)):
        raise error
    sys.stdout.write(f"{text}\n")
    complain(NAME, str(error))
    return STATUS_OK


def _show(values: SimpleNamespace, lines: Iterable[str], found: dict[str, object]) -> int:
    if values.output == "json":
        print_json(found)
    else:
        print_lines(lines)
    return STATUS_OK


def _node_object(kind: str, node: Node) -> dict[str, object]:
    return {
        "type": kind,
        "id": node.id,
        "host": node.address.host,
        "port": node.address.port,
        "rack": node.rack,
        "state": ("fenced" if node.is_fenced else "unfenced") if kind == "broker" else None,
    }


def _endpoint_table(found: ClusterDescription) -> list[str]:
    """Return the lines of Kafka's table, where every column is padded, even the last."""
    from metashell.codec.java import hash_order

    by_id = {node.id: node for node in found.nodes}
    host_width = max((len(node.address.host) for node in found.nodes), default=100)
    rack_width = max((len(node.rack) for node in found.nodes if node.rack is not None), default=10)
    is_brokers = found.kind.noun == "broker"
    rows = [("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")]
    for id in hash_order(by_id):
        node = by_id[id]
        state = "fenced" if node.is_fenced else "unfenced"
        rows.append((str(id), node.address.host, str(node.address.port), node.rack or "null", state, found.kind.noun))
    return [
        f"{id:<10} {host:<{host_width}} {port:<10} {rack:<{rack_width}} {f'{state:<10} ' if is_brokers else ''}{kind:<15}"
        for id, host, port, rack, state, kind in rows
    ]


# ---- api-versions


def _api_versions(admin: Admin, values: SimpleNamespace) -> int:
    from metashell.cli.admin.cluster import describe_api_versions

    found = describe_api_versions(admin)
    nodes = [{**_node_object(admin.kind.noun, node), **_apis_object(apis)} for node, apis in found]
    return _show(values, (line for node, apis in found for line in _api_lines(node, apis)), {"type": "api_versions", "nodes": nodes})


def _api_lines(node: Node, apis: list[ApiSupport] | MetashellError) -> list[str]:
    """Return the lines of NodeApiVersions.toString for a node."""
    from metashell.cli.admin.protocol import AdminError

    head = f"{node.address} (id: {node.id} rack: {node.rack or 'null'} isFenced: {str(node.is_fenced).lower()}) -> "
    if not isinstance(apis, list):
        return [f"{head}ERROR: {exception_text(apis) if isinstance(apis, AdminError) else apis}"]
    return [f"{head}(", *",\n".join(f"\t{_api_text(api)}" for api in apis).split("\n"), ")"]


def _api_text(api: ApiSupport) -> str:
    text = f"{api.name or 'UNKNOWN'}({api.key}): "
    if api.versions is None:
        return f"{text}UNSUPPORTED"
    low, high = api.versions
    text += f"{low}" if low == high else f"{low} to {high}"
    if api.usable is not None:
        return f"{text} [usable: {api.usable}]"
    return f"{text} [unusable: node too {'old' if api.is_too_old else 'new'}]" if api.name else text


def _apis_object(apis: list[ApiSupport] | MetashellError) -> dict[str, object]:
    if not isinstance(apis, list):
        return {"apis": None, "error": str(apis)}
    rows = [
        {
            "key": api.key,
            "name": api.name,
            "min": api.versions and api.versions[0],
            "max": api.versions and api.versions[1],
            "usable": api.usable,
        }
        for api in apis
    ]
    return {"apis": rows, "error": None}


_COMMANDS: dict[str, Callable[[Admin, SimpleNamespace], int]] = {
    "cluster-id": _cluster_id,
    "unregister": _unregister,
    "unregister-controller": _unregister_controller,
    "list-endpoints": _list_endpoints,
    "api-versions": _api_versions,
}

main = kafka_tool(NAME, run_kafka_cluster)
