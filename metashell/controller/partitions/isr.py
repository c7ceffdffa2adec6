"""Changes of in-sync replicas, asked for by the leaders of partitions.

Source: org.apache.kafka.controller.ReplicationControlManager.alterPartition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import (
    FENCED_LEADER_EPOCH,
    INELIGIBLE_REPLICA,
    INVALID_REQUEST,
    INVALID_UPDATE_VERSION,
    NEW_LEADER_ELECTED,
    NONE,
    NOT_CONTROLLER,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.controller.decision import ApiError, Decision
from metashell.controller.partitions.bulk import Changes
from metashell.controller.partitions.change import RECOVERED, RECOVERING, Election
from metashell.controller.request import Request
from metashell.controller.senders import check_broker_epoch
from metashell.controller.state import State, partition_of
from metashell.controller.steps import Steps
from metashell.image import PartitionRegistration
from metashell.image.loss import VersionedRecord
from metashell.image.partitions import NO_LEADER_CHANGE, fold_changes

_EPOCHS_FROM = 3
_ANY_EPOCH = -1


class _Wanted(NamedTuple):
    """The ISR that a leader asks for; epochs are -1 where the sender's version has none."""

    isr: tuple[int, ...]
    epochs: tuple[int, ...]


def alter_partition(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Take the ISRs that a leader reports, partition by partition."""
    body = request.body
    if not body.topics:
        return Decision(messages.AlterPartitionResponse(topics=()))
    check_broker_epoch(state, body)
    changes = Changes(state)
    records: list[VersionedRecord] = []
    response = messages.AlterPartitionResponse
    topics = []
    for asked in body.topics:
        topic = state.image.topics.by_id.get(asked.topic_id)
        answers = []
        if topic is not None:
            changes.rules.check_min_isr(topic.name)
        for one in asked.partitions:
            yield
            if topic is None:
                answers.append(response.PartitionData(partition_index=one.partition_index, error_code=UNKNOWN_TOPIC_ID))
                continue
            partition = partition_of(topic, one.partition_index)
            wanted = _wanted(request.version, one)
            code = UNKNOWN_TOPIC_OR_PARTITION if partition is None else _fault(state, body.broker_id, partition, one, wanted)
            if code != NONE or partition is None:
                answers.append(response.PartitionData(partition_index=one.partition_index, error_code=code))
                continue
            change = changes.change(topic, one.partition_index, partition)
            change.isr = wanted.isr
            change.recovery = one.leader_recovery_state
            if changes.rules.allows_unclean(topic.name):
                change.election = Election.UNCLEAN
            record = change.record()
            if record is not None:
                records.append((record, changes.version))
            answers.append(_answer(body.broker_id, one.partition_index, partition, record))
        topics.append(response.TopicData(topic_id=asked.topic_id, partitions=tuple(answers)))
    return Decision(response(topics=tuple(topics)), records, atomic=False)


def _wanted(version: int, one: messages.AlterPartitionRequest.PartitionData) -> _Wanted:
    if version < _EPOCHS_FROM:
        return _Wanted(tuple(one.new_isr), (_ANY_EPOCH,) * len(one.new_isr))
    listed = one.new_isr_with_epochs
    return _Wanted(tuple(broker.broker_id for broker in listed), tuple(broker.broker_epoch for broker in listed))


def _fault(
    state: State, sender: int, partition: PartitionRegistration, one: messages.AlterPartitionRequest.PartitionData, wanted: _Wanted
) -> int:
    """What is wrong with a change, NONE if nothing is; the order is that of ReplicationControlManager.validateAlterPartitionData."""
    if one.leader_epoch > partition.leader_epoch or one.partition_epoch > partition.partition_epoch:
        # The sender knows more than we do: somebody else controls by now.
        return NOT_CONTROLLER
    if one.leader_epoch < partition.leader_epoch:
        return FENCED_LEADER_EPOCH
    if sender != partition.leader:
        return INVALID_REQUEST
    if one.partition_epoch < partition.partition_epoch:
        return INVALID_UPDATE_VERSION
    if not _is_possible_isr(partition, wanted.isr):
        return INVALID_REQUEST
    if one.leader_recovery_state not in (RECOVERED, RECOVERING):
        # Kafka answers with a server error here, and resigns: nothing of the request counts.
        raise ApiError(INVALID_REQUEST)
    if one.leader_recovery_state == RECOVERING and (len(wanted.isr) > 1 or partition.leader_recovery_state == RECOVERED):
        return INVALID_REQUEST
    return NONE if _are_eligible(state, wanted) else INELIGIBLE_REPLICA


def _is_possible_isr(partition: PartitionRegistration, isr: Sequence[int]) -> bool:
    members = set(isr)
    return len(members) == len(isr) and members.issubset(partition.replicas) and partition.leader in members


def _are_eligible(state: State, wanted: _Wanted) -> bool:
    """Whether all members are live, and the very lives of brokers that the leader means."""
    brokers = state.image.cluster.brokers
    for id, epoch in zip(wanted.isr, wanted.epochs, strict=True):
        broker = brokers.get(id)
        if broker is None or broker.in_controlled_shutdown or broker.fenced or epoch not in (_ANY_EPOCH, broker.epoch):
            return False
    return True


def _answer(sender: int, partition_id: int, partition: PartitionRegistration, record: messages.PartitionChangeRecord | None) -> Any:
    make = messages.AlterPartitionResponse.PartitionData
    if record is not None and record.leader not in (NO_LEADER_CHANGE, sender):
        # The change ended a reassignment that the sender is no part of; it is written all the same.
        return make(partition_index=partition_id, error_code=NEW_LEADER_ELECTED)
    after = partition if record is None else fold_changes(partition, (record,))
    return make(
        partition_index=partition_id,
        error_code=NONE,
        leader_id=after.leader,
        leader_epoch=after.leader_epoch,
        isr=after.isr,
        leader_recovery_state=after.leader_recovery_state,
        partition_epoch=after.partition_epoch,
    )
