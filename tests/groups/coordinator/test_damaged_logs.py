"""A coordinator begins with any log, whatever is left of it: cut anywhere, compacted, with parts missing or in another order."""

from __future__ import annotations

import random

import pytest

from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard, Written
from metashell.groups.decision import Record
from metashell.groups.log import key_bytes
from tests.groups.driven import SeededChance
from tests.groups.golden import BEGUN_MS, Player, scenarios
from tests.groups.profiles import PROFILES
from tests.groups.random_requests import RandomRequests
from tests.quick import quick

HOUR_MS = 3_600_000
NAMES = sorted(scenarios())


def records_of(player: Player) -> list[Record]:
    return [record for batch in player.shard.written for record in batch.records]


def begin(player: Player, records: list[Record], chance: random.Random) -> None:
    """Load it, ask whatever there is to ask, and let every timer run."""
    written = [Written(offset, BEGUN_MS, (record,)) for offset, record in enumerate(records)]
    settings = PROFILES[player.golden["profile"]]
    now_ms = BEGUN_MS + 1000
    shard = Shard(GroupCoordinator(settings, SeededChance(), player.shard.coordinator.state.topics), written, now_ms)
    requests = RandomRequests(shard.coordinator, chance)
    group_ids = sorted(shard.coordinator.state.groups)
    requests.member_ids += [member for group in shard.coordinator.state.groups.values() for member in getattr(group, "members", ())]
    for number in range(20):
        request = requests.draw(number)
        if group_ids and hasattr(request.body, "group_id"):
            request.body.group_id = chance.choice(group_ids)
        shard.submit(request, now_ms)
        shard.run_due(now_ms)
        now_ms += 500
    shard.run_due(now_ms + HOUR_MS)
    for group in shard.coordinator.state.groups.values():
        group.summary()
        group.description(shard.coordinator.state.topics)


@pytest.mark.parametrize("part", quick(range(8), 2))
def test_a_log_of_which_parts_are_left_is_loaded(part: int) -> None:
    for name in NAMES[part::8]:
        player = Player(scenarios()[name])
        player.play()
        records = records_of(player)
        chance = random.Random(name)
        for _ in range(3):
            begin(player, records[: chance.randint(0, len(records))], chance)
        last = {key_bytes(record): offset for offset, record in enumerate(records)}
        compacted = [record for offset, record in enumerate(records) if last[key_bytes(record)] == offset]
        begin(player, compacted, chance)
        begin(player, [record for record in compacted if record.value is not None], chance)
        begin(player, records[chance.randint(0, len(records)) :], chance)
        begin(player, [record for record in records if chance.random() < 0.5], chance)
        begin(player, chance.sample(records, len(records)), chance)
