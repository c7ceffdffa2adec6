"""The loop in the contract of `metashell.quorum.raft`, run as it stands there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from textwrap import dedent
from typing import Any

import metashell.quorum.raft
from metashell.quorum.raft.node import RaftNode
from metashell.quorum.raft.ready import Committed, Durable, ElectionState, LeaderChanged, Notice
from metashell.quorum.raft.replicated_log import MemoryLog
from tests.quorum.raft.pump import settings

EPOCH = 1


def the_loop() -> Callable[..., None]:
    """`drive`, from the docstring."""
    lines = (metashell.quorum.raft.__doc__ or "").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("    def drive("))
    end = next(number for number in range(start, len(lines)) if not lines[number])
    names: dict[str, Any] = {}
    exec(dedent("\n".join(lines[start:end])), names)
    loop: Callable[..., None] = names["drive"]
    return loop


class Store:
    """quorum-state, in memory."""

    def __init__(self) -> None:
        self.written: list[ElectionState] = []

    def write(self, election: ElectionState, kraft_version: int) -> Durable:
        self.written.append(election)
        return Durable(election, kraft_version)


def test_the_loop_of_the_contract_elects_a_sole_voter_and_commits_what_it_appends() -> None:
    log, store, now_ms = MemoryLog(), Store(), 1_000
    config = settings(1, static_voters={1: ("localhost", 1)})
    node = RaftNode(config, log, ElectionState(0), random=Random(7), now_ms=now_ms)
    notices: list[Notice] = []
    sent: list[object] = []
    appended: list[int] = []

    def append(now_ms: int) -> Any:
        appended.append(node.prepare_append(EPOCH, [b"value"], now_ms))
        return node.schedule_append(now_ms)

    def events() -> Any:
        yield lambda now_ms: node.register(now_ms)[1]
        while node.high_watermark is None:
            yield None
        yield append
        while node.high_watermark <= appended[0]:
            yield None
        yield partial(node.begin_shutdown, 0)

    def next_event(due_ms: int) -> Any:
        nonlocal now_ms
        now_ms = max(now_ms, due_ms)
        return next(happening)

    happening = events()
    the_loop()(node, log, store, next_event, sent.append, notices.append, lambda: now_ms)
    assert store.written[-1] == ElectionState(EPOCH, leader_id=1) and sent == []
    assert log.flushed_offset == log.end_offset == appended[0] + 1
    assert any(isinstance(notice, Committed) for notice in notices)
    assert LeaderChanged(1, 1, EPOCH) not in notices  # it has not consumed what lies before its epoch's first batch
