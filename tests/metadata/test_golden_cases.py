"""Problems of real clusters (tests/golden/cases): the facts that a person asks for are in what the checks find."""

from __future__ import annotations

from pathlib import Path

import pytest

from metashell.common.values import time_text
from metashell.metadata.checks import Found, judge
from metashell.metadata.checks.rules.metadata import lowest_maxima, registered_nodes
from metashell.metadata.facts import gather_facts

CASES = Path(__file__).parents[1] / "golden" / "cases"


def found(case: str, id: str) -> list[Found]:
    verdict = judge(gather_facts([str(CASES / case)]), {id})
    return [one for finding in verdict.findings for one in finding]


def test_a_registration_of_nobody_refuses_the_upgrade() -> None:
    (one,) = found("01-stale-registrations/node-1", "stale_controller")
    assert one.name == "controller 3"
    for fact in ("7 to 25 (4.0-IV3)", "the voters are 1, 2", "metadata.version 30 (4.3-IV0)"):
        assert fact in one.cause
    assert any("under this id" in step for step in one.steps) and any("unregister-controller 3" in step for step in one.steps)
    lowest = lowest_maxima(registered_nodes(gather_facts([str(CASES / "01-stale-registrations/node-1")]).image))
    assert lowest["metadata.version"] == (25, ("controller 3",))


def test_voters_that_advertise_what_nobody_reaches_are_named_with_the_offset() -> None:
    moved = [
        (one.name, one.evidence[0].offset, time_text(one.evidence[0].timestamp_ms))
        for one in found("04-wrong-advertised/node-2", "moved_voter")
    ]
    assert moved == [
        ("voter 2 at localhost:1", 120, "2026-11-27T00:27:20.343Z"),
        ("voter 3 at kafka-old.invalid:9093", 160, "2026-11-27T00:27:39.389Z"),
    ]
    assert [one.name for one in found("04-wrong-advertised/node-2", "unusable_voter_address")] == ["voter 3 at kafka-old.invalid:9093"]


@pytest.mark.parametrize(
    ("folder", "state", "word"), [("pre-migration", "PRE_MIGRATION", "registered"), ("migration", "MIGRATION", "finalised")]
)
def test_a_migration_that_is_not_finished_has_its_state_and_time(folder: str, state: str, word: str) -> None:
    (one,) = found(f"07-zk-migration/{folder}", "zk_migration")
    (evidence,) = one.evidence
    assert (one.name, evidence.offset, time_text(evidence.timestamp_ms)) == (state, 3, "2026-11-27T00:24:06.987Z")
    assert word in one.cause


def test_throttles_that_were_left_behind_have_brokers_topics_rate_and_time() -> None:
    (one,) = found("13-throttles/node-1", "left_throttles")
    assert one.name == "4 brokers (1000 B/s: 101, 102, 103, 104) and 2 topics (clicks, orders)"
    assert one.cause == "a GB takes 11 d 13 h at 1000 B/s"
