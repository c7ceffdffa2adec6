"""The operator's view of a controller: HTTP on loopback (/metrics, /healthz, /readyz), and its events as lines.

Promises of the endpoint:
- It listens on 127.0.0.1 alone, and takes only requests that name a loopback host: a page in a browser cannot reach it by a name of its
  own.
- It answers GET and HEAD, one request a connection. What one may make it hold is bounded: connections, bytes of a request, and its time;
  what is more, or is not HTTP, gets one line or nothing.
- /healthz is 200 as long as the process does its work: its loop answers and its replica has not failed. A controller without a leader is
  healthy: restarting it would not help.
- /readyz is 200 when requests can be answered: the log is read to what is known to be committed, and a leader is known.
- A question for metrics costs what has changed since the last one (`PartitionCounts`), and leaves the loop to others meanwhile.

Events are text for people, or one JSON object each, with stable keys, for programs. Every object has `time`, `event` (its kind) and
`message` (the text); the other keys go by the kind:

| event | keys | when |
| --- | --- | --- |
| state | state, epoch, leader_id | raft's state changed |
| active, inactive | epoch | this controller became the active one, or no longer is |
| error | number, what, error, place | something was decided by a mistake of ours |
| broker | broker_id, broker_epoch, change | registered, fenced, unfenced, in controlled shutdown, unregistered |
| controller | controller_id, change | registered, unregistered |
| feature | feature, level | a finalized level changed |
| snapshot | offset, epoch, size | a snapshot is complete |
| complaint | number, what | a peer sent what it must not send |
| peer | host, port, reached | another controller cannot be reached, or can be again; this one cannot register with the active one |
| audit | result, principal, address, api, resource | a change was applied or refused (metashell.quorum.server.audit) |
| client | principal, host, asked, reason | a client asked wrongly |
| leaderless | epoch, asked | no leader is known for some seconds; whom this controller asks |
| note | | everything else |

`serve_metrics` imports prometheus_client late: it is an extra."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from metashell.codec.releases import METADATA_VERSION
from metashell.common.errors import MetashellError, UsageError
from metashell.common.forms import compact_json
from metashell.common.terminal import terminal_line
from metashell.net.addresses import PORT_MAX
from metashell.net.listener import stop_accepting
from metashell.quorum.server.event_queue import ServerEvent
from metashell.quorum.server.metrics import Family, Metrics

if TYPE_CHECKING:
    from metashell.metadata.image import BrokerRegistration, MetadataImage
    from metashell.quorum.server.controller_server import ControllerServer


HOST: Final = "127.0.0.1"
REQUEST_MAX: Final = 8 * 1024
CONNECTIONS_MAX: Final = 16
TIMEOUT_S: Final = 5.0
"""For a request to come, and for its answer to be taken."""
JSON: Final = "application/json"
_LOOPBACK: Final = frozenset(("127.0.0.1", "localhost", "[::1]", "::1", ""))
_METHODS: Final = ("GET", "HEAD")


class Answer(NamedTuple):
    """An HTTP answer."""

    status: HTTPStatus
    body: bytes
    content_type: str = JSON


class Endpoint:
    """The open endpoint of one controller; `port` is where it listens. Made by `serve_metrics`."""

    def __init__(self, server: ControllerServer, metrics: Metrics, render: Callable[[], bytes], content_type: str) -> None:
        self.port = 0
        self.refused = 0
        """Requests that were none, or came from too many connections."""
        self._server = server
        self._metrics = metrics
        self._render = render
        self._content_type = content_type
        self._open = 0
        self._is_closed = False
        self._listener: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._routes: dict[str, Callable[[], Awaitable[Answer]]] = {
            "/metrics": self._give_metrics,
            "/healthz": self._give_health,
            "/readyz": self._give_readiness,
        }

    async def open(self, held: socket.socket) -> None:
        """Listen on a bound socket, which the endpoint then owns. Errors: OSError."""
        self._listener = await asyncio.start_server(self._accept, sock=held, limit=REQUEST_MAX, backlog=CONNECTIONS_MAX)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Answer nothing more."""
        self._is_closed = True
        if self._listener is not None:
            await stop_accepting(self._listener)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._metrics.close()

    # ---- one connection

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._open += 1
        try:
            if self._is_closed or self._open > CONNECTIONS_MAX:
                self.refused += 1
                return
            async with asyncio.timeout(TIMEOUT_S):
                await self._serve(reader, writer)
        except (OSError, TimeoutError):
            self.refused += 1
        finally:
            self._open -= 1
            self._tasks.discard(task)
            writer.close()
            with suppress(OSError):
                if writer.transport.get_write_buffer_size():
                    # Who does not read its answer in time does not get it.
                    writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            self.refused += 1
            return
        except asyncio.LimitOverrunError:
            self.refused += 1
            await _send(writer, _problem(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE), has_body=True)
            return
        method, answer = await self._answer(head)
        await _send(writer, answer, has_body=method != "HEAD")

    async def _answer(self, head: bytes) -> tuple[str, Answer]:
        lines = head.decode("latin-1").split("\r\n")
        words = lines[0].split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            self.refused += 1
            return "", _problem(HTTPStatus.BAD_REQUEST)
        method, target, _ = words
        if method not in _METHODS:
            self.refused += 1
            return "", _problem(HTTPStatus.METHOD_NOT_ALLOWED)
        if _host_of(lines[1:]) not in _LOOPBACK:
            self.refused += 1
            return method, _problem(HTTPStatus.MISDIRECTED_REQUEST)
        route = self._routes.get(target.partition("?")[0])
        return method, _problem(HTTPStatus.NOT_FOUND) if route is None else await route()

    # ---- what it says

    async def _give_metrics(self) -> Answer:
        await self._metrics.follow()
        return Answer(HTTPStatus.OK, self._render(), self._content_type)

    async def _give_health(self) -> Answer:
        reasons = [] if self._is_alive else ["the replica has stopped"]
        return _verdict(reasons, {"status": "failed" if reasons else "ok"} | self._identity())

    async def _give_readiness(self) -> Answer:
        server = self._server
        reasons = [] if self._is_alive else ["the replica has stopped"]
        if server.leader_id < 0:
            reasons.append("no leader is known")
        if not server.machine.is_caught_up:
            reasons.append("the log is not read to its end yet")
        if server.node.state_name == "leader" and not server.is_active:
            reasons.append("it leads, and is not active yet")
        return _verdict(reasons, {"status": "not ready" if reasons else "ready"} | self._identity())

    @property
    def _is_alive(self) -> bool:
        return not self._server.failure.done() and not self._server.replica.driver.is_stopped

    def _identity(self) -> dict[str, Any]:
        server = self._server
        node = server.node
        return {
            "node_id": server.config.node.node_id,
            "state": node.state_name,
            "is_active": server.is_active,
            "leader_id": node.leader_id,
            "epoch": node.epoch,
            "high_watermark": node.high_watermark,
            "log_end_offset": node.log_end_offset,
        }


def metrics_socket(port: int = 0) -> socket.socket:
    """Bind a loopback socket for `serve_metrics`; port 0 is any. Call it before the controller starts.

    Errors: UsageError for a number that no port has; MetashellError for a port that is taken, and without prometheus_client.
    """
    if not 0 <= port <= PORT_MAX:
        raise UsageError(f"port {port}: not a port (0 to {PORT_MAX})", str(port))
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        from metashell.common.runtime import missing

        raise MetashellError(f"metrics need a package: {missing('prometheus_client', 'metrics')}") from None
    held = socket.socket()
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((HOST, port))
    except OSError as error:
        held.close()
        raise MetashellError(f"port {port}: {error.strerror}") from None
    return held


async def serve_metrics(server: ControllerServer, held: socket.socket | None = None) -> Endpoint:
    """Open the endpoint of a controller that was started, by default at any port. Errors: OSError; those of `metrics_socket`."""
    held = held or metrics_socket()
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest

    metrics = Metrics(server)
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)

    class Ours:
        def collect(self) -> Iterator[Any]:
            return map(_as_prometheus, metrics.families())

        def describe(self) -> list[Any]:
            return []

    registry.register(Ours())
    endpoint = Endpoint(server, metrics, lambda: generate_latest(registry), CONTENT_TYPE_LATEST)
    try:
        await endpoint.open(held)
    except BaseException:
        metrics.close()
        raise
    return endpoint


def _as_prometheus(family: Family) -> Any:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily

    labels = tuple(family.samples[0][0]) if family.samples else ()
    found: Any
    if family.kind == "summary":
        found = SummaryMetricFamily(family.name, family.help, count_value=family.total_count, sum_value=family.total)
        for named, value in family.samples:
            found.add_sample(family.name, named, value)
        return found
    made = GaugeMetricFamily if family.kind == "gauge" else CounterMetricFamily
    found = made(family.name, family.help, labels=labels)
    for named, value in family.samples:
        found.add_metric(tuple(named.values()), value)
    return found


def _host_of(lines: list[str]) -> str:
    """The host of a request, without its port; empty where it names none."""
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip().lower() == "host":
            host = value.strip().lower()
            return host.rpartition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
    return ""


def _verdict(reasons: list[str], body: dict[str, Any]) -> Answer:
    status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
    return Answer(status, json.dumps(body | {"reasons": reasons}).encode() + b"\n")


def _problem(status: HTTPStatus) -> Answer:
    return Answer(status, json.dumps({"error": status.phrase}).encode() + b"\n")


async def _send(writer: asyncio.StreamWriter, answer: Answer, *, has_body: bool) -> None:
    head = [
        f"HTTP/1.1 {answer.status.value} {answer.status.phrase}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
        "\r\n",
    ]
    writer.write("\r\n".join(head).encode("latin-1") + (answer.body if has_body else b""))
    await writer.drain()


class EventLog:
    """Writes events to a stream (standard error), one line each; a closed reader ends nothing."""

    def __init__(self, form: str, stream: IO[str] | None = None, clock: Callable[[], float] = time.time) -> None:
        self._is_json = form == "json"
        self._stream = stream
        self._clock = clock

    def event(self, line: str) -> None:
        """Write one."""
        now = self._clock()
        stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now * 1000) % 1000:03d}Z"
        if self._is_json:
            kind, fields = (line.kind, line.fields) if isinstance(line, ServerEvent) else ("note", {})
            text = compact_json({"time": stamp, "event": kind, "message": str(line), **fields})
        else:
            text = f"{stamp} {terminal_line(line)}"
        stream = self._stream or sys.stderr
        with suppress(OSError):
            stream.write(f"{text}\n")
            stream.flush()


class ClusterEvents:
    """Reports changes in the stable image of a started controller, once it has read its log to the end."""

    def __init__(self, server: ControllerServer, on_event: Callable[[str], None]) -> None:
        self._server = server
        self._on_event = on_event
        self._seen: MetadataImage | None = None
        self._snapshots = 0
        self._end = server.watch(self._look)

    def close(self) -> None:
        """Report nothing more."""
        self._end()

    def _look(self) -> None:
        server = self._server
        made = server.replica.feed.snapshots_made
        if made != self._snapshots:
            self._snapshots = made
            self._tell_snapshot()
        image = server.image
        seen = self._seen
        if image is seen or not server.machine.is_caught_up:
            return
        self._seen = image
        if seen is not None:
            self._tell_brokers(seen, image)
            self._tell_controllers(seen, image)
            self._tell_features(seen, image)

    def _tell_snapshot(self) -> None:
        log = self._server.log
        ids = log.snapshots()
        if ids:
            id = ids[-1]
            size = log.snapshot_size(id)
            text = f"snapshot {id.offset}-{id.epoch} is complete: {size} bytes"
            self._on_event(ServerEvent(text, "snapshot", offset=id.offset, epoch=id.epoch, size=size))

    def _tell_brokers(self, before: MetadataImage, after: MetadataImage) -> None:
        old, new = before.cluster.brokers, after.cluster.brokers
        if old is new:
            return
        for id in sorted({*old, *new}):
            was, now = old.get(id), new.get(id)
            if was is not now:
                for change in broker_changes(was, now):
                    epoch = (now or was).epoch  # type: ignore[union-attr]
                    self._on_event(ServerEvent(f"broker {id} is {change}", "broker", broker_id=id, broker_epoch=epoch, change=change))

    def _tell_controllers(self, before: MetadataImage, after: MetadataImage) -> None:
        old, new = before.cluster.controllers, after.cluster.controllers
        if old is new:
            return
        for id in sorted({*old, *new}):
            was, now = old.get(id), new.get(id)
            if now is None or was is None or was.incarnation_id != now.incarnation_id:
                change = "unregistered" if now is None else "registered"
                self._on_event(ServerEvent(f"controller {id} is {change}", "controller", controller_id=id, change=change))

    def _tell_features(self, before: MetadataImage, after: MetadataImage) -> None:
        if before.features is after.features:
            return
        old = {**dict(before.features.levels.items()), METADATA_VERSION: before.features.metadata_version}
        new = {**dict(after.features.levels.items()), METADATA_VERSION: after.features.metadata_version}
        for name in sorted({*old, *new}):
            level = new.get(name) or 0
            if (old.get(name) or 0) != level:
                self._on_event(ServerEvent(f"{name} is at level {level}", "feature", feature=name, level=level))


def broker_changes(was: BrokerRegistration | None, now: BrokerRegistration | None) -> list[str]:
    """Return the events of a broker, in their order."""
    if now is None:
        return ["unregistered"]
    found = []
    if was is None or was.incarnation_id != now.incarnation_id:
        found.append("registered")
    if now.in_controlled_shutdown and not (was is not None and was.in_controlled_shutdown):
        found.append("in controlled shutdown")
    was_fenced = was is None or was.fenced or was.incarnation_id != now.incarnation_id
    if was_fenced != now.fenced:
        found.append("fenced" if now.fenced else "unfenced")
    return found
