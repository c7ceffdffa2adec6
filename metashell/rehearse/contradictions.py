"""Steps that contradict those before them: a broker that dies twice, a topic that is used after it was deleted.

`check_steps` holds each step against the cluster as it is; this holds the steps against each other, before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from metashell.codec.config_types import TOPIC_RESOURCE
from metashell.image import MetadataImage
from metashell.rehearse.steps import (
    AddBroker,
    ConfigSet,
    CreateTopic,
    DeleteTopic,
    Elect,
    KillBroker,
    LoseController,
    LoseRack,
    Reassign,
    RestartBroker,
    RollBrokers,
    Step,
    StepError,
    Unregister,
)


def check_contradictions(image: MetadataImage, steps: Sequence[Step]) -> None:
    """Errors: StepError for a step that those before it make senseless; it names the one that does."""
    course = _Course(image)
    for index, step in enumerate(steps):
        course.take(index, step)


class _Course:
    """The effects of the steps so far; each map leads to the step that had the effect."""

    def __init__(self, image: MetadataImage) -> None:
        self._racks = {id: broker.rack for id, broker in image.cluster.brokers.items()}
        self._dead: dict[int, int] = {}
        self._unregistered: dict[int, int] = {}
        self._added: dict[int, int] = {}
        self._created: dict[str, int] = {}
        self._deleted: dict[str, int] = {}
        self._lost_controllers: dict[int, int] = {}

    def take(self, index: int, step: Step) -> None:
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
        """Errors: StepError for a broker that cannot die or shut down, since it is dead or gone already."""
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
