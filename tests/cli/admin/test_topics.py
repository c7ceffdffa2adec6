"""Topics: what is asked of a broker, page by page, and what its answers come to."""

from __future__ import annotations

from typing import Any, cast

import pytest

from metashell.cli.admin import topics
from metashell.cli.admin.client import Admin
from metashell.cli.admin.protocol import AdminError, UnsupportedError
from metashell.cli.admin.topics import Done, Elected, ElectionType, NewTopic, OpenTransaction, Partition, Topic
from metashell.codec import messages
from metashell.codec.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    ELECTION_NOT_NEEDED,
    INVALID_PARTITIONS,
    LEADER_NOT_AVAILABLE,
    TOPIC_ALREADY_EXISTS,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from metashell.common.errors import MetashellError
from metashell.common.values import ZERO_UUID
from metashell.metadata.checks.facts import OPEN_MAX_MS
from tests.cli.admin.recorder import Recorder

A, B = b"\1" * 16, b"\2" * 16


def admin(recorder: Recorder) -> Admin:
    return cast("Admin", recorder)


def partition(make: Any, id: int, **more: Any) -> Any:
    fields = {"leader_id": 1, "leader_epoch": 7, "replica_nodes": (1, 2, 3), "isr_nodes": (1, 3), "offline_replicas": (2,)}
    return make(partition_index=id, **fields, **more)


READ = Partition(id=0, leader=1, leader_epoch=7, replicas=(1, 2, 3), isr=(1, 3), offline=(2,))


def test_topics_are_listed_by_name_and_their_partitions_by_number() -> None:
    made = messages.MetadataResponse
    topic, part = made.MetadataResponseTopic, made.MetadataResponsePartition
    answer = made(
        topics=(
            topic(name="b", topic_id=B, is_internal=True, partitions=(partition(part, 1), partition(part, 0))),
            # A partition without a leader does not hide the others, nor its topic.
            topic(name="a", topic_id=A, error_code=LEADER_NOT_AVAILABLE, partitions=(part(partition_index=0, leader_id=-1),)),
            topic(name="c", error_code=TOPIC_AUTHORIZATION_FAILED),
        )
    )
    recorder = Recorder(answer, answer)
    (first, second), (error,) = topics.list_topics(admin(recorder))
    assert (first.name, first.partitions[0].has_leader, first.replication_factor) == ("a", False, 0)
    later = Partition(id=1, leader=1, leader_epoch=7, replicas=(1, 2, 3), isr=(1, 3), offline=(2,))
    assert second == Topic(name="b", id=B, is_internal=True, partitions=(READ, later))
    assert str(error).startswith("c: TOPIC_AUTHORIZATION_FAILED: ")
    topics.list_topics(admin(recorder), ["a", "b"])
    wanted = messages.MetadataRequest
    named = (wanted.MetadataRequestTopic(name="a"), wanted.MetadataRequestTopic(name="b"))
    assert recorder.asked == [wanted(topics=asked, allow_auto_topic_creation=False) for asked in (None, named)]


def page(*parts: tuple[str, int], after: tuple[str, int] | None = None) -> Any:
    made = messages.DescribeTopicPartitionsResponse
    topic, part = made.DescribeTopicPartitionsResponseTopic, made.DescribeTopicPartitionsResponsePartition
    cursor = None if after is None else made.Cursor(topic_name=after[0], partition_index=after[1])
    more = {"eligible_leader_replicas": (2,), "last_known_elr": None}
    found = tuple(topic(name=name, topic_id=A, partitions=(partition(part, id, **more),)) for name, id in parts)
    return made(topics=found, next_cursor=cursor)


def test_pages_are_asked_for_until_there_is_no_more() -> None:
    made = messages.DescribeTopicPartitionsRequest
    refused = page()
    refused.topics = (messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic(name="x", error_code=29),)
    recorder = Recorder(
        page(("a", 0), ("a", 1), after=("a", 2)), page(("a", 2), after=("b", 0)), page(("b", 0), after=("b", 1)), page(("b", 1)), refused
    )
    found, errors = topics.describe_topics(admin(recorder), ["b", "a", "b"])
    assert [(topic.name, [one.id for one in topic.partitions]) for topic in found] == [("a", [0, 1, 2]), ("b", [0, 1])]
    assert (found[0].partitions[0].elr, found[0].partitions[0].last_known_elr, errors) == ((2,), None, [])
    asked = (made.TopicRequest(name="a"), made.TopicRequest(name="b"))
    places = (("a", 2), ("b", 0), ("b", 1))
    cursors = [None, *(made.Cursor(topic_name=name, partition_index=id) for name, id in places)]
    assert recorder.asked == [made(topics=asked, response_partition_limit=2000, cursor=cursor) for cursor in cursors]
    found, (error,) = topics.describe_topics(admin(recorder), ["x"])
    assert found == [] and str(error).startswith("x: TOPIC_AUTHORIZATION_FAILED: ")


@pytest.mark.parametrize("second", [("b", 3), ("b", 2), ("a", 9)])
def test_a_page_that_goes_back_is_an_error(second: tuple[str, int]) -> None:
    recorder = Recorder(page(("b", 2), after=("b", 3)), page(("b", 3), after=second), page())
    with pytest.raises(AdminError, match=f"goes on at {second[0]}:{second[1]}, where it has been"):
        topics.describe_topics(admin(recorder), ["a", "b"])


def test_of_a_cluster_without_pages_topics_are_listed() -> None:
    class Old(Recorder):
        def ask(self, request: Any, *, to: Any = None, version: int | None = None) -> Any:
            if isinstance(request, messages.DescribeTopicPartitionsRequest):
                raise UnsupportedError("too old", api="DescribeTopicPartitions")
            return super().ask(request)

    old = Old(messages.MetadataResponse())
    assert topics.describe_topics(admin(old), ["a"]) == ([], [])
    assert [topic.name for topic in old.asked[0].topics] == ["a"]


@pytest.mark.parametrize(
    ("leader", "isr", "has_leader", "is_under_replicated", "is_led_by_preferred"),
    [(1, (1, 2), True, False, True), (2, (2,), True, True, False), (-1, (), False, True, False), (0, (2, 1), True, False, False)],
)
def test_what_a_partition_says_of_itself(
    leader: int, isr: tuple[int, ...], has_leader: bool, is_under_replicated: bool, is_led_by_preferred: bool
) -> None:
    one = Partition(id=0, leader=leader, leader_epoch=0, replicas=(1, 2), isr=isr)
    assert (one.has_leader, one.is_under_replicated, one.is_led_by_preferred) == (has_leader, is_under_replicated, is_led_by_preferred)
    topic = Topic(name="a", id=A, partitions=(Partition(id=0, leader=1, leader_epoch=0, replicas=(1,), isr=()), one))
    assert topic.replication_factor == 2
    assert not Partition(id=0, leader=1, leader_epoch=0, replicas=(), isr=()).is_led_by_preferred


@pytest.mark.parametrize("dry", [False, True])
def test_topics_are_created_with_counts_or_with_places(dry: bool) -> None:
    made, told = messages.CreateTopicsRequest, messages.CreateTopicsResponse.CreatableTopicResult
    answer = messages.CreateTopicsResponse(
        topics=(
            told(name="a", topic_id=A, num_partitions=3, replication_factor=2),
            told(name="b", topic_id=ZERO_UUID, error_code=TOPIC_ALREADY_EXISTS, error_message="Topic 'b' already exists."),
        )
    )
    recorder = Recorder(answer)
    new = [
        NewTopic(name="a", partitions=3, replication_factor=2, configs={"x": "1", "y": None}),
        NewTopic(name="b", assignment=((1, 2), (2, 3))),
        NewTopic(name="c"),
    ]
    one, two = topics.create_topics(admin(recorder), new, validate_only=dry)
    assert one == Done(name="a", id=A, partitions=3, replication_factor=2)
    assert (two.id, str(two.error)) == (None, "b: TOPIC_ALREADY_EXISTS: Topic 'b' already exists.")
    config, place, topic = made.CreatableTopicConfig, made.CreatableReplicaAssignment, made.CreatableTopic
    plain = {"num_partitions": -1, "replication_factor": -1}
    wanted = (
        topic(name="a", num_partitions=3, replication_factor=2, configs=(config(name="x", value="1"), config(name="y", value=None))),
        topic(name="b", assignments=(place(partition_index=0, broker_ids=(1, 2)), place(partition_index=1, broker_ids=(2, 3))), **plain),
        topic(name="c", **plain),
    )
    assert recorder.asked == [made(topics=wanted, timeout_ms=4301, validate_only=dry)]


@pytest.mark.parametrize("again", [0, 1])
def test_topics_are_deleted_by_id(again: int) -> None:
    made, told = messages.DeleteTopicsRequest, messages.DeleteTopicsResponse.DeletableTopicResult
    answer = messages.DeleteTopicsResponse(
        responses=(
            told(topic_id=B, name=None, error_code=UNKNOWN_TOPIC_ID),
            told(topic_id=A, name="a", error_code=TOPIC_AUTHORIZATION_FAILED),
        )
    )
    recorder = Recorder(answer, again=again)
    two, one = topics.delete_topics(admin(recorder), {"a": A, "b": B})
    assert (two.name, two.id, two.error is None) == ("b", B, again == 1)
    assert (one.name, str(one.error).partition(":")[0]) == ("a", "a")
    ids = (made.DeleteTopicState(topic_id=A), made.DeleteTopicState(topic_id=B))
    assert recorder.asked == [made(topics=ids, timeout_ms=4301)]


@pytest.mark.parametrize("dry", [False, True])
def test_partitions_are_added_where_they_are_placed(dry: bool) -> None:
    made, told = messages.CreatePartitionsRequest, messages.CreatePartitionsResponse.CreatePartitionsTopicResult
    answer = messages.CreatePartitionsResponse(results=(told(name="a"), told(name="b", error_code=INVALID_PARTITIONS), told(name="c")))
    recorder = Recorder(answer)
    placed = {"a": ((1, 2), (2, 3)), "b": ()}
    found = topics.create_partitions(admin(recorder), {"a": 5, "b": 6}, placed, validate_only=dry)
    assert [(one.name, one.partitions, one.error is None) for one in found] == [("a", 5, True), ("b", 6, False), ("c", -1, True)]
    places = tuple(made.CreatePartitionsAssignment(broker_ids=brokers) for brokers in placed["a"])
    wanted = (
        made.CreatePartitionsTopic(name="a", count=5, assignments=places),
        made.CreatePartitionsTopic(name="b", count=6, assignments=None),
    )
    assert recorder.asked == [made(topics=wanted, timeout_ms=4301, validate_only=dry)]


@pytest.mark.parametrize("kind", ElectionType)
def test_elections_are_of_some_partitions_or_of_all(kind: ElectionType) -> None:
    made, told = messages.ElectLeadersRequest, messages.ElectLeadersResponse
    result = told.PartitionResult
    answer = told(
        replica_election_results=(
            told.ReplicaElectionResult(
                topic="b", partition_result=(result(partition_id=1, error_code=ELECTION_NOT_NEEDED), result(partition_id=0))
            ),
            told.ReplicaElectionResult(
                topic="a", partition_result=(result(partition_id=0, error_code=UNKNOWN_TOPIC_OR_PARTITION, error_message="No."),)
            ),
        )
    )
    recorder = Recorder(answer, answer, told(error_code=CLUSTER_AUTHORIZATION_FAILED))
    failed, *others = topics.elect_leaders(admin(recorder), kind, None)
    assert (failed.topic, failed.partition, failed.is_needed) == ("a", 0, True)
    assert str(failed.error) == "a:0: UNKNOWN_TOPIC_OR_PARTITION: No."
    assert others == [Elected(topic="b", partition=0), Elected(topic="b", partition=1, is_needed=False)]
    topics.elect_leaders(admin(recorder), kind, {"a": (0,), "b": (0, 1)})
    some = (made.TopicPartitions(topic="a", partitions=(0,)), made.TopicPartitions(topic="b", partitions=(0, 1)))
    assert recorder.asked == [made(election_type=int(kind), topic_partitions=asked, timeout_ms=4301) for asked in (None, some)]
    assert (ElectionType.PREFERRED, ElectionType.UNCLEAN) == (0, 1)
    with pytest.raises(AdminError, match="CLUSTER_AUTHORIZATION_FAILED"):
        topics.elect_leaders(admin(recorder), kind, None)


# ---- transactions


def producers(*states: tuple[str, int, int, int, int], error: int = 0) -> Any:
    """An answer with a producer in each partition: topic, partition, producer, start of its transaction, time of its last record."""
    made = messages.DescribeProducersResponse
    return made(
        topics=tuple(
            made.TopicResponse(
                name=topic,
                partitions=(
                    made.PartitionResponse(
                        partition_index=id,
                        error_code=error,
                        active_producers=(
                            made.ProducerState(producer_id=who, producer_epoch=4, current_txn_start_offset=start, last_timestamp=last),
                        ),
                    ),
                ),
            )
            for topic, id, who, start, last in states
        )
    )


def listed(*ids: str, error: int = 0) -> Any:
    made = messages.ListTransactionsResponse
    return made(error_code=error, transaction_states=tuple(made.TransactionState(transactional_id=id) for id in ids))


def described(who: int, started_ms: int, topic: str, *partitions: int, error: int = 0) -> Any:
    made = messages.DescribeTransactionsResponse
    state = made.TransactionState(
        error_code=error,
        transactional_id=f"tx-{who}",
        transaction_state="Ongoing",
        transaction_start_time_ms=started_ms,
        producer_id=who,
        topics=(made.TopicData(topic=topic, partitions=partitions),),
    )
    return made(transaction_states=(state,))


def test_a_transaction_is_too_long_where_its_last_record_is_too_old() -> None:
    failed = MetashellError("down")
    recorder = Recorder(
        {1: producers(("a", 0, 10, 0, 999), ("a", 1, 11, 5, 1000), ("a", 2, 12, -1, 1), ("b", 0, 13, 0, 1)), 2: failed},
        {1: listed("tx-10", "tx-13"), 2: listed(error=41)},
        {1: described(10, 500, "a", 0)},
    )
    asked = {1: {"a": (0, 1, 2), "b": (0,)}, 2: {"c": (0,)}}
    found = topics.long_transactions(admin(recorder), asked, 1000)
    one = OpenTransaction(
        topic="a", partition=0, producer_id=10, producer_epoch=4, started_ms=500, start_offset=0, transactional_id="tx-10", state="Ongoing"
    )
    other = OpenTransaction(topic="b", partition=0, producer_id=13, producer_epoch=4, started_ms=1, start_offset=0)
    assert found == {1: (one, other), 2: failed}
    made = messages.DescribeProducersRequest.TopicRequest
    wanted = (made(name="a", partition_indexes=(0, 1, 2)), made(name="b", partition_indexes=(0,)))
    assert recorder.asked[0][1] == messages.DescribeProducersRequest(topics=wanted)
    assert recorder.asked[1] == dict.fromkeys((1, 2), messages.ListTransactionsRequest(producer_id_filters=(10, 13)))
    assert recorder.asked[2] == {1: messages.DescribeTransactionsRequest(transactional_ids=("tx-10", "tx-13"))}


@pytest.mark.parametrize(
    ("state", "transactional_id", "started_ms"),
    [
        (described(10, 500, "a", 0, 1), "tx-10", 500),
        (described(10, 0, "a", 0), "tx-10", 0),
        (described(10, -1, "a", 0), "tx-10", 999),
        # The coordinator's transaction is another one: nothing ends the one in this partition.
        (described(10, 500, "a", 1), "", 999),
        (described(10, 500, "b", 0), "", 999),
        (described(10, 500, "a", 0, error=105), "", 999),
        (described(11, 500, "a", 0), "", 999),
        (MetashellError("down"), "", 999),
    ],
)
def test_a_coordinator_knows_a_transaction_or_does_not(state: Any, transactional_id: str, started_ms: int) -> None:
    recorder = Recorder({1: producers(("a", 0, 10, 0, 999))}, {1: listed("tx-10")}, {1: state})
    ((one,),) = topics.long_transactions(admin(recorder), {1: {"a": (0,)}}, 1000).values()
    assert (one.transactional_id, one.started_ms, bool(one.state)) == (transactional_id, started_ms, bool(transactional_id))


def test_coordinators_are_asked_only_about_what_is_too_long() -> None:
    recorder = Recorder({1: producers(("a", 0, 10, 0, 1), error=3)})
    assert topics.long_transactions(admin(recorder), {1: {"a": (0,)}}, 1000) == {1: ()}
    assert len(recorder.asked) == 1
    recorder = Recorder({1: producers(("a", 0, 10, 0, 1))}, {1: listed()})
    assert len(topics.long_transactions(admin(recorder), {1: {"a": (0,)}}, 1000)[1]) == 1
    assert len(recorder.asked) == 2
    assert (OPEN_MAX_MS, topics.PARTITIONS_MAX, topics.NAME_MAX) == (900_000, 20_000, 249)
