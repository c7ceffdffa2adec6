"""Share groups in a log that Kafka wrote: what the records say is what Kafka described, and the group can be deleted."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec.registry import message_type
from metashell.groups.share import ShareGroup
from tests.groups.golden import Player, scenarios
from tests.quorum.controller.json_objects import from_json

DESCRIBED = sorted(
    name
    for name, row in scenarios().items()
    if any(step.get("send", {}).get("api") == "ShareGroupDescribe" for step in row["steps"])
    and any(record.get("type") == 10 for step in row["steps"] for record in step["records"])
)


class DescribingPlayer(Player):
    """Compares each group that Kafka describes with what our replay of its records knows."""

    compared = 0

    def _decide(self, number: int, now_ms: int) -> None:
        send = self.sends[number]
        if send["api"] == "ShareGroupDescribe":
            answer: Any = from_json(
                "response", message_type("response", "ShareGroupDescribeResponse").name, self.golden_replies[number]["json"]
            )
            for described in answer.groups:
                self._compare(described)
        super()._decide(number, now_ms)

    def _compare(self, described: Any) -> None:
        group = self.shard.coordinator.state.groups.get(described.group_id)
        if described.error_code:
            assert not isinstance(group, ShareGroup)
            return
        assert isinstance(group, ShareGroup)
        self.compared += 1
        found = group.description(self.shard.coordinator.state.topics)
        assert (found.summary.state, group.epoch, group.assignment_epoch) == (
            described.group_state,
            described.group_epoch,
            described.assignment_epoch,
        )
        theirs = {
            member.member_id: (
                member.member_epoch,
                tuple(sorted(member.subscribed_topic_names)),
                {part.topic_name: part.partitions for part in member.assignment.topic_partitions},
            )
            for member in described.members
        }
        assert {member.member_id: (member.epoch, member.topics, dict(member.assigned)) for member in found.members} == theirs


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_log_says_of_a_share_group_what_kafka_described(name: str) -> None:
    player = DescribingPlayer(scenarios()[name])
    player.play()
    assert player.compared
    assert player.shard.coordinator.state.findings == []
