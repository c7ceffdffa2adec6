"""The golden conversations over a listener: what travels as frames and images comes to the same as in memory."""

from __future__ import annotations

import asyncio

import pytest

from tests.groups.canon import differences
from tests.groups.golden import scenarios
from tests.groups.server.listener_player import ListenerPlayer

ELSEWHERE = {"ShareGroupHeartbeat", "StreamsGroupHeartbeat"}
"""What needs a share coordinator, or internal topics, at times that the player decides."""
NAMES = sorted(
    name
    for name, row in scenarios().items()
    if not any("restart" in step or step.get("send", {}).get("api") in ELSEWHERE for step in row["steps"])
)
SOME = {
    "two-members",
    "static-leader-skips",
    "txn-commit",
    "worked-trace",
    "regex",
    "upgrade-and-downgrade",
    "topic-deleted",
    "life-join-v0",
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in SOME else pytest.mark.golden) for name in NAMES])
def test_a_conversation_over_a_listener_goes_as_with_kafka(name: str) -> None:
    golden = scenarios()[name]
    with asyncio.Runner() as runner:
        player = ListenerPlayer(golden, runner.get_loop())
        try:
            assert differences(golden, player.play()) == []
        finally:
            player.close()
