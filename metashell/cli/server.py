"""metashell server: a controller from Kafka's server.properties, in the foreground."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager

from metashell.cli.common import STATUS_FAILED, STATUS_INTERRUPTED, STATUS_OK, declared_tool, named_values
from metashell.options.server_tools import SERVER

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Mapping
    from types import SimpleNamespace

    from metashell.cli.stop_signals import StopSignals
    from metashell.controller_server.config import ControllerConfig
    from metashell.controller_server.event_log import EventLog
    from metashell.controller_server.server import ControllerServer

NAME = "metashell server"
SIGNAL_BASE = 128


def _serve(values: SimpleNamespace) -> int:
    """Run the controller that the configuration describes until it ends."""
    from metashell.cli.stop_signals import StopSignals

    signals = StopSignals()
    signals.watch()
    from metashell.controller_server.config import load_config

    overrides = named_values("--override", values.override)
    config = load_config(values.config, overrides, allow_plaintext=values.allow_plaintext, accept_loss=values.accept_loss)
    _check_groups(config)
    metrics = None if values.metrics_port is None else _metrics_socket(values.metrics_port)
    import asyncio

    from metashell.controller_server.event_log import EventLog

    return asyncio.run(_run(config, EventLog(values.log_format), metrics, signals))


def _check_groups(config: ControllerConfig) -> None:
    """Errors: MetashellError for settings of a group coordinator that cannot be, before the controller takes part in anything."""
    from metashell.errors import MetashellError, UsageError
    from metashell.group_server.config import is_wanted, read_config

    try:
        if is_wanted(config.properties):
            read_config(config.node.values)
    except UsageError as error:
        raise MetashellError(f"{config.name}: {error}") from None


def _metrics_socket(port: int) -> socket.socket:
    """Errors: MetashellError that names the option, before the controller takes part in anything."""
    from metashell.controller_server.endpoint import metrics_socket
    from metashell.errors import MetashellError, UsageError

    try:
        return metrics_socket(port)
    except UsageError as error:
        raise UsageError(f"option --metrics-port: {error}", error.argument) from None
    except MetashellError as error:
        raise MetashellError(f"option --metrics-port: {error}") from None


async def _run(config: ControllerConfig, log: EventLog, metrics: socket.socket | None, signals: StopSignals) -> int:
    """Until a signal, or until it fails. Errors: MetashellError, OSError."""
    import asyncio
    import signal

    from metashell.controller_server.garbage import Garbage
    from metashell.controller_server.server import ControllerServer
    from metashell.embedded.groups import groups_beside
    from metashell.errors import MetashellError, UsageError

    loop = asyncio.get_running_loop()
    signalled: asyncio.Future[int] = loop.create_future()

    def note(number: int) -> None:
        if signalled.done():
            # Whoever asks twice does not want to wait for the others.
            os._exit(SIGNAL_BASE + number)
        signalled.set_result(number)
        log.event("stopping")

    for number in signals.watched:
        loop.add_signal_handler(number, note, number)
    if signals.noted:
        note(signals.noted)
    server = ControllerServer(config, log.event)
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
            async with _watched(server, log, metrics), groups_beside(server, log.event):
                await asyncio.wait((server.failure, signalled), return_when=asyncio.FIRST_COMPLETED)
        await server.stop()
        if (failure := server.failure.result()) is not None:
            if server.replica.is_hung:
                # Python would wait for the thread that waits for the disk.
                log.event(f"failed: {failure}")
                os._exit(STATUS_FAILED)
            raise failure
    except UsageError as error:
        # The configuration is at fault, not the command line.
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
    """Tell what changes, and answer questions for metrics, as long as this is entered. Errors: OSError, MetashellError."""
    from metashell.controller_server.event_log import ClusterEvents

    changes = ClusterEvents(server, log.event)
    endpoint = None
    try:
        if metrics is not None:
            from metashell.controller_server.endpoint import serve_metrics

            endpoint = await serve_metrics(server, metrics)
            log.event(f"metrics and health on http://127.0.0.1:{endpoint.port}")
        yield
    finally:
        changes.close()
        if endpoint is not None:
            await endpoint.close()


def place_of(error: OSError, config: ControllerConfig) -> str:
    """What an error of the system is about that names no file: the directory where the disk is at fault, else the configuration."""
    import errno

    is_disk = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)
    return config.directory if is_disk else config.name


def ready_line(config: ControllerConfig, ports: Mapping[str, int]) -> str:
    """What a controller says that takes part from now on."""
    listeners = ", ".join(f"{name} on port {port}" for name, port in ports.items())
    return f"controller {config.node.node_id} on {config.directory}: {listeners}"


main = declared_tool(NAME, SERVER, _serve)
