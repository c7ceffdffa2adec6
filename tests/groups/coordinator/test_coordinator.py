"""Whatever a client sends is answered at once or waits, and the log says what the coordinator knows."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from metashell.codec.registry import message_names, message_type
from metashell.groups.coordinator.coordinator import HANDLERS, GroupCoordinator, Shard
from metashell.groups.decision import Answer
from metashell.groups.log import key_bytes, read_record, value_bytes
from metashell.groups.state import KindSettings, Settings
from metashell.groups.topics import KnownTopics, Topic
from tests.groups.driven import BreakableShard, SeededChance
from tests.groups.folding import REBALANCING, fold, logged
from tests.groups.random_requests import RandomRequests

REQUESTS = 40_000 if os.environ.get("METASHELL_SOAK") else 2_000
SEED = int(os.environ.get("METASHELL_SEED", "0"))
_ANSWERS = {kind.key: kind for name in message_names("response") if (kind := message_type("response", name)).key in HANDLERS}
DAY_MS = 86_400_000
_PARKING = ("JoinGroupResponse", "SyncGroupResponse", "DeleteGroupsResponse")


def topics(version: int, count: int) -> KnownTopics:
    return KnownTopics([Topic(b"t" * 16, "t", (("r",),) * 4), Topic(b"u" * 16, "u", (("r",),) * count)], version)


class Follower:
    """Folds what is written, and compares it with what lives.

    Shape: `forgotten` are groups that went without a tombstone, as Kafka forgets an empty one of another kind when a classic member joins
    with an id; until a restart, the log knows them.
    """

    def __init__(self) -> None:
        self.forgotten: set[str] = set()
        self._state = fold(())
        self._count = 0

    def check(self, shard: Shard) -> None:
        fold(shard.written[self._count :], self._state)
        self._count = len(shard.written)
        live, folded = logged(shard.coordinator.state), logged(self._state)
        assert (folded["offsets"], folded["pending"]) == (live["offsets"], live["pending"])
        for group_id, group in live["groups"].items():
            if group_id not in folded["groups"]:
                # A commit without any partition makes a group of which nothing is written, as in Kafka; somebody may be joining it.
                assert group == REBALANCING or shard.coordinator.state.groups[group_id].is_empty, group_id
            elif group_id not in self.forgotten:
                assert group == REBALANCING or group == folded["groups"][group_id], group_id
        assert self._state.groups.keys() - live["groups"].keys() <= self.forgotten


@pytest.mark.parametrize("seed", range(6))
def test_every_request_that_decodes_is_answered(seed: int) -> None:
    chance = random.Random(SEED + seed)
    kind = KindSettings(assignment_interval_ms=(0, 1000)[seed % 2])
    settings = Settings(initial_rebalance_delay_ms=(0, 3000)[seed % 2], max_size=(3, 100)[seed % 2], consumer=kind)
    ids = SeededChance(seed)
    now_ms = 1_000_000
    shard = BreakableShard(GroupCoordinator(settings, ids, topics(1, 2)), now_ms=now_ms)
    requests = RandomRequests(shard.coordinator, chance)
    waiting: dict[int, Any] = {}
    follower = Follower()
    lost: set[int] = set()

    def take(answers: list[Answer]) -> None:
        for answer in answers:
            request = waiting.pop(answer.ticket)
            _ANSWERS[request.api_key].write(answer.body, request.version)
            member_id = getattr(answer.body, "member_id", None)
            if member_id:
                requests.member_ids.append(member_id)

    for number in range(REQUESTS):
        request = requests.draw(number)
        waiting[number] = request
        group_id = getattr(request.body, "group_id", "")
        was_known, end_offset = group_id in shard.coordinator.state.groups, shard.end_offset
        take(shard.submit(request, now_ms))
        if was_known and group_id not in shard.coordinator.state.groups and end_offset == shard.end_offset:
            follower.forgotten.add(group_id)
        if number in waiting:
            assert _ANSWERS[request.api_key].name in _PARKING
        now_ms += chance.choice((0, 0, 1, 100, 3000))
        if chance.random() < 0.02:
            now_ms += 50_000
        take(shard.run_due(now_ms))
        if chance.random() < 0.01:
            deleted = {"u"} if chance.random() < 0.2 else set()
            take(shard.topics_changed(topics(number, chance.randint(1, 5)), {"u"}, deleted, now_ms))
        if seed % 3 == 0:
            shard.error = chance.choice((3, 6, 10)) if chance.random() < 0.02 else 0
        elif number % 100 == 0:
            follower.check(shard)
        if chance.random() < 0.002:
            take(shard.coordinator.unloaded(now_ms))
            lost.update(shard.dropped)
            shard = BreakableShard(GroupCoordinator(settings, ids, topics(number, 2)), tuple(shard.written), now_ms)
            requests.coordinator = shard.coordinator
            follower.forgotten.clear()
    shard.error = 0
    take(shard.run_due(now_ms + DAY_MS))
    take(shard.coordinator.unloaded(now_ms + DAY_MS))
    assert waiting.keys() <= {*lost, *shard.dropped}, "whoever waits is answered at last, or named as lost"
    for batch in shard.written:
        for record in batch.records:
            assert read_record(key_bytes(record), value_bytes(record)) == record
    for group in shard.coordinator.state.groups.values():
        group.summary()
        group.description(shard.coordinator.state.topics)
