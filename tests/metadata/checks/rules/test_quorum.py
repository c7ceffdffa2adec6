"""Addresses of voters, and brokers that came back with a new disk: each trouble, and the quorums in which all is as it should be."""

from __future__ import annotations

import pytest

from metashell.metadata.checks import Facts, judge
from metashell.metadata.checks.facts import Probe, QuorumAnswers, Replica
from tests.metadata.checks.situations import controller, facts_of, found, leader, told, voters

SOUND = {"n1": "node-1:9093", "n2": "node-2:9093", "n3": "node-3:9093"}
LOCAL = {"n1": "localhost:9093", "n2": "localhost:9094", "n3": "127.0.0.1:9095"}
IDS = ("unusable_voter_address", "moved_voter", "same_voter_address", "voter_without_listener", "voter_registered_elsewhere")


@pytest.mark.parametrize(
    "places", [SOUND, LOCAL, {"n1": "localhost:9093"}, {"n1": "0.0.0.0:9093"}, {"n1": "10.0.0.1:9093", "n2": "[::2]:9093"}]
)
def test_sound_quorums_are_quiet(places: dict[str, str]) -> None:
    facts = facts_of(voters(**places))
    assert [found(facts, id) for id in IDS] == [[]] * len(IDS)


@pytest.mark.parametrize(
    ("place", "cause"),
    [
        ("localhost:9093", "only its own machine can reach it there"),
        ("127.0.1.1:9093", "only its own machine can reach it there"),
        ("kafka-old.invalid:9093", "no name ends in .invalid"),
        ("0.0.0.0:9093", "means every address, and none to connect to"),
        ("node-3:0", "0 is no port to connect to"),
    ],
)
def test_an_address_that_nobody_can_connect_to_is_bad(place: str, cause: str) -> None:
    facts = facts_of(voters(**SOUND), voters(**{**SOUND, "n3": place}))
    (one,) = found(facts, "unusable_voter_address")
    assert (one.name, one.cause) == (f"voter 3 at {place}", cause)
    assert [at.offset for at in one.evidence] == [1] and "controller 3" in one.steps[0]


def test_a_changed_address_is_told_with_its_offset_until_somebody_was_reached_there() -> None:
    moved = voters(**{**LOCAL, "n2": "localhost:1"})
    begun = (voters(**LOCAL), leader(1, (1, 2, 3), (1, 3)), moved, voters(**{**LOCAL, "n2": "localhost:1", "n3": "gone:9093"}))
    facts = facts_of(*begun)
    assert [(one.name, one.cause, one.evidence[0].offset) for one in found(facts, "moved_voter")] == [
        ("voter 2 at localhost:1", "before at localhost:9094", 2),
        ("voter 3 at gone:9093", "before at 127.0.0.1:9095", 3),
    ]
    # Who leads was not reached by it: the others were.
    facts = facts_of(*begun, leader(3, (1, 2, 3), (1, 3)))
    assert [name for name, _ in told(facts, "moved_voter")] == ["voter 2 at localhost:1", "voter 3 at gone:9093"]
    facts = facts_of(*begun, leader(1, (1, 2, 3), (1, 3)))
    assert [name for name, _ in told(facts, "moved_voter")] == ["voter 2 at localhost:1"]
    answers = QuorumAnswers(probes=(Probe("localhost:1", "answers", voter_id=2),))
    assert found(facts_of(*begun, leader(1, (1, 2, 3), (1, 3)), quorum=answers), "moved_voter") == []


def test_a_listener_beside_the_old_one_moves_nobody() -> None:
    """Voters that are formatted with one address tell of all of their listeners once they run."""
    grown = voters(**SOUND)
    one = grown.voters[1]
    one.endpoints = (*one.endpoints, type(one.endpoints[0])(name="SASL", host="node-2", port=9999))
    assert found(facts_of(voters(**SOUND), grown), "moved_voter") == []
    assert found(facts_of(grown, voters(**SOUND)), "moved_voter") == []


def test_a_voter_that_was_removed_and_added_anew_was_reached_where_it_is() -> None:
    moved = voters(**{**SOUND, "n2": "new:9093"})
    two = {id: place for id, place in SOUND.items() if id != "n2"}
    assert found(facts_of(voters(**SOUND), voters(**two), moved), "moved_voter") == []
    assert [name for name, _ in told(facts_of(voters(**SOUND), moved), "moved_voter")] == ["voter 2 at new:9093"]


def test_two_voters_at_one_address_name_each_other() -> None:
    facts = facts_of(voters(**{**SOUND, "n3": "node-2:9093"}))
    assert told(facts, "same_voter_address") == [
        ("voter 2 at node-2:9093", "as voter 3"),
        ("voter 3 at node-2:9093", "as voter 2"),
    ]


def test_a_voter_without_the_listener_of_the_others_is_bad() -> None:
    assert told(facts_of(voters(**{**SOUND, "n3": ""})), "voter_without_listener") == [("voter 3 at no address", "it has no CONTROLLER")]


def test_a_controller_that_registered_elsewhere_is_told_once_it_had_time_to_say_so() -> None:
    records = (voters(**SOUND), leader(1, (1, 2, 3)), controller(1, host="x"), controller(2), controller(3, host="new"))
    facts = facts_of(*records, later_s=60)
    assert told(facts, "voter_registered_elsewhere") == [("voter 3 at node-3:9093", "its controller registered new:9093")]
    assert found(facts_of(*records, later_s=1), "voter_registered_elsewhere") == []


NOW = 1_000_000
LEADER = Replica(1, b"a" * 16, 900, NOW, NOW)
FORMER = Replica(4, b"b" * 16, 770, NOW - 48_400, NOW - 48_400)
NEW = Replica(4, b"c" * 16, 900, NOW - 100, NOW - 100)


def lagging(*observers: Replica, voters: tuple[Replica, ...] = (LEADER,)) -> list[str]:
    quorum = QuorumAnswers(leader_id=1, epoch=3, voters=voters, observers=observers)
    verdict = judge(Facts(quorum=quorum), {"lagging"})
    return [found.name for finding in verdict.findings for found in finding]


def test_the_former_disk_of_a_broker_does_not_lag() -> None:
    assert not lagging(FORMER, NEW)


def test_a_broker_without_a_newer_disk_does() -> None:
    assert lagging(FORMER)
    assert lagging(FORMER, NEW._replace(id=5))
    # The other one stopped before this one did.
    assert lagging(FORMER, NEW._replace(last_fetch_ms=NOW - 90_000, last_caught_up_ms=NOW - 90_000))


def test_a_voter_whose_node_has_a_new_disk_is_none_of_the_voters_any_more() -> None:
    assert lagging(NEW, voters=(LEADER, FORMER))
