"""What a leader is told that asks for an ISR that cannot be: the table of controller.md 20."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import (
    FENCED_LEADER_EPOCH,
    INELIGIBLE_REPLICA,
    INVALID_REQUEST,
    INVALID_UPDATE_VERSION,
    NONE,
    NOT_CONTROLLER,
    STALE_BROKER_EPOCH,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from tests.quorum.controller.cluster import Cluster
from tests.seeds import shows

ALTER_PARTITION = 56
ANY_EPOCH = -1


def asked(cluster: Cluster, sender: int, **changes: Any) -> Any:
    """Ask for an ISR as the leader would, but for `changes`; the whole answer."""
    topic = cluster.state.image.topics.by_name["t"]
    partition = topic.partitions[0]
    made = messages.AlterPartitionRequest
    members = changes.get("members", ((1, ANY_EPOCH), (2, ANY_EPOCH)))
    one = made.PartitionData(
        partition_index=changes.get("number", 0),
        leader_epoch=partition.leader_epoch + changes.get("leader_epoch", 0),
        partition_epoch=partition.partition_epoch + changes.get("partition_epoch", 0),
        new_isr_with_epochs=tuple(made.BrokerState(broker_id=id, broker_epoch=epoch) for id, epoch in members),
        leader_recovery_state=changes.get("recovery", 0),
    )
    topics = (made.TopicData(topic_id=changes.get("topic_id", topic.id), partitions=(one,)),)
    epoch = cluster.state.image.cluster.brokers[sender].epoch + changes.get("sender_epoch", 0)
    return cluster.ask(ALTER_PARTITION, 3, made(broker_id=sender, broker_epoch=epoch, topics=topics))


def cluster_of_three() -> Cluster:
    """Brokers 1, 2 and 3 that have a replica each, all led by 1; 3 is fenced, and all epochs are above 0."""
    cluster = Cluster()
    cluster.register(1, 2, 3)
    cluster.create("t", (1, 2, 3))
    cluster.beat(1, want_fence=True)
    cluster.beat(1)
    members = ((2, ANY_EPOCH), (3, ANY_EPOCH), (1, ANY_EPOCH))
    assert asked(cluster, 2, members=members).topics[0].partitions[0].error_code == NONE
    cluster.beat(2, want_fence=True)
    cluster.beat(3, want_fence=True)
    cluster.beat(2)
    assert cluster.state.image.topics.by_name["t"].partitions[0].leader == 1
    return cluster


@shows("KIP-343/isr-errors", "KIP-343/isr-change", "KIP-343/empty-isr", "KIP-631/alter-isr")
@pytest.mark.parametrize(
    ("sender", "changes", "code"),
    [
        (1, {}, NONE),
        (1, {"topic_id": bytes(15) + b"z"}, UNKNOWN_TOPIC_ID),
        (1, {"number": 7}, UNKNOWN_TOPIC_OR_PARTITION),
        (1, {"leader_epoch": 1}, NOT_CONTROLLER),
        (1, {"partition_epoch": 1}, NOT_CONTROLLER),
        (1, {"leader_epoch": -1}, FENCED_LEADER_EPOCH),
        (2, {}, INVALID_REQUEST),
        (1, {"partition_epoch": -1}, INVALID_UPDATE_VERSION),
        (1, {"members": ()}, INVALID_REQUEST),
        (1, {"members": ((1, ANY_EPOCH), (1, ANY_EPOCH))}, INVALID_REQUEST),
        (1, {"members": ((1, ANY_EPOCH), (9, ANY_EPOCH))}, INVALID_REQUEST),
        (1, {"members": ((2, ANY_EPOCH),)}, INVALID_REQUEST),
        (1, {"recovery": 1}, INVALID_REQUEST),
        (1, {"members": ((1, ANY_EPOCH), (3, ANY_EPOCH))}, INELIGIBLE_REPLICA),
        (1, {"members": ((1, ANY_EPOCH), (2, 0))}, INELIGIBLE_REPLICA),
    ],
)
def test_a_leader_is_told_what_is_wrong_with_the_isr_that_it_wants(sender: int, changes: dict[str, Any], code: int) -> None:
    cluster = cluster_of_three()
    begin = cluster.end_offset

    answer = asked(cluster, sender, **changes)

    assert (answer.error_code, answer.topics[0].partitions[0].error_code) == (NONE, code)
    assert (cluster.end_offset > begin) == (code == NONE)


@shows("KIP-343/invalid-incarnation")
def test_a_leader_of_a_former_life_changes_nothing() -> None:
    assert asked(cluster_of_three(), 1, sender_epoch=-1).error_code == STALE_BROKER_EPOCH
