"""Sends the requests of steps to the controller, rolls brokers, and finds changes that will never finish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.codes import CONTROLLER_REGISTRATION, UNREGISTER_CONTROLLER
from metashell.codec.error_codes import ELECTION_NOT_NEEDED, NONE, error_text
from metashell.metadata.checks.partitions import is_leaderless, is_reassigning
from metashell.metadata.image import MetadataImage
from metashell.metadata.image.cluster import ControllerRegistration
from metashell.quorum.controller.state import partition_of
from metashell.rehearse.brokers import Fleet
from metashell.rehearse.outcome import BrokerState, Refusal, StepReport, Unfinished
from metashell.rehearse.quorum import Clock, Quorum
from metashell.rehearse.replication import Replication
from metashell.rehearse.steps import (
    ConfigSet,
    CreateTopic,
    DeleteTopic,
    Elect,
    FeatureUpgrade,
    Move,
    Reassign,
    Step,
    Unregister,
    UnregisterController,
)

TIMEOUT_MS: Final = 60_000
PIECE: Final = 1000
"""Items of one request: the controller refuses a request that makes more than 10 000 records."""
_UNTHROTTLED_CREATION: Final = 5
_UNTHROTTLED_DELETION: Final = 4
"""Later versions refuse requests beyond the sender's quota, and a rehearsal does not know the sender's other requests."""
_SET, _DELETE = 0, 1
_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3

RequestStep = Unregister | UnregisterController | Reassign | Elect | FeatureUpgrade | CreateTopic | DeleteTopic | ConfigSet


def send_requests(quorum: Quorum, step: RequestStep) -> list[Refusal]:
    """Send a step's requests; return the refusals."""
    match step:
        case Unregister():
            return _unregister(quorum, step)
        case UnregisterController():
            return _unregister_controller(quorum, step)
        case Reassign():
            return _reassign(quorum, step)
        case Elect():
            return _elect(quorum, step)
        case FeatureUpgrade():
            return _update_feature(quorum, step)
        case CreateTopic():
            return _create(quorum, step)
        case DeleteTopic():
            return _delete(quorum, step)
        case ConfigSet():
            return _set_config(quorum, step)


def _refusal(thing: str, code: int, message: str | None) -> list[Refusal]:
    return [] if code == NONE else [Refusal(thing, code, message or error_text(code))]


def _unregister(quorum: Quorum, step: Unregister) -> list[Refusal]:
    answer = quorum.send_request(
        64, 0, messages.UnregisterBrokerRequest(broker_id=step.broker), f"UnregisterBroker of broker {step.broker}"
    )
    return _refusal(f"broker {step.broker}", answer.error_code, answer.error_message)


def _unregister_controller(quorum: Quorum, step: UnregisterController) -> list[Refusal]:
    id = step.controller
    registered = quorum.image.cluster.controllers.get(id)
    why = f"UnregisterController of controller {id}"
    answer = quorum.send_request(UNREGISTER_CONTROLLER, 0, messages.UnregisterControllerRequest(controller_id=id), why)
    if answer.error_code == NONE and registered is not None and id in quorum.living:
        quorum.send_request(CONTROLLER_REGISTRATION, 0, _registration(registered), f"ControllerRegistration of controller {id}, which runs")
    return _refusal(f"controller {id}", answer.error_code, answer.error_message)


def _registration(registered: ControllerRegistration) -> messages.ControllerRegistrationRequest:
    """The request with which a registered controller registers again."""
    made = messages.ControllerRegistrationRequest
    return made(
        controller_id=registered.id,
        incarnation_id=registered.incarnation_id,
        zk_migration_ready=registered.zk_migration_ready,
        listeners=tuple(
            made.Listener(name=name, host=host, port=port, security_protocol=protocol)
            for name, host, port, protocol in registered.listeners
        ),
        features=tuple(
            made.Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in sorted(registered.supported_features.items())
        ),
    )


def _pieces(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), PIECE):
        yield items[start : start + PIECE]


def _reassign(quorum: Quorum, step: Reassign) -> list[Refusal]:
    made = messages.AlterPartitionReassignmentsRequest
    refused: list[Refusal] = []
    moves: list[Move] = sorted(step.moves, key=lambda move: (move.topic, move.partition))
    for piece in _pieces(moves):
        topics = tuple(
            made.ReassignableTopic(
                name=topic,
                partitions=tuple(made.ReassignablePartition(partition_index=move.partition, replicas=move.replicas) for move in group),
            )
            for topic, group in groupby(piece, key=lambda move: move.topic)
        )
        answer = quorum.send_request(45, 1, made(timeout_ms=TIMEOUT_MS, topics=topics), "AlterPartitionReassignments")
        refused += _refusal("reassignment", answer.error_code, answer.error_message)
        for topic in answer.responses:
            for one in topic.partitions:
                refused += _refusal(f"{topic.name}-{one.partition_index}", one.error_code, one.error_message)
    return refused


def _elect(quorum: Quorum, step: Elect) -> list[Refusal]:
    made = messages.ElectLeadersRequest
    kind = 1 if step.unclean else 0
    partitions = sorted(_electable(quorum, unclean=step.unclean) if step.partitions is None else step.partitions)
    refused: list[Refusal] = []
    for piece in _pieces(partitions):
        topics = tuple(
            made.TopicPartitions(topic=topic, partitions=tuple(partition for _, partition in group))
            for topic, group in groupby(piece, key=lambda one: one[0])
        )
        answer = quorum.send_request(43, 2, made(election_type=kind, topic_partitions=topics, timeout_ms=TIMEOUT_MS), "ElectLeaders")
        refused += _refusal("election", answer.error_code, None)
        for topic in answer.replica_election_results:
            for one in topic.partition_result:
                if one.error_code != ELECTION_NOT_NEEDED:
                    refused += _refusal(f"{topic.topic}-{one.partition_id}", one.error_code, one.error_message)
    return refused


def _electable(quorum: Quorum, *, unclean: bool) -> Iterator[tuple[str, int]]:
    """The partitions in which an election without a list is held."""
    changes = quorum.changes()
    for found in changes.leaderless() if unclean else changes.unpreferred():
        if found is not None:
            yield found[0].name, found[1]


def _update_feature(quorum: Quorum, step: FeatureUpgrade) -> list[Refusal]:
    made = messages.UpdateFeaturesRequest
    kind = _UNSAFE_DOWNGRADE if step.unsafe else _SAFE_DOWNGRADE if step.downgrade else _UPGRADE
    update = made.FeatureUpdateKey(feature=step.feature, max_version_level=step.level, upgrade_type=kind)
    answer = quorum.send_request(57, 2, made(timeout_ms=TIMEOUT_MS, feature_updates=(update,)), "UpdateFeatures")
    refused = _refusal(step.feature, answer.error_code, answer.error_message)
    for one in answer.results:
        refused += _refusal(one.feature, one.error_code, one.error_message)
    return refused


def _create(quorum: Quorum, step: CreateTopic) -> list[Refusal]:
    made = messages.CreateTopicsRequest
    topic = made.CreatableTopic(
        name=step.topic,
        num_partitions=-1 if step.assignments else step.partitions,
        replication_factor=-1 if step.assignments else step.replication_factor,
        assignments=tuple(
            made.CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in enumerate(step.assignments)
        ),
        configs=tuple(made.CreatableTopicConfig(name=name, value=value) for name, value in step.configs),
    )
    answer = quorum.send_request(19, _UNTHROTTLED_CREATION, made(topics=(topic,), timeout_ms=TIMEOUT_MS), "CreateTopics")
    return [refusal for one in answer.topics for refusal in _refusal(one.name, one.error_code, one.error_message)]


def _delete(quorum: Quorum, step: DeleteTopic) -> list[Refusal]:
    made = messages.DeleteTopicsRequest
    body = made(topic_names=(step.topic,), timeout_ms=TIMEOUT_MS)
    answer = quorum.send_request(20, _UNTHROTTLED_DELETION, body, "DeleteTopics")
    return [refusal for one in answer.responses for refusal in _refusal(step.topic, one.error_code, None)]


def _set_config(quorum: Quorum, step: ConfigSet) -> list[Refusal]:
    made = messages.IncrementalAlterConfigsRequest
    resource = made.AlterConfigsResource(
        resource_type=step.resource_type,
        resource_name=step.resource_name,
        configs=tuple(
            made.AlterableConfig(name=name, config_operation=_DELETE if value is None else _SET, value=value) for name, value in step.values
        ),
    )
    answer = quorum.send_request(44, 1, made(resources=(resource,)), "IncrementalAlterConfigs")
    return [
        refusal for one in answer.responses for refusal in _refusal(one.resource_name or "all brokers", one.error_code, one.error_message)
    ]


class Roll:
    """Restarts brokers, at most `max_offline` at a time; the next one stops when one is in sync again.

    `step` is the index of the step. `on_stop(id)` and `on_start(id)` are called when a broker's process stops and starts, for a controller
    on the same machine.
    """

    def __init__(
        self,
        brokers: Sequence[int],
        max_offline: int,
        down_ms: int,
        *,
        step: int,
        fleet: Fleet,
        replication: Replication,
        clock: Clock,
        on_stop: Callable[[int], None],
        on_start: Callable[[int], None],
    ) -> None:
        self.step = step
        self._left = list(brokers)
        self._max_offline = max_offline
        self._down_ms = down_ms
        self._fleet = fleet
        self._replication = replication
        self._clock = clock
        self._on_stop = on_stop
        self._on_start = on_start
        self.under_way: set[int] = set()

    @property
    def is_done(self) -> bool:
        return not self._left and not self.under_way

    @property
    def unfinished(self) -> Iterator[tuple[int, str]]:
        """The brokers that did not come back in sync, and those whose turn never came, each with the reason."""
        for id in sorted(self.under_way):
            yield id, self._why_not_back(id)
        for id in sorted(self._left):
            yield id, "its turn never came"

    def _why_not_back(self, id: int) -> str:
        state = self._fleet.brokers[id].state
        if state is BrokerState.SERVING:
            return self._replication.why_behind(id)
        if state is BrokerState.DEAD:
            return "it is dead"
        return f"it is {state.value} to the end: no controller takes it back"

    def restart_next(self) -> None:
        """Restart as many brokers as may be down."""
        while self._left and len(self.under_way) < self._max_offline:
            id = self._left.pop(0)
            self.under_way.add(id)
            if self._fleet.brokers[id].has_process:
                self._fleet.shut_down(id, partial(self._is_down, id))
            else:
                self._start(id, self._fleet.brokers[id].life)

    def _is_down(self, id: int) -> None:
        self._on_stop(id)
        life = self._fleet.brokers[id].life
        self._clock.after(self._down_ms, lambda: self._start(id, life))

    def _start(self, id: int, life: int) -> None:
        broker = self._fleet.brokers[id]
        if broker.life == life and not broker.has_process:
            self._on_start(id)
            self._fleet.start(id)

    def joined(self, id: int) -> None:
        """Note that a broker serves again; its turn ends when it is in sync."""
        if id in self.under_way:
            self._replication.when_in_sync(id, lambda: self._is_back(id))

    def _is_back(self, id: int) -> None:
        if id in self.under_way:
            self.under_way.discard(id)
            self._fleet.add_event(f"broker {id} is in sync again", id)
            self.restart_next()


def unfinished_restarts(rolls: Iterable[Roll], step: int) -> Iterator[Unfinished]:
    """The brokers that a step restarts and that are not back in sync."""
    for roll in rolls:
        if roll.step == step:
            yield from (Unfinished(f"broker {id}", why) for id, why in roll.unfinished)


def leaderless_for_good(quorum: Quorum, before: MetadataImage, step: Step) -> Iterator[Unfinished]:
    """Partitions that can never have a leader again: their last replicas in sync were on an unregistered broker.

    Partitions that went offline in the rehearsal are not among them, since they are reported as offline.
    """
    if not isinstance(step, Unregister):
        return
    registered = quorum.image.cluster.brokers
    for found in quorum.changes().with_replica(step.broker):
        if found is not None:
            topic, partition_id, partition = found
            last = {*partition.isr, *partition.elr}
            if not is_leaderless(partition) or step.broker not in last or any(id in registered for id in last):
                continue
            was = before.topics.by_id.get(topic.id)
            old = None if was is None else partition_of(was, partition_id)
            if old is not None and is_leaderless(old):
                why = f"nobody may lead any more: its last replica in sync is on broker {step.broker}, which is unregistered"
                yield Unfinished(f"{topic.name}-{partition_id}", why)


def unfinished_moves(image: MetadataImage, report: StepReport) -> Iterator[Unfinished]:
    """Reassignments that never finish, since a broker that should get a replica does not serve."""
    if not isinstance(report.step, Reassign):
        return
    refused = {refusal.thing for refusal in report.refusals}
    for move in report.step.moves:
        topic = image.topics.by_name.get(move.topic)
        partition = None if topic is None else partition_of(topic, move.partition)
        thing = f"{move.topic}-{move.partition}"
        if partition is not None and thing not in refused and is_reassigning(partition):
            missing = [str(id) for id in partition.adding_replicas if id not in partition.isr]
            who = f"broker {', '.join(missing)}" if missing else "its replicas"
            yield Unfinished(thing, f"the reassignment waits for {who} to get in sync")
