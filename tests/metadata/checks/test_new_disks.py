"""A broker that came back with a new disk is another observer to the leader, which tells of the former one for five minutes more."""

from __future__ import annotations

from metashell.metadata.checks import Facts, judge
from metashell.metadata.checks.facts import QuorumAnswers, Replica

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
