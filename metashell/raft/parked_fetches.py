"""Fetches that wait at the leader for more to read, for a higher high watermark, or for their time to be up."""

from __future__ import annotations

from typing import Any

from metashell.codec.error_codes import NOT_LEADER_OR_FOLLOWER
from metashell.raft import replies
from metashell.raft.connections import NEVER
from metashell.raft.parked import ParkedFetch
from metashell.raft.replica import Replica


def fail_all(node: Replica) -> None:
    """Leadership is over: every waiting fetch learns it."""
    for fetch in node.parked.take_all():
        node.reply(fetch.token, replies.fetch_error(node, NOT_LEADER_OR_FOLLOWER, fetch.listener))


def expire(node: Replica) -> int:
    """Answer those whose time is up with what was computed when they came; when the next one is due."""
    parked = node.parked
    due_ms = parked.due_ms()
    if due_ms is not None and due_ms <= node.now_ms:
        for fetch in parked.take_due(node.now_ms):
            node.reply(fetch.token, fetch.response)
        due_ms = parked.due_ms()
    return NEVER if due_ms is None else due_ms


def take(node: Replica, before_offset: int | None) -> list[ParkedFetch]:
    """Take out those that ask for what lies before an offset, or all."""
    return node.parked.take_all() if before_offset is None else node.parked.take_before(before_offset)


def forget(node: Replica, token: Any) -> None:
    """Nobody waits any more for the answers that bear a token."""
    node.parked.forget(token)
