"""What the tools have in common with which Kafka administers a live cluster: command lines, property files, the cluster, errors.

Errors are those of Kafka in one line, without the stack trace that it prints after some of them.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager

from metashell.cli.common import STATUS_FAILED, complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from metashell.admin.admin import Admin
    from metashell.admin.errors import AdminError
    from metashell.errors import UsageError
    from metashell.options import CommandSpec

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
    from metashell.errors import UsageError
    from metashell.options.argparse_help import usage_text

    command = next((command for command in tool.commands if command.name == error.argument), None)
    sys.stderr.write(usage_text(tool) if command is None else usage_text(command, tool))
    text = str(error)
    return UsageError(f"error: {'unrecognized arguments: [hidden]' if 'password' in text else text}")


def guarded(act: Callable[[], int]) -> int:
    """The status of what a tool does; an error of the cluster, or one that Kafka words, becomes its line."""
    from metashell.admin.errors import AdminError

    try:
        return act()
    except TerseError as error:
        return say(str(error))
    except AdminError as error:
        return say(exception_text(error))


def say(line: str) -> int:
    """Write a line of Kafka's to stderr, after all that was printed, without the credentials of a URI; the status of a failure."""
    from metashell.cli.common import EscapedErrors

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
    from metashell.admin.admin import Admin, Kind
    from metashell.cli.attaching import addresses_of, client_config_of

    options = client_config_of(config).options()
    timeout_ms = options.pop("deadline_ms")
    kind = Kind.CONTROLLERS if controllers else Kind.BROKERS
    with Admin(kind, addresses_of(controllers or servers or ""), timeout_ms=timeout_ms, **options) as admin:
        yield admin
        for address, reason in admin.skipped.items():
            complain(name, f"{address}: {reason}; others were asked")


def print_lines(lines: Iterable[str]) -> None:
    """Print lines, safe for a terminal where stdout is one: names and messages come from the cluster."""
    from metashell.forms import standard_output

    display = standard_output()
    for line in lines:
        display.line(line)


def print_json(found: Mapping[str, object]) -> None:
    """Print one JSON value."""
    from metashell.forms import spaced_json, standard_output

    display = standard_output()
    display.out.write(display.colored_json(spaced_json(found)) + "\n")
