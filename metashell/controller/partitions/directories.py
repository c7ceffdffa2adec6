"""Which log directory holds which replica.

Source: org.apache.kafka.controller.ReplicationControlManager.handleAssignReplicasToDirs.
"""

from __future__ import annotations

from metashell.checks.partitions import is_online
from metashell.codec import messages
from metashell.codec.error_codes import (
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSUPPORTED_VERSION,
)
from metashell.codec.metadata_version import DIRECTORY_ASSIGNMENT_LEVEL
from metashell.controller.decision import ApiError, Decision
from metashell.controller.partitions.bulk import Changes, Found
from metashell.controller.request import Request
from metashell.controller.senders import check_broker_epoch
from metashell.controller.state import State, partition_of
from metashell.controller.steps import Steps, gather, rests
from metashell.image.loss import VersionedRecord


def assign(state: State, request: Request, now_ms: int) -> Steps[Decision]:
    """Note where a broker put its replicas; what lies in a directory that is offline loses that replica."""
    body = request.body
    if state.level < DIRECTORY_ASSIGNMENT_LEVEL:
        raise ApiError(UNSUPPORTED_VERSION, "Directory assignment is not supported yet.")
    check_broker_epoch(state, body)
    broker = state.image.cluster.brokers[body.broker_id]
    changes = Changes(state)
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
    yield from gather(changes.removals(rests(offline.values()), broker.id), records)
    return Decision(response(error_code=NONE, directories=tuple(directories)), records, atomic=False)


def refuse(request: Request, code: int, message: str | None) -> messages.AssignReplicasToDirsResponse:
    return messages.AssignReplicasToDirsResponse(error_code=code)
