"""The timers that a member of a consumer group can have."""

from __future__ import annotations

from typing import Final

from metashell.groups.timers import Timers

SESSION: Final = "session-timeout"
REBALANCE: Final = "rebalance-timeout"
JOIN: Final = "consumer-join"
SYNC: Final = "consumer-sync"

TimerKey = tuple[str, str, str]


def timer_key(kind: str, group_id: str, member_id: str) -> TimerKey:
    return kind, group_id, member_id


def cancel_all(timers: Timers, group_id: str, member_id: str) -> None:
    for kind in (SESSION, REBALANCE, JOIN, SYNC):
        timers.cancel(timer_key(kind, group_id, member_id))
