"""Steps that are requests of an operator, and what the controller refuses of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from metashell.codec import messages
from metashell.codec.api_keys import CONTROLLER_REGISTRATION, UNREGISTER_CONTROLLER
from metashell.codec.error_codes import ELECTION_NOT_NEEDED, NONE, error_text
from metashell.image.cluster import ControllerRegistration
from metashell.rehearse.outcome import Refusal
from metashell.rehearse.quorum import Quorum
from metashell.rehearse.steps import (
    ConfigSet,
    CreateTopic,
    DeleteTopic,
    Elect,
    FeatureUpgrade,
    Move,
    Reassign,
    Unregister,
    UnregisterController,
)

TIMEOUT_MS: Final = 60_000
PIECE: Final = 1000
"""Items of one request; the controller takes no request that gives more than 10 000 records."""
_UNTHROTTLED_CREATION: Final = 5
_UNTHROTTLED_DELETION: Final = 4
"""Later versions refuse what goes beyond the sender's quota; who sends it, and what else he sent lately, is no part of a rehearsal."""
_SET, _DELETE = 0, 1
_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3

Asked = Unregister | UnregisterController | Reassign | Elect | FeatureUpgrade | CreateTopic | DeleteTopic | ConfigSet


def ask(quorum: Quorum, step: Asked) -> list[Refusal]:
    """Send a step's requests; what was refused of them."""
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
    answer = quorum.ask(64, 0, messages.UnregisterBrokerRequest(broker_id=step.broker), f"UnregisterBroker of broker {step.broker}")
    return _refusal(f"broker {step.broker}", answer.error_code, answer.error_message)


def _unregister_controller(quorum: Quorum, step: UnregisterController) -> list[Refusal]:
    id = step.controller
    registered = quorum.image.cluster.controllers.get(id)
    why = f"UnregisterController of controller {id}"
    answer = quorum.ask(UNREGISTER_CONTROLLER, 0, messages.UnregisterControllerRequest(controller_id=id), why)
    if answer.error_code == NONE and registered is not None and id in quorum.living:
        quorum.ask(CONTROLLER_REGISTRATION, 0, _registration(registered), f"ControllerRegistration of controller {id}, which runs")
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
        answer = quorum.ask(45, 1, made(timeout_ms=TIMEOUT_MS, topics=topics), "AlterPartitionReassignments")
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
        answer = quorum.ask(43, 2, made(election_type=kind, topic_partitions=topics, timeout_ms=TIMEOUT_MS), "ElectLeaders")
        refused += _refusal("election", answer.error_code, None)
        for topic in answer.replica_election_results:
            for one in topic.partition_result:
                if one.error_code != ELECTION_NOT_NEEDED:
                    refused += _refusal(f"{topic.topic}-{one.partition_id}", one.error_code, one.error_message)
    return refused


def _electable(quorum: Quorum, *, unclean: bool) -> Iterator[tuple[str, int]]:
    """The partitions in which an election without a list would be held."""
    changes = quorum.changes()
    for found in changes.leaderless() if unclean else changes.unpreferred():
        if found is not None:
            yield found[0].name, found[1]


def _update_feature(quorum: Quorum, step: FeatureUpgrade) -> list[Refusal]:
    made = messages.UpdateFeaturesRequest
    kind = _UNSAFE_DOWNGRADE if step.unsafe else _SAFE_DOWNGRADE if step.downgrade else _UPGRADE
    update = made.FeatureUpdateKey(feature=step.feature, max_version_level=step.level, upgrade_type=kind)
    answer = quorum.ask(57, 2, made(timeout_ms=TIMEOUT_MS, feature_updates=(update,)), "UpdateFeatures")
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
    answer = quorum.ask(19, _UNTHROTTLED_CREATION, made(topics=(topic,), timeout_ms=TIMEOUT_MS), "CreateTopics")
    return [refusal for one in answer.topics for refusal in _refusal(one.name, one.error_code, one.error_message)]


def _delete(quorum: Quorum, step: DeleteTopic) -> list[Refusal]:
    made = messages.DeleteTopicsRequest
    body = made(topic_names=(step.topic,), timeout_ms=TIMEOUT_MS)
    answer = quorum.ask(20, _UNTHROTTLED_DELETION, body, "DeleteTopics")
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
    answer = quorum.ask(44, 1, made(resources=(resource,)), "IncrementalAlterConfigs")
    return [
        refusal for one in answer.responses for refusal in _refusal(one.resource_name or "all brokers", one.error_code, one.error_message)
    ]
