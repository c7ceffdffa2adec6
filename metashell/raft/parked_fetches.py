"""Fetches that wait at the leader for more to read, for a higher high watermark, or for their time to be up."""

from __future__ import annotations

from typing import Any

from metashell.raft import replies
from metashell.raft.connections import NEVER
from metashell.raft.error_codes import NOT_LEADER_OR_FOLLOWER
from metashell.raft.parked import ParkedFetch
from metashell.raft.replica import Replica


def fail_all(node: Replica) -> None:
    """Leadership is over: every waiting fetch learns it."""
    waiting, node.parked = node.parked, []
    for fetch in waiting:
        node.reply(fetch.token, replies.fetch_error(node, NOT_LEADER_OR_FOLLOWER, fetch.listener))


def expire(node: Replica) -> int:
    """Answer those whose time is up with what was computed when they came; when the next one is due."""
    if not node.parked:
        return NEVER
    now = node.now_ms
    due = min(fetch.deadline_ms for fetch in node.parked)
    if due > now:
        return due
    for fetch in [fetch for fetch in node.parked if fetch.deadline_ms <= now]:
        node.parked.remove(fetch)
        node.reply(fetch.token, fetch.response)
    return min((fetch.deadline_ms for fetch in node.parked), default=NEVER)


def take(node: Replica, before_offset: int | None) -> list[ParkedFetch]:
    """Take out those that ask for what lies before an offset, or all."""
    if before_offset is None:
        taken, node.parked = node.parked, []
        return taken
    taken = [fetch for fetch in node.parked if fetch.request.fetch_offset < before_offset]
    if taken:
        node.parked = [fetch for fetch in node.parked if fetch.request.fetch_offset >= before_offset]
    return taken


def forget(node: Replica, token: Any) -> None:
    """Nobody waits any more for the answers that bear a token."""
    node.parked = [fetch for fetch in node.parked if fetch.token != token]
