"""Parts that Kafka's administration tools share: options, the connection, and errors in Kafka's wording.

An error is one line, without the stack trace that Kafka prints after some of them. Source: org.apache.kafka.tools of 4.4.0."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from metashell.cli.tool import STATUS_FAILED, EscapedErrors, complain
from metashell.common import options
from metashell.common.errors import UsageError
from metashell.common.options import CommandSpec, Option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from metashell.cli.admin.client import Admin
    from metashell.cli.admin.protocol import AdminError
    from metashell.common.errors import UsageError


CONNECTION = "connection"
"""The options that say where the cluster is."""

_OUTPUT = options.own_forms("text", "json", "kafka")._replace(default="kafka")


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


_ERRORS = "org.apache.kafka.common.errors."
_EXCEPTIONS = {
    "UNKNOWN_SERVER_ERROR": "UnknownServer",
    "REQUEST_TIMED_OUT": "Timeout",
    "TOPIC_AUTHORIZATION_FAILED": "TopicAuthorization",
    "GROUP_AUTHORIZATION_FAILED": "GroupAuthorization",
    "CLUSTER_AUTHORIZATION_FAILED": "ClusterAuthorization",
}
"""Names of exceptions that are not those of the error codes."""


class TerseError(Exception):
    """What Kafka's tool says in these words alone, without its own name before them."""


def usage_error(tool: CommandSpec, error: UsageError) -> UsageError:
    """Print the usage lines and give the error, without any word that may hold a password."""
    from metashell.common.kafka_options import usage_text

    command = next((command for command in tool.commands if command.name == error.argument), None)
    sys.stderr.write(usage_text(tool) if command is None else usage_text(command, tool))
    text = str(error)
    return UsageError(f"error: {'unrecognized arguments: [hidden]' if 'password' in text else text}")


def with_kafka_errors(act: Callable[[], int]) -> int:
    """The status of what a tool does; an error of the cluster, or one that Kafka words, becomes its line."""
    from metashell.cli.admin.protocol import AdminError

    try:
        return act()
    except TerseError as error:
        return write_error(str(error))
    except AdminError as error:
        return write_error(exception_text(error))


def write_error(line: str) -> int:
    """Write a line of Kafka's to stderr, after all that was printed, without the credentials of a URI; the status of a failure."""

    sys.stdout.flush()
    errors = EscapedErrors()
    for part in line.split("\n"):
        errors.write(part)
    return STATUS_FAILED


def exception_text(error: AdminError) -> str:
    """An error of the cluster as Java prints the exception that stands for it."""
    plain = _EXCEPTIONS.get(error.name) or "".join(word.capitalize() for word in error.name.split("_"))
    return f"{_ERRORS}{plain}Exception: {' '.join(error.words.splitlines())}"


@contextmanager
def open_admin(name: str, config: str | None, servers: str | None, controllers: str | None) -> Iterator[Admin]:
    """The cluster at one of these lists of addresses, as the client of a property file, while the block of the tool `name` runs.

    Addresses that kept silent are told at the end. Errors: UsageError; PathError.
    """
    from metashell.cli.admin.client import Admin
    from metashell.cli.admin.protocol import Kind
    from metashell.cli.connection import addresses_of, client_config_of

    options = client_config_of(config).options()
    timeout_ms = options.pop("deadline_ms")
    kind = Kind.CONTROLLERS if controllers else Kind.BROKERS
    with Admin(kind, addresses_of(controllers or servers or ""), timeout_ms=timeout_ms, **options) as admin:
        yield admin
        for address, reason in admin.skipped.items():
            complain(name, f"{address}: {reason}; others were asked")


def print_lines(lines: Iterable[str]) -> None:
    """Print lines, safe for a terminal where stdout is one: names and messages come from the cluster."""
    from metashell.common.forms import standard_output

    display = standard_output()
    for line in lines:
        display.line(line)


def print_json(found: Mapping[str, object]) -> None:
    """Print one JSON value."""
    from metashell.common.forms import spaced_json, standard_output

    display = standard_output()
    display.out.write(display.colored_json(spaced_json(found)) + "\n")
