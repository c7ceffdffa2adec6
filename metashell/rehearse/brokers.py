"""Models brokers: they register, send heartbeats, shut down in a controlled way, and die.

Why is not every heartbeat a request? A rehearsal of 1 000 brokers over an hour would send 1.8 million. So an undisturbed broker sends
none: its heartbeats are noted in bulk, right before the controller looks at them (`sync`). The cost of a rehearsal depends on the changes,
not on the number of brokers.
Source: KIP-631; kafka.server.BrokerLifecycleManager, org.apache.kafka.controller.BrokerHeartbeatManager.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.error_codes import DUPLICATE_BROKER_REGISTRATION, NONE, error_text
from metashell.codec.releases import CORDONED_DIRECTORIES_LEVEL, METADATA_VERSION
from metashell.metadata.image import BrokerRegistration
from metashell.quorum.controller.decision import FENCE, UNFENCE, new_uuid
from metashell.rehearse.outcome import Batch, BrokerSpan, BrokerState, Event, Refusal
from metashell.rehearse.quorum import Action, Clock, Quorum
from metashell.rehearse.steps import Assumptions

_REGISTRATION_KEY: Final = 62
_REGISTRATION_VERSION: Final = 4
_HEARTBEAT_KEY: Final = 63
_HEARTBEAT_VERSION: Final = 2
STARTING_BEAT_MS: Final = 10
LEAVING_BEAT_MS: Final = 50
_UNCLEAN: Final = -1
_PROCESSES: Final = frozenset({BrokerState.STARTING, BrokerState.FENCED, BrokerState.SERVING, BrokerState.SHUTTING_DOWN})


@dataclass(slots=True)
class ModelBroker:
    """One broker.

    Shape: `life` counts its processes, so that an action planned for one process does not run in the next; `epoch` is that of its
    registration, -1 while it has none. `was_clean` says whether its last process ended by a controlled shutdown. `away_ms` is the time
    when it stopped to follow its leaders. `failed` are failed log directories.
    """

    id: int
    registration: BrokerRegistration
    phase_ms: int
    state: BrokerState
    epoch: int
    was_clean: bool
    away_ms: int
    life: int = 0
    since_ms: int = 0
    failed: tuple[bytes, ...] = ()
    waiters: list[Action] = field(default_factory=list)

    @property
    def has_process(self) -> bool:
        return self.state in _PROCESSES


class Fleet:
    """All brokers.

    Shape: `living` are the brokers whose registered process is alive, whether fenced or not; `serving` those that are also unfenced;
    `silent` those that are dead while their session lasts; `joining` those just unfenced. `on_death(id, is_unknown)` is called when a
    broker stops serving; `is_unknown` says that the controller does not know it yet. `on_serving(id)` is called when a broker begins to
    follow its leaders.
    """

    def __init__(self, quorum: Quorum, assumptions: Assumptions, clock: Clock, chance: Random) -> None:
        self._quorum = quorum
        self._assumptions = assumptions
        self._clock = clock
        self._chance = chance
        self.interval_ms = quorum.settings.heartbeat_interval_ms
        self.brokers: dict[int, ModelBroker] = {}
        self.living: set[int] = set()
        self.serving: set[int] = set()
        self.silent: set[int] = set()
        self.joining: set[int] = set()
        self._fenced_ids = {id for id, broker in quorum.image.cluster.brokers.items() if broker.fenced}
        self._level = quorum.controller.state.level
        self.events: list[Event] = []
        self.spans: list[BrokerSpan] = []
        self.refusals: list[Refusal] = []
        self.on_death: Callable[[int, bool], None] = lambda id, is_unknown: None
        self.on_serving: Callable[[int], None] = lambda id: None
        for id, registration in sorted(quorum.image.cluster.brokers.items()):
            self.brokers[id] = self._found(registration)

    def _found(self, registration: BrokerRegistration) -> ModelBroker:
        """Add a broker of the image; a fenced one counts as dead."""
        id = registration.id
        phase_ms = self._chance.randrange(self.interval_ms)
        leaving = registration.in_controlled_shutdown
        broker = ModelBroker(id, registration, phase_ms, BrokerState.DEAD, registration.epoch, leaving, self._clock.now_ms)
        if registration.fenced:
            return broker
        self.living.add(id)
        self.serving.add(id)
        broker.state = BrokerState.SERVING
        if leaving:
            broker.state = BrokerState.SHUTTING_DOWN
            self._clock.at(phase_ms, lambda: self._beat_leaving(broker, 0, self.interval_ms))
        return broker

    def add_event(self, text: str, broker: int = -1) -> None:
        self.events.append(Event(max(0, self._clock.now_ms), text, broker))

    def _enter(self, broker: ModelBroker, state: BrokerState) -> None:
        now_ms = self._clock.now_ms
        if broker.state is not state:
            if now_ms > broker.since_ms:
                self.spans.append(BrokerSpan(broker.id, broker.state, broker.since_ms, now_ms))
            broker.state, broker.since_ms = state, now_ms

    def sync_if_any_is_silent(self) -> bool:
        """Run `sync` if a broker's session expires; return whether one did."""
        if self.silent:
            self.sync()
        return bool(self.silent)

    def sync(self) -> None:
        """Give the controller the time of each living broker's last heartbeat, and the offset that the broker had read."""
        heartbeats = self._quorum.controller.state.heartbeats
        now_ms, interval_ms = self._clock.now_ms, self.interval_ms
        for id in self.living:
            broker = self.brokers[id]
            last_ms = now_ms - (now_ms - broker.phase_ms) % interval_ms
            heartbeats.contact(id, broker.epoch, last_ms)
            beat = heartbeats.beat(id)
            if beat is not None:
                heartbeats.touch(id, beat.fenced, max(beat.metadata_offset, self._quorum.offset_at(last_ms)))

    def follow(self, batch: Batch) -> None:
        """Follow the records of a batch about brokers."""
        for record, _ in batch.records:
            kind = type(record).__name__
            if kind == "BrokerRegistrationChangeRecord":
                if record.fenced == FENCE:
                    self._fenced(record.broker_id)
                elif record.fenced == UNFENCE:
                    self._unfenced(record.broker_id)
            elif kind == "RegisterBrokerRecord":
                self.silent.discard(record.broker_id)
                self.serving.discard(record.broker_id)
                self._fenced_ids.add(record.broker_id)
            elif kind == "FeatureLevelRecord" and record.name == METADATA_VERSION:
                self._upgraded(record.feature_level)
            elif kind == "UnregisterBrokerRecord":
                self._unregistered(record.broker_id)

    def _upgraded(self, level: int) -> None:
        if level >= CORDONED_DIRECTORIES_LEVEL > self._level:
            for broker in map(self.brokers.__getitem__, sorted(self.serving)):
                self._clock.at(self._next_beat_ms(broker), partial(self._beat_upgraded, broker, broker.life))
        self._level = level

    def _fenced(self, id: int) -> None:
        broker = self.brokers[id]
        self.silent.discard(id)
        self.serving.discard(id)
        if id in self._fenced_ids:
            self.add_event(f"the session of broker {id} ends: the controller fences it once more, which changes nothing", id)
            return
        self._fenced_ids.add(id)
        self.add_event(f"the controller fences broker {id}", id)
        self.on_death(id, False)
        if broker.state is BrokerState.SERVING:
            # The broker lives, so its next heartbeat asks to be unfenced.
            self._enter(broker, BrokerState.FENCED)
            broker.away_ms = self._clock.now_ms
            life = broker.life
            self._clock.at(self._next_beat_ms(broker), lambda: self._beat_ready(broker, life))

    def _unfenced(self, id: int) -> None:
        broker = self.brokers[id]
        self.serving.add(id)
        self._fenced_ids.discard(id)
        self.joining.add(id)
        self.add_event(f"broker {id} is unfenced", id)
        self._enter(broker, BrokerState.SERVING)

    def _unregistered(self, id: int) -> None:
        broker = self.brokers[id]
        self.silent.discard(id)
        self.serving.discard(id)
        self.living.discard(id)
        broker.epoch = _UNCLEAN
        self.add_event(f"broker {id} is unregistered", id)
        if broker.has_process:
            # From now on the controller refuses its heartbeats until it restarts.
            self._enter(broker, BrokerState.FENCED)
            broker.away_ms = self._clock.now_ms
        self.on_death(id, False)

    def kill(self, id: int) -> bool:
        """Kill a broker at once; return whether it was alive. A planned restart of it is cancelled."""
        broker = self.brokers[id]
        if not broker.has_process:
            broker.life += 1
            return False
        self._end_process(broker, was_clean=False)
        return True

    def _end_process(self, broker: ModelBroker, *, was_clean: bool) -> None:
        id = broker.id
        broker.life += 1
        broker.was_clean = was_clean
        if broker.state in (BrokerState.SERVING, BrokerState.SHUTTING_DOWN):
            broker.away_ms = self._clock.now_ms
        self._enter(broker, BrokerState.DEAD)
        if id in self.living:
            self.sync()
            self.living.discard(id)
        self.serving.discard(id)
        registered = self._quorum.image.cluster.brokers.get(id)
        is_unknown = registered is not None and not registered.fenced
        heartbeats = self._quorum.controller.state.heartbeats
        if is_unknown or heartbeats.contacted_ms(id, broker.epoch) is not None:
            self.silent.add(id)
            self._quorum.resume_sweeps()
        self.on_death(id, is_unknown)

    def beat_failed(self, id: int) -> None:
        """Let a broker report at once that a log directory has failed."""
        broker = self.brokers[id]
        if id in self.living and broker.has_process:
            life = broker.life
            if self._quorum.is_active:
                self._beat(broker, want_fence=broker.state is BrokerState.FENCED, want_shut_down=broker.state is BrokerState.SHUTTING_DOWN)
            else:
                self._quorum.when_active(lambda: self.beat_failed(id) if broker.life == life else None)

    def shut_down(self, id: int, then: Action) -> None:
        """Shut a broker down in a controlled way; `then` is called when its process has ended."""
        broker = self.brokers[id]
        broker.waiters = [then]
        if broker.state is not BrokerState.SERVING:
            self._end_process(broker, was_clean=True)
            self._run_waiters(broker)
            return
        self._enter(broker, BrokerState.SHUTTING_DOWN)
        self.add_event(f"broker {id} begins its controlled shutdown", id)
        life = broker.life
        self._clock.after(self._assumptions.shutdown_timeout_ms, lambda: self._give_up_leaving(broker, life), is_deadline=True)
        self._beat_leaving(broker, life, LEAVING_BEAT_MS)

    def _beat_leaving(self, broker: ModelBroker, life: int, pause_ms: int) -> None:
        if broker.life != life or broker.state is not BrokerState.SHUTTING_DOWN:
            return
        if not self._quorum.is_active:
            self._quorum.when_active(lambda: self._beat_leaving(broker, life, pause_ms))
            return
        answer = self._beat(broker, want_fence=False, want_shut_down=True)
        if answer.error_code == NONE and answer.should_shut_down:
            self._clock.after(self._assumptions.commit_ms, lambda: self._shut_down_done(broker, life))
            return
        self._clock.after(pause_ms, lambda: self._beat_leaving(broker, life, self.interval_ms))

    def _shut_down_done(self, broker: ModelBroker, life: int) -> None:
        if broker.life == life:
            self._end_process(broker, was_clean=True)
            self.add_event(f"broker {broker.id} has shut down", broker.id)
            self._run_waiters(broker)

    def _give_up_leaving(self, broker: ModelBroker, life: int) -> None:
        if broker.life == life and broker.state is BrokerState.SHUTTING_DOWN:
            self.add_event(f"broker {broker.id} was not let go in time, and exits all the same", broker.id)
            self._end_process(broker, was_clean=True)
            self._run_waiters(broker)

    def _run_waiters(self, broker: ModelBroker) -> None:
        waiters, broker.waiters = broker.waiters, []
        for action in waiters:
            action()

    def start(self, id: int) -> None:
        """Start a dead broker; it registers when it has booted."""
        broker = self.brokers[id]
        assert not broker.has_process, "only a dead broker starts"
        if broker.failed and not broker.registration.directories:
            self.add_event(f"broker {id} does not start: all its log directories have failed", id)
            return
        self._enter(broker, BrokerState.STARTING)
        self.add_event(f"broker {id} starts", id)
        boot_ms = self._assumptions.boot_ms + (0 if broker.was_clean else self._assumptions.recovery_ms)
        life = broker.life
        self._clock.after(boot_ms, lambda: self._register(broker, life, new_uuid(self._chance)))

    def add(self, id: int, rack: str | None, like: BrokerRegistration) -> None:
        """Start a new broker that supports the same features as another one."""
        registration = like._replace(id=id, rack=rack, directories=(new_uuid(self._chance),), cordoned_directories=None)
        phase_ms = self._chance.randrange(self.interval_ms)
        now_ms = self._clock.now_ms
        self.brokers[id] = ModelBroker(id, registration, phase_ms, BrokerState.DEAD, _UNCLEAN, True, now_ms, since_ms=now_ms)
        self.start(id)

    def _register(self, broker: ModelBroker, life: int, incarnation_id: bytes) -> None:
        if broker.life != life:
            return
        if not self._quorum.is_active:
            self._quorum.when_active(lambda: self._register(broker, life, incarnation_id))
            return
        self.sync()
        request = self._registration(broker, incarnation_id)
        answer = self._quorum.send_request(_REGISTRATION_KEY, _REGISTRATION_VERSION, request, f"registration of broker {broker.id}")
        if answer.error_code == DUPLICATE_BROKER_REGISTRATION:
            self._clock.after(self.interval_ms, lambda: self._register(broker, life, incarnation_id))
            return
        if answer.error_code != NONE:
            self.refusals.append(Refusal(f"broker {broker.id}", answer.error_code, error_text(answer.error_code)))
            self.add_event(f"broker {broker.id} is not registered: {error_text(answer.error_code)}", broker.id)
            self._end_process(broker, was_clean=True)
            return
        broker.epoch = answer.broker_epoch
        self.living.add(broker.id)
        self._enter(broker, BrokerState.FENCED)
        self.add_event(f"broker {broker.id} registers with epoch {broker.epoch}", broker.id)
        self._clock.after(self._assumptions.commit_ms, lambda: self._beat_starting(broker, life))

    def _beat_starting(self, broker: ModelBroker, life: int, *, is_caught_up: bool = False) -> None:
        """Send a heartbeat that asks to stay fenced until the broker has caught up with the metadata.

        The next one names the cordoned directories: in eight of eleven real starts brokers did so before they were unfenced.
        """
        if broker.life != life or broker.id not in self.living:
            return
        if not self._quorum.is_active:
            self._quorum.when_active(lambda: self._beat_starting(broker, life, is_caught_up=is_caught_up))
            return
        answer = self._beat(broker, want_fence=True, want_shut_down=False, says_cordoned=is_caught_up)
        if is_caught_up:
            self._clock.after(STARTING_BEAT_MS, lambda: self._beat_ready(broker, life))
        else:
            ready = answer.error_code == NONE and answer.is_caught_up
            self._clock.after(STARTING_BEAT_MS, lambda: self._beat_starting(broker, life, is_caught_up=ready))

    def _beat_upgraded(self, broker: ModelBroker, life: int) -> None:
        """Send the first heartbeat at a metadata level with cordoned directories."""
        if broker.life == life and broker.state is BrokerState.SERVING and self._quorum.is_active:
            self._beat(broker, want_fence=False, want_shut_down=False, says_cordoned=True)

    def _beat_ready(self, broker: ModelBroker, life: int) -> None:
        """Send a heartbeat that asks to be unfenced."""
        if broker.life != life or broker.id not in self.living or broker.state is not BrokerState.FENCED:
            return
        if not self._quorum.is_active:
            self._quorum.when_active(lambda: self._beat_ready(broker, life))
            return
        answer = self._beat(broker, want_fence=False, want_shut_down=False)
        if answer.error_code == NONE and not answer.is_fenced:
            self.joining.discard(broker.id)
            self.on_serving(broker.id)
        else:
            self._clock.at(self._next_beat_ms(broker), lambda: self._beat_ready(broker, life))

    def _beat(self, broker: ModelBroker, *, want_fence: bool, want_shut_down: bool, says_cordoned: bool = False) -> Any:
        self.sync()
        known = broker.registration
        cordoned = tuple(id for id in known.directories if id in (known.cordoned_directories or ()))
        body = messages.BrokerHeartbeatRequest(
            broker_id=broker.id,
            broker_epoch=broker.epoch,
            current_metadata_offset=self._quorum.offset_at(self._clock.now_ms),
            want_fence=want_fence,
            want_shut_down=want_shut_down,
            offline_log_dirs=broker.failed,
            cordoned_log_dirs=cordoned if says_cordoned else None,
        )
        return self._quorum.send_request(_HEARTBEAT_KEY, _HEARTBEAT_VERSION, body, f"heartbeat of broker {broker.id}")

    def _next_beat_ms(self, broker: ModelBroker) -> int:
        now_ms = self._clock.now_ms
        return now_ms + self.interval_ms - (now_ms - broker.phase_ms) % self.interval_ms

    def _registration(self, broker: ModelBroker, incarnation_id: bytes) -> messages.BrokerRegistrationRequest:
        made = messages.BrokerRegistrationRequest
        known = broker.registration
        features = known.supported_features
        return made(
            broker_id=broker.id,
            cluster_id=self._quorum.settings.cluster_id,
            incarnation_id=incarnation_id,
            listeners=tuple(
                made.Listener(name=one.name, host=one.host, port=one.port, security_protocol=one.security_protocol)
                for one in known.listeners
            ),
            features=tuple(
                made.Feature(name=name, min_supported_version=features[name][0], max_supported_version=features[name][1])
                for name in sorted(features)
            ),
            rack=known.rack,
            log_dirs=known.directories or (new_uuid(self._chance),),
            previous_broker_epoch=broker.epoch if broker.was_clean else _UNCLEAN,
        )

    def close(self) -> list[BrokerSpan]:
        """The spans of all brokers; the last one of each has no end."""
        open_spans = [BrokerSpan(broker.id, broker.state, broker.since_ms, None) for broker in self.brokers.values()]
        return sorted([*self.spans, *open_spans], key=lambda span: (span.broker, span.from_ms))
