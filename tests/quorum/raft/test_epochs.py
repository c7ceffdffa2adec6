"""BeginQuorumEpoch and EndQuorumEpoch, both sides."""

from __future__ import annotations

from typing import Any

import pytest

from metashell.codec.error_codes import (
    FENCED_LEADER_EPOCH,
    INCONSISTENT_CLUSTER_ID,
    INVALID_REQUEST,
    INVALID_VOTER_KEY,
    NONE,
    UNKNOWN_SERVER_ERROR,
)
from metashell.quorum.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoteRequest,
)
from metashell.quorum.raft.ready import ElectionState
from tests.quorum.raft.pump import directory, endpoint, key
from tests.quorum.raft.solo import Solo, batches, begin, changed, end, fetch, fetched, log_of

EPOCH = 5


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
    for _ in range(4):
        solo.wait(490)
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
    response = solo.ask(begin(9, EPOCH + 1, endpoints={}))
    assert (response.error, response.leader_id, response.epoch) == (NONE, -1, EPOCH + 1)
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
