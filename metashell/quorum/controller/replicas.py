"""Replicas of partitions: AlterPartition (in-sync replicas), AlterPartitionReassignments, and AssignReplicasToDirs.

Source: org.apache.kafka.controller.ReplicationControlManager.alterPartition, alterPartitionReassignments, handleAssignReplicasToDirs;
PartitionReassignmentReplicas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from metashell.codec import messages
from metashell.codec.error_codes import (
    FENCED_LEADER_EPOCH,
    INELIGIBLE_REPLICA,
    INVALID_REPLICA_ASSIGNMENT,
    INVALID_REPLICATION_FACTOR,
    INVALID_REQUEST,
    INVALID_UPDATE_VERSION,
    NEW_LEADER_ELECTED,
    NO_REASSIGNMENT_IN_PROGRESS,
    NONE,
    NOT_CONTROLLER,
    NOT_LEADER_OR_FOLLOWER,
    REQUEST_TIMED_OUT,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSUPPORTED_VERSION,
)
from metashell.codec.releases import DIRECTORY_ASSIGNMENT_LEVEL
from metashell.metadata.checks.partitions import is_online, is_reassigning
from metashell.metadata.image import PartitionRegistration, ReplayError, TopicImage
from metashell.metadata.image.partitions import NO_LEADER_CHANGE, fold_changes
from metashell.metadata.image.provenance import VersionedRecord
from metashell.quorum.controller.decision import PIECE, ApiError, BoundedRecords, Decision, Request, Steps, gather_steps, with_rests
from metashell.quorum.controller.elections import Found, PartitionChanges, check_manual_assignment
from metashell.quorum.controller.partition_change import RECOVERED, RECOVERING, Election
from metashell.quorum.controller.state import State, check_broker_epoch, partition_of

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
    changes = PartitionChanges(state)
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
    """Return the error of a change, or NONE; checks are in the order of ReplicationControlManager.validateAlterPartitionData."""
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


# Reassignments


def alter_reassignments(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Begin, replace or cancel reassignments, each partition by itself, all in one batch."""
    body = request.body
    response = messages.AlterPartitionReassignmentsResponse
    if not body.topics:
        return Decision(response(error_code=NONE, error_message="", responses=()))
    if request.is_late(body.timeout_ms, now_ms):
        raise ApiError(REQUEST_TIMED_OUT)
    changes = PartitionChanges(state)
    records = BoundedRecords()
    topics = []
    moved: dict[tuple[bytes, int], PartitionRegistration] = {}
    for asked in body.topics:
        answers = []
        for one in asked.partitions:
            yield
            error = ApiError(NONE)
            try:
                made = _alter_reassignment(state, changes, asked.name, one, body.allow_replication_factor_change)
                _check_repetition(state, moved, made)
                records.extend(made)
            except ApiError as refusal:
                error = refusal
            answers.append(
                response.ReassignablePartitionResponse(
                    partition_index=one.partition_index, error_code=error.code, error_message=error.message
                )
            )
        topics.append(response.ReassignableTopicResponse(name=asked.name, partitions=tuple(answers)))
    answer = response(
        error_code=NONE,
        error_message=None,
        responses=tuple(topics),
        allow_replication_factor_change=body.allow_replication_factor_change,
    )
    return Decision(answer, records)


def _check_repetition(state: State, moved: dict[tuple[bytes, int], PartitionRegistration], made: list[VersionedRecord]) -> None:
    """Whether a change still fits where the same request has changed the partition before.

    Both are computed on the partition as it was, so that the second may name other replicas and leave the directories to the first.
    Kafka writes such a record and halts over it.
    Errors: ApiError INVALID_REQUEST.
    """
    for record, _ in made:
        key = record.topic_id, record.partition_id
        before = moved.get(key) or state.partition(*key)
        assert before is not None, "a change is made of a partition that there is"
        try:
            moved[key] = fold_changes(before, (record,))
        except ReplayError:
            raise ApiError(INVALID_REQUEST, "The partition comes twice, and the second change does not fit the first.") from None


def _alter_reassignment(
    state: State,
    changes: PartitionChanges,
    name: str,
    one: messages.AlterPartitionReassignmentsRequest.ReassignablePartition,
    may_change_factor: bool,
) -> list[VersionedRecord]:
    topic = state.image.topics.by_name.get(name)
    if topic is None:
        raise ApiError(UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    partition = partition_of(topic, one.partition_index)
    if partition is None:
        raise ApiError(UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{one.partition_index}.")
    if one.replicas is None:
        return _cancel_reassignment(changes, topic, one.partition_index, partition)
    return _begin_reassignment(state, changes, topic, one, partition, may_change_factor)


def _cancel_reassignment(
    changes: PartitionChanges, topic: TopicImage, partition_id: int, partition: PartitionRegistration
) -> list[VersionedRecord]:
    """Return to the replicas from before, which are those that are not being added."""
    if not is_reassigning(partition):
        raise ApiError(NO_REASSIGNMENT_IN_PROGRESS)
    replicas = tuple(id for id in partition.replicas if id not in partition.adding_replicas)
    isr = tuple(id for id in partition.isr if id not in partition.adding_replicas)
    allows_unclean = changes.rules.allows_unclean(topic.name)
    if not isr:
        if not allows_unclean:
            where = f"{topic.name}:{partition_id} because it would require an unclean leader election."
            raise ApiError(INVALID_REPLICA_ASSIGNMENT, f"Unable to revert partition assignment for {where}")
        isr = replicas[:1]
    change = changes.change(topic, partition_id, partition)
    change.isr, change.replicas, change.removing, change.adding = isr, replicas, (), ()
    if allows_unclean:
        change.election = Election.UNCLEAN
    return changes.record(change)


def _begin_reassignment(
    state: State,
    changes: PartitionChanges,
    topic: TopicImage,
    one: messages.AlterPartitionReassignmentsRequest.ReassignablePartition,
    partition: PartitionRegistration,
    may_change_factor: bool,
) -> list[VersionedRecord]:
    assert one.replicas is not None, "without a target a reassignment is cancelled"
    target = tuple(one.replicas)
    check_manual_assignment(state, target, None)
    if not may_change_factor:
        present = len(partition.replicas)
        if is_reassigning(partition):
            present = len({*partition.replicas, *partition.adding_replicas} - {*partition.removing_replicas})
        if len(target) != present:
            raise ApiError(INVALID_REPLICATION_FACTOR, f"The replication factor is changed from {present} to {len(target)}")
    if not partition.isr and any(id in partition.elr and id not in partition.replicas for id in target):
        # Kafka fails here: it asks which directory holds a replica that the partition no longer has.
        raise ApiError(
            INVALID_REPLICA_ASSIGNMENT, "An eligible leader replica that is no longer a replica cannot be added while nothing leads."
        )
    removing = tuple(sorted(id for id in partition.replicas if id not in target))
    adding = tuple(sorted(id for id in target if id not in partition.replicas))
    change = changes.change(topic, one.partition_index, partition)
    change.replicas = target + removing
    # Kafka takes over only what is not empty: a replacement that removes nothing leaves what was being removed as it was.
    if removing:
        change.removing = removing
    if adding:
        change.adding = adding
    return changes.record(change)


def list_reassignments(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """The partitions that are moving, of all topics or of those that are asked for; what is not moving is left out."""
    response = messages.ListPartitionReassignmentsResponse
    topics = []
    for topic, partition_ids in (yield from _listed_topics(state, request.body.topics)):
        moving = []
        for partition_id in partition_ids:
            yield
            partition = partition_of(topic, partition_id)
            if partition is not None and is_reassigning(partition):
                moving.append(
                    response.OngoingPartitionReassignment(
                        partition_index=partition_id,
                        replicas=partition.replicas,
                        adding_replicas=partition.adding_replicas,
                        removing_replicas=partition.removing_replicas,
                    )
                )
        if moving:
            topics.append(response.OngoingTopicReassignment(name=topic.name, partitions=tuple(moving)))
    return Decision(response(error_message=None, topics=tuple(topics)))


def _listed_topics(state: State, topics: Any) -> Steps[list[tuple[TopicImage, list[int]]]]:
    stable = state.stable.topics
    if topics is not None:
        named = ((stable.by_name.get(one.name), list(one.partition_indexes)) for one in topics)
        return [(topic, partition_ids) for topic, partition_ids in named if topic is not None]
    by_topic: dict[bytes, list[int]] = {}
    for number, (topic_id, partition_id) in enumerate(state.hints.reassigning, 1):
        by_topic.setdefault(topic_id, []).append(partition_id)
        if not number % PIECE:
            yield
    known = ((stable.by_id.get(topic_id), sorted(partition_ids)) for topic_id, partition_ids in by_topic.items())
    return [(topic, partition_ids) for topic, partition_ids in known if topic is not None]


# Directories


def assign_replicas_to_directories(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Note where a broker put its replicas; a replica in an offline directory leaves the ISR."""
    body = request.body
    if state.level < DIRECTORY_ASSIGNMENT_LEVEL:
        raise ApiError(UNSUPPORTED_VERSION, "Directory assignment is not supported yet.")
    check_broker_epoch(state, body)
    broker = state.image.cluster.brokers[body.broker_id]
    changes = PartitionChanges(state)
    records: list[VersionedRecord] = []
    offline: dict[tuple[bytes, int], Found] = {}
    response = messages.AssignReplicasToDirsResponse
    directories = []
    for directory in body.directories:
        topics = []
        for asked in directory.topics:
            topic = state.image.topics.by_id.get(asked.topic_id)
            answers = []
            for one in asked.partitions:
                code = UNKNOWN_TOPIC_ID
                if topic is not None:
                    code = NONE
                    partition = partition_of(topic, one.partition_index)
                    if partition is None:
                        code = UNKNOWN_TOPIC_OR_PARTITION
                    elif broker.id not in partition.replicas:
                        code = NOT_LEADER_OR_FOLLOWER
                    else:
                        change = changes.change(topic, one.partition_index, partition)
                        change.directories = {broker.id: directory.id}
                        records += changes.record(change)
                        if not is_online(directory.id, broker):
                            offline[topic.id, one.partition_index] = (topic, one.partition_index, partition)
                answers.append(response.PartitionData(partition_index=one.partition_index, error_code=code))
                yield
            topics.append(response.TopicData(topic_id=asked.topic_id, partitions=tuple(answers)))
        directories.append(response.DirectoryData(id=directory.id, topics=tuple(topics)))
    # Computed on the partitions as they were, like everything in one decision.
    yield from gather_steps(changes.removals(with_rests(offline.values()), broker.id), records)
    return Decision(response(error_code=NONE, directories=tuple(directories)), records, atomic=False)
