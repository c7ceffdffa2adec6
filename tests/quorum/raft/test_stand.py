"""Standing without waiting for an election timeout: for who starts a quorum and knows that all of it is there."""

from __future__ import annotations

from tests.quorum.raft.quorum import Quorum


def test_a_voter_that_is_asked_to_stand_leads_before_any_election_timeout() -> None:
    quorum = Quorum.dynamic([1, 2, 3])
    quorum.take(2, quorum.nodes[2].stand(quorum.now))
    assert quorum.run(50, lambda: (leader := quorum.leader()) is not None and leader.high_watermark is not None)
    assert quorum.nodes[2].state_name == "leader" and quorum.nodes[2].epoch == 1


def test_two_that_stand_at_once_elect_one_leader() -> None:
    quorum = Quorum.static([1, 2, 3])
    for id in (1, 2):
        quorum.take(id, quorum.nodes[id].stand(quorum.now))
    quorum.elect()  # the quorum of the test checks that no epoch has two


def test_a_follower_that_hears_from_its_leader_does_not_stand() -> None:
    quorum = Quorum.dynamic([1, 2, 3])
    leader = quorum.elect()
    quorum.commit(b"one")
    follower = next(node for node in quorum.nodes.values() if node is not leader)
    before = follower.epoch
    quorum.take(follower.local_id, follower.stand(quorum.now))
    quorum.run(5_000)
    assert quorum.leader() is leader and follower.epoch == before


def test_an_observer_does_not_stand() -> None:
    quorum = Quorum.dynamic([1], [2])
    quorum.take(2, quorum.nodes[2].stand(quorum.now))
    assert quorum.nodes[2].state_name != "prospective"


def test_a_restarted_quorum_is_led_soon_by_who_has_the_longest_log() -> None:
    quorum = Quorum.dynamic([1, 2, 3])
    quorum.take(1, quorum.nodes[1].stand(quorum.now))
    quorum.elect()
    quorum.commit(b"one")
    for id in (1, 2, 3):
        quorum.stop(id)
    for id in (1, 2, 3):
        quorum.start(id)
    longest = max((2, 3), key=lambda id: quorum.nodes[id].log_end)
    quorum.take(longest, quorum.nodes[longest].stand(quorum.now))
    assert quorum.run(50, lambda: quorum.nodes[longest].state_name == "leader")
