"""Our coordinator answers and writes what Kafka 4.3.1 answered and wrote, step by step, in the golden conversations.

And the log says what the coordinator knows: folded, it gives the same state, after every step and wherever it is cut.
"""

from __future__ import annotations

from typing import Any

import pytest

from metashell.groups.coordinator.coordinator import GroupCoordinator, Shard
from tests.groups.canon import differences
from tests.groups.folding import fold, logged, resting
from tests.groups.golden import Player, scenarios


class FoldingPlayer(Player):
    """Folds what is written, as it is written, and compares after every step."""

    def __init__(self, golden: dict[str, Any]) -> None:
        super().__init__(golden)
        self.folded = fold(())
        self.folded_count = 0

    def _step(self, step: dict[str, Any], now_ms: int, end_ms: int) -> None:
        super()._step(step, now_ms, end_ms)
        written = self.shard.written
        fold(written[self.folded_count :], self.folded)
        self.folded_count = len(written)
        live = logged(self.shard.coordinator.state)
        assert resting(logged(self.folded), live) == resting(live, live), step["step"]


@pytest.mark.parametrize("name", sorted(scenarios()))
def test_a_conversation_goes_as_with_kafka_and_its_log_is_the_live_state(name: str) -> None:
    golden = scenarios()[name]
    assert differences(golden, FoldingPlayer(golden).play(), is_ordered=True) == []


@pytest.mark.parametrize("name", ["worked-trace", "upgrade-and-downgrade", "regex", "static-consumers", "walk-consumer-3"])
def test_a_log_that_is_cut_after_any_batch_can_be_loaded_and_goes_on(name: str) -> None:
    player = Player(scenarios()[name])
    player.play()
    written = tuple(player.shard.written)
    for count in range(len(written) + 1):
        settings = player.shard.coordinator.context.settings
        coordinator = GroupCoordinator(settings, player.chance, player.shard.coordinator.state.topics)
        shard = Shard(coordinator, written[:count], 0)
        assert logged(coordinator.state) == logged(fold(written[:count]))
        assert coordinator.state.findings == []
        shard.run_due(10**7)
        assert all(group.is_empty for group in coordinator.state.groups.values()), "nobody was heard of"
        assert logged(fold(shard.written))["groups"].keys() == coordinator.state.groups.keys()
