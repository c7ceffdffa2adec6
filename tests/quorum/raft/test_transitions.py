"""The table of transitions: epochs, votes and timers; and what may never happen."""

from __future__ import annotations

import pytest

from metashell.quorum.raft import transitions
from metashell.quorum.raft.messages import FetchRequest, VoteRequest, VoteResponse
from metashell.quorum.raft.ready import NEVER, ElectionState
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from tests.quorum.raft.pump import directory, endpoint, key
from tests.quorum.raft.solo import Solo, begin, fetched, log_of, vote

EPOCH = 5
HIGHER = vote(2, EPOCH + 3, 4, 0)
"""A request of a higher epoch that gets no vote, its log being too short."""


def in_state(state: str) -> Solo:
    match state:
        case "unattached" | "observer":
            solo = Solo(ElectionState(EPOCH), log_of(3, 4), voters=(2, 3) if state == "observer" else (1, 2, 3))
        case "candidate":
            solo = Solo(ElectionState(EPOCH - 1), log_of(3, 4)).run_for_office()
        case "leader":
            solo = Solo(ElectionState(EPOCH - 1), log_of(3, 4)).lead()
        case "resigned":
            solo = Solo(ElectionState(EPOCH, 1), log_of(3, 4))
        case "prospective":
            solo = Solo(ElectionState(EPOCH), log_of(3, 4)).stand()
        case _:
            solo = Solo(ElectionState(EPOCH, 3), log_of(3, 4))
    assert solo.node.epoch == EPOCH
    return solo


@pytest.mark.parametrize("state", ["unattached", "candidate", "resigned", "prospective"])
def test_a_higher_epoch_without_a_leader_leaves_the_time_that_was_left(state: str) -> None:
    solo = in_state(state)
    role = solo.node.role
    assert isinstance(role, Unattached | Candidate | Resigned | Prospective)
    solo.now_ms += 300
    assert not solo.ask(HIGHER).granted
    assert isinstance(solo.node.role, Unattached) and solo.node.role.election_deadline_ms == role.election_deadline_ms
    assert solo.election == ElectionState(EPOCH + 3)


@pytest.mark.parametrize("state", ["follower", "leader"])
def test_a_higher_epoch_without_a_leader_gives_who_had_no_election_timer_a_new_one(state: str) -> None:
    solo = in_state(state)
    solo.now_ms += 300
    assert not solo.ask(HIGHER).granted
    assert isinstance(solo.node.role, Unattached)
    assert solo.now_ms + 1_000 <= solo.node.role.election_deadline_ms < solo.now_ms + 2_000


def test_an_observer_never_stands() -> None:
    solo = in_state("observer")
    assert isinstance(solo.node.role, Unattached) and solo.node.role.election_deadline_ms == NEVER
    solo.ask(HIGHER)
    solo.wait(60_000)
    assert solo.node.state_name == "unattached" and not solo.take(VoteRequest)


def test_an_observer_may_grant_votes() -> None:
    solo = in_state("observer")
    assert solo.ask(vote(2, EPOCH, 4, 2)).granted and solo.election.voted == key(2)
    assert solo.ask(vote(3, EPOCH, 4, 2, pre_vote=True)).granted


@pytest.mark.parametrize("state", ["unattached", "candidate", "leader", "resigned", "prospective", "follower", "observer"])
def test_a_leader_of_a_higher_epoch_is_followed_from_any_state(state: str) -> None:
    solo = in_state(state)
    solo.ask(begin(2, EPOCH + 1))
    role = solo.node.role
    assert isinstance(role, Follower) and not role.has_fetched and solo.election == ElectionState(EPOCH + 1, 2)
    assert role.fetch_deadline_ms == solo.now_ms + 2_000


@pytest.mark.parametrize("state", ["unattached", "candidate", "leader", "prospective", "follower"])
def test_every_transition_forgets_what_was_asked(state: str) -> None:
    solo = in_state(state)
    solo.poll()
    asked = solo.sent[-1]
    solo.ask(begin(2, EPOCH + 1))
    solo.answer(asked, VoteResponse(0, 0, 3, EPOCH + 9, endpoint(3), True))
    assert solo.node.epoch == EPOCH + 1
    assert [send.destination for send, _ in solo.take(FetchRequest)][-1] == 2


def test_a_prospective_that_ran_out_of_time_keeps_its_leader_id_and_stands_again_at_once() -> None:
    solo = Solo(ElectionState(EPOCH, 9), log_of(3, 4)).stand()
    role = solo.node.role
    assert isinstance(role, Prospective) and role.leader_id == 9
    solo.wait(role.election_deadline_ms - solo.now_ms)
    again = solo.node.role
    assert isinstance(again, Prospective) and again is not role and again.leader_id == 9 and again.epoch == EPOCH


def test_a_prospective_that_ran_out_of_time_goes_back_to_a_leader_that_it_can_reach() -> None:
    solo = in_state("follower").stand()
    role = solo.node.role
    assert isinstance(role, Prospective)
    solo.wait(role.election_deadline_ms - solo.now_ms)
    assert isinstance(solo.node.role, Follower) and solo.node.leader_id == 3


def test_the_high_watermark_is_kept_but_by_leaders_and_those_that_were() -> None:
    solo = in_state("follower")
    solo.answer(solo.next_fetch(), fetched(3, EPOCH, high_watermark=2))
    solo.run_for_office()
    assert solo.node.high_watermark == 2
    solo.vote_from(2)
    assert solo.node.state_name == "leader" and solo.node.high_watermark is None and solo.node.committed == 2


def test_election_timeouts_are_drawn_anew_between_one_and_two_times_the_setting() -> None:
    solo = Solo(ElectionState(EPOCH))
    drawn = {solo.node.election_timeout() - solo.now_ms for _ in range(200)}
    assert 1_000 <= min(drawn) < 1_100 and 1_900 < max(drawn) < 2_000
    assert Solo(ElectionState(EPOCH), election_timeout_ms=0).node.election_timeout() == 1_001


def test_an_election_timeout_of_nothing_is_survived() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4), election_timeout_ms=0)
    solo.wait(20)
    assert solo.node.epoch == EPOCH and solo.node.state_name == "prospective"


def test_what_may_never_happen_is_an_assertion() -> None:
    own, there = in_state("follower"), {"CONTROLLER": endpoint(2)}
    with pytest.raises(AssertionError, match="leader with endpoints"):
        transitions.become_follower(own.node, EPOCH + 1, 1, there)
    with pytest.raises(AssertionError, match="leader with endpoints"):
        transitions.become_follower(own.node, EPOCH + 1, 2, {})
    with pytest.raises(AssertionError, match="one leader an epoch"):
        transitions.become_follower(own.node, EPOCH, 2, there)
    with pytest.raises(AssertionError, match="the epoch must grow"):
        transitions.become_unattached(own.node, EPOCH)
    with pytest.raises(AssertionError, match="only a prospective"):
        transitions.become_candidate(own.node)
    with pytest.raises(AssertionError, match="only a candidate"):
        transitions.become_leader(own.node)
    with pytest.raises(AssertionError, match="only a leader resigns"):
        transitions.become_resigned(own.node)
    with pytest.raises(AssertionError, match="only voters stand"):
        transitions.become_prospective(in_state("observer").node)
    with pytest.raises(AssertionError, match="only voters stand"):
        transitions.become_prospective(in_state("leader").node)


def test_a_message_leaves_only_for_the_election_state_that_it_rests_on() -> None:
    from metashell.quorum.raft.ready import Durable

    solo = Solo(ElectionState(EPOCH), log_of(3, 4))
    ready = solo.node.handle_request("token", vote(2, EPOCH, 4, 2), "CONTROLLER", solo.now_ms)
    assert ready.election == ElectionState(EPOCH, -1, key(2))
    with pytest.raises(AssertionError):
        ready.messages(Durable(ElectionState(EPOCH), 0))
    assert ready.messages(Durable(ready.election, 0))


def test_successors_are_ordered_by_what_they_have_then_by_key() -> None:
    solo = Solo(ElectionState(EPOCH - 1), MemoryLog(), voters=(1, 2, 3, 4)).stand()
    for _ in range(2):
        solo.vote_from(2)
        solo.vote_from(3)
    leader = solo.node.role
    assert isinstance(leader, Leader)
    for id, end_offset in ((2, 5), (3, -1), (4, 5)):
        leader.voters[id].end_offset = end_offset
    assert [successor.id for successor in transitions.preferred_successors(solo.node, leader)] == [2, 4, 3]
    assert directory(2) not in [successor.directory_id for successor in transitions.preferred_successors(solo.node, leader)]
