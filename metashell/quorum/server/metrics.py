"""Metrics of a controller, under the names that Kafka's metrics have in Prometheus.

The names are those that the rules for KRaft of Prometheus' JMX exporter make of Kafka's MBeans. ActiveControllerCount of
`kafka.controller:type=KafkaController` is `kafka_controller_kafkacontroller_activecontrollercount`, and `current-leader` of
`kafka.server:type=raft-metrics` is `kafka_server_raft_metrics_current_leader`. What Kafka does not count is `metashell_...`.
Nothing here needs a library; `endpoint` renders it.

`PartitionCounts` knows how many topics and partitions there are, how many without a leader, and how many led by another than the preferred
replica. A million partitions are not walked for each question. What is replayed notes the partitions that it touches; they are looked up in
the stable image when somebody asks, and only those. Where nobody asks for long, or a snapshot took the place of everything, all are counted
anew, once. Either way in steps, so that the loop is not held: on a busy machine a million partitions took 4 s in pieces of 2 to 8 ms,
after that 10 000 changes 40 ms, and a question when nothing had changed some microseconds.

Source: org.apache.kafka.controller.metrics.QuorumControllerMetrics, ControllerMetadataMetrics, ControllerMetadataMetricsPublisher;
MetadataLoaderMetrics, SnapshotEmitterMetrics."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from metashell.codec.error_codes import REQUEST_TIMED_OUT, error_text
from metashell.metadata.checks.partitions import is_leaderless, is_unpreferred
from metashell.metadata.image import MetadataImage, PartitionRegistration
from metashell.metadata.image.provenance import VersionedRecord
from metashell.quorum.controller.authorizer import APIS
from metashell.quorum.controller.controller import HEARTBEAT_KEY
from metashell.quorum.server.event_queue import QUANTILES, Kind, TimeWindow

if TYPE_CHECKING:
    from metashell.metadata.image import BrokerRegistration
    from metashell.quorum.controller import Request
    from metashell.quorum.server.controller_server import ControllerServer


STEP_S: Final = 0.002
FOLLOW_S: Final = 1.0
"""So long a question waits for the counts of partitions at most; then it gets the last ones."""
FENCED, IN_SHUTDOWN, ACTIVE = 10, 20, 30
"""The values of BrokerRegistrationState."""
RECOVERING: Final = 1
_CONTROLLER: Final = "kafka_controller_kafkacontroller_"
_EVENTS: Final = "kafka_controller_controllereventmanager_"
_RAFT: Final = "kafka_server_raft_metrics_"
_LOADER: Final = "kafka_server_metadataloader_"
_EMITTER: Final = "kafka_server_snapshotemitter_"

Labels = Mapping[str, str]


class Family(NamedTuple):
    """One metric: samples by labels. Shape: of a summary, `samples` are its quantiles, `total_count` and `total` what they are of."""

    name: str
    kind: Literal["gauge", "counter", "summary"]
    help: str
    samples: Sequence[tuple[Labels, float]]
    total_count: int = 0
    total: float = 0.0


def gauge(name: str, value: float, help: str) -> Family:
    return Family(name, "gauge", help, [({}, value)])


def counter(name: str, value: float, help: str) -> Family:
    return Family(name, "counter", help, [({}, value)])


class Metrics:
    """The metrics of one started controller, read from it and from the hooks of its parts."""

    def __init__(self, server: ControllerServer) -> None:
        loop = asyncio.get_running_loop()
        self._server = server
        self._clock: Callable[[], float] = loop.time
        self._started_s = loop.time()
        self._waited = TimeWindow(loop.time)
        self._worked = TimeWindow(loop.time)
        self._decided: Counter[tuple[int, int]] = Counter()
        self._unclean = 0
        self._loads = server.machine.loads
        self._snapshots = 0
        self._snapshot_s = loop.time()
        self._counts = PartitionCounts(lambda: server.machine.controller.stable_offset)
        self._following: Iterator[None] | None = None
        self._lock = asyncio.Lock()
        machine = server.machine
        machine.queue.on_done = self._on_done
        machine.on_decided = self._on_decided
        machine.on_replayed = self._on_replayed
        self._end = server.watch(self._look)

    def close(self) -> None:
        """Stop measuring."""
        machine = self._server.machine
        machine.queue.on_done = machine.on_decided = machine.on_replayed = None
        self._end()

    # ---- what it is told

    def _on_done(self, kind: Kind, waited_s: float, worked_s: float) -> None:
        if kind is not Kind.TASK:
            # As in Kafka: what a controller asks of itself was not waited for by anybody.
            self._waited.note(waited_s)
        self._worked.note(worked_s)

    def _on_decided(self, request: Request, code: int) -> None:
        self._decided[request.api_key, code] += 1

    def _on_replayed(self, records: Sequence[VersionedRecord], base_offset: int) -> None:
        self._counts.note(records, base_offset)
        for record, _ in records:
            if type(record).__name__ == "PartitionChangeRecord" and record.leader_recovery_state == RECOVERING:
                self._unclean += 1

    def _look(self) -> None:
        server = self._server
        if server.machine.loads != self._loads:
            self._loads = server.machine.loads
            self._counts.reset()
        made = server.replica.feed.snapshots_made
        if made != self._snapshots:
            self._snapshots, self._snapshot_s = made, self._clock()

    # ---- what it answers

    async def follow(self) -> None:
        """Bring the counts of partitions up to date, as far as there is time, in slices between which other work runs."""
        async with self._lock:
            ends_at = self._clock() + FOLLOW_S
            controller = self._server.machine.controller
            if self._following is None:
                self._following = self._counts.follow(controller.image, controller.stable_offset)
            while self._follow_slice():
                if self._clock() >= ends_at:
                    return
                await asyncio.sleep(0)
            self._following = None

    def _follow_slice(self) -> bool:
        """Take steps for a slice; whether there are more."""
        following = self._following
        assert following is not None
        ends_at = self._clock() + STEP_S
        return any(self._clock() >= ends_at for _ in following)

    def families(self) -> Iterator[Family]:
        """All metrics, as of now."""
        yield from self._controller()
        yield from self._partitions()
        yield from self._brokers()
        yield from self._events()
        yield from self._raft()
        yield from self._image()
        yield from self._own()

    def _controller(self) -> Iterator[Family]:
        machine = self._server.machine
        state = machine.controller.state
        is_active = machine.is_active
        applied = state.next_write_offset - 1 if is_active else state.committed_offset
        lag = 0 if is_active or machine.applied_ms < 0 else max(0, machine.wall_ms() - machine.applied_ms)
        yield gauge(_CONTROLLER + "activecontrollercount", int(is_active), "1 on the active controller")
        yield gauge(_CONTROLLER + "lastappliedrecordoffset", applied, "the last offset that was replayed")
        yield gauge(_CONTROLLER + "lastappliedrecordtimestamp", machine.applied_ms, "when that was written, in Unix ms")
        yield gauge(_CONTROLLER + "lastappliedrecordlagms", lag, "how old that is; 0 on the active controller")
        yield gauge(_CONTROLLER + "lastcommittedrecordoffset", state.committed_offset, "the last offset that is known to be committed")
        yield gauge(_CONTROLLER + "newactivecontrollerscount", machine.leaders, "how often a leader was announced")
        yield gauge(_CONTROLLER + "metadataerrorcount", machine.errors, "decisions and tasks that failed by a mistake of ours")
        late = self._decided[HEARTBEAT_KEY, REQUEST_TIMED_OUT]
        yield gauge(_CONTROLLER + "timedoutbrokerheartbeatcount", late, "heartbeats that were decided too late")
        metrics = self._server.node.metrics()
        yield gauge(
            _CONTROLLER + "ignoredstaticvoters", float(metrics["ignored-static-voters"]), "1 if controller.quorum.voters is ignored"
        )

    def _partitions(self) -> Iterator[Family]:
        counts = self._counts
        yield gauge("metashell_counted_offset", counts.offset, "the offset whose topics and partitions are counted; -1 for none so far")
        if counts.offset >= 0:
            yield gauge(_CONTROLLER + "globaltopiccount", counts.topics, "topics")
            yield gauge(_CONTROLLER + "globalpartitioncount", counts.partitions, "partitions")
            yield gauge(_CONTROLLER + "offlinepartitionscount", counts.offline, "partitions without a leader")
            yield gauge(
                _CONTROLLER + "preferredreplicaimbalancecount", counts.unpreferred, "partitions that another than their first replica leads"
            )

    def _brokers(self) -> Iterator[Family]:
        machine = self._server.machine
        state = machine.controller.state
        brokers = machine.controller.image.cluster.brokers.values()
        states = {broker.id: registration_state(broker) for broker in brokers}
        found = Counter(states.values())
        yield gauge(_CONTROLLER + "activebrokercount", found[ACTIVE] + found[IN_SHUTDOWN], "brokers that are not fenced")
        yield gauge(_CONTROLLER + "fencedbrokercount", found[FENCED], "fenced brokers")
        yield gauge(_CONTROLLER + "controlledshutdownbrokercount", found[IN_SHUTDOWN], "brokers in controlled shutdown")
        name = _CONTROLLER + "brokerregistrationstate"
        samples: list[tuple[Labels, float]] = [({"broker": str(id)}, value) for id, value in sorted(states.items())]
        yield Family(name, "gauge", "10 fenced, 20 in controlled shutdown, 30 active", samples)
        if not machine.is_active:
            return
        now_ms, session_ms = machine.now_ms(), state.settings.session_timeout_ms
        silent: list[tuple[Labels, float]] = []
        for broker in brokers:
            at_ms = state.heartbeats.contacted_ms(broker.id, broker.epoch)
            if at_ms is not None:
                silent.append(({"broker": str(broker.id)}, min(max(0, now_ms - at_ms), session_ms)))
        yield Family(_CONTROLLER + "timesincelastheartbeatreceivedms", "gauge", "ms since a broker was heard of", silent)

    def _events(self) -> Iterator[Family]:
        queue = self._server.machine.queue
        yield gauge(_CONTROLLER + "eventqueueoperationsstartedcount", queue.started, "events of the controller that began")
        yield gauge(_CONTROLLER + "eventqueueoperationstimedoutcount", self._server.machine.timed_out, "requests whose time was over")
        for name, window, help in (
            ("eventqueuetimems", self._waited, "how long events waited, in ms"),
            ("eventqueueprocessingtimems", self._worked, "how long events took, in ms"),
        ):
            samples: list[tuple[Labels, float]] = [
                ({"quantile": str(quantile)}, round(seconds * 1000, 3))
                for quantile, seconds in zip(QUANTILES, window.quantiles(), strict=True)
            ]
            yield Family(_EVENTS + name, "summary", help, samples, window.count, window.sum_s * 1000)
        yield counter("kafka_controller_controllerstats_uncleanleaderelections", self._unclean, "unclean elections of partition leaders")

    def _raft(self) -> Iterator[Family]:
        for name, value in self._server.node.metrics().items():
            metric = _RAFT + name.replace("-", "_")
            if isinstance(value, str):
                label = "state" if name == "current-state" else "directory_id"
                yield Family(f"{metric}_info", "gauge", f"{name} of raft", [({label: value}, 1)])
            elif name.endswith("-total"):
                yield counter(metric.removesuffix("_total"), value, f"{name} of raft")
            elif name not in ("ignored-static-voters", "complaints"):
                yield gauge(metric, value, f"{name} of raft")

    def _image(self) -> Iterator[Family]:
        server = self._server
        image = server.image
        yield gauge(_LOADER + "currentmetadataversion", image.features.metadata_version or 0, "the level of metadata.version")
        yield gauge(_LOADER + "currentcontrollerid", server.leader_id, "who leads the quorum, -1 for nobody known")
        yield gauge(_LOADER + "handleloadsnapshotcount", server.machine.loads, "snapshots that were loaded")
        levels: list[tuple[Labels, float]] = [({"featureName": name}, level) for name, level in sorted(image.features.levels.items())]
        yield Family(_LOADER + "finalizedlevel", "gauge", "finalized levels of features", levels)
        log = server.log
        ids = log.snapshots()
        size = log.snapshot_size(ids[-1]) if ids else 0
        yield gauge(_EMITTER + "latestsnapshotgeneratedbytes", size, "bytes of the newest snapshot")
        age_ms = (self._clock() - self._snapshot_s) * 1000
        yield gauge(_EMITTER + "latestsnapshotgeneratedagems", round(age_ms), "ms since a snapshot was made here, or since the start")

    def _own(self) -> Iterator[Family]:
        server = self._server
        held, machine, replica = server.replica.driver.held, server.machine, server.replica
        yield gauge("metashell_loop_longest_hold_seconds", held.longest_s, "the longest time in which one piece of work held the loop")
        yield gauge("metashell_loop_longest_cpu_seconds", held.longest_cpu_s, "the most processor time of one piece of work on the loop")
        yield counter("metashell_loop_long_holds", held.long_count, "pieces of work that held the loop for 50 ms and more")
        yield gauge("metashell_answers_waiting", machine.waiting, "answers that wait for their commit")
        yield gauge("metashell_events_waiting", len(machine.queue), "events that have not begun")
        yield counter("metashell_claims", machine.claims, "how often this controller became the active one")
        decided: list[tuple[Labels, float]] = [
            ({"api": APIS[key].name, "error": error_text(code).partition(" ")[0]}, count)
            for (key, code), count in sorted(self._decided.items())
        ]
        yield Family("metashell_decisions", "counter", "requests that were decided, by API and the first error of the answer", decided)
        listeners = replica.inbound.listeners
        sizes: list[tuple[Labels, float]] = [({"listener": name}, listener.held_size) for name, listener in listeners.items()]
        yield Family("metashell_listener_held_bytes", "gauge", "bytes that a listener holds for its connections", sizes)
        counted = {name: asdict(listener.counters) for name, listener in listeners.items()}
        for key in sorted({key for one in counted.values() for key in one}):
            samples: list[tuple[Labels, float]] = [({"listener": name}, one[key]) for name, one in counted.items()]
            is_gauge = key == "open"
            yield Family(f"metashell_listener_{key}", "gauge" if is_gauge else "counter", f"{key.replace('_', ' ')}, by listener", samples)
        yield counter("metashell_links_opened", replica.links.opened, "connections to other controllers that were opened")
        yield counter("metashell_link_failures", replica.links.failures, "requests to other controllers without an answer")
        yield counter("metashell_peer_complaints", server.node.complaints, "what peers sent and must not send")
        yield gauge("metashell_uptime_seconds", self._clock() - self._started_s, "how long this controller runs")


def registration_state(broker: BrokerRegistration) -> int:
    """A broker as BrokerRegistrationState has it."""
    if broker.fenced:
        return FENCED
    return IN_SHUTDOWN if broker.in_controlled_shutdown else ACTIVE


TOUCHED_MAX: Final = 200_000
"""Partitions that are noted at most until somebody asks; beyond that, all are counted anew."""
STEP: Final = 500
"""Partitions of a step that counts all."""
LOOKED_UP: Final = 100
"""Partitions that are looked up in a step."""
_NONE: Final = -1


class PartitionCounts:
    """The counts as of the last `follow` that was run to its end.

    Shape: `offline` and `unpreferred` are kept by topic, so that one that is removed takes its own along. `offset` is -1 before the first
    count, else the last one that counts. `stable_offset` gives the last offset of the stable image.
    """

    def __init__(self, stable_offset: Callable[[], int]) -> None:
        self.topics = 0
        self.partitions = 0
        self.offset = -1
        self._stable_offset = stable_offset
        self._total = 0
        self._sizes: dict[bytes, int] = {}
        self._offline: dict[bytes, set[int]] = {}
        self._unpreferred: dict[bytes, set[int]] = {}
        self._touched: deque[tuple[int, bytes, int, bool]] = deque()
        self._is_whole = False

    @property
    def offline(self) -> int:
        """Partitions without a leader."""
        return sum(map(len, self._offline.values()))

    @property
    def unpreferred(self) -> int:
        """Partitions not led by their first replica; those without a leader are among them, as in Kafka."""
        return sum(map(len, self._unpreferred.values()))

    def note(self, records: Sequence[VersionedRecord], base_offset: int) -> None:
        """Note replayed records; nothing is counted yet."""
        touched = self._touched
        if not self._is_whole:
            # Whoever counts all begins with the stable image: what is replayed and not stable comes on top of it.
            stable_offset = self._stable_offset()
            while touched and touched[0][0] <= stable_offset:
                touched.popleft()
        for offset, (record, _) in enumerate(records, base_offset):
            kind = type(record).__name__
            if kind == "PartitionChangeRecord":
                touched.append((offset, record.topic_id, record.partition_id, False))
            elif kind == "PartitionRecord":
                touched.append((offset, record.topic_id, record.partition_id, True))
            elif kind == "RemoveTopicRecord":
                touched.append((offset, record.topic_id, _NONE, False))
        if len(touched) > TOUCHED_MAX:
            self._is_whole = False

    def reset(self) -> None:
        """Count all anew: a snapshot replaced everything."""
        self._touched.clear()
        self._is_whole = False

    def follow(self, image: MetadataImage, stable_offset: int) -> Iterator[None]:
        """Bring the counts to the stable image, which has all up to `stable_offset`; in steps, to be taken to the end."""
        yield from self._look_up(image, stable_offset) if self._is_whole else self._count_all(image)
        if self._is_whole:
            self.topics = len(image.topics)
            self.partitions = self._total
            self.offset = stable_offset

    def _count_all(self, image: MetadataImage) -> Iterator[None]:
        # From here on all that is replayed is noted; it comes on top of this image, whatever is committed meanwhile.
        self._is_whole = True
        self._sizes, self._offline, self._unpreferred = {}, {}, {}
        self._total = 0
        room = STEP
        for topic in image.topics:
            count = 0
            for number, partition in topic.partitions.items():
                count += 1
                self._put(topic.id, number, partition)
                room -= 1
                if room <= 0:
                    room = STEP
                    yield
                    if not self._is_whole:
                        return
            self._sizes[topic.id] = count
            self._total += count

    def _look_up(self, image: MetadataImage, stable_offset: int) -> Iterator[None]:
        """Count the touched partitions that are stable; changes that were aborted, or of a lost leader, change no count."""
        touched, by_id = self._touched, image.topics.by_id
        while touched and touched[0][0] <= stable_offset:
            grown: set[bytes] = set()
            for _ in range(LOOKED_UP):
                if not touched or touched[0][0] > stable_offset:
                    break
                _, topic_id, number, is_new = touched.popleft()
                topic = by_id.get(topic_id)
                if topic is None:
                    self._total -= self._sizes.pop(topic_id, 0)
                    self._offline.pop(topic_id, None)
                    self._unpreferred.pop(topic_id, None)
                elif number != _NONE and topic.has_partition(number):
                    self._put(topic_id, number, topic.partitions[number])
                    if is_new:
                        grown.add(topic_id)
            for topic_id in grown:
                count = by_id[topic_id].partition_count
                self._total += count - self._sizes.get(topic_id, 0)
                self._sizes[topic_id] = count
            yield

    def _put(self, topic_id: bytes, number: int, partition: PartitionRegistration) -> None:
        _keep(self._offline, topic_id, number, is_leaderless(partition))
        _keep(self._unpreferred, topic_id, number, is_unpreferred(partition))


def _keep(kept: dict[bytes, set[int]], topic_id: bytes, number: int, belongs: bool) -> None:
    numbers = kept.get(topic_id)
    if belongs:
        if numbers is None:
            numbers = kept[topic_id] = set()
        numbers.add(number)
    elif numbers is not None:
        numbers.discard(number)
        if not numbers:
            del kept[topic_id]
