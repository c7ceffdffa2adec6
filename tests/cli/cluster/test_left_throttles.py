"""metashell reassign status without a plan: what a tool has left behind is named, and taken away in one go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from metashell.quorum.embedded import EmbeddedQuorum
from tests.administering import lines
from tests.extra_broker import PATIENT


@pytest.fixture(scope="module")
def quorum() -> Iterator[EmbeddedQuorum]:
    with EmbeddedQuorum(controllers=1, fake_brokers=4, properties=PATIENT) as quorum:
        yield quorum


def test_what_a_tool_left_behind_is_named_and_cleared_without_its_plan(quorum: EmbeddedQuorum, tmp_path: Path) -> None:
    lines(quorum, "topics", "create", "orders", "--assignment", "101:102,102:103,101:103")
    plan = str(tmp_path / "plan.json")
    lines(quorum, "reassign", "plan", "--off", "101", "--out", plan)
    keys = ("leader.replication.throttled.replicas=*", "follower.replication.throttled.replicas=*")
    lines(quorum, "configs", "set", "topic:orders", *keys, "--yes")
    lines(quorum, "configs", "set", "broker:102", "leader.replication.throttled.rate=1000", "--yes")
    by = "metashell reassign status: "
    left = "replication is throttled though no partition is being moved: 1 broker (1000 B/s: 102) and 1 topic (orders)"
    assert lines(quorum, "reassign", "status") == [
        f"{by}no move is under way",
        f"{by}unusual: {left}; a GB takes 11 d 13 h at 1000 B/s",
        f"{by}next: metashell reassign status --clear-throttle",
    ]
    lines(quorum, "reassign", "apply", plan, "--yes")
    assert not any("throttled" in line for line in lines(quorum, "reassign", "status"))
    told = lines(quorum, "reassign", "status", "--clear-throttle", status=1)
    assert told == [f"{by}the throttles stay: 2 partitions are being moved"]
    lines(quorum, "reassign", "cancel", "--all", "--yes")
    assert lines(quorum, "reassign", "status", "--clear-throttle") == [
        "topic:orders: follower.replication.throttled.replicas=*, leader.replication.throttled.replicas=* removed",
        "broker:102: leader.replication.throttled.rate=1000 removed",
    ]
    assert lines(quorum, "reassign", "status", "--clear-throttle") == ["no throttle is set"]
    assert lines(quorum, "reassign", "status") == [f"{by}no move is under way"]
