"""What a heartbeat makes of a broker: the table of controller.md 12.2, and sessions."""

from __future__ import annotations

import pytest

from metashell.codec import messages
from metashell.controller.cluster.heartbeats import Heartbeats
from tests.controller.cluster import Cluster

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


def test_a_former_life_that_still_sends_does_not_keep_the_next_one_alive() -> None:
    heartbeats = Heartbeats(session_timeout_ms=100)
    heartbeats.contact(1, 7, 0)
    heartbeats.contact(1, 8, 50)
    heartbeats.contact(1, 7, 90)

    assert heartbeats.has_session(1, 8, 150)
    assert not heartbeats.has_session(1, 8, 151)
    assert heartbeats.take_expired(151) == (1, 8)
    assert heartbeats.take_expired(151) is None


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
