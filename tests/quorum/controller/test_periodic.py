"""What the active controller does by itself: each task at its time, in steps."""

from __future__ import annotations

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import NONE, NOT_CONTROLLER
from metashell.quorum.controller import elections
from tests.quorum.controller.cluster import Cluster
from tests.seeds import shows


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
