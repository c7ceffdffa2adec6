"""A broker: its lives, its lease, the metadata that it has read, and its replicas.

What it does is what controller.md 36 says of Kafka's brokers. `lease_ms` makes it one of KIP-343: who was not answered a heartbeat for
so long, counted from when it was sent, serves nobody until the next answer.
Source: kafka.server.BrokerLifecycleManager, ReplicaManager, AlterPartitionManager.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from metashell.codec import messages
from metashell.codec.error_codes import NONE, NOT_CONTROLLER
from metashell.metadata.image import MetadataImage
from tests.simulation.brokers import leading
from tests.simulation.brokers.quorum import CLUSTER_ID, HEARTBEAT, Controller
from tests.simulation.brokers.replica import NOBODY, Fetched, Key, Replica, applied, kept_by_power_loss
from tests.simulation.brokers.world import Call, Node
from tests.simulation.controller.calls import register

if TYPE_CHECKING:
    from tests.simulation.brokers.cluster import Cluster

REGISTRATION: Final = 62
NO_EPOCH: Final = -1
QUICK_MS: Final = 10


class State(Enum):
    """Where a broker is in its life, as the broker itself sees it."""

    STARTING = "starting"
    RECOVERY = "recovery"
    RUNNING = "running"
    LEAVING = "pending controlled shutdown"


class Broker(Node):
    """One broker over all its lives. `applied` is how many batches of the metadata log it has read."""

    def __init__(self, cluster: Cluster, id: int) -> None:
        super().__init__(cluster.world, f"broker-{id}")
        self.cluster = cluster
        self.id = id
        self.replicas: dict[Key, Replica] = {}
        self.clean_epoch = NO_EPOCH
        self.incarnations: list[bytes] = []
        self.applied = 0
        self.is_up = False
        self._forget()

    def _forget(self) -> None:
        self.state = State.STARTING
        self.epoch = NO_EPOCH
        self.is_ready = False
        self.wants_rest = False
        self.answered_ms = self.world.now
        self.controller: Controller | None = None
        self.controller_epoch = -1
        self.is_beating = False
        self.is_due_now = False
        self.asked_in_flight = False
        self._fetching: set[int] = set()
        self._is_renewing = False
        self._beat_order = 0
        self._has_asked_to_leave = False

    # Its lives

    def start(self) -> None:
        """A new process over the old disks."""
        self.is_up = True
        self.life += 1
        self._forget()
        self._previous_epoch, self.clean_epoch = self.clean_epoch, NO_EPOCH
        self.incarnations.append(self.world.random.getrandbits(128).to_bytes(16, "big"))
        for replica in self.replicas.values():
            replica.forget()
        self.applied = 0
        self._is_hasty = self.world.chance(self.world.options.hasty_part)
        self.world.note(f"{self.name} starts")
        self._beat_after(0)
        self._fetch_metadata()
        self.after(self.world.about(self.world.options.flush_every), self._flush)

    def die(self, *, power: bool) -> None:
        """End without a word, and with the power that a machine had, lose what was not on disk."""
        self.world.note(f"{self.name} dies{' without power' if power else ''}")
        self.end_life()
        for replica in self.replicas.values():
            replica.waiting.clear()
            if power:
                before = replica.end
                replica.truncate(kept_by_power_loss(replica, self.world.random))
                if replica.end < before:
                    self.cluster.checks.lost(self, replica)

    def leave(self) -> None:
        """Ask for a controlled shutdown; from any state but running the process just ends in order."""
        if self.state is State.RUNNING:
            self.world.note(f"{self.name} wants to leave")
            self.state = State.LEAVING
            self._beat_now()
            self.after(self.world.options.session_timeout_ms * 4, self._end_in_order, "in vain")
        elif self.state is not State.LEAVING:
            self._end_in_order("at once")

    def _end_in_order(self, how: str) -> None:
        self.world.counts[f"shutdowns {how}"] += 1
        self.world.note(f"{self.name} ends in order, {how}")
        self.clean_epoch = self.epoch
        for replica in self.replicas.values():
            replica.waiting.clear()
            replica.flushed = replica.end
        self.end_life()
        self.world.at(self.world.about(self.world.options.down_ms), self.come_back)

    def come_back(self) -> None:
        if not self.is_up:
            self.start()

    def _flush(self) -> None:
        for replica in self.replicas.values():
            replica.flushed = replica.end
        self.after(self.world.about(self.world.options.flush_every), self._flush)

    @property
    def has_lease(self) -> bool:
        """Whether this broker may serve: today's Kafka always may."""
        lease = self.world.options.lease_ms
        return not lease or self.world.now <= self.answered_ms + lease

    @property
    def is_serving(self) -> bool:
        return self.state in (State.RUNNING, State.LEAVING) and self.has_lease and not self._is_renewing

    # Whom it asks

    def ask(self, key: int, version: int, body: Any, then: Callable[[Any], None]) -> None:
        """Ask whom it takes for the leader of the controllers; None comes back for no answer, or none that counts."""
        target = self.controller or self._somebody()
        call = Call(self, target, partial(self._answered, target, then), self.world.options.request_timeout_ms)
        call.send(target.take, key, version, body)

    def _somebody(self) -> Controller:
        controllers = self.cluster.quorum.controllers
        return controllers[self.world.random.randrange(len(controllers))]

    def _answered(self, target: Controller, then: Callable[[Any], None], told: Any) -> None:
        if told is None:
            if self.controller is target:
                self.controller = None
            then(None)
            return
        epoch, answer = told
        # Who knows of a later controller takes nothing from an earlier one: raft tells brokers leaders in the order of their epochs.
        if answer.error_code == NOT_CONTROLLER or epoch < self.controller_epoch:
            if self.controller is target:
                self.controller = None
            then(None)
            return
        then(answer)

    # Registration and heartbeats

    def _beat_now(self) -> None:
        if self.is_beating:
            self.is_due_now = True
        else:
            self._beat_after(0)

    def _beat_after(self, delay_ms: int) -> None:
        self._beat_order += 1
        self.after(delay_ms, self._beat, self._beat_order)

    def _beat(self, order: int) -> None:
        if order != self._beat_order or self.is_beating:
            return
        self.is_beating = True
        self.is_due_now = False
        if self.epoch == NO_EPOCH:
            self.ask(REGISTRATION, 4, register(self.id, CLUSTER_ID, self.incarnations[-1], self._previous_epoch), self._registered)
            return
        self.ask(HEARTBEAT, 2, self._heartbeat(), partial(self._beaten, self.world.now))

    def _heartbeat(self) -> messages.BrokerHeartbeatRequest:
        quorum = self.cluster.quorum
        return messages.BrokerHeartbeatRequest(
            broker_id=self.id,
            broker_epoch=self.epoch,
            current_metadata_offset=quorum.last_offset(self.applied) if self.applied else -1,
            want_fence=self.wants_rest or not (self.is_ready or self._is_hasty),
            want_shut_down=self.state is State.LEAVING,
            offline_log_dirs=(),
            cordoned_log_dirs=None,
        )

    def _registered(self, answer: Any) -> None:
        self.is_beating = False
        if answer is not None and answer.error_code == NONE:
            self.epoch = answer.broker_epoch
            self.world.counts["registrations"] += 1
            self._beat_after(0)
        else:
            if answer is not None:
                self.world.counts[f"registrations refused: {answer.error_code}"] += 1
            self._beat_after(self.world.options.heartbeat_interval_ms)

    def _beaten(self, sent_ms: int, answer: Any) -> None:
        self.is_beating = False
        interval = self.world.options.heartbeat_interval_ms
        if answer is None or answer.error_code != NONE:
            self._beat_after(0 if self.is_due_now else interval)
            return
        if not self.has_lease:
            self._renew()
        self.answered_ms = max(self.answered_ms, sent_ms)
        match self.state:
            case State.STARTING:
                if answer.is_caught_up:
                    self.state = State.RECOVERY
                    self.after(self.world.about(100), self._recovered)
                interval = QUICK_MS
            case State.RECOVERY:
                if self.is_ready and not answer.is_fenced:
                    self.world.note(f"{self.name} runs with epoch {self.epoch}")
                    self.state = State.RUNNING
                    self.wants_rest = False
            case State.RUNNING:
                pass
            case State.LEAVING:
                if answer.should_shut_down:
                    self._end_in_order("by heartbeat")
                    return
                if not self._has_asked_to_leave:
                    self._has_asked_to_leave = True
                    interval = interval // 8
        self._beat_after(0 if self.is_due_now else interval)

    def _recovered(self) -> None:
        """The logs are loaded: the broker can serve, and says so."""
        self.is_ready = True
        self._apply(self.cluster.quorum.images[self.applied - 1])
        self._beat_now()
        self._fetch_from_leaders()
        self.after(self.world.options.lag_ms // 2, self._look_at_isrs)

    def rest(self, for_ms: int) -> None:
        """Ask to be fenced for a while, as an operator may want."""
        if self.state is State.RUNNING:
            self.wants_rest = True
            self._beat_now()
            self.after(for_ms, self._rested)

    def _rested(self) -> None:
        self.wants_rest = False
        self._beat_now()

    # Metadata

    def _fetch_metadata(self) -> None:
        target = self.controller or self._somebody()
        call = Call(self, target, partial(self._fetched_metadata, target), self.world.options.request_timeout_ms + 500)
        call.send(target.fetch, self.applied)

    def _fetched_metadata(self, target: Controller, told: Any) -> None:
        if told is None:
            if self.controller is target:
                self.controller = None
            self.after(QUICK_MS, self._fetch_metadata)
            return
        (epoch, leader_id), batches = told
        if epoch < self.controller_epoch:
            self.controller = None
        else:
            self.controller_epoch = epoch
            leaders = [controller for controller in self.cluster.quorum.controllers if controller.id == leader_id]
            self.controller = leaders[0] if leaders else None
        if batches is None or self.controller is None:
            self.after(self.world.between(QUICK_MS, 5 * QUICK_MS), self._fetch_metadata)
            return
        self._read_to(batches)
        self._fetch_metadata()

    def _renew(self) -> None:
        """The lease was over for a while: others may lead. Nobody is served before the metadata of now is here."""
        self._is_renewing = True
        self.world.counts["leases renewed late"] += 1
        target = self.controller or self._somebody()
        Call(self, target, partial(self._renewed, target), self.world.options.request_timeout_ms).send(target.fetch_now)

    def _renewed(self, target: Controller, told: Any) -> None:
        if told is None or told[1] is None or told[0][0] < self.controller_epoch:
            if self.controller is target:
                self.controller = None
            self.after(QUICK_MS, self._renew)
            return
        self._read_to(told[1])
        self._is_renewing = False

    def _read_to(self, batches: int) -> None:
        if batches > self.applied:
            self.applied = batches
            if self.is_ready:
                self._apply(self.cluster.quorum.images[batches - 1])

    def image(self) -> MetadataImage | None:
        return self.cluster.quorum.images[self.applied - 1] if self.applied else None

    def _apply(self, image: MetadataImage) -> None:
        """Lead and follow what the metadata says."""
        for name in self.cluster.topic_names:
            topic = image.topics.by_name.get(name)
            if topic is None:
                continue
            for number, partition in topic.partitions.items():
                if self.id not in partition.replicas:
                    gone = self.replicas.pop((name, number), None)
                    if gone is not None:
                        gone.give_up()
                    continue
                key = (name, number)
                replica = self.replicas.get(key)
                if replica is None:
                    replica = self.replicas[key] = Replica(key)
                was_epoch = replica.epoch
                replica.apply(self.id, partition, self.world.now)
                if replica.is_leader and replica.epoch != was_epoch:
                    self.cluster.checks.leads(self, replica)
                if replica.is_leader:
                    leading.moved(self, replica)

    # As a follower

    def _fetch_from_leaders(self) -> None:
        """Ask every leader for what it has; the next round comes whether they answer or not."""
        wanted: dict[int, list[tuple[Key, int, int, int]]] = {}
        for key, replica in self.replicas.items():
            if not replica.is_leader and replica.leader not in (NOBODY, self.id):
                wanted.setdefault(replica.leader, []).append((key, replica.epoch, replica.end, replica.last_epoch))
        for leader_id, asked in wanted.items():
            if leader_id in self._fetching:
                continue
            self._fetching.add(leader_id)
            leader = self.cluster.brokers[leader_id]
            epochs = {key: epoch for key, epoch, _, _ in asked}
            call = Call(self, leader, partial(self._fetched, leader_id, epochs), self.world.options.request_timeout_ms // 2)
            call.send(leader.serve_follower, self.id, self.epoch, asked)
        every = self.world.options.fetch_every
        self.after(self.world.between(0.5 * every, 1.5 * every), self._fetch_from_leaders)

    def serve_follower(self, id: int, broker_epoch: int, asked: list[tuple[Key, int, int, int]], reply: Callable[[Any], None]) -> None:
        if self.is_serving:
            reply([(key, leading.give(self, id, broker_epoch, key, epoch, offset, last)) for key, epoch, offset, last in asked])

    def _fetched(self, leader_id: int, epochs: dict[Key, int], answers: list[tuple[Key, Fetched]] | None) -> None:
        self._fetching.discard(leader_id)
        for key, got in answers or ():
            replica = self.replicas.get(key)
            if replica is None or got.error or replica.is_leader or replica.epoch != epochs[key]:
                continue
            before = replica.end
            if applied(replica, got) and replica.end < before:
                self.cluster.checks.truncated(self, replica, before)

    # As a leader

    def _look_at_isrs(self) -> None:
        for replica in self.replicas.values():
            if replica.is_leader:
                leading.moved(self, replica)
        self.after(self.world.options.lag_ms // 4, self._look_at_isrs)
