"""What a leader is told that asks for an ISR that cannot be: the table of controller.md 20.
Reassignments from begin to end, by the vectors of controller.md 38.22."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import (
    FENCED_LEADER_EPOCH,
    INELIGIBLE_REPLICA,
    INVALID_REPLICA_ASSIGNMENT,
    INVALID_REQUEST,
    INVALID_UPDATE_VERSION,
    NONE,
    NOT_CONTROLLER,
    STALE_BROKER_EPOCH,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.quorum.controller import Decision
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


def reassign(cluster: Cluster, *targets: tuple[int, ...] | None) -> list[int]:
    """Ask for targets of the first partition of `t`, all in one request; the error codes."""
    made = messages.AlterPartitionReassignmentsRequest
    partitions = tuple(made.ReassignablePartition(partition_index=0, replicas=replicas) for replicas in targets)
    body = made(timeout_ms=1000, topics=(made.ReassignableTopic(name="t", partitions=partitions),))
    answer = cluster.ask(45, 1, body)
    return [one.error_code for one in answer.responses[0].partitions]


def report_isr(cluster: Cluster, topic_id: bytes, isr: tuple[int, ...]) -> Any:
    """Let the leader of the first partition report an ISR; what it is told about the partition."""
    partition = cluster.state.partition(topic_id, 0)
    made = messages.AlterPartitionRequest
    asked = made.PartitionData(
        partition_index=0,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr_with_epochs=tuple(made.BrokerState(broker_id=id, broker_epoch=-1) for id in isr),
    )
    leader = cluster.state.image.cluster.brokers[partition.leader]
    topics = (made.TopicData(topic_id=topic_id, partitions=(asked,)),)
    answer = cluster.ask(56, 3, made(broker_id=leader.id, broker_epoch=leader.epoch, topics=topics))
    return answer.topics[0].partitions[0]


@shows("KIP-631/reassignment-state", "KIP-631/reassignment-order", "KIP-631/reassignment-completion")
def test_a_reassignment_ends_when_all_new_replicas_are_in_sync() -> None:
    cluster = Cluster()
    cluster.register(1, 2, 3, 4, 5)
    topic_id = cluster.create("t", (1, 2, 3))
    assert reassign(cluster, (3, 4, 5)) == [NONE]
    moving = cluster.state.partition(topic_id, 0)
    assert (moving.replicas, moving.adding_replicas, moving.removing_replicas) == ((3, 4, 5, 1, 2), (4, 5), (1, 2))
    assert report_isr(cluster, topic_id, (1, 2, 3, 4)).error_code == NONE
    assert cluster.state.partition(topic_id, 0).adding_replicas == (4, 5)

    report_isr(cluster, topic_id, (1, 2, 3, 4, 5))

    moved = cluster.state.partition(topic_id, 0)
    assert (moved.replicas, moved.adding_replicas, moved.removing_replicas) == ((3, 4, 5), (), ())
    assert moved.leader in moved.isr
    assert set(moved.isr) == {3, 4, 5}


@shows("KIP-631/reassignment-state")
def test_a_cancelled_reassignment_goes_back_to_the_replicas_that_were_there() -> None:
    cluster = Cluster()
    cluster.register(1, 2, 3, 4, 5)
    topic_id = cluster.create("t", (1, 2, 3))
    reassign(cluster, (3, 4, 5))

    assert reassign(cluster, None) == [NONE]

    back = cluster.state.partition(topic_id, 0)
    assert (back.replicas, back.adding_replicas, back.removing_replicas) == ((3, 1, 2), (), ())


def test_a_partition_that_comes_twice_is_refused_where_the_second_change_does_not_fit_the_first() -> None:
    cluster = Cluster()
    cluster.register(1, 2, 3)
    topic_id = cluster.create("t", (1, 2))

    codes = reassign(cluster, (3, 2, 1), (2, 1))

    assert codes[0] == NONE
    assert codes[1] in (NONE, INVALID_REQUEST)
    partition = cluster.state.partition(topic_id, 0)
    assert len(partition.directories) == len(partition.replicas)
    assert cluster.standby().image.has_same_metadata(cluster.controller.image)


@shows("KIP-966/no-replica")
def test_a_replica_that_was_taken_away_stays_eligible_as_in_kafka() -> None:
    """Also when it comes back, though its log was deleted meanwhile: Kafka's fault, which records of ours share."""
    cluster = Cluster({"min.insync.replicas": "3"})
    cluster.register(1, 2, 3, 4)
    topic_id = cluster.create("t", (1, 2, 3))
    reassign(cluster, (1, 2, 4))
    cluster.beat(2, want_fence=True)
    report_isr(cluster, topic_id, (1, 3, 4))
    away = cluster.state.partition(topic_id, 0)
    assert (away.replicas, away.isr, away.elr) == ((1, 2, 4), (1, 4), (2, 3))

    assert reassign(cluster, (1, 2, 3)) == [NONE]

    back = cluster.state.partition(topic_id, 0)
    assert (back.adding_replicas, back.elr) == ((3,), (2, 3))


def test_an_eligible_replica_that_is_no_replica_any_more_is_not_added_while_nothing_leads() -> None:
    cluster = Cluster()
    cluster.register(1, 2, 3)
    topic_id = cluster.create("t", (1, 2))
    # As a reassignment to 1 alone leaves it, once 1 has left the ISR too: Kafka then asks which directory holds 2, and fails.
    directory = cluster.state.partition(topic_id, 0).directories[0]
    left = messages.PartitionChangeRecord(
        partition_id=0, topic_id=topic_id, replicas=(1,), directories=(directory,), isr=(), leader=-1, eligible_leader_replicas=(2,)
    )
    cluster.write(Decision(None, [(left, 2)]))

    assert reassign(cluster, (2,)) == [INVALID_REPLICA_ASSIGNMENT]
    assert reassign(cluster, (3,)) == [NONE]
