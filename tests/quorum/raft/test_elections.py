"""Who gets a vote or a pre-vote, and what the answers do.
BeginQuorumEpoch and EndQuorumEpoch, both sides."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec.error_codes import (
    FENCED_LEADER_EPOCH,
    INCONSISTENT_CLUSTER_ID,
    INVALID_REQUEST,
    INVALID_VOTER_KEY,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_SERVER_ERROR,
    UNSUPPORTED_VERSION,
)
from metashell.common.values import OffsetAndEpoch, ReplicaKey
from metashell.quorum.raft.elections import is_up_to_date
from metashell.quorum.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    VoteRequest,
    VoteResponse,
)
from metashell.quorum.raft.ready import ElectionState
from metashell.quorum.raft.roles import Follower, Tally
from metashell.quorum.raft.voters import KRaftVersion, SnapshotFooter, SnapshotHeader, Voter, VoterSet, write_control_batch
from tests.quorum.raft.made import data_batch
from tests.quorum.raft.pump import directory, endpoint, key
from tests.quorum.raft.solo import Solo, batches, begin, changed, end, fetch, fetched, log_of, vote

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


def test_a_higher_epoch_is_taken_up_before_the_addressee_is_looked_at() -> None:
    solo = in_state("follower that fetched")
    response = solo.ask(vote(2, EPOCH + 3, voter_id=9, **LEVEL))
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
    solo = Solo(ElectionState(0x7FFFFFFF), log_of(3, 4))
    assert solo.ask(vote(2, 0x7FFFFFFF, **LEVEL)).granted
    solo.wait(60_000)
    assert solo.node.epoch == 0x7FFFFFFF and not solo.take(VoteRequest)


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


def follower(leader: int = 3) -> Solo:
    return Solo(ElectionState(EPOCH, leader), log_of(3, 4))


@pytest.mark.parametrize(
    ("changes", "top_error", "error"),
    [
        ({"cluster_id": "another", "shape_ok": False}, INCONSISTENT_CLUSTER_ID, None),
        ({"shape_ok": False}, INVALID_REQUEST, None),
        ({"epoch": EPOCH - 1, "leader_id": -1}, NONE, FENCED_LEADER_EPOCH),
        ({"leader_id": -1}, NONE, INVALID_REQUEST),
        ({"voter_id": 2}, NONE, INVALID_VOTER_KEY),
        ({"voter_id": 2, "epoch": EPOCH - 1}, NONE, FENCED_LEADER_EPOCH),
        ({"voter_directory_id": directory(9)}, NONE, INVALID_VOTER_KEY),
        ({"cluster_id": None, "voter_id": -1, "voter_directory_id": bytes(16)}, NONE, NONE),
    ],
)
def test_begin_quorum_epoch_is_checked_in_kafkas_order(changes: dict[str, Any], top_error: int, error: int | None) -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4))
    response = solo.ask(changed(begin(3, EPOCH), changes))
    assert response.top_error == top_error
    if error is not None:
        assert response.error == error and response.epoch == EPOCH
    # The leader is taken up before the addressee is looked at.
    assert (solo.node.state_name == "follower") is (error in (NONE, INVALID_VOTER_KEY))


@pytest.mark.parametrize(
    ("changes", "top_error", "error"),
    [
        ({"cluster_id": "another", "shape_ok": False}, INCONSISTENT_CLUSTER_ID, None),
        ({"shape_ok": False}, INVALID_REQUEST, None),
        ({"epoch": EPOCH - 1, "leader_id": -1}, NONE, FENCED_LEADER_EPOCH),
        ({"leader_id": -1}, NONE, INVALID_REQUEST),
        ({}, NONE, NONE),
    ],
)
def test_end_quorum_epoch_is_checked_in_kafkas_order(changes: dict[str, Any], top_error: int, error: int | None) -> None:
    response = follower().ask(changed(end(3, EPOCH), changes))
    assert response.top_error == top_error
    assert error is None or (response.error == error and response.epoch == EPOCH)


def test_a_leader_of_a_higher_epoch_is_followed_and_the_vote_is_gone() -> None:
    solo = Solo(ElectionState(EPOCH, -1, key(2)), log_of(3, 4))
    assert solo.ask(begin(3, EPOCH + 1)) == BeginQuorumEpochResponse(0, NONE, 3, EPOCH + 1, endpoint(3))
    assert solo.election == ElectionState(EPOCH + 1, 3)


def test_a_leader_of_the_same_epoch_is_followed_and_the_vote_is_kept() -> None:
    solo = Solo(ElectionState(EPOCH, -1, key(2)), log_of(3, 4))
    assert solo.ask(begin(3, EPOCH)).error == NONE
    assert solo.election == ElectionState(EPOCH, 3, key(2))


def test_more_endpoints_of_the_leader_are_taken_up_and_fewer_are_not() -> None:
    solo = follower()
    more = {"CONTROLLER": endpoint(3), "SECOND": ("other", 1)}
    assert solo.ask(begin(3, EPOCH, endpoints=more)).error == NONE
    assert solo.node.role.endpoints == more
    assert solo.ask(begin(3, EPOCH)).error == NONE
    assert solo.node.role.endpoints == more


def test_begin_quorum_epoch_does_not_count_as_hearing_from_the_leader() -> None:
    solo = follower()
    assert isinstance(solo.node.role, Follower)
    patience_ms = solo.node.role.fetch_timeout_ms
    for _ in range(4):
        solo.wait(patience_ms // 4 - 10)
        assert solo.node.state_name == "follower"
        solo.ask(begin(3, EPOCH))
    solo.wait(50)
    assert solo.node.state_name == "prospective"


def test_a_leader_without_endpoints_in_the_message_is_looked_up_among_the_voters() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4))
    assert solo.ask(end(3, EPOCH + 1, [key(2), key(1)])).error == NONE
    assert solo.node.state_name == "follower" and solo.node.role.endpoints == {"CONTROLLER": endpoint(3)}


def test_a_leader_that_nobody_can_reach_is_remembered_and_followed_when_its_endpoints_are_known() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4))
    solo.answer(solo.next_fetch(), FetchResponse(0, NOT_LEADER_OR_FOLLOWER, 9, EPOCH + 1))
    assert solo.node.state_name == "unattached" and solo.election == ElectionState(EPOCH + 1, 9)
    send = solo.next_fetch()
    solo.answer(send, fetched(9, EPOCH + 1, batches(2, 4)))
    assert solo.node.state_name == "follower" and solo.election == ElectionState(EPOCH + 1, 9)
    solo.answer(solo.next_fetch(), fetched(9, EPOCH + 1, batches(2, 4)))
    assert solo.node.log_end_offset == 3


@pytest.mark.parametrize(("error", "is_fine"), [(NONE, True), (UNKNOWN_SERVER_ERROR, False), (INVALID_REQUEST, False)])
@pytest.mark.parametrize("kind", [BeginQuorumEpochRequest, EndQuorumEpochRequest])
def test_an_answer_with_an_error_is_complained_of_and_its_sender_left_alone_for_a_while(kind: Any, error: int, is_fine: bool) -> None:
    solo = Solo(ElectionState(EPOCH - 1), log_of(3, 4)).lead()
    if kind is EndQuorumEpochRequest:
        solo.sent.clear()
        solo.node.connections.reset()
        solo.node.resign(EPOCH)
        solo.poll()
    response = BeginQuorumEpochResponse if kind is BeginQuorumEpochRequest else EndQuorumEpochResponse
    [send, *_] = [send for send, _ in solo.take(kind) if send.destination == 2]
    solo.answer(send, response(0, error, -1, EPOCH))
    assert solo.node.connections.is_ready(2, solo.now_ms) is is_fine
    assert solo.node.complaints == (0 if is_fine else 1)


@pytest.mark.parametrize("request_of", [begin, end])
def test_two_leaders_of_one_epoch_are_refused_without_naming_either(request_of: Any) -> None:
    solo = follower()
    response = solo.ask(request_of(2, EPOCH))
    assert (response.error, response.leader_id, response.epoch) == (UNKNOWN_SERVER_ERROR, -1, EPOCH)
    assert response.leader_endpoint is None
    assert solo.node.leader_id == 3 and solo.node.complaints == 1


@pytest.mark.parametrize("epoch", [EPOCH, EPOCH + 1])
def test_to_be_named_leader_of_an_epoch_that_it_does_not_lead_is_refused(epoch: int) -> None:
    solo = follower()
    response = solo.ask(begin(1, epoch))
    assert (response.error, response.leader_id) == (UNKNOWN_SERVER_ERROR, -1)
    assert solo.election == ElectionState(EPOCH, 3)


@pytest.mark.parametrize(
    ("candidates", "expected_ms"),
    [
        ((1,), 0),
        ((1, 2), 0),
        ((), 0),
        ((2,), 1_000),
        ((2, 4), 1_000),
        ((2, 1), 500),
        ((2, 1, 4), 250),
        ((2, 4, 1), 500),
        ((2, 4, 5, 1), 500),
        ((2, 1, 4, 5), 125),
    ],
)
def test_a_successor_stands_the_earlier_the_earlier_it_is_named(candidates: tuple[int, ...], expected_ms: int) -> None:
    solo = follower()
    assert solo.ask(end(3, EPOCH, [key(id) for id in candidates])).error == NONE
    if expected_ms:
        solo.wait(expected_ms - 1)
        assert solo.node.state_name == "follower"
        solo.wait(1)
    assert solo.node.state_name == "prospective"


def test_a_successor_with_another_directory_is_not_meant() -> None:
    solo = follower()
    other = key(1)
    other.directory_id = directory(9)
    solo.ask(end(3, EPOCH, [other]))
    assert solo.node.state_name == "follower"


def test_a_new_leader_tells_all_voters_and_goes_on_with_those_that_do_not_fetch() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4)).lead()
    told = solo.take(BeginQuorumEpochRequest)
    assert [send.destination for send, _ in told] == [2, 3]
    assert told[0][1] == BeginQuorumEpochRequest("cluster", 2, bytes(16), 1, EPOCH + 1, {"CONTROLLER": endpoint(1)})
    for send, _ in told:
        solo.answer(send, BeginQuorumEpochResponse(0, NONE, 1, EPOCH + 1, endpoint(1)))
    solo.wait(500)
    assert solo.ask(fetch(2, EPOCH + 1, 2, 4)) is not None
    solo.wait(501)
    assert [send.destination for send, _ in solo.take(BeginQuorumEpochRequest)] == [3]


def resigned() -> Solo:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4)).lead()
    solo.ask(fetch(3, EPOCH + 1, 2, 4), "three")
    solo.ask(fetch(2, EPOCH + 1, 1, 3), "two")
    solo.sent.clear()
    solo.node.resign(EPOCH + 1)
    solo.poll()
    assert solo.node.state_name == "resigned"
    return solo


def test_who_resigns_names_the_successors_by_what_they_have_until_they_acknowledge() -> None:
    solo = resigned()
    told = solo.take(EndQuorumEpochRequest)
    assert [send.destination for send, _ in told] == [2, 3]
    assert [successor.id for successor in told[0][1].candidates] == [3, 2]
    # A voter that does not know this one as a voter yet could not resolve its id, and a Kafka voter would die of that.
    assert told[0][1].endpoints == solo.node.own_endpoints
    solo.answer(told[0][0], EndQuorumEpochResponse(0, NONE, 1, EPOCH + 1, endpoint(1)))
    solo.fail(told[1][0], 8)
    solo.wait(25)
    assert [send.destination for send, _ in solo.take(EndQuorumEpochRequest)] == [3]


def test_who_resigned_goes_on_to_the_next_epoch_after_an_election_timeout() -> None:
    solo = resigned()
    solo.wait_for("prospective", 2_000)
    assert solo.election == ElectionState(EPOCH + 2)
    assert all(request.pre_vote for _, request in solo.take(VoteRequest))


def test_who_led_before_a_restart_resigns_without_a_list() -> None:
    solo = Solo(ElectionState(EPOCH, 1), log_of(3, 4, 5))
    solo.poll()
    told = solo.take(EndQuorumEpochRequest)
    assert [request.candidates for _, request in told] == [(), ()]


@pytest.mark.parametrize("state", ["leader", "resigned"])
def test_an_error_in_answer_to_either_pauses_the_connection(state: str) -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4)).lead() if state == "leader" else resigned()
    if state == "leader":
        send = solo.take(BeginQuorumEpochRequest)[0][0]
        solo.answer(send, BeginQuorumEpochResponse(0, UNKNOWN_SERVER_ERROR, -1, EPOCH + 1))
    else:
        send = solo.take(EndQuorumEpochRequest)[0][0]
        solo.answer(send, EndQuorumEpochResponse(0, UNKNOWN_SERVER_ERROR, -1, EPOCH + 1))
    assert solo.node.connections.is_backing_off(send.destination, solo.now_ms) and solo.node.state_name == state
