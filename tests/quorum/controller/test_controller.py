"""Activation, transactions, and leadership that comes and goes.
What the active controller does by itself: each task at its time, in steps.
The table of APIs is what the schemas of the requests say of controllers."""

from __future__ import annotations

import random

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import NONE, NOT_CONTROLLER
from metashell.codec.registry import message_names, message_type
from metashell.codec.releases import METADATA_VERSION
from metashell.metadata.image import Voter, VoterSet
from metashell.quorum.controller import Decision, Purgatory, QuorumController, Request, Settings, elections, hints
from metashell.quorum.controller.authorizer import APIS
from metashell.quorum.controller.controller import ROUTES
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
    for record in (messages.ConfigRecord(resource_type=4, resource_name="", name="a", value="1"), messages.BeginTransactionRecord()):
        cluster.controller.replay([(record, 0)], cluster.end_offset)
        cluster.end_offset += 1

    cluster.state.set_quorum(None, 0)

    assert cluster.state.tip.before_transaction is not None, "the newest view stays the newest"
    assert cluster.state.image.configs[4, ""]["a"] == "1"

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


def run_to(cluster: Cluster, now_ms: int) -> list[str]:
    """The names of the records that periodic tasks write until then."""
    return [type(record).__name__ for record, _ in cluster.wait_to(now_ms)]


def quiet(**config: str) -> Cluster:
    """A cluster whose brokers' sessions do not end during a test."""
    settings = {"metadata.max.idle.interval.ms": "0", "broker.session.timeout.ms": "100000000"}
    return Cluster(settings | {key.replace("_", "."): value for key, value in config.items()})


def test_preferred_replicas_lead_again_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elections, "ELECTIONS_MAX", 2)
    cluster = quiet()
    cluster.register(1, 2)
    topic_id = cluster.create("t", (1, 2), (1, 2), (1, 2))
    cluster.beat(1, want_fence=True)
    cluster.beat(1)
    made = messages.AlterPartitionRequest
    broker = cluster.state.image.cluster.brokers[2]
    parts = []
    for index in range(3):
        partition = cluster.state.partition(topic_id, index)
        isr = tuple(made.BrokerState(broker_id=id, broker_epoch=-1) for id in (1, 2))
        parts.append(
            made.PartitionData(
                partition_index=index,
                leader_epoch=partition.leader_epoch,
                partition_epoch=partition.partition_epoch,
                new_isr_with_epochs=isr,
            )
        )
    topics = (made.TopicData(topic_id=topic_id, partitions=tuple(parts)),)
    cluster.ask(56, 3, made(broker_id=2, broker_epoch=broker.epoch, topics=topics))
    assert {cluster.state.partition(topic_id, index).leader for index in range(3)} == {2}

    written = run_to(cluster, 300_010)

    assert written == ["PartitionChangeRecord"] * 3
    assert {cluster.state.partition(topic_id, index).leader for index in range(3)} == {1}
    assert not list(elections.PartitionChanges(cluster.state).unpreferred())
    assert cluster.state.hints.unpreferred == {}


def test_at_each_check_a_live_replica_leads_what_nobody_leads_where_the_topic_allows_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elections, "ELECTIONS_MAX", 2)
    cluster = Cluster(
        {
            "metadata.max.idle.interval.ms": "0",
            "broker.session.timeout.ms": "100000000",
            "unclean.leader.election.interval.ms": "60000",
            "auto.leader.rebalance.enable": "false",
        },
        elr=0,
    )
    cluster.register(1, 2)
    allowing, strict = (cluster.create(name, *[(1, 2)] * 3) for name in ("allowing", "strict"))
    for id in (2, 1):
        cluster.beat(id, want_fence=True)
    cluster.beat(2)

    def leaders() -> list[list[int]]:
        return [[cluster.state.partition(topic_id, index).leader for index in range(3)] for topic_id in (allowing, strict)]

    assert leaders() == [[-1] * 3, [-1] * 3], "who is not in sync does not lead by coming back"
    assert run_to(cluster, 60_000) == []
    made = messages.IncrementalAlterConfigsRequest
    change = made.AlterableConfig(name="unclean.leader.election.enable", config_operation=0, value="true")
    cluster.ask(44, 1, made(resources=(made.AlterConfigsResource(resource_type=2, resource_name="allowing", configs=(change,)),)))
    assert run_to(cluster, 119_999) == []

    assert run_to(cluster, 120_000) == ["PartitionChangeRecord"] * 2
    assert run_to(cluster, 120_009) == [], "what is left is done a moment later"
    assert run_to(cluster, 120_010) == ["PartitionChangeRecord"]

    assert leaders() == [[2] * 3, [-1] * 3]
    partition = cluster.state.partition(allowing, 0)
    assert (partition.isr, partition.leader_recovery_state) == ((2,), 1)
    assert run_to(cluster, 600_000) == []
    assert set(cluster.state.hints.leaderless) == {(strict, index) for index in range(3)}


@shows("KIP-631/not-in-document")
def test_an_idle_log_gets_a_record_that_says_nothing_at_every_interval() -> None:
    cluster = Cluster({"metadata.max.idle.interval.ms": "500"})

    assert run_to(cluster, 2000) == ["NoOpRecord"] * 4


def test_tokens_whose_time_is_over_are_swept() -> None:
    cluster = quiet(delegation_token_secret_key="secret")
    body = messages.CreateDelegationTokenRequest(max_lifetime_ms=1000)
    answer = cluster.ask(38, 3, body, principal="User:alice", is_forwarded=True)
    assert answer.error_code == NONE
    assert answer.token_id in cluster.controller.image.delegation_tokens

    assert run_to(cluster, 3_600_000) == ["RemoveDelegationTokenRecord"]

    assert not cluster.controller.image.delegation_tokens


def test_a_deposed_controller_has_nothing_to_do_and_says_so_in_the_envelope_too() -> None:
    cluster = quiet()
    cluster.controller.renounce()
    cluster.controller.note_leader(3001)
    assert cluster.controller.next_due_ms() is None
    assert cluster.controller.run_due(1 << 40) is None
    # Key 64, UnregisterBroker: a flexible header and the broker's id.
    data = b"\0\x40\0\0\0\0\0\x07\0\1c\0" + b"\0\0\0\1\0"
    body = messages.EnvelopeRequest(request_data=data, request_principal=b"\0\0\x05User\x0aANONYMOUS\0\0", client_host_address=bytes(4))

    answer = cluster.ask(58, 0, body)

    assert (answer.error_code, answer.response_data) == (NOT_CONTROLLER, None)
    direct = cluster.ask(64, 0, messages.UnregisterBrokerRequest(broker_id=1))
    assert (direct.error_code, direct.error_message) == (NOT_CONTROLLER, "The active controller appears to be node 3001.")


ANSWERED_ELSEWHERE = {"Fetch", "SaslHandshake", "SaslAuthenticate", "Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "Envelope"} | {
    *("FetchSnapshot", "UpdateRaftVoter", "DescribeDelegationToken", "DescribeUserScramCredentials"),
}


@shows("KIP-631/api-keys")
def test_names_keys_and_versions_are_those_of_the_schemas() -> None:
    for key, api in APIS.items():
        message = message_type("request", f"{api.name}Request")
        assert message.key == key, api
        assert (message.versions[0] <= api.low) and (api.high <= message.versions[1]), api


def test_every_request_for_controllers_is_listed() -> None:
    listed = {api.name for api in APIS.values()}
    wanted = set()
    for name in message_names("request"):
        message = message_type("request", name)
        if "controller" in message.schema.listeners:
            wanted.add(name.removesuffix("Request"))

    assert wanted <= listed


def test_every_api_has_a_route_or_somebody_else_who_answers() -> None:
    assert {api.name for key, api in APIS.items() if key not in ROUTES} == ANSWERED_ELSEWHERE
    assert set(ROUTES) <= set(APIS)


def test_nothing_is_finalized_before_the_first_metadata_is_there() -> None:
    controller = QuorumController(Settings({}, "cluster", 1), random.Random(1))
    controller.state.set_quorum(VoterSet(0, (Voter(1, bytes(16)),)), 1)

    body = messages.ApiVersionsRequest(client_software_name="a", client_software_version="1")
    answer = controller.decide(Request(18, 4, body), 0).answer

    assert (answer.finalized_features, answer.finalized_features_epoch) == ((), -1)
    assert "kraft.version" in {one.name for one in answer.supported_features}
