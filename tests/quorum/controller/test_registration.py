"""How brokers come into the cluster and out of it: lives, epochs, refusals, and what is unregistered."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import (
    BROKER_ID_NOT_REGISTERED,
    DUPLICATE_BROKER_REGISTRATION,
    INCONSISTENT_CLUSTER_ID,
    INVALID_REGISTRATION,
    NONE,
    STALE_BROKER_EPOCH,
    UNSUPPORTED_VERSION,
)
from metashell.quorum.controller import Settings
from metashell.quorum.controller.decision import SUPPORTED_FEATURES
from metashell.quorum.controller.settings import config_keys
from tests.quorum.controller.cluster import CLUSTER_ID, Cluster
from tests.seeds import shows

REGISTRATION, HEARTBEAT, UNREGISTER = 62, 63, 64


def registration(life: int = 1, **changes: Any) -> messages.BrokerRegistrationRequest:
    made = messages.BrokerRegistrationRequest
    fields: dict[str, Any] = {
        "broker_id": 1,
        "cluster_id": CLUSTER_ID,
        "incarnation_id": bytes([life]) * 16,
        "listeners": (made.Listener(name="PLAINTEXT", host="h", port=9092),),
        "features": tuple(
            made.Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in SUPPORTED_FEATURES.items()
        ),
        "rack": None,
        "log_dirs": (bytes([9]) * 16,),
        "previous_broker_epoch": -1,
    }
    return made(**(fields | changes))


def register(cluster: Cluster, body: Any) -> Any:
    return cluster.ask(REGISTRATION, 4, body)


def beat(cluster: Cluster, epoch: int, **changes: Any) -> Any:
    fields = {"broker_id": 1, "broker_epoch": epoch, "current_metadata_offset": cluster.end_offset - 1} | changes
    return cluster.ask(HEARTBEAT, 2, messages.BrokerHeartbeatRequest(**fields))


def plain() -> Cluster:
    return Cluster({"metadata.max.idle.interval.ms": "0"}, elr=0)


@shows("KIP-631/broker-epoch", "KIP-631/registered-fenced", "KIP-343/incarnation", "KIP-343/registration")
def test_an_epoch_is_the_offset_that_came_next_and_only_grows() -> None:
    cluster = plain()
    next_offset = cluster.end_offset

    first = register(cluster, registration(1)).broker_epoch

    assert first == next_offset
    broker = cluster.controller.image.cluster.brokers[1]
    assert (broker.epoch, broker.fenced) == (first, True)
    assert register(cluster, registration(2)).broker_epoch > first


@shows("KIP-631/resent-registration")
def test_the_same_life_registers_again_under_the_epoch_that_it_has() -> None:
    cluster = plain()
    first = register(cluster, registration(1)).broker_epoch
    beat(cluster, first)

    again = register(cluster, registration(1, rack="r"))

    broker = cluster.controller.image.cluster.brokers[1]
    assert (again.error_code, again.broker_epoch) == (NONE, first)
    assert (broker.rack, broker.fenced) == ("r", False)


@shows("KIP-631/duplicate-id", "KIP-631/contact", "KIP-343/higher-incarnation")
def test_another_life_is_refused_while_the_session_of_the_one_before_lasts() -> None:
    cluster = plain()
    epoch = register(cluster, registration(1)).broker_epoch
    assert register(cluster, registration(2)).error_code == NONE, "who never sent a heartbeat blocks nobody"
    epoch = cluster.controller.image.cluster.brokers[1].epoch
    beat(cluster, epoch, want_fence=True)
    cluster.now_ms += cluster.settings.session_timeout_ms

    assert register(cluster, registration(3)).error_code == DUPLICATE_BROKER_REGISTRATION, "also by a fenced broker's heartbeat"
    cluster.now_ms += 1
    assert register(cluster, registration(3)).error_code == NONE


@shows("KIP-631/stale-epoch", "KIP-343/invalid-incarnation")
def test_a_former_life_is_told_that_its_epoch_is_stale() -> None:
    cluster = plain()
    former = register(cluster, registration(1)).broker_epoch
    register(cluster, registration(2))

    assert beat(cluster, former).error_code == STALE_BROKER_EPOCH


@shows("KIP-631/cluster-id")
def test_a_broker_of_another_cluster_is_refused() -> None:
    assert register(plain(), registration(cluster_id="another")).error_code == INCONSISTENT_CLUSTER_ID


@shows("KIP-631/registration-errors", "KIP-631/migration", "KIP-631/registration-request")
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"log_dirs": ()}, INVALID_REGISTRATION),
        ({"log_dirs": (bytes(16),)}, INVALID_REGISTRATION),
        ({"log_dirs": (bytes([9]) * 16,) * 2}, INVALID_REGISTRATION),
        ({"features": ()}, INVALID_REGISTRATION),
        ({"is_migrating_zk_broker": True}, BROKER_ID_NOT_REGISTERED),
    ],
)
def test_a_registration_that_cannot_be_is_refused_and_writes_nothing(changes: dict[str, Any], code: int) -> None:
    cluster = plain()
    before = cluster.end_offset

    assert register(cluster, registration(**changes)).error_code == code
    assert cluster.end_offset == before


@shows("KIP-631/registration-errors", "KIP-631/feature-gate")
def test_a_broker_that_does_not_support_what_is_finalized_is_refused() -> None:
    made = messages.BrokerRegistrationRequest.Feature
    old = made(name="metadata.version", min_supported_version=7, max_supported_version=20)

    assert register(plain(), registration(features=(old,))).error_code == UNSUPPORTED_VERSION


@shows("KIP-631/unregister", "KIP-631/unregister-unknown")
def test_an_unregistered_broker_is_gone_and_a_second_time_there_is_none() -> None:
    cluster = plain()
    epoch = register(cluster, registration()).broker_epoch
    beat(cluster, epoch)
    topic_id = cluster.create("t", (1,))
    body = messages.UnregisterBrokerRequest(broker_id=1)

    assert cluster.ask(UNREGISTER, 0, body).error_code == NONE

    assert 1 not in cluster.controller.image.cluster.brokers
    assert (cluster.state.partition(topic_id, 0).leader, cluster.state.partition(topic_id, 0).replicas) == (-1, (1,))
    assert beat(cluster, epoch).error_code == STALE_BROKER_EPOCH
    assert cluster.ask(UNREGISTER, 0, body).error_code == BROKER_ID_NOT_REGISTERED


@shows("KIP-631/fence-records")
def test_fencing_takes_a_broker_out_of_isrs_by_records_of_their_own_before_its_own() -> None:
    cluster = Cluster()
    cluster.register(1, 2)
    topic_id = cluster.create("t", (1, 2))
    begin = cluster.end_offset

    cluster.beat(1, want_fence=True)

    written = [type(record).__name__ for base, batch in cluster.log for record, _ in batch if base >= begin]
    assert written == ["PartitionChangeRecord", "BrokerRegistrationChangeRecord"]
    assert (cluster.state.partition(topic_id, 0).leader, cluster.state.partition(topic_id, 0).isr) == (2, (2,))


@shows("KIP-631/defaults")
def test_the_default_times_are_todays() -> None:
    settings = Settings({}, CLUSTER_ID, 1)

    assert (settings.heartbeat_interval_ms, settings.session_timeout_ms) == (2_000, 9_000)
    assert "controller.quorum.retry.backoff.max.ms" not in config_keys("broker")
