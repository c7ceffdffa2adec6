"""A quorum of controllers inside this process: the face for programs and tests."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from metashell.common.errors import PathError, UsageError
from metashell.common.forms import counted
from metashell.disk.config import config_of
from metashell.groups.server import COORDINATOR, DURABLE, EMBEDDED, is_wanted
from metashell.metadata.image import EMPTY_IMAGE
from metashell.net.addresses import Address
from metashell.quorum.embedded.background import LoopThread
from metashell.quorum.embedded.layout import (
    HOST,
    PREFIX,
    Layout,
    Options,
    QuorumError,
    ReservedPorts,
    check_fake_brokers,
    check_made_with,
    make_layout,
    read_layout,
    reserve,
    reserve_these,
    security_of,
    timed_out,
)

if TYPE_CHECKING:
    import asyncio
    from types import TracebackType

    from metashell.metadata.image import MetadataImage
    from metashell.net.addresses import Address
    from metashell.net.client import AsyncClient
    from metashell.quorum.embedded.fake_brokers import FakeBroker
    from metashell.quorum.embedded.members import Groups, Members

T = TypeVar("T")
WAIT_S: Final = 10.0
CONTROLLERS: Final = 3
START_S: Final = 30.0
STOP_S: Final = 30.0


class EmbeddedQuorum:
    """Controllers of a Kafka cluster without a JVM, on loopback, in a thread of their own. Start it with `with`, or `start` and `stop`.

    Shape: `controllers` is how many, 3 unless `directory` has another number; `metadata_version` a release (`"4.2"`) or a level's name, by
    default the newest for production; `features` levels by name; `properties` settings of server.properties for every controller.
    `directory` keeps the quorum's files there, and opens those that are there; without one they are thrown away. `ports` by default are
    those that the system picks. `static` makes a quorum of controller.quorum.voters. `linger_ms` is controller.quorum.append.linger.ms,
    0 by default. `fake_brokers` are brokers that register and do nothing else, so that topics can be made. `groups` lets consumers form
    groups; they are kept in `directory` and survive the process, unless `durable` is False. `on_event` gets a controller's id and a line
    for each event, on the quorum's thread.

    Python's garbage collector is left as the process has it: with hundreds of thousands of partitions its full collections hold the
    controllers up for tenths of a second, which `metashell server` avoids.

    Every method and attribute may be used from any thread. When a controller ended by itself, `failure` says why, waiting for anything
    fails with that, and so does `stop`.
    """

    def __init__(
        self,
        controllers: int | None = None,
        *,
        metadata_version: str | None = None,
        features: Mapping[str, int] | None = None,
        properties: Mapping[str, object] | None = None,
        directory: str | os.PathLike[str] | None = None,
        ports: Sequence[int] | None = None,
        static: bool = False,
        linger_ms: int | None = None,
        fake_brokers: int = 0,
        groups: bool = False,
        durable: bool = True,
        on_event: Callable[[int, str], None] = lambda id, line: None,
    ) -> None:
        """Check the options; nothing is started or written. Errors: UsageError."""
        settings = {name: _text(value) for name, value in (properties or {}).items()}
        if groups:
            settings[COORDINATOR] = EMBEDDED
            settings |= {} if durable else {DURABLE: "false"}
        is_wanted(settings)  # a kind of coordinator that there is not is refused here
        if linger_ms is not None:
            settings["controller.quorum.append.linger.ms"] = str(linger_ms)
        self._options = Options(
            controllers=CONTROLLERS if controllers is None else controllers,
            metadata_version=metadata_version,
            features=features or {},
            properties=settings,
            is_static=static,
        )
        self._wanted_count = controllers
        check_fake_brokers(fake_brokers)
        self._kept = None if directory is None else os.path.abspath(directory)
        self._wanted_ports = ports
        self._fake_brokers_count = fake_brokers
        self._user_on_event = on_event
        self._event_error: Exception | None = None
        self._change = threading.Condition()
        self._changes = 0
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._thread: LoopThread | None = None
        self._newest_thread: LoopThread | None = None
        """Also while it ends."""
        self._layout: Layout | None = None
        self._ports: ReservedPorts | None = None
        self._thrown_away: str | None = None
        self._members: Members | None = None
        self._client: AsyncClient | None = None
        self._groups: Groups | None = None
        self._fake_brokers: list[FakeBroker] = []
        self._broker_tasks: list[asyncio.Task[None]] = []

    # ---- from start to end

    def __enter__(self) -> Self:
        return self.start() if self._thread is None else self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.stop()
        else:
            # What went wrong in the block is what has to be seen.
            self._close()

    def start(self) -> Self:
        """Make or open the files, start all controllers, and return when one is active and the brokers are unfenced.

        Errors: MetashellError and OSError for what keeps a controller from starting; nothing is left then.
        """
        self._refuse_own()
        with self._lock:
            if self._thread is not None:
                raise QuorumError("the quorum runs already")
            atexit.register(self._at_exit)
            try:
                self._start()
            except BaseException:
                self._close()
                raise
        return self

    def _start(self) -> None:
        from metashell.quorum.embedded.members import Members

        directory = self._kept
        if directory is None:
            directory = self._thrown_away = tempfile.mkdtemp(prefix=PREFIX)
        layout = self._layout = self._open_layout(directory)
        self._thread = self._newest_thread = LoopThread("embedded quorum")
        members = self._members = Members(layout, self._stepped, self._on_event)
        self._run(members.start_all(), "all controllers", START_S)
        self.wait_for_leader(START_S)
        # The first records of a new cluster say its features, which answers depend on.
        self.wait_for(lambda image: image.features.metadata_version is not None, START_S)
        if self._fake_brokers_count:
            self._run(self._start_brokers(), "fake brokers", START_S)
            self._wait("fake brokers", lambda: all(broker.is_unfenced for broker in self._fake_brokers), START_S)
        if is_wanted(layout.places[0].properties):
            self._start_groups(layout)

    def _open_layout(self, directory: str) -> Layout:
        found = read_layout(directory, self._options.properties)
        if found is not None:
            ports = [place.port for place in found.places]
            if self._wanted_count not in (None, len(ports)):
                raise PathError(f"{directory}: its quorum has {counted(len(ports), 'controller')}", directory)
            if self._wanted_ports is not None and list(self._wanted_ports) != ports:
                raise PathError(f"{directory}: its quorum has the ports {', '.join(map(str, ports))}, which cannot be changed", directory)
            check_made_with(found, self._options)
            self._ports = reserve_these(ports)
            return found
        wanted, count = self._wanted_ports, self._options.controllers
        if wanted is not None and len(wanted) != count:
            raise UsageError(f"{len(wanted)} ports for {count} controllers", str(len(wanted)))
        reserved = self._ports = reserve(count) if wanted is None else reserve_these(wanted)
        os.makedirs(directory, exist_ok=True)
        return make_layout(directory, self._options, reserved.numbers, is_kept=self._kept is not None)

    def stop(self) -> None:
        """Stop everything; nothing where nothing runs. Errors: QuorumError for a controller that had ended by itself."""
        members = self._members
        self._close()
        if (failure := self._failure_of(members)) is not None:
            raise failure

    def _close(self) -> None:
        """Leave nothing behind, whatever there is. Errors: QuorumError in the quorum's own thread; nothing is changed then."""
        self._refuse_own()
        with self._lock:
            thread, members, self._thread = self._thread, self._members, None
            try:
                if thread is not None:
                    try:
                        thread.run(self._end(members), STOP_S)
                    finally:
                        thread.close()
            finally:
                if self._ports is not None:
                    self._ports.close()
                if self._thrown_away is not None:
                    shutil.rmtree(self._thrown_away, ignore_errors=True)
                self._ports = self._thrown_away = self._members = self._client = self._groups = None
                self._fake_brokers.clear()
                atexit.unregister(self._at_exit)
        self._changed()

    async def _end(self, members: Members | None) -> None:
        for task in self._broker_tasks:
            task.cancel()
        self._broker_tasks.clear()
        if self._groups is not None:
            await self._groups.close()
        if self._client is not None:
            await self._client.close()
        if members is not None:
            await members.kill_all()

    def _refuse_own(self) -> None:
        """Errors: QuorumError in the quorum's own thread. It must not wait for the lock either, whose holder may wait for this thread."""
        if self._newest_thread is not None:
            self._newest_thread.refuse_own()

    def _at_exit(self) -> None:
        # A child that was forked has neither the thread nor the right to the files.
        if os.getpid() == self._pid:
            self._close()

    # ---- what it is

    @property
    def bootstrap_controllers(self) -> str:
        """`localhost:PORT,...` of all controllers, running or not: for --bootstrap-controller and controller.quorum.bootstrap.servers."""
        return self._known_layout().bootstrap_controllers

    @property
    def has_groups(self) -> bool:
        """Whether clients can form groups."""
        return self._groups is not None

    @property
    def bootstrap_servers(self) -> str:
        """`localhost:PORT` of the group server, for clients of groups. Errors: QuorumError where there is none."""
        if self._groups is None:
            raise QuorumError(f"no group coordinator runs ({COORDINATOR}={EMBEDDED} starts one)")
        return str(self._groups.address)

    @property
    def directory(self) -> str:
        """The folder of its files."""
        return self._known_layout().directory

    @property
    def cluster_id(self) -> str:
        """The id of the cluster, as text."""
        return self._known_layout().cluster_id

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """The ids of all controllers, running or not."""
        return tuple(place.id for place in self._known_layout().places)

    @property
    def running_ids(self) -> tuple[int, ...]:
        """The ids of those that run."""
        members = self._members
        return () if members is None else tuple(sorted(set(members.running) - set(members.failures)))

    @property
    def leader_id(self) -> int | None:
        """The id of the active controller, None while there is none."""
        members = self._members
        return None if members is None else members.leader_id

    @property
    def image(self) -> MetadataImage:
        """The newest committed metadata. It is a value: what is committed later does not change it."""
        members = self._members
        return EMPTY_IMAGE if members is None else members.image

    @property
    def failure(self) -> QuorumError | None:
        """The error that ended a controller, None where all run; cleared by a restart."""
        return self._failure_of(self._members)

    def _failure_of(self, members: Members | None) -> QuorumError | None:
        errors = {} if members is None else members.failures
        found = [(f"controller {id} ended", error) for id, error in sorted(errors.items())]
        if self._event_error is not None:
            found.append(("on_event raised", self._event_error))
        if not found:
            return None
        what, cause = found[0]
        failure = QuorumError(f"{what}: {cause}")
        failure.__cause__ = cause
        return failure

    def _known_layout(self) -> Layout:
        if self._layout is None:
            raise QuorumError("the quorum was not started")
        return self._layout

    # ---- what is done with it

    def kill(self, id: int) -> None:
        """End a controller as `kill -9` would: the others are not told, and no file is closed properly."""
        self._run(self._running_members().kill(id), f"the end of controller {id}")

    def restart(self, id: int) -> None:
        """Start a controller that was killed or failed; one that runs leaves gracefully first."""
        self._run(self._restart(id), f"controller {id}", START_S)

    async def _restart(self, id: int) -> None:
        members = self._running_members()
        await members.stop(id)
        await members.start(id)

    def wait_for_leader(self, timeout_s: float = WAIT_S) -> int:
        """The id of the active controller, as soon as there is one. Errors: QuorumError."""
        self._wait("an active controller", lambda: self.leader_id is not None, timeout_s)
        leader_id = self.leader_id
        return self.wait_for_leader(timeout_s) if leader_id is None else leader_id

    def wait_for(self, predicate: Callable[[MetadataImage], object], timeout_s: float = WAIT_S) -> MetadataImage:
        """The first committed image for which `predicate`, called in this thread, is true. Errors: QuorumError."""
        found: list[MetadataImage] = []

        def holds() -> bool:
            image = self.image
            if predicate(image):
                found.append(image)
            return bool(found)

        self._wait("what was waited for", holds, timeout_s)
        return found[0]

    def request(self, message: Any, timeout_s: float = WAIT_S) -> Any:
        """Send a request of `metashell.codec.messages` to the active controller and return its answer, whatever error codes that has.

        While there is no active controller, or another one, or when the connection breaks, it is asked again; so it may have been carried
        out before, and a topic that was just made may be said to exist already. Errors: QuorumError; EncodeError.
        """
        from metashell.quorum.embedded.fake_brokers import request_active_controller

        self._running_members()
        what = f"{type(message).__name__}: an answer of an active controller"
        return self._run(request_active_controller(self._connected(), self._active_address, message), what, timeout_s)

    def create_topic(self, name: str, partitions: int = 1, replication_factor: int = 1, configs: Mapping[str, str] | None = None) -> bytes:
        """Make a topic, and return its id. It needs brokers. Errors: RefusedError, with Kafka's code and message; QuorumError."""
        from metashell.quorum.embedded.fake_brokers import topic_id_of, topic_request

        return topic_id_of(self.request(topic_request(name, partitions, replication_factor, configs, WAIT_S)).topics[0])

    # ---- between the threads

    def _on_event(self, id: int, line: str) -> None:
        """Pass an event on; an exception of the caller's function must not end a controller."""
        try:
            self._user_on_event(id, line)
        except Exception as error:
            self._event_error = error

    def _stepped(self) -> None:
        """Something may have changed; called on the loop after each step of a controller."""
        if self._groups is not None:
            self._groups.look()
        self._changed()

    def _changed(self) -> None:
        """As `_stepped`, from any thread."""
        with self._change:
            self._changes += 1
            self._change.notify_all()

    def _wait(self, what: str, holds: Callable[[], bool], timeout_s: float) -> None:
        self._refuse_own()
        ends_at = time.monotonic() + timeout_s
        while True:
            seen = self._changes
            if holds():
                return
            if (failure := self.failure) is not None:
                raise failure
            self._running_members()
            if not self._changes_from(seen, ends_at - time.monotonic()):
                raise timed_out(what, timeout_s)

    def _changes_from(self, seen: int, limit_s: float) -> bool:
        """Wait until something has changed; whether it has in time."""
        with self._change:
            return self._change.wait_for(lambda: self._changes != seen, max(0.0, limit_s))

    def _run(self, work: Any, what: str, timeout_s: float = STOP_S) -> Any:
        """Run a coroutine on the quorum's thread and return its result. Errors: QuorumError after the timeout; those of the coroutine."""
        thread = self._thread
        if thread is None:
            work.close()
            raise QuorumError("the quorum is not running")
        try:
            return thread.run(work, timeout_s)
        except TimeoutError:
            raise self.failure or timed_out(what, timeout_s) from None

    def _running_members(self) -> Members:
        if self._members is None:
            raise QuorumError("the quorum is not running")
        return self._members

    def _connected(self) -> AsyncClient:
        if self._client is None:
            from metashell.net.client import AsyncClient

            security = security_of(self._known_layout().places[0].properties)
            self._client = AsyncClient((), client_id="embedded-quorum", attempts_max=1, security=security)
        return self._client

    def _active_address(self) -> Address | None:

        leader_id = self.leader_id
        port = next((place.port for place in self._known_layout().places if place.id == leader_id), None)
        return None if port is None else Address(HOST, port)

    def _start_groups(self, layout: Layout) -> None:
        from metashell.quorum.embedded.members import QUICK_GROUPS, Groups

        properties = {**QUICK_GROUPS, **layout.places[0].properties}

        async def begin() -> None:
            members = self._running_members()
            groups = await Groups.of_quorum(
                properties,
                layout.cluster_id,
                lambda: self.image,
                self._active_address,
                self._connected(),
                self._changed,
                self._on_event,
                lambda: members.authority,
                config_of(layout.places[0].properties).metadata_log_directory,
                is_kept=self._kept is not None,
            )
            self._groups = groups
            await groups.open()

        self._run(begin(), "the group coordinator", START_S)
        self._wait("the group coordinator", lambda: self._groups is not None and self._groups.is_serving, START_S)

    async def _start_brokers(self) -> None:
        import asyncio

        from metashell.quorum.embedded.fake_brokers import FIRST_ID, FakeBroker

        cluster_id = self._known_layout().cluster_id
        for id in range(FIRST_ID, FIRST_ID + self._fake_brokers_count):
            broker = FakeBroker(id, cluster_id, self._active_address, self._connected(), self._changed)
            self._fake_brokers.append(broker)
            self._broker_tasks.append(asyncio.ensure_future(broker.run()))


def _text(value: object) -> str:
    """A setting as properties have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
