"""Tools by Kafka's own names, with the command lines, output and exit statuses of Apache Kafka 4.4.0.

This module has the parts that Kafka's administration tools share: options, the connection, and errors in Kafka's wording.

An error is one line, without the stack trace that Kafka prints after some errors. Source: org.apache.kafka.tools of 4.4.0."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from metashell.common import options
from metashell.common.command import STATUS_FAILED, EscapedErrors, TimeLimit, complain
from metashell.common.errors import UsageError
from metashell.common.options import CommandSpec, Option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from metashell.cli.admin.client import Admin
    from metashell.cli.admin.protocol import AdminError
    from metashell.common.errors import UsageError


CONNECTION = "connection"
"""The group of options that say where the cluster is."""

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
"""Exception names that do not follow from the name of the error code."""


class TerseError(Exception):
    """An error that Kafka's tool prints alone, without its own name before it."""


def usage_error(tool: CommandSpec, error: UsageError) -> UsageError:
    """Print the usage lines and return the error, without any word that may hold a password."""
    from metashell.common.kafka_options import usage_text

    command = next((command for command in tool.commands if command.name == error.argument), None)
    sys.stderr.write(usage_text(tool) if command is None else usage_text(command, tool))
    text = str(error)
    return UsageError(f"error: {'unrecognized arguments: [hidden]' if 'password' in text else text}")


def with_kafka_errors(act: Callable[[], int]) -> int:
    """Return the status of `act`. Print an error of the cluster, or one that Kafka words, as one line."""
    from metashell.cli.admin.protocol import AdminError

    try:
        return act()
    except TerseError as error:
        return write_error(str(error))
    except AdminError as error:
        return write_error(exception_text(error))


def write_error(line: str) -> int:
    """Write one of Kafka's error lines to stderr after all output, without credentials in URIs; return the status of a failure."""
    sys.stdout.flush()
    errors = EscapedErrors()
    for part in line.split("\n"):
        errors.write(part)
    return STATUS_FAILED


def exception_text(error: AdminError) -> str:
    """Return the text of a cluster's error as Java prints its exception."""
    plain = _EXCEPTIONS.get(error.name) or "".join(word.capitalize() for word in error.name.split("_"))
    return f"{_ERRORS}{plain}Exception: {' '.join(error.words.splitlines())}"


@contextmanager
def open_admin(name: str, config: str | None, servers: str | None, controllers: str | None) -> Iterator[Admin]:
    """Yield a client for one of the lists of addresses, configured by a property file; `name` is the tool's in messages.

    At the end it reports addresses that did not answer. Errors: UsageError; PathError.
    """
    from metashell.cli.admin.client import Admin
    from metashell.cli.admin.protocol import Kind
    from metashell.cli.connection import addresses_of, client_config_of

    options = client_config_of(config).options()
    timeout_ms = options.pop("deadline_ms")
    kind = Kind.CONTROLLERS if controllers else Kind.BROKERS
    with Admin(
        kind, addresses_of(controllers or servers or ""), timeout_ms=timeout_ms, time_limit=TimeLimit(timeout_ms / 1000), **options
    ) as admin:
        yield admin
        for address, reason in admin.skipped.items():
            complain(name, f"{address}: {reason}; others were asked")


def print_lines(lines: Iterable[str]) -> None:
    """Print lines, escaped for a terminal if stdout is one: names and messages come from the cluster."""
    from metashell.common.forms import standard_output

    display = standard_output()
    for line in lines:
        display.line(line)


def print_json(found: Mapping[str, object]) -> None:
    """Print one JSON value."""
    from metashell.common.forms import spaced_json, standard_output

    display = standard_output()
    display.out.write(display.colored_json(spaced_json(found)) + "\n")
