"""How brokers come into the cluster and out of it: lives, epochs, refusals, and what is unregistered.
What a heartbeat makes of a broker: the table of controller.md 12.2, and sessions.
Controllers that register and are unregistered: what the log says of them, wherever it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import (
    BROKER_ID_NOT_REGISTERED,
    CLUSTER_AUTHORIZATION_FAILED,
    CONTROLLER_ID_NOT_REGISTERED,
    DUPLICATE_BROKER_REGISTRATION,
    INCONSISTENT_CLUSTER_ID,
    INVALID_REGISTRATION,
    INVALID_UPDATE_VERSION,
    NONE,
    STALE_BROKER_EPOCH,
    UNSUPPORTED_VERSION,
)
from metashell.codec.releases import DIRECTORY_ASSIGNMENT_LEVEL, METADATA_VERSION
from metashell.metadata.image import ReplayError
from metashell.quorum.controller import Decision, Request, Settings
from metashell.quorum.controller.brokers import fence_stale_broker
from metashell.quorum.controller.decision import SUPPORTED_FEATURES, finish_steps
from metashell.quorum.controller.elections import PartitionChanges
from metashell.quorum.controller.leader_state import Heartbeats
from metashell.quorum.controller.settings import config_keys
from tests.quorum.controller.cluster import CLUSTER_ID, NODE, Cluster
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


# What the broker is, what it wants (fence, shut down), whether it leads: is it fenced then, and may it shut down?
ROWS = [
    ("fenced", False, True, False, (True, True)),
    ("fenced", True, True, False, (True, True)),
    ("fenced", False, False, False, (False, False)),
    ("fenced", True, False, False, (True, False)),
    ("unfenced", True, True, True, (True, True)),
    ("unfenced", True, False, True, (True, False)),
    ("unfenced", False, True, True, (False, False)),
    ("unfenced", False, True, False, (True, True)),
    ("unfenced", False, False, True, (False, False)),
]


@shows("KIP-631/heartbeat-table", "KIP-343/heartbeat")
@pytest.mark.parametrize(("mode", "fence", "down", "leads", "expected"), ROWS)
def test_a_heartbeat_moves_a_broker_as_the_table_says(mode: str, fence: bool, down: bool, leads: bool, expected: tuple[bool, bool]) -> None:
    cluster = Cluster()
    cluster.register(1, 2)
    if leads:
        cluster.create("t", (1, 2))
    if mode == "fenced":
        cluster.beat(1, want_fence=True)

    answer = cluster.beat(1, want_fence=fence, want_shut_down=down)

    assert (answer.is_fenced, answer.should_shut_down) == expected


@shows("KIP-631/shutdown-offset", "KIP-631/controlled-shutdown")
def test_a_leaving_broker_goes_once_all_others_have_seen_who_leads_instead() -> None:
    cluster = Cluster()
    cluster.register(1, 2, 3)
    cluster.create("t", (1, 2))
    assert not cluster.beat(1, want_shut_down=True).should_shut_down
    cluster.beat(2)
    assert not cluster.beat(1, want_shut_down=True).should_shut_down
    cluster.beat(3)

    assert cluster.beat(1, want_shut_down=True).should_shut_down


def test_a_leaving_broker_waits_for_who_changed_its_registration_since() -> None:
    cluster = Cluster()
    cluster.register(1, 2)
    cluster.create("t", (1, 2))
    cluster.beat(1, want_shut_down=True)
    cluster.beat(2)
    # Broker 2 says which directories it wants nothing new in: a record, after which nobody knows how far it has read.
    broker = cluster.state.image.cluster.brokers[2]
    body = messages.BrokerHeartbeatRequest(
        broker_id=2, broker_epoch=broker.epoch, current_metadata_offset=cluster.end_offset - 1, cordoned_log_dirs=()
    )
    cluster.ask(63, 2, body)

    assert not cluster.beat(1, want_shut_down=True).should_shut_down
    cluster.beat(2)
    assert cluster.beat(1, want_shut_down=True).should_shut_down


@shows("KIP-631/stale-epoch")
def test_a_former_life_that_still_sends_does_not_keep_the_next_one_alive() -> None:
    heartbeats = Heartbeats(session_timeout_ms=100)
    heartbeats.contact(1, 7, 0)
    heartbeats.contact(1, 8, 50)
    heartbeats.contact(1, 7, 90)

    assert heartbeats.has_session(1, 8, 150)
    assert not heartbeats.has_session(1, 8, 151)
    assert heartbeats.expired(151) == (1, 8)
    heartbeats.forget(1, 8)
    assert heartbeats.expired(151) is None


def silent(now_ms: int) -> tuple[Cluster, bytes]:
    """A cluster at a time when broker 2 was heard of and broker 1 was not, and a topic that 1 leads."""
    others = {"auto.leader.rebalance.enable": "false", "unclean.leader.election.interval.ms": "1000000"}
    cluster = Cluster({"broker.session.timeout.ms": "1000", "metadata.max.idle.interval.ms": "0"} | others)
    cluster.register(1, 2)
    topic_id = cluster.create("t", (1, 2))
    cluster.now_ms = now_ms
    cluster.beat(2)
    return cluster, topic_id


def heartbeat(cluster: Cluster, id: int, principal: str = "User:ANONYMOUS") -> Request:
    broker = cluster.state.image.cluster.brokers[id]
    body = messages.BrokerHeartbeatRequest(broker_id=id, broker_epoch=broker.epoch, current_metadata_offset=cluster.end_offset)
    return Request(63, 2, body, principal)


def test_a_broker_that_is_heard_of_while_its_fencing_is_computed_is_not_fenced() -> None:
    cluster, _ = silent(1200)
    steps = fence_stale_broker(cluster.state, 1200)
    for number in range(200):
        cluster.create(f"t{number}", (1, 2))
    next(steps)
    cluster.controller.contact(heartbeat(cluster, 1), 1200)

    assert finish_steps(steps) == (Decision(), True)
    assert cluster.state.heartbeats.has_session(1, cluster.state.image.cluster.brokers[1].epoch, 2200)


def test_a_fencing_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, topic_id = silent(900)
    with monkeypatch.context() as broken:
        broken.setattr(PartitionChanges, "removals", lambda *_: 1 / 0)
        while cluster.controller.next_due_ms() <= 1200:
            due_ms = cluster.controller.next_due_ms()
            try:
                cluster.controller.run_due(due_ms)
            except ZeroDivisionError:
                break
    assert cluster.controller.next_due_ms() == due_ms + 300_000

    cluster.controller.contact(heartbeat(cluster, 2), due_ms + 300_000)
    cluster.write(cluster.controller.run_due(due_ms + 300_000))

    assert cluster.state.partition(topic_id, 0).leader == 2


def test_only_who_may_send_heartbeats_keeps_a_session_alive() -> None:
    cluster, _ = silent(900)

    cluster.controller.contact(heartbeat(cluster, 1, "User:mallory"), 900)
    assert cluster.ask(*heartbeat(cluster, 1)[:3], principal="User:mallory").error_code == CLUSTER_AUTHORIZATION_FAILED

    assert not cluster.state.heartbeats.has_session(1, cluster.state.image.cluster.brokers[1].epoch, 1001)


@shows("KIP-631/stale-epoch")
def test_heartbeats_of_lives_that_are_not_registered_leave_nothing_behind() -> None:
    cluster, _ = silent(900)
    broker = cluster.state.image.cluster.brokers[1]
    before = dict(cluster.state.heartbeats._contacts)
    for id, epoch in ((1, broker.epoch + 1), (9, 5), (1, -1)):
        body = messages.BrokerHeartbeatRequest(broker_id=id, broker_epoch=epoch, current_metadata_offset=0)
        cluster.controller.contact(Request(63, 2, body), 1000)

    assert cluster.state.heartbeats._contacts == before


def test_a_process_that_stood_still_does_not_fence_those_whom_it_could_not_hear() -> None:
    cluster, _ = silent(900)
    due_ms = cluster.controller.next_due_ms()

    cluster.controller.held_up(60_000 - due_ms, 60_000)
    decision = cluster.controller.run_due(60_000)

    assert decision is not None
    assert not decision.records
    assert not cluster.controller.image.cluster.brokers[2].fenced


def test_tasks_whose_turn_comes_late_prolong_no_session() -> None:
    """Heartbeats are noted while a decision goes on that makes a task late."""
    cluster, _ = silent(900)

    for now_ms in (60_000, 62_000):
        cluster.controller.contact(heartbeat(cluster, 2), now_ms)
        cluster.write(cluster.controller.run_due(now_ms))

    assert cluster.controller.image.cluster.brokers[1].fenced
    assert not cluster.controller.image.cluster.brokers[2].fenced


def test_a_hold_makes_no_contact_later_than_now() -> None:
    cluster, _ = silent(900)
    epoch = cluster.state.image.cluster.brokers[2].epoch
    cluster.controller.contact(heartbeat(cluster, 2), 60_000)

    cluster.controller.held_up(59_000, 60_000)

    assert cluster.state.heartbeats.contacted_ms(2, epoch) == 60_000


@shows("KIP-631/lease", "KIP-631/fencing", "KIP-343/controller-timeout")
def test_a_silent_broker_is_fenced_and_its_partitions_move() -> None:
    cluster = Cluster({"broker.session.timeout.ms": "1000", "metadata.max.idle.interval.ms": "0"})
    cluster.register(1, 2)
    topic_id = cluster.create("t", (1, 2))
    cluster.now_ms = 900
    cluster.beat(2)
    while (due_ms := cluster.controller.next_due_ms()) is not None and due_ms <= 1200:
        decision = cluster.controller.run_due(due_ms)
        assert decision is not None
        cluster.write(decision)

    partition = cluster.state.partition(topic_id, 0)
    assert (partition.leader, partition.isr) == (2, (2,))
    assert cluster.controller.image.cluster.brokers[1].fenced
    assert not cluster.controller.image.cluster.brokers[2].fenced


def register_controller(cluster: Cluster, id: int, newest_level: int = 33, features: Mapping[str, tuple[int, int]] = {}) -> None:
    made = messages.ControllerRegistrationRequest
    ranges = {METADATA_VERSION: (7, newest_level), **features}
    supported = tuple(
        made.Feature(name=name, min_supported_version=low, max_supported_version=high) for name, (low, high) in ranges.items()
    )
    listeners = (made.Listener(name="CONTROLLER", host=f"c{id}", port=9000),)
    body = made(controller_id=id, incarnation_id=id.to_bytes(16, "big"), listeners=listeners, features=supported)
    assert cluster.ask(70, 0, body).error_code == NONE


def unregister(cluster: Cluster, id: int) -> int:
    return int(cluster.ask(94, 0, messages.UnregisterControllerRequest(controller_id=id)).error_code)


def upgrade(cluster: Cluster, level: int) -> int:
    made = messages.UpdateFeaturesRequest
    update = made.FeatureUpdateKey(feature=METADATA_VERSION, max_version_level=level, upgrade_type=1)
    return int(cluster.ask(57, 2, made(timeout_ms=1000, feature_updates=(update,))).error_code)


def test_a_controller_that_is_unregistered_is_gone_on_standbys_too() -> None:
    cluster = Cluster()
    register_controller(cluster, 3001)
    register_controller(cluster, 3002)

    assert unregister(cluster, 3001) == NONE
    assert unregister(cluster, 3001) == CONTROLLER_ID_NOT_REGISTERED

    for image in (cluster.controller.image, cluster.standby().image):
        assert set(image.cluster.controllers) == {3002}


def test_an_unregistration_that_is_not_committed_is_undone_with_the_leadership() -> None:
    cluster = Cluster()
    register_controller(cluster, 3001)
    decision = cluster.decide(94, 0, messages.UnregisterControllerRequest(controller_id=3001))
    cluster.write(decision, commit=False)
    assert not cluster.state.image.cluster.controllers

    cluster.controller.renounce()

    assert set(cluster.state.image.cluster.controllers) == {3001}


def test_what_is_not_committed_yet_counts() -> None:
    cluster = Cluster()
    body = messages.UnregisterControllerRequest(controller_id=3001)
    register_controller(cluster, 3001)
    cluster.write(cluster.decide(94, 0, body), commit=False)

    assert cluster.decide(94, 0, body).answer.error_code == CONTROLLER_ID_NOT_REGISTERED


def test_a_controller_without_registration_stops_the_replay() -> None:
    cluster = Cluster()

    with pytest.raises(ReplayError, match="3001"):
        cluster.controller.replay([(messages.UnregisterControllerRecord(controller_id=3001), 0)], cluster.end_offset)


def test_a_registration_for_older_levels_is_in_the_way_until_the_controller_registers_anew() -> None:
    cluster = Cluster(level=32)
    register_controller(cluster, 3001, 32)

    assert upgrade(cluster, 33) == INVALID_UPDATE_VERSION
    assert unregister(cluster, 3001) == UNSUPPORTED_VERSION
    register_controller(cluster, 3001, 33)
    assert upgrade(cluster, 33) == NONE
    # From here on one that is gone for good can be unregistered, and the active one never.
    assert unregister(cluster, 3001) == NONE
    assert unregister(cluster, NODE) != NONE


@pytest.mark.parametrize(("level", "left"), [(DIRECTORY_ASSIGNMENT_LEVEL - 1, 0), (DIRECTORY_ASSIGNMENT_LEVEL, 1)])
def test_a_directory_that_is_offline_counts_from_the_level_on_that_knows_directories(level: int, left: int) -> None:
    cluster = Cluster(level=level, elr=0)
    cluster.register(1, 2)
    topic_id = cluster.create("t", (1, 2))
    broker = cluster.state.image.cluster.brokers[1]
    body = messages.BrokerHeartbeatRequest(
        broker_id=1, broker_epoch=broker.epoch, current_metadata_offset=cluster.end_offset - 1, offline_log_dirs=(bytes([2, 1]) * 8,)
    )
    assert cluster.ask(HEARTBEAT, 1, body).error_code == NONE
    assert len(cluster.state.image.cluster.brokers[1].directories) == left
    assert cluster.state.partition(topic_id, 0).leader == 1, "which of two directories it is in nobody has said"
