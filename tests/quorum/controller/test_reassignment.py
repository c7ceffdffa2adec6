"""Reassignments from begin to end, by the vectors of controller.md 38.22."""

from __future__ import annotations

from typing import Any

from metashell.codec import messages
from metashell.codec.error_codes import INVALID_REPLICA_ASSIGNMENT, INVALID_REQUEST, NONE
from metashell.quorum.controller import Decision
from tests.quorum.controller.cluster import Cluster
from tests.seeds import shows


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
