"""Kafka 4.4.0, and so ours, elects a replica that a reassignment took away and another one brought back, though its log is empty.

The simulation of brokers found it (`tests/simulation/brokers`). Who leaves the ISR while that falls below `min.insync.replicas` is
eligible to lead, also a replica that the same change takes away; its broker deletes the log. Added again, it is still eligible.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from metashell.codec.registry import message_type
from metashell.common.values import uuid_text
from tests.interop.real_controllers import Format, RealControllers
from tests.interop.twin_history import known_fields, own_uuid
from tests.interop.twin_pair import EQUAL, InProcess, Twins
from tests.interop.twin_scripts import broker
from tests.quorum.controller.golden import Outcome
from tests.seeds import shows

pytestmark = pytest.mark.slow


class Pair:
    """A real controller and ours with four brokers, and a topic with replicas 1, 2 and 3."""

    def __init__(self, pool: RealControllers) -> None:
        self.twins = Twins(pool, InProcess, Format(), {"min.insync.replicas": "3"})
        for id in (1, 2, 3, 4):
            api, version, fields = broker(brokerId=id, incarnationId=own_uuid(str(id)), logDirs=[own_uuid(f"d{id}")])
            self.ask(api, version, fields)
        for id in (1, 2, 3, 4):
            self.beat(id)
        topic = {"name": "t", "numPartitions": -1, "replicationFactor": -1, "configs": []}
        topic["assignments"] = [{"partitionIndex": 0, "brokerIds": [1, 2, 3]}]
        self.ask("CreateTopics", 7, {"topics": [topic], "timeoutMs": 60_000})

    @property
    def image(self) -> Any:
        return self.twins.ours.controller.state.image

    def ask(self, api: str, version: int, fields: dict[str, Any]) -> Outcome:
        message = message_type("request", f"{api}Request")
        return self.twins.send(api, version, known_fields(message, message.schema, fields, version))

    def beat(self, id: int, *, want_fence: bool = False) -> Outcome:
        epoch = self.image.cluster.brokers[id].epoch
        fields = {"brokerId": id, "brokerEpoch": epoch, "currentMetadataOffset": self.twins.ours.end_offset - 1, "wantFence": want_fence}
        return self.ask("BrokerHeartbeat", 1, fields)

    def reassign(self, *ids: int) -> Outcome:
        topics = [{"name": "t", "partitions": [{"partitionIndex": 0, "replicas": list(ids)}]}]
        return self.ask("AlterPartitionReassignments", 0, {"timeoutMs": 60_000, "topics": topics})

    def report_isr(self, *ids: int) -> Outcome:
        topic = self.image.topics.by_name["t"]
        partition = topic.partitions[0]
        asked = {
            "partitionIndex": 0,
            "leaderEpoch": partition.leader_epoch,
            "partitionEpoch": partition.partition_epoch,
            "newIsrWithEpochs": [{"brokerId": id, "brokerEpoch": -1} for id in ids],
        }
        leader = self.image.cluster.brokers[partition.leader]
        topics = [{"topicId": uuid_text(topic.id), "partitions": [asked]}]
        return self.ask("AlterPartition", 3, {"brokerId": leader.id, "brokerEpoch": leader.epoch, "topics": topics})


def change(side: dict[str, Any]) -> dict[str, Any]:
    """The fields of the one change of a partition among the records."""
    (record,) = [record for record in side["records"] if record["type"] == "PARTITION_CHANGE_RECORD"]
    return dict(record["data"])


@shows("KIP-966/no-replica")
def test_a_replica_that_came_back_with_an_empty_log_is_elected_by_kafka_and_by_ours(tmp_path: Path) -> None:
    pair = Pair(RealControllers(tmp_path))
    pair.reassign(1, 2, 4)
    pair.beat(2, want_fence=True)
    away = pair.report_isr(1, 3, 4)
    assert all(outcome.verdict in EQUAL for outcome in pair.twins.outcomes)
    assert (change(away.golden)["replicas"], change(away.golden)["eligibleLeaderReplicas"]) == ([1, 2, 4], [2, 3])

    back = pair.reassign(1, 2, 3)
    pair.beat(4, want_fence=True)
    alone = pair.beat(1, want_fence=True)
    pair.twins.close()

    assert all(outcome.verdict in EQUAL for outcome in pair.twins.outcomes)
    assert (change(back.golden)["addingReplicas"], change(alone.golden)["leader"], change(alone.golden)["isr"]) == ([3], 3, [3])
