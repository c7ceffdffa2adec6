"""Options that the tools share with which Kafka administers a live cluster, as Kafka 4.4.0 declares them."""

from __future__ import annotations

from metashell.options import shared
from metashell.options.spec import CommandSpec, Option

CONNECTION = "connection"
"""The options that say where the cluster is."""

_OUTPUT = shared.own_forms("text", "json", "kafka")._replace(default="kafka")


def admin_command(name: str, summary: str, *options: Option, description: str = "") -> CommandSpec:
    return CommandSpec(name, summary, description, (*options, _OUTPUT), voice="kafka")


def bootstrap(whom: str, *names: str, required: bool, help: str) -> Option:
    return Option(
        names=(f"--bootstrap-{whom}", *names),
        metavar=f"BOOTSTRAP_{whom.upper()}",
        help=help,
        exclusive=CONNECTION,
        required=required,
    )


def host_port_pairs(target: str) -> str:
    return f"A comma-separated list of host:port pairs to use for establishing the connection to the Kafka {target}."


ADMIN_FILES = (
    ("COMMAND_CONFIG", "security.protocol, sasl.*, ssl.*, default.api.timeout.ms and the like, as any Kafka client reads them"),
    ("LOGDIR/meta.properties", "the directory id of a controller that add-controller is given the configuration of"),
)
