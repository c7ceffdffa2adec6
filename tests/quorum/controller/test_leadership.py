"""Activation, transactions, and leadership that comes and goes."""

from __future__ import annotations

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import NOT_CONTROLLER
from metashell.codec.releases import METADATA_VERSION
from metashell.quorum.controller import Decision, Purgatory, QuorumController, hints
from metashell.quorum.controller.decision import feature_level_record
from tests.quorum.controller.cluster import Cluster
from tests.seeds import shows


def names(records: object) -> list[str]:
    return [type(record).__name__ for record, _ in records]  # type: ignore[attr-defined]


@shows("KIP-631/not-in-document")
def test_an_empty_log_gets_the_bootstrap_records_in_a_transaction_where_there_are_transactions() -> None:
    with_transactions = Cluster(level=30)
    without = Cluster(level=7, elr=0)

    first = [type(record).__name__ for _, batch in with_transactions.log for record, _ in batch]
    assert first == ["BeginTransactionRecord", "FeatureLevelRecord", "FeatureLevelRecord", "ConfigRecord", "EndTransactionRecord"]
    assert [type(record).__name__ for _, batch in without.log for record, _ in batch] == ["FeatureLevelRecord"]


def test_a_bootstrap_that_was_written_by_halves_is_aborted_and_begun_again() -> None:
    cluster = Cluster()
    controller = QuorumController(cluster.settings, cluster.chance, [feature_level_record(METADATA_VERSION, 30)])
    halves = [(messages.BeginTransactionRecord(name="Bootstrap records"), 0), feature_level_record(METADATA_VERSION, 30)]
    controller.replay(halves, 0)
    controller.commit(1)
    assert controller.image.features.metadata_version is None
    assert controller.stable_offset == -1

    decision = controller.claim(2, 2, 0)

    assert names(decision.records) == ["AbortTransactionRecord", "BeginTransactionRecord", "FeatureLevelRecord", "EndTransactionRecord"]
    controller.replay(list(decision.records), 2)
    controller.commit(5)
    assert controller.image.features.metadata_version == 30
    assert controller.stable_offset == 5


@shows("KIP-631/uncommitted")
def test_what_is_not_committed_is_forgotten_with_leadership_and_comes_back_if_the_next_leader_keeps_it() -> None:
    cluster = Cluster()
    cluster.register(1, 2)
    before = cluster.controller.image
    made = messages.CreateTopicsRequest
    topic = made.CreatableTopic(name="t", num_partitions=1, replication_factor=2)
    decision = cluster.decide(19, 7, made(topics=(topic,), timeout_ms=1000))
    cluster.write(decision, commit=False)
    assert "t" in cluster.state.image.topics.by_name
    assert "t" not in cluster.controller.image.topics.by_name

    cluster.controller.renounce()

    assert cluster.state.image is before
    answer = cluster.decide(19, 7, made(topics=(topic,), timeout_ms=1000)).answer
    assert answer.topics[0].error_code == NOT_CONTROLLER
    cluster.controller.replay(decision.records, cluster.end_offset - len(decision.records))
    cluster.controller.commit(cluster.end_offset - 1)
    assert "t" in cluster.controller.image.topics.by_name
    assert cluster.state.hints.of_broker(1)


def test_an_answer_without_records_waits_for_what_others_wrote() -> None:
    purgatory: Purgatory[str] = Purgatory()
    purgatory.add(7, "writes")
    purgatory.add(3, "reads what the other wrote")

    assert purgatory.complete_to(6) == []
    assert purgatory.complete_to(7) == ["writes", "reads what the other wrote"]
    assert purgatory.take_all() == []


@shows("KIP-631/failover")
def test_a_new_leader_gives_every_live_broker_a_whole_session() -> None:
    cluster = Cluster({"broker.session.timeout.ms": "1000"})
    cluster.register(1)
    cluster.controller.renounce()
    cluster.now_ms = 5000
    cluster.write(cluster.controller.claim(2, cluster.end_offset, cluster.now_ms))

    epoch = cluster.state.image.cluster.brokers[1].epoch
    assert cluster.state.heartbeats.has_session(1, epoch, 6000)
    assert not cluster.state.heartbeats.has_session(1, epoch, 6001)


@pytest.mark.parametrize("record", [messages.EndTransactionRecord(), messages.AbortTransactionRecord()])
def test_a_transaction_that_never_began_cannot_end(record: object) -> None:
    from metashell.metadata.image import ReplayError

    with pytest.raises(ReplayError, match="never began"):
        Cluster().controller.replay([(record, 0)], 100)


def test_a_topic_that_an_aborted_transaction_removed_is_found_by_its_brokers_again(monkeypatch: pytest.MonkeyPatch) -> None:
    # The room of what is gone is reclaimed at once.
    monkeypatch.setattr(hints, "_GONE_MIN", 0)
    cluster = Cluster()
    cluster.register(1, 2)
    topic_id = cluster.create("a.b", (1, 2))
    for record in (
        messages.BeginTransactionRecord(),
        messages.RemoveTopicRecord(topic_id=topic_id),
        messages.AbortTransactionRecord(),
    ):
        cluster.controller.replay([(record, 0)], cluster.end_offset)
        cluster.controller.commit(cluster.end_offset)
        cluster.end_offset += 1

    assert (topic_id, 0) in set(cluster.state.hints.of_broker(1))
    assert cluster.state.hints.colliding("a_b", cluster.state.image.topics.by_name.__contains__) == "a.b"
    cluster.beat(1, want_fence=True)
    assert cluster.state.partition(topic_id, 0).leader == 2


def test_what_raft_says_of_the_quorum_counts_in_every_view() -> None:
    cluster = Cluster()
    cluster.controller.replay([(messages.BeginTransactionRecord(), 0)], cluster.end_offset)

    cluster.state.set_quorum(None, 0)

    assert cluster.state.image.features.kraft_version == 0
    assert cluster.state.stable.features.kraft_version == 0
    cluster.controller.renounce()
    assert cluster.state.tip is cluster.state.committed


def test_a_broker_that_an_open_transaction_unfenced_is_fenced_for_the_next_leader() -> None:
    # A seed of the simulated controllers: the broker sent heartbeats for ever, and nobody wrote that it is unfenced.
    cluster = Cluster()
    assert cluster.try_register(1).error_code == 0
    cluster.write(Decision(None, [(messages.BeginTransactionRecord(name="open"), 0)]))
    assert not cluster.beat(1).is_fenced
    cluster.controller.renounce()
    cluster.write(cluster.controller.claim(2, cluster.end_offset, cluster.now_ms))

    assert cluster.state.image.cluster.brokers[1].fenced
    assert not cluster.beat(1).is_fenced
    assert not cluster.state.image.cluster.brokers[1].fenced
