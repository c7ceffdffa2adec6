"""The table of transitions: epochs, votes and timers; and what may never happen.
What all responses have in common. The answers to a candidate's votes stand for all."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec.error_codes import (
    BROKER_NOT_AVAILABLE,
    CLUSTER_AUTHORIZATION_FAILED,
    FENCED_LEADER_EPOCH,
    INCONSISTENT_CLUSTER_ID,
    INVALID_REQUEST,
    INVALID_VOTER_KEY,
    NETWORK_EXCEPTION,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_LEADER_EPOCH,
    UNKNOWN_SERVER_ERROR,
    UNSUPPORTED_VERSION,
)
from metashell.quorum.raft import transitions
from metashell.quorum.raft.messages import BeginQuorumEpochResponse, FetchRequest, FetchResponse, VoteRequest, VoteResponse
from metashell.quorum.raft.ready import NEVER, ElectionState
from metashell.quorum.raft.replicated_log import MemoryLog
from metashell.quorum.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from tests.quorum.raft.pump import directory, endpoint, key
from tests.quorum.raft.solo import Solo, begin, changed, fetched, log_of, vote

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


@pytest.mark.parametrize("state", ["unattached", "candidate", "leader", "resigned", "prospective", "follower"])
def test_a_leader_of_a_higher_epoch_is_followed_from_any_state(state: str) -> None:
    solo = in_state(state)
    solo.ask(begin(2, EPOCH + 1))
    role = solo.node.role
    assert isinstance(role, Follower) and not role.has_fetched and solo.election == ElectionState(EPOCH + 1, 2)
    assert role.fetch_deadline_ms == solo.now_ms + role.fetch_timeout_ms and 2_000 <= role.fetch_timeout_ms < 3_000


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


KNOWN_EPOCH = 6


def candidate() -> Solo:
    solo = Solo(ElectionState(KNOWN_EPOCH - 1), log_of(3, 4)).run_for_office()
    solo.sent = solo.sent[-2:]
    return solo


PAUSING, GONE = "pausing", "gone"


@pytest.mark.parametrize(
    ("changes", "state", "connection", "election"),
    [
        ({"epoch": KNOWN_EPOCH - 1, "granted": True}, "candidate", PAUSING, None),  # stale
        ({"error": UNKNOWN_LEADER_EPOCH}, "candidate", PAUSING, None),
        ({"epoch": KNOWN_EPOCH + 1}, "unattached", GONE, ElectionState(KNOWN_EPOCH + 1)),
        ({"epoch": KNOWN_EPOCH + 1, "leader_id": 3}, "follower", GONE, ElectionState(KNOWN_EPOCH + 1, 3)),
        ({"epoch": KNOWN_EPOCH + 1, "error": FENCED_LEADER_EPOCH}, "unattached", GONE, ElectionState(KNOWN_EPOCH + 1)),
        ({"error": FENCED_LEADER_EPOCH, "leader_id": 3}, "follower", GONE, ElectionState(KNOWN_EPOCH, 3, key(1))),
        ({"error": NOT_LEADER_OR_FOLLOWER}, "candidate", PAUSING, None),
        ({"leader_id": 3}, "follower", GONE, ElectionState(KNOWN_EPOCH, 3, key(1))),
        ({"leader_id": 9, "leader_endpoint": ("nine", 9)}, "follower", GONE, ElectionState(KNOWN_EPOCH, 9, key(1))),
        ({"error": BROKER_NOT_AVAILABLE}, "candidate", PAUSING, None),
        ({"error": BROKER_NOT_AVAILABLE, "leader_id": 3}, "follower", GONE, ElectionState(KNOWN_EPOCH, 3, key(1))),
        ({"error": INVALID_VOTER_KEY}, "candidate", PAUSING, None),
        ({"error": INVALID_REQUEST}, "candidate", PAUSING, None),
        ({"error": UNKNOWN_SERVER_ERROR}, "candidate", PAUSING, None),
        ({"top_error": BROKER_NOT_AVAILABLE}, "candidate", PAUSING, None),
        ({"top_error": CLUSTER_AUTHORIZATION_FAILED}, "candidate", PAUSING, None),
        ({"top_error": INCONSISTENT_CLUSTER_ID}, "candidate", PAUSING, None),
        ({"top_error": UNSUPPORTED_VERSION}, "candidate", PAUSING, None),
        ({"shape_ok": False, "epoch": KNOWN_EPOCH + 1}, "candidate", PAUSING, None),
        ({"leader_id": 1}, "candidate", PAUSING, None),
        ({"leader_id": 1, "epoch": KNOWN_EPOCH + 1}, "candidate", PAUSING, None),
        ({"leader_id": -7, "epoch": KNOWN_EPOCH + 1}, "candidate", PAUSING, None),
    ],
)
def test_the_common_rule_of_responses(changes: dict[str, Any], state: str, connection: str, election: ElectionState | None) -> None:
    solo = candidate()
    before = solo.election
    send = solo.take(VoteRequest)[0][0]
    assert send.destination == 2
    solo.answer(send, changed(VoteResponse(0, NONE, -1, KNOWN_EPOCH, granted=False), changes))
    assert solo.node.state_name == state and solo.election == (election or before)
    if connection == PAUSING:
        assert solo.node.connections.is_backing_off(2, solo.now_ms)
    else:
        assert not solo.node.connections.is_backing_off(2, solo.now_ms) and not solo.take(VoteRequest)


@pytest.mark.parametrize("error", [UNKNOWN_SERVER_ERROR, INVALID_REQUEST])
def test_a_leader_that_an_error_names_is_news_enough_to_complain_of_nothing(error: int) -> None:
    solo = candidate()
    solo.answer(solo.take(VoteRequest)[0][0], VoteResponse(0, error, 3, KNOWN_EPOCH, endpoint(3), False))
    assert (solo.node.state_name, solo.node.leader_id, solo.node.complaints) == ("follower", 3, 0)


def test_an_answer_that_is_not_awaited_changes_nothing() -> None:
    solo = candidate()
    send = solo.take(VoteRequest)[0][0]
    response = VoteResponse(0, NONE, 3, KNOWN_EPOCH + 5, endpoint(3), True)
    for destination, correlation_id in ((2, send.correlation_id + 7), (3, send.correlation_id), (9, 0)):
        ready = solo.node.handle_response(destination, correlation_id, response, solo.now_ms)
        assert not ready and solo.node.epoch == KNOWN_EPOCH
    solo.now_ms += 1
    assert not solo.node.handle_failure(2, send.correlation_id + 7, UNSUPPORTED_VERSION, solo.now_ms)


def test_an_answer_after_the_timeout_and_a_new_request_is_dropped() -> None:
    solo = Solo(ElectionState(KNOWN_EPOCH), log_of(3, 4), request_timeout_ms=100).stand()
    late = solo.take(VoteRequest)[0][0]
    solo.wait(100)
    assert solo.take(VoteRequest)
    solo.answer(late, VoteResponse(0, NONE, -1, KNOWN_EPOCH, granted=True))
    assert solo.node.state_name == "prospective"


def test_an_answer_of_another_kind_is_refused() -> None:
    solo = candidate()
    solo.answer(solo.take(VoteRequest)[0][0], BeginQuorumEpochResponse(0, NONE, 3, KNOWN_EPOCH + 1, endpoint(3)))
    assert solo.node.state_name == "candidate" and solo.node.complaints == 1


@pytest.mark.parametrize("error", [BROKER_NOT_AVAILABLE, NETWORK_EXCEPTION, UNSUPPORTED_VERSION])
def test_a_failure_pauses_the_connection(error: int) -> None:
    solo = candidate()
    solo.fail(solo.take(VoteRequest)[0][0], error)
    assert solo.node.connections.is_backing_off(2, solo.now_ms)
    solo.wait(20)
    assert [send.destination for send, _ in solo.take(VoteRequest)] == [2]


def test_another_leader_of_the_same_epoch_is_not_believed() -> None:
    solo = Solo(ElectionState(KNOWN_EPOCH, 3), log_of(3, 4))
    solo.answer(solo.next_fetch(), FetchResponse(0, NOT_LEADER_OR_FOLLOWER, 2, KNOWN_EPOCH, endpoint(2)))
    assert solo.node.leader_id == 3 and solo.node.complaints == 1
    solo.answer(solo.next_fetch(), fetched(2, KNOWN_EPOCH))
    assert solo.node.leader_id == 3 and solo.node.complaints == 2
