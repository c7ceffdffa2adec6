"""Controllers that are registered and have no vote: who holds back an upgrade, who only waits, who surely runs."""

from __future__ import annotations

from metashell.metadata.checks.facts import QuorumAnswers, Replica
from metashell.metadata.checks.rules.metadata import lowest_maxima, registered_nodes
from tests.metadata.checks.situations import broker, controller, facts_of, found, leader, level, told

BASE = (level("metadata.version", 25), leader(1, (1, 2, 5)), controller(1), controller(2), controller(5), broker(11))


def fetching(*observers: int) -> QuorumAnswers:
    return QuorumAnswers(
        leader_id=1,
        voters=tuple(Replica(id, None, 10, 1, 1) for id in (1, 2, 5)),
        observers=tuple(Replica(id, None, 10, 1, 1) for id in observers),
    )


def test_a_registration_that_nobody_runs_and_that_refuses_an_upgrade_is_bad() -> None:
    facts = facts_of(*BASE, controller(3, 25))
    (one,) = found(facts, "stale_controller")
    assert one.name == "controller 3"
    assert "supports metadata.version 7 to 25 (4.0-IV3), the voters are 1, 2, 5" in one.cause
    assert "refused: metadata.version 30 (4.3-IV0)" in one.cause
    assert [(place.offset, place.timestamp_ms) for place in one.evidence] == [(6, 1_760_000_006_000)]
    assert "start controller 3 once with Kafka 4.3 or later" in one.steps[0]
    assert "metashell quorum unregister-controller 3" in one.steps[1] and "4.4-IV2" in one.steps[1]
    assert found(facts, "holds_upgrade") == [] and found(facts, "registered_without_vote") == []


def test_where_the_level_knows_it_the_registration_can_be_taken_away() -> None:
    base = (level("metadata.version", 33), *BASE[1:2], controller(1, 34), controller(2, 34), controller(5, 34), broker(11, 34))
    (one,) = found(facts_of(*base, controller(3, 33)), "stale_controller")
    assert one.steps[0] == "where controller 3 is gone for good: metashell quorum unregister-controller 3"


def test_one_that_holds_nothing_back_is_told_and_not_bad() -> None:
    facts = facts_of(*BASE, controller(3))
    assert found(facts, "stale_controller") == []
    assert [name for name, _ in told(facts, "registered_without_vote")] == ["controller 3"]


def test_one_that_fetches_or_serves_as_broker_is_an_observer_and_quiet() -> None:
    for spare in (controller(3), controller(3, 25)):
        for facts in (facts_of(*BASE, spare, quorum=fetching(3, 11)), facts_of(*BASE, spare, broker(3))):
            assert found(facts, "stale_controller") == found(facts, "registered_without_vote") == []


def test_a_live_quorum_says_that_it_does_not_fetch() -> None:
    (one,) = found(facts_of(*BASE, controller(3, 25), quorum=fetching(11)), "stale_controller")
    assert "it does not fetch either" in one.cause


def test_without_known_voters_nobody_is_accused_and_voters_never_are() -> None:
    nobody = facts_of(level("metadata.version", 25), controller(1), controller(3, 25), broker(11))
    for facts in (nobody, facts_of(*BASE)):
        assert found(facts, "stale_controller") == found(facts, "registered_without_vote") == []


def test_a_fenced_broker_that_holds_back_an_upgrade_may_be_unregistered() -> None:
    facts = facts_of(*BASE, broker(12, 25, fenced=True), broker(13, 25))
    down, up = found(facts, "holds_upgrade")
    assert (down.name, up.name) == (
        "broker 12: metadata.version 25 (4.0-IV3) at most, others 30 (4.3-IV0); it is fenced",
        "broker 13: metadata.version 25 (4.0-IV3) at most, others 30 (4.3-IV0)",
    )
    assert down.steps == ("where broker 12 is gone for good: metashell brokers unregister 12",) and not up.steps


def test_the_lowest_maximum_is_that_of_all_that_are_registered() -> None:
    lowest = lowest_maxima(registered_nodes(facts_of(*BASE, controller(3, 25)).image))
    assert lowest["metadata.version"] == (25, ("controller 3",))
    assert lowest_maxima(registered_nodes(facts_of(*BASE).image))["metadata.version"] == (30, ())
