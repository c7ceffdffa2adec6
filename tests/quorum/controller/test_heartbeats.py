"""What a heartbeat makes of a broker: the table of controller.md 12.2, and sessions."""

from __future__ import annotations

import pytest

from metashell.codec import messages
from metashell.codec.error_codes import CLUSTER_AUTHORIZATION_FAILED
from metashell.quorum.controller import Decision, Request
from metashell.quorum.controller.brokers import fence_stale_broker
from metashell.quorum.controller.decision import finish_steps
from metashell.quorum.controller.elections import PartitionChanges
from metashell.quorum.controller.leader_state import Heartbeats
from tests.quorum.controller.cluster import Cluster
from tests.seeds import shows

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
