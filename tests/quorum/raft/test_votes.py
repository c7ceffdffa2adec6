"""Who gets a vote or a pre-vote, and what the answers do."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec.error_codes import (
    FENCED_LEADER_EPOCH,
    INCONSISTENT_CLUSTER_ID,
    INVALID_REQUEST,
    INVALID_VOTER_KEY,
    NONE,
    UNKNOWN_LEADER_EPOCH,
    UNSUPPORTED_VERSION,
)
from metashell.common.values import OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft.elections import is_up_to_date
from metashell.quorum.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    VoteRequest,
    VoteResponse,
)
from metashell.quorum.raft.ready import ElectionState
from metashell.quorum.raft.roles import Tally
from metashell.quorum.raft.transitions import EPOCH_STEP_MAX, EPOCHS_PLENTY
from metashell.quorum.raft.voters import KRaftVersion, SnapshotFooter, SnapshotHeader, Voter, VoterSet, write_control_batch
from tests.quorum.raft.made import data_batch
from tests.quorum.raft.pump import directory, endpoint, key
from tests.quorum.raft.solo import Solo, begin, changed, end, fetched, log_of, vote

EPOCH = 5


def in_state(state: str) -> Solo:
    """A node in a state of epoch 5, with a log of two batches, the last of epoch 4; what it sent is forgotten."""
    log = log_of(3, 4)
    if state in ("leader", "candidate"):
        solo = Solo(ElectionState(EPOCH - 1), log)
        (solo.lead if state == "leader" else solo.run_for_office)()
    elif state.startswith("prospective"):
        voted = key(2) if "voted" in state else None
        solo = Solo(ElectionState(EPOCH, 3 if "leader" in state else -1, voted), log).stand()
    else:
        elections = {
            "unattached": ElectionState(EPOCH),
            "unattached voted": ElectionState(EPOCH, -1, key(2)),
            "unattached leader": ElectionState(EPOCH, 9),
            "resigned": ElectionState(EPOCH, 1),
            "follower": ElectionState(EPOCH, 3),
            "follower that voted": ElectionState(EPOCH, 3, key(2)),
            "follower that fetched": ElectionState(EPOCH, 3),
        }
        solo = Solo(elections[state], log)
        if state == "follower that fetched":
            solo.answer(solo.next_fetch(), fetched(3, EPOCH))
    assert solo.node.epoch == EPOCH and solo.node.state_name == state.split()[0]
    solo.sent.clear()
    return solo


BEHIND = {"last_epoch": 4, "last_offset": 1}
LEVEL = {"last_epoch": 4, "last_offset": 2}


@pytest.mark.parametrize(
    ("state", "level", "behind"),
    [
        ("unattached", True, False),
        ("unattached voted", True, False),  # Kafka grants it again whatever the log: one that came back shorter has lost something
        ("unattached leader", False, False),
        ("prospective", True, False),
        ("prospective voted", True, False),
        ("prospective leader", False, False),
        ("follower", False, False),
        ("follower that voted", False, False),
        ("candidate", False, False),
        ("resigned", False, False),
    ],
)
def test_a_vote_is_granted_once_and_only_where_no_leader_is_known(state: str, level: bool, behind: bool) -> None:
    assert in_state(state).ask(vote(2, EPOCH, **LEVEL)).granted is level
    assert in_state(state).ask(vote(2, EPOCH, **BEHIND)).granted is behind


def test_a_leader_rejects_votes_and_pre_votes() -> None:
    solo = in_state("leader")
    at_its_end = {"last_epoch": 4, "last_offset": 99}
    assert solo.ask(vote(2, EPOCH, **at_its_end)) == VoteResponse(0, NONE, 1, EPOCH, endpoint(1), False)
    assert not solo.ask(vote(2, EPOCH, pre_vote=True, **at_its_end)).granted


@pytest.mark.parametrize(
    ("state", "granted"),
    [
        ("unattached", True),
        ("unattached voted", True),
        ("unattached leader", True),
        ("prospective", True),
        ("prospective voted", True),
        ("prospective leader", True),
        ("follower", True),
        ("follower that voted", True),
        ("follower that fetched", False),
        ("candidate", True),
        ("resigned", True),
    ],
)
def test_a_pre_vote_is_granted_to_a_log_that_is_up_to_date_unless_a_leader_is_heard_from(state: str, granted: bool) -> None:
    solo = in_state(state)
    writes = solo.writes
    assert solo.ask(vote(2, EPOCH, pre_vote=True, **LEVEL)).granted is granted
    assert not solo.ask(vote(2, EPOCH, pre_vote=True, **BEHIND)).granted
    assert solo.writes == writes and solo.node.state_name == state.split()[0]


def test_a_vote_goes_to_one_key_of_an_epoch_and_is_durable_before_it_leaves() -> None:
    solo = in_state("unattached")
    writes = solo.writes
    assert solo.ask(vote(2, EPOCH, **LEVEL)).granted
    assert solo.election == ElectionState(EPOCH, -1, key(2)) and solo.writes == writes + 1
    assert not solo.ask(vote(3, EPOCH, **LEVEL)).granted
    assert solo.ask(vote(2, EPOCH, **LEVEL)).granted
    assert not solo.ask(vote(2, EPOCH, candidate_directory_id=directory(9), **LEVEL)).granted
    assert Solo(solo.election, log_of(3, 4)).ask(vote(3, EPOCH, **LEVEL)).granted is False


def test_a_vote_without_a_stored_directory_id_is_for_whoever_has_the_id() -> None:
    solo = Solo(ElectionState(EPOCH, -1, ReplicaKey(2)), log_of(3, 4))
    assert solo.ask(vote(2, EPOCH, **LEVEL)).granted


def test_who_asks_counts_its_own_vote_only_where_it_is_a_voter() -> None:
    voters = VoterSet(Voter(key(id), {"CONTROLLER": endpoint(id)}, 0, 1) for id in (2, 3))
    outside, inside = Tally(voters, 1), Tally(voters, 2)
    assert (outside.granted, inside.granted) == (0, 1)
    outside.record(2, True)
    assert not outside.is_won()
    outside.record(3, True)
    assert outside.is_won()


def test_a_vote_gives_the_candidate_a_new_election_timeout() -> None:
    solo = in_state("unattached")
    solo.now_ms += 990
    assert solo.ask(vote(2, EPOCH, **LEVEL)).granted
    solo.wait(990)
    assert solo.node.state_name == "unattached"
    solo.wait_for("prospective", 1_100)


def test_a_higher_epoch_is_taken_up_also_from_a_pre_vote_and_before_the_addressee_is_looked_at() -> None:
    solo = in_state("follower that fetched")
    response = solo.ask(vote(2, EPOCH + 3, voter_id=9, pre_vote=True, **LEVEL))
    assert response.error == INVALID_VOTER_KEY and response.epoch == EPOCH + 3 and not response.granted
    assert solo.election == ElectionState(EPOCH + 3)


@pytest.mark.parametrize(
    ("changes", "top_error", "error"),
    [
        ({"cluster_id": "another"}, INCONSISTENT_CLUSTER_ID, None),
        ({"cluster_id": ""}, INCONSISTENT_CLUSTER_ID, None),
        ({"cluster_id": "another", "shape_ok": False}, INCONSISTENT_CLUSTER_ID, None),
        ({"cluster_id": None}, NONE, NONE),
        ({"shape_ok": False}, INVALID_REQUEST, None),
        ({"last_offset": -1}, NONE, INVALID_REQUEST),
        ({"last_epoch": -1}, NONE, INVALID_REQUEST),
        ({"last_epoch": EPOCH}, NONE, INVALID_REQUEST),
        ({"last_epoch": EPOCH, "pre_vote": True}, NONE, NONE),
        ({"last_epoch": EPOCH + 1, "pre_vote": True}, NONE, INVALID_REQUEST),
        ({"epoch": EPOCH - 1, "last_epoch": 3}, NONE, FENCED_LEADER_EPOCH),
        ({"epoch": EPOCH - 1, "last_epoch": EPOCH}, NONE, INVALID_REQUEST),
        ({"epoch": EPOCH - 1, "candidate_id": -1, "last_epoch": 3}, NONE, FENCED_LEADER_EPOCH),
        ({"candidate_id": -1}, NONE, INVALID_REQUEST),
        ({"voter_id": -1}, NONE, NONE),
        ({"voter_id": 2}, NONE, INVALID_VOTER_KEY),
        ({"voter_directory_id": directory(2)}, NONE, INVALID_VOTER_KEY),
        ({"voter_directory_id": bytes(16)}, NONE, NONE),
    ],
)
def test_a_vote_request_is_checked_in_kafkas_order(changes: dict[str, Any], top_error: int, error: int | None) -> None:
    solo = in_state("unattached")
    response = solo.ask(changed(vote(2, EPOCH, **LEVEL), changes))
    assert response.top_error == top_error
    if error is not None:
        assert response.error == error and response.granted is (error == NONE) and response.epoch == EPOCH
    else:
        assert solo.election == ElectionState(EPOCH)


def test_the_own_id_gets_no_vote_on_request() -> None:
    solo = in_state("unattached")
    assert not solo.ask(vote(1, EPOCH, **LEVEL)).granted
    assert solo.node.complaints == 1 and solo.election.voted is None


@pytest.mark.parametrize(
    ("last_epoch", "last_offset", "expected"), [(4, 10, True), (4, 9, False), (4, 11, True), (5, 0, True), (3, 99, False)]
)
def test_logs_are_compared_by_epoch_first(last_epoch: int, last_offset: int, expected: bool) -> None:
    assert is_up_to_date(last_epoch, last_offset, 4, 10) is expected


def test_a_prospective_asks_in_the_epoch_as_it_is_and_a_candidate_in_the_next() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4)).stand()
    asked = solo.take(VoteRequest)
    assert [send.destination for send, _ in asked] == [2, 3]
    assert all(request.pre_vote and (request.epoch, request.last_epoch, request.last_offset) == (EPOCH, 4, 2) for _, request in asked)
    solo.sent += [send for send, _ in asked]
    solo.vote_from(2)
    assert solo.election == ElectionState(EPOCH + 1, -1, key(1))
    asked = solo.take(VoteRequest)[-2:]
    assert [(request.pre_vote, request.epoch, request.candidate_id) for _, request in asked] == [(False, EPOCH + 1, 1)] * 2


def test_an_answer_to_a_pre_vote_is_not_counted_as_a_vote() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4)).stand()
    late = solo.take(VoteRequest)
    solo.answer(late[0][0], VoteResponse(0, 0, -1, EPOCH, granted=True))
    assert solo.node.state_name == "candidate"
    solo.answer(late[1][0], VoteResponse(0, 0, -1, EPOCH + 1, granted=True))
    assert solo.node.state_name == "candidate"


def test_a_lost_pre_vote_leads_back_to_the_leader_that_is_known_else_to_unattached() -> None:
    solo = Solo(ElectionState(EPOCH, 3), log_of(3, 4))
    solo.wait_for("prospective")
    solo.vote_from(2, False)
    solo.vote_from(3, False)
    assert solo.node.state_name == "follower" and solo.node.leader_id == 3 and solo.node.epoch == EPOCH
    solo = Solo(ElectionState(EPOCH), log_of(3, 4)).stand()
    solo.vote_from(2, False)
    assert solo.node.state_name == "prospective"
    solo.vote_from(3, False)
    assert solo.node.state_name == "unattached" and solo.node.epoch == EPOCH


def test_a_pre_vote_without_answers_is_asked_again_and_again_in_the_same_epoch() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4)).stand()
    solo.wait(60_000)
    assert solo.node.epoch == EPOCH
    assert all(request.pre_vote for _, request in solo.take(VoteRequest))


def test_a_candidate_that_lost_waits_for_its_timeout_and_asks_for_pre_votes_first() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4)).run_for_office()
    solo.vote_from(2, False)
    solo.vote_from(3, False)
    assert solo.node.state_name == "candidate"
    solo.wait_for("prospective", 2_000)
    assert solo.election == ElectionState(EPOCH + 1, -1, key(1))


def test_a_voter_that_knows_no_pre_votes_makes_the_prospective_a_candidate() -> None:
    for by_answer in (True, False):
        solo = Solo(ElectionState(EPOCH), log_of(3, 4)).stand()
        send, _ = solo.take(VoteRequest)[0]
        if by_answer:
            solo.answer(send, VoteResponse(UNSUPPORTED_VERSION))
        else:
            solo.fail(send, UNSUPPORTED_VERSION)
        assert solo.node.state_name == "candidate" and solo.node.epoch == EPOCH + 1


def test_a_voter_that_did_not_answer_is_asked_again_after_the_pause() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4)).stand()
    for send, _ in solo.take(VoteRequest):
        solo.fail(send, 8)
    solo.wait(19)
    assert not solo.take(VoteRequest)
    solo.wait(1)
    assert len(solo.take(VoteRequest)) == 2


def test_a_prospective_that_votes_for_another_asks_anew() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4)).stand()
    late = solo.take(VoteRequest)
    assert solo.ask(vote(2, EPOCH, **LEVEL)).granted
    assert solo.node.state_name == "prospective" and solo.election.voted == key(2)
    solo.answer(late[0][0], VoteResponse(0, 0, -1, EPOCH, granted=True))
    assert solo.node.state_name == "prospective"


def test_a_replica_that_may_not_stand_asks_for_nothing() -> None:
    for election in (ElectionState(EPOCH), ElectionState(EPOCH, 3)):
        solo = Solo(election, log_of(3, 4), may_stand=False)
        solo.wait(60_000)
        assert not solo.take(VoteRequest) and solo.node.epoch == EPOCH
        assert solo.ask(vote(2, EPOCH + 1, **LEVEL)).granted


def test_nobody_stands_after_the_last_epoch_there_is() -> None:
    solo = Solo(ElectionState(0x7FFFFFFE), log_of(3, 4))
    assert solo.ask(vote(2, 0x7FFFFFFF, **LEVEL)).granted
    solo.wait(60_000)
    assert solo.node.epoch == 0x7FFFFFFF and not solo.take(VoteRequest)


PLENTY, STEP = EPOCHS_PLENTY, EPOCH_STEP_MAX


@pytest.mark.parametrize(
    ("known", "heard", "is_taken"),
    [
        (EPOCH, PLENTY, True),  # it was away for long
        (EPOCH, PLENTY + STEP, True),
        (EPOCH, PLENTY + STEP + 1, False),
        (EPOCH, 0x7FFFFFFF, False),
        (PLENTY + 7, PLENTY + 7 + STEP, True),
        (PLENTY + 7, PLENTY + 8 + STEP, False),
    ],
)
def test_no_single_message_uses_up_the_epochs(known: int, heard: int, is_taken: bool) -> None:
    def solo() -> Solo:
        return Solo(ElectionState(known), log_of(3, 4))

    for request in (vote(2, heard, **LEVEL), vote(2, heard, pre_vote=True, **LEVEL), begin(3, heard), end(3, heard)):
        asked = solo()
        response = asked.ask(request)
        assert (response.error, response.epoch) == ((NONE, heard) if is_taken else (UNKNOWN_LEADER_EPOCH, known))
        assert asked.node.epoch == asked.election.epoch == response.epoch
        assert asked.node.complaints == (not is_taken)
    for response in (FetchResponse(0, FENCED_LEADER_EPOCH, -1, heard), FetchResponse(0, FENCED_LEADER_EPOCH, 3, heard, endpoint(3))):
        answered = solo()
        answered.answer(answered.next_fetch(), response)
        assert answered.node.epoch == (heard if is_taken else known)
        assert answered.node.complaints == (not is_taken)


def test_an_epoch_out_of_the_blue_keeps_nobody_from_standing() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4))
    assert not solo.ask(vote(3, 0x7FFFFFFF, **LEVEL)).granted
    solo.run_for_office()
    assert solo.node.epoch == EPOCH + 1
    solo.ask(vote(3, 0x7FFFFFFF, **LEVEL))
    solo.vote_from(2)
    assert solo.node.state_name == "leader"


def test_a_candidate_that_is_no_voter_any_more_looks_for_the_leader() -> None:
    """The snapshot that says so was being synced while it stood."""
    voters = VoterSet(Voter(key(id), {"CONTROLLER": endpoint(id)}, 0, 1) for id in (2, 3))
    head = write_control_batch(0, EPOCH, 0, [SnapshotHeader(0), KRaftVersion(1), voters])
    snapshot = head + data_batch(3, EPOCH, 0, [b"x"]) + write_control_batch(4, EPOCH, 0, [SnapshotFooter()])
    id = OffsetAndEpoch(50, EPOCH)
    solo = Solo(ElectionState(EPOCH, 3), log_of(3, 4))
    solo.answer(solo.next_fetch(), fetched(3, EPOCH, snapshot_id=id))
    solo.poll()
    send, _ = solo.take(FetchSnapshotRequest)[-1]
    solo.answer(send, FetchSnapshotResponse(0, 0, 3, EPOCH, endpoint(3), id, len(snapshot), 0, snapshot))
    part = solo.node.downloaded_part()
    assert part is not None
    solo.run_for_office()
    part.freeze()
    solo.work(solo.node.snapshot_frozen(id, solo.now_ms))
    assert solo.node.state_name == "unattached" and not solo.node.is_voter
    assert solo.election == ElectionState(EPOCH + 1, -1, key(1))
    solo.sent.clear()
    solo.wait(5_000)
    assert solo.take(FetchRequest) and not solo.take(VoteRequest)


def test_begin_quorum_epoch_ends_a_round_of_votes() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4)).run_for_office()
    assert solo.ask(begin(3, EPOCH + 1)).error == NONE
    assert solo.node.state_name == "follower" and solo.election == ElectionState(EPOCH + 1, 3, key(1))


@pytest.mark.parametrize(
    ("voted", "candidate", "expected"),
    [
        (key(2), key(2), True),
        (key(2), ReplicaKey(2, directory(9)), False),
        (ReplicaKey(2), ReplicaKey(2, directory(9)), True),  # a vote from before directory ids
        (ReplicaKey(2), key(3), False),
        (key(2), ReplicaKey(3, directory(2)), False),
    ],
)
def test_the_one_vote_of_an_epoch_is_given_again_to_the_same_replica_only(voted: ReplicaKey, candidate: ReplicaKey, expected: bool) -> None:
    solo = Solo(ElectionState(EPOCH, -1, voted), log_of(3, 4))
    request = vote(candidate.id, EPOCH, 4, 2, candidate_directory_id=candidate.directory_id)
    assert solo.ask(request).granted is expected
