"""What all responses have in common. The answers to a candidate's votes stand for all."""

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
from metashell.quorum.raft.messages import BeginQuorumEpochResponse, FetchResponse, VoteRequest, VoteResponse
from metashell.quorum.raft.ready import ElectionState
from tests.quorum.raft.pump import endpoint, key
from tests.quorum.raft.solo import Solo, changed, fetched, log_of

EPOCH = 6


def candidate() -> Solo:
    solo = Solo(ElectionState(EPOCH - 1), log_of(3, 4)).run_for_office()
    solo.sent = solo.sent[-2:]
    return solo


PAUSING, GONE = "pausing", "gone"


@pytest.mark.parametrize(
    ("changes", "state", "connection", "election"),
    [
        ({"epoch": EPOCH - 1, "granted": True}, "candidate", PAUSING, None),  # stale
        ({"error": UNKNOWN_LEADER_EPOCH}, "candidate", PAUSING, None),
        ({"epoch": EPOCH + 1}, "unattached", GONE, ElectionState(EPOCH + 1)),
        ({"epoch": EPOCH + 1, "leader_id": 3}, "follower", GONE, ElectionState(EPOCH + 1, 3)),
        ({"epoch": EPOCH + 1, "error": FENCED_LEADER_EPOCH}, "unattached", GONE, ElectionState(EPOCH + 1)),
        ({"error": FENCED_LEADER_EPOCH, "leader_id": 3}, "follower", GONE, ElectionState(EPOCH, 3, key(1))),
        ({"error": NOT_LEADER_OR_FOLLOWER}, "candidate", PAUSING, None),
        ({"leader_id": 3}, "follower", GONE, ElectionState(EPOCH, 3, key(1))),
        ({"leader_id": 9, "leader_endpoint": ("nine", 9)}, "follower", GONE, ElectionState(EPOCH, 9, key(1))),
        ({"error": BROKER_NOT_AVAILABLE}, "candidate", PAUSING, None),
        ({"error": BROKER_NOT_AVAILABLE, "leader_id": 3}, "follower", GONE, ElectionState(EPOCH, 3, key(1))),
        ({"error": INVALID_VOTER_KEY}, "candidate", PAUSING, None),
        ({"error": INVALID_REQUEST}, "candidate", PAUSING, None),
        ({"error": UNKNOWN_SERVER_ERROR}, "candidate", PAUSING, None),
        ({"top_error": BROKER_NOT_AVAILABLE}, "candidate", PAUSING, None),
        ({"top_error": CLUSTER_AUTHORIZATION_FAILED}, "candidate", PAUSING, None),
        ({"top_error": INCONSISTENT_CLUSTER_ID}, "candidate", PAUSING, None),
        ({"top_error": UNSUPPORTED_VERSION}, "candidate", PAUSING, None),
        ({"shape_ok": False, "epoch": EPOCH + 1}, "candidate", PAUSING, None),
        ({"leader_id": 1}, "candidate", PAUSING, None),
        ({"leader_id": 1, "epoch": EPOCH + 1}, "candidate", PAUSING, None),
        ({"leader_id": -7, "epoch": EPOCH + 1}, "candidate", PAUSING, None),
    ],
)
def test_the_common_rule_of_responses(changes: dict[str, Any], state: str, connection: str, election: ElectionState | None) -> None:
    solo = candidate()
    before = solo.election
    send = solo.take(VoteRequest)[0][0]
    assert send.destination == 2
    solo.answer(send, changed(VoteResponse(0, NONE, -1, EPOCH, granted=False), changes))
    assert solo.node.state_name == state and solo.election == (election or before)
    if connection == PAUSING:
        assert solo.node.connections.is_backing_off(2, solo.now_ms)
    else:
        assert not solo.node.connections.is_backing_off(2, solo.now_ms) and not solo.take(VoteRequest)


@pytest.mark.parametrize("error", [UNKNOWN_SERVER_ERROR, INVALID_REQUEST])
def test_a_leader_that_an_error_names_is_news_enough_to_complain_of_nothing(error: int) -> None:
    solo = candidate()
    solo.answer(solo.take(VoteRequest)[0][0], VoteResponse(0, error, 3, EPOCH, endpoint(3), False))
    assert (solo.node.state_name, solo.node.leader_id, solo.node.complaints) == ("follower", 3, 0)


def test_an_answer_that_is_not_awaited_changes_nothing() -> None:
    solo = candidate()
    send = solo.take(VoteRequest)[0][0]
    response = VoteResponse(0, NONE, 3, EPOCH + 5, endpoint(3), True)
    for destination, correlation_id in ((2, send.correlation_id + 7), (3, send.correlation_id), (9, 0)):
        ready = solo.node.handle_response(destination, correlation_id, response, solo.now_ms)
        assert not ready and solo.node.epoch == EPOCH
    solo.now_ms += 1
    assert not solo.node.handle_failure(2, send.correlation_id + 7, UNSUPPORTED_VERSION, solo.now_ms)


def test_an_answer_after_the_timeout_and_a_new_request_is_dropped() -> None:
    solo = Solo(ElectionState(EPOCH), log_of(3, 4), request_timeout_ms=100).stand()
    late = solo.take(VoteRequest)[0][0]
    solo.wait(100)
    assert solo.take(VoteRequest)
    solo.answer(late, VoteResponse(0, NONE, -1, EPOCH, granted=True))
    assert solo.node.state_name == "prospective"


def test_an_answer_of_another_kind_is_refused() -> None:
    solo = candidate()
    solo.answer(solo.take(VoteRequest)[0][0], BeginQuorumEpochResponse(0, NONE, 3, EPOCH + 1, endpoint(3)))
    assert solo.node.state_name == "candidate" and solo.node.complaints == 1


@pytest.mark.parametrize("error", [BROKER_NOT_AVAILABLE, NETWORK_EXCEPTION, UNSUPPORTED_VERSION])
def test_a_failure_pauses_the_connection(error: int) -> None:
    solo = candidate()
    solo.fail(solo.take(VoteRequest)[0][0], error)
    assert solo.node.connections.is_backing_off(2, solo.now_ms)
    solo.wait(20)
    assert [send.destination for send, _ in solo.take(VoteRequest)] == [2]


def test_another_leader_of_the_same_epoch_is_not_believed() -> None:
    solo = Solo(ElectionState(EPOCH, 3), log_of(3, 4))
    solo.answer(solo.next_fetch(), FetchResponse(0, NOT_LEADER_OR_FOLLOWER, 2, EPOCH, endpoint(2)))
    assert solo.node.leader_id == 3 and solo.node.complaints == 1
    solo.answer(solo.next_fetch(), fetched(2, EPOCH))
    assert solo.node.leader_id == 3 and solo.node.complaints == 2
