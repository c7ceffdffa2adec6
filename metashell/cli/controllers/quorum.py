"""The command `metashell quorum`: runs a quorum of controllers on this machine, in the background or in the foreground."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from shlex import quote
from shutil import rmtree
from signal import SIGINT
from typing import TYPE_CHECKING

from metashell.cli.controllers.live_quorum import main as live_main
from metashell.cli.controllers.quorum_options import QUORUM
from metashell.cli.tool import StopRequested, StopSignals, named_values, parsed, run_sub_command
from metashell.common.command import STATUS_FAILED, STATUS_INTERRUPTED, STATUS_OK, Tool, complain, file_error_text
from metashell.common.errors import ConfigError, MetashellError, PathError, UsageError
from metashell.common.forms import aligned, plain_text, spaced_json, standard_output
from metashell.common.settings import state_folder
from metashell.common.terminal import terminal_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace
    from typing import Any, Protocol

    from metashell.cli.tool import StopSignals
    from metashell.common.options import CommandSpec
    from metashell.quorum.embedded.background import Announcement, Record, Registry
    from metashell.quorum.embedded.quorum import EmbeddedQuorum

    class Announced(Protocol):
        """A receiver of the announcement that a quorum is ready."""

        def ready(self, record: Record) -> None: ...


NAME = "metashell quorum"
LOOK_S = 0.5
STOP_S = 30.0
ASK_MS = 3000
NONE_RUNS = "no quorum is running"


def run_quorum(words: list[str]) -> int:
    """Run the sub-command that the words name, and return its status."""
    return run_sub_command(QUORUM._replace(name=NAME), words, _run_command)


def _run_command(command: CommandSpec, words: list[str]) -> int:
    name = command.name.rpartition(" ")[2]
    if name not in _COMMANDS:
        # These commands work on any running quorum, not only on the one that this machine runs in the background.

        return live_main.perform(command, words)
    values = parsed(command, words)
    if values is None:
        return STATUS_OK
    return _COMMANDS[name](command.name, values)


def _registry() -> Registry:
    from metashell.quorum.embedded.background import Registry

    return Registry(str(state_folder(os.environ) / "quorum"))


# ---- start


def _start(tool: str, values: SimpleNamespace) -> int:
    signals = StopSignals()
    if values.foreground:
        signals.watch()
    from metashell.quorum.embedded.background import Record, run_in_background
    from metashell.quorum.embedded.layout import LOG, check_not_running, read_layout

    options = _options(values)
    registry = _registry()
    if registry.is_alive:
        raise registry.refusal()
    _say_what_died(tool, registry)
    directory, is_kept = _directory(values.dir)
    log = "" if values.foreground else os.path.join(directory, LOG)

    def serve(announcement: Announced, on_event: Callable[[int, str], None]) -> int:
        from metashell.common.runtime import prepare_process
        from metashell.quorum.embedded.quorum import EmbeddedQuorum

        prepare_process()
        record = Record(
            pid=os.getpid(), started_ms=int(time.time() * 1000), bootstrap_controllers="", directory=directory, log=log, is_kept=is_kept
        )
        return _serve(EmbeddedQuorum(directory=directory, on_event=on_event, **options), registry, announcement, record, signals)

    try:
        # Check before the log file is made: a directory of something else, or of a running quorum, stays unchanged.
        layout = read_layout(directory, {})
        if layout is not None:
            check_not_running(layout)
        if log:
            # Fail in the foreground, where the error can be seen, if the log file cannot be opened.
            os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        if values.foreground:
            return serve(_Printed(values.output), _event if values.verbose else lambda id, line: None)
        record = run_in_background(log, lambda announcement: _guarded(announcement, lambda: serve(announcement, _event)))
    except BaseException:
        _throw_away(directory, is_kept)
        raise
    try:
        _print_started(values.output, record)
        sys.stdout.flush()
    except OSError:
        # The addresses could not be printed, so nobody could find this quorum: stop it.
        _end(registry, record)
        raise
    return STATUS_OK


def _options(values: SimpleNamespace) -> dict[str, Any]:
    """Return the arguments of EmbeddedQuorum. Errors: UsageError, before anything is started."""
    from metashell.disk.bootstrap import parse_feature_levels, release_level
    from metashell.quorum.embedded.layout import Options, check_fake_brokers, refuse_no_port

    try:
        features = parse_feature_levels(values.feature)
        if values.release_version is not None:
            release_level(values.release_version, unstable=True)
    except ConfigError as error:
        raise UsageError(error.plain) from None
    count = values.controllers
    settings = named_values("--override", values.override)
    check_fake_brokers(values.fake_brokers)
    checked = Options(controllers=3 if count is None else count, properties=settings)
    ports = None if values.port is None else tuple(range(values.port, values.port + checked.controllers))
    for port in ports or ():
        refuse_no_port(port)
    return {
        "controllers": count,
        "metadata_version": values.release_version,
        "features": features,
        "properties": settings,
        "ports": ports,
        "fake_brokers": values.fake_brokers,
        "groups": values.groups,
    }


def _say_what_died(tool: str, registry: Registry) -> None:
    found = registry.read()
    if found is not None:
        complain(tool, f"the quorum of process {found.pid} was not stopped properly; {_left_behind(found)}")


def _left_behind(record: Record) -> str:
    """Return a text on the files of a quorum that died: whether they are removed, or how to open them again."""
    if not record.is_kept:
        return f"{record.directory} is removed"

    return f"{record.directory} is kept (metashell quorum start --dir {quote(record.directory)} opens it again)"


def _directory(given: str | None) -> tuple[str, bool]:
    """Make the quorum's directory if it does not exist. Return it, and whether it is kept. Errors: UsageError; MetashellError; OSError."""
    from metashell.quorum.embedded.layout import PREFIX

    if given == "":
        raise UsageError("option --dir: names no directory")
    if given is None:
        from tempfile import mkdtemp

        try:
            return mkdtemp(prefix=PREFIX), False
        except OSError as error:
            raise MetashellError(file_error_text(error)) from None
    directory = os.path.abspath(given)
    if os.path.exists(directory) and not os.path.isdir(directory):
        raise PathError(f"{directory}: not a directory", directory)
    os.makedirs(directory, exist_ok=True)
    return directory, True


def _throw_away(directory: str, is_kept: bool) -> None:
    if not is_kept:
        rmtree(directory, ignore_errors=True)


def _guarded(announcement: Announcement, work: Callable[[], int]) -> int:
    """Run the work of the background process. An error goes to the log and, before the quorum is ready, to the process that waits."""
    try:
        return work()
    except (MetashellError, OSError) as error:
        text = file_error_text(error) if isinstance(error, OSError) else str(error)
        complain(NAME, text)
        announcement.failed(text)
        return STATUS_FAILED


def _start_quorum(quorum: EmbeddedQuorum, directory: str) -> None:
    """Start a quorum. Errors: MetashellError; OSError with the name of the file at fault."""
    try:
        quorum.start()
    except OSError as error:
        if error.filename is not None:
            raise
        # The caller takes an OSError without a file name for an error of standard output.
        raise MetashellError(f"{directory}: {error.strerror or error}") from None


def _serve(quorum: EmbeddedQuorum, registry: Registry, announcement: Announced, record: Record, signals: StopSignals) -> int:
    """Run a quorum in this process until a signal comes or a controller stops by itself. Errors: MetashellError, OSError."""

    from metashell.quorum.embedded.layout import QuorumError

    # Commands run without garbage collection, but this process may run for months.
    gc.enable()
    with registry.held():
        status, failure = STATUS_OK, None
        try:
            signals.watch()
            registry.write(record)
            with signals.raised():
                _start_quorum(quorum, record.directory)
                servers = quorum.bootstrap_servers if quorum.has_groups else ""
                record = replace(record, bootstrap_controllers=quorum.bootstrap_controllers, bootstrap_servers=servers)
                registry.write(record)
                announcement.ready(record)
                while (failure := quorum.failure) is None:
                    time.sleep(LOOK_S)
        except StopRequested as stopped:
            status = STATUS_INTERRUPTED if stopped.number == SIGINT else STATUS_OK
        finally:
            signals.ignore()
            with suppress(QuorumError):
                quorum.stop()
            if failure is None:
                registry.clear()
            # Otherwise the record stays, so that `status` can report that this quorum ended, and where its log is.
    if failure is not None:
        raise failure
    return status


def _event(id: int, line: str) -> None:
    """Write a line to the log."""
    sys.stderr.write(f"{utc_text()} controller {id}: {terminal_line(line)}\n")
    sys.stderr.flush()


class _Printed:
    """The announcement of a quorum in the foreground: it prints the addresses."""

    def __init__(self, form: str) -> None:
        self._form = form

    def ready(self, record: Record) -> None:
        _print_started(self._form, record)
        sys.stdout.flush()


def _print_started(form: str, record: Record) -> None:
    if form == "json":
        _print_json(_fields(record))
    else:
        sys.stdout.write(f"{record.bootstrap_controllers}\n")
    if record.bootstrap_servers:
        from metashell.quorum.embedded.members import NOTICE

        complain(NAME, f"clients form groups at {record.bootstrap_servers}; {NOTICE}")


# ---- status and stop


def _status(tool: str, values: SimpleNamespace) -> int:
    from metashell.quorum.embedded.layout import QuorumError

    registry = _registry()
    try:
        record = _living(registry)
    except QuorumError as error:
        if values.output == "json":
            _print_json(_ended(registry))
        complain(tool, str(error))
        return STATUS_FAILED
    fields = {**_fields(record), **_described(record)}
    is_led = fields["leader"] is not None
    if fields["state"] == "running" and not is_led:
        fields["state"] = "leaderless"
    if values.output == "json":
        _print_json(fields)
    else:
        del fields["type"]
        for line in aligned([(name.replace("_", " "), _shown(value)) for name, value in fields.items()]):
            sys.stdout.write(f"{line}\n")
    return STATUS_OK if is_led else STATUS_FAILED


def _ended(registry: Registry) -> dict[str, Any]:
    """Return the fields of a quorum that is starting, stopped or killed. Errors: QuorumError if its record cannot be read."""
    if registry.is_alive:
        return {"type": "quorum", "state": "starting"}
    record = registry.read()
    return {"type": "quorum", "state": "stopped"} if record is None else {**_fields(record), "state": "killed"}


def _living(registry: Registry) -> Record:
    """Return the record of the running quorum. Errors: QuorumError, with what is known of one that no longer runs."""
    from metashell.quorum.embedded.layout import QuorumError

    if (living := registry.living()) is not None:
        return living
    if (record := registry.read()) is None:
        raise QuorumError(NONE_RUNS)
    raise QuorumError(f"{NONE_RUNS}: process {record.pid} was killed or ended by itself; {_why(record)}")


def _why(record: Record) -> str:
    """Return a text that names the log, and the way to open the quorum again if it is kept."""
    places = [f"{record.log} may say why"] if record.log else []
    return "; ".join([*places, _left_behind(record)] if record.is_kept or not places else places)


def _fields(record: Record) -> dict[str, Any]:
    return {
        "type": "quorum",
        "state": "running" if record.bootstrap_controllers else "starting",
        "bootstrap_controllers": record.bootstrap_controllers,
        "bootstrap_servers": record.bootstrap_servers or None,
        "pid": record.pid,
        "started": utc_text(record.started_ms / 1000),
        "directory": record.directory,
        "kept": record.is_kept,
        "log": record.log or None,
    }


def _described(record: Record) -> dict[str, Any]:
    """Return the cluster id, and the leader and epoch as the controllers report them; None for each that is not known."""
    from metashell.codec import messages
    from metashell.net.addresses import ConnectError, parse_addresses
    from metashell.net.client import Client
    from metashell.quorum.embedded.layout import read_layout, security_of

    described: dict[str, Any] = {"cluster_id": None, "leader": None, "epoch": None}
    if not record.bootstrap_controllers:
        return described
    addresses = parse_addresses(record.bootstrap_controllers)
    asked = messages.DescribeQuorumRequest(
        topics=(
            messages.DescribeQuorumRequest.TopicData(
                topic_name="__cluster_metadata", partitions=(messages.DescribeQuorumRequest.PartitionData(partition_index=0),)
            ),
        )
    )
    layout = read_layout(record.directory, {})
    if layout is None:
        return described
    described["cluster_id"] = layout.cluster_id
    with Client(addresses, deadline_ms=ASK_MS, attempts_max=1, security=security_of(layout.places[0].properties)) as client:
        for address in addresses:
            try:
                answer = client.request(asked, node=address)
            except ConnectError:
                continue
            for partition in (partition for topic in answer.topics for partition in topic.partitions):
                if answer.error_code == partition.error_code == 0:
                    leader = partition.leader_id
                    return {**described, "leader": None if leader < 0 else leader, "epoch": partition.leader_epoch}
    return described


def _stop(tool: str, values: SimpleNamespace) -> int:
    from metashell.quorum.embedded.layout import QuorumError

    registry = _registry()
    record = registry.living()
    if record is None and (record := registry.read()) is not None:
        with registry.held():
            pass
        raise QuorumError(f"no quorum was running: process {record.pid} was killed or ended by itself; {_left_behind(record)}")
    if record is None:
        raise QuorumError(NONE_RUNS)
    _end(registry, record)
    if values.output == "json":
        _print_json({**_fields(record), "state": "stopped"})
    else:
        became = "is kept" if os.path.isdir(record.directory) else "is not there any more"
        sys.stdout.write(f"stopped; {record.directory} {became}\n" if record.is_kept else "stopped\n")
    return STATUS_OK


def _end(registry: Registry, record: Record) -> None:
    """Stop the running quorum. Errors: QuorumError if it does not stop in time."""

    from metashell.quorum.embedded.layout import QuorumError

    with suppress(ProcessLookupError):
        os.kill(record.pid, signal.SIGTERM)
    end = time.monotonic() + STOP_S
    while registry.holder == record.pid:
        if time.monotonic() > end:
            raise QuorumError(f"process {record.pid} did not stop within {STOP_S:.0f} s")
        time.sleep(0.02)


# ---- forms


def _print_json(fields: dict[str, Any]) -> None:
    display = standard_output()
    display.out.write(display.colored_json(spaced_json(fields)) + "\n")


def _shown(value: object) -> str:
    return "-" if value is None else plain_text(value)


def utc_text(seconds: float | None = None) -> str:
    """Return a time in Unix seconds, by default now, as UTC text to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _restore(tool: str, values: SimpleNamespace) -> int:
    from metashell.cli.controllers.restore import restore

    return restore(tool, values)


_COMMANDS: dict[str, Callable[[str, SimpleNamespace], int]] = {"start": _start, "status": _status, "stop": _stop, "restore": _restore}

main = Tool(NAME, run_quorum)
