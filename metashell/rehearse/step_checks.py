"""Refuses impossible steps before anything runs.

`check_steps` compares each step with the cluster as it is, `check_contradictions` with the steps before it: a broker cannot die twice, and
a topic cannot be used after it was deleted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metashell.codec.codes import TOPIC_RESOURCE
from metashell.common.options import did_you_mean
from metashell.common.values import uuid_text
from metashell.metadata.image import MetadataImage
from metashell.quorum.controller.settings import config_keys
from metashell.rehearse.quorum import known_voters
from metashell.rehearse.steps import (
    AddBroker,
    Assumptions,
    ConfigSet,
    CreateTopic,
    DeleteTopic,
    Elect,
    FeatureUpgrade,
    KillBroker,
    LoseController,
    LoseDirectory,
    LoseRack,
    Reassign,
    RemoveController,
    RestartBroker,
    RollBrokers,
    Step,
    StepError,
    Unregister,
    UnregisterController,
)


def check_steps(image: MetadataImage, steps: Sequence[Step], assumptions: Assumptions | None = None) -> None:
    """Check steps. Errors: StepError for a step that names something that does not exist at its turn, or whose time goes back."""
    _Checks(image, assumptions or Assumptions()).check_all(steps)


class _Checks:
    """The state after the steps so far, as far as it does not depend on what happens meanwhile."""

    def __init__(self, image: MetadataImage, assumptions: Assumptions) -> None:
        self._image = image
        self._brokers = set(image.cluster.brokers)
        self._unregistered: set[int] = set()
        self._racks = {broker.rack for broker in image.cluster.brokers.values()}
        self._made: set[str] = set()
        self._deleted: set[str] = set()
        self._voters = set(known_voters(image) or assumptions.voters)
        self._at_ms = 0
        self._index = 0

    def check_all(self, steps: Sequence[Step]) -> None:
        for index, step in enumerate(steps):
            self._index = index
            if step.at_ms is not None:
                if step.at_ms < self._at_ms:
                    raise self._error(f"the step begins at {step.at_ms} ms, before the previous one", "at_ms")
                self._at_ms = step.at_ms
            self._check(step)

    def _error(self, message: str, field_name: str) -> StepError:
        return StepError(message, self._index, field_name)

    def _check(self, step: Step) -> None:
        match step:
            case KillBroker():
                self._check_broker(step.broker)
            case RestartBroker():
                # An unregistered broker registers again.
                if step.broker in self._unregistered:
                    self._brokers.add(step.broker)
                self._check_broker(step.broker)
                self._check_directories(step.broker, step.empty or (), "empty")
            case LoseDirectory():
                self._check_broker(step.broker)
                self._check_lost_directory(step)
            case RemoveController():
                self._check_controller(step.controller)
                self._voters.discard(step.controller)
            case Unregister():
                self._check_broker(step.broker)
                self._brokers.discard(step.broker)
                self._unregistered.add(step.broker)
            case RollBrokers():
                self._check_roll(step)
            case LoseRack():
                if step.rack not in self._racks:
                    racks = ", ".join(sorted(rack for rack in self._racks if rack)) or "none at all"
                    raise self._error(f"no broker is in rack {step.rack!r}; the racks are {racks}", "rack")
            case AddBroker():
                self._check_new_broker(step)
            case Reassign():
                self._check_moves(step)
            case Elect():
                for topic, partition in step.partitions or ():
                    self._check_partition(topic, partition, "partitions")
            case LoseController():
                self._check_controller(step.controller)
            case CreateTopic():
                if self._has_topic(step.topic):
                    raise self._error(f"topic {step.topic!r} exists already", "topic")
                self._made.add(step.topic)
                self._deleted.discard(step.topic)
            case DeleteTopic():
                self._check_topic(step.topic, "topic")
                self._deleted.add(step.topic)
                self._made.discard(step.topic)
            case ConfigSet():
                self._check_settings(step)
            case FeatureUpgrade() | UnregisterController():
                # The controller checks the rest.
                pass

    def _check_broker(self, broker: int, field_name: str = "broker") -> None:
        if broker not in self._brokers:
            known = ", ".join(map(str, sorted(self._brokers)[:20])) or "none"
            raise self._error(f"broker {broker} is not registered; the brokers are {known}", field_name)

    def _check_lost_directory(self, step: LoseDirectory) -> None:
        known = self._directories_of(step.broker)
        if step.directory is None and len(known) != 1:
            which = f"it has {', '.join(known)}: name one" if known else "the metadata names none of it"
            raise self._error(f"broker {step.broker} has not just one log directory; {which}", "broker")
        self._check_directories(step.broker, () if step.directory is None else (step.directory,), "directory")

    def _directories_of(self, broker: int) -> list[str]:
        registered = self._image.cluster.brokers.get(broker)
        return [] if registered is None else sorted(map(uuid_text, registered.directories))

    def _check_directories(self, broker: int, directories: Sequence[str], field_name: str) -> None:
        known = self._directories_of(broker)
        for one in directories:
            if one not in known:
                those = ", ".join(known) or "none that is known"
                raise self._error(f"broker {broker} has no log directory {one}; it has {those}", field_name)

    def _check_new_broker(self, step: AddBroker) -> None:
        if step.broker < 0:
            raise self._error(f"{step.broker} is no id of a broker", "broker")
        if step.broker in self._brokers:
            raise self._error(f"broker {step.broker} is registered already", "broker")
        if not self._image.cluster.brokers:
            raise self._error("no broker is registered as a model for a new one", "broker")
        self._brokers.add(step.broker)
        self._racks.add(step.rack)

    def _check_roll(self, step: RollBrokers) -> None:
        if step.max_offline < 1:
            raise self._error(f"max_offline is {step.max_offline}: at least one broker has to be offline at a time", "max_offline")
        for broker in step.brokers or ():
            self._check_broker(broker, "brokers")
        if step.brokers is not None and len(set(step.brokers)) != len(step.brokers):
            raise self._error("a broker is named twice", "brokers")

    def _check_moves(self, step: Reassign) -> None:
        seen: set[tuple[str, int]] = set()
        for move in step.moves:
            self._check_partition(move.topic, move.partition, "moves")
            if (move.topic, move.partition) in seen:
                raise self._error(f"{move.topic}-{move.partition} is moved twice", "moves")
            seen.add((move.topic, move.partition))
            for broker in move.replicas or ():
                self._check_broker(broker, "moves")
        if step.throttle_bytes is not None and step.throttle_bytes < 1:
            raise self._error(f"with a throttle of {step.throttle_bytes} bytes a second nothing would ever move", "throttle_bytes")

    def _check_settings(self, step: ConfigSet) -> None:
        """Refuse unknown keys of a topic; the controller checks other settings, and values."""
        if step.resource_type != TOPIC_RESOURCE:
            return
        self._check_topic(step.resource_name, "resource_name")
        known = config_keys("topic")
        for key, _ in step.values:
            if key not in known:
                raise self._error(f"{key!r} is no setting of a topic{did_you_mean(key, list(known))}", "values")

    def _check_controller(self, controller: int | None) -> None:
        if not self._voters:
            raise self._error("the controllers are not known: the metadata names no voters", "controller")
        if controller is not None and controller not in self._voters:
            known = ", ".join(map(str, sorted(self._voters)))
            raise self._error(f"{controller} is no voter of the quorum; the voters are {known}", "controller")

    def _has_topic(self, topic: str) -> bool:
        return topic in self._made or (topic in self._image.topics.by_name and topic not in self._deleted)

    def _check_topic(self, topic: str, field_name: str) -> None:
        if not self._has_topic(topic):
            raise self._error(f"there is no topic {topic!r}", field_name)

    def _check_partition(self, topic: str, partition: int, field_name: str) -> None:
        self._check_topic(topic, field_name)
        if topic not in self._made and not self._image.topics.by_name[topic].has_partition(partition):
            raise self._error(f"topic {topic!r} has no partition {partition}", field_name)


def check_contradictions(image: MetadataImage, steps: Sequence[Step]) -> None:
    """Check steps against earlier ones. Errors: StepError for a step that an earlier one makes impossible, which it names."""
    course = _Course(image)
    for index, step in enumerate(steps):
        course.note_step(index, step)


class _Course:
    """The effects of the steps so far; each map leads to the step with the effect."""

    def __init__(self, image: MetadataImage) -> None:
        self._racks = {id: broker.rack for id, broker in image.cluster.brokers.items()}
        self._dead: dict[int, int] = {}
        self._unregistered: dict[int, int] = {}
        self._added: dict[int, int] = {}
        self._created: dict[str, int] = {}
        self._deleted: dict[str, int] = {}
        self._lost_controllers: dict[int, int] = {}

    def note_step(self, index: int, step: Step) -> None:
        match step:
            case KillBroker():
                self._refuse_gone(index, (step.broker,), "broker")
                self._dead[step.broker] = index
            case RestartBroker():
                self._refuse_unregistered(index, (step.broker,), "broker")
                self._dead.pop(step.broker, None)
            case RollBrokers():
                self._refuse_gone(index, step.brokers or (), "brokers")
            case LoseRack():
                self._lose_rack(index, step.rack)
            case Unregister():
                if step.broker in self._unregistered:
                    raise StepError(
                        f"broker {step.broker} is unregistered since step {self._unregistered[step.broker] + 1}", index, "broker"
                    )
                self._unregistered[step.broker] = index
            case AddBroker():
                if step.broker in self._added and step.broker not in self._unregistered:
                    raise StepError(f"broker {step.broker} was added by step {self._added[step.broker] + 1}", index, "broker")
                self._added[step.broker] = index
                self._racks[step.broker] = step.rack
                self._unregistered.pop(step.broker, None)
            case LoseController():
                self._lose_controller(index, step)
            case _:
                self._take_topics(index, step)

    def _take_topics(self, index: int, step: Step) -> None:
        match step:
            case CreateTopic():
                if step.topic in self._created:
                    raise StepError(f"topic {step.topic} was created by step {self._created[step.topic] + 1}", index, "topic")
                self._created[step.topic] = index
                self._deleted.pop(step.topic, None)
            case DeleteTopic():
                self._refuse_deleted(index, (step.topic,), "topic")
                self._deleted[step.topic] = index
                self._created.pop(step.topic, None)
            case Reassign():
                self._refuse_deleted(index, (move.topic for move in step.moves), "moves")
                self._refuse_unregistered(index, (id for move in step.moves for id in move.replicas or ()), "moves")
            case Elect():
                self._refuse_deleted(index, (topic for topic, _ in step.partitions or ()), "partitions")
            case ConfigSet(resource_type=type) if type == TOPIC_RESOURCE:
                self._refuse_deleted(index, (step.resource_name,), "resource_name")
            case _:
                pass

    def _lose_rack(self, index: int, rack: str) -> None:
        brokers = [id for id, its_rack in self._racks.items() if its_rack == rack and id not in self._unregistered]
        if brokers and all(id in self._dead for id in brokers):
            since = max(self._dead[id] for id in brokers)
            raise StepError(f"every broker of rack {rack} is dead since step {since + 1}", index, "rack")
        self._dead.update((id, index) for id in brokers if id not in self._dead)

    def _lose_controller(self, index: int, step: LoseController) -> None:
        if step.controller is None or step.back_after_ms is not None:
            return
        if step.controller in self._lost_controllers:
            since = self._lost_controllers[step.controller]
            raise StepError(f"controller {step.controller} is dead since step {since + 1}", index, "controller")
        self._lost_controllers[step.controller] = index

    def _refuse_gone(self, index: int, brokers: Iterable[int], field: str) -> None:
        """Check that a broker can die or shut down. Errors: StepError if it is dead or unregistered already."""
        brokers = tuple(brokers)
        self._refuse_unregistered(index, brokers, field)
        for id in brokers:
            if id in self._dead:
                raise StepError(f"broker {id} is dead since step {self._dead[id] + 1}; restart-broker {id} starts it", index, field)

    def _refuse_unregistered(self, index: int, brokers: Iterable[int], field: str) -> None:
        for id in brokers:
            if id in self._unregistered:
                raise StepError(f"broker {id} is unregistered since step {self._unregistered[id] + 1}", index, field)

    def _refuse_deleted(self, index: int, topics: Iterable[str], field: str) -> None:
        for topic in topics:
            if topic in self._deleted:
                raise StepError(f"topic {topic} is deleted since step {self._deleted[topic] + 1}", index, field)
