"""Steps that cannot be meant for a cluster are refused before anything runs."""

from __future__ import annotations

from collections.abc import Sequence

from metashell.codec.config_types import TOPIC_RESOURCE
from metashell.controller.configs.keys import config_keys
from metashell.image import MetadataImage
from metashell.options.values import did_you_mean
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
from metashell.values import uuid_text


def check_steps(image: MetadataImage, steps: Sequence[Step], assumptions: Assumptions | None = None) -> None:
    """Errors: StepError for a step that names what is not there when its turn comes, and for times that go back."""
    _Checks(image, assumptions or Assumptions()).check_all(steps)


class _Checks:
    """The state after the steps so far, as far as it is certain."""

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
                # One that was unregistered registers anew.
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
                # The controller says what is wrong with these.
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
