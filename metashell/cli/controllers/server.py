"""The command line of `metashell server`."""

from __future__ import annotations

import errno
import os
import signal
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from metashell.cli.tool import StopSignals, declared_tool, named_values
from metashell.common import options
from metashell.common.command import STATUS_FAILED, STATUS_INTERRUPTED, STATUS_OK
from metashell.common.errors import MetashellError, PathError, UsageError
from metashell.common.forms import compact_json
from metashell.common.options import CommandSpec, Option, choice, flag, path_argument
from metashell.common.terminal import terminal_line

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Iterator, Mapping
    from types import SimpleNamespace

    from metashell.cli.tool import StopSignals
    from metashell.quorum.server.config import ControllerConfig
    from metashell.quorum.server.controller_server import ControllerServer
    from metashell.quorum.server.endpoint import EventLog
    from metashell.quorum.server.posture import Posture


_SERVER_FILES = (
    ("LOGDIR/meta.properties", "the ids of the cluster, the node and the directory, which `metashell storage format` wrote"),
    ("LOGDIR/__cluster_metadata-0/", "the metadata log: segments, snapshots, quorum-state"),
    ("LOGDIR/.lock", "held while the controller runs"),
)

SERVER = CommandSpec(
    name="metashell-server",
    summary="run a controller from Kafka's server.properties",
    description="""
        Runs a controller of a KRaft quorum, in the foreground, on a directory that `metashell storage format` or Kafka's kafka-storage
        formatted. It takes Kafka's own server.properties with `process.roles=controller`, forms quorums with controllers of Kafka, and
        brokers of Kafka register with it. A server that is also a broker is refused: this package has no broker.

        SIGTERM and SIGINT stop it gracefully: a leader hands over first. A second one stops it at once. It ends with status 1 and one
        line when its disk or directory fails. Events go to standard error, one line each.

        It says at its start who may log in where, as whom, and which settings are weak; --check says the same and starts nothing.

        A listener that other machines reach has to authenticate who connects, by SASL or certificates; --allow-plaintext overrides that.

        For tests, `group.coordinator=embedded` also lets clients form groups, without any broker: the server registers as broker 100
        (`group.coordinator.broker.id`) and listens on localhost:9092 (`group.coordinator.listener`). Groups and offsets are in
        `__consumer_offsets-N` in the log directory, on disk before they are acknowledged, unless `group.coordinator.durable=false`; topics
        have no data. The settings of groups are those of Kafka's brokers (`group.*`, `offsets.*`).
        Clients of groups have the rights that ACLs give them. Where the controller has SASL or TLS, the listener for groups needs them too:
        `group.coordinator.listener=NAME://HOST:PORT`, with a NAME of `listener.security.protocol.map`.
        """,
    options=(
        options.OVERRIDE,
        choice("--log-format", choices=("text", "json"), default="text", help="form of the lines on standard error"),
        Option(
            names=("--metrics-port",),
            metavar="PORT",
            type="int",
            help="serve /metrics, /healthz and /readyz over HTTP on this port of loopback, 0 for any (needs the extra metrics)",
        ),
        options.file_option(
            "--audit-log", help="append the audit log to this file, not to standard error: each change that was applied or refused"
        ),
        flag("--check", help="start nothing: say who may log in how and what is weak; status 1 if something is"),
        options.output("text", "json"),
        flag("--allow-plaintext", help="let other machines in without authentication"),
        flag("--accept-loss", help="start and vote although records or a vote were lost, as Kafka does (docs/damage.md)"),
        options.VERSION,
    ),
    arguments=(path_argument("config", "CONFIG", "1", "the server's configuration, a properties file"),),
    examples=(
        ("metashell server controller.properties", "a controller on a formatted directory"),
        ("metashell server controller.properties --log-format json 2> controller.log", "with one JSON object for each event"),
        ("metashell server controller.properties --check", "who may log in how, and which settings are weak"),
        ("metashell server controller.properties --audit-log audit.log", "with a file for who changed what"),
        ("metashell server controller.properties --override controller.quorum.append.linger.ms=0", "with another setting"),
        ("metashell server controller.properties --override group.coordinator=embedded", "with groups, for tests of consumers"),
    ),
    epilog=(
        (
            "EXIT STATUS",
            "0    it was stopped by SIGTERM; --check found nothing weak\n"
            "1    it could not start, or ended by itself; --check found something\n"
            "2    the command line is wrong\n"
            "130  it was stopped by SIGINT",
        ),
    ),
    files=_SERVER_FILES,
)


NAME = "metashell server"
SIGNAL_BASE = 128


def _serve(values: SimpleNamespace) -> int:
    """Run the controller that the configuration describes until it ends; return the status."""
    signals = StopSignals()
    signals.watch()
    from metashell.common.runtime import prepare_process
    from metashell.quorum.server.config import load_config

    prepare_process()
    overrides = named_values("--override", values.override)
    config = load_config(values.config, overrides, allow_plaintext=values.allow_plaintext, accept_loss=values.accept_loss)
    _check_groups(config)
    posture = _posture_of(config)
    if values.check:
        return _tell_posture(posture, values.output)
    metrics = None if values.metrics_port is None else _metrics_socket(values.metrics_port)
    import asyncio

    from metashell.quorum.server.endpoint import EventLog

    with _audit_log(values.audit_log, values.log_format) as audit:
        return asyncio.run(_run(config, posture, EventLog(values.log_format), audit, metrics, signals))


def _posture_of(config: ControllerConfig) -> Posture:
    """Return who may log in how, and what is weak. Errors: MetashellError."""
    from metashell.quorum.server.posture import posture_of

    try:
        return posture_of(config)
    except UsageError as error:
        raise MetashellError(f"{config.name}: {error}") from None


def _tell_posture(posture: Posture, form: str) -> int:
    """Print a posture; return the status."""
    if form == "json":
        print(compact_json(posture.as_json()))
    else:
        for line in posture.lines:
            print(terminal_line(line))
    return STATUS_FAILED if posture.weaknesses else STATUS_OK


@contextmanager
def _audit_log(path: str | None, form: str) -> Iterator[EventLog]:
    """Give the audit log: a file that is appended to, or standard error. Errors: MetashellError."""
    from metashell.quorum.server.endpoint import EventLog

    if path is None:
        yield EventLog(form)
        return
    try:
        file = open(path, "a", encoding="utf-8")  # noqa: SIM115 (an error of writing to it is another one)
    except OSError as error:
        raise PathError.of(path, error) from None
    with file:
        yield EventLog(form, file)


def _check_groups(config: ControllerConfig) -> None:
    """Raise MetashellError for invalid settings of the group coordinator, before the controller joins the quorum."""
    from metashell.groups.server import is_wanted, read_config

    try:
        if is_wanted(config.properties):
            read_config(config.node.values)
    except UsageError as error:
        raise MetashellError(f"{config.name}: {error}") from None


def _metrics_socket(port: int) -> socket.socket:
    """Return the bound socket of --metrics-port, before the controller joins the quorum. Errors: MetashellError that names the option."""
    from metashell.quorum.server.endpoint import metrics_socket

    try:
        return metrics_socket(port)
    except UsageError as error:
        raise UsageError(f"option --metrics-port: {error}", error.argument) from None
    except MetashellError as error:
        raise MetashellError(f"option --metrics-port: {error}") from None


async def _run(
    config: ControllerConfig, posture: Posture, log: EventLog, audit: EventLog, metrics: socket.socket | None, signals: StopSignals
) -> int:
    """Run the controller until a signal comes or it fails. Errors: MetashellError, OSError."""
    import asyncio

    from metashell.quorum.embedded.members import groups_beside
    from metashell.quorum.server.controller_server import ControllerServer, Garbage

    loop = asyncio.get_running_loop()
    signalled: asyncio.Future[int] = loop.create_future()

    def note(number: int) -> None:
        if signalled.done():
            # A second signal ends the process at once, without an orderly shutdown.
            os._exit(SIGNAL_BASE + number)
        signalled.set_result(number)
        log.event("stopping")

    for number in signals.watched:
        loop.add_signal_handler(number, note, number)
    if signals.noted:
        note(signals.noted)
    server = ControllerServer(config, log.event, audit.event)
    try:
        starting = asyncio.ensure_future(server.start())
        await asyncio.wait((starting, signalled), return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await asyncio.wait((starting,))
        else:
            await starting
            Garbage(server.replica.driver.held)
            log.event(ready_line(config, server.ports))
            for line in posture.lines:
                log.event(line)
            async with _watched(server, log, metrics), groups_beside(server, log.event):
                await asyncio.wait((server.failure, signalled), return_when=asyncio.FIRST_COMPLETED)
        await server.stop()
        if (failure := server.failure.result()) is not None:
            if server.replica.is_hung:
                # A normal exit would wait for the thread that hangs on the disk.
                log.event(f"failed: {failure}")
                os._exit(STATUS_FAILED)
            raise failure
    except UsageError as error:
        # The error is in the configuration, not in the command line.
        hint = " (--allow-plaintext allows it)" if error.argument == "allow_plaintext" else ""
        raise MetashellError(f"{config.name}: {error}{hint}") from None
    except OSError as error:
        if error.filename is not None:
            raise
        raise MetashellError(f"{place_of(error, config)}: {error.strerror or error}") from None
    log.event("stopped")
    return STATUS_INTERRUPTED if signalled.result() == signal.SIGINT else STATUS_OK


@asynccontextmanager
async def _watched(server: ControllerServer, log: EventLog, metrics: socket.socket | None) -> AsyncIterator[None]:
    """Log the changes of the cluster, and serve metrics, until the block ends. Errors: OSError, MetashellError."""
    from metashell.quorum.server.endpoint import ClusterEvents

    changes = ClusterEvents(server, log.event)
    endpoint = None
    try:
        if metrics is not None:
            from metashell.quorum.server.endpoint import serve_metrics

            endpoint = await serve_metrics(server, metrics)
            log.event(f"metrics and health on http://127.0.0.1:{endpoint.port}")
        yield
    finally:
        changes.close()
        if endpoint is not None:
            await endpoint.close()


def place_of(error: OSError, config: ControllerConfig) -> str:
    """Return the place to name for an OSError without a file: the directory for an error of the disk, otherwise the configuration."""
    is_disk = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)
    return config.directory if is_disk else config.name


def ready_line(config: ControllerConfig, ports: Mapping[str, int]) -> str:
    """Return the line that a controller prints when it is ready: its id, directory and ports."""
    listeners = ", ".join(f"{name} on port {port}" for name, port in ports.items())
    return f"controller {config.node.node_id} on {config.directory}: {listeners}"


main = declared_tool(NAME, SERVER, _serve)
