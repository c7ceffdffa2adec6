"""Brokers, clients and controllers keep every rule, and every row of the table of heartbeats (controller.md 12) comes to what it says."""

from __future__ import annotations

from collections import Counter

import pytest

from metashell.codec import messages
from metashell.quorum.controller import Decision, Request
from tests.quorum.controller.cluster import Cluster
from tests.seeds import shows
from tests.simulation.brokers.heartbeat_table import ROWS, expect, fault, leads
from tests.simulation.test_simulation import check

SEEDS = (0, 4, 8, 10, 15, 20, 21)
"""Together they reach every row that a history of ours can reach."""
HAPPENS = (*("acknowledged with acks=all", "crashes", "cuts", "failovers", "truncations", "stale reads", "acks=1 writes that were lost"),)
LEADS_WHILE_LEAVING = 10


def beat(cluster: Cluster, id: int, rows: Counter[int]) -> messages.BrokerHeartbeatResponse:
    """Broker `id` asks to leave; what it is told, as the table says."""
    body = messages.BrokerHeartbeatRequest(
        broker_id=id,
        broker_epoch=cluster.state.image.cluster.brokers[id].epoch,
        current_metadata_offset=cluster.end_offset - 1,
        want_shut_down=True,
    )
    request = Request(63, 2, body, received_ms=cluster.now_ms)
    expected = expect(cluster.controller, request, cluster.now_ms, cluster.settings.heartbeat_interval_ms)
    decision = cluster.controller.decide(request, cluster.now_ms)
    assert fault(expected, decision, body) is None
    rows[expected.row] += 1
    answer = cluster.write(decision)
    assert isinstance(answer, messages.BrokerHeartbeatResponse)
    return answer


@shows("KIP-631/heartbeat-table")
def test_a_broker_that_leads_outside_of_the_isr_waits_until_somebody_else_leads() -> None:
    """The tenth row. No history of this controller comes to it: who leaves is taken out of every ISR, and so leads nothing. A log that was
    written otherwise does: here its leader is in no ISR."""
    rows: Counter[int] = Counter()
    cluster = Cluster()
    cluster.register(1, 2)
    topic_id = cluster.create("t", (2, 1))
    foreign = messages.PartitionChangeRecord(topic_id=topic_id, partition_id=0, isr=(1,))
    cluster.write(Decision(None, [(foreign, 2)]))
    assert leads(cluster.state.image, 2)

    assert not beat(cluster, 2, rows).should_shut_down
    assert not beat(cluster, 2, rows).should_shut_down
    assert rows[LEADS_WHILE_LEAVING] == 1 and cluster.state.image.cluster.brokers[2].in_controlled_shutdown

    cluster.write(Decision(None, [(messages.PartitionChangeRecord(topic_id=topic_id, partition_id=0, leader=1), 2)]))
    assert not beat(cluster, 2, rows).should_shut_down
    cluster.beat(1)
    assert beat(cluster, 2, rows).should_shut_down


@pytest.mark.slow
@shows("KIP-631/heartbeat-table", "KIP-631/heartbeat-request", "KIP-631/caught-up", "KIP-343/heartbeat", "KIP-343/broker-states")
@shows("KIP-631/fencing", "KIP-631/leader-epochs", "KIP-631/alter-isr", "KIP-631/lease", "KIP-343/self-fencing")
@shows("KIP-966/all-or-nothing", "KIP-966/elr")
def test_every_rule_holds_and_every_row_of_the_heartbeat_table_is_reached() -> None:
    """All rows but one in the seeds of the simulation, where each heartbeat is compared with the table."""
    counts = check("brokers", SEEDS)
    assert [what for what in HAPPENS if not counts[what]] == []
    missing = [number for number, row in enumerate(ROWS, 1) if not counts[f"row {row}"]]
    assert missing == [LEADS_WHILE_LEAVING]


def test_the_table_that_heartbeats_are_compared_with_bites() -> None:
    cluster = Cluster()
    cluster.register(1, 2)
    body = messages.BrokerHeartbeatRequest(
        broker_id=1, broker_epoch=cluster.state.image.cluster.brokers[1].epoch, current_metadata_offset=cluster.end_offset, want_fence=True
    )
    request = Request(63, 2, body)
    expected = expect(cluster.controller, request, 0, 2_000)
    right = cluster.controller.decide(request, 0)

    assert fault(expected, right, body) is None
    assert fault(expected, right._replace(records=()), body) is not None
    assert fault(expected, right._replace(answer=messages.BrokerHeartbeatResponse(is_fenced=False, is_caught_up=True)), body) is not None
